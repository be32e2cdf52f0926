package hub

import (
	"context"
	"mcphub/hub/catalog"
	"mcphub/hub/inline"
	"mcphub/internal/jsonrpc"
	"time"
)

// list answers one of the lists, after the children that are still starting
// have had their time.
func (s *Session) list(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	k := catalog.KindOf(m.Method)
	s.AwaitOffers(ctx)
	if s.hub.now().Inspect {
		s.AwaitStarted(ctx) // a command asks what there is, and not for the quickest answer
	}
	var p *catalog.Pages
	s.notifier.Seen(int(k), func() string {
		p = s.Catalog().Pages(k)
		return p.Digest
	})
	return p.At(m.Param("cursor"))
}

// listModern answers one of the lists.
func (s *Session) listModern(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	k := catalog.KindOf(m.Method)
	s.AwaitOffers(ctx)
	keep := s.keeping(k) // before the list is taken: what comes in between makes it shorter, not wrong
	return s.inline.Result(s.Catalog().Pages(k).At(m.Param("cursor")), &keep, false)
}

// listTTL is how long a list of children that do not say for how long may be kept
// without asking again: a client that listens is told of changes anyway.
const listTTL = time.Minute

// keeping tells how long a list of now may be kept: the shortest of what the
// children that have a part in it say, and not at all where one is missing that may
// still come. It is for everybody only where they all say so. k is Kinds for what
// the hub says of itself, which is made of what they say of themselves.
func (s *Session) keeping(k catalog.Kind) inline.Caching {
	g := s.hub.now()
	ttl, parts, public := listTTL, 0, true
	for _, name := range g.ChildNames() {
		st, o := s.OwnOffer(name)
		if o == nil {
			return inline.Caching{}
		}
		life, announces := st.Lives.Self, true // another process says it anew
		if k != catalog.Kinds {
			capability := jsonrpc.Get(o.Raw.Capabilities, k.Capability())
			if capability == nil || string(capability) == "null" {
				continue
			}
			life, announces = st.Lives.Lists[k], string(jsonrpc.Get(capability, "listChanged")) == "true"
		}
		left := listTTL
		switch {
		case life.Told && announces:
			left = life.Fresh
		case life.Told:
			left = life.Fresh - time.Since(life.At)
		case o.Raw.Modern() && !st.Listed:
			left = 0 // what it says of that is not remembered
		}
		if parts == 0 && life.Told {
			ttl = left
		}
		ttl, public = min(ttl, left), public && life.Public
		parts++
	}
	return inline.Caching{TTL: max(0, ttl.Milliseconds()), Public: public && parts > 0}
}
