package sandbox

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Access is what may be done below a path. The zero Access is nothing.
type Access uint8

const (
	Read    Access = 1 << iota // open files and list directories
	Execute                    // run files
	Write                      // change, make, move and remove files and directories
	Device                     // control a device (ioctl)
)

// String names what is allowed, as documents and reports have it.
func (a Access) String() string {
	var words []string
	for i, word := range []string{"read", "execute", "write", "control"} {
		if a&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// A Rule allows something at a path, and below it if it is a directory.
type Rule struct {
	Path   string // absolute and clean, without a link on the way
	Access Access
}

// A Profile is what a confined process may do. The zero Profile lets nothing be
// opened.
type Profile struct {
	Rules     []Rule   // sorted by path, one for each: see Sorted
	Places    []Place  // sorted by path: see Watch
	Files     []File   // in folders that no rule opens for writing
	Except    string   // is opened by no rule around it; "": nothing is excepted. See the package
	Withheld  []string // no rule around one opens it, nor what lies in it; for a kernel that can hold that: see Kernel.Excepts
	Unbounded bool     // files are not confined; then Rules mean nothing
	Network   Network
	Sockets   bool // unix sockets other than connected pairs

	// Attributes holds modes, owners, times and extended attributes of files, too: they
	// are changed only where files may be written. Each change is asked about.
	Attributes bool

	opened *openedPaths // of the servers that start with it; nil: each opens its paths itself
}

// Equal reports whether two Profiles allow the same.
func (p *Profile) Equal(o *Profile) bool {
	if p == nil || o == nil {
		return p == o
	}
	return p.Except == o.Except && slices.Equal(p.Withheld, o.Withheld) && p.Unbounded == o.Unbounded && p.Sockets == o.Sockets && p.Attributes == o.Attributes && p.Network.Equal(o.Network) && slices.Equal(p.Rules, o.Rules) && slices.EqualFunc(p.Files, o.Files, File.Equal) &&
		slices.EqualFunc(p.Places, o.Places, func(a, b Place) bool { return a.Path == b.Path && a.inode == b.inode })
}

// Sorted joins the rules of one path, sorts them, and leaves those out that the rules of
// the directories above say already.
func Sorted(rules []Rule) []Rule {
	out := slices.Clone(rules)
	slices.SortFunc(out, func(a, b Rule) int { return cmp.Compare(a.Path, b.Path) })
	n := 0
	for _, r := range out {
		switch {
		case n > 0 && out[n-1].Path == r.Path:
			out[n-1].Access |= r.Access
		default:
			out[n] = r
			n++
		}
	}
	by := make(map[string]Access, n)
	for _, r := range out[:n] {
		by[r.Path] = r.Access
	}
	return slices.DeleteFunc(out[:n], func(r Rule) bool {
		for dir, up := r.Path, filepath.Dir(r.Path); up != dir; dir, up = up, filepath.Dir(up) {
			r.Access &^= by[up]
		}
		return r.Access == 0
	})
}

// AccessAt returns what the rules allow at a path.
func (p *Profile) AccessAt(path string) (a Access) {
	if p.isExcepted(path) {
		return 0
	}
	for _, r := range p.Rules {
		if p.ruleApplies(r, path) {
			a |= r.Access
		}
	}
	if p.isBeside(path) {
		a |= Read | Write
	}
	return a
}

// isBeside reports whether a path names one of the files, or what its program has made beside it or may make.
func (p *Profile) isBeside(path string) bool {
	return slices.ContainsFunc(p.Files, func(f File) bool {
		name := filepath.Base(path)
		return f.Folder == filepath.Dir(path) && f.Beside(name) && (f.IsOwn(name) || !f.isForeign(name))
	})
}

// isExcepted reports whether a path is what no rule opens, or lies below.
func (p *Profile) isExcepted(path string) bool { return p.Except != "" && Contains(p.Except, path) }

// ruleApplies reports whether a rule is about a path.
func (p *Profile) ruleApplies(r Rule, path string) bool {
	return Contains(r.Path, path) && !slices.ContainsFunc(p.Withheld, func(w string) bool { return Contains(r.Path, w) && Contains(w, path) })
}

// RulesAroundExcept returns the rules of directories that what is excepted lies in.
func (p *Profile) RulesAroundExcept() (list []Rule) {
	for _, r := range p.Rules {
		if p.Except != "" && r.Path != p.Except && Contains(r.Path, p.Except) {
			list = append(list, r)
		}
	}
	return list
}

// Covers reports whether p allows whatever o allows. What a rule of o sits on and is not
// at its path any more may be anywhere, and p does not allow that.
func (p *Profile) Covers(o *Profile) bool {
	switch {
	case p.Attributes && !o.Attributes, !p.Network.On && (o.Network.On || !slices.Equal(p.Network.Ports, o.Network.Ports)), o.Sockets && !p.Sockets:
		return false
	case p.Unbounded || o.Unbounded:
		return p.Unbounded
	case slices.ContainsFunc(p.Withheld, func(w string) bool { return !slices.Contains(o.Withheld, w) }):
		return false
	}
	return !slices.ContainsFunc(o.Files, func(f File) bool {
		return (Read|Write)&^p.AccessAt(f.Folder) != 0 && !slices.ContainsFunc(p.Files, f.Equal)
	}) && !slices.ContainsFunc(o.Rules, func(r Rule) bool { return r.Access&^p.AccessAt(r.Path) != 0 || o.hasMoved(r.Path) })
}

// Network describes which connections are allowed. The zero value is none.
type Network struct {
	On    bool     // all
	Ports []uint16 // of TCP, sorted; where On is not set
}

// Equal reports whether two Networks are the same.
func (network Network) Equal(o Network) bool {
	return network.On == o.On && slices.Equal(network.Ports, o.Ports)
}

// String returns the value in words.
func (network Network) String() string {
	switch {
	case network.On:
		return "on"
	case len(network.Ports) == 0:
		return "off"
	}
	words := make([]string, len(network.Ports))
	for i, p := range network.Ports {
		words[i] = strconv.Itoa(int(p))
	}
	return "TCP ports " + strings.Join(words, ", ")
}

// Contains reports whether path is dir or lies below it, as they are written.
func Contains(dir, path string) bool {
	if filepath.Separator == '/' && isPlain(dir) && isPlain(path) { // nearly all are, and many are compared
		rest, ok := strings.CutPrefix(path, dir)
		return ok && (rest == "" || rest[0] == '/' || dir == "/")
	}
	_, below := Rel(dir, path)
	return below
}

// Rel returns the way from a directory to what is or lies below it, as both are written.
func Rel(dir, path string) (rel string, below bool) {
	rel, err := filepath.Rel(writeTop(dir), writeTop(path))
	return rel, err == nil && filepath.IsLocal(rel)
}

// writeTop writes a share of Windows as its top folder: [filepath.Rel] never returns if it is given one and the other.
func writeTop(path string) string {
	if len(path) > 2 && len(filepath.VolumeName(path)) == len(path) {
		path += string(filepath.Separator)
	}
	return path
}

// isPlain reports whether a path is absolute and clean.
func isPlain(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		switch rest := path[i+1:]; {
		case rest == "":
			return i == 0
		case rest[0] == '/':
			return false
		case rest[0] == '.':
			if name, _, _ := strings.Cut(rest, "/"); name == "." || name == ".." {
				return false
			}
		}
	}
	return true
}
