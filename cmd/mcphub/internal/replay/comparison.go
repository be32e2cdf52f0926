package replay

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"mcphub/hub/audit/trail"
	"mcphub/validate/policy"
)

// A Comparison asks another configuration about the decisions of an audit log.
type Comparison struct {
	Was *policy.Info // the policy in force; nil: what was recorded counts
	Now *policy.Info
	// WasServed and Served report whether a tool of a server is and would be offered;
	// "" is what is no tool. nil: all are.
	WasServed, Served func(child, tool string) bool
}

// ByNotServed is what decides about a call to a server, or of a tool, that would not
// be offered.
const ByNotServed = "not offered"

// ComparisonResult is the result of a Comparison.
type ComparisonResult struct {
	Judged  int      // decisions that were asked about
	Changed int      // that would be others
	Unsure  int      // that may be, for all that the record tells
	Groups  []Change // of both, the largest first
}

// A Change is one way in which decisions about one tool would be others. JSON.
type Change struct {
	Server  string  `json:"server"`
	Tool    string  `json:"tool"` // or the method, of what is no call of a tool
	Was     string  `json:"was"`  // allow, deny or escalate
	Now     string  `json:"now"`  // the same if the record does not tell enough
	By      string  `json:"by"`   // the rule that decides then, or inside, boundary, no path, not offered
	Count   int     `json:"count"`
	Unsure  string  `json:"unsure,omitempty"` // what the record does not tell, of the example
	Example Example `json:"example"`          // the newest
}

// An Example is one recorded decision.
type Example struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Paths   []string  `json:"paths,omitempty"` // where its paths led
}

type changeKey struct {
	server, tool, was, now, by string
	unsure                     bool
}

// Run compares the decisions in a folder since a moment.
func (c *Comparison) Run(dir string, since time.Time) (ComparisonResult, error) {
	var mu sync.Mutex
	var all []*tally
	err := trail.Scan(dir, since, func() func(*trail.Event) {
		t := &tally{c: c, groups: map[changeKey]*Change{}, was: offered{c.WasServed, map[[2]string]bool{}}, now: offered{c.Served, map[[2]string]bool{}}}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, t)
		return t.takeEvent
	})
	return joinTallies(all), err
}

func joinTallies(all []*tally) (out ComparisonResult) {
	groups := map[changeKey]*Change{}
	for _, t := range all {
		out.Judged += t.judged
		for k, g := range t.groups {
			if k.unsure {
				out.Unsure += g.Count
			} else {
				out.Changed += g.Count
			}
			had := groups[k]
			if had == nil {
				groups[k] = g
				continue
			}
			had.Count += g.Count
			if g.Example.Time.After(had.Example.Time) {
				had.Example, had.Unsure = g.Example, g.Unsure
			}
		}
	}
	for _, g := range slices.SortedFunc(maps.Values(groups), func(a, b *Change) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.By, b.By), cmp.Compare(a.Now, b.Now), cmp.Compare(a.Was, b.Was))
	}) {
		out.Groups = append(out.Groups, *g)
	}
	return out
}

// tally is what one worker has counted.
type tally struct {
	c        *Comparison
	judged   int
	groups   map[changeKey]*Change
	was, now offered
}

func (t *tally) takeEvent(e *trail.Event) {
	if e.Decision == "refuse" { // it was not judged
		return
	}
	t.judged++
	d := trail.Decision{Event: *e}
	was, before := Verdict{By: e.Rule}, e.Decision
	if t.c.Was != nil {
		was, before = t.was.judgeOffered(t.c.Was, &d)
	}
	now, then := t.now.judgeOffered(t.c.Now, &d)
	same := then == before
	if same && (len(now.Unknowns) == 0 || now.By == was.By) {
		return
	}
	tool := cmp.Or(e.Method, e.Tool)
	k := changeKey{e.Child, tool, before, then, now.By, same}
	g := t.groups[k]
	if g == nil {
		g = &Change{Server: e.Child, Tool: tool, Was: before, Now: then, By: now.By}
		t.groups[k] = g
	}
	g.Count++
	if !e.Time.After(g.Example.Time) {
		return
	}
	g.Example = Example{Time: e.Time, Session: e.Session}
	for _, f := range e.Findings {
		g.Example.Paths = append(g.Example.Paths, f.Path)
	}
	g.Unsure = ""
	if len(now.Unknowns) > 0 {
		g.Unsure = now.Unknowns[0]
	}
}

// offered remembers what is offered, by server and tool.
type offered struct {
	ask  func(child, tool string) bool
	seen map[[2]string]bool
}

// judgeOffered works like Judge for what is offered; all else is denied.
func (o *offered) judgeOffered(p *policy.Info, d *trail.Decision) (Verdict, string) {
	v := Verdict{By: ByNotServed}
	if o.hasOffer(&d.Event) {
		v = Judge(p, d)
	}
	return v, v.Decision.String()
}

// hasOffer reports whether what was asked for is there to be asked for.
func (o *offered) hasOffer(e *trail.Event) bool {
	if o.ask == nil || e.Child == "" {
		return true
	}
	k := [2]string{e.Child, e.Tool}
	if e.Method != "" {
		k[1] = ""
	}
	ok, seen := o.seen[k]
	if !seen {
		ok = o.ask(k[0], k[1])
		o.seen[k] = ok
	}
	return ok
}
