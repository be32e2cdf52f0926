package hub

import (
	"context"
	"time"

	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// This file is what a client is told about the children when it introduces itself. Its roots are not
// known then, and what a child says may come from them.

// greetingWait bounds how long a client waits at initialize for a disk on which configured roots lie.
const greetingWait = 500 * time.Millisecond

// offersAtGreeting returns what the children offer as far as it is known, also of the ones that wait for the
// client's roots: what they offered last with the roots that the client will probably have, else what they are
// able to do, which a client asks for once.
func (s *Session) offersAtGreeting(ctx context.Context) (*configuration.Configuration, map[string]*catalog.Offer) {
	conf, known := s.Offers()
	rootsView, ok := s.likelyRoots(ctx, conf)
	for i := range conf.Children {
		c := &conf.Children[i]
		if known[c.Spec.Name] != nil || conf.IsDenied(c.Spec.Name) {
			continue
		}
		var raw *offers.RawOffer
		if ok {
			raw = s.assignedSession.RecallOrManner(conf, c, rootsView)
		} else {
			raw = s.assignedSession.Manner(c)
		}
		if raw != nil {
			known[c.Spec.Name] = conf.ReadOffer(c, raw)
		}
	}
	return conf, known
}

// likelyRoots returns the roots that the client will probably have. One that gives none has the configured ones.
// One on this machine that does was probably started in its project: its servers would read that directory without
// a hub, too. Of other clients nothing is known.
func (s *Session) likelyRoots(ctx context.Context, conf *configuration.Configuration) (rootsView rootsmgr.RootsView, ok bool) {
	if caps := s.clientClaims(); caps.Known && !caps.Roots {
		ctx, end := context.WithTimeout(ctx, greetingWait)
		defer end()
		select {
		case <-s.roots.First():
			return s.roots.RootsView(), true
		case <-ctx.Done():
			return rootsmgr.RootsView{}, false
		}
	}
	dir := conf.Dir
	if s.attachment != nil {
		dir = s.attachment.Surroundings.Dir
	}
	if !s.local || dir == "" {
		return rootsmgr.RootsView{}, false
	}
	return s.roots.Suppose(rootsmgr.Page{Entries: []rootsmgr.RootEntry{{URI: guard.PlatformOf(conf.FS).FormatURI(dir)}}}), true
}
