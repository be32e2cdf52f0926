package keys

import (
	"cmp"
	"fmt"
)

// A Description is one key of hub.json, for people.
type Description struct {
	Path    string // "mcpServers.*.timeout.call"; "*" is any name, "[]" any element
	Type    string // "string", "list of string", "duration", `"a" or "b"`, ...
	Default string // as JSON, or in words; "" = none
	Text    string // one sentence, Markdown
	Restart bool   // a change takes effect after a restart, or if it bounds a client, for its next session
}

// Describe lists every key, in the order of the table that the reader uses.
func Describe() []Description {
	return appendDescriptions(nil, "", Table)
}

func appendDescriptions(out []Description, at string, s *Spec) []Description {
	for _, k := range s.Keys {
		path := k.Name
		if at != "" {
			path = at + "." + k.Name
		}
		d := cmp.Or(k.Note, k.Def)
		if k.Required {
			d = "required"
		}
		out = append(out, Description{Path: path, Type: k.Spec.describeType(), Default: d, Text: k.Text, Restart: k.Restart})
		in := k.Spec
		for in.Kind == KindMap || in.Kind == KindList {
			if in.Kind == KindMap {
				path += ".*"
			} else {
				path += "[]"
			}
			in = in.Elem
		}
		out = appendDescriptions(out, path, in)
	}
	return out
}

func (s *Spec) describeType() string {
	switch s.Kind {
	case KindObject:
		if s.Short != "" {
			return s.Find(s.Short).Spec.describeType() + ", or object"
		}
		return "object"
	case KindMap:
		return fmt.Sprintf("object of %s", s.Elem.describeType())
	case KindList:
		if s.Single {
			return fmt.Sprintf("%s, or list of it", s.Elem.describeType())
		}
		return fmt.Sprintf("list of %s", s.Elem.describeType())
	case KindString, KindScalar:
		return "string"
	case KindBool:
		return "boolean"
	case KindInt:
		return fmt.Sprintf("%d to %d", s.Min, s.Max)
	case KindDuration:
		return "duration"
	case KindSize:
		if len(s.Choices) > 0 {
			return OneOf(s.Choices) + ", or size"
		}
		return "size"
	case KindJSON:
		return "any value"
	case KindPorts:
		return OneOf(s.Choices) + ", or list of " + s.Elem.describeType()
	}
	return OneOf(s.Values())
}
