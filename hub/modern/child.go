package modern

import (
	"bytes"
	"strconv"
	"strings"

	"mcphub/children/link"
	"mcphub/hub/catalog"
	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file passes on what a child of the same era asks by its result, and what the
// client brings back. None of it is held here: the child's own requestState goes to
// the client inside the hub's.

// childState is what a child wants to have back.
type childState struct {
	child string // its name
	state []byte // what was passed as its requestState, raw
}

// ForwardInput makes the result input_required of a child the answer to the client.
// The child's questions keep their keys; of a request that was judged by roots the
// client is asked for these along with them, for it will be judged again; likewise
// if the child asks for roots that the client has not given (asksRoots). The child has
// asked for nothing that the client did not declare: package rounds asks Abilities.Refuses.
func (c *Client) ForwardInput(child string, of func() []byte, asksRoots bool) (jsonrpc.Answer, bool) {
	result := of()
	requests, state := jsonrpc.Get(result, MemberRequests), jsonrpc.Get(result, MemberState)
	sealed, err := c.server.sealState(c.stateSubject(), stateChild, append(append([]byte(child), 0), state...))
	if err != nil {
		return jsonrpc.AnswerFailure("the requestState of the server " + strconv.Quote(printable.Escape(child, 100)) + ": " + err.Error()), true
	}
	b := []byte(`{"resultType":"input_required"`)
	all := []byte{'{'}
	if asksRoots || c.input.roots != nil {
		all = append(all, `"`+RootsKey+`":{"method":"roots/list","params":{}}`...)
	}
	all = jsonrpc.AppendMembers(all, requests, notRoots)
	if len(all) > 1 {
		b = append(append(append(b, `,"inputRequests":`...), all...), '}')
	}
	b = jsonrpc.AppendString(append(b, `,"requestState":`...), sealed)
	if meta := jsonrpc.Get(result, "_meta"); jsonrpc.IsObject(meta) {
		b = append(append(b, `,"_meta":`...), meta...)
	}
	c.KeepResultType()
	return jsonrpc.ResultAnswer(append(b, '}')), true
}

// notRoots passes the keys of what is the child's to ask.
func notRoots(key string) bool { return key != RootsKey }

// ClientProfile returns what a child of the same era is shown of the client of this request.
func (c *Client) ClientProfile() link.ClientProfile {
	meta := c.clientMeta()
	return link.ClientProfile{Capabilities: meta.Claims.ForChildren, Level: meta.Level.String()}
}

// KeepResultType remembers that the answer of the work keeps the resultType that it has.
func (c *Client) KeepResultType() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.keepsResultType = true
}

// takeChild takes in what a child wants to have back.
func (c *Client) takeChild(payload []byte) (jsonrpc.Answer, bool) {
	name, state, ok := bytes.Cut(payload, []byte{0})
	if !ok {
		return refuseState("it is none of this version"), false
	}
	c.input.child = &childState{child: string(name), state: bytes.Clone(state)}
	return jsonrpc.Answer{}, true
}

// childAnswers returns the answers in a raw object that a child of the same era
// may have, nil for none. Roots are not among them, no matter who asked: the ones
// that it has are the hub's to say. Neither is an answer to the hub's own
// question.
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
func holdsRoots(answer []byte) (isFound bool) {
	_ = jsonrpc.Members(answer, func(name string, _ []byte) bool {
		isFound = strings.EqualFold(name, "roots")
		return !isFound
	})
	return isFound
}

// AnswersRoots reports whether a raw object of answers has one about roots.
func AnswersRoots(responses []byte) (isFound bool) {
	_ = jsonrpc.Members(responses, func(_ string, value []byte) bool {
		isFound = holdsRoots(value)
		return !isFound
	})
	return isFound
}

// WithRoots returns the answers in a raw object with those about roots made the
// ones that are served; where none are, they are left out.
func WithRoots(responses, roots []byte, served bool) []byte {
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

// RetryInput returns what the client brings for a child: what that wants to have
// back, raw, nil for nothing, and the answers, a raw object or nil. ok is false if it
// brings nothing, or for another child. Answers without a requestState come from
// a client that knew the questions before, or was told them by a
// server that had no state: the request was judged as any other, and they bind no
// one.
func (c *Client) RetryInput(child string) (state, responses []byte, ok bool) {
	of := c.input.child
	if of == nil {
		return nil, c.input.answers, c.input.answers != nil
	}
	return of.state, c.input.answers, of.child == child
}

// BridgedCaps is what a child of the handshake's era is shown of a client of this era: it
// is told once, before any request states what its client can do. What the client of one
// request did not declare is refused when the child asks for it. It is the same for every
// client, for lists may not vary with the connection.
const BridgedCaps = `{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}}}`

// BridgedWithApps returns BridgedCaps, with what the first request of a client
// declares of the extension for apps: servers offer those to clients that can
// show them, and none of it is asked of the client.
func BridgedWithApps(first *declaration.Claims) []byte {
	ui := jsonrpc.Get(jsonrpc.Get(first.ForChildren, "extensions"), catalog.ExtensionUI)
	if !jsonrpc.IsObject(ui) {
		return []byte(BridgedCaps)
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, []byte(BridgedCaps), func(string) bool { return true })
	extensions := append(jsonrpc.AppendMember([]byte{'{'}, catalog.ExtensionUI, ui), '}')
	return append(jsonrpc.AppendMember(b, "extensions", extensions), '}')
}
