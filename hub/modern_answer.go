package hub

import (
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/catalog"
	"mcphub/internal/jsonrpc"
)

// This file gives answers the shape of the modern era: what the core and the
// children of the other era say is spliced, never decoded.

// Values of cacheScope.
const (
	scopePrivate = "private"
	scopePublic  = "public"
)

// A caching says how long a result may be kept, and by whom (2026-07-28,
// server/utilities/caching). The zero value is: not at all, and by nobody else.
type caching struct {
	ttl    int64 // milliseconds
	public bool
}

// listTTL is how long a list of children that do not say for how long may be kept
// without asking again: a client that listens is told of changes anyway.
const listTTL = time.Minute

// keeping tells how long a list of now may be kept: the shortest of what the
// children that have a part in it say, and not at all where one is missing that may
// still come. It is for everybody only where they all say so. k is Kinds for what
// the hub says of itself, which is made of what they say of themselves.
func (s *Session) keeping(k catalog.Kind) caching {
	g := s.hub.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	ttl, parts, public := listTTL, 0, true
	for _, name := range g.names() {
		o, st := s.tab.offers[name], s.tab.status[name]
		if o == nil || s.replacing(o) || s.seats.Load().by[name].moved {
			return caching{}
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
	return caching{max(0, ttl.Milliseconds()), public && parts > 0}
}

// modernResult makes a result one of the modern era: resultType, the hub as
// the server that it came from, and where keep is not nil how long it may be
// kept. typed: the result says of itself what it is, and may; else it is
// complete, whatever a child put there.
func (h *Hub) modernResult(a jsonrpc.Answer, keep *caching, typed bool) jsonrpc.Answer {
	if a.Error != nil {
		return modernError(a)
	}
	if !isObject(a.Result) {
		if a.Release != nil {
			a.Release()
		}
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the answer of the server is no object")
	}
	var head resultHead
	head.read(a.Result)
	var edits []edit
	b := []byte{'{'}
	switch {
	case head.kind == nil:
		b = append(b, `"resultType":"complete",`...)
	case !typed && string(head.kind) != `"complete"`:
		edits = append(edits, edit{Old: head.kind, With: []byte(`"complete"`)})
	}
	if keep != nil {
		if head.ttl == nil {
			b = append(strconv.AppendInt(append(b, `"ttlMs":`...), keep.ttl, 10), ',')
		} else if !isCount(head.ttl) {
			edits = append(edits, edit{Old: head.ttl, With: []byte{'0'}})
		}
		if head.scope == nil {
			b = append(jsonrpc.AppendString(append(b, `"cacheScope":`...), keep.scope()), ',')
		} else if !keep.public && string(head.scope) != `"private"` {
			edits = append(edits, edit{Old: head.scope, With: []byte(`"private"`)})
		}
	}
	switch {
	case head.meta == nil:
		b = append(append(append(b, `"_meta":{"io.modelcontextprotocol/serverInfo":`...), h.serverInfo...), `},`...)
	case isObject(head.meta):
		edits = append(edits, edit{Old: head.meta, With: h.namedMeta(head.meta)})
	}
	open := a.Result[:1]
	rest := 1 // what follows the brace
	for rest < len(a.Result) && isBlank(a.Result[rest]) {
		rest++
	}
	if a.Result[rest] == '}' && len(b) > 1 {
		b = b[:len(b)-1] // nothing follows
	}
	raw := join(splice(a.Result, append(edits, edit{Old: open, With: b})...))
	if a.Release != nil {
		a.Release()
	}
	return jsonrpc.ResultAnswer(raw)
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

func (c caching) scope() string {
	if c.public {
		return scopePublic
	}
	return scopePrivate
}

// resultHead are the members of a result that the era gave a meaning, raw.
type resultHead struct{ kind, ttl, scope, meta []byte }

func (h *resultHead) read(result []byte) {
	_ = jsonrpc.Members(result, func(name string, value []byte) bool {
		switch name {
		case "resultType":
			h.kind = value
		case "ttlMs":
			h.ttl = value
		case "cacheScope":
			h.scope = value
		case "_meta":
			h.meta = value
		}
		return true
	})
}

func isCount(raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n >= 0
}

// notOfHop passes what a child says in _meta that is not of its own hop.
func notOfHop(name string) bool {
	return name != metaServer && name != metaVersion && name != metaSubscription
}

// namedMeta is _meta of a result with the hub as its server: the name that a
// child gave is of another hop.
func (h *Hub) namedMeta(meta []byte) []byte {
	b := append([]byte(`{"io.modelcontextprotocol/serverInfo":`), h.serverInfo...)
	return append(jsonrpc.AppendMembers(b, meta, notOfHop), '}')
}

// modernError gives an error that the era must not send another code: -32002
// has become -32602, the rest of what is reserved to the specification is an
// internal error of whoever said so (2026-07-28, basic/index, error codes).
func modernError(a jsonrpc.Answer) jsonrpc.Answer {
	e := jsonrpc.ParseError(a.Error)
	code := e.Code
	switch {
	case code == mcp.RESOURCE_NOT_FOUND:
		code = jsonrpc.CodeInvalidParams
	case code == codeURLElicitation:
		code = jsonrpc.CodeInternal
	case code == mcp.MISSING_REQUIRED_CLIENT_CAPABILITY && isObject(jsonrpc.Get(e.Data, "requiredCapabilities")):
		// A child says what the client would have to be able to do: it passes.
	case code <= -32020 && code >= -32099:
		code = jsonrpc.CodeInternal
	}
	if code == e.Code {
		return a
	}
	out := jsonrpc.Answer{Error: (&jsonrpc.Error{Code: code, Message: e.Message, Data: e.Data}).Raw()}
	if a.Release != nil {
		a.Release()
	}
	return out
}

// codeURLElicitation is -32042 of 2025-11-25, which 2026-07-28 must not send.
const codeURLElicitation = -32042
