package hub

import (
	"bytes"
	"strings"

	"mcphub/children"
	"mcphub/hub/inline"
	"mcphub/internal/jsonrpc"
)

// This file passes on what a modern child asks by its result to a modern
// client, and what that brings back. Nothing of it is held here: the child's
// own requestState goes to the client inside the hub's.

// pass makes the result input_required of a child the answer to the client.
// The child's questions keep their keys; of a request that was judged by roots
// the client is asked for these along with them, for it will be judged again;
// likewise where the child asks for roots that the client has not given (roots). The
// child has asked for nothing that the client did not declare: see refuses.
func (p *parley) pass(child string, of func() []byte, roots bool) (jsonrpc.Answer, bool) {
	result := of()
	requests, state := jsonrpc.Get(result, inline.MemberRequests), jsonrpc.Get(result, inline.MemberState)
	sealed, err := p.s.sealState(p.subjectNow(), stateChild, append(append([]byte(child), 0), state...))
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the requestState of the server "+quotedName(child)+": "+err.Error()), true
	}
	b := []byte(`{"resultType":"input_required"`)
	all := []byte{'{'}
	if roots || p.given.roots != nil {
		all = append(all, `"`+rootsKey+`":{"method":"roots/list","params":{}}`...)
	}
	all = jsonrpc.AppendMembers(all, requests, notRoots)
	if len(all) > 1 {
		b = append(append(append(b, `,"inputRequests":`...), all...), '}')
	}
	b = jsonrpc.AppendString(append(b, `,"requestState":`...), sealed)
	if meta := jsonrpc.Get(result, "_meta"); isObject(meta) {
		b = append(append(b, `,"_meta":`...), meta...)
	}
	p.typed()
	return jsonrpc.ResultAnswer(append(b, '}')), true
}

// notRoots passes the keys of what is the child's to ask.
func notRoots(key string) bool { return key != rootsKey }

// behalf is what a child of the same era is shown of the client of this request.
func (p *parley) behalf() children.Client {
	meta := p.meta()
	return children.Client{Capabilities: meta.Client.Shown, Level: meta.Level.String()}
}

// typed notes that the answer of the work says of itself what it is.
func (p *parley) typed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tab.typed = true
}

// takeChild takes in what a child wants to have back.
func (p *parley) takeChild(payload []byte) (jsonrpc.Answer, bool) {
	name, state, ok := bytes.Cut(payload, []byte{0})
	if !ok {
		return refuseState("it is none of this version"), false
	}
	p.given.child = &childState{child: string(name), state: bytes.Clone(state)}
	return jsonrpc.Answer{}, true
}

// childAnswers are the answers in a raw object that a child of the same era may
// have, nil for none. Roots are not among them, whoever asked: those that it has
// are the hub's to say. Neither is an answer to the hub's own question.
func childAnswers(responses []byte) []byte {
	b := []byte{'{'}
	_ = jsonrpc.Members(responses, func(key string, value []byte) bool {
		if notRoots(key) && !holdsRoots(value) {
			b = jsonrpc.AppendMember(b, key, value)
		}
		return true
	})
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// holdsRoots reports whether a raw answer is one to roots/list, or some parser
// could take it for one: the answers to nothing else have such a member.
func holdsRoots(answer []byte) (yes bool) {
	_ = jsonrpc.Members(answer, func(name string, _ []byte) bool {
		yes = strings.EqualFold(name, "roots")
		return !yes
	})
	return yes
}

// answersRoots reports whether there is such an answer in a raw object.
func answersRoots(responses []byte) (yes bool) {
	_ = jsonrpc.Members(responses, func(_ string, value []byte) bool {
		yes = holdsRoots(value)
		return !yes
	})
	return yes
}

// withRoots are the answers in a raw object with those about roots made the ones
// that are served; where none are, they are left out.
func withRoots(responses, roots []byte, served bool) []byte {
	b := []byte{'{'}
	_ = jsonrpc.Members(responses, func(key string, value []byte) bool {
		switch {
		case !holdsRoots(value):
			b = jsonrpc.AppendMember(b, key, value)
		case served:
			b = jsonrpc.AppendMember(b, key, roots)
		}
		return true
	})
	return append(b, '}')
}

// brought is what the client brings for a child: what that wants to have back,
// raw, nil for nothing, and the answers, a raw object or nil. ok is false where
// it brings nothing, or for another child. Answers without a requestState are
// those of a client that knew the questions before, or was told them by a server that
// had no state: the request was judged as any other, and they bind nobody.
func (p *parley) brought(child string) (state, responses []byte, ok bool) {
	c := p.given.child
	if c == nil {
		return nil, p.given.answers, p.given.answers != nil
	}
	return c.state, p.given.answers, c.child == child
}
