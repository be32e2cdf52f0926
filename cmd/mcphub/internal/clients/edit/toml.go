package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"mcphub/internal/lazyregexp"
)

// tomlLine is one header or one assignment in the text of a file.
type tomlLine struct {
	path   []string // from the top
	header bool
	off    int   // of the first byte of the header's line, or of the key
	keys   []int // where each part of the key as written ends
	value  int   // offset of the value; 0 for a header
	inline bool  // the value is a table in braces
	nested bool  // it stands in such a table
}

func tomlLines(data []byte) ([]tomlLine, error) {
	var p unstable.Parser
	p.Reset(data)
	var out []tomlLine
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			l := tomlLine{header: true}
			for it := e.Key(); it.Next(); {
				k := it.Node()
				l.path = append(l.path, string(k.Data))
				l.off = lineStart(data, int(k.Raw.Offset))
			}
			table = l.path
			out = append(out, l)
		case unstable.KeyValue:
			out = tomlPair(data, out, table, e, false)
		}
	}
	return out, p.Error()
}

func tomlPair(data []byte, out []tomlLine, table []string, e *unstable.Node, nested bool) []tomlLine {
	l := tomlLine{path: slices.Clone(table), off: -1, nested: nested}
	for it := e.Key(); it.Next(); {
		k := it.Node()
		if l.off < 0 {
			l.off = int(k.Raw.Offset)
		}
		l.path = append(l.path, string(k.Data))
		l.keys = append(l.keys, int(k.Raw.Offset+k.Raw.Length))
	}
	end := l.keys[len(l.keys)-1]
	l.value = end + bytes.IndexByte(data[end:], '=') + 1
	for data[l.value] == ' ' || data[l.value] == '\t' {
		l.value++
	}
	v := e.Value()
	l.inline = v.Kind == unstable.InlineTable
	out = append(out, l)
	if l.inline {
		for it := v.Children(); it.Next(); {
			out = tomlPair(data, out, l.path, it.Node(), true)
		}
	}
	return out
}

func tomlEdit(data []byte, at Container, c Change, there bool) ([]Splice, error) {
	if at.List {
		return nil, fmt.Errorf("lists of entries in TOML are not known")
	}
	lines, err := tomlLines(data)
	if err != nil {
		return nil, err
	}
	path := append(slices.Clone(at.Path), c.Name)
	nl := lineEndOf(data)
	switch {
	case c.Kind == Set:
		return tomlSet(data, lines, path, c, nl)
	case c.Kind == Put && !there:
		v, _ := c.Value.(Table)
		return tomlAppend(data, lines, at.Path, path, v, nl), nil
	case c.Kind == Put:
		out, err := tomlCut(data, lines, path)
		if err != nil {
			return nil, err
		}
		v, _ := c.Value.(Table)
		i := slices.IndexFunc(lines, func(l tomlLine) bool { return l.header && slices.Equal(l.path, path) })
		if i < 0 {
			return append(out, tomlAppend(data, lines, at.Path, path, v, nl)...), nil
		}
		// Instead of the old one.
		for j := range out {
			if s := &out[j]; s.Off <= lines[i].off && lines[i].off < s.Off+len(s.Old) {
				s.New = s.Old[:lines[i].off-s.Off] + tomlTable(path, v, nl)
				return out, nil
			}
		}
		return nil, fmt.Errorf("%q cannot be changed alone", c.Name)
	}
	return tomlCut(data, lines, path)
}

func tomlSet(data []byte, lines []tomlLine, path []string, c Change, nl string) ([]Splice, error) {
	full := append(slices.Clone(path), c.Key)
	pair := tomlKey(c.Key) + " = " + tomlInline.writeValue(c.Value)
	if i := slices.IndexFunc(lines, func(l tomlLine) bool { return !l.header && slices.Equal(l.path, full) }); i >= 0 {
		return tomlReplace(data, &lines[i], c)
	}
	if c.Value == nil {
		return nil, nil
	}
	var inline, dotted, below *tomlLine
	for i := range lines {
		l := &lines[i]
		switch {
		case slices.Equal(l.path, path) && l.header:
			end := lineEnd(data, l.off)
			indent := indentAt(data, l.off)
			return []Splice{{Off: end, New: nl + indent + pair}}, nil
		case slices.Equal(l.path, path) && l.inline:
			inline = l
		case len(l.path) > len(path) && slices.Equal(l.path[:len(path)], path):
			if l.header && below == nil {
				below = l
			} else if !l.header && !l.nested && len(l.keys) > len(l.path)-len(path) && dotted == nil {
				dotted = l
			}
		}
	}
	switch {
	case inline != nil:
		rest := bytes.TrimLeft(data[inline.value+1:], " \t\r\n")
		if bytes.HasPrefix(rest, []byte("}")) {
			return []Splice{{Off: inline.value + 1, New: " " + pair}}, nil
		}
		return []Splice{{Off: inline.value + 1, New: " " + pair + ","}}, nil
	case dotted != nil:
		upTo := dotted.keys[len(path)-(len(dotted.path)-len(dotted.keys))-1]
		return []Splice{{Off: dotted.off, New: string(data[dotted.off:upTo]) + "." + pair + nl + indentAt(data, dotted.off)}}, nil
	case below != nil:
		return []Splice{{Off: below.off, New: tomlHeader(path) + nl + pair + nl + nl}}, nil
	}
	return nil, ErrNoEntry
}

// tomlReplace changes a value that is there, or removes it with its line.
func tomlReplace(data []byte, l *tomlLine, c Change) ([]Splice, error) {
	old := ""
	for _, word := range []string{"true", "false"} {
		if bytes.HasPrefix(data[l.value:], []byte(word)) {
			old = word
		}
	}
	if old == "" {
		return nil, fmt.Errorf("%q of %q is neither true nor false", c.Key, c.Name)
	}
	if c.Value != nil {
		return []Splice{{Off: l.value, Old: old, New: tomlInline.writeValue(c.Value)}}, nil
	}
	end := l.value + len(old)
	if l.nested {
		if data[end] == ',' {
			end++
		}
		from := l.off
		for data[from-1] == ' ' {
			from--
		}
		return []Splice{{Off: from, Old: string(data[from:end])}}, nil
	}
	from, to := tomlWholeLine(data, l.off, end)
	return []Splice{{Off: from, Old: string(data[from:to])}}, nil
}

// tomlWholeLine widens a range to its lines, with the line end.
func tomlWholeLine(data []byte, from, to int) (int, int) {
	from, to = lineStart(data, from), lineEnd(data, to)
	if to < len(data) && data[to] == '\r' {
		to++
	}
	if to < len(data) {
		to++
	}
	return from, to
}

func tomlAppend(data []byte, lines []tomlLine, box, path []string, v Table, nl string) []Splice {
	for _, l := range lines {
		if l.inline && slices.Equal(l.path, box) {
			text := " " + tomlKey(path[len(path)-1]) + " = " + tomlInline.writeValue(v)
			if rest := bytes.TrimLeft(data[l.value+1:], " \t\r\n"); bytes.HasPrefix(rest, []byte("}")) {
				return []Splice{{Off: l.value + 1, New: text + " "}}
			}
			return []Splice{{Off: l.value + 1, New: text + ","}}
		}
	}
	text := tomlTable(path, v, nl)
	if len(bytes.TrimSpace(data)) > 0 {
		text = nl + text
		if data[len(data)-1] != '\n' {
			text = nl + text
		}
	}
	return []Splice{{Off: len(data), New: text}}
}

// tomlCut takes out all that is at or below a path.
func tomlCut(data []byte, lines []tomlLine, path []string) ([]Splice, error) {
	var out []Splice
	inTable := false // within a table that goes as a whole
	from := 0
	shut := func(to int) {
		if !inTable {
			return
		}
		// What stands before the next header, blank or a comment, is its own.
		end := len(bytes.TrimRight(data[:to], " \t\r\n"))
		for {
			start := lineStart(data, end)
			if start <= from || !bytes.HasPrefix(bytes.TrimLeft(data[start:end], " \t"), []byte("#")) || to == len(data) {
				break
			}
			end = len(bytes.TrimRight(data[:start], " \t\r\n"))
		}
		_, end = tomlWholeLine(data, end, end)
		start := from
		if before := bytes.TrimRight(data[:from], " \t"); to == len(data) && (bytes.HasSuffix(before, []byte("\n\n")) || bytes.HasSuffix(before, []byte("\n\r\n"))) {
			start-- // the blank line before the last table
			if start > 0 && data[start-1] == '\r' {
				start--
			}
		}
		out = append(out, Splice{Off: start, Old: string(data[start:end])})
		inTable = false
	}
	for i := range lines {
		l := &lines[i]
		is := len(l.path) >= len(path) && slices.Equal(l.path[:len(path)], path)
		if l.header {
			shut(l.off)
			if is {
				inTable, from = true, l.off
			}
			continue
		}
		if !is || inTable || l.nested && len(l.path) > len(path) {
			continue
		}
		if l.nested || bytes.ContainsAny(data[l.value:lineEnd(data, l.value)], "[\"'") && !tomlOneLine(data, l) {
			return nil, fmt.Errorf("%q is written in a way in which it cannot be taken out alone; do it by hand", path[len(path)-1])
		}
		a, b := tomlWholeLine(data, l.off, l.value)
		out = append(out, Splice{Off: a, Old: string(data[a:b])})
	}
	shut(len(data))
	if out == nil {
		return nil, ErrNoEntry
	}
	return out, nil
}

// tomlOneLine reports that an assignment ends on its line: the line alone parses.
func tomlOneLine(data []byte, l *tomlLine) bool {
	_, err := Decode(TOML, data[l.off:lineEnd(data, l.value)])
	return err == nil
}

func tomlTable(path []string, v Table, nl string) string {
	var b strings.Builder
	b.WriteString(tomlHeader(path) + nl)
	for _, m := range v {
		b.WriteString(tomlKey(m.Name) + " = " + tomlInline.writeValue(m.Value) + nl)
	}
	return b.String()
}

func tomlHeader(path []string) string {
	keys := make([]string, len(path))
	for i, p := range path {
		keys[i] = tomlKey(p)
	}
	return "[" + strings.Join(keys, ".") + "]"
}

var tomlBare = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

func tomlKey(s string) string {
	if tomlBare.MatchString(s) {
		return s
	}
	return quoteText(s)
}

var tomlInline = inline{"{ ", " = ", " }", tomlKey, quoteText}
