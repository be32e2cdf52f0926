package catalog

import (
	"slices"
	"sync"
	"time"
)

// A Redefinition is a tool that is defined differently from when it was
// offered before. What someone agreed to when a server was added is then not
// what it offers now ("rug pull"). The tool stays; a person hears of it.
// JSON.
type Redefinition struct {
	Server string    `json:"server"`
	Tool   string    `json:"tool"`  // the server's own name for it
	Parts  []string  `json:"parts"` // of its definition that are others now
	At     time.Time `json:"at"`    // when that was seen last
	Times  int       `json:"times"` // in this run of the hub

	owner string // the session that alone may be told; "": all
}

// maxRedefined is how many of them are told about.
const maxRedefined = 100

// Redefinitions are the redefinitions of this run. Its mutex is a leaf.
type Redefinitions struct {
	mu  sync.Mutex
	all []Redefinition // the latest last
}

// Add remembers one more. owner is the session whose own server it is; "": several may share it.
func (r *Redefinitions) Add(server, owner, tool string, parts []string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := Redefinition{Server: server, Tool: tool, Parts: parts, At: at, Times: 1, owner: owner}
	if i := slices.IndexFunc(r.all, func(d Redefinition) bool { return d.Server == server && d.Tool == tool && d.owner == owner }); i >= 0 {
		now.Times += r.all[i].Times
		for _, part := range r.all[i].Parts {
			if !slices.Contains(now.Parts, part) {
				now.Parts = append(slices.Clone(now.Parts), part)
			}
		}
		r.all = slices.Delete(r.all, i, i+1)
	}
	r.all = append(r.all, now)
	r.all = r.all[max(len(r.all)-maxRedefined, 0):]
}

// List copies them.
func (r *Redefinitions) List() []Redefinition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// VisibleTo returns the redefinitions that a session may be told: not of servers that belong to another.
func (r *Redefinitions) VisibleTo(session string) []Redefinition {
	return slices.DeleteFunc(r.List(), func(d Redefinition) bool { return d.owner != "" && d.owner != session })
}
