package hub

import (
	"context"
	"slices"
	"time"

	"mcphub/children"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file keeps what a human has allowed in one session: for how long, and
// who is served the directories (P3, P4).

// nameOfGrants is how a granted directory is called among a child's roots.
const nameOfGrants = "escalation-approved"

// A grant is one directory or file that a human has opened for one child of one
// session. Immutable.
type grant struct {
	child    string
	revision uint64 // of the child's Spec: another program of the same name was not allowed anything
	what     string // the tool or method that was asked about
	policy   *validate.Checker
	offer    offeredGrant
	warrant  *warrant
	since    time.Time
	once     bool // it lives for the call that it was given for, else for the session
}

// alive reports whether a grant is one of this child as it is configured now.
func (g *grant) alive(child string, revision uint64) bool {
	return g.child == child && g.revision == revision
}

// grantsFor are the grants that a call of a child is judged by; t is the
// approval of that very call, nil for none.
func (c *consent) grantsFor(child *Child, t *warrant) (list []validate.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.tab.grants {
		if g.alive(child.Spec.Name, child.Spec.Revision) && (!g.once || g.warrant == t) {
			list = append(list, g.offer.Grant)
		}
	}
	return list
}

// served are the grants whose directories a child is served: of whatever call,
// and those only that are what they were when they were given. A link that has
// taken the place of one would open what it leads to.
func (c *consent) served(child *Child, fsys rootsmgr.FS) (list []validate.Grant) {
	if child.Spec.Share != children.ShareSession {
		return nil
	}
	c.mu.Lock()
	all := slices.Clone(c.tab.grants)
	c.mu.Unlock()
	for _, g := range all {
		if g.offer.serves() && g.alive(child.Spec.Name, child.Spec.Revision) && g.offer.unchanged(fsys) {
			list = append(list, g.offer.Grant)
		}
	}
	return list
}

// directories are those that are granted, to whichever child.
func (c *consent) directories() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.tab.grants {
		if !g.offer.File {
			list = append(list, g.offer.Path)
		}
	}
	return list
}

// give enters grants and returns the version by which children are served them.
func (c *consent) give(list []*grant) (version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab.grants = append(c.tab.grants, list...)
	close(c.tab.given)
	c.tab.given = make(chan struct{})
	if slices.ContainsFunc(list, func(g *grant) bool { return g.offer.serves() }) {
		c.changed()
	}
	return c.tab.version
}

// take takes back the grants of a warrant.
func (c *consent) take(t *warrant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	serves := false
	c.tab.grants = slices.DeleteFunc(c.tab.grants, func(g *grant) bool {
		serves = serves || g.warrant == t && g.offer.serves()
		return g.warrant == t
	})
	if serves {
		c.changed()
	}
}

// changed is for callers that hold mu.
func (c *consent) changed() {
	c.tab.version++
	close(c.tab.news)
	c.tab.news = make(chan struct{})
}

// version returns which version of the grants holds, and a channel that is
// closed when another one does.
func (c *consent) version() (n uint64, news <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tab.version, c.tab.news
}

// prune forgets grants of children that a reload has replaced or taken away,
// and those that its policy would have asked nobody about, for it denies them.
func (c *consent) prune(g *generation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	serves := false
	var left []*grant
	for _, x := range c.tab.grants {
		now := g.byName[x.child]
		switch {
		case now == nil || now.Spec.Revision != x.revision:
		case x.policy == g.cfg.Checker:
			left = append(left, x)
			continue
		case g.cfg.Checker.Upholds(x.child, x.what, x.offer.Grant): // looks at the disk, after a reload only
			again := *x
			again.policy = g.cfg.Checker
			left = append(left, &again)
			continue
		}
		serves = serves || x.offer.serves()
	}
	c.tab.grants = left
	if serves {
		c.changed()
	}
}

// awaitGranted waits until the session's children have been given the grants of
// a version, or newer ones; being given is not having applied them, which
// acquire waits for (C2). Where patience ends first the hub alone judges.
func (s *Session) awaitGranted(ctx context.Context, version uint64, patience time.Duration) error {
	return s.awaitGiven(ctx, max(patience, 0), func(tab *sessionTables) bool { return tab.granted >= version })
}

// grantReport is one grant as get-roots, explain and status show it.
type grantReport struct {
	URI      string    `json:"uri"`
	Name     string    `json:"name"`   // always escalation-approved
	Server   string    `json:"server"` // the only one that it is for
	Roles    []string  `json:"roles"`
	File     bool      `json:"file"`     // that path alone; else the directory and all below it
	Served   bool      `json:"served"`   // the server is told of it as a root
	Lifetime string    `json:"lifetime"` // session or call
	Since    time.Time `json:"since"`
	By       string    `json:"approvedBy"` // client or terminal
	Rules    []string  `json:"rules"`      // that asked
}

// questionReport is one question that waits for a person.
type questionReport struct {
	Server string    `json:"server"`
	What   string    `json:"what"`  // the tool, or the method
	Asked  string    `json:"asked"` // client or terminal
	Since  time.Time `json:"since"`
	Calls  int       `json:"calls"` // that wait for its answer
}

// consentReport is what a human has allowed in a session, and is being asked.
type consentReport struct {
	Grants    []grantReport    `json:"grants"`
	Questions []questionReport `json:"questions"`
}

func (c *consent) report() consentReport {
	grants, questions := []grantReport{}, []questionReport{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.tab.grants {
		r := grantReport{
			URI: rootsmgr.FormatURI(g.offer.Path), Name: nameOfGrants, Server: g.child, Roles: []string{}, File: g.offer.File, Served: g.offer.serves(),
			Lifetime: "session", Since: g.since, By: g.warrant.by, Rules: list(g.warrant.rules),
		}
		if g.once {
			r.Lifetime = "call"
		}
		for _, role := range g.offer.Roles.List() {
			r.Roles = append(r.Roles, role.String())
		}
		grants = append(grants, r)
	}
	for _, q := range c.tab.asking {
		if !q.since.IsZero() {
			questions = append(questions, questionReport{q.child, shown(q.name, 100), q.asked, q.since, q.calls})
		}
	}
	slices.SortFunc(questions, func(a, b questionReport) int { return a.Since.Compare(b.Since) })
	return consentReport{grants, questions}
}
