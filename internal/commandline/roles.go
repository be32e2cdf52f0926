package commandline

import (
	"slices"
	"strings"
)

// A Role describes what an argument means to the program that reads the command line.
type Role uint8

const (
	ServerArgument Role = iota // the server's own, or of a program of which nothing is known
	Runs                       // a program, or a file, folder or module that is run or obeyed; or the value in a flag of that kind
	Search                     // likewise, and it is a list of them
	Text                       // text that a shell runs
	Sets                       // NAME=value, a variable
	Void                       // it names no path
)

// ArgumentRoles returns what each argument of a command line is to what reads it.
func ArgumentRoles(command string, args []string) []Role {
	out := make([]Role, len(args))
	name, l, known := LauncherOf(command)
	if at := Unwrap(command, args); at > 0 {
		l.launcherRoles(name, args[:at-1], out)
		for i := range at - 1 {
			if out[i] == ServerArgument {
				out[i] = Void // timeout 5, nice -n 10
			}
		}
		out[at-1] = Runs
		copy(out[at:], ArgumentRoles(args[at-1], args[at:]))
		return out
	}
	if !known {
		if i := slices.Index(args, "--") + 1; i > 0 && i < len(args) { // op run -- npx ...
			if _, _, known := LauncherOf(args[i]); known {
				out[i] = Runs
				copy(out[i+1:], ArgumentRoles(args[i], args[i+1:]))
			}
		}
		return out
	}
	at := ProgramAt(command, args)
	l.launcherRoles(name, args[:min(at, len(args))], out)
	if at >= len(args) {
		return out
	}
	out[at] = Runs
	if l.fetch.manager != "" {
		if out[at] = Void; namesPath(args[at]) {
			out[at] = Runs
		}
		if inner, _, known := LauncherOf(WithoutVersion(args[at])); known {
			copy(out[at+1:], ArgumentRoles(inner, args[at+1:])) // npx tsx FILE
		}
	}
	return out
}

// launcherRoles reports what the arguments before the program are.
func (l *Launcher) launcherRoles(name string, args []string, out []Role) {
	for w := range l.readWords(args) {
		role := ServerArgument
		switch {
		case w.flag == "" && name == "env" && strings.Contains(w.value, "="):
			role = Sets
		case l.IsCode(w.flag) && (name == "sh" || name == "env"):
			role = Text
		case l.IsCode(w.flag), slices.Contains(l.specs, w.flag) && !namesPath(w.value):
			role = Void
		case slices.Contains(l.files, w.flag), slices.Contains(l.specs, w.flag):
			role = Runs
		case slices.Contains(l.lists, w.flag):
			role = Search
		}
		if w.has >= 0 {
			out[w.has] = role
		}
	}
}
