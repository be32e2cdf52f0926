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

	CodeUnexplained = "unexplained" // nothing is known to be closed, and a program of the child's has failed without a reason
)

// A Refusal is what was refused to a child, or to a call of one: by the monitor, which has
// decided so, or by the kernel, as far as the child tells. It is JSON.
type Refusal struct {
	Time      time.Time `json:"time"`
	By        string    `json:"by"` // monitor or kernel
	Session   string    `json:"session,omitempty"`
	Principal string    `json:"principal,omitempty"` // whose session it is
	Server    string    `json:"server"`
	Tool      string    `json:"tool,omitempty"`
	Method    string    `json:"method,omitempty"`
	Path      string    `json:"path,omitempty"`
	Role      string    `json:"role,omitempty"`
	At        string    `json:"at,omitempty"`      // a JSON pointer: in the arguments, or in the entry that names Path
	NamedBy   string    `json:"namedBy,omitempty"` // of the kernel's: entry, call, server or notice
	Opens     string    `json:"opens,omitempty"`   // of the kernel's: what has to be opened for it
	Why       string    `json:"why,omitempty"`     // of the kernel's: why nothing is
	Code      string    `json:"code,omitempty"`
	Rule      string    `json:"rule,omitempty"`
	Within    []string  `json:"within,omitempty"` // the directories in scope
}

// Refusal returns what a line of this kind and time says about a refusal; false if it
// reports that nothing was refused.
func (record *Record) Refusal(kind string, at time.Time) (out Refusal, ok bool) {
	out = Refusal{
		Time: at, By: ByMonitor, Session: record.Session, Principal: record.Principal, Server: record.Child, Tool: record.Tool, Method: record.Method,
		NamedBy: record.NamedBy, Opens: redact.Text(record.Opens), Why: record.Why, Code: record.Code, Rule: record.Rule, Within: record.Within,
	}
	if len(record.Findings) > 0 {
		f := &record.Findings[0]
		out.Path, out.Role, out.At = f.shownPath(), f.Role, f.At
	}
	switch {
	case kind == KindRefusal:
		out.By = ByKernel
	case kind != KindDecision, record.Decision == "allow", record.Decision == "refuse":
		return out, false
	}
	return out, true
}

// shownPath returns the path of a finding without what may be a secret.
func (finding *Finding) shownPath() string {
	if redact.SecretPointer(finding.At) && finding.Path != "" {
		return redact.Mark
	}
	return redact.Text(finding.Path)
}

// maxRecent is how many a Recent keeps.
const maxRecent = 64

// Recent keeps the last refusals of a process that keeps no log. Its methods may be called
// from any goroutine.
type Recent struct {
	mu   sync.Mutex // guards list
	list []Refusal
}

// Add adds one.
func (recent *Recent) Add(one Refusal) {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	if len(recent.list) == maxRecent {
		recent.list = append(recent.list[:0], recent.list[1:]...)
	}
	recent.list = append(recent.list, one)
}

// List returns them, the oldest first.
func (recent *Recent) List() []Refusal {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	return append([]Refusal(nil), recent.list...)
}
