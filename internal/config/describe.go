package config

import (
	"fmt"
)

// Key is one key of hub.json, for people.
type Key struct {
	Path    string // "mcpServers.*.timeout.call"; "*" is any name, "[]" any element
	Type    string // "string", "list of string", "duration", `"a" or "b"`, ...
	Default string // as JSON, or in words; "" = none
	Text    string // one sentence, Markdown
	Restart bool   // a change takes effect after a restart, or where it bounds a client, for its next session
}

// Describe lists every key, in the order of the table that the reader uses.
func Describe() []Key {
	return describe(nil, "", table)
}

func describe(out []Key, at string, s *spec) []Key {
	for _, k := range s.keys {
		path := k.name
		if at != "" {
			path = at + "." + k.name
		}
		d := k.def
		if k.note != "" {
			d = k.note
		}
		if k.required {
			d = "required"
		}
		out = append(out, Key{Path: path, Type: k.spec.describe(), Default: d, Text: k.text, Restart: k.restart})
		in := k.spec
		for in.kind == kindMap || in.kind == kindList {
			if in.kind == kindMap {
				path += ".*"
			} else {
				path += "[]"
			}
			in = in.elem
		}
		out = describe(out, path, in)
	}
	return out
}

func (s *spec) describe() string {
	switch s.kind {
	case kindObject:
		if s.short != "" {
			return s.find(s.short).spec.describe() + ", or object"
		}
		return "object"
	case kindMap:
		return fmt.Sprintf("object of %s", s.elem.describe())
	case kindList:
		return fmt.Sprintf("list of %s", s.elem.describe())
	case kindString, kindScalar:
		return "string"
	case kindBool:
		return "boolean"
	case kindInt:
		return fmt.Sprintf("%d to %d", s.min, s.max)
	case kindDuration:
		return "duration"
	case kindSize:
		return "size"
	case kindPorts:
		return oneOf(s.choices) + ", or list of " + s.elem.describe()
	}
	return oneOf(s.values())
}
