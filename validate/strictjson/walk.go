package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of one strict walk. They bound what a hostile caller can make the walk cost; no honest call comes near them.
const (
	DefaultDepth = 128      // nesting, strings that hold JSON counted in
	DefaultSize  = 64 << 20 // bytes of arguments
	MaxNodes     = 1 << 19  // values in one call
	maxNested    = 4        // JSON in strings in JSON in strings ...
	maxPooled    = 1 << 14  // nodes a pooled tree may keep
)

// Kind is which of the six kinds of JSON a value is.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

const (
	valueEscaped uint8 = 1 << iota // the raw string holds a backslash
	nameEscaped
	nested // the string parsed as JSON; its only child is the root of that document
)

// Node is one value. Offsets point into tree.docs[doc]; strings keep their quotes. A node of a document nested in a
// string has the string's node as its parent, so that a single pointer runs through both.
type Node struct {
	start, end         int32 // raw value
	nameStart, nameEnd int32 // raw member name; nameEnd is 0 if the value is no member
	Parent             int32
	First              int32 // first child, 0 none (0 is the root, which is no one's child)
	Next               int32 // next sibling, 0 none
	Index              int32 // position among the siblings
	fold               uint32
	doc                uint32
	Kind               Kind
	flags              uint8
}

// Tree is what one strict walk saw: every value of the arguments in document order. It aliases the argument bytes and
// belongs to one goroutine.
type Tree struct {
	docs    [][]byte
	Nodes   []Node
	scratch []byte
	dec     jsontext.Decoder
	buf     bytes.Buffer
	depth   int // limit
}

var trees = sync.Pool{New: func() any { return new(Tree) }}

// New takes a tree that refuses what nests deeper.
func New(depth int) *Tree {
	t := trees.Get().(*Tree)
	t.depth = depth
	return t
}

// Free hands t back; nothing that aliases the arguments is kept.
func (t *Tree) Free() {
	if cap(t.Nodes) > maxPooled || cap(t.docs) > maxPooled || cap(t.scratch) > maxPooled {
		return
	}
	clear(t.docs)
	t.docs, t.Nodes, t.buf = t.docs[:0], t.Nodes[:0], bytes.Buffer{}
	t.dec.Reset(&t.buf) // it would keep the arguments alive
	trees.Put(t)
}

// Tolerated is how a document inside a string is read: every member is judged, whichever a child would take.
var Tolerated = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Parse walks the arguments themselves: RFC 7493 to the letter (unique names, valid UTF-8, no lone surrogates, one
// value), an object at the top.
func (t *Tree) Parse(args []byte, size int) error {
	if trimmed := TrimJSONSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		args = []byte("{}")
	}
	if len(args) > size {
		return &Error{Code: CodeTooLarge, Message: fmt.Sprintf("they are %d bytes long, the limit is %d; send less in one call", len(args), size)}
	}
	if err := t.Walk(args, -1, 0); err != nil {
		return err
	}
	if t.Nodes[0].Kind != Object {
		return &Error{Code: CodeNotObject, Message: "they must be a JSON object of named arguments"}
	}
	return nil
}

// Walk adds one document. parent is the string that held it, -1 for the arguments.
func (t *Tree) Walk(doc []byte, parent int32, depth int, opts ...jsontext.Options) error {
	t.docs = append(t.docs, doc)
	t.buf = *bytes.NewBuffer(doc)
	t.dec.Reset(&t.buf, opts...)
	w := walker{t: t, doc: uint32(len(t.docs) - 1), cur: parent, base: depth}
	if err := w.run(); err != nil {
		return explain(err)
	}
	return nil
}

type walker struct {
	t            *Tree
	doc          uint32
	cur          int32 // open container, or the string that holds this document
	last         int32 // last child of cur, 0 none
	base, depth  int
	named        Node // has the name of the next value
	wantsName    bool
	topLevelSeen bool
}

func (w *walker) run() error {
	d := &w.t.dec
	for {
		if w.depth == 0 && w.topLevelSeen {
			_, err := d.ReadToken()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err == nil:
				return &Error{Code: CodeSyntax, Message: "more than one JSON value; send exactly one object"}
			}
			return err
		}
		switch k := d.PeekKind(); k {
		case '{', '[':
			if _, err := d.ReadToken(); err != nil {
				return err
			}
			if w.depth+w.base >= w.t.depth {
				return w.refuse(CodeTooDeep, fmt.Sprintf("nested more than %d deep; send flatter arguments", w.t.depth))
			}
			off := int32(d.InputOffset()) - 1
			n, err := w.add(kindOf(k), off, off+1)
			if err != nil {
				return err
			}
			w.cur, w.last, w.depth, w.wantsName = n, 0, w.depth+1, k == '{'
		case '}', ']':
			if _, err := d.ReadToken(); err != nil {
				return err
			}
			w.close(int32(d.InputOffset()))
		default:
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			end := int32(d.InputOffset())
			off := end - int32(len(v))
			if w.wantsName {
				w.name(v, off, end)
				continue
			}
			if k == '0' && w.doc == 0 && !isSaneNumber(v) { // the schema compares no others
				return w.refuse(CodeNumber, "a number here has too many digits or too large an exponent; send one that fits a double")
			}
			if _, err := w.add(kindOf(k), off, end); err != nil {
				return err
			}
		}
	}
}

func kindOf(k jsontext.Kind) Kind {
	switch k {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	}
	return Number
}

// isSaneNumber bounds what comparing a number exactly, as the schema stage does, can cost.
func isSaneNumber(v []byte) bool {
	if len(v) > 1024 {
		return false
	}
	i := bytes.IndexAny(v, "eE")
	return i < 0 || len(bytes.TrimLeft(v[i+1:], "+-0")) <= 4
}

// name remembers the member name that the next value belongs to.
func (w *walker) name(raw []byte, off, end int32) {
	w.named, w.wantsName = Node{nameStart: off, nameEnd: end}, false
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		w.named.flags = nameEscaped
		w.t.scratch, _ = jsontext.AppendUnquote(w.t.scratch[:0], raw)
		inner = w.t.scratch
	}
	w.named.fold = foldHash(inner)
}

func (w *walker) add(k Kind, off, end int32) (int32, error) {
	t := w.t
	if len(t.Nodes) >= MaxNodes {
		return 0, w.refuse(CodeTooLarge, fmt.Sprintf("more than %d values in one call; split it", MaxNodes))
	}
	n := w.named
	n.Kind, n.doc, n.Parent, n.start, n.end = k, w.doc, w.cur, off, end
	if n.flags&nameEscaped != 0 && strings.IndexByte(t.unquote(n.doc, n.nameStart, n.nameEnd, true), 0) >= 0 {
		return 0, w.refuse(CodeName, "a member name holds a NUL character, which some parsers cut at; leave it out")
	}
	w.named = Node{}
	if k == String && bytes.IndexByte(t.docs[w.doc][off:end], '\\') >= 0 {
		n.flags |= valueEscaped
	}
	if len(t.Nodes) == cap(t.Nodes) && len(t.Nodes) > maxPooled/4 { // room for as many to every byte as there were so far
		doc := len(t.docs[w.doc])
		t.Nodes = slices.Grow(t.Nodes, min(len(t.Nodes)*(doc-int(off))/(int(off)+1)+1024, doc/2+1, MaxNodes))
	}
	id := int32(len(t.Nodes))
	if w.last > 0 {
		t.Nodes[w.last].Next = id
		n.Index = t.Nodes[w.last].Index + 1
	} else if w.cur >= 0 {
		t.Nodes[w.cur].First = id
	}
	t.Nodes = append(t.Nodes, n)
	w.last = id
	if w.depth == 0 {
		w.topLevelSeen = true
	}
	w.wantsName = w.cur >= 0 && w.depth > 0 && t.Nodes[w.cur].Kind == Object
	return id, nil
}

// close ends the open container.
func (w *walker) close(end int32) {
	t := w.t
	t.Nodes[w.cur].end = end
	w.last, w.cur = w.cur, t.Nodes[w.cur].Parent
	w.depth--
	w.wantsName = w.depth > 0 && t.Nodes[w.cur].Kind == Object
}

// refuse returns an Error of the open container.
func (w *walker) refuse(code, message string) error {
	return &Error{code, w.t.Pointer(w.cur), message}
}

// explain turns what the decoder met into an Error.
func explain(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	var syn *jsontext.SyntacticError
	if !errors.As(err, &syn) {
		return &Error{Code: CodeSyntax, Message: "not JSON: " + err.Error()}
	}
	p := string(syn.JSONPointer)
	switch what := syn.Err.Error(); {
	case errors.Is(syn.Err, jsontext.ErrDuplicateName):
		return &Error{CodeDuplicate, p, "the member name occurs twice in one object, and parsers disagree on which one counts; send it once"}
	case strings.Contains(what, "UTF-8"), strings.Contains(what, "surrogate"), strings.Contains(what, "escape"):
		return &Error{CodeText, p, "not valid text (invalid UTF-8 or half a surrogate pair); send valid Unicode"}
	default:
		return &Error{CodeSyntax, p, fmt.Sprintf("not valid JSON at byte %d: %s", syn.ByteOffset, what)}
	}
}
