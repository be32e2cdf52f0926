package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"mcphub/internal/lazyregexp"
)

// yamlText is a file of YAML, by lines. The parser gives lines and columns.
type yamlText struct {
	data  []byte
	lines []int // offset of each line's first byte
	nl    string
}

func newYAML(data []byte) *yamlText {
	y := &yamlText{data: data, lines: []int{0}, nl: lineEndOf(data)}
	for i, c := range data {
		if c == '\n' && i+1 < len(data) {
			y.lines = append(y.lines, i+1)
		}
	}
	return y
}

// tokenOffset returns the offset of a token. Columns count characters.
func (y *yamlText) tokenOffset(p *token.Position) (int, error) {
	if p.Line < 1 || p.Line > len(y.lines) {
		return 0, errors.New("the parser and the file disagree about lines")
	}
	off := y.lines[p.Line-1]
	rest := []rune(string(y.data[off:lineEnd(y.data, off)]))
	if p.Column < 1 || p.Column-1 > len(rest) {
		return 0, errors.New("the parser and the file disagree about columns")
	}
	return off + len(string(rest[:p.Column-1])), nil
}

// nextLine returns the offset of the first byte of the line after the line of off,
// or the end of the text.
func (y *yamlText) nextLine(off int) int {
	if i := bytes.IndexByte(y.data[off:], '\n'); i >= 0 {
		return off + i + 1
	}
	return len(y.data)
}

// blockEnd returns the end of a block that begins on the line of off and
// whose first line is indented by col: behind the last line that belongs
// to it.
func (y *yamlText) blockEnd(off, col int) int {
	end := y.nextLine(off)
	for at := end; at < len(y.data); {
		line := y.data[at:lineEnd(y.data, at)]
		next := y.nextLine(at)
		trimmed := bytes.TrimLeft(line, " ")
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case len(line)-len(trimmed) <= col:
			if trimmed[0] != '#' {
				return end
			}
		default:
			end = next
		}
		at = next
	}
	return end
}

// yamlMap returns the members of a mapping.
func yamlMap(n ast.Node) (values []*ast.MappingValueNode, flow *token.Token, ok bool) {
	switch t := n.(type) {
	case *ast.MappingNode:
		if t.IsFlowStyle {
			flow = t.Start
		}
		return t.Values, flow, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{t}, nil, true
	}
	return nil, nil, false
}

func yamlKeyOf(v *ast.MappingValueNode) string { return v.Key.GetToken().Value }

func yamlFind(values []*ast.MappingValueNode, name string) *ast.MappingValueNode {
	for _, v := range values {
		if yamlKeyOf(v) == name {
			return v
		}
	}
	return nil
}

func yamlEdit(data []byte, at Container, c Change) ([]Splice, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return jsonEdit(data, at, c) // YAML in the form of JSON
	}
	y := newYAML(data)
	// The parser is at home with line feeds alone. Lines and columns are the same.
	file, err := parser.ParseBytes(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), 0)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	var docs []*ast.DocumentNode
	for _, d := range file.Docs {
		if d.Body != nil {
			docs = append(docs, d)
		}
	}
	if len(docs) > 1 {
		return nil, errors.New("the file holds several documents")
	}
	var body ast.Node
	if len(docs) == 1 {
		body = docs[0].Body
	}
	if len(at.Path) != 1 {
		return nil, errors.New("only entries below one name are known in YAML")
	}
	if _, comment := body.(*ast.CommentGroupNode); body == nil || comment {
		if c.Kind != Put {
			return nil, ErrNoEntry
		}
		return y.appendLines(len(data), yamlHead(at.Path[0], y.nl)+yamlItem("", at, c, y.nl)), nil
	}
	values, flow, ok := yamlMap(body)
	if !ok || flow != nil {
		return nil, errors.New("the file holds no settings by name")
	}
	box := yamlFind(values, at.Path[0])
	if box == nil {
		if c.Kind != Put {
			return nil, ErrNoEntry
		}
		return y.appendLines(len(data), yamlHead(at.Path[0], y.nl)+yamlItem("", at, c, y.nl)), nil
	}
	return y.editInside(box, at, c)
}

func yamlHead(name, nl string) string { return yamlScalar(name) + ":" + nl }

// appendLines adds lines at the end of the text.
func (y *yamlText) appendLines(off int, text string) []Splice {
	if off > 0 && y.data[off-1] != '\n' {
		text = y.nl + text
	}
	return []Splice{{Off: off, New: text}}
}

// yamlEntry is one entry in the text.
type yamlEntry struct {
	name string
	off  int // of the key or the dash
	node ast.Node
}

func (y *yamlText) editInside(box *ast.MappingValueNode, at Container, c Change) ([]Splice, error) {
	keyOff, err := y.tokenOffset(box.Key.GetToken().Position)
	if err != nil {
		return nil, err
	}
	var entries []yamlEntry
	var flow *token.Token
	switch t := box.Value.(type) {
	case *ast.NullNode, nil:
	case *ast.SequenceNode:
		if !at.List {
			return nil, fmt.Errorf("%q is a list", at.Path[0])
		}
		if t.IsFlowStyle {
			flow = t.Start
		}
		for i, v := range t.Values {
			e := yamlEntry{node: v}
			if members, _, ok := yamlMap(v); ok {
				if name := yamlFind(members, nameKey); name != nil && name.Value != nil {
					e.name = name.Value.GetToken().Value
				}
			}
			if flow == nil {
				if e.off, err = y.tokenOffset(t.Entries[i].Start.Position); err != nil {
					return nil, err
				}
			}
			entries = append(entries, e)
		}
	default:
		values, start, ok := yamlMap(box.Value)
		if !ok || at.List {
			return nil, fmt.Errorf("%q is kept in another way than expected", at.Path[0])
		}
		flow = start
		for _, v := range values {
			off, err := y.tokenOffset(v.Key.GetToken().Position)
			if err != nil {
				return nil, err
			}
			entries = append(entries, yamlEntry{yamlKeyOf(v), off, v.Value})
		}
	}
	i := slices.IndexFunc(entries, func(e yamlEntry) bool { return e.name == c.Name })
	if c.Kind == Set {
		return y.setFlag(entries[i], c)
	}
	if flow != nil {
		return y.inFlow(flow, len(entries) == 0, i, at, c)
	}
	if len(entries) == 0 {
		next := y.nextLine(keyOff)
		return y.appendLines(next, yamlItem("", at, c, y.nl)), nil
	}
	indent := string(y.data[lineStart(y.data, entries[0].off):entries[0].off])
	if strings.TrimLeft(indent, " ") != "" {
		return nil, fmt.Errorf("%q is written in a way in which it cannot be changed alone; do it by hand", at.Path[0])
	}
	if i < 0 {
		last := entries[len(entries)-1].off
		return y.appendLines(y.blockEnd(last, len(indent)), yamlItem(indent, at, c, y.nl)), nil
	}
	from := lineStart(y.data, entries[i].off)
	end := y.blockEnd(entries[i].off, len(indent))
	if c.Kind == Put {
		return []Splice{{Off: from, Old: string(y.data[from:end]), New: yamlItem(indent, at, c, y.nl)}}, nil
	}
	out := []Splice{{Off: from, Old: string(y.data[from:end])}}
	if len(entries) == 1 { // what is left must still be a table or a list
		colon, err := y.tokenOffset(box.Start.Position)
		if err != nil {
			return nil, err
		}
		empty := " {}"
		if at.List {
			empty = " []"
		}
		out = append(out, Splice{Off: colon + 1, New: empty})
	}
	return out, nil
}

// inFlow edits a table or list in brackets.
func (y *yamlText) inFlow(start *token.Token, empty bool, i int, at Container, c Change) ([]Splice, error) {
	off, err := y.tokenOffset(start.Position)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		return nil, fmt.Errorf("%q stands between brackets and cannot be changed alone; do it by hand", c.Name)
	}
	v, _ := c.Value.(Table)
	text := yamlInline.writeValue(namedEntry(c.Name, v))
	if !at.List {
		text = yamlScalar(c.Name) + ": " + yamlInline.writeValue(v)
	}
	if !empty {
		text += ", "
	}
	return []Splice{{Off: off + 1, New: text}}, nil
}

// setFlag changes a member that is true or false.
func (y *yamlText) setFlag(e yamlEntry, c Change) ([]Splice, error) {
	values, flow, ok := yamlMap(e.node)
	if !ok || len(values) == 0 {
		return nil, fmt.Errorf("%q is no table", c.Name)
	}
	have := yamlFind(values, c.Key)
	if have == nil {
		if c.Value == nil {
			return nil, nil
		}
		pair := yamlScalar(c.Key) + ": " + yamlInline.writeValue(c.Value)
		if flow != nil {
			off, err := y.tokenOffset(flow.Position)
			return []Splice{{Off: off + 1, New: pair + ", "}}, err
		}
		first, err := y.tokenOffset(values[0].Key.GetToken().Position)
		if err != nil {
			return nil, err
		}
		return []Splice{{Off: first, New: pair + y.nl + strings.Repeat(" ", first-lineStart(y.data, first))}}, nil
	}
	off, err := y.tokenOffset(have.Value.GetToken().Position)
	if err != nil {
		return nil, err
	}
	old := have.Value.GetToken().Value
	if !bytes.HasPrefix(y.data[off:], []byte(old)) {
		return nil, errors.New("the parser and the file disagree")
	}
	if c.Value != nil {
		return []Splice{{Off: off, Old: old, New: yamlInline.writeValue(c.Value)}}, nil
	}
	key, err := y.tokenOffset(have.Key.GetToken().Position)
	if err != nil {
		return nil, err
	}
	if flow != nil {
		end := off + len(old)
		for end < len(y.data) && (y.data[end] == ',' || y.data[end] == ' ') {
			end++
		}
		return []Splice{{Off: key, Old: string(y.data[key:end])}}, nil
	}
	// The next member takes the place, so that a dash before it stays.
	if i := slices.Index(values, have); i+1 < len(values) {
		next, err := y.tokenOffset(values[i+1].Key.GetToken().Position)
		if err != nil {
			return nil, err
		}
		return []Splice{{Off: key, Old: string(y.data[key:next])}}, nil
	}
	from := lineStart(y.data, key)
	return []Splice{{Off: from, Old: string(y.data[from:y.nextLine(key)])}}, nil
}

// yamlItem writes an entry as lines. An entry of a list begins with a dash.
func yamlItem(indent string, at Container, c Change, nl string) string {
	if indent == "" && !at.List {
		indent = "  "
	}
	v, _ := c.Value.(Table)
	var b strings.Builder
	lead := indent + "  "
	if at.List {
		v = namedEntry(c.Name, v)
		b.WriteString(indent + "- ")
	} else {
		b.WriteString(indent + yamlScalar(c.Name) + ":" + nl)
	}
	for i, m := range v {
		if i > 0 || !at.List {
			b.WriteString(lead)
		}
		b.WriteString(yamlScalar(m.Name) + ": " + yamlInline.writeValue(m.Value) + nl)
	}
	return b.String()
}

var yamlInline = inline{"{", ": ", "}", yamlScalar, yamlScalar}

var (
	yamlPlain = lazyregexp.New(`^[A-Za-z/][A-Za-z0-9_./-]*$`)
	yamlWord  = lazyregexp.New(`(?i)^(y|n|yes|no|on|off|true|false|null|nan|inf)$`)
)

func yamlScalar(s string) string {
	if yamlPlain.MatchString(s) && !yamlWord.MatchString(s) {
		return s
	}
	return quoteText(s)
}
