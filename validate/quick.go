package validate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Most arguments are objects of plain values and fit their schema. To see that they do takes no copy of them: a quick
// schema is read off the tree that the strict walk left. It can say that a value fits for certain and nothing else; what
// it is not sure of, every violation among it, is for the whole schema to say.
type quick struct {
	kinds    uint16 // bits of the kinds that fit; 0 for any
	integer  bool   // of numbers only those written as integers
	texts    map[string]bool
	members  map[string]member
	required int // how many members must be there
	open     bool
	others   *quick // of members that are not named; nil for anything
	items    *quick // nil for anything
	count    span   // of a text's characters
	size     span   // of a list
	value    span   // of a number written as a short integer
	unsure   bool
}

// span is a range with both ends in it; the zero span has none.
type span struct {
	low, high       int64
	hasLow, hasHigh bool
}

func (s span) set() bool { return s.hasLow || s.hasHigh }

func (s span) holds(n int64) bool { return (!s.hasLow || n >= s.low) && (!s.hasHigh || n <= s.high) }

// bound takes in one end. What is no short integer is left to the whole schema.
func (q *quick) bound(s *span, low bool, v any, shift int64) {
	number, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n > 1e15 || n < -1e15 {
		q.unsure = true
		return
	}
	if low && !s.hasLow {
		s.low, s.hasLow = n+shift, true
	} else if !low && !s.hasHigh {
		s.high, s.hasHigh = n+shift, true
	} else {
		q.unsure = true // minimum and exclusiveMinimum
	}
}

// member is what a quick schema says of one member. A nil schema lets anything pass.
type member struct {
	schema   *quick
	declared bool // it is one of the properties, and not only required
	required bool
}

var kindOfType = map[string]kind{"null": kNull, "boolean": kBool, "object": kObject, "array": kArray, "number": kNumber, "integer": kNumber, "string": kString}

// quickOf reads a decoded schema; nil where it lets anything pass.
func quickOf(doc any, top bool) *quick {
	if doc == true {
		return nil
	}
	m, ok := doc.(map[string]any)
	if !ok {
		return &quick{unsure: true}
	}
	q := &quick{open: true}
	for key, v := range m {
		switch key {
		case "title", "description", "default", "examples", "$comment", "readOnly", "writeOnly", "deprecated", "format":
		case "minLength", "maxLength":
			q.bound(&q.count, key == "minLength", v, 0)
		case "minItems", "maxItems":
			q.bound(&q.size, key == "minItems", v, 0)
		case "minimum", "maximum":
			q.bound(&q.value, key == "minimum", v, 0)
		case "exclusiveMinimum":
			q.bound(&q.value, true, v, 1)
		case "exclusiveMaximum":
			q.bound(&q.value, false, v, -1)
		case "$schema":
			s, ok := v.(string)
			q.unsure = q.unsure || !top || !ok || !slices.Contains(dialects, s)
		case "type":
			q.types(v)
		case "enum":
			q.choice(v)
		case "properties":
			named, ok := v.(map[string]any)
			q.unsure = q.unsure || !ok
			for name, sub := range named {
				is := q.member(name)
				is.schema, is.declared = quickOf(sub, false), true
				q.members[name] = is
			}
		case "required":
			names, ok := v.([]any)
			q.unsure = q.unsure || !ok || !distinctTexts(v)
			for _, n := range names {
				if name, ok := n.(string); ok {
					is := q.member(name)
					is.required = true
					q.members[name] = is
					q.required++
				}
			}
		case "additionalProperties":
			if q.open = v != false; q.open {
				q.others = quickOf(v, false)
			}
		case "items":
			q.items = quickOf(v, false)
		default:
			q.unsure = true
		}
	}
	return q
}

func (q *quick) member(name string) member {
	if q.members == nil {
		q.members = map[string]member{}
	}
	return q.members[name]
}

func (q *quick) types(v any) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	number := false
	for _, t := range list {
		name, _ := t.(string)
		k, ok := kindOfType[name]
		if !ok {
			q.unsure = true
			return
		}
		q.kinds |= 1 << k
		number = number || name == "number"
		q.integer = q.integer || name == "integer"
	}
	q.integer = q.integer && !number
	q.unsure = q.unsure || len(list) == 0
}

func (q *quick) choice(v any) {
	list, ok := v.([]any)
	q.unsure = q.unsure || !ok
	q.texts = map[string]bool{}
	for _, t := range list {
		if s, ok := t.(string); ok {
			q.texts[s] = true // another value is simply none that is known to fit
		}
	}
}

// plainly reports whether the arguments fit for certain, which a schema that was
// not read never says.
func (s *schema) plainly(t *tree) bool { return s.quick != nil && s.quick.fits(t, 0) }

// fits reports whether a value fits for certain.
func (q *quick) fits(t *tree, at int32) bool {
	if q == nil {
		return true
	}
	n := &t.nodes[at]
	if q.unsure || q.kinds != 0 && q.kinds&(1<<n.kind) == 0 {
		return false
	}
	raw := t.docs[n.doc][n.off:n.end]
	switch n.kind {
	case kObject:
		return q.texts == nil && q.fitsObject(t, n)
	case kArray:
		return q.texts == nil && q.fitsArray(t, n)
	case kString:
		if q.texts == nil && !q.count.set() {
			return true
		}
		raw = raw[1 : len(raw)-1]
		return n.flags&fValueEscaped == 0 && (q.texts == nil || q.texts[string(raw)]) && (!q.count.set() || q.count.holds(int64(utf8.RuneCount(raw))))
	case kNumber:
		return q.texts == nil && q.fitsNumber(raw)
	}
	return q.texts == nil
}

func (q *quick) fitsArray(t *tree, n *node) bool {
	if q.items == nil && !q.size.set() {
		return true
	}
	count := int64(0)
	for c := n.first; c > 0; c = t.nodes[c].next {
		if !q.items.fits(t, c) {
			return false
		}
		count++
	}
	return q.size.holds(count)
}

func (q *quick) fitsNumber(raw []byte) bool {
	switch {
	case !q.integer && !q.value.set():
		return true
	case bytes.IndexAny(raw, ".eE") >= 0:
		return false
	case !q.value.set():
		return true
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && q.value.holds(v)
}

func (q *quick) fitsObject(t *tree, n *node) bool {
	missing := q.required
	for c := n.first; c > 0; c = t.nodes[c].next {
		m := &t.nodes[c]
		if m.flags&fNameEscaped != 0 {
			return false
		}
		is := q.members[string(t.docs[m.doc][m.koff+1:m.kend-1])]
		sub := is.schema
		if !is.declared {
			if !q.open {
				return false
			}
			sub = q.others
		}
		if !sub.fits(t, c) {
			return false
		}
		if is.required {
			missing--
		}
	}
	return missing == 0
}
