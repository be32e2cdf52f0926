package world

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/spectest"
)

// Session is a fake editor connected to something.
type Session struct {
	*ide.Client
	T    testing.TB
	Mark string // in the environment of the process and of all that it starts
	Talk *Talk  // what it and the hub said to each other; nil for any other program

	ExitStatus int  // what the process must end with
	Attached   bool // to a hub that clients share
	Sloppy     bool // stdout may hold what is no protocol: a child seen with no hub in front
	Odd        bool // a child says what the specification does not allow, and the hub passes it on
	Quotes     bool // a server repeats what it is asked, or prints files of the hub: what is in them reaches the client
}

// StopBound is how long a hub may take to end after its stdin has: 1 s for calls already read, 2.5 s for the children, and half a
// second for all else.
var StopBound = bounds.Of(4 * time.Second)

// End closes the session and judges how it went. It may be called again.
func (s *Session) End(bound time.Duration) ide.Exit {
	s.T.Helper()
	e := s.Close(bound + 5*time.Second)
	if e.Killed || e.Took > bound {
		s.T.Errorf("took %v to end after its stdin did (bound %v), killed: %v", e.Took, bound, e.Killed)
	}
	if e.Code != s.ExitStatus {
		s.T.Errorf("exit status %d, want %d", e.Code, s.ExitStatus)
	}
	if e.Held {
		s.T.Error("something still holds its stdout or stderr after its end")
	}
	for _, v := range s.Violations() {
		if !s.Sloppy {
			s.T.Errorf("on stdout: %s", v)
		}
	}
	for _, text := range s.Widening() {
		if s.Quotes {
			break
		}
		s.T.Errorf("a client is told what opens something to a server: %s", text)
	}
	if s.Talk != nil && !s.Odd {
		s.Talk.Judge(s.T, "the hub", spectest.Server)
	}
	stderr := s.Stderr()
	if strings.Contains(stderr, "DATA RACE") || strings.Contains(stderr, "panic:") {
		s.T.Errorf("stderr holds a race or a panic")
	}
	if s.Attached { // its servers are ended by a hub that goes on, beside it
		Within(bound, func() bool { return len(Marked(s.T, s.Mark)) == 0 })
	}
	WantNone(s.T, s.Mark)
	if s.T.Failed() {
		s.T.Logf("stderr:\n%s", stderr)
	}
	return e
}

// Context ends after WaitLimit.
func (s *Session) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	s.T.Cleanup(cancel)
	return ctx
}

// Handshake opens the session, and gives the answer to initialize.
func (s *Session) Handshake() ide.Message {
	s.T.Helper()
	m, err := s.Initialize(s.Context())
	Must(s.T, err)
	return m
}

// SendCall starts a tools/call; arguments is raw.
func (s *Session) SendCall(tool, arguments string) (id string) {
	s.T.Helper()
	id, err := s.StartTool(tool, arguments)
	Must(s.T, err)
	return id
}

// AwaitCall gives the tool result that answers id.
func (s *Session) AwaitCall(id string) ide.ToolResult {
	s.T.Helper()
	r, err := s.ToolAnswer(s.Context(), id)
	Must(s.T, err)
	return r
}

// MustCall calls a tool and wants it to work.
func (s *Session) MustCall(tool, arguments string) ide.ToolResult {
	s.T.Helper()
	r := s.AwaitCall(s.SendCall(tool, arguments))
	if r.IsError {
		s.T.Fatalf("%s %s: %s", tool, arguments, r.Text)
	}
	return r
}

// MustCallArgs is call with arguments that are not raw.
func (s *Session) MustCallArgs(tool string, arguments obj) ide.ToolResult {
	s.T.Helper()
	return s.MustCall(tool, Raw(s.T, arguments))
}

// MustRequest sends any request and gives its answer, an error answer too.
func (s *Session) MustRequest(method, params string) ide.Message {
	s.T.Helper()
	m, err := s.Call(s.Context(), method, params)
	Must(s.T, err)
	return m
}

// Denied wants a call refused in the words of a denial: path as it must be quoted, roots as the client gave them.
func (s *Session) Denied(tool, arguments, path string, roots ...string) ide.ToolResult {
	s.T.Helper()
	r := s.AwaitCall(s.SendCall(tool, arguments))
	s.WantDenied(r, path, roots...)
	return r
}

// WantDenied wants a result to be a denial, as Denied does.
func (s *Session) WantDenied(r ide.ToolResult, path string, roots ...string) {
	s.T.Helper()
	want := Denial(path, roots...)
	if !r.IsError || !strings.HasPrefix(r.Text, want) {
		s.T.Errorf("want a denial\n  %s\ngot isError=%v\n  %s", want, r.IsError, r.Text)
	}
}

// Tools lists every tool, all pages, each entry raw, by name.
func (s *Session) Tools() map[string]json.RawMessage {
	s.T.Helper()
	all := map[string]json.RawMessage{}
	for cursor := ""; ; {
		params := `{}`
		if cursor != "" {
			params = Raw(s.T, obj{"cursor": cursor})
		}
		m := s.MustRequest("tools/list", params)
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		if m.Result == nil {
			s.T.Fatalf("tools/list: %s", m.Raw)
		}
		Must(s.T, json.Unmarshal(m.Result, &page))
		for _, entry := range page.Tools {
			var tool struct{ Name string }
			Must(s.T, json.Unmarshal(entry, &tool))
			if all[tool.Name] != nil {
				s.T.Errorf("tools/list names %s twice", tool.Name)
			}
			all[tool.Name] = entry
		}
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// AwaitTool waits until a tool is on the list: at once, or after the list_changed that announces it.
func (s *Session) AwaitTool(name string) map[string]json.RawMessage {
	s.T.Helper()
	for seen := 0; ; seen++ {
		all := s.Tools()
		if all[name] != nil {
			return all
		}
		changes := 0
		_, err := s.Await(s.Context(), "tools/list_changed that brings "+name, func(m ide.Message) bool {
			if m.IsNotification() && m.Method == "notifications/tools/list_changed" {
				changes++
			}
			return changes > seen
		})
		Must(s.T, err)
	}
}
