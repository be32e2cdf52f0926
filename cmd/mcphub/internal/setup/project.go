package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcphub/internal/ownership"
	"mcphub/rootsmgr"
)

// A projectSearch finds the project that a working directory lies in.
type projectSearch struct {
	home    string // of the user, with links followed; "" if it is not known
	program string // the folder of the client's program; "" if it is not known
}

// guessProject returns the project of a client whose working directory is dir; the zero value if there is none. env has the client's
// variables, and client is its process.
func guessProject(dir string, env func(string) (string, bool), client int) rootsmgr.Guess {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || strings.HasPrefix(filepath.VolumeName(real), `\\`) { // a share is on another machine
		return rootsmgr.Guess{}
	}
	s := projectSearch{program: programFolder(client)}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := env(name); ok && s.home == "" {
			s.home, _ = filepath.EvalSymlinks(home)
		}
	}
	project := s.find(real)
	if project == "" {
		return rootsmgr.Guess{}
	}
	return rootsmgr.Guess{Project: rootsmgr.Entry{URI: project}, WorkDir: rootsmgr.Entry{URI: dir}}
}

// find returns the top of the version control that holds a directory. Without one it returns the nearest directory with a file that a
// project has at its top.
func (s projectSearch) find(dir string) string {
	for _, marked := range []func(string) bool{isUnderControl, hasManifest} {
		for at := dir; !s.isAbove(at); at = filepath.Dir(at) {
			if marked(at) && s.mayBeProject(at) {
				return at
			}
		}
	}
	return ""
}

// isAbove reports whether a directory is the home folder, the root of the file system, or holds one of them.
func (s projectSearch) isAbove(dir string) bool {
	return dir == filepath.Dir(dir) || s.home != "" && isWithin(s.home, dir)
}

// controls are the names that version controls have at the top of what they hold.
var controls = []string{".git", ".hg", ".jj", ".svn", ".sl", "_darcs", ".pijul"}

func isUnderControl(dir string) bool {
	return slices.ContainsFunc(controls, func(name string) bool { return isOwn(filepath.Join(dir, name)) })
}

// manifests are names of files that describe a project. What begins with a dot is the end of a name.
var manifests = []string{
	"package.json", "go.mod", "go.work", "pyproject.toml", "setup.py", "requirements.txt", "Cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle",
	"settings.gradle.kts", "Gemfile", "composer.json", "CMakeLists.txt", "Makefile", "meson.build", "deno.json", "deno.jsonc", "mix.exs", "Package.swift", "pubspec.yaml",
	"build.sbt", "stack.yaml", "dune-project", "flake.nix", "build.zig", ".sln", ".slnx", ".csproj", ".fsproj", ".xcodeproj", ".cabal",
}

func hasManifest(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(maxNames)
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		return (slices.Contains(manifests, name) || slices.Contains(manifests, filepath.Ext(name))) && isOwn(filepath.Join(dir, name))
	})
}

// maxNames is how many names of a directory are read. A project has few at its top.
const maxNames = 4096

// isOwn reports whether there is such a file or folder, and it belongs to this user.
func isOwn(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && ownership.Check(info) == nil
}

// mayBeProject reports whether a directory belongs to this user, lies in none in which another user may replace it, and is none of a system, a
// program, a cache or an application's data.
func (s projectSearch) mayBeProject(dir string) bool {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || ownership.OthersReplace(at, info) || at == dir && ownership.Check(info) != nil {
			return false
		}
	}
	if s.program != "" && isWithin(dir, s.program) || isOfSystem(dir) {
		return false
	}
	parts := strings.Split(dir, string(filepath.Separator))
	if slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(keptByPrograms, part) }) {
		return false
	}
	// A hidden folder of the home folder has an application's data. A worktree that an application made there is the user's work.
	rest, err := filepath.Rel(s.home, dir)
	if s.home == "" || err != nil || !strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "..") {
		return true
	}
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && info.Mode().IsRegular()
}

// keptByPrograms are names of folders whose content programs make.
var keptByPrograms = []string{"node_modules", "site-packages", "AppData", "Library", "Caches", ".cache", "__pycache__"}

// isOfSystem reports whether a directory is one of the system.
func isOfSystem(dir string) bool {
	var folders []string
	switch runtime.GOOS {
	case "windows":
		for _, name := range []string{"SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData"} {
			folders = append(folders, os.Getenv(name))
		}
	case "darwin":
		folders = []string{"/Applications", "/System", "/bin", "/sbin", "/usr", "/etc", "/var", "/private/etc", "/private/var/db", "/opt", "/dev"}
	default:
		if isWithin(dir, "/usr/src") { // images of containers have the work there
			return false
		}
		folders = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/opt", "/proc", "/run", "/sbin", "/snap", "/sys", "/usr", "/var"}
	}
	return slices.ContainsFunc(folders, func(folder string) bool { return folder != "" && isWithin(dir, folder) })
}

// isWithin reports whether a path is a folder or lies below it.
func isWithin(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}
