package hub

import (
	"slices"
	"strings"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// maxCaps bounds the capabilities of a client that its children are shown, in
// bytes.
const maxCaps = 16 << 10

// clientCaps is what a client said of itself at initialize.
type clientCaps struct {
	known, roots, rootsChange bool
	name, version, protocol   string

	can   abilities
	shown []byte // to its own children: a raw object, roots left out
}

// client is how it calls itself, to be read.
func (c *clientCaps) client() string {
	return printable.Clean(strings.TrimSpace(c.name + " " + c.version))
}

// abilities are what a client can be asked for beside its roots.
type abilities struct {
	sampling, samplingTools    bool
	form, url                  bool // elicitation
	tasks, taskList, taskAbort bool
	extensions                 []string // keys of what this program does not know
}

// objectsIn are the members, where present, of a capability that must be
// objects. A server that finds another thing there may refuse the client.
var objectsIn = map[string][]string{
	"sampling": {"context", "tools"}, "elicitation": {"form", "url"}, "tasks": {"list", "cancel", "requests"}, "experimental": nil, "extensions": nil,
}

// readCaps reads the capabilities of initialize. One of an odd shape counts as
// not declared and spoils no other (R1).
func readCaps(caps []byte, c *clientCaps) {
	shown := []byte{'{'}
	seen := map[string]bool{}
	_ = jsonrpc.Members(caps, func(name string, value []byte) bool {
		if seen[name] || !isObject(value) {
			return true
		}
		seen[name] = true
		if name == "roots" {
			c.roots = true
			c.rootsChange = string(jsonrpc.Get(value, "listChanged")) == "true"
			return true
		}
		known, ok := objectsIn[name]
		for _, inner := range known {
			if v := jsonrpc.Get(value, inner); v != nil && !isObject(v) {
				return true
			}
		}
		if len(shown)+len(name)+len(value) > maxCaps {
			return true
		}
		c.can.note(name, value, ok)
		shown = jsonrpc.AppendMember(shown, name, value)
		return true
	})
	c.shown = append(shown, '}')
}

func isObject(raw []byte) bool { return jsonrpc.IsObject(raw) }

func (a *abilities) note(name string, value []byte, known bool) {
	has := func(inner string) bool { return jsonrpc.Get(value, inner) != nil }
	switch name {
	case "sampling":
		a.sampling, a.samplingTools = true, has("tools")
	case "elicitation":
		// An empty object is the form of 2025-06-18.
		a.form, a.url = has("form") || !has("url"), has("url")
	case "tasks":
		a.tasks, a.taskList, a.taskAbort = true, has("list"), has("cancel")
	default:
		if known { // extensions or experimental
			_ = jsonrpc.Members(value, func(key string, _ []byte) bool {
				a.extensions = append(a.extensions, key)
				return true
			})
		} else {
			a.extensions = append(a.extensions, name)
		}
	}
}

// refuses says why a client cannot be asked for this; ok true: it can.
func (a *abilities) refuses(m *jsonrpc.Message) (answer jsonrpc.Answer, ok bool) {
	lacks := func(code int64, what string) (jsonrpc.Answer, bool) {
		return jsonrpc.ErrorAnswer(code, "the client did not declare "+what+", so it cannot be asked for "+m.Method), false
	}
	switch m.Method {
	case methodSample:
		switch {
		case !a.sampling:
			return lacks(jsonrpc.CodeMethodNotFound, "sampling")
		case !a.samplingTools && (m.Param("tools") != nil || m.Param("toolChoice") != nil):
			return lacks(jsonrpc.CodeInvalidParams, "sampling.tools")
		}
	case methodElicit:
		mode, _ := jsonrpc.String(m.Param("mode"))
		switch {
		case !a.form && !a.url:
			return lacks(jsonrpc.CodeMethodNotFound, "elicitation")
		case mode == "url" && !a.url:
			return lacks(jsonrpc.CodeInvalidParams, "elicitation.url")
		case (mode == "form" || m.Param("mode") == nil) && !a.form:
			return lacks(jsonrpc.CodeInvalidParams, "elicitation.form")
		}
	case tasks.MethodGet, tasks.MethodResult:
		if !a.tasks {
			return lacks(jsonrpc.CodeMethodNotFound, "tasks")
		}
	case tasks.MethodList:
		if !a.taskList {
			return lacks(jsonrpc.CodeMethodNotFound, "tasks.list")
		}
	case tasks.MethodCancel:
		if !a.taskAbort {
			return lacks(jsonrpc.CodeMethodNotFound, "tasks.cancel")
		}
	default:
		if children.OfProtocol(m.Method) || !a.extends(m.Method) {
			return lacks(jsonrpc.CodeMethodNotFound, "an extension that it belongs to")
		}
	}
	return jsonrpc.Answer{}, true
}

// extends reports whether the client declared an extension that a method or
// notification is of.
func (a *abilities) extends(method string) bool {
	return slices.ContainsFunc(a.extensions, func(key string) bool { return catalog.InExtension(key, method) })
}

const (
	methodSample = "sampling/createMessage"
	methodElicit = "elicitation/create"
)

// clientOf tells an instance whom it serves: a session's own child that
// session's client, a shared one nobody in particular.
func (h *Hub) clientOf(k children.Key) children.Client {
	if s := h.owner(k); s != nil {
		level := s.heard().String()
		s.mu.Lock()
		defer s.mu.Unlock()
		return children.Client{Capabilities: s.tab.caps.shown, Level: level}
	}
	var most logLevel
	for _, s := range h.holding(k) {
		most = most.verboser(s.heard())
	}
	return children.Client{Level: most.String()}
}

// owner returns the session that an instance belongs to alone; nil for a shared
// one, and once the session has ended.
func (h *Hub) owner(k children.Key) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[k.Instance]
}

// holding returns the sessions that an instance serves.
func (h *Hub) holding(k children.Key) []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Session, 0, len(h.holders[k]))
	for s := range h.holders[k] {
		all = append(all, s)
	}
	return all
}
