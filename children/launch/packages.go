package launch

import (
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
	"mcphub/rootsmgr/guard"
)

// fetching says how the packages are installed that a launcher fetches. The zero
// fetching is that of a launcher which fetches none.
type fetching struct {
	manager  string   // the program that installs them
	sub      []string // subcommands that fetch; none: the launcher always does
	packages []string // flags that name the package; without one the program's word does
	extras   []string // flags that name a package beside it
	passed   []string // flags that the manager takes as well
	ignored  []string // flags that mean nothing to an install
}

var (
	npmFetch  = fetching{manager: "npm", packages: []string{"-p", "--package"}, passed: []string{"--registry", "--ignore-scripts", "--legacy-peer-deps", "--strict-ssl"}, ignored: []string{"-y", "--yes", "-q", "--quiet", "-s", "--silent", "--cache", "--prefer-online", "--prefer-offline", "--loglevel"}}
	pnpmFetch = fetching{manager: "pnpm", packages: []string{"--package"}, passed: []string{"--registry", "--allow-build"}, ignored: []string{"-s", "--silent"}}
	yarnFetch = fetching{manager: "yarn", sub: []string{"dlx"}, packages: []string{"-p", "--package"}, ignored: []string{"-q", "--quiet"}}
	bunFetch  = fetching{manager: "bun", packages: []string{"-p", "--package"}, ignored: []string{bunFlag, "--silent", "--verbose"}}
	uvFetch   = fetching{manager: "uv", packages: []string{"--from"}, extras: []string{"--with", "-w"}, passed: []string{"-p", "--python", "--index", "-i", "--index-url", "--default-index", "--extra-index-url", "--prerelease"}, ignored: []string{"-q", "--quiet", "--refresh", "--cache-dir", "--isolated"}}
	pipxFetch = fetching{manager: "pipx", sub: []string{"run"}, packages: []string{"--spec"}, passed: []string{"--python", "-i", "--index-url", "--pip-args"}, ignored: []string{"--no-cache", "-q", "--quiet", "--verbose"}}
)

// bunFlag has bun run a program that is written for node.
const bunFlag = "--bun"

// only is f for some subcommands.
func (f fetching) only(sub ...string) fetching {
	f.sub = sub
	return f
}

// A Package is what a launcher fetches before it runs it.
type Package struct {
	Manager string            // what installs it: npm, pnpm, yarn, bun, uv, pipx
	Command string            // how that is started: a name, or an absolute path where the launcher is one
	Specs   []string          // of packages, as they are written
	Extras  []string          // likewise, of those beside them
	Flags   []string          // of the launcher, that the manager takes as well
	Program string            // the program in it; "": the one that it is named for
	Bun     bool              // bun runs it in place of node
	Env     map[string]string // what the line sets by env

	from, to int // words of the line that stand for it, from the launcher to before the server's arguments
	dashes   int // the word -- that is not the server's; 0: there is none
}

// Package tells what the program's launcher fetches. ok is false where the program is
// no launcher, and where its line says something that is not understood.
func (prog Program) Package() (p Package, ok bool) {
	command, args := prog.Command, prog.Args
	for at := unwrap(command, args); at > 0; at = unwrap(command, args) {
		if !p.wrapped(command, args[:at-1]) {
			return p, false
		}
		command, args, p.from = args[at-1], args[at:], p.from+at
	}
	name, l, known := launcherOf(command)
	at := programAt(command, args)
	if !known || l.fetch.manager == "" || at >= len(args) {
		return p, false
	}
	p.Manager, p.Command = l.fetch.manager, l.fetch.manager
	if filepath.IsAbs(command) {
		p.Command = filepath.Join(filepath.Dir(command), p.Manager+filepath.Ext(command))
	} else if command != filepath.Base(command) {
		return p, false
	}
	if !p.flags(&l, args[:at]) {
		return p, false
	}
	if p.Program = args[at]; len(p.Specs) == 0 {
		p.Specs, p.Program = []string{args[at]}, ""
	}
	p.to = p.from + at + 2
	if name == "npm" && !slices.Contains(args[:at], "--") && !p.divide(args[at+1:]) {
		return p, false
	}
	return p, !slices.ContainsFunc(slices.Concat(p.Specs, p.Extras, p.Flags, []string{p.Program}), unclear)
}

// wrapped takes in what a command does that starts the launcher; false where that
// cannot be told.
func (p *Package) wrapped(command string, args []string) bool {
	name, _, _ := launcherOf(command)
	switch name {
	case "sudo", "":
		return false
	case "env":
		for _, a := range args {
			name, value, ok := strings.Cut(a, "=")
			if !ok || strings.HasPrefix(a, "-") {
				return false
			}
			if p.Env == nil {
				p.Env = map[string]string{}
			}
			p.Env[name] = value
		}
		return true
	}
	return baseName(command) != "cmd"
}

// flags reads what stands before the program.
func (p *Package) flags(l *launcher, args []string) bool {
	f := &l.fetch
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		words := args[i : i+1]
		if strings.HasPrefix(flag, "-") && !joined && l.takes(flag) {
			if i++; i >= len(args) {
				return false
			}
			value, words = args[i], args[i-1:i+1]
		}
		switch {
		case flag == "--":
		case !strings.HasPrefix(flag, "-"): // a subcommand
		case slices.Contains(f.packages, flag):
			p.Specs = append(p.Specs, value)
		case slices.Contains(f.extras, flag):
			p.Extras = append(p.Extras, value)
		case slices.Contains(f.passed, flag), f.manager == "npm" && strings.HasPrefix(flag, "--@") && joined:
			p.Flags = append(p.Flags, words...)
		case slices.Contains(f.ignored, flag):
			p.Bun = p.Bun || flag == bunFlag
		default:
			return false
		}
	}
	_, fetches := l.fetches(args)
	return fetches
}

// divide finds the -- by which npm tells its own flags from the program's. Without one
// the flags are its own, which is not understood.
func (p *Package) divide(rest []string) bool {
	for i, a := range rest {
		switch {
		case a == "--":
			p.dashes = p.to + i
			return true
		case strings.HasPrefix(a, "-"):
			return false
		}
	}
	return true
}

// unclear reports a word that names a place on this machine, or is known only when the
// server starts.
func unclear(word string) bool {
	return namesPath(word) || strings.HasPrefix(word, "file:") || namesRoots(word) || reference.Has(word) || strings.ContainsAny(word, "\x00\n")
}

// Versions that are written out: of npm's registry, of Python's, and of a commit.
var (
	exactNode   = lazyregexp.New(`.@v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$|#[0-9a-f]{40}$`)
	exactPython = lazyregexp.New(`(?:[^=<>~!]==|.@)\d+(?:\.\d+)*[0-9a-z.+!-]*$|@[0-9a-f]{40}$`)
)

// Python reports whether the package is one of Python's.
func (p *Package) Python() bool {
	return p.Manager == uvFetch.manager || p.Manager == pipxFetch.manager
}

// Pinned reports whether every package has a version that is written out.
func (p *Package) Pinned() bool {
	exact := exactNode
	if p.Python() {
		exact = exactPython
	}
	return !slices.ContainsFunc(slices.Concat(p.Specs, p.Extras), func(s string) bool { return !exact.MatchString(s) })
}

// An Installed is a copy of a Package that runs in place of its launcher.
type Installed struct {
	Dir     string   // all of it, without a link on the way; the child may read it
	Command string   // what runs it; "": not known yet
	Args    []string // before those of the server
	Beside  []string // programs whose interpreter the copy needs as well
	Neutral bool     // what runs it obeys files of the directory that it starts in
}

// holds reports whether a file is part of the copy.
func (in *Installed) holds(path string) bool {
	return in != nil && in.Dir != "" && sandbox.Holds(in.Dir, path)
}

// Fetches tells what is to be installed before the program starts here, because the
// kernel confines it: of others the launcher does what it does.
func (h Machine) Fetches(prog Program) (Package, bool) {
	if !prog.Sandbox.Confines() || prog.Unheld(h.kernel()) != "" || h.boundary.Open != "" && prog.Sandbox.Default {
		return Package{}, false
	}
	return prog.Package()
}

// WithInstalled is the machine on which this copy runs in place of the launcher; nil:
// the launcher runs.
func (h Machine) WithInstalled(in *Installed) Machine {
	h.installed = in
	return h
}

// WithFresh is the machine with a folder that the program is to fill.
func (h Machine) WithFresh(dir string) Machine {
	h.fresh = dir
	return h
}

// instead is the program and its arguments with the copy in place of the launcher, and
// of all that the launcher is told, and the package that it was told.
func (prog Program) instead(args []string, in *Installed) (ran Program, fetched string, rest []string) {
	p, ok := prog.Package()
	if !ok {
		return prog, "", args
	}
	line := slices.Concat([]string{prog.Command}, args)
	rest = slices.Clone(line[p.to:])
	if p.dashes > 0 {
		rest = slices.Delete(rest, p.dashes-p.to, p.dashes-p.to+1)
	}
	line = slices.Concat(line[:p.from], []string{in.Command}, in.Args, rest)
	prog.Command = line[0]
	return prog, p.Specs[0], line[1:]
}

// Has reports whether programs that start here find one of this name.
func (h Machine) Has(name string) bool {
	_, err := findProgram(Program{Command: name}, inherited(h.environ, nil, h.goos), "", h)
	return err == nil
}

// An Install is what a manager needs to fill a folder.
type Install struct {
	Args   []string
	Env    map[string]string
	Temp   string
	Cache  string // what it keeps for the next time
	Fresh  string // the folder to fill, where it works
	Within sandbox.Boundary
}

// managerVariables begin the names of variables that are settings of a manager.
var managerVariables = []string{"NPM_CONFIG_", "PNPM_", "YARN_", "BUN_CONFIG_", "UV_", "PIP_", "PIPX_", "SSL_CERT_"}

// IsManagerVariable reports whether a variable is a setting of a package manager.
func IsManagerVariable(name string) bool {
	name = strings.ToUpper(name)
	return name == "NODE_EXTRA_CA_CERTS" || strings.HasSuffix(name, "_PROXY") ||
		slices.ContainsFunc(managerVariables, func(v string) bool { return strings.HasPrefix(name, v) })
}

// managerFiles are settings of managers in the home folder, by the names of the files.
var managerFiles = []string{".npmrc", "npmrc", "rc", "auth.ini", ".yarnrc.yml", ".bunfig.toml", "uv.toml", "pip.conf", ".netrc"}

// isManagerFile reports whether a path is a setting of a manager, or a certificate.
func isManagerFile(path string) bool {
	base := filepath.Base(path)
	return slices.Contains(managerFiles, base) || slices.Contains([]string{".pem", ".crt", ".cer"}, filepath.Ext(base))
}

// Reads reports whether an entry lets its program read a file.
func (prog Program) Reads(path string) bool {
	return slices.ContainsFunc(prog.Sandbox.Read, func(dir string) bool { return sandbox.Holds(dir, path) })
}

// hidden are variables that no install needs.
var hidden = []string{"SSH_AUTH_SOCK", "DOCKER_HOST", "DISPLAY", "WAYLAND_DISPLAY", "MCP_ROOTS_COUNT", "MCP_ROOTS_PATHS", "MCP_ROOTS_JSON"}

// PlanInstall computes how the manager of a Package starts, for an entry that runs prog.
// It is confined as much as prog, but for the network: it writes to its own folders, and
// reads of what the entry adds only settings of managers. It is given no variable of the
// entry but those settings.
func PlanInstall(prog Program, p *Package, in Install, roots []guard.Root, h Machine) (Launch, error) {
	m := Program{Command: p.Command, Args: in.Args, Env: map[string]string{}, Cwd: in.Fresh, Rewrite: RewriteNever}
	m.Sandbox = sandbox.Settings{Mode: prog.Sandbox.Mode, Network: sandbox.Network{On: true}}
	for _, path := range prog.Sandbox.Read {
		if isManagerFile(path) && isFile(path) {
			m.Sandbox.Read = append(m.Sandbox.Read, path)
		}
	}
	for _, set := range []map[string]string{prog.Env, p.Env} {
		for name, value := range set {
			if IsManagerVariable(name) && !namesRoots(value) {
				m.Env[name] = value
			}
		}
	}
	for name, value := range in.Env {
		m.Env[name] = value
	}
	for _, name := range prog.Inherit {
		if IsManagerVariable(name) {
			m.Inherit = append(m.Inherit, name)
		}
	}
	h.boundary = sandbox.Boundary{Withheld: in.Within.Withheld}
	h = h.WithInstalled(nil).WithPrivate(in.Temp, in.Cache).WithFresh(in.Fresh)
	l, err := Plan(m, roots, h)
	l.RootsFile = nil
	l.Env = slices.DeleteFunc(l.Env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(hidden, name)
	})
	return l, err
}
