package config

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/nesting"
)

// maxDepth bounds the nesting of a file: the parser recurses, and a stack that
// overflows cannot be recovered from. The deepest key of hub.json lies at 7.
const maxDepth = 100

// node is one value of the file with its place. It is what the parser's tree
// boils down to once comments are gone.
type node struct {
	kind    hujson.Kind // '{' '[' '"' '0' 't' 'f' 'n'
	off     int         // of its first byte
	text    string      // a string's value; a number, true, false, null as written
	members []member
	elems   []*node
}

type member struct {
	name  string
	off   int // of the name
	value *node
}

// get returns the first member of that name, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// what names a value's kind for a message.
func (n *node) what() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return n.text
	}
	return "null"
}

// source is the text of a file, and of the settings put over it, and the means to
// say where in it something lies.
type source struct {
	name  string
	data  []byte // without byte order mark
	lines []int  // offset of each line's first byte
	above []part
}

// part is the text of one setting. Its offsets go on behind those of the file.
type part struct {
	off  int
	text *source
}

func newSource(name string, data []byte) *source {
	s := &source{name: name, data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), lines: []int{0}}
	for i, c := range s.data {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// part finds whose text an offset lies in, and where in that.
func (s *source) part(off int) (in *source, at int) {
	for i := len(s.above) - 1; i >= 0; i-- {
		if p := s.above[i]; off >= p.off {
			return p.text, off - p.off
		}
	}
	return s, off
}

// at returns line and column of an offset, both from 1; columns are characters.
func (s *source) at(off int) (line, col int) {
	s, off = s.part(off)
	off = max(0, min(off, len(s.data)))
	line = sort.SearchInts(s.lines, off+1)
	return line, 1 + utf8.RuneCount(s.data[s.lines[line-1]:off])
}

func (s *source) problem(off int, text, hint string) *Problem {
	in, _ := s.part(off)
	p := &Problem{File: in.name, Text: text, Hint: hint}
	p.Line, p.Col = s.at(off)
	return p
}

// parse reads the text. It returns the tree, names that stand twice included,
// or the one problem that made it unreadable.
func (s *source) parse() (*node, *Problem) {
	if p := s.encoding(); p != nil {
		return nil, p
	}
	if off := nesting.TooDeep(s.data, maxDepth); off >= 0 {
		return nil, s.problem(off, fmt.Sprintf("more than %d levels of nesting", maxDepth), "no key of hub.json lies deeper than 7: take the brackets out that are too many")
	}
	// The parser wants a line comment to end in a newline, the last line of a
	// file often has none.
	v, err := hujson.Parse(append(s.data[:len(s.data):len(s.data)], '\n'))
	if err != nil {
		return nil, s.syntax(err)
	}
	return fromTree(v), nil
}

// shift moves the places of a value.
func (n *node) shift(by int) {
	n.off += by
	for i := range n.members {
		n.members[i].off += by
		n.members[i].value.shift(by)
	}
	for _, e := range n.elems {
		e.shift(by)
	}
}

func (s *source) encoding() *Problem {
	if bytes.HasPrefix(s.data, []byte{0xff, 0xfe}) || bytes.HasPrefix(s.data, []byte{0xfe, 0xff}) {
		return s.problem(0, "the file is UTF-16", "save it as UTF-8")
	}
	for off := 0; off < len(s.data); {
		r, n := utf8.DecodeRune(s.data[off:])
		if r == utf8.RuneError && n == 1 {
			return s.problem(off, fmt.Sprintf("byte 0x%02x is not UTF-8", s.data[off]), "save the file as UTF-8")
		}
		off += n
	}
	return nil
}

var parserError = lazyregexp.New(`^hujson: line (\d+), column (\d+): (?s:(.*))$`)

// syntax turns an error of the parser, which counts bytes, into a Problem.
func (s *source) syntax(err error) *Problem {
	m := parserError.FindStringSubmatch(err.Error())
	if m == nil {
		return s.problem(0, err.Error(), "")
	}
	line, _ := strconv.Atoi(m[1])
	col, _ := strconv.Atoi(m[2])
	off := len(s.data)
	if line >= 1 && line <= len(s.lines) {
		off = min(s.lines[line-1]+col-1, len(s.data))
	}
	text, hint := m[3], ""
	switch {
	case len(bytes.TrimSpace(s.data)) == 0:
		off, text, hint = 0, "the file is empty", `the least there can be is {"mcpServers": {}}`
	case looksLike(s.data) != "":
		text, hint = "this looks like "+looksLike(s.data)+", and hub.json is JSON", "`mcphub import FILE` reads the servers of a client's configuration in "+looksLike(s.data)
	case strings.Contains(text, "unexpected EOF"):
		text, hint = "the file ends too early", s.unclosed(text)
	case strings.Contains(text, "after object value"), strings.Contains(text, "after array value"):
		hint = "a comma may be missing before this"
	case strings.HasPrefix(text, `invalid character '\''`):
		hint = "strings stand in double quotes"
	case strings.Contains(text, "at start of value"), strings.HasPrefix(text, "invalid literal"):
		if strings.HasPrefix(text, "invalid literal") {
			text = "invalid literal " + quote(strings.TrimPrefix(text, "invalid literal: "))
		}
		hint = "names and strings stand in double quotes, a backslash is written twice"
	}
	return s.problem(off, text, hint)
}

var (
	tomlLine = lazyregexp.New(`^(\[\[?[A-Za-z0-9_."' -]+\]\]?|[A-Za-z0-9_."-]+\s*=\s*\S.*)$`)
	yamlLine = lazyregexp.New(`^(---|- .*|[A-Za-z0-9_"' -]+:(\s.*)?)$`)
)

// looksLike tells the formats of other clients from broken JSON, by the first
// line that says something; "" where it is neither.
func looksLike(data []byte) string {
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case tomlLine.MatchString(line):
			return "TOML"
		case yamlLine.MatchString(line):
			return "YAML"
		}
		return ""
	}
	return ""
}

func (s *source) unclosed(text string) string {
	switch {
	case strings.Contains(text, "comment"):
		return "a comment is not closed"
	case strings.Contains(text, "string"):
		return "a string is not closed"
	}
	return "a brace or bracket is not closed"
}

func fromTree(v hujson.Value) *node {
	n := &node{kind: v.Value.Kind(), off: v.StartOffset}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.members = make([]member, 0, len(t.Members))
		for _, m := range t.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			n.members = append(n.members, member{name.String(), m.Name.StartOffset, fromTree(m.Value)})
		}
	case *hujson.Array:
		n.elems = make([]*node, 0, len(t.Elements))
		for _, e := range t.Elements {
			n.elems = append(n.elems, fromTree(e))
		}
	case hujson.Literal:
		n.text = t.String()
	}
	return n
}

// canonical is the smallest standard JSON of a value in the file, comments gone.
func (n *node) canonical() []byte {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *node) write(b *bytes.Buffer) {
	switch n.kind {
	case '{':
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(hujson.String(m.name))
			b.WriteByte(':')
			m.value.write(b)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for i, e := range n.elems {
			if i > 0 {
				b.WriteByte(',')
			}
			e.write(b)
		}
		b.WriteByte(']')
	case '"':
		b.Write(hujson.String(n.text))
	default:
		b.WriteString(n.text)
	}
}
