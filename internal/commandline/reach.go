package commandline

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/lazyregexp"
)

// This file finds what a launcher takes out of a working directory that may be a hostile clone. The rule: whatever an
// argument names that is relative, and whatever a launcher reads of the directory that it works in, is another user's
// program.

// A Reach is what a command line takes out of its working directory.
type Reach struct {
	By      string // the command that does
	File    string // an argument that names something there
	Implied string // what it reads there without being told
	Tied    bool   // and without which it is of no use
	Opaque  string // text that it runs, of which this cannot be told
}

// worseReach keeps what is worse of two.
func (r Reach) worseReach(o Reach) Reach {
	rank := func(r Reach) int {
		switch {
		case r.File != "":
			return 4
		case r.Tied:
			return 3
		case r.Implied != "":
			return 2
		case r.Opaque != "":
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

// ReachOf returns what a command line takes out of its working directory.
func ReachOf(command string, args []string) Reach { return reachOf(command, args, 0) }

// reachOf does so for a command line within others.
func reachOf(command string, args []string, within int) Reach {
	name, l, ok := LauncherOf(command)
	here := Reach{By: BaseName(command)}
	if within > maxWrapped {
		here.Opaque = command
		return here
	}
	r := here
	if ok {
		r = here.worseReach(l.reachByFlags(here, name, args)).worseReach(l.reachUntold(here, name, args))
	}
	if at := Unwrap(command, args); at > 0 {
		inner := args[at-1]
		if BaseName(command) != "cmd" && strings.ContainsAny(inner, `/\`) && isRelative(inner) {
			r = r.worseReach(Reach{By: here.By, File: inner})
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

// remote are commands whose arguments are run in another place.
var remote = []string{"ssh", "mosh", "kubectl", "oc", "wsl", "gcloud", "fly", "flyctl", "heroku", "lxc", "incus", "distrobox", "toolbox"}

// reachWithin returns what a command that is not known takes out of its working
// directory by starting another one that is (op run -- npx ..., xvfb-run npx ..., or
// all of it in one argument): any launcher behind --, elsewhere one that installs
// and runs packages, and something for it to run.
func reachWithin(command string, args []string, within int) (r Reach) {
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
func (l *Launcher) reachByFlags(here Reach, name string, args []string) Reach {
	end := ProgramAt(here.By, args)
	if l.wraps {
		end = Unwrap(here.By, args)
	}
	if l.tied || len(l.sub) == 0 && l.implied != "" {
		end = len(args) // flags stand behind subcommands as well
	}
	for w := range l.readWords(args[:min(end, len(args))]) {
		switch {
		case w.flag == "" && name == "env":
			if v, value, ok := strings.Cut(w.value, "="); ok && LoadsFromWorkingDir(v, value) {
				here.File = w.value
				return here
			}
		case slices.Contains(l.lists, w.flag):
			if slices.ContainsFunc(strings.Split(w.value, string(filepath.ListSeparator)), func(v string) bool { return !filepath.IsAbs(v) }) {
				here.File = w.flag + " " + w.value
				return here
			}
		case slices.Contains(l.files, w.flag), slices.Contains(l.specs, w.flag) && namesPath(w.value):
			if isRelative(w.value) {
				here.File = cmp.Or(w.value, w.flag)
				return here
			}
		}
	}
	if at := ProgramAt(here.By, args); at >= 0 && at < len(args) && (l.script && !l.fetches(args) || l.specs != nil && namesPath(args[at])) && isRelative(args[at]) {
		here.File = args[at]
	}
	return here
}

// namesPath reports whether what may be a package is a path.
func namesPath(word string) bool {
	return strings.HasPrefix(word, ".") || strings.HasPrefix(word, "~") || strings.ContainsAny(word, `/\`) && !strings.ContainsAny(word, "@:")
}

// reachUntold returns what a launcher reads without being told.
func (l *Launcher) reachUntold(here Reach, name string, args []string) Reach {
	if l.implied == "" || name == "uv" && l.fetches(args) { // like uvx: settings of the project are not read
		return here
	}
	if len(l.only) > 0 && !slices.ContainsFunc(l.only, func(sub string) bool { return slices.Contains(args, sub) }) {
		return here
	}
	if hasFlag(args, l.given...) {
		return here // which is absolute, or named refuses it
	}
	here.Implied, here.Tied = l.implied, l.tied
	return here
}

// reachOfText returns what text does that a shell runs: of plain words it can be told.
func reachOfText(here Reach, shell bool, text string, within int) Reach {
	words, plain := plainWords(text)
	if !shell || !plain {
		here.Opaque = text
		return here
	}
	if strings.Contains(words[0], "/") && isRelative(words[0]) {
		here.File = words[0]
		return here
	}
	switch words[0] {
	case ".", "source", "eval", "cd":
		here.Opaque = text
		return here
	}
	return reachOf(words[0], words[1:], within+1)
}

// plainWords returns the words of a command in a text that a shell runs; false if the shell would read more in it.
func plainWords(text string) ([]string, bool) {
	words := strings.Fields(text)
	for len(words) > 0 && (words[0] == "exec" || strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	return words, len(words) > 0 && !strings.ContainsAny(text, "\"'`$\\;&|<>(){}[]*?!#~\n\r=")
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
		return reachOf("node", strings.Fields(value), 0).File != ""
	}
	return false
}

func hasFlag(args []string, names ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}
