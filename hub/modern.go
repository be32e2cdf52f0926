package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"mcphub/hub/catalog"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/seal"
	"mcphub/rootsmgr"
)

// This file serves the modern era (2026-07-28): no handshake, no session, no
// request to the client. The work itself is done by the core that serves the
// other era too; parley is its way to the client of one request.

// supplied is what came with the request that the work is on.
type supplied struct {
	meta    requestMeta    // of the first round
	roots   *rootsmgr.View // that the client gave with it; nil where it gave none
	child   *childState    // that the client brings back; nil for none
	answers []byte         // for a child, raw, an object; nil for none
}

// childState is what a child wants to have back.
type childState struct {
	child string // its name
	state []byte // its requestState, and what passed adds to it, raw
}

// modernSide is what a Session has for its modern requests.
type modernSide struct {
	lot lot // work under way, and of that what waits for the client
	met sync.Once
	// first: what came first that needs children is of this era, and a child that
	// has both is spoken to in it. It is settled when the session begins, and
	// written with the session's lock held.
	first atomic.Bool
	// bearer is whom a requestState may come from: sealed into each.
	bearer string
	seal   *seal.Sealer
	// stateless: no request stands for any other, as over HTTP, where one session
	// serves all that comes with one token.
	stateless bool
	listeners int           // at a time; 0: as many as fit into the requests of one client
	turned    chan struct{} // roots that came with a call are to be served; capacity 1
	gates     gates
	searches  searches
}

// bridgedCaps is what a child of the other era is shown of a modern client: it
// is told once, before any request says what its client can do. What the
// client of one request did not declare is refused when the child asks for it.
// It is the same for every client, for lists may not vary with the connection.
const bridgedCaps = `{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}}}`

// bridged is bridgedCaps, and what the first request of a client declares of the
// extension for apps: servers offer those to clients that can show them, and
// nothing of it is asked of the client.
func bridged(first *clientCaps) []byte {
	ui := jsonrpc.Get(jsonrpc.Get(first.shown, "extensions"), catalog.ExtensionUI)
	if !isObject(ui) {
		return []byte(bridgedCaps)
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, []byte(bridgedCaps), func(string) bool { return true })
	extensions := append(jsonrpc.AppendMember([]byte{'{'}, catalog.ExtensionUI, ui), '}')
	return append(jsonrpc.AppendMember(b, "extensions", extensions), '}')
}

// meet notes that a modern client is there, with its first request. Later calls do
// nothing.
func (s *Session) meet(first *clientCaps) {
	s.modern.met.Do(func() {
		s.mu.Lock()
		if !s.tab.caps.known {
			s.tab.caps.shown = bridged(first)
			s.modern.first.Store(!s.tab.begun)
		}
		s.mu.Unlock()
		s.roots.Stateless()
		s.introduce()
	})
}

// handshaken reports whether the client has said initialize: what belongs to no
// request may be said to it then.
func (s *Session) handshaken() bool { return s.capabilities().known }

// serveModern answers one request of the modern era. What has to be said before
// the answer goes to out. m and its parts belong to the hub from now on. ctx
// ends when the client no longer wants an answer, and then nobody reads it.
func (s *Session) serveModern(ctx context.Context, m *jsonrpc.Message, out outlet) jsonrpc.Answer {
	meta, refusal, ok := readMeta(m)
	if !ok {
		return refusal
	}
	return s.serveRead(ctx, m, meta, out)
}

// serveRead is serveModern for a request whose _meta was read already.
func (s *Session) serveRead(ctx context.Context, m *jsonrpc.Message, meta requestMeta, out outlet) jsonrpc.Answer {
	s.meet(&meta.caps)
	how := s.methodOf(m.Method)
	if !how.early {
		s.begin()
	}
	switch {
	case how.modern == nil:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, fmt.Sprintf("%s is no method of %s here", shown(m.Method, 100), modernVersion))
	case how.purpose == forHub, how.purpose == forList:
		return how.modern(s, ctx, m)
	case how.purpose == forStream:
		return how.modern(s, withClient(ctx, &parley{s: s, given: supplied{meta: meta}, tab: parleyTables{at: &round{meta, out}}}), m)
	}
	request, err := core(m)
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	p := &parley{
		s: s, request: request, asks: how.asks, token: slices.Clone(meta.token), given: supplied{meta: meta},
		done: make(chan jsonrpc.Answer, 1), asked: make(chan struct{}, 1),
	}
	p.tab.at = &round{meta, out}
	if !p.asks {
		ctx, p.cancel = context.WithCancelCause(ctx)
		defer p.cancel(nil)
		return p.finish(how.serve(s, withClient(ctx, p), request, how.modern))
	}
	responses := m.Param(memberResponses)
	if responses != nil && !isObject(responses) {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "inputResponses is to be an object, at /params/inputResponses")
	}
	p.given.answers = childAnswers(responses)
	if m.Param(memberState) != nil {
		switch kind, payload, refusal := s.openState(p.subjectNow(), m); {
		case refusal.Error != nil:
			return refusal
		case kind == stateParked:
			if a, ok := s.resume(ctx, string(payload), responses, p.tab.at); ok {
				return a
			}
			p.given.answers = nil // to questions that will be asked once more
		default:
			if a, ok := p.take(kind, payload, responses); !ok {
				return a
			}
		}
	}
	if meta.level != 0 {
		s.hear(ctx, meta.level)
	}
	end := &jsonrpc.Cancellation{Base: context.WithoutCancel(ctx)}
	p.cancel = end.End
	if !p.work(func() jsonrpc.Answer {
		defer end.Free()
		if a, ok := s.callAndWait(p, &waiter{end: end}, request); ok {
			return a
		}
		return how.serve(s, withClient(end.Context(), p), request, how.modern)
	}) {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, errLeft.Error())
	}
	return p.attend(ctx)
}

// discover answers server/discover.
func (s *Session) discover(ctx context.Context, _ *jsonrpc.Message) jsonrpc.Answer {
	s.awaitRecalled(ctx)
	b := []byte(`{"supportedVersions":[`)
	for i, v := range servedVersions {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonrpc.AppendString(b, v)
	}
	b = append(b, `],"capabilities":{`+modernCapabilities...)
	known := ""
	if s.tools().Tasks() {
		known = `"` + tasks.Extension + `":{}`
	}
	b = append(s.tools().Extensions().Append(b, known), `},"instructions":`...)
	result := s.withInstructions(append(jsonrpc.AppendString(b, instructions), '}'))
	return s.hub.modernResult(jsonrpc.ResultAnswer(result), &caching{ttl: s.keeping(catalog.Kinds).ttl}, false)
}

const modernCapabilities = `"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}`

// listModern answers one of the lists.
func (s *Session) listModern(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	k := catalog.KindOf(m.Method)
	s.awaitOffers(ctx)
	keep := s.keeping(k) // before the list is taken: what comes in between makes it shorter, not wrong
	return s.hub.modernResult(s.tools().Pages(k).At(m.Param("cursor")), &keep, false)
}

// resume goes on with a parked request: its client has come again. ok is false
// for one that gave way to others meanwhile: it is made anew.
func (s *Session) resume(ctx context.Context, id string, responses []byte, r *round) (a jsonrpc.Answer, ok bool) {
	lot := &s.modern.lot
	p := lot.find(id)
	if p != nil {
		if err := p.check(responses); err != nil {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error()), true
		}
		p = lot.take(id)
	}
	switch {
	case p != nil:
		p.proceed(responses, r)
		return p.attend(ctx), true
	case lot.anew(id):
		return jsonrpc.Answer{}, false
	}
	return refuseState("it was answered already, or the request was given up"), true
}

// check looks at the answers to what is open; others are nobody's business.
func (p *parley) check(responses []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.tab.open {
		a := jsonrpc.Get(responses, q.key)
		if a == nil {
			continue
		}
		if err := fitting(q.method, a); err != nil {
			return fmt.Errorf("/params/inputResponses/%s: %w", pointerToken(q.key), err)
		}
	}
	return nil
}

// fitting says what is wrong with the answer to a question.
func fitting(method string, a []byte) error {
	switch action, _ := jsonrpc.String(jsonrpc.Get(a, "action")); {
	case method == methodRootsList:
		_, err := readWhole(a)
		return err
	case !isObject(a):
		return errors.New("it is no object")
	case method == methodElicit && action != "accept" && action != "decline" && action != "cancel":
		return errors.New("action is to be accept, decline or cancel")
	case method == methodSample && (jsonrpc.Get(a, "role") == nil || jsonrpc.Get(a, "content") == nil || jsonrpc.Get(a, "model") == nil):
		return errors.New("role, content and model are needed")
	}
	return nil
}

// proceed hands over what the client answered; what it left out is asked again.
func (p *parley) proceed(responses []byte, r *round) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tab.at = r
	var open []*inquiry
	for _, q := range p.tab.open {
		if a := jsonrpc.Get(responses, q.key); a != nil {
			q.answer <- &jsonrpc.Response{Result: a}
		} else {
			open = append(open, q)
		}
	}
	if p.tab.open = open; len(open) > 0 {
		poke(p.asked)
	}
}

// take takes in what a client brings with a request that holds nothing here:
// the roots, and for a child what it asked. ok false: the answer is why not.
func (p *parley) take(kind byte, payload, responses []byte) (a jsonrpc.Answer, ok bool) {
	if raw := jsonrpc.Get(responses, rootsKey); raw != nil && p.given.meta.caps.roots {
		page, err := readWhole(raw)
		if err != nil {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, fmt.Sprintf("/params/inputResponses/%s: %v", rootsKey, err)), false
		}
		var view rootsmgr.View
		if p.s.standsAlone() {
			view = p.s.roots.InlineOnce(page)
		} else {
			view = p.s.roots.Inline(page)
		}
		p.given.roots = &view
	}
	if kind == stateChild {
		return p.takeChild(payload)
	}
	return jsonrpc.Answer{}, true
}
