package status

import (
	"strconv"
	"strings"

	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/internal/printable"
)

// Limits are those of an entry, for all processes of a child together, and who keeps the
// child to them.
type Limits struct {
	Memory    int64  `json:"memory,omitempty"` // bytes
	Processes int    `json:"processes,omitempty"`
	HeldBy    string `json:"heldBy,omitempty"` // control group, job, watchdog or nobody; "" before its first start
	Why       string `json:"why,omitempty"`    // why the kernel does not
}

// Text is the report for a person.
func (l *Limits) Text() string {
	var parts []string
	if l.Memory > 0 {
		parts = append(parts, strconv.FormatInt(l.Memory>>20, 10)+" MiB of memory")
	}
	if l.Processes > 0 {
		parts = append(parts, strconv.Itoa(l.Processes)+" processes and threads")
	}
	text := strings.Join(parts, ", ")
	switch link.Bounder(l.HeldBy) {
	case "":
		return text
	case link.ByWatchdog:
		return text + "; the kernel does not hold it to that, the hub looks at intervals: " + l.Why
	case link.ByNobody:
		return text + "; nothing holds it to that: " + l.Why
	}
	return text + "; held by its " + l.HeldBy
}

func limitsOf(s spec.Spec, b link.Bounds) *Limits {
	if s.Limits.Memory == 0 && s.Limits.Processes == 0 {
		return nil
	}
	return &Limits{s.Limits.Memory, s.Limits.Processes, string(b.By), printable.Clean(b.Why)}
}
