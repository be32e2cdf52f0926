package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mcphub/internal/memo"
	"mcphub/rootsmgr/platform"
)

// A Boundary is what a session opens to a child. The zero Boundary opens nothing.
type Boundary struct {
	Areas    []Rule   // roots, directories of the policy and grants; canonical paths
	Roots    []string // of these, the roots
	WhyOpen  string   // why there is no boundary; "" if there is one
	Withheld []string // paths that no child may open, whatever is around them
	Barred   string   // why no child may be given this, confined or not: none runs; "" if one may
}

// Equal reports whether two Boundaries are the same.
func (boundary Boundary) Equal(o Boundary) bool {
	return boundary.WhyOpen == o.WhyOpen && boundary.Barred == o.Barred && slices.Equal(boundary.Areas, o.Areas) && slices.Equal(boundary.Roots, o.Roots) && slices.Equal(boundary.Withheld, o.Withheld)
}

// A Conflict is an allowed path that has a withheld one in it, which the kernel cannot
// except.
type Conflict struct{ Allowed, Withheld string }

// String names both.
func (conflict Conflict) String() string {
	if conflict.Allowed == conflict.Withheld {
		return conflict.Allowed + " is allowed and is withheld"
	}
	return fmt.Sprintf("%s is allowed, and %s in it cannot be excepted", conflict.Allowed, conflict.Withheld)
}

// Conflicts returns the conflicts of rules with what is withheld.
func (boundary Boundary) Conflicts(rules []Rule) (list []Conflict) {
	for _, r := range rules {
		for _, w := range boundary.Withheld {
			c := Conflict{r.Path, w}
			if Contains(r.Path, w) && !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// Withholds reports whether a path lies at or below a withheld one.
func (boundary Boundary) Withholds(path string) bool {
	return slices.ContainsFunc(boundary.Withheld, func(w string) bool { return Contains(w, path) })
}

// MayFollow reports whether a path may be opened as what its links lead to, the last of its
// Hops. In a directory that children write in, a link could be planted: it is not followed
// out of what is open already.
func (boundary Boundary) MayFollow(hops []string) bool {
	real := hops[len(hops)-1]
	return hops[0] == real || !slices.ContainsFunc(hops, boundary.Writable) ||
		slices.ContainsFunc(boundary.Areas, func(r Rule) bool { return Contains(r.Path, real) })
}

// maxHops bounds a chain of links, as Linux does.
const maxHops = 40

// An LstatCache remembers what was seen at each path, for those who need the disk of one moment: one plan, or the plans of
// servers that start together. The nil LstatCache remembers nothing. Any goroutine may use it.
type LstatCache struct {
	made  time.Time
	seen  memo.Looks[look]
	hops  memo.Looks[[]string]
	dirs  memo.Looks[bool]
	reals memo.Looks[string]
	found memo.Looks[any] // see FindOnce

	opened *openedPaths // a Profile keeps it, and nothing else of the cache
}

// burst is how long servers that start together share what was seen. A look that is older counts for no other start.
const burst = time.Second

// A look is what is at a path.
type look struct {
	fi  fs.FileInfo
	to  string // if it is a link, its target
	err error
}

// NewLstatCache returns an LstatCache that has seen nothing yet.
func NewLstatCache() *LstatCache { return &LstatCache{made: time.Now(), opened: &openedPaths{}} }

// InBurst returns the LstatCache if another start may still use it; else nil.
func (cache *LstatCache) InBurst() *LstatCache {
	if cache == nil || time.Since(cache.made) > burst {
		return nil
	}
	return cache
}

// IsDir returns what isDir reports about a path, and asks it once.
func (cache *LstatCache) IsDir(path string, isDir func(path string) bool) bool {
	return cache.dirs.Get(path, func() bool { return isDir(path) })
}

// RealBy returns what realPath returns for a path, and asks it once.
func (cache *LstatCache) RealBy(path string, realPath func(path string) string) string {
	return cache.reals.Get(path, func() string { return realPath(path) })
}

// FindOnce returns what find returned for a text, and asks it once. A text begins with a word for what is found.
func FindOnce[V any](l *LstatCache, text string, find func() V) V {
	if l == nil {
		return find()
	}
	return l.found.Get(text, func() any { return find() }).(V)
}

// Lstat is os.Lstat.
func (cache *LstatCache) Lstat(path string) (fs.FileInfo, error) {
	at := cache.lookAt(path)
	return at.fi, at.err
}

func (cache *LstatCache) lookAt(path string) look {
	if cache == nil {
		return lookNow(path)
	}
	return cache.seen.Get(path, func() look { return lookNow(path) })
}

// lookNow returns what is at a path now.
func lookNow(path string) (at look) {
	if _, remote := platform.Host().Remote(path); remote { // no kernel holds anything there
		at.err = fs.ErrNotExist
	} else if at.fi, at.err = os.Lstat(path); at.err == nil && at.fi.Mode()&fs.ModeSymlink != 0 {
		at.to, at.err = os.Readlink(path)
	}
	return at
}

// errNotByText reports that the system has to follow a path.
var errNotByText = errors.New("the path cannot be followed by text")

// Real returns a path without links. The error is fs.ErrNotExist if nothing is there, and another one if only the system knows: it
// could not be looked at, a name before ".." may be a link, and Windows has more than one name for a file.
func (cache *LstatCache) Real(path string) (string, error) {
	if filepath.Separator != '/' || !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", errNotByText
	}
	hops := cache.Hops(path)
	for _, hop := range hops[:len(hops)-1] {
		if _, to := cache.firstLink(hop); filepath.Clean(to) != to {
			return "", errNotByText // so ".." stands at its beginning alone, if at all
		}
	}
	real := hops[len(hops)-1]
	at := cache.lookAt(real)
	if at.err == nil && at.to != "" {
		return "", errNotByText // too many links
	}
	if at.err != nil {
		return "", at.err
	}
	return real, nil
}

// Hops returns the spellings of a path on the way to its target: itself, and itself with
// one link after the other replaced by what it says.
func (cache *LstatCache) Hops(path string) []string {
	if cache == nil {
		return cache.findHops(path)
	}
	return cache.hops.Get(path, func() []string { return cache.findHops(path) })
}

func (cache *LstatCache) findHops(path string) []string {
	all := []string{filepath.Clean(path)}
	for len(all) <= maxHops {
		next, ok := cache.replaceLink(all[len(all)-1])
		if !ok {
			break
		}
		all = append(all, next)
	}
	return slices.Clip(all) // plans share it
}

// replaceLink replaces the first link of a clean path.
func (cache *LstatCache) replaceLink(path string) (string, bool) {
	link, to := cache.firstLink(path)
	if link == "" {
		return "", false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(link), to)
	}
	return filepath.Join(to, path[len(link):]), true
}

// firstLink returns the first link of a clean path, and what it says; "" if there is none.
func (cache *LstatCache) firstLink(path string) (link, to string) {
	for end := 1; end <= len(path); end++ {
		if end < len(path) && !os.IsPathSeparator(path[end]) {
			continue
		}
		switch at := cache.lookAt(path[:end]); {
		case at.err != nil:
			return "", ""
		case at.to != "":
			return path[:end], at.to
		}
	}
	return "", ""
}

// Writable reports whether children may write what is at a path, by its spelling.
func (boundary Boundary) Writable(path string) bool {
	return slices.ContainsFunc(boundary.Areas, func(r Rule) bool { return r.Access&Write != 0 && Contains(r.Path, path) })
}

// Mode reports whether a child is confined. The zero Mode confines nothing.
type Mode uint8

const (
	Off      Mode = iota // it is not
	Auto                 // as far as the system can, and what it cannot is said
	Required             // it is, or it does not start
)

func (mode Mode) String() string {
	switch mode {
	case Auto:
		return "auto"
	case Required:
		return "required"
	}
	return "off"
}

// State is how far the kernel holds the boundary of a child.
type State uint8

const (
	None    State = iota // nothing holds it
	Partial              // some of it
	Held                 // all of it
)

func (state State) String() string {
	switch state {
	case Held:
		return "held"
	case Partial:
		return "partial"
	}
	return "none"
}

// A Report describes what the kernel holds of one child.
type Report struct {
	Mode   Mode
	State  State
	Lacks  []string // what it does not hold, and why
	Closed []string // what a name opens no more, or never does, and why
	Gives  []string // what its profile opens beside what every child has; in words
	Named  []Named  // the paths that its entry names, in the order of the entry

	Recorded []Named                  // the paths that a person has confirmed for it; Key is what it does there
	Of       string                   // see Recorded.Of; "": it is not known
	Never    func(path string) string // why no name opens a path, "" if one may; nil if nothing is known
	Profile  *Profile                 // what the child may do; nil if it is not confined
	Refused  int                      // how often the kernel is known to have refused it something
	Last     Refusal                  // what that was last
}

// Named is a path that the entry of a child names in hub.json, and what became of it.
type Named struct {
	Key    string // where: a JSON pointer in the entry, such as /args/2 or /env/DATA_DIR
	Path   string // absolute and clean, as the child would open it
	Access Access // what is open at Path; 0: nothing
	Why    string // for a person: why it is closed, or may only be read; "" if it is open to read and write
}

// Settings are what an entry of hub.json says about its confinement. The zero
// Settings confine nothing.
type Settings struct {
	Mode        Mode
	Default     bool     // no one has written Mode: if no file can be held, nothing else is
	Cannot      string   // why Auto holds no part of this program on this system; "": it does
	Read        []string // absolute paths beside the boundary
	Write       []string // likewise
	Network     Network
	Sockets     Choice
	KeepRunning Choice // a running child is not started again for a wider boundary

	Owner    string   // the entry: what a person confirms for it is kept by this; "": nothing is
	Recorded Recorded // what a person has confirmed for it

	At string // file:line of the entry, for messages; Equal does not look at it
}

// Confines reports whether anything is to be held.
func (settings Settings) Confines() bool {
	return settings.Mode == Required || settings.Mode == Auto && settings.Cannot == ""
}

// A Choice is a setting that an entry may leave to the profile of its program. The zero
// Choice does.
type Choice uint8

const (
	Unsaid Choice = iota
	No
	Yes
)

// Or is the choice, or what a profile states where there is none.
func (choice Choice) Or(profile bool) bool { return choice == Yes || choice == Unsaid && profile }

// Equal reports whether two Settings are the same.
func (settings Settings) Equal(o Settings) bool {
	return settings.Mode == o.Mode && settings.Default == o.Default && settings.Cannot == o.Cannot && slices.Equal(settings.Read, o.Read) && slices.Equal(settings.Write, o.Write) &&
		settings.Network.Equal(o.Network) && settings.Sockets == o.Sockets && settings.KeepRunning == o.KeepRunning && settings.Owner == o.Owner && settings.Recorded.Equal(o.Recorded)
}
