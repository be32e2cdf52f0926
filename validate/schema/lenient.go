package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	jskind "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcphub/internal/jsonschema"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// Many servers read more than their schema says: "5" for 5, a list that a model has put into a string, null for an argument
// that may be left out, and members that they do not know. A lenient reading finds out whether arguments fit once they are
// read so, and at which places they are read differently from how they stand. It never changes them.

// How a value of the arguments is read.
const (
	AsItStands = iota
	AsContent  // a string is the number, the boolean, the list or the object that is written in it
	AsAbsent   // null is no value
	AsExtra    // a member that the schema does not know is not read, or read by its own name
)

// A LenientValue is a value of the arguments that a lenient reading takes differently from how it stands, or that holds such a value. nil
// is neither.
type LenientValue struct {
	How      int
	inside   map[string]*LenientValue // by name or position
	names    map[string]bool          // of an object with such members: the ones that its schemas declare
	spelling map[string]string        // one of them, by its letters and digits
}

// Step returns the place of a member or an element.
func (p *LenientValue) Step(token string) *LenientValue {
	if p == nil {
		return nil
	}
	return p.inside[token]
}

func (p *LenientValue) asItStands() bool { return p == nil || p.How == AsItStands }

// IsContent reports a string that is read for what is written in it.
func (p *LenientValue) IsContent() bool { return p != nil && p.How == AsContent }

// IsExtra reports a member that the schema does not know.
func (p *LenientValue) IsExtra() bool { return p != nil && p.How == AsExtra }

// Spelling returns the declared name of an object's member that another name differs from by case, hyphens and underscores alone.
func (p *LenientValue) Spelling(name string) (declared string, ok bool) {
	declared, ok = p.spelling[chars.Squeeze(name, chars.NameSeparators)]
	return declared, ok
}

// A Reading is how arguments fit a schema that they do not fit as they stand.
type Reading struct {
	Value  any          // the arguments, decoded, as they are read
	Places LenientValue // the places that are read differently from how they stand: of the arguments as a whole
	Count  int          // how many values are
}

// maxRounds is how often a reading goes on: what is wrong inside an alternative may only show once that alternative is taken.
const maxRounds = 4

// Read judges decoded arguments as they stand, and then by a lenient reading, which is nil if they fit as they stand. What does
// not fit by it either is refused for what is wrong with it as it stands.
func (s *Schema) Read(v any, work *budget.Budget) (*Reading, error) {
	if s == nil {
		return nil, nil
	}
	regex := regexBudget
	bad, err := s.checkDecoded(v, work, &regex)
	if bad == nil || err != nil {
		return nil, err
	}
	r := reader{Reading: Reading{Value: cloneValue(v)}, s: s, work: work}
	wrong := bad
	for rounds := 0; rounds < maxRounds && r.readRound(wrong); rounds++ {
		switch wrong, err = s.checkDecoded(r.Value, work, &regex); {
		case err != nil:
			return nil, err
		case wrong == nil:
			return &r.Reading, nil
		}
	}
	if work.Spent() {
		return nil, errSpent()
	}
	return nil, describeError(bad)
}

// cloneValue copies what holds values.
func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, in := range v {
			m[name] = cloneValue(in)
		}
		return m
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = cloneValue(list[i])
		}
		return list
	}
	return v
}

// reader makes a Reading.
type reader struct {
	Reading
	s    *Schema
	work *budget.Budget
}

// readRound reads otherwise what is wrong, as far as it can be, and reports whether there was anything.
func (r *reader) readRound(wrong *jsonschema.ValidationError) bool {
	before := r.Count
	var extra []*jsonschema.ValidationError // what is declared in one alternative is not extra in another
	for todo := []*jsonschema.ValidationError{wrong}; len(todo) > 0; {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch kind := e.ErrorKind.(type) {
		case *jskind.PropertyNames: // what it holds is about names, and not about what stands at its place
		case *jskind.AdditionalProperties:
			extra = append(extra, e)
		case *jskind.Type:
			r.readString(e.InstanceLocation, kind.Want)
		case *jskind.Enum:
			r.readString(e.InstanceLocation, typesOf(kind.Want))
		case *jskind.Const:
			r.readString(e.InstanceLocation, typesOf([]any{kind.Want}))
		default:
			todo = append(todo, e.Causes...)
		}
	}
	for _, e := range extra {
		r.dropExtra(e.InstanceLocation, e.ErrorKind.(*jskind.AdditionalProperties).Properties)
	}
	return r.Count > before && !r.work.Spent()
}

// typesOf returns the types of the numbers and booleans among constants.
func typesOf(constants []any) (types []string) {
	for _, v := range constants {
		switch v.(type) {
		case json.Number:
			types = append(types, "number")
		case bool:
			types = append(types, "boolean")
		}
	}
	return types
}

// readString reads a string for what is written in it, if that is of a type that is wanted, and null for no value.
func (r *reader) readString(at []string, want []string) {
	if len(at) == 0 {
		return
	}
	token := at[len(at)-1]
	parent, place, steps := r.findValue(at[:len(at)-1])
	v, to, there := stepInto(parent, token)
	if !there || !place.Step(token).asItStands() {
		return
	}
	members, isObject := parent.(map[string]any)
	if text, ok := v.(string); ok {
		if v, ok = r.readContent(text, want); !ok {
			return
		}
		if isObject {
			members[token] = v
		} else {
			parent.([]any)[to.index] = v
		}
		r.noteReading(place, token, AsContent)
	} else if isObject && v == nil && r.learnNames(place, steps) && place.names[token] {
		delete(members, token)
		r.noteReading(place, token, AsAbsent)
	}
}

// stepInto returns a member or an element of a value; ok is false if there is none.
func stepInto(v any, token string) (in any, to step, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		in, ok = v[token]
		return in, step{member: true, name: token}, ok
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i < len(v) {
			return v[i], step{index: i}, true
		}
	}
	return nil, to, false
}

// readContent returns what is written in a string: a number, true or false, a list or an object, in strict JSON.
func (r *reader) readContent(text string, want []string) (v any, ok bool) {
	trimmed := strings.Trim(text, " \t\r\n")
	if trimmed == "" || !r.work.Spend(budget.FindSteps+len(text)/budget.ByteSteps) {
		return nil, false
	}
	kind := "number"
	switch trimmed[0] {
	case '{':
		kind = "object"
	case '[':
		kind = "array"
	case 't', 'f':
		kind = "boolean"
	case '"', 'n':
		return nil, false
	}
	if !slices.Contains(want, kind) && !(kind == "number" && slices.Contains(want, "integer")) {
		return nil, false
	}
	if trimmed != text && kind != "object" && kind != "array" {
		return nil, false
	}
	t := strictjson.New(strictjson.DefaultDepth)
	defer t.Free()
	if err := t.Walk([]byte(text), -1, 0); err != nil {
		return nil, false
	}
	return t.Value(0), true
}

// dropExtra leaves members out that no schema of their object declares.
func (r *reader) dropExtra(at, names []string) {
	parent, place, steps := r.findValue(at)
	members, ok := parent.(map[string]any)
	if !ok || !r.learnNames(place, steps) {
		return
	}
	for _, name := range names {
		if _, there := members[name]; there && !place.names[name] && place.Step(name).asItStands() {
			delete(members, name)
			r.noteReading(place, name, AsExtra)
		}
	}
}

// learnNames finds out which names the schemas of an object declare. It is false if they are too many to know.
func (r *reader) learnNames(object *LenientValue, steps []step) bool {
	if object.names != nil {
		return true
	}
	at, _, all := r.s.schemasAt(steps, false)
	all = all && AddInPlace(at, false)
	if !r.work.Spend(budget.FindSteps+len(at)*(len(steps)+1)) || !all {
		return false
	}
	object.names, object.spelling = make(map[string]bool), make(map[string]string)
	for sub := range at {
		for name := range sub.Properties {
			object.names[name] = true
			squeezed := chars.Squeeze(name, chars.NameSeparators)
			if same, ok := object.spelling[squeezed]; !ok || name < same {
				object.spelling[squeezed] = name
			}
		}
	}
	return true
}

// findValue returns the value at a location, with its place. It finds nothing in what is read differently from how it stands: what is
// written in a string has to fit as it is.
func (r *reader) findValue(at []string) (v any, place *LenientValue, steps []step) {
	v, place = r.Value, &r.Places
	for _, token := range at {
		in, to, ok := stepInto(v, token)
		if !ok {
			return nil, nil, nil
		}
		next := place.inside[token]
		if next == nil {
			next = &LenientValue{}
			place.putPlace(token, next)
		}
		if next.How != AsItStands {
			return nil, nil, nil
		}
		v, place, steps = in, next, append(steps, to)
	}
	return v, place, steps
}

func (p *LenientValue) putPlace(token string, in *LenientValue) {
	if p.inside == nil {
		p.inside = make(map[string]*LenientValue)
	}
	p.inside[token] = in
}

func (r *reader) noteReading(object *LenientValue, token string, how int) {
	object.putPlace(token, &LenientValue{How: how})
	r.Count++
}
