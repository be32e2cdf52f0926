package audit

import (
	"sync"
	"time"

	"mcphub/internal/redact"
)

// Who refuses.
const (
	ByMonitor = "monitor"
	ByKernel  = "kernel"
)

// Values of Record.Code of a KindRefusal.
const (
	CodeClosed  = "closed"  // a path is closed to the child
	CodeSockets = "sockets" // unix sockets are
	CodeStays   = "stays"   // the child runs on without what was opened later
)

// A Refused is what was refused to a child, or to a call of one: by the monitor, which has
// decided so, or by the kernel, as far as the child tells. It is JSON.
type Refused struct {
	Time    time.Time `json:"time"`
	By      string    `json:"by"` // monitor or kernel
	Session string    `json:"session,omitempty"`
	Server  string    `json:"server"`
	Tool    string    `json:"tool,omitempty"`
	Method  string    `json:"method,omitempty"`
	Path    string    `json:"path,omitempty"`
	Role    string    `json:"role,omitempty"`
	At      string    `json:"at,omitempty"`      // a JSON pointer: in the arguments, or in the entry that names Path
	NamedBy string    `json:"namedBy,omitempty"` // of the kernel's: entry, call or server
	Opens   string    `json:"opens,omitempty"`   // of the kernel's: what has to be opened for it
	Why     string    `json:"why,omitempty"`     // of the kernel's: why nothing is
	Code    string    `json:"code,omitempty"`
	Rule    string    `json:"rule,omitempty"`
	Within  []string  `json:"within,omitempty"` // the directories in scope
}

// Refused is a line that says so; false for another one.
func (e *Event) Refused() (r Refused, ok bool) {
	r = Refused{
		Time: e.Time, By: ByMonitor, Session: e.Session, Server: e.Child, Tool: e.Tool, Method: e.Method,
		NamedBy: e.NamedBy, Opens: e.Opens, Why: e.Why, Code: e.Code, Rule: e.Rule, Within: e.Within,
	}
	if len(e.Findings) > 0 {
		f := e.Findings[0]
		r.Path, r.Role, r.At = f.Path, f.Role, f.At
	}
	switch {
	case e.Kind == KindRefusal:
		r.By = ByKernel
	case e.Kind != KindDecision, e.Decision == "allow", e.Decision == "refuse":
		return r, false
	}
	return r, true
}

// Refused is a Record as Event.Refused has it after it was written.
func (r *Record) Refused(kind string, now time.Time) Refused {
	e := Event{
		Entry: Entry{Kind: kind, Time: now}, Session: r.Session, Method: r.Method,
		Decided: Decided{Child: r.Child, Tool: r.Tool, Code: r.Code, Rule: r.Rule},
		NamedBy: r.NamedBy, Opens: redact.Text(r.Opens), Why: r.Why, Within: r.Within,
	}
	for _, f := range r.Findings {
		e.Findings = append(e.Findings, Found{At: f.Pointer, Role: f.Role, Path: f.shown(), Inside: f.Inside})
	}
	out, _ := e.Refused()
	return out
}

// shown is the path of a finding without what may be a secret.
func (f *Finding) shown() string {
	if redact.SecretPointer(f.Pointer) && f.Path != "" {
		return redact.Mark
	}
	return redact.Text(f.Path)
}

// mostRecent is how many a Recent keeps.
const mostRecent = 64

// Recent keeps the last refusals of a process that keeps no log. Its methods may be called
// from any goroutine.
type Recent struct {
	mu   sync.Mutex // guards list
	list []Refused
}

// Add adds one.
func (r *Recent) Add(one Refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == mostRecent {
		r.list = append(r.list[:0], r.list[1:]...)
	}
	r.list = append(r.list, one)
}

// List returns them, the oldest first.
func (r *Recent) List() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Refused(nil), r.list...)
}
