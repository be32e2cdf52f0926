package learn

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/sandbox"
)

// Facts are what is known of a server and of a run.
type Facts struct {
	Settings sandbox.Settings // of its entry; what it allows stays in the proposal
	Profile  *sandbox.Profile // by which the run was recorded
	Withheld []string         // paths that no child may open
	Home     string
	Uses     []sandbox.Use
	Sockets  []sandbox.Socket
	Ports    []uint16

	// Of a Recording alone.
	Others []string                 // places of other servers
	Named  []string                 // paths that the entry names
	Tried  []string                 // files that were given to it in an earlier start of this trial, and that it has not made
	Names  []string                 // by which its program may call its own folders
	Never  func(path string) string // why no name opens a path; nil: nothing more is known
}

// A Proposal is what an entry needs. Paths are absolute.
type Proposal struct {
	Settings sandbox.Settings
	Left     []Left // what was used and is not proposed
}

// A Left is a path that was used and is not proposed.
type Left struct {
	Path   string
	Access sandbox.Access
	Why    string
}

// Propose makes a Proposal.
func Propose(f Facts) Proposal {
	p := &proposer{Facts: f, looked: map[folder]string{}, fresh: freshIn(f.Uses)}
	for _, u := range f.Uses {
		p.takeUse(u)
	}
	s := f.Settings
	s.Write = slices.Concat(s.Write, p.foldFiles(&p.write))
	s.Read = slices.Concat(s.Read, p.foldFiles(&p.read))
	s.Write = keepOutermost(s.Write, nil)
	s.Read = keepOutermost(s.Read, s.Write)
	if !s.Network.On {
		s.Network.Ports = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.Network.Ports, f.Ports))))
	}
	// One of the server's own needs them. Any other process that listens acts outside of any
	// sandbox: a person has to choose that.
	if slices.ContainsFunc(f.Sockets, func(k sandbox.Socket) bool { return k.Bound }) {
		s.Sockets = sandbox.Yes
	}
	slices.SortFunc(p.left, func(a, b Left) int { return cmp.Compare(a.Path, b.Path) })
	return Proposal{Settings: s, Left: p.left}
}

type proposer struct {
	Facts
	read, write files
	left        []Left
	looked      map[folder]string // what tooWide has said
	fresh       []string          // see freshIn
}

// freshIn returns what was made directly in the temporary folder of all programs.
func freshIn(uses []sandbox.Use) (tops []string) {
	temp := sandbox.RealPath(os.TempDir())
	for _, u := range uses {
		if u.Made && filepath.Dir(u.Path) == temp {
			tops = append(tops, u.Path)
		}
	}
	return tops
}

// files are what is needed of one kind.
type files struct {
	paths []string
	whole []string // directories, which it takes as such
	made  []string // of paths, what was not there before
}

// takeUse reports by which path a use is allowed.
func (p *proposer) takeUse(u sandbox.Use) {
	to := &p.read
	if u.Access&sandbox.Write != 0 {
		to = &p.write
	}
	leave := func(why string) { p.left = append(p.left, Left{u.Path, u.Access, why}) }
	why := p.neverReason(u.Path)
	if why == "" && slices.ContainsFunc(p.fresh, func(top string) bool { return sandbox.Contains(top, u.Path) }) {
		why = "it was made among everybody's temporary files, and has another name next time; its own temporary folder is the one that TMPDIR names"
	}
	if why != "" {
		leave(why)
		return
	}
	fi, err := os.Stat(u.Path)
	switch {
	case err != nil && u.Made: // and gone again: its directory has to be open
		dir := filepath.Dir(u.Path)
		if why := p.tooWide(dir, true); why != "" {
			leave("it was made and removed, and " + dir + " cannot be opened for that: " + why)
			return
		}
		to.whole = append(to.whole, dir)
	case err != nil: // gone, and what is not there needs no rule
	case fi.IsDir():
		if why := p.tooWide(u.Path, to == &p.write); why != "" {
			leave(why)
			return
		}
		to.whole = append(to.whole, u.Path)
	case !fi.Mode().IsRegular():
		leave("it is no file and no folder")
	default:
		to.paths = append(to.paths, u.Path)
		if u.Made {
			to.made = append(to.made, u.Path)
		}
	}
}

// foldFiles joins files to the folders that they fill. A folder of which more was left alone
// than was used stays closed.
func (p *proposer) foldFiles(f *files) []string {
	writing := f == &p.write
	paths := slices.Clone(f.paths)
	if !writing {
		for i, path := range paths {
			if top := p.packageOf(path); top != "" {
				paths[i] = top
			}
		}
	}
	paths = keepOutermost(slices.Concat(f.whole, paths), nil)
	filled := map[string]bool{}
	for _, path := range paths {
		filled[path] = true
	}
	for again := true; again; {
		again = false
		for dir, used := range parentFolders(filled) {
			if filled[dir] || p.tooWide(dir, writing) != "" || 2*len(used) < countEntries(dir) && len(used) < many {
				continue
			}
			filled[dir], again = true, true
		}
	}
	for dir, used := range parentFolders(filled) {
		least := few
		if slices.ContainsFunc(used, func(path string) bool { return slices.Contains(f.made, path) }) {
			least = 1 // a rule for a file holds no longer than the file
		}
		if filled[dir] && len(used) >= least {
			paths = append(paths, dir)
		}
	}
	return keepOutermost(paths, nil)
}

// parentFolders returns the folders of paths, with the ones of the paths that are in them.
func parentFolders(paths map[string]bool) map[string][]string {
	in := map[string][]string{}
	for path := range paths {
		in[filepath.Dir(path)] = append(in[filepath.Dir(path)], path)
	}
	return in
}

const (
	few  = 3 // in one folder may make it one
	many = 8 // in one folder do, whatever else is in it
)

func countEntries(dir string) int {
	list, _ := os.ReadDir(dir)
	return len(list)
}

// packageOf returns the folder of the package that a file belongs to; "" for none.
func (p *proposer) packageOf(file string) string {
	if before, _, ok := strings.Cut(file, "/node_modules/"); ok && p.tooWide(before, false) == "" {
		return before + "/node_modules"
	}
	for dir := filepath.Dir(file); p.tooWide(dir, false) == ""; dir = filepath.Dir(dir) {
		if isPackage(dir) {
			return dir
		}
	}
	return ""
}

// isPackage reports whether a folder is the top of a package.
func isPackage(dir string) bool {
	return slices.ContainsFunc([]string{"package.json", "pyvenv.cfg", "pyproject.toml", "setup.py", "deno.json", "Gemfile", "composer.json"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// keepOutermost returns the paths that lie in no other one, and in none of beside. Sorted.
func keepOutermost(paths, beside []string) (out []string) {
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		in := func(dir string) bool { return sandbox.Contains(dir, path) }
		if !slices.ContainsFunc(out, in) && !slices.ContainsFunc(beside, in) {
			out = append(out, path)
		}
	}
	return out
}
