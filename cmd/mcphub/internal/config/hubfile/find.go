package hubfile

import (
	"path/filepath"
	"runtime"
)

// Lookup looks up the variables of an environment (NAME=value) as os.LookupEnv does: of several of a name the first counts.
func Lookup(environ []string) func(name string) (value string, set bool) {
	return func(name string) (string, bool) {
		for _, pair := range environ {
			if n := len(name); len(pair) > n && pair[n] == '=' && pair[:n] == name {
				return pair[n+1:], true
			}
		}
		return "", false
	}
}

// Find chooses the configuration file: flag, else $MCPHUB_CONFIG, else
// mcphub/hub.json in the user's configuration folder, which is
// $XDG_CONFIG_HOME, else ~/.config, else what the system has for it. The first
// two are returned whether or not the file exists, because a person named
// them; of the last the first that exists. path is "" if there is none.
//
// unused is "hub.json" if one lies in the working directory that was not
// chosen: it is never read unless named, and the user should hear of it.
func Find(flag string, env func(string) (string, bool), exists func(path string) bool) (path, unused string) {
	path = flag
	if path == "" {
		path, _ = env("MCPHUB_CONFIG")
	}
	if path == "" {
		for _, dir := range configDirs(env) {
			if p := defaultFile(dir); exists(p) {
				path = p
				break
			}
		}
	}
	const here = "hub.json"
	if exists(here) && !samePath(path, here) {
		unused = here
	}
	return path, unused
}

// defaultFile is hub.json below a user's configuration folder.
func defaultFile(dir string) string { return filepath.Join(dir, "mcphub", "hub.json") }

// configDirs asks env alone, not the process, so that a test sees what it set.
func configDirs(env func(string) (string, bool)) []string {
	// The XDG specification ignores a relative path here.
	if dir, _ := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return []string{dir}
	}
	var dirs []string
	if home, _ := env(HomeVariable()); filepath.IsAbs(home) {
		dirs = append(dirs, filepath.Join(home, ".config"))
		if runtime.GOOS == "darwin" {
			dirs = append(dirs, filepath.Join(home, "Library", "Application Support"))
		}
	}
	if runtime.GOOS == "windows" {
		if dir, _ := env("APPDATA"); filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func samePath(a, b string) bool {
	if a == "" {
		return false
	}
	x, err1 := filepath.Abs(a)
	y, err2 := filepath.Abs(b)
	return err1 == nil && err2 == nil && x == y
}

// DefaultPath returns the path of a new configuration if nothing is
// named: the first place in which [Find] looks. "" if the user has no home.
func DefaultPath(env func(string) (string, bool)) string {
	for _, dir := range configDirs(env) {
		return defaultFile(dir)
	}
	return ""
}

// HomeVariable returns the variable that names the home folder of the user.
func HomeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}
