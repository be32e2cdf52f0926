package confinement

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mcphub/children/entry"
	"mcphub/children/hints"
	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// A Child is what is to be confined, as it is about to start.
type Child struct {
	Program program.Program
	Env     *program.Environment // Confine sets variables that lead to folders of the child's own
	Command string               // the program that was found, by its absolute path
	Args    []string             // as the process is given them
	Dir     string               // the folder in which the program works
	Enter   string               // where the process starts instead; "": in Dir

	Scratch string // the empty folder in which launchers start; "": there is none
	Shell   string // the script that leads them to Dir; "": there is none

	Temp  string // its own temporary folder; "": it has none
	Cache string // its own folder for what it keeps from run to run; "": it has none
	Fresh string // a folder that it is to fill, as it installs a package; "": none

	Installed *program.Installed // the copy that it runs from; nil: its launcher runs
	Package   string             // what Installed is a copy of, as the entry names it
}

// A Confinement is how the kernel holds one run of a child.
type Confinement struct {
	Profile *sandbox.Profile // nil: it is not confined
	Kernel  sandbox.Kernel   // that Profile is for
	Report  sandbox.Report
	Temp    string // the child's own temporary folder; "": it has the system's

	Makes  []Making     // see Make
	Opens  []string     // what the names of the entry open beside the boundary and the program; for people
	Refuse bool         // it is not started anew for a wider boundary
	Words  hints.Reader // reads what it says, and counts what it was refused
}

// Same reports whether two Confinements hold a child alike.
func (c *Confinement) Same(o *Confinement) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Profile.Equal(o.Profile) && c.Temp == o.Temp
}

// Confines reports whether the kernel is to hold any of what a program of an entry starts, as
// far as the entry tells.
func (h Host) Confines(prog program.Program) bool {
	return prog.Sandbox.Confines() && prog.Unheld(h.kernel()) == "" && (h.boundary.Open == "" || !prog.Sandbox.Default)
}

// Confine says how the kernel is to hold a child, and gives the child folders of
// its own in place of the user's. It is nil where the entry wants none of that. The
// error is that of one that must be confined and cannot.
func (h Host) Confine(child Child) (*Confinement, error) {
	s := child.Program.Sandbox
	if s.Mode == sandbox.Off {
		return nil, nil
	}
	c := &Confinement{Kernel: h.kernel(), Report: sandbox.Report{Mode: s.Mode}}
	var serious, lacks, closed, less []string
	var more *given
	h.boundary.Areas = slices.Clip(h.boundary.Areas)
	for _, path := range s.Write {
		w, why, _ := h.follow(path, toOpen)
		if why = cmp.Or(h.withheld("write", path), h.linked(path), why); why != "" {
			closed = append(closed, why)
			continue
		}
		access := all
		if sandbox.Holds("/dev", path) {
			access |= sandbox.Device
		}
		h.boundary.Areas = append(h.boundary.Areas, sandbox.Rule{Path: w.real, Access: access})
	}
	k := h.knownAs(child)
	p := &sandbox.Profile{Network: s.Network, Sockets: s.Sockets.Or(k != nil && k.sockets), Attributes: s.Mode == sandbox.Required, Except: h.memory.closed()}
	c.Refuse = s.Refuse.Or(k != nil && k.state)
	h.shares = shares{memory: p.Sockets, terminals: k != nil && k.terminals}
	missing, cannot := false, cmp.Or(child.Program.Unheld(c.Kernel), unheldFile(child.Command))
	switch {
	case cannot != "":
		serious = []string{cannot}
	case h.boundary.Open != "":
		serious, p.Unbounded = []string{"files are not confined: " + h.boundary.Open}, true
	default:
		cache := h.cacheDir(child.Env)
		own := child.privateFolders(k != nil && k.cache)
		c.Temp = child.Temp
		if k != nil {
			more = k.give(child, cache, h)
			own, c.Makes, serious = append(own, more.rules...), more.makes, more.lacks
		}
		o := opening{h: h, rules: slices.Concat(h.boundary.Areas, own)}
		for _, r := range h.boundary.Areas {
			o.watched = append(o.watched, r.Path)
		}
		o.parts = h.programs(child)
		n := h.naming(child, o.parts, k)
		n.open()
		for _, r := range slices.Concat(n.rules, h.repositories(k)) {
			o.rules = append(o.rules, r)
			if r.Access&sandbox.Write != 0 { // and so nothing that lies there opens more
				o.h.boundary.Areas = append(o.h.boundary.Areas, r)
			}
			if isFile(r.Path) {
				o.watched = append(o.watched, r.Path)
			}
		}
		c.Makes = append(c.Makes, n.makes...)
		o.all(child)
		if o.program != "" {
			return nil, errors.New("command: " + o.program)
		}
		p.Rules = o.rules
		p.Watch(o.watched)
		later := *n // when the child runs
		later.h.looks, later.h.disk = nil, systemDisk()
		c.Report.Never = func(path string) string {
			w := later.h.wayOf(path)
			return later.never(path, &w)
		}
		for _, r := range p.Around() {
			less = append(less, fmt.Sprintf("%s is never opened, so nothing new can be made in %s, nor in the directories between them", p.Except, r.Path))
		}
		c.Report.Named, c.Opens = n.finish(p), n.opens
		serious, less = slices.Concat(serious, closed, o.conflicts), slices.Concat(less, n.less, o.less)
		if more != nil {
			less = append(less, more.less...)
		}
	}
	free := cannot != "" || p.Unbounded && s.Default
	if !free {
		lacks, missing = c.Kernel.Lacks(p, func() []string { return sandbox.Reach(h.environ, h.home) })
	}
	c.Report.Lacks = append(serious, lacks...)
	if s.Mode == sandbox.Required && (missing || len(serious) > 0) {
		return nil, fmt.Errorf("its sandbox is \"required\", and the kernel cannot hold it: %s", strings.Join(c.Report.Lacks, "; "))
	}
	if free {
		return c, nil
	}
	c.Profile, c.Report.Profile = p, p
	c.Report.Closed = less
	c.Words.Profile, c.Words.Named, c.Words.Never, c.Words.Shared = p, c.Report.Named, c.Report.Never, child.Program.Shared
	c.Words.Dirs = append(c.Words.Dirs, child.Dir)
	for _, r := range h.boundary.Areas {
		c.Words.Dirs = append(c.Words.Dirs, r.Path)
	}
	c.Report.Gives = k.words(more, p.Sockets && s.Sockets == sandbox.Unsaid, c.Refuse && s.Refuse == sandbox.Unsaid)
	switch {
	case p.Unbounded:
	case len(c.Report.Lacks) > 0:
		c.Report.State = sandbox.Partial
	default:
		c.Report.State = sandbox.Held
	}
	return c, nil
}

// unheldFile is [Program.Unheld] by the file that is started. A program below /snap/bin is a link
// to the one that starts them all.
func unheldFile(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil && filepath.Base(to) == "snap" {
		return program.InItsOwnSandbox
	}
	if fi, err := os.Stat(path); err == nil && fi.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return program.AsAnotherUser
	}
	return ""
}

// privateFolders puts the child's own folders into its environment, where there are any
// and its entry names no other. users: the cache of the user stays its own too.
func (child Child) privateFolders(users bool) (rules []sandbox.Rule) {
	set := func(name, value string) {
		if _, said := child.Program.Env[name]; !said || child.Fresh != "" {
			child.Env.Set(name, value)
		}
	}
	if child.Temp != "" {
		rules = append(rules, sandbox.Rule{Path: child.Temp, Access: all})
		set("TMPDIR", child.Temp)
	}
	if child.Fresh != "" {
		rules = append(rules, sandbox.Rule{Path: child.Fresh, Access: all})
	}
	if child.Cache != "" {
		rules = append(rules, sandbox.Rule{Path: child.Cache, Access: all})
		if !users {
			set("XDG_CACHE_HOME", child.Cache)
		}
		set("npm_config_cache", filepath.Join(child.Cache, "npm"))
	}
	return rules
}

// An opening is what is to be opened to a child.
type opening struct {
	h         Host
	parts     []part // of the program
	rules     []sandbox.Rule
	watched   []string // paths of the user's, where something may take the place of something else while the child runs
	conflicts []string // what cannot be held so
	less      []string // what is opened no more, and why
	program   string   // why the program itself is not opened; "": it is
}

const runs = sandbox.Read | sandbox.Execute

// all opens what the child may open beside the boundary and what is its own.
func (o *opening) all(child Child) {
	h := o.h
	if child.Enter != "" || child.Dir == child.Scratch { // what launchers start in and with
		o.rules = append(o.rules, sandbox.Rule{Path: h.Real(child.Scratch), Access: sandbox.Read})
		if child.Shell != "" {
			o.rules = append(o.rules, sandbox.Rule{Path: h.Real(child.Shell), Access: runs})
		}
	}
	if child.Installed != nil {
		o.rules = append(o.rules, sandbox.Rule{Path: child.Installed.Dir, Access: runs})
	}
	o.base()
	for _, r := range h.shares.with(child.Program, o.parts, h).rules() {
		_ = o.path(r.Path, r.Access, toOpen, false) // no link is on the way to it
	}
	for _, p := range o.parts {
		if child.Installed.Holds(p.file) {
			continue // no link that the package brought leads out of it
		}
		ways, why := h.installation(p)
		switch {
		case why != "" && p.main:
			o.program = why
		case why != "":
			o.less = append(o.less, why)
		case h.boundary.Writable(p.file): // children could put there what makes more of it
			if w := h.wayOf(p.file); h.bounded(&w) {
				o.add(w, runs, false)
			}
		default:
			for _, w := range ways {
				o.add(w, runs, false)
			}
		}
	}
	for _, w := range h.searched(child.Env) {
		if why := o.follow(w, runs, toOpen, false); why != "" {
			o.less = append(o.less, why)
		}
	}
	for _, path := range child.Program.Sandbox.Read {
		why := h.withheld("read", path)
		if why == "" {
			why = o.path(path, runs, toOpen, true)
		}
		if why != "" {
			o.conflicts = append(o.conflicts, why)
		}
	}
	for folder, files := range settings {
		if top := filepath.Join(h.home, folder); h.home != "" && slices.ContainsFunc(o.rules, func(r sandbox.Rule) bool { return sandbox.Holds(top, r.Path) }) {
			for _, file := range files {
				if why := o.path(filepath.Join(h.home, file), sandbox.Read, asFile, true); why != "" {
					o.less = append(o.less, why)
				}
			}
		}
	}
	o.rules = sandbox.Sorted(o.rules)
	closed := h.memory.closed() // it looks at the disk
	for _, c := range h.boundary.Conflicts(o.rules) {
		if sandbox.Holds(closed, c.Withheld) {
			continue // the rule is made around it
		}
		o.conflicts = append(o.conflicts, c.String())
	}
}

// base opens what every program needs.
func (o *opening) base() {
	for _, n := range o.h.needs.of(o.h.home) {
		w := n.way
		if !allFixed(w.hops) {
			w = o.h.wayOf(w.path)
		}
		if why := o.follow(w, n.access, n.use, n.watch); why != "" {
			o.less = append(o.less, why)
		}
	}
}

// path opens what a path leads to, and says why not where a person is to know.
func (o *opening) path(path string, a sandbox.Access, use purpose, watch bool) string {
	return o.follow(o.h.wayOf(path), a, use, watch)
}

// follow is path for a way that was looked up.
func (o *opening) follow(w way, a sandbox.Access, use purpose, watch bool) string {
	why, ok := o.h.followed(w, use)
	if ok {
		o.add(w, a, watch)
	}
	return why
}

// add opens the end of a way that the boundary lets be opened, where something is.
func (o *opening) add(w way, a sandbox.Access, watch bool) {
	if w.end == nil {
		return
	}
	o.rules = append(o.rules, sandbox.Rule{Path: w.real, Access: a})
	if watch {
		o.watched = append(o.watched, w.real)
	}
}

// withheld says why a path of the entry's sandbox cannot be opened; "" where it can.
func (h Host) withheld(key, path string) string {
	if h.boundary.Keeps(path) || h.boundary.Keeps(h.Real(path)) {
		return fmt.Sprintf("sandbox.%s: %s is withheld by the policy, or is the hub's own", key, path)
	}
	return ""
}

// linked says why a path that the entry opens for writing is not opened as what its
// links lead to; "" where it is.
func (h Host) linked(path string) string {
	if real := h.Real(path); !h.boundary.Leads(append(h.looks.Hops(path), real)) {
		return fmt.Sprintf("sandbox.write: %s leads to %s by a link where servers write, so it is not opened; write the path that it leads to", path, real)
	}
	return ""
}

// programs are the files that the child is made of: its program, what wraps it, its
// script, and the interpreters that these name.
func (h Host) programs(child Child) (parts []part) {
	has := func(path string) bool {
		return slices.ContainsFunc(parts, func(p part) bool { return p.file == path })
	}
	add := func(path string, main bool) {
		if !has(path) {
			parts = append(parts, part{file: path, name: "program " + path, main: main})
		}
	}
	lookUp := func(name string) string { return h.lookUp(child.Env, name) }
	named := func(name string) { // the name stands for whatever is found
		switch path := lookUp(name); {
		case path == "":
			h.none(part{name: "program " + name})
		case !has(path):
			parts = append(parts, part{file: path, name: "program " + name})
		}
	}
	if child.Installed == nil && filepath.Base(child.Program.Command) == child.Program.Command {
		parts = append(parts, part{file: child.Command, name: "program " + child.Program.Command, main: true})
	}
	add(child.Command, true)
	at, end := program.LauncherWords(child.Program.Command, child.Args)
	for i, word := range child.Args[:end] {
		switch {
		case filepath.IsAbs(word):
			add(word, i == at)
		case strings.HasPrefix(word, "-"):
		case i == at && filepath.Base(word) != word:
			add(filepath.Join(child.Dir, word), true)
		default:
			if i == at && isFile(filepath.Join(child.Dir, word)) && child.Program.Cwd != "" {
				add(filepath.Join(child.Dir, word), true)
			}
			named(word)
		}
	}
	if child.Fresh == "" {
		for _, n := range child.Program.Names(h.home) {
			if n.Use == entry.Code {
				add(n.Path, false)
			}
		}
	}
	if child.Installed != nil {
		for _, name := range child.Installed.Beside {
			if filepath.IsAbs(name) {
				add(name, false)
			} else {
				named(name)
			}
		}
	}
	for i := 0; i < len(parts) && i < mostLinked; i++ {
		file := parts[i].file
		if !h.boundary.Writable(file) && !child.Installed.Holds(file) {
			for _, p := range h.beyond(file) {
				if !has(p.file) {
					parts = append(parts, p)
				}
			}
		}
		from, words := "", interpreter(file)
		parts[i].interpreter = words
		for _, word := range words {
			switch {
			case !filepath.IsAbs(word):
				named(word)
			case lookUp(filepath.Base(word)) == word:
				named(filepath.Base(word))
			default:
				from = word
			}
		}
		// It may open what it did when the script was first used; and what children write, or a
		// package, nothing.
		line := part{file: from, name: "the first line of " + file}
		switch {
		case h.boundary.Writable(file), child.Installed.Holds(file):
		case from == "":
			h.none(line)
		case has(from):
			h.installation(line) // to be remembered
		default:
			parts = append(parts, line)
		}
	}
	return parts
}

// lookUp finds a program on the PATH of a child; "" where there is none.
func (h Host) lookUp(env *program.Environment, name string) string {
	if filepath.Base(name) != name {
		return ""
	}
	list, _ := env.Get("PATH")
	for _, dir := range filepath.SplitList(list) {
		if found := filepath.Join(dir, name); filepath.IsAbs(dir) && h.IsProgram(found) {
			return found
		}
	}
	return ""
}

// interpreter are the words of the first line of a script: #! and what follows.
func interpreter(path string) []string {
	f := openRegular(path)
	if f == nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	words, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(words), func(w string) bool {
		return strings.HasPrefix(w, "-") || strings.Contains(w, "=")
	})
}

// openRegular opens a regular file to read; nil where it cannot. It does not wait for a pipe
// that a server has put there.
func openRegular(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		_ = f.Close()
		return nil
	}
	return f
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// packageFiles are those by which the top folder of a package is told.
var packageFiles = []string{"package.json", "node_modules", "pyvenv.cfg", "pyproject.toml", "setup.py", "deno.json", "Cargo.toml", "go.mod", "Gemfile", "composer.json"}

// keptByUsers are folders of the home folder that hold more than one installation: what
// lies there is opened no wider than its own folder. So it is in folders of keys.
var keptByUsers = []string{".local", ".config", ".cache", ".cargo"}

// topOf is the top folder of the installation that a file belongs to; "" where none can be
// told.
func (h Host) topOf(path string) string {
	if before, _, ok := strings.Cut(path, "/node_modules/"); ok && h.narrow(before) {
		return before + "/node_modules"
	}
	if rel, err := filepath.Rel(h.home, path); err == nil && h.home != "" && filepath.IsLocal(rel) {
		parts := strings.Split(rel, string(filepath.Separator))
		if len(parts) > 1 && strings.HasPrefix(parts[0], ".") && !slices.Contains(keptByUsers, parts[0]) {
			if top := filepath.Join(h.home, parts[0]); sandbox.KeyFolder(top) == "" && sandbox.HoldsSecret(top, h.home) == "" {
				return top
			}
		}
		if len(parts) > 3 && parts[0] == ".local" && parts[1] == "share" {
			top := parts[:3]
			if parts[2] == "uv" { // which keeps credentials there too
				top = parts[:4]
			}
			return filepath.Join(h.home, filepath.Join(top...))
		}
	}
	dir := filepath.Dir(path)
	for at := dir; h.narrow(at); at = filepath.Dir(at) {
		for _, name := range packageFiles {
			if _, err := h.looks.Lstat(filepath.Join(at, name)); err == nil {
				return at
			}
		}
	}
	if prefix := filepath.Dir(dir); filepath.Base(dir) == "bin" && h.narrow(prefix) && filepath.Base(prefix) != ".local" && filepath.Base(prefix) != ".cargo" {
		return prefix
	}
	if h.narrow(dir) {
		return dir
	}
	return ""
}

// managers are folders of the home folder in which programs are installed, and nothing
// else is.
var managers = []string{".nvm", ".pyenv", ".rbenv", ".nodenv", ".jenv", ".goenv", ".asdf", ".volta", ".bun", ".deno", ".sdkman", ".rustup", ".rvm", ".local/share/mise", ".local/share/fnm"}

// settings are files of the home folder by which version managers know what to run.
var settings = map[string][]string{
	".asdf":             {".asdfrc", ".tool-versions"},
	".local/share/mise": {".config/mise/config.toml", ".tool-versions"},
}

// searched are the folders that the child finds programs in by their names, and the
// installations of which they are a part. What children write in is none of them, nor what
// would be a reason to refuse.
func (h Host) searched(env *program.Environment) (ways []way) {
	b := &h.boundary
	// Each is resolved once, for this plan alone: a link may lead elsewhere by the next.
	known := map[string]bool{}
	add := func(dir string) (w way, ok bool) {
		if known[dir] {
			return w, false
		}
		known[dir] = true
		if w = h.wayOf(dir); !h.narrow(w.real) || len(b.Conflicts([]sandbox.Rule{{Path: w.real}})) > 0 {
			return w, false
		}
		ways = append(ways, w)
		return w, true
	}
	list, _ := env.Get("PATH")
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) || inAny(dir, []string{"/usr", "/bin", "/sbin"}) || b.Writable(dir) || !h.narrow(dir) {
			continue
		}
		w, ok := add(dir)
		if !ok {
			continue
		}
		if filepath.Base(dir) == "bin" {
			add(filepath.Join(filepath.Dir(dir), "lib", "node_modules")) // what npm has put into its prefix
		}
		for _, folder := range managers {
			if top := filepath.Join(h.home, folder); h.home != "" && (inAny(w.path, []string{top}) || inAny(w.real, []string{top})) {
				add(top)
			}
		}
	}
	return ways
}

// narrow reports a directory that can be one installation: it does not hold the home
// folder, the hub's temporary folder or a folder of the system's top.
func (h Host) narrow(dir string) bool {
	return !isTop(dir) && !isTop(filepath.Dir(dir)) && (h.home == "" || !sandbox.Holds(dir, h.home)) && !sandbox.Holds(dir, os.TempDir())
}

var errNoTemp = errors.New("no temporary folder of its own")

// PrivateTemp makes an empty folder for a run of a confined child. Its path is short,
// for the names of sockets may have 108 bytes.
func PrivateTemp() (dir string, err error) {
	base := os.TempDir()
	if len(base) > 40 {
		base = "/tmp"
	}
	if dir, err = os.MkdirTemp(base, "mcp-*"); err != nil { // mode 0700
		return "", fmt.Errorf("%w: %w", errNoTemp, err)
	}
	return RealPath(dir), nil
}
