package catalog

import (
	"slices"
	"sync"
	"time"
)

// A Redefinition is a tool that is defined otherwise than when it was offered
// before. What somebody agreed to when a server was added is then not what it
// offers now ("rug pull"). The tool stays; a person hears of it. JSON.
type Redefinition struct {
	Server string    `json:"server"`
	Tool   string    `json:"tool"`  // the server's own name for it
	Parts  []string  `json:"parts"` // of its definition that are others now
	At     time.Time `json:"at"`    // when that was seen last
	Times  int       `json:"times"` // in this run of the hub
}

// mostRedefined is how many of them are told of.
const mostRedefined = 100

// Redefinitions are those of this run. Its mutex is a leaf.
type Redefinitions struct {
	mu  sync.Mutex
	all []Redefinition // the latest last
}

// Add notes one more.
func (r *Redefinitions) Add(server, tool string, parts []string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := Redefinition{Server: server, Tool: tool, Parts: parts, At: at, Times: 1}
	if i := slices.IndexFunc(r.all, func(d Redefinition) bool { return d.Server == server && d.Tool == tool }); i >= 0 {
		now.Times += r.all[i].Times
		for _, part := range r.all[i].Parts {
			if !slices.Contains(now.Parts, part) {
				now.Parts = append(slices.Clone(now.Parts), part)
			}
		}
		r.all = slices.Delete(r.all, i, i+1)
	}
	r.all = append(r.all, now)
	r.all = r.all[max(len(r.all)-mostRedefined, 0):]
}

// List copies them.
func (r *Redefinitions) List() []Redefinition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}
