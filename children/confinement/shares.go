package confinement

import (
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
)

// shares describes what a child gets of that which all programs of the user share. The
// zero value is nothing. Databases and browsers need shared memory, too. They also need unix
// sockets, so a server that has sockets gets the memory.
type shares struct{ memory, terminals bool }

// addShares adds what the program of the child needs, by the name that its entry says, and by
// the interpreter that its files name. A file that a child may have written says nothing.
// Nor does a shell that only starts the program: many packages have one.
func (s shares) addShares(prog program.Program, parts []part, h Host) shares {
	command, _ := commandline.Innermost(prog.Command, prog.Args)
	_, l, _ := commandline.LauncherOf(command)
	s.memory, s.terminals = s.memory || l.Memory, s.terminals || l.Terminals
	for _, p := range parts {
		if s.memory || h.boundary.Writable(p.file) {
			continue
		}
		for _, word := range append(p.interpreter, p.file) {
			name, _, _ := commandline.LauncherOf(word)
			s.memory = s.memory || name == "python"
		}
	}
	return s
}

// shareRules open it.
func (s shares) shareRules() (rules []sandbox.Rule) {
	if s.memory {
		rules = append(rules, sandbox.Memory)
	}
	if s.terminals {
		rules = append(rules, sandbox.Terminals)
	}
	return rules
}
