package confinement

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// An opening collects the rules of one child.
type opening struct {
	h         Host
	parts     []part // of the program
	rules     []sandbox.Rule
	watched   []string // paths of the user's, where something may take the place of something else while the child runs
	conflicts []string // what cannot be held so
	closed    []string // what is opened no more, and why

	programClosed string // why the program itself is not opened; "": it is

	private []PrivateFile // what is to be written into the child's own temporary folder
}

// openForWriting opens what the names of the entry and the repositories of the roots come to. Nothing
// that lies in what children may write opens more.
func (o *opening) openForWriting(rules []sandbox.Rule) {
	for _, r := range rules {
		o.rules = append(o.rules, r)
		if r.Access&sandbox.Write != 0 {
			o.h.boundary.Areas = append(o.h.boundary.Areas, r)
		}
		if isFile(r.Path) {
			o.watched = append(o.watched, r.Path)
		}
	}
}

// openAll opens what the child may open beside the boundary and what is its own. A program that
// is not opened does not end it: each name is remembered, and asked about, at the first start.
func (o *opening) openAll(child Child, shared shares) {
	o.openLauncher(child)
	o.openCommon(child.Env)
	for _, r := range shared.addShares(child.Program, o.parts, o.h).shareRules() {
		_ = o.openPath(r.Path, r.Access, false) // no link is on the way to it
	}
	o.ofProgram(child.Installed)
	o.openNamed(child.Program.Sandbox.Read)
	o.versionSettings()
	o.openGit(child)
	o.rules = sandbox.Sorted(o.rules)
	o.compareWithBoundary()
}

// openLauncher opens what launchers start in and with, or the copy that takes their place.
func (o *opening) openLauncher(child Child) {
	if child.StartDir != "" || child.Dir == child.Scratch {
		o.rules = append(o.rules, sandbox.Rule{Path: o.h.Real(child.Scratch), Access: sandbox.Read})
		if child.Shell != "" {
			o.rules = append(o.rules, sandbox.Rule{Path: o.h.Real(child.Shell), Access: runs})
		}
	}
	if child.Installed != nil {
		o.rules = append(o.rules, sandbox.Rule{Path: child.Installed.Dir, Access: runs})
	}
}

// ofProgram opens the parts of the program, with the installations that they belong to.
func (o *opening) ofProgram(installed *program.Installed) {
	for _, p := range o.parts {
		if installed.Holds(p.file) {
			continue // no link that the package brought leads out of it
		}
		ways, why := o.h.installationPaths(p)
		switch {
		case why != "" && p.main:
			o.programClosed = why
		case why != "":
			o.closed = append(o.closed, why)
		case o.h.boundary.Writable(p.file): // children could put there what makes more of it
			if w := o.h.wayOf(p.file); o.h.inBoundary(&w) {
				o.addEnd(w, runs, false)
			}
		default:
			for _, w := range ways {
				o.addEnd(w, runs, false)
			}
		}
	}
}

// openNamed opens what the entry opens for reading.
func (o *opening) openNamed(paths []string) {
	for _, path := range paths {
		why := o.h.withheldReason("read", path)
		if why == "" {
			why = o.openPath(path, runs, true)
		}
		if why != "" {
			o.conflicts = append(o.conflicts, why)
		}
	}
}

// versionSettings opens the settings of each version manager of which anything is open.
func (o *opening) versionSettings() {
	if o.h.home == "" {
		return
	}
	for folder, files := range settings {
		top := filepath.Join(o.h.home, folder)
		if slices.ContainsFunc(o.rules, func(r sandbox.Rule) bool { return sandbox.Contains(top, r.Path) }) {
			for _, file := range files {
				o.openOrClose(o.h.wayOf(filepath.Join(o.h.home, file)), sandbox.Read, asFile, true)
			}
		}
	}
}

// compareWithBoundary finds rules that would open what is withheld.
func (o *opening) compareWithBoundary() {
	if o.h.kernel().Excepts() {
		return
	}
	closed := o.h.closedFolder()
	for _, c := range o.h.boundary.Conflicts(o.rules) {
		if sandbox.Contains(closed, c.Withheld) {
			continue // the rule is made around it
		}
		o.conflicts = append(o.conflicts, c.String())
	}
}

// openCommon opens what every program needs, and the folders in which programs are found by their names. Programs that start together with the same
// boundary and PATH open the same, so it is followed once for them; for each of them if something of it is closed, since an answer or the memory of
// names of another entry may open it.
func (o *opening) openCommon(env *program.Environment) {
	path, _ := env.Get("PATH")
	follow := func() opening {
		all := opening{h: o.h}
		all.openBase()
		for _, w := range o.h.searchedFolders(path) {
			all.openOrClose(w, runs, toOpen, false)
		}
		return all
	}
	text := fmt.Appendf(nil, "opening %s\x00%t", path, o.h.memory != nil && o.h.memory.dry)
	for _, r := range o.h.boundary.Areas {
		text = fmt.Appendf(text, "\x00%d %s", r.Access, r.Path)
	}
	text = append(text, 0)
	for _, w := range o.h.boundary.Withheld {
		text = append(append(text, 0), w...)
	}
	own := false // this plan has followed them
	all := sandbox.FindOnce(o.h.looks, string(text), func() opening { own = true; return follow() })
	if len(all.closed) > 0 && !own {
		all = follow()
	}
	o.rules, o.watched, o.closed = append(o.rules, all.rules...), append(o.watched, all.watched...), append(o.closed, all.closed...)
}

// baseLooks is what was seen a moment ago of what every program needs. It counts for ways through the system's places alone, in which no
// server writes. A mutex guards it.
type baseLooks struct {
	mu   sync.Mutex
	seen *sandbox.LstatCache
}

func (b *baseLooks) recentLooks() *sandbox.LstatCache {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen.InBurst() == nil {
		b.seen = sandbox.NewLstatCache()
	}
	return b.seen
}

// openBase opens what every program needs, see [sandbox.Base].
func (o *opening) openBase() {
	git, looks := append(gitFiles(o.h.home), o.h.git), o.h.base.recentLooks()
	for _, base := range sandbox.Base() {
		for _, path := range base.PathsIn(o.h.home) {
			if slices.Contains(git, path) {
				continue // see openGit
			}
			use := toOpen
			if sandbox.IsFile(path, o.h.home) {
				use = asFile
			}
			w := wayIn(looks, path)
			if !onlySystem(w.hops) {
				w = o.h.wayOf(path)
			}
			o.openOrClose(w, base.Access, use, sandbox.Contains(o.h.home, path))
		}
	}
}

// openOrClose opens a way, or notes why not.
func (o *opening) openOrClose(w way, a sandbox.Access, use purpose, watch bool) {
	if why := o.openWay(w, a, use, watch); why != "" {
		o.closed = append(o.closed, why)
	}
}

// openPath opens what a path leads to, and reports why not if a person is to know.
func (o *opening) openPath(path string, a sandbox.Access, watch bool) string {
	return o.openWay(o.h.wayOf(path), a, toOpen, watch)
}

// openWay works like openPath for a way that was looked up.
func (o *opening) openWay(w way, a sandbox.Access, use purpose, watch bool) string {
	why, ok := o.h.followWay(w, use)
	if ok {
		o.addEnd(w, a, watch)
	}
	return why
}

// addEnd opens the end of a way that the boundary lets be opened, where something is.
func (o *opening) addEnd(w way, a sandbox.Access, watch bool) {
	if w.end == nil {
		return
	}
	o.rules = append(o.rules, sandbox.Rule{Path: w.real, Access: a})
	if watch {
		o.watched = append(o.watched, w.real)
	}
}

// withheldReason returns why a path of the entry's sandbox cannot be opened; "" if it can.
func (h Host) withheldReason(key, path string) string {
	if h.boundary.Withholds(path) || h.boundary.Withholds(h.Real(path)) {
		return fmt.Sprintf("sandbox.%s: %s is withheld by the policy, or is the hub's own", key, path)
	}
	return ""
}

// linkedReason returns why a path that the entry opens for writing is not opened as what
// its links lead to; "" if it is.
func (h Host) linkedReason(path string) string {
	if real := h.Real(path); !h.boundary.MayFollow(append(h.looks.Hops(path), real)) {
		return fmt.Sprintf("sandbox.write: %s leads to %s by a link where servers write, so it is not opened; write the path that it leads to", path, real)
	}
	return ""
}
