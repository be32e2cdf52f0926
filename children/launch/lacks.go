package launch

import (
	"path/filepath"
	"strconv"
	"strings"
)

// A Lack is something that a server needs to start and that is not there.
type Lack struct {
	Key  []string // of its entry in hub.json: command, cwd, or args and a number
	Text string
}

// Lacks says what the program cannot be started for, as far as that
// can be told by looking: its program, its script, its working directory. It
// starts nothing. What only the roots of a session tell is left out.
func (prog Program) Lacks(h Machine) []Lack {
	var out []Lack
	if prog.Cwd != "" && !namesRoots(prog.Cwd) && !h.isDir(prog.Cwd) {
		out = append(out, Lack{[]string{"cwd"}, "there is no folder " + prog.Cwd + "; make it, or correct the path"})
	}
	if file, err := envFile(prog, nil); err != nil && !isMissingRoot(err) {
		out = append(out, Lack{[]string{"envFile"}, strings.TrimPrefix(err.Error(), "envFile: ")})
	} else if err == nil && file != "" && fileMark(file)[1] == "none" {
		out = append(out, Lack{[]string{"envFile"}, "there is no file " + file + "; make it, or correct the path"})
	}
	env, _, err := childEnv(prog, nil, h)
	if err != nil {
		return append(out, Lack{[]string{"env"}, err.Error()})
	}
	if _, err := findProgram(prog, env, prog.Cwd, h); err != nil {
		return append(out, Lack{[]string{"command"}, err.Error()})
	}
	if at := programAt(prog.Command, prog.Args); at >= 0 && at < len(prog.Args) {
		if script := prog.Args[at]; filepath.IsAbs(script) && fileMark(script)[1] == "none" {
			out = append(out, Lack{[]string{"args", strconv.Itoa(at)}, "there is no file " + script + "; correct the path"})
		}
	}
	return out
}
