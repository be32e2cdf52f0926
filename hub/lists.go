package hub

import (
	"context"
	"slices"
	"time"

	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/modern"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/rootsmgr/platform"
)

// This file tells clients what the children offer: the lists, for how long they may be
// kept, and what the children say about themselves.

// answerList answers one of the lists, after the children that are still starting
// have had their time.
func (s *Session) answerList(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	k, ok := s.awaitList(ctx, m)
	if !ok {
		return noSkills(m)
	}
	var p *catalog.Pages
	s.notifier.NoteSeen(int(k), func() string {
		p = s.Catalog().Pages(k)
		return p.Digest
	})
	s.keeper.keepSeen(k, p.Digest)
	s.refreshLists()
	return p.At(m.Param("cursor"))
}

const (
	// changedWait is how long a list is waited for that its child has said to have changed.
	changedWait = 500 * time.Millisecond
	// quietFresh is how long lists count as fresh of whose changes their child does not tell.
	quietFresh = 30 * time.Second
)

// awaitList waits for what a list is made of, and a moment for lists that children have said to have changed: the client
// asks perhaps because it was told so. ok is false if the client may not have that list.
func (s *Session) awaitList(ctx context.Context, m *jsonrpc.Message) (k offers.ListKind, ok bool) {
	if s.currentConfiguration().Inspect {
		s.AwaitAllListed(ctx) // a command asks what there is, and not for the quickest answer
	} else {
		s.AwaitOffers(ctx)
	}
	if k = offers.KindOf(m.Method); k == offers.Skills && !s.listsSkills() {
		return k, false
	}
	ctx, cancel := context.WithTimeout(ctx, changedWait)
	defer cancel()
	for _, name := range s.currentConfiguration().ServedNames() {
		s.hub.sup.AwaitLists(ctx, s.ChildStatus(name).Key, 1<<k, changedWait)
	}
	return k, true
}

// refreshLists has lists read again, behind the answer, of children that announce no changes.
// The client is told if something has changed.
func (s *Session) refreshLists() {
	for _, name := range s.currentConfiguration().ServedNames() {
		s.hub.sup.RefreshLists(s.ChildStatus(name).Key, quietFresh)
	}
}

// listModern answers one of the lists.
func (s *Session) listModern(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	k, ok := s.awaitList(ctx, m)
	if !ok {
		return noSkills(m)
	}
	keep := s.listCaching(k) // before the list is taken: what comes in between makes it shorter, not wrong
	list := s.Catalog()
	s.notifier.NoteSeenModern(int(k), func() string { return list.Pages(k).Digest })
	s.refreshLists()
	return s.modernServer.Result(list.PagesModern(k).At(m.Param("cursor")), &keep, false)
}

// listsSkills reports whether the client may list skills: a server has some, or the client was told so while that was not known.
func (s *Session) listsSkills() bool { return s.maySkills.Load() || s.Catalog().HasSkills() }

func noSkills(m *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.RefuseMethod(texts.NoExtension(methods.ExtensionSkills, m.Method))
}

// unconfirmedExtensions returns raw members, of extensions that the hub offers as long as a server may turn out to have them: a client asks
// for capabilities once, and servers have not started then. offers are the ones that are known.
func (s *Session) unconfirmedExtensions(conf *configuration.Configuration, offers map[string]*catalog.Offer, all catalog.Extensions) string {
	unknown := func(name string) bool { return offers[name] == nil }
	if all.Owners(methods.ExtensionSkills) != nil || !slices.ContainsFunc(conf.ServedNames(), unknown) {
		return ""
	}
	s.maySkills.Store(true)
	return `"` + methods.ExtensionSkills + `":{"directoryRead":true}`
}

// listTTL is how long a list of children that do not say for how long may be kept
// without asking again: a client that listens is told about changes anyway.
const listTTL = time.Minute

// listCaching returns how long a list of now may be kept: the shortest of what the children that
// have a part in it say, and not at all if one is missing that may still come. It is for everybody
// only if they all say so, no rule is for some people, and there are no toolsets. k is Kinds for what the hub says about
// itself, which is made of what they say about themselves.
func (s *Session) listCaching(k offers.ListKind) modern.Caching {
	conf := s.currentConfiguration()
	ttl, parts, public := listTTL, 0, !conf.Common().Checker.Rules().ForSome() && !conf.Toolsets.HasSets()
	for _, name := range conf.ServedNames() {
		st, o := s.StatusAndOffer(name)
		if o == nil {
			return modern.Caching{}
		}
		life, announces := st.Lives.Self, true // another process says it again
		if k != offers.Kinds {
			list := k.List()
			if !list.IsDeclared(o.Raw.Capabilities) {
				continue
			}
			announces = list.IsAnnounced(o.Raw.Capabilities)
			life = st.Lives.Lists[k]
		}
		left := listTTL
		switch {
		case life.HasTTL && announces:
			left = life.Fresh
		case life.HasTTL:
			left = life.Fresh - time.Since(life.At)
		case o.Raw.IsModern() && !st.Listed:
			left = 0 // what it says about that is not remembered
		}
		if parts == 0 && life.HasTTL {
			ttl = left
		}
		ttl, public = min(ttl, left), public && life.Public
		parts++
	}
	return modern.Caching{TTL: max(0, ttl.Milliseconds()), Public: public && parts > 0}
}

// addExtensions adds what the children offer beyond the protocol, as far as it is
// known by now, to the result of initialize.
func (s *Session) addExtensions(result []byte, conf *configuration.Configuration, offers map[string]*catalog.Offer) []byte {
	caps := jsonrpc.Get(result, "capabilities")
	all := conf.CatalogBuilder.Extensions(offers)
	known := s.unconfirmedExtensions(conf, offers, all)
	if !jsonrpc.IsObject(caps) || len(all) == 0 && known == "" {
		return result
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, caps, func(string) bool { return true })
	return jsonrpc.Join(jsonrpc.Splice(result, jsonrpc.Edit{Old: caps, With: append(all.Append(b, known), '}')}))
}

// acceptsNotification reports whether a notification that the protocol does not know may go to
// the client: it declared such an extension, or the child that sends it offers
// one.
func (s *Session) acceptsNotification(k spec.Key, method string) bool {
	able := s.sender.AbilitiesFor(k, nil)
	if able.Extends(method) {
		return true
	}
	conf, offers := s.Offers()
	among := conf.CatalogBuilder.Extensions(offers).Speakers(method)
	return slices.Contains(among, k.Child) && (len(among) == 1 || offers[k.Child].Extends(method))
}

// addInstructions adds what hub.json says about the hub and its toolsets, the servers if their tools are not listed, and what the
// children say about themselves, as far as it is known by now, each under its name.
func (s *Session) addInstructions(result []byte, conf *configuration.Configuration, offers map[string]*catalog.Offer) []byte {
	own := jsonrpc.Get(result, "instructions")
	text, ok := jsonrpc.String(own)
	if !ok {
		return result
	}
	before := text
	if of := conf.About.Instructions; of != "" {
		text = of + "\n\n" + text
	}
	if servers := conf.CatalogBuilder.Catalog(offers).For(conf.Checker).Servers(); servers != "" {
		text += " " + servers
	}
	if said := conf.ToolsetView().Instructions(); said != "" {
		text += "\n\n" + said
	}
	for _, name := range conf.ChildNames() {
		offer := offers[name]
		if offer == nil || !conf.CatalogBuilder.ShowsOthers(name) || offer.Instructions == "" {
			continue
		}
		said := printable.Clean(offer.Instructions)
		if cut := platform.Clip(said, maxInstructions); cut != said {
			said = cut + " ..."
		}
		if len(text)+len(said) > maxAllInstructions {
			break
		}
		text += "\n\n## " + printable.Escape(name, 100) + "\n\n" + said
	}
	if text == before {
		return result
	}
	return jsonrpc.Join(jsonrpc.Splice(result, jsonrpc.Edit{Old: own, With: jsonrpc.AppendString(nil, text)}))
}

// Bounds of one child's instructions and of all together, in bytes.
const (
	maxInstructions    = 8 << 10
	maxAllInstructions = 64 << 10
)
