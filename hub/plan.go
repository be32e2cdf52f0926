package hub

import (
	"cmp"
	"context"
	"slices"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/pin"
	"mcphub/internal/principal"
)

// What a reload would do with the entry of a server.
const (
	PlanStarts   = "starts"   // it is served from then on
	PlanRestarts = "restarts" // what runs of it ends, and it starts again
	PlanStops    = "stops"    // it is served no more
	PlanStays    = "stays"    // what runs of it goes on
)

// A PlannedServer is what a reload would do with one server. JSON.
type PlannedServer struct {
	Server    string   `json:"server"`
	Change    string   `json:"change"`                 // starts, restarts, stops or stays
	Why       string   `json:"why,omitempty"`          // it restarts or stops, if the entry alone does not report that
	Share     string   `json:"share,omitempty"`        // who shares its process then, where hub.json does not say it: session or roots
	ShareWhy  string   `json:"shareWhy,omitempty"`     // and why
	Processes int      `json:"processes"`              // that run now and end
	Tools     int      `json:"tools"`                  // of the ones that are listed then, as far as known
	Unknown   bool     `json:"toolsUnknown,omitempty"` // which tools it will offer is known once it has started
	Appear    []string `json:"appear,omitempty"`       // tools that are listed then and are not now, by their names towards clients
	Opens     []string `json:"opens,omitempty"`        // what its entry names and the kernel opens to it from then on; said until it has started so
	Vanish    []string `json:"vanish,omitempty"`       // tools that are listed now and are not then; of a server whose tools are unknown: the ones that may be

	Recorded        []string `json:"recorded,omitempty"`        // what a person has confirmed that it opens, and of each path that is closed why
	RecordedDiffers bool     `json:"recordedDiffers,omitempty"` // that was confirmed for another entry or program: it holds, and a person is asked

	Changes     []pin.Change `json:"changes,omitempty"`     // how what it offered last differs from hub.lock
	NotCompared bool         `json:"notCompared,omitempty"` // hub.lock has it, but what it offers is not known
}

// PlanReload returns what Apply would do with this Config. It changes and starts nothing.
func (h *Hub) PlanReload(cfg Config) ([]PlannedServer, error) {
	done, err := h.beginReplacing(context.Background())
	if err != nil {
		return nil, err
	}
	old := h.currentConfiguration()
	conf, err := configuration.New(cfg, h.ownTools, old)
	if err != nil {
		done()
		return nil, err
	}
	in := h.surroundings.Preview(conf)
	done()
	p := reloadPlanner{h: h, old: old, next: conf, nextFor: in, sessions: h.everySession(), offers: h.sessions.Offers()}
	p.news = cfg.Host().News(conf.Specs())
	p.recorded, p.differs = cfg.Host().Recorded(conf.Specs())
	return p.planServers(), nil
}

// reloadPlanner compares what is in force with what would be.
type reloadPlanner struct {
	h         *Hub
	old, next *configuration.Configuration
	nextFor   map[*configuration.Current]*configuration.Configuration // what next amounts to for each session
	sessions  []*Session
	offers    map[string]*catalog.Offer // of the children that run, by name
	news      map[string][]string       // what names of entries open that no one was told about
	recorded  map[string][]string       // what a person has confirmed for each server
	differs   map[string]bool           // the servers that it was confirmed for are others now
}

func (h *Hub) everySession() []*Session {
	return slices.SortedFunc(slices.Values(h.sessions.Sessions()), func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
}

func (planner *reloadPlanner) planServers() []PlannedServer {
	changes, processes := diffConfigurations(planner.next, planner.old), planner.h.countProcesses()
	before, after := planner.listedTools(planner.old), planner.listedTools(planner.next)
	var out []PlannedServer
	for _, name := range slices.Concat(planner.next.ChildNames(), changes.Removed) {
		s := PlannedServer{Server: name, Change: PlanStays}
		switch {
		case slices.Contains(changes.Removed, name):
			s.Change = PlanStops
			if why := unservedReason(planner.next, name); why != noEntry {
				s.Why = why
			}
		case slices.Contains(changes.Added, name):
			s.Change = PlanStarts
		case slices.Contains(changes.Replaced, name):
			s.Change = PlanRestarts
		default:
			if s.Why = planner.restartReason(name); s.Why != "" {
				s.Change = PlanRestarts
			}
		}
		if s.Change == PlanRestarts || s.Change == PlanStops {
			s.Processes = processes[name]
		}
		if c := planner.next.Child(name); c != nil && c.Spec.ShareWhy != "" {
			s.Share, s.ShareWhy = c.Spec.Share.String(), c.Spec.ShareWhy
		}
		then, known := after[name]
		s.Opens = planner.news[name]
		s.Recorded, s.RecordedDiffers = planner.recorded[name], planner.differs[name]
		s.Tools, s.Unknown = len(then), !known && s.Change != PlanStops
		s.Appear, s.Vanish = missingFrom(then, before[name]), missingFrom(before[name], then)
		s.Changes, s.NotCompared = planner.compareLocked(name)
		out = append(out, s)
	}
	return out
}

// compareLocked returns how what a server offers differs from hub.lock. unknown reports that hub.lock has the server, and that what it offers is
// not known.
func (planner *reloadPlanner) compareLocked(name string) (changes []pin.Change, unknown bool) {
	c := planner.next.Child(name)
	if c == nil || !planner.next.Pins.HasLocked(name) {
		return nil, false
	}
	raw := planner.offerOf(planner.next, c)
	if raw == nil {
		return nil, true
	}
	return planner.next.Pins.Changes(name, raw), false
}

// missingFrom returns the names of all that are not among have.
func missingFrom(all, have []string) (out []string) {
	for _, name := range all {
		if !slices.Contains(have, name) {
			out = append(out, name)
		}
	}
	return out
}

// restartReason returns why a child whose entry stays as it is starts again for some
// session; "" if it does not.
func (planner *reloadPlanner) restartReason(name string) string {
	same := map[spec.Key]bool{} // instances that stay: sessions that share one have the same roots
	for _, s := range planner.sessions {
		assignment, assigned := s.assignedSession.Assignments().Lookup(name)
		next := cmp.Or(planner.nextFor[s.current.Common()], planner.next) // of one that has just come it is not known
		c := next.Child(name)
		if !assigned || c == nil {
			continue
		}
		rootsView := s.roots.ViewUnder(next.Fallback, next.RootsOf(s.principal.Key()))
		if b, ok := s.assignedSession.FromCalls(name); ok {
			rootsView = b.RootsView
		}
		roots := s.assignedSession.RootsFor(next, c, rootsView)
		switch k := s.assignedSession.KeyFor(c, roots); {
		case k.Variant != assignment.Key.Variant && s.attachment != nil:
			return "it is another one in the surroundings of a client"
		case k != assignment.Key:
			return "another process serves the other roots"
		case same[k]:
		case planner.h.sup.WouldReplace(k, roots):
			return "it is started with the roots, which are others"
		default:
			same[k] = true
		}
	}
	return ""
}

// listedTools returns the names of the tools of each server that are on the list
// under a configuration, in its order, as far as their offers are known.
func (planner *reloadPlanner) listedTools(conf *configuration.Configuration) map[string][]string {
	offers := map[string]*catalog.Offer{}
	for i := range conf.Children {
		c := &conf.Children[i]
		if raw := planner.offerOf(conf, c); raw != nil {
			offers[c.Spec.Name] = conf.CatalogBuilder.Read(c.Spec.Name, raw)
		}
	}
	out := map[string][]string{}
	for name := range offers {
		out[name] = nil
	}
	for _, t := range conf.CatalogBuilder.Catalog(offers).For(conf.For(configuration.Audience{Principal: principal.User()}).Checker).Listed() {
		if t.Child != "" {
			out[t.Child] = append(out[t.Child], t.Name)
		}
	}
	return out
}

// maxAsked bounds for how many sessions it is looked what is remembered: most have
// clients of the same kind.
const maxAsked = 16

// offerOf returns what a child offers: to a session of now if it is the one that
// runs, else what is remembered of this very entry.
func (planner *reloadPlanner) offerOf(conf *configuration.Configuration, c *Child) *offers.RawOffer {
	if was := planner.old.Child(c.Spec.Name); was != nil && was.Spec.Revision == c.Spec.Revision {
		if o := planner.offers[c.Spec.Name]; o != nil {
			return o.Raw
		}
	}
	for _, s := range planner.sessions[:min(len(planner.sessions), maxAsked)] {
		if raw := s.assignedSession.RecallAs(conf, c, s.roots.ViewUnder(conf.Fallback, conf.RootsOf(s.principal.Key()))); raw != nil {
			return raw
		}
	}
	roots, common := conf.CommonRoots()[c.Spec.Name], planner.h.sup.WithBoundary(conf.CommonBoundary(c))
	for _, era := range []spec.Era{spec.EraAuto, spec.EraModern} {
		if raw := common.RecallOfferAs(c.Spec, spec.Key{Child: c.Spec.Name, Era: era}, roots); raw != nil {
			return raw
		}
	}
	return nil
}

// countProcesses counts, by name, the instances that run and may be called, or will be.
func (h *Hub) countProcesses() map[string]int {
	out := map[string]int{}
	for _, st := range h.sup.Status() {
		switch st.State {
		case children.Starting, children.Ready, children.Hung:
			out[st.Child]++
		}
	}
	return out
}
