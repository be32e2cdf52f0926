package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// items is an object or a list in the text of a file.
type items struct {
	open, shut int // offsets of the brackets
	spans      []span
	list       bool
}

// span is one member or element, from its name or itself to the end of its value.
type span struct {
	name       string
	start, end int
	value      hujson.Value
}

func itemsOf(v hujson.Value) (items, bool) {
	out := items{open: v.StartOffset, shut: v.EndOffset - 1}
	switch t := v.Value.(type) {
	case *hujson.Object:
		for _, m := range t.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			out.spans = append(out.spans, span{name.String(), m.Name.StartOffset, m.Value.EndOffset, m.Value})
		}
	case *hujson.Array:
		out.list = true
		for _, e := range t.Elements {
			s := span{start: e.StartOffset, end: e.EndOffset, value: e}
			s.name = nameOf(fromHuJSON(e))
			out.spans = append(out.spans, s)
		}
	default:
		return out, false
	}
	return out, true
}

func (in *items) find(name string) *span {
	for i := range in.spans {
		if in.spans[i].name == name {
			return &in.spans[i]
		}
	}
	return nil
}

// jsonEdit gives the splices of one change.
func jsonEdit(data []byte, at Where, c Change, there bool) ([]Splice, error) {
	style := jsonStyle(data)
	if len(bytes.TrimSpace(data)) == 0 {
		if c.Kind != Put {
			return nil, ErrNoEntry
		}
		text := style.object(nest(at.Path, entryValue(at, c)), "") + style.nl
		return []Splice{{Off: 0, Old: string(data), New: text}}, nil
	}
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	box, ok := itemsOf(root)
	if !ok || box.list {
		return nil, errors.New("the file is no object")
	}
	for i, name := range at.Path {
		next := box.find(name)
		if next == nil {
			return style.add(data, box, name, nest(at.Path[i+1:], entryValue(at, c))), nil
		}
		in, ok := itemsOf(next.value)
		if l, literal := next.value.Value.(hujson.Literal); literal && l.Kind() == 'n' && c.Kind == Put {
			text := style.object(nest(at.Path[i+1:], entryValue(at, c)), style.indent(data, next.start))
			return []Splice{{Off: next.value.StartOffset, Old: "null", New: text}}, nil
		}
		if !ok {
			return nil, fmt.Errorf("%q is no object", name)
		}
		box = in
	}
	if box.list != at.List {
		return nil, fmt.Errorf("%q is kept in another way than expected", at.Path[len(at.Path)-1])
	}
	entry := box.find(c.Name)
	switch {
	case c.Kind == Put && !there:
		if at.List {
			t, _ := c.Value.(Table)
			return style.add(data, box, "", named(c.Name, t)), nil
		}
		return style.add(data, box, c.Name, c.Value), nil
	case c.Kind == Put:
		v := c.Value
		if at.List {
			t, _ := v.(Table)
			v = named(c.Name, t)
		}
		from := entry.value.StartOffset
		return []Splice{{Off: from, Old: string(data[from:entry.end]), New: style.value(v, style.indent(data, entry.start))}}, nil
	case c.Kind == Remove:
		return cut(data, box, slices.IndexFunc(box.spans, func(s span) bool { return s.name == c.Name })), nil
	}
	in, ok := itemsOf(entry.value)
	if !ok {
		return nil, fmt.Errorf("%q is no object", c.Name)
	}
	have := in.find(c.Key)
	switch {
	case have == nil && c.Value == nil:
		return nil, nil
	case have == nil:
		return style.add(data, in, c.Key, c.Value), nil
	case c.Value == nil:
		return cut(data, in, slices.IndexFunc(in.spans, func(s span) bool { return s.name == c.Key })), nil
	}
	from := have.value.StartOffset
	return []Splice{{Off: from, Old: string(data[from:have.end]), New: style.value(c.Value, "")}}, nil
}

// entryValue is what stands in a container that is new.
func entryValue(at Where, c Change) any {
	t, _ := c.Value.(Table)
	if at.List {
		return []any{named(c.Name, t)}
	}
	return Table{{c.Name, t}}
}

// nest wraps a value in tables.
func nest(path []string, v any) any {
	for _, name := range slices.Backward(path) {
		v = Table{{name, v}}
	}
	return v
}

// jsonText is how a file is laid out.
type jsonText struct {
	nl   string
	unit string // one step of indentation
	flat bool   // the file is one line
}

func jsonStyle(data []byte) jsonText {
	s := jsonText{nl: newline(data), unit: "  "}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 2 && !bytes.ContainsRune(trimmed, '\n') {
		s.flat = true
		return s
	}
	// The first member of the file shows the step.
	if v, err := parseJSON(data); err == nil {
		if box, ok := itemsOf(v); ok && len(box.spans) > 0 {
			first := box.spans[0].start
			if in := indentAt(data, first); in != "" && len(in) == first-lineStart(data, first) {
				s.unit = in
			}
		}
	}
	return s
}

// indent is that of the line on which something stands.
func (s jsonText) indent(data []byte, off int) string {
	if s.flat {
		return ""
	}
	return indentAt(data, off)
}

// value writes a value of which the first line stands at that indentation.
func (s jsonText) value(v any, indent string) string {
	switch t := v.(type) {
	case Table:
		return s.object(t, indent)
	case []any:
		short := make([]string, len(t))
		simple := true
		for i, e := range t {
			if _, table := e.(Table); table {
				simple = false
			}
			short[i] = s.value(e, indent+s.unit)
		}
		if simple || s.flat {
			return "[" + strings.Join(short, ", ") + "]"
		}
		sep := s.nl + indent + s.unit
		return "[" + sep + strings.Join(short, ","+sep) + s.nl + indent + "]"
	case string:
		return quoted(t)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

func (s jsonText) object(v any, indent string) string {
	t, ok := v.(Table)
	if !ok {
		return s.value(v, indent)
	}
	if len(t) == 0 {
		return "{}"
	}
	parts := make([]string, len(t))
	for i, m := range t {
		parts[i] = quoted(m.Name) + ": " + s.value(m.Value, indent+s.unit)
	}
	if s.flat {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	sep := s.nl + indent + s.unit
	return "{" + sep + strings.Join(parts, ","+sep) + s.nl + indent + "}"
}

// add puts a member or an element behind the last one.
func (s jsonText) add(data []byte, box items, name string, v any) []Splice {
	last := lastContent(data, box)
	inline := s.flat
	if n := len(box.spans); n > 0 && !beginsLine(data, box.spans[n-1].start) {
		inline = inline || !bytes.Contains(data[box.spans[n-1].end:last], []byte("//"))
	}
	indent := s.indent(data, box.open) + s.unit
	if len(box.spans) > 0 {
		indent = s.indent(data, box.spans[len(box.spans)-1].start)
	}
	text := ""
	if !box.list {
		text = quoted(name) + ": "
	}
	if inline {
		flat := s
		flat.flat = true
		text += flat.value(v, "")
	} else {
		text += s.value(v, indent)
		text = s.nl + indent + text
	}
	if len(box.spans) == 0 {
		if !inline && !bytes.ContainsRune(data[last:box.shut], '\n') {
			text += s.nl + s.indent(data, box.open)
		}
		return []Splice{{Off: last, New: text}}
	}
	if inline {
		text = " " + text
	}
	end := box.spans[len(box.spans)-1].end
	if comma := commaAfter(data, end); comma >= 0 {
		return []Splice{{Off: last, New: text + ","}} // as the one before has it
	}
	if last == end {
		return []Splice{{Off: end, New: "," + text}}
	}
	return []Splice{{Off: end, New: ","}, {Off: last, New: text}}
}

// beginsLine reports whether nothing but blanks stands before an offset on its line.
func beginsLine(data []byte, off int) bool {
	return lineStart(data, off)+len(indentAt(data, off)) == off
}

// lastContent is where the last thing before the closing bracket ends, be it a
// value, a comma or a comment.
func lastContent(data []byte, box items) int {
	last := box.open + 1
	if n := len(box.spans); n > 0 {
		last = box.spans[n-1].end
	}
	for off := last; off < box.shut; {
		switch data[off] {
		case ' ', '\t', '\r', '\n':
			off++
		case '/':
			off = commentEnd(data, off)
			last = off
		default: // a comma
			off++
			last = off
		}
	}
	return last
}

// commentEnd is the offset behind a comment, before its line end.
func commentEnd(data []byte, off int) int {
	if data[off+1] == '*' {
		if i := bytes.Index(data[off+2:], []byte("*/")); i >= 0 {
			return off + 2 + i + 2
		}
		return len(data)
	}
	return lineEnd(data, off)
}

// remarkEnd is the end of the line that an offset lies in, where nothing but one comment
// follows; else the offset.
func remarkEnd(data []byte, off int) int {
	end := lineEnd(data, off)
	rest := bytes.TrimSpace(data[off:end])
	if bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) && bytes.HasSuffix(rest, []byte("*/")) && bytes.Count(rest, []byte("*/")) == 1 {
		return end
	}
	return off
}

// commaAfter is the offset of the comma that follows a value, or -1.
func commaAfter(data []byte, off int) int {
	for off < len(data) {
		switch data[off] {
		case ' ', '\t', '\r', '\n':
			off++
		case '/':
			off = commentEnd(data, off)
		case ',':
			return off
		default:
			return -1
		}
	}
	return -1
}

// cut takes out a member or an element, with its line where it has one of its own.
func cut(data []byte, box items, i int) []Splice {
	s := box.spans[i]
	from, to := s.start, s.end
	comma := commaAfter(data, s.end)
	if comma >= 0 {
		to = comma + 1
	}
	// A comment behind it on its last line is about it.
	to = remarkEnd(data, to)
	rest := bytes.TrimLeft(data[to:lineEnd(data, to)], " \t")
	first := lineStart(data, from)
	switch {
	case first > 0 && len(bytes.TrimSpace(data[first:from])) == 0 && len(rest) == 0:
		from = first - 1 // its lines are its own, and their first line end goes too
		if from > 0 && data[from-1] == '\r' {
			from--
		}
	case comma >= 0: // what follows takes its place
		for to < len(data) && (data[to] == ' ' || data[to] == '\t') {
			to++
		}
	default:
		for from > 0 && (data[from-1] == ' ' || data[from-1] == '\t') {
			from--
		}
	}
	out := []Splice{{Off: from, Old: string(data[from:to])}}
	if comma < 0 && i > 0 { // the one before is the last now
		if c := commaAfter(data, box.spans[i-1].end); c >= from {
			return out
		} else if c >= 0 {
			return append([]Splice{{Off: c, Old: ","}}, out...)
		}
	}
	return out
}

// dropEmpty removes tables that an edit had made, as far as they are empty again.
func dropEmpty(data []byte, at Where, n int) []byte {
	head := 0
	if bytes.HasPrefix(data, bom) {
		head = len(bom)
	}
	for ; n > 0; n-- {
		root, err := parseJSON(data[head:])
		if err != nil {
			return data
		}
		box, ok := itemsOf(root)
		if !ok {
			return data
		}
		// Go to the innermost table of the path that is there.
		path := at.Path
		for len(path) > 1 {
			next := box.find(path[0])
			if next == nil {
				return data
			}
			in, ok := itemsOf(next.value)
			if !ok || in.find(path[1]) == nil {
				break
			}
			box, path = in, path[1:]
		}
		i := slices.IndexFunc(box.spans, func(s span) bool { return s.name == path[0] })
		if i < 0 {
			return data
		}
		if in, ok := itemsOf(box.spans[i].value); !ok || len(in.spans) > 0 {
			return data
		}
		out := splice(data[head:], cut(data[head:], box, i))
		data = append(data[:head:head], out...)
	}
	return data
}
