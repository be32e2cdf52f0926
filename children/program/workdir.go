package program

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/lazyregexp"
)

// This file keeps launchers away from a working directory that may be a hostile
// clone. The rule: whatever an argument names that is relative, and whatever a
// launcher reads of the directory that it works in, is another user's program.

// A reach is what a command line takes out of its working directory.
type reach struct {
	by      string // the command that does
	file    string // an argument that names something there
	implied string // what it reads there without being told
	tied    bool   // and without which it is of no use
	opaque  string // text that it runs, of which this cannot be told
}

// worseReach keeps what is worse of two.
func (r reach) worseReach(o reach) reach {
	rank := func(r reach) int {
		switch {
		case r.file != "":
			return 4
		case r.tied:
			return 3
		case r.implied != "":
			return 2
		case r.opaque != "":
			return 1
		}
		return 0
	}
	if rank(o) > rank(r) {
		return o
	}
	return r
}

// maxWrapped bounds commands within commands.
const maxWrapped = 8

// reachOf returns what a command line takes out of its working directory.
func reachOf(command string, args []string, within int) reach {
	name, l, ok := LauncherOf(command)
	here := reach{by: BaseName(command)}
	if within > maxWrapped {
		here.opaque = command
		return here
	}
	r := here
	if ok {
		r = here.worseReach(l.reachByFlags(here, name, args)).worseReach(l.reachUntold(here, name, args))
	}
	if at := unwrapCommand(command, args); at > 0 {
		inner := args[at-1]
		if BaseName(command) != "cmd" && strings.ContainsAny(inner, `/\`) && isRelative(inner) {
			r = r.worseReach(reach{by: here.by, file: inner})
		}
		return r.worseReach(reachOf(inner, args[at:], within+1))
	}
	if !ok {
		return reachWithin(command, args, within)
	}
	for i, a := range args {
		if l.IsCode(a) && i+1 < len(args) {
			return r.worseReach(reachOfText(here, name == "sh" || name == "env", args[i+1], within))
		}
	}
	return r
}

// ReadsWorkingDir reports whether the program takes a file out of its working directory, or
// obeys what lies there.
func (prog Program) ReadsWorkingDir() bool {
	r := reachOf(prog.Command, prog.Args, 0)
	return r.file != "" || r.implied != ""
}

// remote are commands whose arguments are run in another place.
var remote = []string{"ssh", "mosh", "kubectl", "oc", "wsl", "gcloud", "fly", "flyctl", "heroku", "lxc", "incus", "distrobox", "toolbox"}

// reachWithin returns what a command that is not known takes out of its working
// directory by starting another one that is (op run -- npx ..., xvfb-run npx ..., or
// all of it in one argument): any launcher behind --, elsewhere one that installs
// and runs packages, and something for it to run.
func reachWithin(command string, args []string, within int) (r reach) {
	if slices.Contains(remote, BaseName(command)) {
		return r
	}
	for i, a := range args {
		words := args[i:]
		if strings.Contains(a, " ") {
			words = strings.Fields(a)
		}
		if len(words) < 2 {
			continue
		}
		_, l, ok := LauncherOf(words[0])
		if !ok {
			continue
		}
		inner := reachOf(words[0], words[1:], within+1)
		if i > 0 && args[i-1] == "--" {
			return inner
		}
		if (l.implied != "" || l.specs != nil) && !l.tied {
			r = r.worseReach(inner)
		}
	}
	return r
}

// reachByFlags finds the first relative path that the arguments name: the value of a flag that takes a
// file, or the script.
func (l *Launcher) reachByFlags(here reach, name string, args []string) reach {
	end := ProgramAt(here.by, args)
	if l.wraps {
		end = unwrapCommand(here.by, args)
	}
	if l.tied || len(l.sub) == 0 && l.implied != "" {
		end = len(args) // flags stand behind subcommands as well
	}
	for i := 0; i < min(end, len(args)); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case slices.Contains(l.files, flag):
		case slices.Contains(l.specs, flag) && namesPath(value):
		case slices.Contains(l.lists, flag):
			if i := slices.IndexFunc(strings.Split(value, string(filepath.ListSeparator)), func(v string) bool { return !filepath.IsAbs(v) }); i < 0 {
				continue
			}
			here.file = flag + " " + value
			return here
		case len(args[i]) > 2 && args[i][1] != '-' && slices.Contains(l.files, args[i][:2]):
			value = strings.TrimPrefix(args[i][2:], "=") // -Ilib
		default:
			continue
		}
		if isRelative(value) {
			here.file = cmp.Or(value, args[i])
			return here
		}
	}
	if name == "env" {
		for _, a := range args[:min(end, len(args))] {
			if v, value, ok := strings.Cut(a, "="); ok && !strings.HasPrefix(a, "-") && LoadsFromWorkingDir(v, value) {
				here.file = a
				return here
			}
		}
	}
	_, fetches := l.Fetches(args) // then its word is no script (bun x PACKAGE)
	if at := ProgramAt(here.by, args); at >= 0 && at < len(args) && (l.script && !fetches || l.specs != nil && namesPath(args[at])) && isRelative(args[at]) {
		here.file = args[at]
	}
	return here
}

// namesPath reports whether what may be a package is a path.
func namesPath(word string) bool {
	return strings.HasPrefix(word, ".") || strings.HasPrefix(word, "~") || strings.ContainsAny(word, `/\`) && !strings.ContainsAny(word, "@:")
}

// reachUntold returns what a launcher reads without being told.
func (l *Launcher) reachUntold(here reach, name string, args []string) reach {
	if _, fetches := l.Fetches(args); l.implied == "" || name == "uv" && fetches { // like uvx: settings of the project are not read
		return here
	}
	if len(l.only) > 0 && !slices.ContainsFunc(l.only, func(sub string) bool { return slices.Contains(args, sub) }) {
		return here
	}
	if hasFlag(args, l.given...) {
		return here // which is absolute, or named refuses it
	}
	here.implied, here.tied = l.implied, l.tied
	return here
}

// reachOfText returns what text does that a shell runs: of plain words it can
// be told.
func reachOfText(here reach, shell bool, text string, within int) reach {
	words := strings.Fields(text)
	for len(words) > 0 && (words[0] == "exec" || strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if !shell || len(words) == 0 || strings.ContainsAny(text, "\"'`$\\;&|<>(){}[]*?!#~\n\r=") {
		here.opaque = text
		return here
	}
	if strings.Contains(words[0], "/") && isRelative(words[0]) {
		here.file = words[0]
		return here
	}
	switch words[0] {
	case ".", "source", "eval", "cd":
		here.opaque = text
		return here
	}
	return reachOf(words[0], words[1:], within+1)
}

// scheme begins what is no path: node:fs, npm:x, https://...
var scheme = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// isRelative reports whether what an argument names is looked for in the working
// directory. "-" is the standard input.
func isRelative(word string) bool {
	switch {
	case word == "-", filepath.IsAbs(word), strings.HasPrefix(word, "file:///"):
		return false
	case strings.HasPrefix(strings.ToLower(word), "file:"):
		return true
	}
	return !scheme.MatchString(word)
}

// Variables that name programs, or where they are looked for.
var (
	searchVariables = []string{"PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES"}
	fileVariables   = []string{"BASH_ENV", "PYTHONHOME"}
)

// LoadsFromWorkingDir reports whether a variable makes programs come from the working
// directory.
func LoadsFromWorkingDir(name, value string) bool {
	switch {
	case value == "":
		return false
	case slices.Contains(searchVariables, name):
		return slices.ContainsFunc(filepath.SplitList(value), func(p string) bool { return !filepath.IsAbs(p) && (name != "LD_PRELOAD" || strings.Contains(p, "/")) })
	case slices.Contains(fileVariables, name):
		return isRelative(value)
	case name == "NODE_OPTIONS":
		return reachOf("node", strings.Fields(value), 0).file != ""
	}
	return false
}

// Precautions keep a launcher from taking its program, or the settings that name it, out
// of a working directory that may be a hostile clone.
type Precautions struct {
	Args     []string // of the program, with what is added to them
	Neutral  bool     // it starts in an empty folder of the hub
	Enter    bool     // its shell enters the working directory after the program is found
	SafePath bool     // PYTHONSAFEPATH is set
}

// Precautions decides how a launcher is kept away from the working directory. prefix is an
// empty folder of the hub. shell is a script shell for npm that enters the working
// directory only after the program is found; "" if there is none.
func (prog Program) Precautions(args []string, prefix, shell string) (Precautions, error) {
	p := Precautions{Args: args}
	if prog.Local {
		return p, nil
	}
	command, rest := Innermost(prog.Command, args)
	inner := len(args) - len(rest)
	name, l, _ := LauncherOf(command)
	p.SafePath = name != "python" || !RunsScript(rest)
	r := reachOf(prog.Command, args, 0)
	fixed := prog.Cwd != "" && !NamesRoots(prog.Cwd) // the operator's own choice
	upTo, npx := l.Fetches(rest)
	npx = npx && l.fetch.manager == npmFetch.manager
	switch {
	case !fixed && r.file != "":
		return p, fmt.Errorf("%s would take %q from the working directory, which may be a project somebody else wrote; write an absolute path, set \"cwd\", or allow it with \"local\": true", r.by, r.file)
	case !fixed && r.tied:
		return p, fmt.Errorf("%s would obey %s of the working directory, which may be a project somebody else wrote; name an absolute path in its arguments, set \"cwd\", or allow it with \"local\": true", r.by, r.implied)
	case npx:
		p.Neutral, p.Enter = true, shell != ""
		flags := []string{"--prefix", prefix}
		if shell != "" {
			flags = append(flags, "--script-shell", shell)
		}
		where := inner
		if upTo == 1 {
			where++ // behind its subcommand, and before the line's own flags: the last of two counts
		}
		p.Args = slices.Insert(slices.Clone(args), where, flags...)
	case r.implied != "" && prog.Cwd == "":
		p.Neutral = true
	case r.implied != "" && !fixed:
		return p, fmt.Errorf("%s would take its program or settings (%s) from %q, which may be a project somebody else wrote; remove \"cwd\", name a directory of your own, or allow it with \"local\": true", r.by, r.implied, prog.Cwd)
	}
	return p, nil
}

// Doubt returns what the program would, or may, take out of a working
// directory that may be a project someone else wrote, and what helps; "" if
// there is nothing to say.
func (prog Program) Doubt() string {
	if prog.Local {
		return ""
	}
	if _, err := prog.Precautions(prog.Args, "", ""); err != nil {
		return err.Error()
	}
	if r := reachOf(prog.Command, prog.Args, 0); r.opaque != "" && (prog.Cwd == "" || NamesRoots(prog.Cwd)) {
		return fmt.Sprintf("it cannot be told what the text that %s is given takes from the working directory, which may be a project somebody else wrote; make the program the command, or set \"cwd\"; \"local\": true says that the project's own programs may run", r.by)
	}
	return ""
}

// Aside reports that the program starts in an empty folder instead of the first root,
// and why; "" if it does not. A launcher that fetches what it runs is another matter.
func (prog Program) Aside() string {
	if prog.Local || prog.Cwd != "" {
		return ""
	}
	command, rest := Innermost(prog.Command, prog.Args)
	_, l, ok := LauncherOf(command)
	if _, fetches := l.Fetches(rest); !ok || fetches {
		return ""
	}
	p, err := prog.Precautions(prog.Args, "", "")
	if r := reachOf(prog.Command, prog.Args, 0); err == nil && p.Neutral {
		return fmt.Sprintf("%s starts in an empty folder and not in the first root, because it would obey %s there, which may be a project somebody else wrote: relative paths do not start at the root", r.by, r.implied)
	}
	return ""
}

// RunsScript reports whether python is given a script: then its first import
// directory is the script's own, and the script may need it.
func RunsScript(args []string) bool {
	at := ProgramAt("python", args)
	return at < len(args)
}

func hasFlag(args []string, names ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}
