package validate

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pathFormats are the formats by which a schema declares a string to be a path on the child's machine.
var pathFormats = map[string]bool{
	"path": true, "file-path": true, "filepath": true, "directory-path": true, "file": true, "directory": true,
}

// wordFormats are formats of strings that no program takes for a path.
var wordFormats = []string{"date", "time", "date-time", "duration", "email", "idn-email", "hostname", "ipv4", "ipv6", "uuid", "semver"}

const hintSteps = 64

// hint is what a schema says about one argument.
type hint struct {
	enum     bool // only listed constants are accepted
	path     bool // declared as a path
	uri      bool // declared as a URI
	word     bool // declared as something that is never a path
	declared bool // the schema names this member
	object   bool // an object or an array is accepted too
}

// hintsAt follows the pointer of a value through the schema. It is conservative: where alternatives disagree, the one
// that leaves the value a path counts.
func (s *schema) hintsAt(t *tree, id int32) hint {
	if s == nil {
		return hint{}
	}
	var tokens []int32
	for n := id; n > 0; n = t.nodes[n].parent {
		if t.nodes[n].doc != 0 {
			return hint{} // inside a string the schema is silent
		}
		tokens = append(tokens, n)
	}
	at := []*jsonschema.Schema{s.hints}
	declared := false
	for i := len(tokens) - 1; i >= 0; i-- {
		at, declared = s.below(t, at, tokens[i])
		if len(at) == 0 {
			return hint{}
		}
	}
	h := hint{declared: declared, enum: true, word: true}
	spoke := false
	for _, sub := range at {
		steps := hintSteps
		h.object = h.object || admitsObject(sub, &steps)
		steps = hintSteps
		if !s.speaks(sub, &steps) {
			continue
		}
		spoke = true
		steps = hintSteps
		h.enum = h.enum && constantsOnly(sub, &steps)
		steps = hintSteps
		h.path = h.path || s.anyFormat(sub, &steps, func(f string) bool { return pathFormats[f] })
		steps = hintSteps
		h.uri = h.uri || s.anyFormat(sub, &steps, func(f string) bool { return uriFormats[strings.ToLower(f)] })
		h.word = h.word && slices.Contains(wordFormats, s.formats[sub])
	}
	h.enum, h.word = h.enum && spoke, h.word && spoke
	return h
}

// below collects the schemas that govern one child value.
func (s *schema) below(t *tree, at []*jsonschema.Schema, id int32) (next []*jsonschema.Schema, declared bool) {
	n := &t.nodes[id]
	steps := hintSteps
	var visit func(sub *jsonschema.Schema)
	visit = func(sub *jsonschema.Schema) {
		if steps--; steps < 0 || sub == nil {
			return
		}
		if n.kend > 0 {
			if p := sub.Properties[t.name(id)]; p != nil {
				next, declared = append(next, p), true
			} else if p, ok := sub.AdditionalProperties.(*jsonschema.Schema); ok {
				next = append(next, p)
			}
		} else {
			next = append(next, itemSchemas(sub, int(n.index))...)
		}
		inPlace(sub, visit)
	}
	for _, sub := range at {
		visit(sub)
	}
	if steps < 0 {
		return nil, declared
	}
	return next, declared
}

func itemSchemas(s *jsonschema.Schema, index int) []*jsonschema.Schema {
	if index < len(s.PrefixItems) {
		return s.PrefixItems[index : index+1]
	}
	if s.Items2020 != nil {
		return []*jsonschema.Schema{s.Items2020}
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{items}
	case []*jsonschema.Schema:
		if index < len(items) {
			return items[index : index+1]
		}
		if more, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
			return []*jsonschema.Schema{more}
		}
	}
	return nil
}

// inPlace yields the schemas that apply to the same value.
func inPlace(s *jsonschema.Schema, yield func(*jsonschema.Schema)) {
	yield(s.Ref)
	yield(s.RecursiveRef)
	if s.DynamicRef != nil {
		yield(s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			yield(sub)
		}
	}
	yield(s.Then)
	yield(s.Else)
}

// speaks reports whether s says anything by which a string could be judged.
func (s *schema) speaks(sub *jsonschema.Schema, steps *int) bool {
	if *steps--; *steps < 0 || sub == nil {
		return true
	}
	if sub.Enum != nil || sub.Const != nil || s.formats[sub] != "" || sub.Types != nil && !sub.Types.IsEmpty() {
		return true
	}
	found := false
	inPlace(sub, func(in *jsonschema.Schema) { found = found || in != nil && s.speaks(in, steps) })
	return found
}

// constantsOnly reports whether every string that s accepts is a constant of the schema.
func constantsOnly(s *jsonschema.Schema, steps *int) bool {
	if *steps--; *steps < 0 || s == nil {
		return false
	}
	if s.Enum != nil || s.Const != nil {
		return true
	}
	if s.Types != nil && !s.Types.IsEmpty() && !slices.Contains(s.Types.ToStrings(), "string") {
		return true
	}
	if constantsOnly(s.Ref, steps) || slices.ContainsFunc(s.AllOf, func(sub *jsonschema.Schema) bool { return constantsOnly(sub, steps) }) {
		return true
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(alternatives) > 0 && !slices.ContainsFunc(alternatives, func(sub *jsonschema.Schema) bool { return !constantsOnly(sub, steps) }) {
			return true
		}
	}
	return false
}

// admitsObject reports whether s may accept an object or an array.
func admitsObject(s *jsonschema.Schema, steps *int) bool {
	if *steps--; *steps < 0 || s == nil {
		return true
	}
	if s.Bool != nil {
		return *s.Bool
	}
	if s.Enum != nil || s.Const != nil {
		return false
	}
	if s.Types != nil && !s.Types.IsEmpty() {
		types := s.Types.ToStrings()
		return slices.Contains(types, "object") || slices.Contains(types, "array")
	}
	if s.Ref != nil && !admitsObject(s.Ref, steps) {
		return false
	}
	for _, sub := range s.AllOf {
		if !admitsObject(sub, steps) {
			return false
		}
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(alternatives) > 0 && !slices.ContainsFunc(alternatives, func(sub *jsonschema.Schema) bool { return admitsObject(sub, steps) }) {
			return false
		}
	}
	return true
}

func (s *schema) anyFormat(sub *jsonschema.Schema, steps *int, match func(string) bool) bool {
	if *steps--; *steps < 0 || sub == nil {
		return false
	}
	if match(s.formats[sub]) {
		return true
	}
	found := false
	inPlace(sub, func(in *jsonschema.Schema) { found = found || s.anyFormat(in, steps, match) })
	return found
}

// declaresPaths reports whether any schema of the document has a path format, so that most tools skip the question.
func (s *schema) declaresPaths() bool {
	if s == nil {
		return false
	}
	for _, f := range s.formats {
		if pathFormats[f] {
			return true
		}
	}
	return false
}
