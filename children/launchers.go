package children

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"
)

// A launcher is a command that finds its program by a name: npx, uvx, node.
type launcher struct {
	sub    []string // subcommands that come first, one of them ("" where there may be none)
	values []string // its own flags that take the next word
	ends   []string // its flags after which no program follows (-c CODE, -m MODULE)
	loose  bool     // it reads settings or programs of the working directory, and cannot be told not to
	script bool     // its program is a file, taken from the working directory when relative
	python bool
}

var launchers = map[string]launcher{
	"npx":     {values: []string{"-p", "--package", "-c", "--call", "--prefix", "-w", "--workspace", "--cache", "--registry", "--userconfig", "--script-shell", "--shell"}},
	"npm":     {sub: []string{"exec", "x"}, values: []string{"-p", "--package", "-c", "--call", "--prefix", "--cache", "--registry"}, loose: true},
	"uvx":     {values: uvValues, python: true},
	"uv":      {sub: []string{"run", "tool"}, values: uvValues, loose: true, python: true},
	"pipx":    {sub: []string{"run"}, values: []string{"--spec", "--python", "--index-url", "--pip-args"}, loose: true, python: true},
	"bunx":    {values: []string{"-p", "--package"}, loose: true},
	"bun":     {sub: []string{"x", "run", ""}, values: []string{"-p", "--package", "--cwd", "-r", "--preload", "-c", "--config"}, loose: true, script: true},
	"pnpx":    {values: []string{"--package"}, loose: true},
	"pnpm":    {sub: []string{"dlx", "exec", "run"}, values: []string{"--package", "-C", "--dir"}, loose: true},
	"yarn":    {sub: []string{"dlx", "exec", "run"}, values: []string{"-p", "--package", "--cwd"}, loose: true},
	"deno":    {sub: []string{"run"}, values: []string{"-c", "--config", "--import-map", "-L", "--log-level"}, loose: true, script: true},
	"poetry":  {sub: []string{"run"}, values: []string{"-C", "--directory", "-P", "--project"}, loose: true, python: true},
	"pdm":     {sub: []string{"run"}, values: []string{"-p", "--project"}, loose: true, python: true},
	"hatch":   {sub: []string{"run"}, values: []string{"-e", "--env", "-p", "--project"}, loose: true, python: true},
	"node":    {values: []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file"}, ends: []string{"-e", "--eval", "-p", "--print"}, script: true},
	"tsx":     {values: []string{"--tsconfig", "-r", "--require", "--import"}, ends: []string{"-e", "--eval"}, script: true},
	"ts-node": {values: []string{"-P", "--project", "-r", "--require"}, ends: []string{"-e", "--eval"}, script: true},
	"python":  {values: []string{"-W", "-X", "--check-hash-based-pycs"}, ends: []string{"-m", "-c"}, script: true, python: true},
	"ruby":    {values: []string{"-I", "-r", "-C"}, ends: []string{"-e"}, script: true},
	"perl":    {values: []string{"-I"}, ends: []string{"-e", "-E"}, script: true},
	"php":     {values: []string{"-c", "-d"}, ends: []string{"-r"}, script: true},
	"sh":      {values: []string{"-o"}, ends: []string{"-c"}, script: true},
}

var uvValues = []string{
	"--from", "--with", "--with-editable", "--with-requirements", "-p", "--python", "--index", "--index-url", "--default-index",
	"--extra-index-url", "-i", "-f", "--find-links", "--directory", "--project", "--env-file", "--cache-dir", "--config-file",
	"-w", "-c", "--constraints", "--extra", "--group",
}

// launcherOf returns what is known of a command, under the name it is known by.
func launcherOf(command string) (string, launcher, bool) {
	name := baseName(command)
	switch {
	case strings.HasPrefix(name, "python"), name == "py", name == "pypy", name == "pypy3":
		name = "python"
	case name == "nodejs":
		name = "node"
	case name == "bash", name == "zsh", name == "dash", name == "ksh", name == "fish":
		name = "sh"
	}
	l, ok := launchers[name]
	return name, l, ok
}

// programAt returns where among the arguments of a launcher the program's
// name or script stands; -1 where the command is no launcher, len(args) where
// there is none.
func programAt(command string, args []string) int {
	at := unwrapShell(command, args)
	if at > 0 {
		if inner := programAt(args[at-1], args[at:]); inner >= 0 {
			return at + inner
		}
		return at - 1
	}
	_, l, ok := launcherOf(command)
	if !ok {
		return -1
	}
	needSub := len(l.sub) > 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return i + 1
		case slices.Contains(l.ends, a):
			return len(args)
		case strings.HasPrefix(a, "-"):
			if slices.Contains(l.values, a) {
				i++
			}
		case needSub && slices.Contains(l.sub, a):
			needSub = a == "tool" // uv tool run
			if needSub {
				l.sub = []string{"run"}
			}
		case needSub && !slices.Contains(l.sub, ""):
			return len(args)
		default:
			return i
		}
	}
	return len(args)
}

// unwrapShell returns where the arguments of the inner command of
// "cmd /c npx ..." begin, as configurations for Windows write it; 0 for none.
func unwrapShell(command string, args []string) int {
	if baseName(command) == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") {
		return 2
	}
	return 0
}

// taming is what keeps a launcher from taking its program, or the settings
// that name it, out of a working directory that may be a hostile clone (C4).
type taming struct {
	args    []string
	neutral bool // start it in a directory of ours instead
	enter   bool // and let its shell enter the working directory afterwards
	safe    bool // PYTHONSAFEPATH
}

// tame decides how a launcher is kept away from the working directory. prefix
// is an empty directory of ours; shell, where it is not "", is a script shell
// for npm that enters the working directory only after the program is found.
func tame(s Spec, args []string, prefix, shell string) (taming, error) {
	t := taming{args: args}
	inner := unwrapShell(s.Command, args)
	command, rest := s.Command, args
	if inner > 0 {
		command, rest = args[inner-1], args[inner:]
	}
	name, l, ok := launcherOf(command)
	if s.Local || !ok {
		t.safe = !s.Local
		return t, nil
	}
	t.safe = !l.python || name != "python" || !runsScript(rest)
	fixed := s.Cwd != "" && !namesRoots(s.Cwd)
	switch at := programAt(command, rest); {
	case name == "npx", name == "npm" && len(rest) > 0 && (rest[0] == "exec" || rest[0] == "x"):
		t.neutral, t.enter = true, shell != ""
		flags := []string{"--prefix", prefix}
		if shell != "" {
			flags = append(flags, "--script-shell", shell)
		}
		where := inner
		if name == "npm" {
			where++ // behind its subcommand
		}
		t.args = slices.Insert(slices.Clone(args), where, flags...)
	case name == "uv" && len(rest) > 0 && rest[0] == "tool":
		// like uvx: settings of the project are not read
	case name == "uv" && hasFlag(rest, "--directory", "--project"):
		// the operator names the project
	case l.script && at < len(rest) && !filepath.IsAbs(rest[at]) && !strings.Contains(rest[at], ":") && !fixed:
		return t, fmt.Errorf("%s would take %q from the working directory, which may be a project somebody else wrote; write an absolute path, set \"cwd\", or allow it with \"local\": true", baseName(command), rest[at])
	case l.loose && s.Cwd == "":
		t.neutral = true
	case l.loose && !fixed:
		return t, fmt.Errorf("%s would take its program or settings from %q, which may be a project somebody else wrote; remove \"cwd\", name a directory of your own, or allow it with \"local\": true", baseName(command), s.Cwd)
	}
	return t, nil
}

// runsScript reports whether python is given a script: then its first import
// directory is the script's own, and the script may need it.
func runsScript(args []string) bool {
	at := programAt("python", args)
	return at < len(args)
}

func hasFlag(args []string, names ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}

// npmShell is the script shell given to npx on Unix. npm runs the program it
// found with it, from npm's own working directory; only then is the child's
// working directory entered. Install scripts of packages run where they are.
const npmShell = `#!/bin/sh
if [ "$npm_lifecycle_event" = npx ] && [ -n "$MCPHUB_WORKDIR" ]; then
	cd -- "$MCPHUB_WORKDIR" || exit 1
	unset MCPHUB_WORKDIR npm_config_script_shell npm_config_prefix npm_config_local_prefix INIT_CWD
fi
exec /bin/sh "$@"
`

// machineFor returns the machine as a child of this Spec is planned on: with
// the directory in which launchers start that are not trusted with the working
// directory, and the shell that leads them there (C4), where it needs them.
// Where they cannot be made, that child fails with the reason; nothing else does.
func (n *nest) machineFor(spec Spec, log zerolog.Logger) host {
	h := n.machine
	if t, err := tame(spec, spec.Args, "x", "x"); err != nil || !t.neutral {
		return h
	}
	p, err := n.shelter()
	if err != nil {
		log.Warn().Err(err).Msg("no private directory for launchers")
		return h
	}
	h.scratch, h.shell = p.dir, p.shell
	return h
}

// shelter is what launchers start in and with.
type shelter struct{ dir, shell string }
