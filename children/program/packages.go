package program

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
)

// fetching describes how the packages are installed that a launcher fetches. The
// zero fetching belongs to a launcher which fetches none.
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

// onlyFor is f for some subcommands.
func (f fetching) onlyFor(sub ...string) fetching {
	f.sub = sub
	return f
}

// A Package is what a launcher fetches before it runs it.
type Package struct {
	Manager string            // what installs it: npm, pnpm, yarn, bun, uv, pipx
	Command string            // how that is started: a name, or an absolute path if the launcher is one
	Specs   []string          // of packages, as they are written
	Extras  []string          // likewise, of those beside them
	Flags   []string          // of the launcher, that the manager takes as well
	Program string            // the program in it; "": the one that it is named for
	Bun     bool              // bun runs it instead of node
	Env     map[string]string // what the line sets by env

	from, to int // words of the line that stand for it, from the launcher to before the server's arguments
	dashes   int // the word -- that is not the server's; 0: there is none
}

// Package returns what the program's launcher fetches. ok is false if the program is no
// launcher, or if its command line says something that is not understood.
func (prog Program) Package() (p Package, ok bool) {
	command, args := prog.Command, prog.Args
	for at := unwrapCommand(command, args); at > 0; at = unwrapCommand(command, args) {
		if !p.readWrapper(command, args[:at-1]) {
			return p, false
		}
		command, args, p.from = args[at-1], args[at:], p.from+at
	}
	name, l, known := LauncherOf(command)
	at := ProgramAt(command, args)
	if !known || l.fetch.manager == "" || at >= len(args) {
		return p, false
	}
	p.Manager, p.Command = l.fetch.manager, l.fetch.manager
	if filepath.IsAbs(command) {
		p.Command = filepath.Join(filepath.Dir(command), p.Manager+filepath.Ext(command))
	} else if command != filepath.Base(command) {
		return p, false
	}
	if !p.readFlags(&l, args[:at]) {
		return p, false
	}
	if p.Program = args[at]; len(p.Specs) == 0 {
		p.Specs, p.Program = []string{args[at]}, ""
	}
	p.to = p.from + at + 2
	if name == "npm" && !slices.Contains(args[:at], "--") && !p.divideFlags(args[at+1:]) {
		return p, false
	}
	return p, !slices.ContainsFunc(slices.Concat(p.Specs, p.Extras, p.Flags, []string{p.Program}), isUnclear)
}

// readWrapper takes in what a command does that starts the launcher; false if that
// cannot be told.
func (p *Package) readWrapper(command string, args []string) bool {
	name, _, _ := LauncherOf(command)
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
	return BaseName(command) != "cmd"
}

// readFlags reads what stands before the program.
func (p *Package) readFlags(l *Launcher, args []string) bool {
	f := &l.fetch
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		words := args[i : i+1]
		if strings.HasPrefix(flag, "-") && !joined && l.takesValue(flag) {
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
	_, fetches := l.Fetches(args)
	return fetches
}

// divideFlags finds the -- by which npm tells its own flags from the program's. Without one
// the flags are its own, which is not understood.
func (p *Package) divideFlags(rest []string) bool {
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

// isUnclear reports a word that names a place on this machine, or is known only when the
// server starts.
func isUnclear(word string) bool {
	return namesPath(word) || strings.HasPrefix(word, "file:") || NamesRoots(word) || reference.Has(word) || strings.ContainsAny(word, "\x00\n")
}

// Versions that are written out: of npm's registry, of Python's, and of a commit.
var (
	exactNode   = lazyregexp.New(`.@v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$|#[0-9a-f]{40}$`)
	exactPython = lazyregexp.New(`(?:[^=<>~!]==|.@)\d+(?:\.\d+)*[0-9a-z.+!-]*$|@[0-9a-f]{40}$`)
)

// IsPython reports whether the package is one of Python's.
func (p *Package) IsPython() bool {
	return p.Manager == uvFetch.manager || p.Manager == pipxFetch.manager
}

// IsPinned reports whether every package has a version that is written out.
func (p *Package) IsPinned() bool {
	exact := exactNode
	if p.IsPython() {
		exact = exactPython
	}
	return !slices.ContainsFunc(slices.Concat(p.Specs, p.Extras), func(s string) bool { return !exact.MatchString(s) })
}

// An Installed is a copy of a Package that runs instead of its launcher.
type Installed struct {
	Dir     string   // all of it, without a link on the way; the child may read it
	Command string   // what runs it; "": not known yet
	Args    []string // before the ones of the server
	Version string   // of the package
	Beside  []string // programs whose interpreter the copy needs as well
	Neutral bool     // what runs it obeys files of the directory that it starts in
}

// Holds reports whether a file is part of the copy.
func (in *Installed) Holds(path string) bool {
	return in != nil && in.Dir != "" && sandbox.Contains(in.Dir, path)
}

// WithInstalled returns the program and its arguments with an installed copy instead of the
// launcher and its arguments. fetched is the package that the launcher was to fetch.
func (prog Program) WithInstalled(args []string, in *Installed) (ran Program, fetched string, rest []string) {
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

// WithoutVersion returns the name of a package of npm or PyPI without its version.
func WithoutVersion(spec string) string {
	spec = strings.TrimPrefix(spec, "npm:")
	if i := strings.IndexAny(spec[min(1, len(spec)):], "@=<>~!["); i >= 0 {
		return spec[:i+1]
	}
	return spec
}

// OwnNames returns the names by which the program may call folders of its own: its own name, the name of its
// package, and the name of its module.
func (prog Program) OwnNames() (names []string) {
	add := func(name string) {
		if name = path.Base(filepath.ToSlash(name)); name != "" && !strings.HasPrefix(name, ".") && name != "/" {
			names = append(names, name)
		}
	}
	if p, ok := prog.Package(); ok {
		for _, spec := range p.Specs {
			add(WithoutVersion(spec))
		}
		add(p.Program)
		return names
	}
	command, args := Innermost(prog.Command, prog.Args)
	name, _, known := LauncherOf(command)
	switch at := ProgramAt(command, args); {
	case !known:
		add(BaseName(command))
	case name == "python" && ModuleOf(args) != "":
		module, _, _ := strings.Cut(ModuleOf(args), ".")
		add(module)
	case at >= 0 && at < len(args):
		_, inside, ok := strings.Cut(filepath.ToSlash(args[at]), "/node_modules/")
		if scope, rest, _ := strings.Cut(inside, "/"); strings.HasPrefix(scope, "@") {
			inside = rest
		}
		if module, _, _ := strings.Cut(inside, "/"); ok {
			add(module)
		} else {
			add(BaseName(args[at]))
		}
	}
	return names
}
