package commandline

import (
	"path/filepath"
	"slices"
	"strings"

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

// ReadPackage returns what the launcher of a command line fetches. ok is false if the command is no launcher, or if the
// line says something that is not understood.
func ReadPackage(command string, args []string) (p Package, ok bool) {
	for at := Unwrap(command, args); at > 0; at = Unwrap(command, args) {
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
	for w := range l.readWords(args) {
		switch {
		case w.next > len(args):
			return false
		case w.flag == "", w.flag == "--": // "": a subcommand
		case slices.Contains(f.packages, w.flag):
			p.Specs = append(p.Specs, w.value)
		case slices.Contains(f.extras, w.flag):
			p.Extras = append(p.Extras, w.value)
		case slices.Contains(f.passed, w.flag), f.manager == "npm" && strings.HasPrefix(w.flag, "--@") && w.has == w.at:
			p.Flags = append(p.Flags, args[w.at:w.next]...)
		case slices.Contains(f.ignored, w.flag):
			p.Bun = p.Bun || w.flag == bunFlag
		default:
			return false
		}
	}
	return l.fetches(args)
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
	return namesPath(word) || strings.HasPrefix(word, "file:") || IsFilledLater(word) || strings.ContainsAny(word, "\x00\n")
}

// IsFilledLater reports whether a text is known only when the server starts: it holds a secret or a root.
func IsFilledLater(text string) bool { return reference.Has(text) || placeholder.MatchString(text) }

var placeholder = lazyregexp.New(`\$\{roots?[:}]`)

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

// WithoutVersion returns the name of a package of npm or PyPI without its version.
func WithoutVersion(spec string) string {
	spec = strings.TrimPrefix(spec, "npm:")
	if i := strings.IndexAny(spec[min(1, len(spec)):], "@=<>~!["); i >= 0 {
		return spec[:i+1]
	}
	return spec
}

// RegistryName returns the name of a package of npm or PyPI without its version; "" if the package comes from elsewhere: from an address or a
// folder, or under another name (NAME@npm:OTHER). Such a package has only the name in common.
func RegistryName(spec string) string {
	name := WithoutVersion(spec)
	if strings.ContainsAny(strings.TrimPrefix(strings.TrimPrefix(spec, "npm:"), name), `:/\`) {
		return ""
	}
	return name
}

// ReplaceLauncher returns the command line with another command and its arguments instead of the launcher and of what it
// fetches. command and args are the line of which the Package was read, or that line with other arguments of the server.
func (p *Package) ReplaceLauncher(command string, args []string, by string, byArgs []string) (string, []string) {
	line := slices.Concat([]string{command}, args)
	rest := slices.Clone(line[p.to:])
	if p.dashes > 0 {
		rest = slices.Delete(rest, p.dashes-p.to, p.dashes-p.to+1)
	}
	line = slices.Concat(line[:p.from], []string{by}, byArgs, rest)
	return line[0], line[1:]
}

// ManagerName returns what installs the packages that the launcher fetches; "" if it fetches none.
func (l *Launcher) ManagerName() string { return l.fetch.manager }

// PackageOf returns the package of npm that a file lies in; "" if none can be told by its path.
func PackageOf(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	i := strings.LastIndex(file, "/node_modules/")
	if i < 0 {
		return ""
	}
	parts := strings.SplitN(file[i+len("/node_modules/"):], "/", 3)
	switch {
	case parts[0] == ".bin":
		return ""
	case strings.HasPrefix(parts[0], "@") && len(parts) > 1:
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
