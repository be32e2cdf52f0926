package learn

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"

	"mcphub/children/sandbox"
)

// This file describes what is not proposed.

// own are folders of the home folder in which each program has one.
var own = []string{".config", ".local", ".local/share", ".local/state", ".local/bin", ".local/lib", ".cache", "Documents", "Desktop", "Downloads", "Library"}

// neverReason returns why a path is not proposed, whatever is done there; "" if it may be.
func (p *proposer) neverReason(path string) string {
	for _, r := range []sandbox.Rule{sandbox.Memory, sandbox.Terminals} {
		if sandbox.Contains(r.Path, path) {
			return "all your programs share " + r.Path + "; if it cannot do without, add that to sandbox.write"
		}
	}
	return p.reservedPaths().WhyInside(path)
}

func (p *proposer) reservedPaths() sandbox.Reserved {
	return sandbox.Reserved{Home: p.Home, Withheld: p.Withheld, Others: p.Others}
}

// tooWide returns why a whole folder is not proposed; "" if it may be.
func (p *proposer) tooWide(dir string, writing bool) string {
	at := folder{dir, writing}
	why, known := p.looked[at]
	if !known {
		why = p.lookAt(dir, writing)
		p.looked[at] = why
	}
	return why
}

type folder struct {
	path    string
	writing bool
}

func (p *proposer) lookAt(dir string, writing bool) string {
	switch top := filepath.Dir(dir); {
	case filepath.Dir(top) == top:
		return "it is a folder of the system"
	case top == "/home":
		return "it holds a home folder"
	}
	for _, name := range own {
		if p.Home != "" && dir == filepath.Join(p.Home, name) {
			return "many programs keep what is theirs there"
		}
	}
	if why := cmp.Or(p.neverReason(dir), p.reservedPaths().Why(dir)); why != "" {
		return why
	}
	if writing && p.Profile != nil {
		for _, r := range p.Profile.Rules {
			if r.Access&(sandbox.Execute|sandbox.Write) == sandbox.Execute && (sandbox.Contains(dir, r.Path) || sandbox.Contains(r.Path, dir)) {
				return "a program lies there, which the server could change; tell it to write somewhere else"
			}
		}
	}
	return keysIn(dir)
}

// maxSearched bounds how much of a folder is searched for keys.
const maxSearched = 5000

var errFound = errors.New("found")

// keysIn returns which key lies in a folder. Installed packages are not searched.
func keysIn(dir string) (why string) {
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch n++; {
		case n > maxSearched:
			why = "it holds too much to be searched for keys"
			return errFound
		case err != nil:
			return nil //nolint:nilerr // what cannot be looked at cannot be opened by the server either
		case d.IsDir() && path != dir && (d.Name() == "node_modules" || d.Name() == "site-packages" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() && path != dir && sandbox.KeyFolder(path) != "", !d.IsDir() && sandbox.IsKey(path):
			why = path + " in it looks like a key or a credential"
			return errFound
		}
		return nil
	})
	if err != nil && why == "" {
		why = err.Error()
	}
	return why
}
