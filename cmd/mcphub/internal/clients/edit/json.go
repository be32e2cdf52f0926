package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// jsonEdit gives the splices of one change.
func jsonEdit(data []byte, at Container, c Change) ([]Splice, error) {
	style := jsonStyle(data)
	var root hujson.Value
	whole, blank := Table(nil), len(bytes.TrimSpace(data)) == 0
	if !blank {
		var err error
		if root, err = parseJSON(data); err != nil {
			return nil, err
		}
		whole, _ = fromHuJSON(root).(Table)
	}
	place, v := at.placeOf(whole, c.Name), c.Value
	if t, _ := v.(Table); at.List && c.Kind == Put {
		v = namedEntry(c.Name, t)
	}
	if c.Kind == Set {
		place = append(place, c.Key)
	}
	if blank {
		if c.Kind != Put {
			return nil, ErrNoEntry
		}
		return []Splice{{Old: string(data), New: style.writeValue(wrapValue(place, v), "") + style.nl}}, nil
	}
	box, rest, err := walkTo(root, place)
	switch {
	case errors.Is(err, errPlace):
		return nil, fmt.Errorf("%q is kept in another way than expected", at.Path[len(at.Path)-1])
	case err != nil:
		return nil, err
	case c.Kind == Put || v != nil:
		return style.putValue(data, box, rest, v), nil
	case len(rest) > 1 || box.indexOf(rest[0]) < 0:
		return nil, nil
	}
	return cutMember(data, box, box.indexOf(rest[0])), nil
}

// jsonText is how a file is laid out.
type jsonText struct {
	nl   string
	unit string // one step of indentation
	flat bool   // the file is one line
}

func jsonStyle(data []byte) jsonText {
	s := jsonText{nl: lineEndOf(data), unit: "  "}
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

// indentAt returns the indentation of the line on which something stands.
func (s jsonText) indentAt(data []byte, off int) string {
	if s.flat {
		return ""
	}
	return indentAt(data, off)
}

// writeValue writes a value of which the first line stands at that indentation.
func (s jsonText) writeValue(v any, indent string) string {
	switch t := v.(type) {
	case Table:
		if len(t) == 0 {
			return "{}"
		}
		parts := make([]string, len(t))
		for i, m := range t {
			parts[i] = quoteText(m.Name) + ": " + s.writeValue(m.Value, indent+s.unit)
		}
		if s.flat {
			return "{" + strings.Join(parts, ", ") + "}"
		}
		sep := s.nl + indent + s.unit
		return "{" + sep + strings.Join(parts, ","+sep) + s.nl + indent + "}"
	case []any:
		short := make([]string, len(t))
		simple := true
		for i, e := range t {
			if _, table := e.(Table); table {
				simple = false
			}
			short[i] = s.writeValue(e, indent+s.unit)
		}
		if simple || s.flat {
			return "[" + strings.Join(short, ", ") + "]"
		}
		sep := s.nl + indent + s.unit
		return "[" + sep + strings.Join(short, ","+sep) + s.nl + indent + "]"
	case string:
		return quoteText(t)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

// addMember puts a member or an element behind the last one.
func (s jsonText) addMember(data []byte, box items, name string, v any) []Splice {
	last := lastContent(data, box)
	inline := s.flat
	if n := len(box.spans); n > 0 && !beginsLine(data, box.spans[n-1].start) {
		inline = inline || !bytes.Contains(data[box.spans[n-1].end:last], []byte("//"))
	}
	indent := s.indentAt(data, box.open) + s.unit
	if len(box.spans) > 0 {
		indent = s.indentAt(data, box.spans[len(box.spans)-1].start)
	}
	text := ""
	if !box.list {
		text = quoteText(name) + ": "
	}
	if inline {
		flat := s
		flat.flat = true
		text += flat.writeValue(v, "")
	} else {
		text += s.writeValue(v, indent)
		text = s.nl + indent + text
	}
	if len(box.spans) == 0 {
		if !inline && !bytes.ContainsRune(data[last:box.shut], '\n') {
			text += s.nl + s.indentAt(data, box.open)
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

// lastContent returns where the last thing before the closing bracket ends, be
// it a value, a comma or a comment.
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

// commentEnd returns the offset behind a comment, before its line end.
func commentEnd(data []byte, off int) int {
	if data[off+1] == '*' {
		if i := bytes.Index(data[off+2:], []byte("*/")); i >= 0 {
			return off + 2 + i + 2
		}
		return len(data)
	}
	return lineEnd(data, off)
}

// remarkEnd returns the end of the line that an offset lies in, if nothing but one
// comment follows; else the offset.
func remarkEnd(data []byte, off int) int {
	end := lineEnd(data, off)
	rest := bytes.TrimSpace(data[off:end])
	if bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) && bytes.HasSuffix(rest, []byte("*/")) && bytes.Count(rest, []byte("*/")) == 1 {
		return end
	}
	return off
}

// commaAfter returns the offset of the comma that follows a value, or -1.
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

// cutMember takes out a member or an element, with its line if it has one of its own.
func cutMember(data []byte, box items, i int) []Splice {
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
func dropEmpty(data []byte, at Container, n int) []byte {
	for k := len(at.Path); k > 0 && n > 0; k-- {
		path := Container{Path: at.Path[:k-1]}.placeOf(nil, at.Path[k-1])
		box, there := boxAt(data, path)
		if !there {
			continue
		}
		out, err := Cut(data, path, k)
		if err != nil || len(box.spans) > 0 {
			break
		}
		data, n = out, n-1
	}
	return data
}
