package schema

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"mcphub/internal/jsonschema"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// Most arguments are objects of plain values and fit their schema. To see that they do takes no copy of them: a quick
// schema is read off the tree that the strict walk left. It can report that a value fits for certain and nothing else;
// what it is not sure of, every violation among it, is for the whole schema to say.
type quick struct {
	kinds    uint16 // bits of the kinds that fit; 0 for any
	integer  bool   // of numbers only those written as integers
	texts    map[string]bool
	members  map[string]Member
	required int // how many members must be there
	open     bool
	others   *quick // of members that are not named; nil for anything
	items    *quick // nil for anything
	count    span   // of a text's characters
	size     span   // of a list
	value    span   // of a number written as a short integer
	unsure   bool
}

// span is a range with both ends in it.
type span struct{ low, high int64 }

// endless is the span that holds any number.
var endless = span{math.MinInt64, math.MaxInt64}

func (s span) holdsNumber(n int64) bool { return s.low <= n && n <= s.high }

// setBound takes in one end. What is no short integer is left to the whole schema.
func (q *quick) setBound(s *span, low bool, at *big.Rat, shift int64) {
	switch {
	case at == nil:
	case !at.IsInt() || at.Num().BitLen() > 50:
		q.unsure = true
	case low:
		s.low = max(s.low, at.Num().Int64()+shift)
	default:
		s.high = min(s.high, at.Num().Int64()+shift)
	}
}

// A Member is what a schema says about one member of the arguments. A nil schema lets anything pass.
type Member struct {
	Declared bool // it is one of the properties, and not only required
	Required bool
	schema   *quick
}

var kindOfType = map[string]strictjson.Kind{"null": strictjson.Null, "boolean": strictjson.Bool, "object": strictjson.Object, "array": strictjson.Array, "number": strictjson.Number, "integer": strictjson.Number, "string": strictjson.String}

// quickReads are the fields of a schema that a quick one is made of, and the ones that refuse nothing.
var quickReads = chars.WordSet("Bool Types Enum Required Properties AdditionalProperties Items Items2020 MinItems MaxItems MinLength MaxLength " +
	"Minimum Maximum ExclusiveMinimum ExclusiveMaximum DraftVersion Location ID Format Title Description Default Comment ReadOnly WriteOnly Examples Deprecated")

// quickOf reads a compiled schema; nil if it lets anything pass.
func quickOf(s *jsonschema.Schema) *quick {
	if s == nil || s.Bool != nil && *s.Bool {
		return nil
	}
	q := &quick{open: true, members: make(map[string]Member), count: endless, size: endless, value: endless}
	q.unsure = s.Bool != nil || saysField(s, func(field string) bool { return !quickReads[field] })
	if s.Types != nil {
		names := s.Types.ToStrings()
		for _, name := range names {
			q.kinds |= 1 << kindOfType[name]
		}
		q.integer = slices.Contains(names, "integer") && !slices.Contains(names, "number")
	}
	if s.Enum != nil {
		q.texts = make(map[string]bool)
		for _, v := range s.Enum.Values {
			if text, ok := v.(string); ok {
				q.texts[text] = true // another value is simply none that is known to fit
			}
		}
	}
	for name, sub := range s.Properties {
		q.members[name] = Member{schema: quickOf(sub), Declared: true}
	}
	for _, name := range s.Required {
		if m := q.members[name]; !m.Required {
			m.Required = true
			q.members[name] = m
			q.required++
		}
	}
	switch others := s.AdditionalProperties.(type) {
	case bool:
		q.open = others
	case *jsonschema.Schema:
		q.others = quickOf(others)
	}
	q.items = quickOf(s.Items2020)
	if items, ok := s.Items.(*jsonschema.Schema); ok {
		q.items = quickOf(items)
	} else if s.Items != nil {
		q.unsure = true
	}
	count := func(n *int) *big.Rat {
		if n == nil {
			return nil
		}
		return big.NewRat(int64(*n), 1)
	}
	q.setBound(&q.count, true, count(s.MinLength), 0)
	q.setBound(&q.count, false, count(s.MaxLength), 0)
	q.setBound(&q.size, true, count(s.MinItems), 0)
	q.setBound(&q.size, false, count(s.MaxItems), 0)
	q.setBound(&q.value, true, s.Minimum, 0)
	q.setBound(&q.value, true, s.ExclusiveMinimum, 1)
	q.setBound(&q.value, false, s.Maximum, 0)
	q.setBound(&q.value, false, s.ExclusiveMaximum, -1)
	return q
}

// Plainly reports whether the arguments fit for certain, which a schema that was
// not read never says.
func (s *Schema) Plainly(t *strictjson.Tree) bool { return s.quick != nil && s.quick.fitsFor(t, 0) }

// fitsFor reports whether a value fits for certain.
func (q *quick) fitsFor(t *strictjson.Tree, at int32) bool {
	if q == nil {
		return true
	}
	n := &t.Nodes[at]
	switch {
	case n.Kind < strictjson.Array:
		return q.fitsScalar(n.Kind, t.Whole(at), t.IsEscaped(at))
	case !q.takesKind(n.Kind) || q.texts != nil:
		return false
	case n.Kind == strictjson.Array:
		return q.fitsArray(t, n)
	}
	return q.fitsObject(t, n)
}

func (q *quick) takesKind(kind strictjson.Kind) bool {
	return !q.unsure && (q.kinds == 0 || q.kinds&(1<<kind) != 0)
}

// fitsScalar works like fitsFor for a value that holds no others. raw is the value as it stands.
func (q *quick) fitsScalar(kind strictjson.Kind, raw []byte, escaped bool) bool {
	if q == nil {
		return true
	}
	if !q.takesKind(kind) {
		return false
	}
	switch {
	case kind == strictjson.String && (q.texts != nil || q.count != endless):
		raw = raw[1 : len(raw)-1]
		return !escaped && (q.texts == nil || q.texts[string(raw)]) && q.count.holdsNumber(int64(utf8.RuneCount(raw)))
	case kind == strictjson.Number && !q.fitsNumber(raw):
		return false
	}
	return q.texts == nil
}

// Fits reports whether a value without escapes that holds no others fits for certain. raw is the value as it stands.
func (member Member) Fits(kind strictjson.Kind, raw []byte) bool {
	return member.schema.fitsScalar(kind, raw, false)
}

// Members returns the members that the schema declares or requires, by their names, and required how many must be there.
// ok is false where more has to be known to see that arguments fit.
func (s *Schema) Members() (members map[string]Member, required int, ok bool) {
	q := s.quick
	if q == nil || q.texts != nil || !q.takesKind(strictjson.Object) {
		return nil, 0, false
	}
	return q.members, q.required, true
}

func (q *quick) fitsArray(t *strictjson.Tree, n *strictjson.Node) bool {
	if q.items == nil && q.size == endless {
		return true
	}
	count := int64(0)
	for c := n.First; c > 0; c = t.Nodes[c].Next {
		if !q.items.fitsFor(t, c) {
			return false
		}
		count++
	}
	return q.size.holdsNumber(count)
}

func (q *quick) fitsNumber(raw []byte) bool {
	if !q.integer && q.value == endless {
		return true
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && q.value.holdsNumber(v)
}

func (q *quick) fitsObject(t *strictjson.Tree, n *strictjson.Node) bool {
	missing := q.required
	for c := n.First; c > 0; c = t.Nodes[c].Next {
		raw, plain := t.RawName(c)
		if !plain {
			return false
		}
		is := q.members[string(raw)]
		sub := is.schema
		if !is.Declared {
			if !q.open {
				return false
			}
			sub = q.others
		}
		if !sub.fitsFor(t, c) {
			return false
		}
		if is.Required {
			missing--
		}
	}
	return missing == 0
}
