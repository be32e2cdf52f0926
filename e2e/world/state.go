package world

import (
	"encoding/json"
)

// PIDOf asks a recorder for its process id.
func (s *Session) PIDOf(child string) int {
	s.T.Helper()
	var st Started
	Decode(s.T, s.MustCall(child+"__whoami", `{}`).Structured, &st)
	return st.PID
}

// ConfigState is the member config of get-roots.
type ConfigState struct{ File, LoadedAt, LastError, ErrorAt, Waiting string }

// ConfigState asks get-roots for it.
func (s *Session) ConfigState() ConfigState {
	s.T.Helper()
	var v struct{ Config ConfigState }
	Decode(s.T, s.MustCall("get-roots", `{}`).Structured, &v)
	return v.Config
}

// AwaitConfig waits until get-roots says what ok wants.
func (s *Session) AwaitConfig(what string, ok func(c ConfigState) bool) ConfigState {
	s.T.Helper()
	var c ConfigState
	if !Within(WaitLimit, func() bool { c = s.ConfigState(); return ok(c) }) {
		s.T.Fatalf("waited in vain until %s: %+v\nstderr:\n%s", what, c, s.Stderr())
	}
	return c
}

// PIDs returns which process of each of these children answers.
func (s *Session) PIDs(children ...string) map[string]int {
	s.T.Helper()
	out := map[string]int{}
	for _, name := range children {
		var st Started
		Decode(s.T, s.MustCall("call-tool", Raw(s.T, obj{"serverName": name, "toolName": "whoami", "toolArgs": obj{}})).Structured, &st)
		out[name] = st.PID
	}
	return out
}

// Servers returns what list-tools says, without what a life leaves behind.
func (s *Session) Servers() []map[string]json.RawMessage {
	s.T.Helper()
	var v struct{ Servers []map[string]json.RawMessage }
	Decode(s.T, s.MustCall("list-tools", `{}`).Structured, &v)
	for _, server := range v.Servers {
		delete(server, "restarts")
		delete(server, "stderr")
	}
	return v.Servers
}
