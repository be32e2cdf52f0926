package fixed

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mcphub/internal/jsonrpc"
	"mcphub/validate/strictjson"
)

// maxDepth is how deep a schema is searched for an argument.
const maxDepth = 64

// maxSteps bounds the search: a schema that refers to itself twice doubles it with each level. A step reads one schema of stepSize.
const (
	maxSteps = 10_000
	stepSize = 4 << 10
)

// Hide returns an inputSchema without these arguments. It is the schema itself, byte for byte, but for them. The error names the
// argument it does not declare, or for which the search would take too long.
func Hide(schema []byte, set []Argument) ([]byte, error) {
	for i := range set {
		h := hider{root: schema, path: set[i].Path, steps: maxSteps}
		out, found := h.hideIn(schema, 0, 0)
		if h.steps < 0 {
			return nil, fmt.Errorf("its schema is too large, or refers to itself too often, to be searched for the argument %s, "+
				"which \"tools.set\" of hub.json sets", set[i].Pointer())
		}
		if !found {
			return nil, fmt.Errorf("its schema has no argument %s, which \"tools.set\" of hub.json sets", set[i].Pointer())
		}
		for _, ref := range h.replaced {
			out = withoutUnused(out, ref)
		}
		schema = out
	}
	return schema, nil
}

// A hider takes one argument out of a schema.
type hider struct {
	root     []byte
	path     []string
	replaced []string // references that were replaced by what they lead to
	steps    int      // that are left; negative: the search was given up
}

// takeSteps takes the steps for a schema of that size. ok is false if they are not left.
func (h *hider) takeSteps(size int) (ok bool) {
	h.steps -= 1 + size/stepSize
	return h.steps >= 0
}

// hideIn returns a schema of the object that lies at names deep without the argument. found: it declares it. Another part of the whole
// schema may do so if it does not.
func (h *hider) hideIn(schema []byte, at, depth int) (out []byte, found bool) {
	if depth > maxDepth || !h.takeSteps(len(schema)) || !jsonrpc.IsObject(schema) {
		return schema, false
	}
	name, last := h.path[at], at == len(h.path)-1
	out = []byte{'{'}
	changed := false
	for _, m := range jsonrpc.MembersOf(schema) {
		value, is := m.Value, false
		switch m.Name {
		case "properties":
			value, is = h.hideProperty(value, at, depth)
		case "allOf", "anyOf", "oneOf":
			value, is = h.hideInEach(value, at, depth)
		case "if", "then", "else":
			value, is = h.hideIn(value, at, depth+1)
		case "required":
			if last {
				value = withoutText(value, name)
			}
		case "dependentRequired", "dependencies":
			if last {
				value = withoutDependency(value, name)
			}
		case "$ref":
			var ref string
			if ref, value, is = h.hideBehind(value, at, depth); is {
				if !slices.Contains(h.replaced, ref) {
					h.replaced = append(h.replaced, ref)
				}
				m.Name, value = "allOf", append(append([]byte{'['}, value...), ']')
				if others := jsonrpc.Get(schema, "allOf"); others != nil {
					return schema, false // two lists of one name; no generator writes that
				}
			}
		}
		found, changed = found || is, changed || !bytes.Equal(value, m.Value)
		if value != nil {
			out = jsonrpc.AppendMember(out, m.Name, value)
		}
	}
	if !changed {
		return schema, found
	}
	return append(out, '}'), found
}

// hideProperty takes the argument, or a part of it, out of the properties of an object.
func (h *hider) hideProperty(properties []byte, at, depth int) (out []byte, found bool) {
	out = []byte{'{'}
	for _, m := range jsonrpc.MembersOf(properties) {
		value := m.Value
		if m.Name == h.path[at] {
			if at == len(h.path)-1 {
				found = true
				continue
			}
			var is bool
			value, is = h.hideIn(value, at+1, depth+1)
			found = found || is
		}
		out = jsonrpc.AppendMember(out, m.Name, value)
	}
	return append(out, '}'), found
}

func (h *hider) hideInEach(list []byte, at, depth int) (out []byte, found bool) {
	out = []byte{'['}
	_ = jsonrpc.Elements(list, func(schema []byte) bool {
		edited, is := h.hideIn(schema, at, depth+1)
		found = found || is
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, edited...)
		return true
	})
	return append(out, ']'), found
}

// hideBehind returns the schema that a reference within the whole one leads to, without the argument.
func (h *hider) hideBehind(raw []byte, at, depth int) (ref string, out []byte, found bool) {
	ref, _ = jsonrpc.String(raw)
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || strings.ContainsRune(pointer, '%') || !h.takeSteps(len(h.root)) {
		return "", raw, false
	}
	to := h.root
	for pointer != "" {
		var name string
		if name, pointer, ok = strictjson.CutToken(pointer); !ok {
			return "", raw, false
		}
		if to = jsonrpc.Get(to, name); to == nil {
			return "", raw, false
		}
	}
	if out, found = h.hideIn(to, at, depth+1); !found {
		return "", raw, false
	}
	return ref, out, true
}

// withoutUnused takes a definition out that nothing refers to any more, so that clients do not read it there.
func withoutUnused(schema []byte, ref string) []byte {
	place, name, ok := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	if !ok || strings.ContainsAny(name, "/~") || bytes.Contains(schema, jsonrpc.AppendString(nil, ref)) {
		return schema
	}
	box := jsonrpc.Get(schema, place)
	if jsonrpc.Get(box, name) == nil {
		return schema
	}
	rest := jsonrpc.Without(box, name)
	if rest == nil {
		return jsonrpc.Without(schema, place)
	}
	return jsonrpc.Join(jsonrpc.Splice(schema, jsonrpc.Edit{Old: box, With: rest}))
}

// withoutText returns a list of texts without one; nil if nothing else is in it.
func withoutText(list []byte, text string) []byte {
	out := []byte{'['}
	err := jsonrpc.Elements(list, func(raw []byte) bool {
		if s, ok := jsonrpc.String(raw); ok && s == text {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
		return true
	})
	switch {
	case err != nil:
		return list
	case len(out) == 1:
		return nil
	}
	return append(out, ']')
}

// withoutDependency returns what depends on the members of an object without one of them; nil if nothing else is in it.
func withoutDependency(all []byte, name string) []byte {
	out := []byte{'{'}
	for _, m := range jsonrpc.MembersOf(all) {
		if value := m.Value; m.Name != name {
			if len(value) > 0 && value[0] == '[' {
				value = withoutText(value, name)
			}
			if value != nil {
				out = jsonrpc.AppendMember(out, m.Name, value)
			}
		}
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}
