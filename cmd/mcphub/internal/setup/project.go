package setup

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/internal/ownership"
	"mcphub/rootsmgr"
)

// A projectSearch finds the project that a working directory lies in.
type projectSearch struct {
	home    string // of the user, with links followed; "" if it is not known
	program string // the folder of the client's program; "" if it is not known
}

// guessProject returns the project of a client whose working directory is dir; the zero value if there is none. env has the client's
// variables, and client is its process. isWritten reports whether a server could have written in a directory. Such a server could have taken
// away what the project was known by, so the working directory itself counts then.
func guessProject(dir string, env func(string) (string, bool), client int, isWritten func(string) bool) rootsmgr.Guess {
	real, s, ok := newProjectSearch(dir, env, client)
	workDir := rootsmgr.RootEntry{URI: dir}
	switch {
	case !ok:
		return rootsmgr.Guess{}
	case s.home == "":
		return rootsmgr.Guess{WorkDir: workDir, Refused: "your home folder is not known; set HOME"}
	}
	switch project, refused := s.find(real); {
	case refused != "":
		return rootsmgr.Guess{WorkDir: workDir, Refused: refused}
	case project != "":
		return rootsmgr.Guess{Project: rootsmgr.RootEntry{URI: project}, WorkDir: workDir}
	case !s.isAbove(real) && s.fits(real) && isWritten(real):
		return rootsmgr.Guess{Project: rootsmgr.RootEntry{URI: real}, WorkDir: workDir}
	}
	return rootsmgr.Guess{}
}

// newProjectSearch returns the search for a client, and its working directory with links followed. ok is false if that directory is not on
// this machine.
func newProjectSearch(dir string, env func(string) (string, bool), client int) (real string, s projectSearch, ok bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || strings.HasPrefix(filepath.VolumeName(real), `\\`) { // a share is on another machine
		return "", s, false
	}
	s.program = programFolder(client)
	if home, ok := env(hubfile.HomeVariable()); ok {
		s.home, _ = filepath.EvalSymlinks(home)
	}
	if s.home == "" {
		if u, err := user.Current(); err == nil {
			s.home, _ = filepath.EvalSymlinks(u.HomeDir)
		}
	}
	return real, s, true
}

// find returns the top of the version control that holds a directory. Without one it returns the nearest directory with a file that a
// project has at its top. refused is the reason why it does not count.
func (s projectSearch) find(dir string) (project, refused string) {
	for _, marked := range []func(string) bool{isUnderControl, hasManifest} {
		for at := dir; !s.isAbove(at); at = filepath.Dir(at) {
			if !marked(at) || !s.fits(at) {
				continue
			}
			if open := openToOthers(at); open != "" {
				return at, "another user may write in " + open + "; chmod go-w " + open
			}
			return at, ""
		}
	}
	return "", ""
}

// isAbove reports whether a directory is the home folder, the root of the file system, or holds one of them.
func (s projectSearch) isAbove(dir string) bool {
	return dir == filepath.Dir(dir) || sandbox.Contains(dir, s.home)
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
	if slices.ContainsFunc(manifests, func(name string) bool { return name[0] != '.' && isOwn(filepath.Join(dir, name)) }) {
		return true
	}
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		if slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(manifests, filepath.Ext(name)) && isOwn(filepath.Join(dir, name))
		}) {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// isOwn reports whether there is such a file or folder, and it belongs to this user.
func isOwn(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && ownership.Check(info) == nil
}

// openToOthers returns the first directory from dir upwards in which another user may replace a name; "" if there is none.
func openToOthers(dir string) string {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err != nil || ownership.OthersReplace(at, info) {
			return at
		}
	}
	return ""
}

// fits reports whether a directory belongs to this user, and is none of a system, a program, a cache or an application's data.
func (s projectSearch) fits(dir string) bool {
	if !isOwn(dir) || s.program != "" && sandbox.Contains(s.program, dir) || isOfSystem(dir) {
		return false
	}
	parts := strings.Split(dir, string(filepath.Separator))
	if slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(keptByPrograms, part) }) {
		return false
	}
	// A hidden folder of the home folder has an application's data. A worktree that an application made there is the user's work.
	if rest, below := sandbox.Rel(s.home, dir); !below || !strings.HasPrefix(rest, ".") {
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
		if sandbox.Contains("/usr/src", dir) { // images of containers have the work there
			return false
		}
		folders = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/opt", "/proc", "/run", "/sbin", "/snap", "/sys", "/usr", "/var"}
	}
	return slices.ContainsFunc(folders, func(folder string) bool { return folder != "" && sandbox.Contains(folder, dir) })
}
