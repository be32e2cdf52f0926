package hub

import (
	"slices"
	"strings"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/printable"
)

// This file tells of tools that are defined otherwise than when they were
// offered before. What somebody agreed to when a server was added is then not
// what it offers now ("rug pull"); the tool stays, a person hears of it.

// A Redefinition is one such tool. JSON.
type Redefinition struct {
	Server string    `json:"server"`
	Tool   string    `json:"tool"`  // the server's own name for it
	Parts  []string  `json:"parts"` // of its definition that are others now
	At     time.Time `json:"at"`    // when that was seen last
	Times  int       `json:"times"` // in this run of the hub
}

// mostRedefined is how many of them are told of.
const mostRedefined = 100

// redefinitions are those of this run. Its mutex is a leaf.
type redefinitions struct {
	mu  sync.Mutex
	all []Redefinition // the latest last
}

func (r *redefinitions) add(server, tool string, parts []string, at time.Time) {
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

// list copies them.
func (r *redefinitions) list() []Redefinition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// toldRedefined logs, records and keeps what a child has redefined. It is called by the
// goroutines of the children and waits for nothing.
func (h *Hub) toldRedefined(k children.Key, tools []children.Redefinition) {
	g := h.now()
	child := g.byName[k.Child]
	for _, t := range tools {
		if child == nil || !wanted(child, t.Tool) {
			continue
		}
		name := printable.Escape(t.Tool, 200)
		g.cfg.Log.Warn().Str("child", k.Child).Str("tool", name).Strs("parts", t.Parts).
			Msg("the server defines this tool otherwise than when it was offered before; look at it before you go on trusting it")
		h.redefined.add(k.Child, name, t.Parts, time.Now())
		if to := g.cfg.Audit.To; to != nil {
			to.Definition(&audit.Record{Child: k.Child, Tool: name, Code: strings.Join(t.Parts, ", ")})
		}
	}
}
