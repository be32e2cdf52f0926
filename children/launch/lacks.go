package launch

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"mcphub/children/program"
	"mcphub/internal/commandline"
)

// A Lack is something that a server needs to start and that is not there.
type Lack struct {
	Key  []string // of its entry in hub.json: command, cwd, or args and a number
	Text string
	Hint string   // what to do; "": Text says so
	Run  []string // a program and its arguments that do it; may be empty
}

// Lacks returns what the program cannot be started for, as far as that can
// be told by looking: its program, its script, its working directory. It
// starts nothing. What only the roots of a session tell is left out.
func (m Machine) Lacks(prog program.Program) []Lack {
	var out []Lack
	if prog.Cwd != "" && !program.NamesRoots(prog.Cwd) && !m.IsForeign(prog.Cwd) && !m.IsDir(prog.Cwd) {
		out = append(out, Lack{Key: []string{"cwd"}, Text: "there is no folder " + prog.Cwd, Hint: "correct the path, or make it", Run: []string{"mkdir", "-p", prog.Cwd}})
	}
	if file, err := envFile(prog, nil, m); err != nil && !isMissingRoot(err) {
		out = append(out, Lack{Key: []string{"envFile"}, Text: strings.TrimPrefix(err.Error(), "envFile: ")})
	} else if err == nil && file != "" && fileMark(file)[1] == "none" {
		out = append(out, Lack{Key: []string{"envFile"}, Text: "there is no file " + file, Hint: "make it, or correct the path"})
	}
	env, _, err := childEnv(prog, nil, m)
	if err != nil {
		return append(out, Lack{Key: []string{"env"}, Text: err.Error()})
	}
	if _, err := findProgram(prog, env, prog.Cwd, m); err != nil {
		lack := Lack{Key: []string{"command"}, Text: err.Error()}
		if no, ok := errors.AsType[*NotProgramError](err); ok {
			lack.Text, lack.Hint, lack.Run = no.describeFile(), no.Hint, no.Run
		}
		return append(out, lack)
	}
	if at := commandline.ProgramAt(prog.Command, prog.Args); at >= 0 && at < len(prog.Args) {
		if script := prog.Args[at]; filepath.IsAbs(script) && !m.IsForeign(script) && fileMark(script)[1] == "none" {
			out = append(out, Lack{Key: []string{"args", strconv.Itoa(at)}, Text: "there is no file " + script, Hint: "correct the path"})
		}
	}
	return out
}
