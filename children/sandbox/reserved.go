package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Reserved is what no server is given by a path that someone names: by its entry, by
// `mcphub allow`, or by what it was seen to open. The zero value knows the places that
// every machine has, and the ones that go by their names.
type Reserved struct {
	Home     string   // of the user; "": it is not known
	Withheld []string // what the policy withholds, hub.json, and the hub's own folders
	Others   []string // places of other servers
}

// systems are kept to the system with all that is in them.
var systems = []string{"/dev", "/proc", "/sys", "/run", "/var/run"}

// tops are folders of the system in which each program has one.
var tops = []string{
	"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt", "/nix", "/opt", "/root", "/sbin", "/snap", "/srv", "/usr", "/var",
	"/usr/local", "/usr/share", "/usr/lib", "/usr/bin", "/usr/sbin", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/etc/ssl", "/etc/pki", "/home",
	"/Applications", "/Library", "/System", "/Users", "/Volumes", "/private", "/private/etc", "/private/var",
	`C:\Windows`, `C:\Users`, `C:\Program Files`, `C:\Program Files (x86)`, `C:\ProgramData`,
}

// WhyInside returns why a path is reserved that lies in something, or is it; "" if it is not. The
// path is absolute, clean and without links.
func (reserved Reserved) WhyInside(path string) string {
	switch {
	case slices.ContainsFunc(reserved.Withheld, func(w string) bool { return Contains(w, path) }):
		return "the policy withholds it, or it is the hub's own"
	case slices.ContainsFunc(reserved.Others, func(o string) bool { return Contains(o, path) }):
		return "another server keeps there what is its own"
	case slices.ContainsFunc(systems, func(s string) bool { return Contains(s, path) }):
		return "it belongs to the system"
	}
	return WhySecret(path)
}

// Why returns why a path is reserved: by what it lies in, by what it holds, or by what it
// is; "" if it is not.
func (reserved Reserved) Why(path string) string {
	if why := reserved.WhyInside(path); why != "" {
		return why
	}
	for _, home := range reserved.homeFolders() {
		if Contains(path, home) {
			return "it is or holds the home folder"
		}
	}
	for _, shared := range []string{"/tmp", "/var/tmp", os.TempDir()} {
		if real, err := filepath.EvalSymlinks(shared); err == nil && Contains(path, real) || Contains(path, shared) {
			return "it is or holds everybody's temporary files"
		}
	}
	switch {
	case filepath.Dir(path) == path, slices.Contains(tops, path):
		return "it is a folder of the system"
	case slices.ContainsFunc(systems, func(s string) bool { return Contains(path, s) }):
		return "it holds folders of the system"
	}
	for _, w := range reserved.Withheld {
		if Contains(path, w) {
			return w + " in it is withheld by the policy, or is the hub's own"
		}
	}
	for _, o := range reserved.Others {
		if Contains(path, o) {
			return o + " in it is another server's own"
		}
	}
	for _, home := range reserved.homeFolders() {
		if secret := SecretIn(path, home); secret != "" {
			return "it holds " + secret
		}
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&(fs.ModeSocket|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeIrregular) != 0 {
		return "it is no file and no folder"
	}
	return ""
}

// homeFolders returns the home folder and where its links lead.
func (reserved Reserved) homeFolders() []string {
	if reserved.Home == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(reserved.Home); err == nil && real != reserved.Home {
		return []string{reserved.Home, real}
	}
	return []string{reserved.Home}
}
