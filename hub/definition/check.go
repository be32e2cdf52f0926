package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/nesting"
	"mcphub/internal/printable"
	"mcphub/validate/strictjson"
)

// A Fault is why no client can be given a definition.
type Fault struct {
	Pointer string // RFC 6901, into the definition
	Wrong   string // what is wrong there, for people
}

// Error implements error. What a server wrote in it is clipped and controls no terminal.
func (f *Fault) Error() string { return fmt.Sprintf("its member %s %s", showText(f.Pointer), f.Wrong) }

func showText(text string) string { return printable.Escape(text, 200) }

// A Definition is what a server lists: one JSON value without blanks around it, and its members, none if it is no object.
type Definition struct {
	Text    []byte
	Members []jsonrpc.Member
}

// Read reads the members of a definition.
func Read(text []byte) Definition { return Definition{text, jsonrpc.MembersOf(text)} }

// Get returns the raw value of a member; nil if there is none.
func (d Definition) Get(name string) []byte { return jsonrpc.Find(d.Members, name) }

// Check returns a definition that every client of 2026-07-28 reads, and for people what was mended in it. A valid one is returned as
// it is. The error is a *Fault.
func Check(kind offers.ListKind, d Definition) (_ Definition, mended []string, err error) {
	if shapes[kind] == nil {
		return d, nil, nil
	}
	if nesting.TooDeep(d.Text, maxDepth) >= 0 {
		return Definition{}, nil, &Fault{"/", fmt.Sprintf("nests more than %d deep", maxDepth)}
	}
	w := walk{of: d}
	text, err := w.mendValue(d.Text, shapes[kind], "")
	if err != nil || sameBytes(text, d.Text) {
		return d, w.mended, err
	}
	return Read(text), w.mended, nil
}

// maxDepth is how deep a definition may nest. Parsers of official clients give up a message at 200 levels, or recurse until their stack is spent.
const maxDepth = 180

// Older returns the definition of a tool, which [Check] has returned, for clients before 2026-07-28. If they cannot read the schema of its
// results, it is left out, since a client without one takes any result.
func Older(d Definition) (_ []byte, mended []string, err error) {
	var w walk
	arguments, results := d.Get("inputSchema"), d.Get("outputSchema")
	made, err := w.mendValue(arguments, olderSchema, "/inputSchema")
	if err != nil {
		return nil, nil, err
	}
	edits := []jsonrpc.Edit{{Old: arguments, With: made}}
	if results == nil {
		return applyEdits(d.Text, edits), w.mended, nil
	}
	before := len(w.mended)
	if made, err = w.mendResults(results); err != nil {
		w.mended = w.mended[:before]
		w.noteMend("/outputSchema", "is left out: %v", err)
		return jsonrpc.Without(applyEdits(d.Text, edits), "outputSchema"), w.mended, nil
	}
	return applyEdits(d.Text, append(edits, jsonrpc.Edit{Old: results, With: made})), w.mended, nil
}

// applyEdits returns def with the edits that change something; def itself if none does.
func applyEdits(def []byte, edits []jsonrpc.Edit) []byte {
	edits = slices.DeleteFunc(edits, func(e jsonrpc.Edit) bool { return sameBytes(e.Old, e.With) })
	if len(edits) == 0 {
		return def
	}
	return jsonrpc.Join(jsonrpc.Splice(def, edits...))
}

// ResultID returns the identifier of the schema of a tool's results, "" if it has none. v1 of the SDK keeps what it compiled by it.
func ResultID(schema []byte) (id string) {
	_ = jsonrpc.Members(schema, func(name string, value []byte) bool {
		if name == "$id" { // if there are two, the last one counts in JavaScript
			id, _ = jsonrpc.String(value)
		}
		return true
	})
	return id
}

// WithoutResultID returns the definition of a tool whose schema of results has no identifier. References in it are as they were, since they lead into
// this schema.
func WithoutResultID(def []byte) []byte {
	results := jsonrpc.Get(def, "outputSchema")
	return jsonrpc.Join(jsonrpc.Splice(def, jsonrpc.Edit{Old: results, With: jsonrpc.Without(results, "$id")}))
}

// mendResults returns a schema of results as older clients compile it.
func (w *walk) mendResults(schema []byte) ([]byte, error) {
	const at = "/outputSchema"
	if len(schema) > maxResults || nesting.TooDeep(schema, maxNesting) >= 0 {
		return nil, &Fault{at, "is too large"}
	}
	schema, err := w.mendValue(schema, resultSchema, at)
	if err != nil {
		return nil, err
	}
	if fault := findFault(schema); fault != nil {
		return nil, &Fault{at + fault.Pointer, fault.Wrong}
	}
	return schema, nil
}

// A walk compares one definition with its shape.
type walk struct {
	of     Definition // its members are not read again
	mended []string
}

// readMembers is [jsonrpc.Members] of a value in the definition.
func (w *walk) readMembers(v []byte, yield func(name string, value []byte) bool) error {
	if !sameBytes(v, w.of.Text) {
		return jsonrpc.Members(v, yield)
	}
	for _, m := range w.of.Members {
		if !yield(m.Name, m.Value) {
			break
		}
	}
	return nil
}

// maxMended is how many mends of one definition are named.
const maxMended = 20

func (w *walk) noteMend(at, how string, args ...any) {
	switch {
	case len(w.mended) < maxMended:
		w.mended = append(w.mended, showText(strings.TrimPrefix(at, "/"))+" "+fmt.Sprintf(how, args...))
	case len(w.mended) == maxMended:
		w.mended = append(w.mended, "and more")
	}
}

// addMissing returns what stands for a member that is absent or null.
func (w *walk) addMissing(at string, s *shape) []byte {
	w.noteMend(at, "is added: %s", s.absent)
	return []byte(s.absent)
}

// mendValue returns a value as clients read it: v itself, or a mended copy.
func (w *walk) mendValue(v []byte, s *shape, at string) ([]byte, error) {
	switch s.form {
	case anything:
		return v, nil
	case subschema:
		switch {
		case string(v) == "true", string(v) == "false":
			return v, nil
		case len(at) > maxPointer:
			return nil, &Fault{at, "has too long a pointer"}
		}
		return w.mendObject(v, s, at)
	case object, record, schema:
		return w.mendObject(v, s, at)
	case list:
		return w.mendList(v, s.each, at)
	case severally:
		if v[0] == '[' {
			return w.mendList(v, s.many, at)
		}
		return w.mendValue(v, s.each, at)
	}
	return w.mendScalar(v, s, at)
}

func (w *walk) mendObject(v []byte, s *shape, at string) ([]byte, error) {
	switch {
	case v[0] == '{':
	case s.form == schema && v[0] == '[': // the SDK takes it for an object
		return v, nil
	case isEmptyList(v): // PHP writes an empty object so
		w.noteMend(at, "is an object and not a list")
		v = []byte(`{}`)
	case s.form == schema && string(v) == "true":
		w.noteMend(at, "is {} and not true")
		return []byte(`{}`), nil
	case s.form == schema && string(v) == "false":
		w.noteMend(at, `is {"not":{}} and not false`)
		return []byte(`{"not":{}}`), nil
	default:
		return nil, &Fault{orRoot(at), "is no object"}
	}
	if s.takesAnyMembers() {
		return v, nil
	}
	var made []byte // the object with what is mended; nil as long as nothing is
	var err error
	var has []string
	at += "/"
	if readErr := w.readMembers(v, func(name string, value []byte) bool {
		member := s.members[name]
		if s.form == record {
			member = s.each
		}
		got := value
		switch {
		case member == nil:
		case string(value) == "null" && s.form != record && (!slices.Contains(s.needs, name) || member.absent != ""):
			if got = nil; slices.Contains(s.needs, name) {
				has = append(has, name)
				got = w.addMissing(at+strictjson.EscapeToken(name), member)
			} else {
				w.noteMend(at+strictjson.EscapeToken(name), "is left out: it is null")
			}
		default:
			has = append(has, name)
			if got, err = w.mendValue(value, member, at+strictjson.EscapeToken(name)); err != nil {
				return false
			}
		}
		if made == nil && !sameBytes(got, value) {
			made = copyBefore(v, value, name)
		}
		if made != nil && got != nil {
			made = jsonrpc.AppendMember(made, name, got)
		}
		return true
	}); readErr != nil {
		return nil, &Fault{orRoot(strings.TrimSuffix(at, "/")), "is no object"}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range s.needs {
		if slices.Contains(has, name) {
			continue
		}
		if s.members[name].absent == "" {
			return nil, &Fault{at + strictjson.EscapeToken(name), "is missing"}
		}
		if made == nil {
			made = jsonrpc.AppendMembers([]byte{'{'}, v, func(string) bool { return true })
		}
		made = jsonrpc.AppendMember(made, name, w.addMissing(at+strictjson.EscapeToken(name), s.members[name]))
	}
	if made == nil {
		return v, nil
	}
	return append(made, '}'), nil
}

// copyBefore returns a new object with the members of v before the value of a member, which is a part of v.
func copyBefore(v, value []byte, name string) []byte {
	b := []byte{'{'}
	_ = jsonrpc.Members(v, func(n string, before []byte) bool {
		if n == name && &before[0] == &value[0] {
			return false
		}
		b = jsonrpc.AppendMember(b, n, before)
		return true
	})
	return b
}

func (w *walk) mendList(v []byte, each *shape, at string) ([]byte, error) {
	if v[0] != '[' {
		return nil, &Fault{orRoot(at), "is no list"}
	}
	var edits []jsonrpc.Edit
	var err error
	i := 0
	_ = jsonrpc.Elements(v, func(value []byte) bool {
		var got []byte
		if got, err = w.mendValue(value, each, at+"/"+strconv.Itoa(i)); err != nil {
			return false
		}
		if !sameBytes(got, value) {
			edits = append(edits, jsonrpc.Edit{Old: value, With: got})
		}
		i++
		return true
	})
	return applyEdits(v, edits), err
}

func (w *walk) mendScalar(v []byte, s *shape, at string) ([]byte, error) {
	isText := v[0] == '"' // also one of bad UTF-8, which passes as it is
	if s.form == text {
		if !isText {
			return nil, &Fault{at, "is no text"}
		}
		return v, nil
	}
	said, _ := jsonrpc.String(v)
	switch s.form {
	case flag:
		switch {
		case string(v) == "true" || string(v) == "false":
		case isText && (said == "true" || said == "false"):
			w.noteMend(at, "is %s and not a text", said)
			return []byte(said), nil
		default:
			return nil, &Fault{at, "is neither true nor false"}
		}
	case some:
		if v[0] != '[' || isEmptyList(v) {
			return nil, &Fault{at, "is no list of anything"}
		}
	case number, whole:
		if isText && numeral.MatchString(said) {
			w.noteMend(at, "is %s and not a text", showText(said))
			v = []byte(said)
		}
		var n float64
		if v[0] == '"' || json.Unmarshal(v, &n) != nil || string(v) == "null" {
			return nil, &Fault{at, "is no number"}
		}
		if s.form == whole {
			if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
				return nil, &Fault{at, "is no whole number"}
			}
			if bytes.ContainsAny(v, ".eE") { // clients in Go read digits alone
				v = strconv.AppendInt(nil, int64(n), 10)
				w.noteMend(at, "is written as %s", v)
			}
		}
		if s.most > 0 && (n < 0 || n > s.most) {
			return nil, &Fault{at, fmt.Sprintf("is not between 0 and %v", s.most)}
		}
	case choice:
		if isText && slices.Contains(s.choices, said) {
			return v, nil
		}
		for _, c := range s.choices {
			if isText && strings.EqualFold(said, c) {
				w.noteMend(at, "is %q and not %q", c, said)
				return jsonrpc.AppendString(nil, c), nil
			}
		}
		var several []string
		if len(s.choices) == 1 && json.Unmarshal(v, &several) == nil && slices.Contains(several, s.choices[0]) {
			w.noteMend(at, "is %q and not a list", s.choices[0])
			return jsonrpc.AppendString(nil, s.choices[0]), nil
		}
		return nil, &Fault{at, fmt.Sprintf("is not %s", orList(s.choices))}
	case moment:
		if isText && moments.MatchString(said) {
			return v, nil
		}
		for _, end := range []string{"Z", "T00:00:00Z"} {
			if full := strings.Replace(said, " ", "T", 1) + end; isText && moments.MatchString(full) {
				w.noteMend(at, "is %s", showText(full))
				return jsonrpc.AppendString(nil, full), nil
			}
		}
		return nil, &Fault{at, "is no time as RFC 3339 has it"}
	}
	return v, nil
}

var (
	// numeral is the grammar of a number in JSON (RFC 8259, section 6).
	numeral = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	// moments are the moments that the SDK takes: with a calendar's days, and seconds that may be left out.
	moments = lazyregexp.New(`^((\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8])))` +
		`T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
)

func sameBytes(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

func isEmptyList(v []byte) bool {
	return v[0] == '[' && len(bytes.TrimSpace(v[1:len(v)-1])) == 0
}

func orRoot(at string) string {
	if at == "" {
		return "/"
	}
	return at
}

func orList(choices []string) string {
	quoted := make([]string, len(choices))
	for i, c := range choices {
		quoted[i] = strconv.Quote(c)
	}
	return strings.Join(quoted, " or ")
}
