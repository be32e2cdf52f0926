package confinement

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/sandbox"
)

// packageFiles are those by which the top folder of a package is told.
var packageFiles = []string{"package.json", "node_modules", "pyvenv.cfg", "pyproject.toml", "setup.py", "deno.json", "Cargo.toml", "go.mod", "Gemfile", "composer.json"}

// keptByUsers are folders of the home folder that hold more than one installation: what
// lies there is opened no wider than its own folder. So it is in folders of keys.
var keptByUsers = []string{".local", ".config", ".cache", ".cargo"}

// topOf returns the top folder of the installation that a file belongs to; "" where none
// can be told.
func (h Host) topOf(path string) string { return lookOnce(h, "top", path, h.findTop) }

func (h Host) findTop(path string) string {
	if before, _, ok := strings.Cut(path, "/node_modules/"); ok && h.isNarrow(before) {
		return before + "/node_modules"
	}
	if rel, below := sandbox.Rel(h.home, path); below {
		parts := strings.Split(rel, string(filepath.Separator))
		if len(parts) > 1 && strings.HasPrefix(parts[0], ".") && !slices.Contains(keptByUsers, parts[0]) {
			if top := filepath.Join(h.home, parts[0]); sandbox.KeyFolder(top) == "" && sandbox.SecretIn(top, h.home) == "" {
				return top
			}
		}
		if len(parts) > 3 && parts[0] == ".local" && parts[1] == "share" {
			top := parts[:3]
			if parts[2] == "uv" { // which keeps credentials there too
				top = parts[:4]
			}
			return filepath.Join(h.home, filepath.Join(top...))
		}
	}
	dir := filepath.Dir(path)
	for at := dir; h.isNarrow(at); at = filepath.Dir(at) {
		for _, name := range packageFiles {
			if _, err := h.looks.Lstat(filepath.Join(at, name)); err == nil {
				return at
			}
		}
	}
	if prefix := filepath.Dir(dir); filepath.Base(dir) == "bin" && h.isNarrow(prefix) && filepath.Base(prefix) != ".local" && filepath.Base(prefix) != ".cargo" {
		return prefix
	}
	if h.isNarrow(dir) {
		return dir
	}
	return ""
}

// managers are folders of the home folder in which programs are installed, and nothing
// else is.
var managers = []string{".nvm", ".pyenv", ".rbenv", ".nodenv", ".jenv", ".goenv", ".asdf", ".volta", ".bun", ".deno", ".sdkman", ".rustup", ".rvm", ".local/share/mise", ".local/share/fnm"}

// settings are files of the home folder by which version managers know what to run.
var settings = map[string][]string{
	".asdf":             {".asdfrc", ".tool-versions"},
	".local/share/mise": {".config/mise/config.toml", ".tool-versions"},
}

// searchedFolders returns the folders of a PATH, in which a child finds programs by their names, and
// the installations of which they are a part. What children write in is none of them, nor
// what would be a reason to refuse.
func (h Host) searchedFolders(path string) (ways []way) {
	b := &h.boundary
	// Each is resolved once: a link may lead elsewhere by the next burst.
	known := map[string]bool{}
	add := func(dir string) (w way, ok bool) {
		if known[dir] {
			return w, false
		}
		known[dir] = true
		if w = h.wayOf(dir); !h.isNarrow(w.real) || len(b.Conflicts([]sandbox.Rule{{Path: w.real}})) > 0 {
			return w, false
		}
		ways = append(ways, w)
		return w, true
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || underAny(dir, []string{"/usr", "/bin", "/sbin"}) || b.Writable(dir) || !h.isNarrow(dir) {
			continue
		}
		w, ok := add(dir)
		if !ok {
			continue
		}
		if filepath.Base(dir) == "bin" {
			add(filepath.Join(filepath.Dir(dir), "lib", "node_modules")) // what npm has put into its prefix
		}
		for _, folder := range managers {
			if top := filepath.Join(h.home, folder); h.home != "" && (underAny(w.path, []string{top}) || underAny(w.real, []string{top})) {
				add(top)
			}
		}
	}
	return ways
}

// isNarrow reports a directory that can be one installation: it does not hold the home
// folder, the hub's temporary folder or a folder of the system's top.
func (h Host) isNarrow(dir string) bool {
	return !isTop(dir) && !isTop(filepath.Dir(dir)) && (h.home == "" || !sandbox.Contains(dir, h.home)) && !sandbox.Contains(dir, os.TempDir())
}

// systemFolders are places of the system, in which no server writes.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store", "/gnu/store", "/run/current-system", "/run/systemd", "/snap", "/dev", "/proc", "/sys"}

// installers are more folders in which programs are installed, and nothing else is.
var installers = []string{".npm-global/bin", ".npm-global/lib", ".cargo/bin", "go/bin", ".local/share/pnpm", ".local/state/nix", ".nix-profile", "miniconda3", "anaconda3", "miniforge3", "mambaforge", ".linuxbrew"}

// installFolders returns the places in which programs are installed and nothing else is:
// the system's, version managers and the user's own. What leads there is a program,
// whichever version it is.
func installFolders(home string) (list []string) {
	list = []string{"/home/linuxbrew/.linuxbrew"}
	for _, need := range sandbox.Base() {
		if need.Access&sandbox.Execute != 0 {
			list = append(list, need.PathsIn(home)...)
		}
	}
	if home != "" {
		for _, folder := range slices.Concat(managers, installers) {
			list = append(list, filepath.Join(home, folder))
		}
	}
	return list
}

// underAny reports whether a clean path is one of some others or lies in it.
func underAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return strings.HasPrefix(path, dir) && (len(path) == len(dir) || os.IsPathSeparator(path[len(dir)]))
	})
}

// installationPaths returns what must be open for a file of a program to run: the file and the
// tops of its installation, on the way to where its links lead. why is set if it is not what its
// name opened when it was first used.
func (h Host) installationPaths(p part) (paths []way, why string) {
	hops := h.looks.Hops(p.file)
	if onlySystem(hops) {
		h.rememberNothing(p)
		return nil, "" // it is open to everybody
	}
	spelled := hops[:1:1]
	switch {
	case !h.IsDir(p.file):
		for _, hop := range hops {
			for _, path := range []string{hop, h.topOf(hop)} {
				if path != "" && !slices.Contains(spelled, path) {
					spelled = append(spelled, path)
				}
			}
		}
	case !h.isNarrow(p.file) || !h.isNarrow(hops[len(hops)-1]):
		return nil, ""
	}
	var places []string
	for i, path := range spelled {
		w := h.wayOf(path)
		switch said := h.refusedLink(&w, false); {
		case said != "" && i == 0:
			return nil, said
		case said != "", w.end != nil && w.end.IsDir() && (sandbox.KeyFolder(w.real) != "" || sandbox.SecretIn(w.real, h.home) != ""):
			continue
		}
		if place := w.endPlace(false); w.end != nil && !underAny(w.real, h.installs) && !slices.Contains(places, place) {
			places = append(places, place)
		}
		if h.inBoundary(&w) {
			paths = append(paths, w)
		}
	}
	why, inside := h.memory.whyNotLed(p, h.looks, places)
	if why == "" && !inside {
		why = h.changeReason(p.name, places, p.foundAt())
	}
	if why != "" {
		return nil, why
	}
	return paths, ""
}
