package seatbelt

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A Disk finds how the disk spells paths. It looks at each directory once. The zero Disk has looked at none.
type Disk struct{ names map[string][]string }

// Find returns a path as the disk spells it, and whether it is a directory. The path is absolute and clean. What is not there, or lies in a
// directory that cannot be listed, is missing.
func (d *Disk) Find(path string) (_ Name, dir bool) {
	at, rest := "/", strings.Trim(path, "/")
	for rest != "" {
		part, after, _ := strings.Cut(rest, "/")
		name, ok := d.spelledName(at, part)
		if !ok {
			return Name{Path: at, Missing: rest}, false
		}
		at, rest = filepath.Join(at, name), after
	}
	fi, err := os.Lstat(at)
	return Name{Path: at}, err == nil && fi.IsDir()
}

// spelledName returns the name that a directory lists for what has a name in it.
func (d *Disk) spelledName(dir, name string) (string, bool) {
	is, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return "", false
	}
	names := d.listNames(dir)
	if slices.Contains(names, name) {
		return name, true
	}
	at := slices.IndexFunc(names, func(listed string) bool {
		return strings.EqualFold(norm.NFC.String(listed), norm.NFC.String(name)) && isSameFile(is, filepath.Join(dir, listed))
	})
	if at < 0 {
		return "", false
	}
	return names[at], true
}

// listNames returns the names in a directory.
func (d *Disk) listNames(dir string) []string {
	if names, ok := d.names[dir]; ok {
		return names
	}
	if d.names == nil {
		d.names = map[string][]string{}
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // what could be read of it is good
	d.names[dir] = names
	return names
}

func isSameFile(is fs.FileInfo, path string) bool {
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(is, at)
}
