package confinement

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"mcphub/children/consent"
	"mcphub/children/entry"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/internal/wellknown"
)

// This file opens the paths that an entry of hub.json names. The operator wrote them. Landlock
// can only add rights, so a folder is not opened for writing if this server or another one runs,
// loads or obeys anything in it. What a name opened when it was first used is
// remembered; it never opens more, whatever has come to its place.

// Preview returns the host that leaves no trace, for a session with these roots.
func (h Host) Preview(roots []string) Host {
	h.memory = h.memory.previewCopy()
	h.boundary.Areas, h.boundary.Roots = slices.Clip(h.boundary.Areas), slices.Clip(h.boundary.Roots)
	for _, path := range roots {
		h.boundary.Areas = append(h.boundary.Areas, sandbox.Rule{Path: path, Access: all})
		h.boundary.Roots = append(h.boundary.Roots, path)
	}
	return h
}

// MarkAnnounced remembers that someone learned what the names of an entry open. It reports
// whether that is the first time, for any hub of the user.
func (h Host) MarkAnnounced(prog program.Program) bool {
	return h.memory.noteAbsent(memoryLine{Path: tellingOf(prog), Owner: h.owner})
}

// IsAnnounced reports whether MarkAnnounced was called for an entry. It leaves no trace.
func (h Host) IsAnnounced(prog program.Program) bool {
	return h.memory.previewCopy().knowsName(tellingOf(prog))
}

func tellingOf(prog program.Program) string { return "told " + prog.Digest() }

// ExecutedPaths are paths that programs run, load or obey, with what their links lead to.
type ExecutedPaths struct {
	paths   []string
	folders []string // of paths, the ones that are searched
}

// addHops adds a path by its hops. searched: programs look for files in it by their names.
func (executed *ExecutedPaths) addHops(hops []string, searched bool) {
	if executed.paths = append(executed.paths, hops...); searched {
		executed.folders = append(executed.folders, hops...)
	}
}

// ExecutedBy looks up what the program of an entry runs, loads or obeys.
func (h Host) ExecutedBy(prog program.Program) (o ExecutedPaths) {
	for _, n := range prog.Names(h.home) {
		switch n.Use {
		case entry.Code, entry.Config:
			o.addHops(h.looks.Hops(n.Path), h.IsDir(n.Path))
		case entry.Cwd:
			if h.runsIn(prog, n.Path) {
				o.addHops(h.looks.Hops(n.Path), false) // data may lie in it
			}
		}
	}
	if filepath.IsAbs(prog.EnvFile) {
		o.addHops(h.looks.Hops(prog.EnvFile), false)
	}
	return o
}

// runsIn reports whether a program is taken out of the folder that it works in, or obeys
// what lies there.
func (h Host) runsIn(prog program.Program, dir string) bool {
	command, args := commandline.Innermost(prog.Command, prog.Args)
	name, l, known := commandline.LauncherOf(command)
	if name == "python" {
		return h.hasModule(commandline.ModuleOf(args), dir)
	}
	if _, fetches := l.Fetches(args); known && fetches {
		return false // it starts elsewhere
	}
	return prog.ReadsWorkingDir()
}

// hasModule reports whether a module of Python lies in a folder.
func (h Host) hasModule(module, dir string) bool {
	top, _, _ := strings.Cut(module, ".")
	if top == "" || strings.ContainsAny(top, `/\`) {
		return false
	}
	at := filepath.Join(dir, top)
	return h.IsDir(at) || isFile(at+".py")
}

// others is what the entries of a hub run, load or obey. Any goroutine may use it.
type others struct{ now atomic.Pointer[ExecutedPaths] }

// SetExecuted tells the host what all entries of a hub obey. No entry may write what another one runs. It looks at
// no disk.
func (h Host) SetExecuted(all []ExecutedPaths) {
	var sum ExecutedPaths
	paths, folders := map[string]bool{}, map[string]bool{} // many are the same in all surroundings
	for _, o := range all {
		sum.paths, sum.folders = appendNew(sum.paths, o.paths, paths), appendNew(sum.folders, o.folders, folders)
	}
	h.others.now.Store(&sum)
}

// appendNew appends what was not seen before.
func appendNew(to, paths []string, seen map[string]bool) []string {
	for _, path := range paths {
		if !seen[path] {
			seen[path] = true
			to = append(to, path)
		}
	}
	return to
}

// A naming opens the names of one entry.
type naming struct {
	h      Host // its boundary is the boundary of the session, with sandbox.write
	prog   program.Program
	names  []entry.Name
	obeyed ExecutedPaths // no one may write it
	places []string      // where other well-known servers keep something

	rules    []sandbox.Rule
	files    []sandbox.File
	makes    []StateFolder
	named    []sandbox.Named
	recorded []sandbox.Named // see openRecorded
	opens    []string        // what the rules open, for people
	closed   []string        // what waits for a person
}

// A decision describes what a name opens, and why it opens no more.
type decision struct {
	rules []sandbox.Rule
	file  *sandbox.File // that the hub opens for the server, with what the server makes beside it
	why   string
	makes string // a folder that is made first
	none  bool   // the name is no path, and nothing is said of it
}

// decideClosed opens nothing.
func decideClosed(format string, args ...any) decision {
	return decision{why: fmt.Sprintf(format, args...)}
}

// decideOpened opens one path.
func decideOpened(path string, a sandbox.Access) decision {
	return decision{rules: []sandbox.Rule{{Path: path, Access: a}}}
}

// collectNames collects the names of an entry, and what no one may write because of it. parts are what
// its program is made of.
func (h Host) collectNames(child Child, parts []part, k *wellknown.Server) *naming {
	n := &naming{h: h, prog: child.Program}
	if child.Fresh != "" { // what installs a server is not the server
		return n
	}
	n.names = n.prog.Names(h.home)
	n.obeyed = h.ExecutedBy(n.prog)
	if o := h.others.now.Load(); o != nil {
		n.obeyed = ExecutedPaths{slices.Concat(o.paths, n.obeyed.paths), slices.Concat(o.folders, n.obeyed.folders)}
	}
	for _, p := range parts {
		n.obeyed.addHops(h.looks.Hops(p.file), false)
	}
	list, _ := child.Env.Get("PATH")
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) {
			n.obeyed.addHops(h.looks.Hops(dir), h.IsDir(dir))
		}
	}
	users := h.Inherited(nil)
	all := wellknown.All()
	for i := range all {
		if o := &all[i]; o != k && o.Kernel != nil {
			for _, place := range o.Kernel.Write {
				n.places = append(n.places, h.placePaths(place, users, h.cacheDir(users))...)
			}
		}
	}
	return n
}

// openNames decides on each name.
func (n *naming) openNames() {
	for _, name := range n.names {
		w := n.h.wayOf(name.Path)
		d := n.decideRemembered(memoryOf(&w), &w, n.decideName(name, &w))
		if d.none {
			continue
		}
		n.takeDecision(d)
		if d.file != nil {
			d.rules = []sandbox.Rule{d.file.Rule()}
		}
		for _, r := range d.rules {
			if text := r.Access.String() + " " + r.Path; !slices.Contains(n.opens, text) {
				n.opens = append(n.opens, text)
			}
		}
		n.named = append(n.named, sandbox.Named{Key: name.Key, Path: name.Path, Why: d.why})
	}
}

// takeDecision opens what was decided.
func (n *naming) takeDecision(d decision) {
	n.rules = append(n.rules, d.rules...)
	if d.file != nil {
		n.files = append(n.files, *d.file)
	}
}

// decideName returns what a name opens.
func (n *naming) decideName(name entry.Name, w *way) decision {
	h := &n.h
	if slices.ContainsFunc(w.hops, h.boundary.Writable) {
		// A root, or what the entry opens to write, reports what is open there. A link in it
		// leads to nothing that is not.
		return decision{}
	}
	if link := h.relinkableLink(w); link != "" {
		return decideClosed("servers may write %s, which leads to %s; write the path that it leads to", link, w.real)
	}
	for _, path := range w.hops {
		if why := n.neverReason(path, w); why != "" {
			return decision{why: why}
		}
	}
	if why := h.neverReason(w); why != "" {
		return decideClosed("it leads to %s by a link, and %s", w.real, why)
	}
	switch why := n.readOnly(name, w.real, w); {
	case name.Use == entry.Code: // a part of the program: see programParts
		return decision{why: why}
	case w.end == nil && why != "":
		return decideClosed("nothing is there")
	case w.end == nil:
		return n.decideMissing(name, w)
	case why != "":
		return decision{rules: decideOpened(w.real, runs).rules, why: why + ", so it is only read"}
	case !w.end.IsDir():
		if d, ok := n.openFile(w); ok {
			return d
		}
	}
	return decideOpened(w.real, all)
}

// openFile opens a file with what its program makes beside it: by its folder if that is the file's
// own, else by the hub. ok is false if neither can be.
func (n *naming) openFile(w *way) (d decision, ok bool) {
	if dir := n.folderOf(w); dir != "" {
		return decideOpened(dir, all), true
	}
	f := n.h.brokeredFile(w)
	if f == nil {
		return decision{}, false
	}
	f.Never = append(f.Never, n.obeyedIn(f.Folder)...)
	return decision{file: f}, true
}

// obeyedIn returns the names of what is run or obeyed in a folder.
func (n *naming) obeyedIn(folder string) (names []string) {
	for _, path := range n.obeyed.paths {
		if filepath.Dir(path) == folder && !slices.Contains(names, filepath.Base(path)) {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

// relinkableLink returns a link on a way that a server of any hub could have written before the
// name was used; "" for none.
func (h Host) relinkableLink(w *way) string {
	if h.memory == nil || h.memory.knowsName(memoryOf(w)) {
		return ""
	}
	for _, hop := range w.hops[:len(w.hops)-1] {
		link := hop
		for at := hop; !isTop(at); at = filepath.Dir(at) {
			if fi, err := h.looks.Lstat(at); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
				link = at // the first of the path
			}
		}
		if h.isReachable(filepath.Dir(link)) {
			return link
		}
	}
	return ""
}

// isReachable reports whether a server of any hub could have written in a folder.
func (h Host) isReachable(dir string) bool {
	if h.Planted(dir) {
		return true
	}
	if h.memory == nil {
		return false
	}
	_, could := h.memory.consent.CouldBeWritten(consent.Item{ID: "folder " + dir, Paths: []string{dir}})
	return could
}

// temporaryFolders returns the folders that everybody shares.
func (h Host) temporaryFolders() []string {
	return []string{os.TempDir(), h.Real(os.TempDir()), "/tmp", "/var/tmp"}
}

// neverReason returns why a path is not opened, whatever it is for; "" if it may be.
func (n *naming) neverReason(path string, w *way) string {
	if shared := n.h.temporaryFolders(); underAny(path, shared) && !slices.Contains(shared, path) && !n.isUsers(path) {
		return "another user has it"
	}
	r := n.h.reservedPlaces(n.places)
	if w.end != nil && w.end.Mode().IsRegular() {
		if why := r.WhyInside(path); why != sandbox.WhySecret(path) {
			return why
		}
		return "" // it is only read
	}
	switch why := r.Why(path); {
	case w.end == nil && why == sandbox.WhySecret(path) && sandbox.KeyFolder(path) == "": // by the name of the file alone
	case why != "":
		return why
	}
	if keys := sandbox.KeysIn(path); keys != "" {
		return "it holds " + keys
	}
	return ""
}

// reservedPlaces returns what no name opens. others are places of other servers.
func (h Host) reservedPlaces(others []string) sandbox.Reserved {
	r := sandbox.Reserved{Home: h.home, Withheld: slices.Clip(h.boundary.Withheld), Others: others}
	for _, own := range []string{h.stateFolder(), h.CacheFolder()} {
		if own != "" {
			r.Withheld = append(r.Withheld, own, h.Real(own))
		}
	}
	return r
}

// isUsers reports whether what is at a path, or nearest above it, is the user's own.
func (n *naming) isUsers(path string) bool {
	for ; ; path = filepath.Dir(path) {
		if fi, err := os.Lstat(path); err == nil {
			return isOwn(fi) && (fi.Mode()&fs.ModeSymlink != 0 || fi.Mode()&0o002 == 0)
		} else if isTop(path) {
			return false
		}
	}
}

// readOnly returns why what a name leads to is not written; "" if it is. path is its target.
func (n *naming) readOnly(name entry.Name, path string, w *way) string {
	switch {
	case name.Use == entry.Code:
		return "it is run, or searched for what is run"
	case name.Use == entry.Config:
		return "it is configuration"
	case name.Use == entry.Cwd && n.h.runsIn(n.prog, name.Path):
		return "the program lies there"
	case underAny(path, systemFolders), underAny(path, n.h.installs), inModules(path):
		return "programs are installed there"
	}
	for _, at := range []string{name.Path, path} {
		if w.end != nil && !w.end.IsDir() {
			if why := sandbox.WhySecret(at); why != "" {
				return why
			}
		} else if sandbox.ClientFile(at) != "" {
			return "it says what a client or the hub starts"
		}
		if sandbox.Loaded(at) {
			return "shells, git, ssh or an editor load it"
		}
		for _, code := range n.obeyed.paths {
			switch {
			case at == code:
				return "it is run, or obeyed"
			case sandbox.Contains(at, code):
				return code + " in it is run, or obeyed"
			}
		}
		for _, dir := range n.obeyed.folders {
			if sandbox.Contains(dir, at) {
				return "it lies in " + dir + ", which is searched for what is run"
			}
		}
		for _, root := range n.h.boundary.Roots {
			if root != at && sandbox.Contains(at, root) {
				return "the root " + root + " lies in it"
			}
		}
	}
	return ""
}

// inModules reports a path below a folder of installed packages.
func inModules(path string) bool {
	return slices.ContainsFunc(strings.Split(path, string(filepath.Separator)), func(part string) bool {
		return part == "node_modules" || part == "site-packages" || part == "dist-packages"
	})
}

// decideMissing returns what opens for a name that leads to nothing: a folder that is made for it, or one
// in which there is nothing else.
func (n *naming) decideMissing(name entry.Name, w *way) decision {
	real := n.h.resolvePath(w.real)
	folder := real
	if base := strings.TrimLeft(filepath.Base(real), "."); !name.Folder && filepath.Ext(base) != "" {
		if d, ok := n.openFile(w); ok {
			return d
		}
		if folder = filepath.Dir(real); n.h.IsDir(folder) {
			return decideClosed("nothing is there, and %s: give it a folder of its own", n.sharedReason(folder))
		}
	} else if name.Text && !name.Folder { // which may only ask whether it is there
		return decideClosed("nothing is there, and nothing tells whether it is to be a file or a folder")
	}
	above := filepath.Dir(folder)
	for !isTop(above) && !n.h.IsDir(above) {
		above = filepath.Dir(above)
	}
	at := n.h.wayOf(folder)
	switch fi, err := os.Lstat(above); {
	case isTop(above):
		return decision{none: true} // an address, or the name of something
	case name.Use == entry.Cwd:
		return decideClosed("nothing is there")
	case err != nil || !isOwn(fi) || fi.Mode()&0o002 != 0:
		return decideClosed("nothing is there, and %s is not the user's own, so nothing is made in it", above)
	case n.neverReason(folder, &at) != "":
		return decideClosed("nothing is there, and %s is not made: %s", folder, n.neverReason(folder, &at))
	case n.readOnly(entry.Name{Path: folder, Use: entry.Data}, folder, &at) != "":
		return decideClosed("nothing is there, and %s is not made: %s", folder, n.readOnly(entry.Name{Path: folder, Use: entry.Data}, folder, &at))
	}
	f := decideOpened(folder, all)
	f.makes = folder
	return f
}

// sharedReason returns why a folder is not opened for a file that is to be made in it.
func (n *naming) sharedReason(folder string) string {
	w := n.h.wayOf(folder)
	if why := n.neverReason(folder, &w); why != "" {
		return fmt.Sprintf("its folder %s is not opened (%s)", folder, why)
	}
	return fmt.Sprintf("its folder %s holds other things", folder)
}

// folderOf returns the folder of a file, if that is the file's own: nothing is in it but
// what the entry names, and what programs make beside such files. It stays so once it was.
// It is "" otherwise.
func (n *naming) folderOf(w *way) string {
	dir := filepath.Dir(w.real)
	at := n.h.wayOf(dir)
	if at.end == nil || !at.end.IsDir() || at.real != dir || n.neverReason(dir, &at) != "" || n.readOnly(entry.Name{Path: dir, Use: entry.Data}, dir, &at) != "" {
		return ""
	}
	if n.h.memory != nil {
		was, _ := n.h.memory.openedPlaces(memoryOf(w))
		if slices.Contains(was, dir+"/") {
			return dir
		}
		if was != nil && n.h.kernel().Asks() { // the file alone was opened, which goes on
			return ""
		}
	}
	list, err := os.ReadDir(dir)
	if !isOwn(at.end) || at.end.Mode()&0o002 != 0 || err != nil {
		return ""
	}
	for _, e := range list {
		name := strings.TrimPrefix(e.Name(), ".")
		if !e.Type().IsRegular() || !slices.ContainsFunc(n.names, func(o entry.Name) bool {
			base := filepath.Base(o.Path)
			return o.Use == entry.Data && filepath.Dir(o.Path) == filepath.Dir(w.path) && (e.Name() == base || strings.HasPrefix(name, base+"-") || strings.HasPrefix(name, base+"."))
		}) {
			return ""
		}
	}
	return dir
}

// memoryOf returns what a name is remembered by.
func memoryOf(w *way) string { return "named " + w.path }

// decideRemembered returns the decision of a name, unless that opens more than when the name was
// first used. It is remembered as name.
func (n *naming) decideRemembered(name string, w *way, f decision) decision {
	if n.h.memory == nil || f.none {
		return f
	}
	var places []string
	for _, r := range f.rules {
		at := n.h.wayOf(r.Path)
		places = append(places, at.endPlace(false))
	}
	if f.file != nil {
		places = append(places, f.file.Path())
	}
	if f.file == nil && f.rules == nil && !n.h.memory.knowsName(name) {
		places = append(places, w.endPlace(false)) // whatever comes to be there is at its own place
	}
	was, ok, err := n.h.memory.settledPlaces(memoryLine{Path: name, Owner: n.h.owner, Leads: places}, true)
	switch {
	case err != nil:
		return decideClosed("what it led to cannot be remembered: %v", err)
	case !ok:
		f = decideClosed("%s, so it is not opened before your user has accepted that (`mcphub status` shows what to do)", Change{w.path, was, places})
		n.closed = append(n.closed, f.why)
		return f
	}
	if f.makes != "" {
		n.makes = append(n.makes, StateFolder{Folder: f.makes})
	}
	return f
}

// laterReason returns what tells, while the child runs, why a path is not opened whatever asks for it.
func (n *naming) laterReason() func(path string) string {
	now := *n
	now.h.looks, now.h.disk = nil, systemDisk() // what the plan has seen may be over
	return func(path string) string {
		w := now.h.wayOf(path)
		return now.neverReason(path, &w)
	}
}

// finishProfile fills in what is open at each name.
func (n *naming) finishProfile(p *sandbox.Profile) []sandbox.Named {
	for _, list := range [][]sandbox.Named{n.named, n.recorded} {
		for i := range list {
			said := &list[i]
			if said.Access = p.AccessAt(n.h.resolvePath(said.Path)); said.Access&sandbox.Write != 0 {
				said.Why = ""
			}
		}
	}
	return n.named
}
