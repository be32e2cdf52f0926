package declaration

import (
	"slices"
	"strings"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// maxCaps bounds the capabilities of a client that its children are shown, in
// bytes.
const maxCaps = 16 << 10

// Claims are what a client says about itself: at initialize, or with a request.
type Claims struct {
	Known, Roots, RootsChange bool // it has said so; it gives roots; it tells about changes of them
	Name, Version, Protocol   string

	Can         Abilities
	ForChildren []byte // to its own children: a raw object, roots left out
}

// String returns how it calls itself, to be read.
func (c *Claims) String() string {
	return printable.Clean(strings.TrimSpace(c.Name + " " + c.Version))
}

// Abilities are what a client can be asked for beside its roots.
type Abilities struct {
	Sampling, SamplingTools     bool
	Form, URL                   bool // elicitation
	Tasks, TaskList, TaskCancel bool
	Extensions                  []string // keys of what this program does not know
}

// objectsIn are the members, where present, of a capability that must be
// objects. A server that finds another thing there may refuse the client.
var objectsIn = map[string][]string{
	"sampling": {"context", "tools"}, "elicitation": {"form", "url"}, "tasks": {"list", "cancel", "requests"}, "experimental": nil, "extensions": nil,
}

// Read reads the capabilities that it declares. One of an odd shape counts as
// not declared and spoils no other.
func (c *Claims) Read(caps []byte) {
	shown := []byte{'{'}
	seen := map[string]bool{}
	_ = jsonrpc.Members(caps, func(name string, value []byte) bool {
		if seen[name] || !jsonrpc.IsObject(value) {
			return true
		}
		seen[name] = true
		if name == "roots" {
			c.Roots = true
			c.RootsChange = string(jsonrpc.Get(value, "listChanged")) == "true"
			return true
		}
		known, ok := objectsIn[name]
		for _, inner := range known {
			if v := jsonrpc.Get(value, inner); v != nil && !jsonrpc.IsObject(v) {
				return true
			}
		}
		if len(shown)+len(name)+len(value) > maxCaps {
			return true
		}
		c.Can.setAbility(name, value, ok)
		shown = jsonrpc.AppendMember(shown, name, value)
		return true
	})
	c.ForChildren = append(shown, '}')
}

func (a *Abilities) setAbility(name string, value []byte, known bool) {
	has := func(inner string) bool { return jsonrpc.Get(value, inner) != nil }
	switch name {
	case "sampling":
		a.Sampling, a.SamplingTools = true, has("tools")
	case "elicitation":
		// An empty object is the form of 2025-06-18.
		a.Form, a.URL = has("form") || !has("url"), has("url")
	case "tasks":
		a.Tasks, a.TaskList, a.TaskCancel = true, has("list"), has("cancel")
	default:
		if known { // extensions or experimental
			_ = jsonrpc.Members(value, func(key string, _ []byte) bool {
				a.Extensions = append(a.Extensions, key)
				return true
			})
		} else {
			a.Extensions = append(a.Extensions, name)
		}
	}
}

// Refuses returns why a client cannot be asked for this; ok true: it can.
func (a *Abilities) Refuses(m *jsonrpc.Message) (answer jsonrpc.Answer, ok bool) {
	lacks := func(code int64, what string) (jsonrpc.Answer, bool) {
		return jsonrpc.ErrorAnswer(code, "the client did not declare "+what+", so it cannot be asked for "+m.Method), false
	}
	switch m.Method {
	case methods.Sample:
		switch {
		case !a.Sampling:
			return lacks(jsonrpc.CodeMethodNotFound, "sampling")
		case !a.SamplingTools && (m.Param("tools") != nil || m.Param("toolChoice") != nil):
			return lacks(jsonrpc.CodeInvalidParams, "sampling.tools")
		}
	case methods.Elicit:
		mode, _ := jsonrpc.String(m.Param("mode"))
		switch {
		case !a.Form && !a.URL:
			return lacks(jsonrpc.CodeMethodNotFound, "elicitation")
		case mode == "url" && !a.URL:
			return lacks(jsonrpc.CodeInvalidParams, "elicitation.url")
		case (mode == "form" || m.Param("mode") == nil) && !a.Form:
			return lacks(jsonrpc.CodeInvalidParams, "elicitation.form")
		}
	case methods.GetTask, methods.TaskResult:
		if !a.Tasks {
			return lacks(jsonrpc.CodeMethodNotFound, "tasks")
		}
	case methods.ListTasks:
		if !a.TaskList {
			return lacks(jsonrpc.CodeMethodNotFound, "tasks.list")
		}
	case methods.CancelTask:
		if !a.TaskCancel {
			return lacks(jsonrpc.CodeMethodNotFound, "tasks.cancel")
		}
	default:
		if methods.OfProtocol(m.Method) || !a.Extends(m.Method) {
			return lacks(jsonrpc.CodeMethodNotFound, "an extension that it belongs to")
		}
	}
	return jsonrpc.Answer{}, true
}

// Extends reports whether the client declared an extension that a method or
// notification is of.
func (a *Abilities) Extends(method string) bool {
	return slices.ContainsFunc(a.Extensions, func(key string) bool { return Extends(key, method) })
}

// Extends reports whether a method or notification is one of an extension: it is the key
// or begins with it, or its first part is the end of the key.
func Extends(key, method string) bool {
	method = strings.TrimPrefix(method, "notifications/")
	first, _, _ := strings.Cut(method, "/")
	return key != "" && (key[strings.LastIndexAny(key, "/.")+1:] == first || strings.HasPrefix(method+"/", key+"/"))
}
