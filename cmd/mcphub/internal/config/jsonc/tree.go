package jsonc

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/nesting"
)

// MaxDepth bounds the nesting of a text: the parser recurses, and a stack that
// overflows cannot be recovered from. The deepest key of hub.json lies at 7.
const MaxDepth = 100

// A Node is one value of a text with its place. It is what the parser's tree
// boils down to once comments are gone.
type Node struct {
	Kind    hujson.Kind // '{' '[' '"' '0' 't' 'f' 'n'
	Off     int         // of its first byte
	End     int         // behind its last byte, of what was parsed; else 0
	Text    string      // a string's value; a number, true, false, null as written
	Members []Member
	Elems   []*Node
}

// A Member is one member of an object.
type Member struct {
	Name  string
	Off   int // of the name
	Value *Node
}

// NewText makes a string.
func NewText(off int, text string) *Node { return &Node{Kind: '"', Off: off, Text: text} }

// NewObject makes an object.
func NewObject(off int, members ...Member) *Node {
	return &Node{Kind: '{', Off: off, Members: members}
}

// NewList makes a list.
func NewList(off int, elems ...*Node) *Node { return &Node{Kind: '[', Off: off, Elems: elems} }

// NewMember makes a member of an object.
func NewMember(name string, off int, v *Node) Member { return Member{name, off, v} }

// Is reports whether there is such a value, and it is of that kind.
func (n *Node) Is(kind hujson.Kind) bool { return n != nil && n.Kind == kind }

// Index returns the number of the first member of that name; -1 if there is none.
func (n *Node) Index(name string) int {
	return slices.IndexFunc(n.Members, func(m Member) bool { return m.Name == name })
}

// Get returns the first member of that name, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	if i := n.Index(name); i >= 0 {
		return n.Members[i].Value
	}
	return nil
}

// Has reports whether the object has a member of that path.
func (n *Node) Has(path []string) bool {
	for _, step := range path {
		if n = n.Get(step); n == nil {
			return false
		}
	}
	return true
}

// What names a value's kind for a message.
func (n *Node) What() string {
	switch n.Kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return n.Text
	}
	return "null"
}

// A Source is the text of a file, and of the settings put over it, and the means to
// report where in it something lies.
type Source struct {
	Name  string
	Data  []byte // without byte order mark
	lines []int  // offset of each line's first byte
	begun []int  // how many characters begin before each stretch of the text: a program may write all into one line
	above []part
}

// part is the text of one setting. Its offsets go on behind the ones of the file.
type part struct {
	off  int
	text *Source
}

// NewSource takes a text; name stands in messages.
func NewSource(name string, data []byte) *Source {
	s := &Source{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), lines: []int{0}}
	begun := 0
	for i, c := range s.Data {
		if i%stretch == 0 {
			s.begun = append(s.begun, begun)
		}
		if utf8.RuneStart(c) {
			begun++
		}
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// stretch is a part of a text, in bytes.
const stretch = 1 << 10

// begunBefore returns how many characters begin before an offset.
func (s *Source) begunBefore(off int) (n int) {
	if off == 0 {
		return 0
	}
	k := (off - 1) / stretch
	n = s.begun[k]
	for _, c := range s.Data[k*stretch : off] {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// Add puts the text of a setting behind the others, and returns where its offsets begin.
func (s *Source) Add(text *Source) (base int) {
	base = len(s.Data) + 1
	if n := len(s.above); n > 0 {
		base = s.above[n-1].off + len(s.above[n-1].text.Data) + 1
	}
	s.above = append(s.above, part{base, text})
	return base
}

// partAt finds whose text an offset lies in, and where in that.
func (s *Source) partAt(off int) (in *Source, at int) {
	for i := len(s.above) - 1; i >= 0; i-- {
		if p := s.above[i]; off >= p.off {
			return p.text, off - p.off
		}
	}
	return s, off
}

// Locate returns the name of the text in which an offset lies, and where in it.
func (s *Source) Locate(off int) (name string, line, col int) {
	in, _ := s.partAt(off)
	line, col = s.At(off)
	return in.Name, line, col
}

// At returns line and column of an offset, both from 1; columns are characters.
func (s *Source) At(off int) (line, col int) {
	s, off = s.partAt(off)
	off = max(0, min(off, len(s.Data)))
	line = sort.SearchInts(s.lines, off+1)
	return line, 1 + s.begunBefore(off) - s.begunBefore(s.lines[line-1])
}

// A SyntaxError is what made a text unreadable.
type SyntaxError struct {
	Off        int    // where
	Text, Hint string // what is wrong, and what to do; hint may be ""
}

// Parse reads the text. It returns the tree, names that stand twice included,
// or the one error that made it unreadable.
func (s *Source) Parse() (*Node, *SyntaxError) {
	if bad := s.CheckEncoding(); bad != nil {
		return nil, bad
	}
	if off := nesting.TooDeep(s.Data, MaxDepth); off >= 0 {
		return nil, &SyntaxError{off, fmt.Sprintf("more than %d levels of nesting", MaxDepth), "no key of hub.json lies deeper than 7: take the brackets out that are too many"}
	}
	// The parser wants a line comment to end in a newline, the last line of a
	// file often has none.
	v, err := hujson.Parse(append(s.Data[:len(s.Data):len(s.Data)], '\n'))
	if err != nil {
		return nil, s.syntaxError(err)
	}
	return fromTree(v), nil
}

// Standard returns the text as standard JSON, with every value where it was: there are spaces instead of
// comments and of commas behind the last element.
func (s *Source) Standard() ([]byte, error) {
	b, err := hujson.Standardize(append(s.Data[:len(s.Data):len(s.Data)], '\n'))
	if err != nil {
		return nil, err
	}
	return b[:len(s.Data)], nil
}

// Shift moves the places of a value.
func (n *Node) Shift(by int) {
	n.Off += by
	if n.End > 0 {
		n.End += by
	}
	for i := range n.Members {
		n.Members[i].Off += by
		n.Members[i].Value.Shift(by)
	}
	for _, e := range n.Elems {
		e.Shift(by)
	}
}

// CheckEncoding returns what is wrong if the text is not UTF-8, nil if it is.
func (s *Source) CheckEncoding() *SyntaxError {
	if bytes.HasPrefix(s.Data, []byte{0xff, 0xfe}) || bytes.HasPrefix(s.Data, []byte{0xfe, 0xff}) {
		return &SyntaxError{0, "the file is UTF-16", "save it as UTF-8"}
	}
	for off := 0; off < len(s.Data); {
		r, n := utf8.DecodeRune(s.Data[off:])
		if r == utf8.RuneError && n == 1 {
			return &SyntaxError{off, fmt.Sprintf("byte 0x%02x is not UTF-8", s.Data[off]), "save the file as UTF-8"}
		}
		off += n
	}
	return nil
}

var parserError = lazyregexp.New(`^hujson: line (\d+), column (\d+): (?s:(.*))$`)

// syntaxError turns an error of the parser, which counts lines and bytes, into one with an offset.
func (s *Source) syntaxError(err error) *SyntaxError {
	m := parserError.FindStringSubmatch(err.Error())
	if m == nil {
		return &SyntaxError{0, err.Error(), ""}
	}
	line, _ := strconv.Atoi(m[1])
	col, _ := strconv.Atoi(m[2])
	off := len(s.Data)
	if line >= 1 && line <= len(s.lines) {
		off = min(s.lines[line-1]+col-1, len(s.Data))
	}
	text, hint := m[3], ""
	switch {
	case len(bytes.TrimSpace(s.Data)) == 0:
		off, text, hint = 0, "the file is empty", `the least there can be is {"mcpServers": {}}`
	case looksLike(s.Data) != "":
		text, hint = "this looks like "+looksLike(s.Data)+", and hub.json is JSON", "`mcphub import FILE` reads the servers of a client's configuration in "+looksLike(s.Data)
	case strings.Contains(text, "unexpected EOF"):
		text, hint = "the file ends too early", s.unclosedHint(text)
	case strings.Contains(text, "after object value"), strings.Contains(text, "after array value"):
		hint = "a comma may be missing before this"
	case strings.HasPrefix(text, `invalid character '\''`):
		hint = "strings stand in double quotes"
	case strings.Contains(text, "at start of value"), strings.HasPrefix(text, "invalid literal"):
		if strings.HasPrefix(text, "invalid literal") {
			text = "invalid literal " + Quote(strings.TrimPrefix(text, "invalid literal: "))
		}
		hint = "names and strings stand in double quotes, a backslash is written twice"
	}
	return &SyntaxError{off, text, hint}
}

var (
	tomlLine = lazyregexp.New(`^(\[\[?[A-Za-z0-9_."' -]+\]\]?|[A-Za-z0-9_."-]+\s*=\s*\S.*)$`)
	yamlLine = lazyregexp.New(`^(---|- .*|[A-Za-z0-9_"' -]+:(\s.*)?)$`)
)

// looksLike returns the formats of other clients from broken JSON, by the
// first line that says something; "" if it is neither.
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

func (s *Source) unclosedHint(text string) string {
	switch {
	case strings.Contains(text, "comment"):
		return "a comment is not closed"
	case strings.Contains(text, "string"):
		return "a string is not closed"
	}
	return "a brace or bracket is not closed"
}

func fromTree(v hujson.Value) *Node {
	n := &Node{Kind: v.Value.Kind(), Off: v.StartOffset, End: v.EndOffset}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.Members = make([]Member, 0, len(t.Members))
		for _, m := range t.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			n.Members = append(n.Members, Member{name.String(), m.Name.StartOffset, fromTree(m.Value)})
		}
	case *hujson.Array:
		n.Elems = make([]*Node, 0, len(t.Elements))
		for _, e := range t.Elements {
			n.Elems = append(n.Elems, fromTree(e))
		}
	case hujson.Literal:
		n.Text = t.String()
	}
	return n
}

// Same reports whether two values are written alike, wherever they stand.
func Same(a, b *Node) bool {
	return a.Kind == b.Kind && a.Text == b.Text &&
		slices.EqualFunc(a.Elems, b.Elems, Same) &&
		slices.EqualFunc(a.Members, b.Members, func(x, y Member) bool { return x.Name == y.Name && Same(x.Value, y.Value) })
}

// Canonical returns the smallest standard JSON of a value in the file, comments gone.
func (n *Node) Canonical() []byte {
	var b bytes.Buffer
	n.writeTo(&b)
	return b.Bytes()
}

func (n *Node) writeTo(b *bytes.Buffer) {
	switch n.Kind {
	case '{':
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(hujson.String(m.Name))
			b.WriteByte(':')
			m.Value.writeTo(b)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for i, e := range n.Elems {
			if i > 0 {
				b.WriteByte(',')
			}
			e.writeTo(b)
		}
		b.WriteByte(']')
	case '"':
		b.Write(hujson.String(n.Text))
	default:
		b.WriteString(n.Text)
	}
}
