package guard

import (
	"os"
	"strings"

	"mcphub/rootsmgr/platform"
)

// TrueCase spells an existing path as its directories list it. A directory that
// may not be listed keeps the spelling it was given.
func (OS) TrueCase(path string) (string, error) {
	out := "/"
	for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
		out = platform.Darwin.Join(out, entryName(out, name))
	}
	return out, nil
}

// entryName returns the name under which dir lists what it finds as name.
func entryName(dir, name string) string {
	wanted, err := os.Lstat(platform.Darwin.Join(dir, name))
	if err != nil {
		return name
	}
	f, err := os.Open(dir)
	if err != nil {
		return name
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return name
	}
	key, found := foldKey(name), name
	for _, entry := range names {
		if entry == name {
			return name
		}
		if foldKey(entry) != key {
			continue
		}
		if info, err := os.Lstat(platform.Darwin.Join(dir, entry)); err == nil && os.SameFile(info, wanted) {
			found = entry
		}
	}
	return found
}
