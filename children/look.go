package children

import (
	"mcphub/children/offers"
	"path/filepath"
	"strconv"
)

// A Lack is something that a server needs to start and that is not there.
type Lack struct {
	Key  []string // of its entry in hub.json: command, cwd, or args and a number
	Text string
}

// Lacks says what a server of this Spec cannot be started for, as far as that
// can be told by looking: its program, its script, its working directory. It
// starts nothing. What only the roots of a session tell is left out.
func Lacks(s Spec, o Options) []Lack {
	if s.URL != "" {
		return nil
	}
	h := newHost(o)
	var out []Lack
	if s.Cwd != "" && !namesRoots(s.Cwd) && !h.isDir(s.Cwd) {
		out = append(out, Lack{[]string{"cwd"}, "there is no folder " + s.Cwd})
	}
	env, _, err := childEnv(s, nil, h)
	if err != nil {
		return append(out, Lack{[]string{"env"}, err.Error()})
	}
	if _, err := findProgram(s, env, s.Cwd, h); err != nil {
		return append(out, Lack{[]string{"command"}, err.Error()})
	}
	if at := programAt(s.Command, s.Args); at >= 0 && at < len(s.Args) {
		if script := s.Args[at]; filepath.IsAbs(script) && fileMark(script)[1] == "none" {
			out = append(out, Lack{[]string{"args", strconv.Itoa(at)}, "there is no file " + script})
		}
	}
	return out
}

// KnownTools are the names of the tools that a server of this Spec has offered
// so far to hubs with this folder for what they remember, sorted; nil where
// nothing is known of it.
func KnownTools(cache string, s Spec) []string {
	return offers.KnownTools(cache, s.entry())
}

// entry is what tells one server from another, whatever its program: its name, and
// what it starts or reaches.
func (s Spec) entry() []string {
	return append([]string{s.Name, s.URL, s.Command}, s.Args...)
}
