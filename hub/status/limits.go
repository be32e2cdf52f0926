package status

import (
	"strconv"
	"strings"

	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/internal/printable"
)

// Limits are the limits that a child is kept to, all its processes together, and who keeps it to them: its entry's, and the defaults of a
// server in a control group.
type Limits struct {
	Memory    int64  `json:"memory,omitempty"` // bytes
	Processes int    `json:"processes,omitempty"`
	HeldBy    string `json:"heldBy,omitempty"` // control group, job, watchdog or no one; "" before its first start
	Why       string `json:"why,omitempty"`    // why the kernel does not
}

// Text returns the report for a person.
func (l *Limits) Text() string {
	var parts []string
	if l.Memory > 0 {
		parts = append(parts, strconv.FormatInt(l.Memory>>20, 10)+" MiB of memory")
	}
	if l.Processes > 0 {
		parts = append(parts, strconv.Itoa(l.Processes)+" processes and threads")
	}
	text := strings.Join(parts, ", ")
	switch by := link.Bounder(l.HeldBy); {
	case text == "":
		return "not bounded: " + l.Why
	case by == "":
		return text
	case by == link.ByWatchdog:
		return text + "; the kernel does not hold it to that, the hub looks at intervals: " + l.Why
	case by == link.ByNobody:
		return text + "; nothing holds it to that: " + l.Why
	}
	return text + "; held by its " + l.HeldBy
}

// limitsOf returns the limits of an entry before its server starts, and then the ones that it is kept to. Nil: nothing is known yet.
func limitsOf(s spec.Spec, b link.Bounds) *Limits {
	switch {
	case b.By != "":
		return &Limits{b.Memory, b.Processes, string(b.By), printable.Clean(b.Why)}
	case s.Limits.Memory == 0 && s.Limits.Processes == 0:
		return nil
	}
	return &Limits{Memory: s.Limits.Memory, Processes: s.Limits.Processes}
}
