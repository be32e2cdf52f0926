package confinement

import (
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/entry"
	"mcphub/children/program"
	"mcphub/internal/commandline"
)

// directoryFlags name the folder that a launcher works in.
var directoryFlags = []string{"--directory", "-C", "--chdir"}

// PythonLoads reports whether Python is to load modules from where it works, or from beside a
// script: no server could have written them.
func (h Host) PythonLoads(prog program.Program) bool { return h.ownModules(prog) || h.ownScripts(prog) }

// ownModules reports whether Python may take modules out of the folder that it works in,
// because the entry names that and no server could have written there.
func (h Host) ownModules(prog program.Program) bool {
	dir := prog.Cwd
	if dir != "" && !h.runsIn(prog, dir) {
		return false // it is for data
	}
	for i, flag := range prog.Args[:max(0, min(commandline.ProgramAt(prog.Command, prog.Args), len(prog.Args)))] {
		flag, value, joined := strings.Cut(flag, "=")
		if !joined && i+1 < len(prog.Args) {
			value = prog.Args[i+1]
		}
		if slices.Contains(directoryFlags, flag) {
			dir = value
		}
	}
	if !filepath.IsAbs(dir) || program.NamesRoots(dir) || !h.isNarrow(dir) {
		return false
	}
	return !slices.ContainsFunc(h.looks.Hops(dir), h.isReachable)
}

// ownScripts reports whether all that the program has Python run are scripts, as far as it
// can be told: of uv run SCRIPT, and of the text of a shell, if no server could have
// written that. Python looks for the modules of a script beside it.
func (h Host) ownScripts(prog program.Program) bool {
	command, args := commandline.Innermost(prog.Command, prog.Args)
	name, l, known := commandline.LauncherOf(command)
	at := commandline.ProgramAt(command, args)
	text, file := "", command
	if known {
		switch code := slices.IndexFunc(args, l.IsCode); {
		case at < len(args) && name != "sh":
			return strings.HasSuffix(args[at], ".py")
		case at < len(args):
			file = args[at]
		case name != "sh" || code < 0 || code+1 >= len(args):
			return false
		default:
			text, file = args[code+1], ""
		}
	}
	if file != "" {
		if !filepath.IsAbs(file) ||
			!known && !slices.ContainsFunc(lookOnce(h, "words", file, interpreterWords), func(word string) bool { name, _, _ := commandline.LauncherOf(word); return name == "sh" }) ||
			slices.ContainsFunc(h.looks.Hops(file), h.isReachable) {
			return false
		}
		text = textOf(file)
	}
	commands, ok := entry.Commands(text, h.home)
	scripts := 0
	for _, words := range commands {
		if len(words) == 0 {
			continue // exec that only redirects
		}
		command, args := commandline.Innermost(words[0], words[1:])
		switch name, _, _ := commandline.LauncherOf(command); {
		case command == "", name == "python" && !commandline.RunsScript(args):
			return false
		case name == "python":
			scripts++
		}
	}
	return ok && scripts > 0
}
