package hub

import (
	"bytes"

	"mcphub/children"
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
func (p *parley) pass(child string, result []byte, roots bool) jsonrpc.Answer {
	requests, state := jsonrpc.Get(result, memberRequests), jsonrpc.Get(result, memberState)
	sealed, err := p.s.sealState(p.subjectNow(), stateChild, append(append([]byte(child), 0), state...))
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the requestState of the server "+quotedName(child)+": "+err.Error())
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
	p.isTyped()
	return jsonrpc.ResultAnswer(append(b, '}'))
}

// notRoots passes the keys of what is the child's to ask.
func notRoots(key string) bool { return key != rootsKey }

// behalf is what a child of the same era is shown of the client of this request.
func (p *parley) behalf() (abilities, children.Client) {
	meta := p.meta()
	return meta.caps.can, children.Client{Capabilities: meta.caps.shown, Level: meta.level.String()}
}

var _ carrier = (*parley)(nil)

// isTyped notes that the answer of the work says of itself what it is.
func (p *parley) isTyped() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tab.typed = true
}

// takeChild takes in what the client brings back for a child.
func (p *parley) takeChild(payload, responses []byte) (jsonrpc.Answer, bool) {
	name, state, ok := bytes.Cut(payload, []byte{0})
	if !ok {
		return refuseState("it is none of this version"), false
	}
	own := jsonrpc.AppendMembers([]byte{'{'}, responses, notRoots)
	p.given.child = &childState{child: string(name), state: bytes.Clone(state), responses: append(own, '}')}
	return jsonrpc.Answer{}, true
}

// brought is what the client brings back for a child: its requestState, raw,
// nil where it gave none, and the answers, a raw object. ok is false for a
// request that is no retry of that child's.
func (p *parley) brought(child string) (state, responses []byte, ok bool) {
	c := p.given.child
	if c == nil || c.child != child {
		return nil, nil, false
	}
	if len(c.state) > 0 {
		state = c.state
	}
	return state, c.responses, true
}
