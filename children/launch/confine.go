package launch

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

	"mcphub/children/sandbox"
)

// A Confinement is how the kernel holds one run of a child.
type Confinement struct {
	Profile *sandbox.Profile // nil: it is not confined
	Kernel  sandbox.Kernel   // that Profile is for
	Report  sandbox.Report
	Temp    string // the child's own temporary folder; "": it has the system's

	Makes    []Making         // see Make
	Refuse   bool             // it is not started anew for a wider boundary
	Refusals sandbox.Refusals // that are known of
}

// Same reports whether two Confinements hold a child alike.
func (c *Confinement) Same(o *Confinement) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Profile.Equal(o.Profile) && c.Temp == o.Temp
}

// Within is the machine with the boundary of whom the child serves.
func (h Machine) Within(b sandbox.Boundary) Machine {
	h.boundary = b
	return h
}

// WithPrivate is the machine with folders of the child's own, for what it keeps for a
// run and for longer.
func (h Machine) WithPrivate(temp, cache string) Machine {
	h.temp, h.cache = temp, cache
	return h
}

// confine says how the kernel is to hold what l starts, and gives the child folders of
// its own in place of the user's. It is nil where the entry wants none of that. The
// error is that of one that must be confined and cannot.
func confine(prog Program, env *environment, l *Launch, h Machine) (*Confinement, error) {
	s := prog.Sandbox
	if s.Mode == sandbox.Off {
		return nil, nil
	}
	c := &Confinement{Kernel: h.kernel(), Report: sandbox.Report{Mode: s.Mode}}
	var serious, lacks, closed []string
	var more *given
	h.boundary.Areas = slices.Clip(h.boundary.Areas)
	for _, path := range s.Write {
		if why := cmp.Or(h.withheld("write", path), h.linked(path)); why != "" {
			closed = append(closed, why)
			continue
		}
		h.boundary.Areas = append(h.boundary.Areas, sandbox.Rule{Path: RealPath(path), Access: sandbox.Read | sandbox.Write | sandbox.Execute})
	}
	k := h.knownAs(prog, env, l)
	p := &sandbox.Profile{Network: s.Network, Sockets: s.Sockets.Or(k != nil && k.sockets)}
	c.Refuse = s.Refuse.Or(k != nil && k.state)
	missing, cannot := false, cmp.Or(prog.Unheld(c.Kernel), unheldFile(l.Command))
	switch {
	case cannot != "":
		serious = []string{cannot}
	case h.boundary.Open != "":
		serious, p.Unbounded = []string{"files are not confined: " + h.boundary.Open}, true
	default:
		cache := cacheDir(env, h)
		own := privateFolders(prog, env, k != nil && k.cache, h)
		c.Temp = h.temp
		if k != nil {
			more = k.give(prog, env, l, cache, h)
			own, c.Makes, serious = append(own, more.rules...), more.makes, more.lacks
		}
		var watched, conflicts []string
		p.Rules, watched, conflicts = rules(prog, env, l, own, h)
		p.Watch(watched)
		serious = slices.Concat(serious, closed, conflicts)
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

// Unheld says why a kernel can hold nothing of what the program does; "" where it can.
func (prog Program) Unheld(k sandbox.Kernel) string {
	for _, command := range prog.commands() {
		if why := escapes(command); why != "" {
			return why
		}
	}
	if k.ABI == 0 {
		return "no kernel enforcement here: " + k.Why
	}
	return ""
}

// Why what a program starts is not held with it.
const (
	inContainer = "a container is started by another process, which no sandbox of this one holds"
	byAnother   = "it has another process start the server, which no sandbox of this one holds"
	onOther     = "it starts the server on another machine, where nothing here holds it"
	asOther     = "it starts the server with the rights of another user, which nobody gets in a sandbox"
	inItsOwn    = "it starts the server in a sandbox of its own, which does not work inside of another"
)

// escapes says why what a command starts cannot be held; "" where it can.
func escapes(command string) string {
	if strings.HasPrefix(command, "/snap/bin/") {
		return inItsOwn
	}
	switch name, _, _ := launcherOf(command); name {
	case "docker", "docker-compose", "podman-compose", "lxc", "incus", "toolbox", "distrobox", "distrobox-enter":
		return inContainer
	case "systemd-run", "machinectl", "run0":
		return byAnother
	case "ssh", "autossh", "mosh":
		return onOther
	case "sudo", "doas", "su", "runuser", "pkexec":
		return asOther
	case "snap", "flatpak", "bwrap":
		return inItsOwn
	}
	return ""
}

// unheldFile is Unheld by the file that is started. A program below /snap/bin is a link
// to the one that starts them all.
func unheldFile(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil && filepath.Base(to) == "snap" {
		return inItsOwn
	}
	if fi, err := os.Stat(path); err == nil && fi.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return asOther
	}
	return ""
}

// privateFolders puts the child's own folders into its environment, where there are
// any. One that its entry names instead is opened. users: the cache of the user stays
// its own too.
func privateFolders(prog Program, env *environment, users bool, h Machine) (rules []sandbox.Rule) {
	const all = sandbox.Read | sandbox.Write | sandbox.Execute
	set := func(name, value string) {
		switch named, said := prog.Env[name]; {
		case !said:
			env.set(name, value)
		case filepath.IsAbs(named) && h.ownFolder(named) && !h.boundary.Keeps(h.ahead(named)) && h.boundary.Leads(named, h.ahead(named)):
			rules = append(rules, sandbox.Rule{Path: h.ahead(named), Access: all})
		}
	}
	if h.temp != "" {
		rules = append(rules, sandbox.Rule{Path: h.temp, Access: all})
		set("TMPDIR", h.temp)
	}
	if h.fresh != "" {
		rules = append(rules, sandbox.Rule{Path: h.fresh, Access: all})
	}
	if h.cache != "" {
		rules = append(rules, sandbox.Rule{Path: h.cache, Access: all})
		if !users {
			set("XDG_CACHE_HOME", h.cache)
		}
		set("npm_config_cache", filepath.Join(h.cache, "npm"))
	}
	return rules
}

// rules are all that the child may open. watched are the paths of the user's, where
// something may come to be in the place of something else while the child runs.
// conflicts says what cannot be held so.
func rules(prog Program, env *environment, l *Launch, own []sandbox.Rule, h Machine) (all []sandbox.Rule, watched, conflicts []string) {
	b := h.boundary
	all = slices.Concat(b.Areas, own)
	for _, r := range b.Areas {
		watched = append(watched, r.Path)
	}
	if l.Enter != "" || l.Dir == h.scratch { // what launchers start in and with
		all = append(all, sandbox.Rule{Path: RealPath(h.scratch), Access: sandbox.Read})
		if h.shell != "" {
			all = append(all, sandbox.Rule{Path: RealPath(h.shell), Access: sandbox.Read | sandbox.Execute})
		}
	}
	if h.installed != nil {
		all = append(all, sandbox.Rule{Path: h.installed.Dir, Access: sandbox.Read | sandbox.Execute})
	}
	add := func(path string, a sandbox.Access, watch bool) {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && b.Leads(path, real) && !b.Keeps(path) && !b.Keeps(real) {
			all = append(all, sandbox.Rule{Path: real, Access: a})
			if watch {
				watched = append(watched, real)
			}
		}
	}
	for _, need := range sandbox.Base() {
		for _, path := range need.Paths {
			below, home := strings.CutPrefix(path, "~/")
			if home {
				if path = filepath.Join(h.home, below); h.home == "" {
					continue
				}
			}
			add(path, need.Access, home)
		}
	}
	for _, file := range programs(prog, env, l, h) {
		if h.installed.holds(file) {
			continue // no link that the package brought leads out of it
		}
		if b.Writable(file) { // children could put there what makes more of it
			add(file, sandbox.Read|sandbox.Execute, false)
			continue
		}
		for _, path := range h.installation(file) {
			add(path, sandbox.Read|sandbox.Execute, false)
		}
	}
	for _, path := range h.searched(env, b) {
		add(path, sandbox.Read|sandbox.Execute, false)
	}
	for _, path := range prog.Sandbox.Read {
		if why := h.withheld("read", path); why != "" {
			conflicts = append(conflicts, why)
			continue
		}
		add(path, sandbox.Read|sandbox.Execute, true)
	}
	all = sandbox.Sorted(all)
	for _, c := range b.Conflicts(all) {
		conflicts = append(conflicts, c.String())
	}
	return all, watched, conflicts
}

// withheld says why a path of the entry's sandbox cannot be opened; "" where it can.
func (h Machine) withheld(key, path string) string {
	if h.boundary.Keeps(path) || h.boundary.Keeps(RealPath(path)) {
		return fmt.Sprintf("sandbox.%s: %s is withheld by the policy, or is the hub's own", key, path)
	}
	return ""
}

// linked says why a path that the entry opens for writing is not opened as what its
// links lead to; "" where it is.
func (h Machine) linked(path string) string {
	if real := RealPath(path); !h.boundary.Leads(path, real) {
		return fmt.Sprintf("sandbox.write: %s leads to %s by a link where servers write, so it is not opened; write the path that it leads to", path, real)
	}
	return ""
}

// programs are the files that the child is made of: its program, what wraps it, its
// script, and the interpreters that these name.
func programs(prog Program, env *environment, l *Launch, h Machine) (files []string) {
	add := func(path string) {
		if path != "" && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	lookUp := func(name string) string { return h.lookUp(env, name) }
	add(l.Command)
	at := programAt(prog.Command, l.Args)
	for i := 0; i <= at && i < len(l.Args); i++ {
		switch word := l.Args[i]; {
		case filepath.IsAbs(word):
			add(word)
		case strings.HasPrefix(word, "-"):
			if _, value, _ := strings.Cut(word, "="); filepath.IsAbs(value) {
				add(value) // uv --directory=/srv/app run x.py
			}
		case i == at && filepath.Base(word) != word:
			add(filepath.Join(l.Dir, word))
		default:
			if i == at && isFile(filepath.Join(l.Dir, word)) && prog.Cwd != "" {
				add(filepath.Join(l.Dir, word))
			}
			add(lookUp(word))
		}
	}
	if prog.Cwd != "" && !namesRoots(prog.Cwd) && l.Dir != h.scratch && h.installed == nil && prog.launched() {
		add(l.Dir)
	}
	if h.installed != nil {
		for _, name := range h.installed.Beside {
			if !filepath.IsAbs(name) {
				name = lookUp(name)
			}
			add(name)
		}
	}
	for i := 0; i < len(files) && i < 32; i++ {
		planted := h.boundary.Writable(files[i]) || h.installed.holds(files[i]) // by a child or a package, perhaps
		for _, word := range interpreter(files[i]) {
			switch {
			case !filepath.IsAbs(word):
				add(lookUp(word))
			case !planted || lookUp(filepath.Base(word)) == word:
				add(word)
			}
		}
		if !planted {
			add(linkTarget(files[i]))
		}
	}
	return files
}

// lookUp finds a program on the PATH of a child; "" where there is none.
func (h Machine) lookUp(env *environment, name string) string {
	list, _ := env.get("PATH")
	for _, dir := range filepath.SplitList(list) {
		if found := filepath.Join(dir, name); filepath.IsAbs(dir) && h.isProg(found) {
			return found
		}
	}
	return ""
}

// commands are the command of the program, and those that wrap it: the innermost first.
func (prog Program) commands() []string {
	command, args := prog.Command, prog.Args
	all := []string{command}
	for at := unwrap(command, args); at > 0; at = unwrap(command, args) {
		command, args = args[at-1], args[at:]
		all = append([]string{command}, all...)
	}
	return all
}

// launched reports whether the command is a launcher, which may take its program from
// the working directory (npm start, python -m server).
func (prog Program) launched() bool {
	command, _ := innermost(prog.Command, prog.Args)
	_, _, known := launcherOf(command)
	return known
}

// linkTarget is where a link leads to in one step; "" for what is none.
func linkTarget(path string) string {
	to, err := os.Readlink(path)
	switch {
	case err != nil:
		return ""
	case filepath.IsAbs(to):
		return filepath.Clean(to)
	}
	return filepath.Join(filepath.Dir(path), to)
}

// interpreter are the words of the first line of a script: #! and what follows.
func interpreter(path string) []string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that a server has put there would wait
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	words, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(words), func(w string) bool {
		return strings.HasPrefix(w, "-") || strings.Contains(w, "=")
	})
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// packageFiles are those by which the top folder of a package is told.
var packageFiles = []string{"package.json", "node_modules", "pyvenv.cfg", "pyproject.toml", "setup.py", "deno.json", "Cargo.toml", "go.mod", "Gemfile", "composer.json"}

// keptByUsers are folders of the home folder that hold more than one installation, or
// what is secret: what lies there is opened no wider than its own folder.
var keptByUsers = slices.Concat([]string{".local", ".config", ".cache", ".cargo", ".mozilla"}, keepSecrets)

// keepSecrets are those in which no program keeps anything else.
var keepSecrets = []string{".docker", ".ssh", ".gnupg", ".aws", ".kube", ".password-store"}

// installation is what must be open for a file of a program to run: the top folder of
// its installation, or the file alone where none can be told. Links on the way are the
// caller's.
func (h Machine) installation(file string) []string {
	if h.isDir(file) { // that the entry names
		if real := h.real(file); !h.narrow(file) || !h.narrow(real) {
			return nil
		}
		return []string{file}
	}
	out := []string{file}
	for _, path := range []string{file, h.real(file)} {
		if top := h.topOf(path); top != "" && !slices.Contains(out, top) {
			out = append(out, top)
		}
	}
	return out
}

func (h Machine) topOf(path string) string {
	if before, _, ok := strings.Cut(path, "/node_modules/"); ok && h.narrow(before) {
		return before + "/node_modules"
	}
	if rel, err := filepath.Rel(h.home, path); err == nil && h.home != "" && filepath.IsLocal(rel) {
		parts := strings.Split(rel, string(filepath.Separator))
		if len(parts) > 1 && strings.HasPrefix(parts[0], ".") && !slices.Contains(keptByUsers, parts[0]) {
			return filepath.Join(h.home, parts[0])
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
			if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
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

// searched are the folders that the child finds programs in by their names, and the
// installations of which they are a part. What children write in is none of them.
func (h Machine) searched(env *environment, b sandbox.Boundary) (dirs []string) {
	// Each is resolved once, for this plan alone: a link may lead elsewhere by the next.
	reals := map[string]string{}
	resolve := func(dir string) string {
		real, known := reals[dir]
		if !known {
			real = h.real(dir)
			reals[dir] = real
		}
		return real
	}
	list, _ := env.get("PATH")
	for _, dir := range filepath.SplitList(list) {
		if _, again := reals[dir]; again || !filepath.IsAbs(dir) || sandbox.Holds("/usr", dir) || sandbox.Holds("/bin", dir) || sandbox.Holds("/sbin", dir) || b.Writable(dir) || !h.narrow(dir) || !h.narrow(resolve(dir)) {
			continue
		}
		dirs = append(dirs, dir)
		if packages := filepath.Join(filepath.Dir(dir), "lib", "node_modules"); filepath.Base(dir) == "bin" && h.isDir(packages) {
			dirs = append(dirs, packages) // what npm has put into its prefix
		}
		for _, folder := range managers {
			if top := filepath.Join(h.home, folder); h.home != "" && (sandbox.Holds(top, dir) || sandbox.Holds(top, resolve(dir))) {
				dirs = append(dirs, top)
			}
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { // that is no reason to refuse
		return len(b.Conflicts([]sandbox.Rule{{Path: resolve(dir)}})) > 0
	})
}

// narrow reports a directory that can be one installation: it does not hold the home
// folder, the hub's temporary folder or a folder of the system's top.
func (h Machine) narrow(dir string) bool {
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
