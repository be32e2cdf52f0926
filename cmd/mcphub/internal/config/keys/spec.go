package keys

import (
	"strconv"
	"strings"
)

// Kind describes what a value must be and what it becomes.
type Kind uint8

const (
	KindObject   Kind = iota + 1 // fixed keys
	KindMap                      // any names, all values alike
	KindList                     //
	KindString                   //
	KindScalar                   // string, number, true or false; becomes a string. null drops the key
	KindBool                     //
	KindInt                      // whole number; becomes int
	KindDuration                 // "10s" or a bare number; becomes time.Duration
	KindSize                     // "64MiB" or bytes, or a word that stands for none; becomes int64, 0 for the word
	KindChoice                   // one of a few strings
	KindAllow                    // "allow" or "deny"; becomes bool
	KindJSON                     // any value; becomes its text
	KindPorts                    // one of a few strings, or a list of TCP ports; becomes config.Network
)

// A Spec describes one value. Which fields mean anything depends on Kind.
type Spec struct {
	Kind    Kind
	Keys    []Key               // object
	Elem    *Spec               // map, list, ports
	Choices []string            // choice, ports, size
	Min     int64               // int; duration in ns; size in bytes; list: number of elements
	Max     int64               // the same; 0 = none
	Valid   func(string) string // string: what is wrong with it, or ""
	Named   func(string) string // map: what is wrong with a name, or ""
	Short   string              // object: a plain value stands for an object with only this key
	Expand  Expansion           // string, scalar: what is replaced in it
	Secrets bool                // string, scalar: references to secrets may stand in it
	Closed  bool                // object: an unknown key is an error, since dropping it could open something
	Single  bool                // list: one element may stand for a list of it
	Skip    bool                // list: an element whose variable is not set stays as it is written, with a warning
	Millis  bool                // duration: a bare number is milliseconds, however small
}

// Expansion describes which placeholders a string takes.
type Expansion uint8

const (
	ExpandNone  Expansion = iota
	ExpandNow             // variables only: ${root} can have no meaning here
	ExpandLater           // variables; ${root}, ${roots} and ${root:NAME} stay for the child's start
)

// A Key is one key of an object.
type Key struct {
	Name     string
	Spec     *Spec
	Def      string // default as JSON, filled in; "" = none
	Note     string // default in words, where Def cannot say it
	Text     string // one sentence for docs/config.md
	Guard    bool   // losing it to a misspelling would open something
	Loose    bool   // of an object that guards: a misspelling of this key opens nothing
	Required bool
	Restart  bool // a hub that runs goes on with the former value
}

// Find returns the key of that name, or nil.
func (s *Spec) Find(name string) *Key {
	for i := range s.Keys {
		if s.Keys[i].Name == name {
			return &s.Keys[i]
		}
	}
	return nil
}

// Names returns the names of its keys.
func (s *Spec) Names() []string {
	out := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		out[i] = k.Name
	}
	return out
}

// Elsewhere finds the one key of that name among the ones of the objects in s,
// and its place.
func (s *Spec) Elsewhere(wrote string) (home string, found *Key) {
	many := false
	var look func(in *Spec, at string)
	look = func(in *Spec, at string) {
		for i := range in.Keys {
			k := &in.Keys[i]
			if k.Spec.Kind != KindObject {
				continue
			}
			place := at + k.Name
			if inner := k.Spec.Find(wrote); inner != nil {
				many = many || found != nil
				home, found = place, inner
			}
			look(k.Spec, place+".")
		}
	}
	look(s, "")
	if many {
		return "", nil
	}
	return home, found
}

// At returns the Spec at a path of the table, or nil if the table has none.
func At(path []string) *Spec {
	at := Table
	for _, step := range path {
		switch {
		case at == nil:
		case at.Kind == KindMap:
			at = at.Elem
		case at.Find(step) != nil:
			at = at.Find(step).Spec
		default:
			at = nil
		}
	}
	return at
}

// OfVariable returns the key path that the parts of a variable's name stand for, without regard to
// case. known reports whether its first part is a key.
func OfVariable(parts []string) (path []string, known bool) {
	at := Table
	for i, part := range parts {
		name := strings.ToLower(part)
		var next *Spec
		if at != nil && at.Kind == KindObject {
			for _, k := range at.Keys {
				if strings.EqualFold(k.Name, part) {
					name, next = k.Name, k.Spec
				}
			}
		}
		known = known || i == 0 && next != nil
		path, at = append(path, name), next
	}
	return path, known
}

// Want names a type for a message.
func (s *Spec) Want() string {
	switch s.Kind {
	case KindObject:
		if s.Short != "" {
			return s.Find(s.Short).Spec.Want() + " or an object"
		}
		return "an object"
	case KindMap:
		return "an object"
	case KindList:
		if s.Single {
			return s.Elem.Want() + ", or a list"
		}
		return "a list"
	case KindString:
		return "a string"
	case KindScalar:
		return "a string, a number or a boolean"
	case KindBool:
		return "true or false"
	case KindInt:
		return "a whole number"
	case KindDuration:
		return `a duration such as "10s"`
	case KindSize:
		if len(s.Choices) > 0 {
			return OneOf(s.Choices) + `, a size such as "64KiB", or a number of bytes`
		}
		return `a size such as "64MiB", or a number of bytes`
	case KindJSON:
		return "a value"
	case KindPorts:
		return OneOf(s.Choices) + ", or a list of TCP ports"
	}
	return OneOf(s.Values())
}

// Values returns the words that a choice is among.
func (s *Spec) Values() []string {
	if s.Kind == KindAllow {
		return []string{"allow", "deny"}
	}
	return s.Choices
}

// OneOf lists words for a message: "a", "b" or "c".
func OneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
