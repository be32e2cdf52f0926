package hub

import (
	"context"
	"fmt"
	"time"

	"mcphub/hub/catalog"
	"mcphub/hub/declaration"
	"mcphub/hub/inline"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// This file serves clients of 2026-07-28, for whom package inline is the adapter.

// An inlineHost is a Session as package inline needs it.
type inlineHost struct{ *Session }

func (s inlineHost) Guard(m *jsonrpc.Message, serve func() jsonrpc.Answer) jsonrpc.Answer {
	return s.answer(m, serve)
}

func (s inlineHost) Roots() *rootsmgr.Manager    { return s.roots }
func (s inlineHost) RootsTimeout() time.Duration { return s.hub.now().Roots.Timeout }
func (s inlineHost) FS() rootsmgr.FS             { return s.hub.now().FS }
func (s inlineHost) DeclaredRoots() bool         { return s.capabilities().Roots }

func (s inlineHost) AwaitServed(ctx context.Context, view rootsmgr.View) error {
	return s.awaitServed(ctx, view, s.RootsTimeout())
}

func (s inlineHost) Serve(ctx context.Context, child, set string, view rootsmgr.View) error {
	return s.serveBrought(ctx, child, set, view)
}

func (s inlineHost) Served(child string) (set string, view rootsmgr.View) {
	b, _ := s.served.Brought(child)
	return b.Set, b.View
}

// inlineOf returns the client of a request that only this era has.
func inlineOf(ctx context.Context) *inline.Client {
	c, _ := ctx.Value(clientKey{}).(*inline.Client)
	return c
}

// bridgedCaps is what a child of the handshake's era is shown of such a client: it
// is told once, before any request says what its client can do. What the
// client of one request did not declare is refused when the child asks for it.
// It is the same for every client, for lists may not vary with the connection.
const bridgedCaps = `{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}}}`

// bridged is bridgedCaps, and what the first request of a client declares of the
// extension for apps: servers offer those to clients that can show them, and
// nothing of it is asked of the client.
func bridged(first *declaration.Client) []byte {
	ui := jsonrpc.Get(jsonrpc.Get(first.Shown, "extensions"), catalog.ExtensionUI)
	if !jsonrpc.IsObject(ui) {
		return []byte(bridgedCaps)
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, []byte(bridgedCaps), func(string) bool { return true })
	extensions := append(jsonrpc.AppendMember([]byte{'{'}, catalog.ExtensionUI, ui), '}')
	return append(jsonrpc.AppendMember(b, "extensions", extensions), '}')
}

// startInline notes that a client of 2026-07-28 is there, with its first request. Later calls do
// nothing.
func (s *Session) startInline(first *declaration.Client) {
	s.inlineOnce.Do(func() {
		s.mu.Lock()
		if !s.tab.caps.Known {
			s.tab.caps.Shown = bridged(first)
			s.inlineFirst.Store(!s.tab.started)
		}
		s.mu.Unlock()
		s.roots.Stateless()
		s.knowClient()
	})
}

// handshaken reports whether the client has said initialize: what belongs to no
// request may be said to it then.
func (s *Session) handshaken() bool { return s.capabilities().Known }

// serveModern answers one request of 2026-07-28. What has to be said before
// the answer goes to out. m and its parts belong to the hub from now on. ctx
// ends when the client no longer wants an answer, and then nobody reads it.
func (s *Session) serveModern(ctx context.Context, m *jsonrpc.Message, out inline.Reply) jsonrpc.Answer {
	meta, refusal, ok := inline.ReadMeta(m)
	if !ok {
		return refusal
	}
	return s.serveRead(ctx, m, meta, out)
}

// serveRead is serveModern for a request whose _meta was read already.
func (s *Session) serveRead(ctx context.Context, m *jsonrpc.Message, meta inline.Meta, out inline.Reply) jsonrpc.Answer {
	s.startInline(&meta.Client)
	how := s.methodOf(m.Method)
	if !how.early {
		s.start()
	}
	switch {
	case how.modern == nil:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, fmt.Sprintf("%s is no method of %s here", shown(m.Method, 100), inline.Version))
	case how.purpose == forHub, how.purpose == forList:
		return how.modern(s, ctx, m)
	case how.purpose == forStream:
		return how.modern(s, withClient(ctx, s.inline.Client(meta, out)), m)
	}
	level := meta.Level
	return s.inline.Serve(ctx, inline.Request{Message: m, Meta: meta, Reply: out, Asks: how.asks}, func(c *inline.Client, end *jsonrpc.Cancellation, request *jsonrpc.Message) jsonrpc.Answer {
		if how.asks {
			if level != 0 {
				s.hear(end.Context(), level)
			}
			if a, ok := s.callAndWait(c, &waiter{Cancellation: end}, request); ok {
				return a
			}
		}
		return how.serve(s, withClient(end.Context(), c), request, how.modern)
	})
}

// discover answers server/discover.
func (s *Session) discover(ctx context.Context, _ *jsonrpc.Message) jsonrpc.Answer {
	s.AwaitRecalled(ctx)
	b := []byte(`{"supportedVersions":[`)
	for i, v := range inline.Versions() {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonrpc.AppendString(b, v)
	}
	b = append(b, `],"capabilities":{`+modernCapabilities...)
	known := ""
	if s.Catalog().Tasks() {
		known = `"` + tasks.Extension + `":{}`
	}
	b = append(s.Catalog().Extensions().Append(b, known), `},"instructions":`...)
	result := s.withInstructions(append(jsonrpc.AppendString(b, instructions), '}'))
	return s.inline.Result(jsonrpc.ResultAnswer(result), &inline.Caching{TTL: s.keeping(catalog.Kinds).TTL}, false)
}

const modernCapabilities = `"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}`

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
