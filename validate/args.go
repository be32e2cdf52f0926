package validate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

// Limits of one strict walk. They bound what a hostile caller can make the walk cost; no honest call comes near them.
const (
	DefaultDepth = 128      // nesting, strings that hold JSON counted in
	DefaultSize  = 64 << 20 // bytes of arguments
	maxNodes     = 1 << 19  // values in one call
	maxNested    = 4        // JSON in strings in JSON in strings ...
	maxPooled    = 1 << 14  // nodes a pooled tree may keep
)

// ArgumentsError says why arguments were refused before anything looked at their meaning (V1). The hub answers
// it with -32602.
type ArgumentsError struct {
	Code    string // one of Codes, stage "arguments"
	Pointer string // RFC 6901, "" for the whole
	Message string // what is wrong and what to do, without the pointer
}

func (e *ArgumentsError) Error() string {
	if e.Pointer == "" {
		return "arguments: " + e.Message
	}
	return "arguments at " + chars.Quote(e.Pointer) + ": " + e.Message
}

type kind uint8

const (
	kNull kind = iota
	kBool
	kNumber
	kString
	kArray
	kObject
)

const (
	fValueEscaped uint8 = 1 << iota // the raw string holds a backslash
	fNameEscaped
	fNested // the string parsed as JSON; its only child is the root of that document
)

// node is one value. Offsets point into tree.docs[doc]; strings keep their quotes. A node of a document nested in a
// string has the string's node as its parent, so that one pointer runs through both.
type node struct {
	off, end   int32 // raw value
	koff, kend int32 // raw member name, kend 0 where the value is no member
	parent     int32
	first      int32 // first child, 0 none (0 is the root, which is nobody's child)
	next       int32 // next sibling, 0 none
	index      int32 // position among the siblings
	fold       uint32
	doc        uint32
	kind       kind
	flags      uint8
}

// tree is what one strict walk saw: every value of the arguments in document order. It aliases the argument bytes and
// belongs to one goroutine.
type tree struct {
	docs    [][]byte
	nodes   []node
	scratch []byte
	dec     jsontext.Decoder
	buf     bytes.Buffer
	depth   int // limit
	room    wordRoom
	work    budget.Budget // of the call
	view    callView      // likewise
}

var trees = sync.Pool{New: func() any { return new(tree) }}

func newTree(depth int) *tree {
	t := trees.Get().(*tree)
	t.depth = depth
	return t
}

// budget is that of a call with arguments of some length.
func (t *tree) budget(size int) *budget.Budget {
	t.work = *budget.New(size)
	return &t.work
}

// free hands t back; nothing that aliases the arguments is kept.
func (t *tree) free() {
	if cap(t.nodes) > maxPooled || cap(t.docs) > maxPooled || cap(t.scratch) > maxPooled {
		return
	}
	clear(t.docs)
	t.view, t.work = callView{}, budget.Budget{}
	t.docs, t.nodes, t.buf = t.docs[:0], t.nodes[:0], bytes.Buffer{}
	t.dec.Reset(&t.buf) // it would keep the arguments alive
	trees.Put(t)
}

// lenient is how a document inside a string is read: every member is judged, whichever a child would take.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// parse walks the arguments themselves: RFC 7493 to the letter (unique names, valid UTF-8, no lone surrogates, one
// value), an object at the top.
func (t *tree) parse(args []byte, size int) error {
	if trimmed := trimJSONSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		args = []byte("{}")
	}
	if len(args) > size {
		return &ArgumentsError{Code: CodeArgsTooLarge, Message: fmt.Sprintf("they are %d bytes long, the limit is %d; send less in one call", len(args), size)}
	}
	if err := t.walk(args, -1, 0); err != nil {
		return err
	}
	if t.nodes[0].kind != kObject {
		return &ArgumentsError{Code: CodeArgsNotObject, Message: "they must be a JSON object of named arguments"}
	}
	return nil
}

// walk adds one document. parent is the string that held it, -1 for the arguments.
func (t *tree) walk(doc []byte, parent int32, depth int, opts ...jsontext.Options) error {
	t.docs = append(t.docs, doc)
	t.buf = *bytes.NewBuffer(doc)
	t.dec.Reset(&t.buf, opts...)
	w := walker{t: t, doc: uint32(len(t.docs) - 1), cur: parent, base: depth}
	if err := w.run(); err != nil {
		return w.explain(err)
	}
	return nil
}

type walker struct {
	t            *tree
	doc          uint32
	cur          int32 // open container, or the string that holds this document
	last         int32 // last child of cur, 0 none
	base, depth  int
	koff, kend   int32
	nameFlags    uint8
	fold         uint32
	wantsName    bool
	topLevelSeen bool
}

func (w *walker) run() error {
	d := &w.t.dec
	for {
		if w.depth == 0 && w.topLevelSeen {
			if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
				if err == nil {
					err = errTrailing
				}
				return err
			}
			return nil
		}
		switch k := d.PeekKind(); k {
		case '{', '[':
			if _, err := d.ReadToken(); err != nil {
				return err
			}
			if w.depth+w.base >= w.t.depth {
				return errDepth
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
				return errNumber
			}
			if _, err := w.add(kindOf(k), off, end); err != nil {
				return err
			}
		}
	}
}

func kindOf(k jsontext.Kind) kind {
	switch k {
	case '{':
		return kObject
	case '[':
		return kArray
	case '"':
		return kString
	case 'n':
		return kNull
	case 't', 'f':
		return kBool
	}
	return kNumber
}

var (
	errTrailing = errors.New("more than one JSON value")
	errDepth    = errors.New("nested too deeply")
	errNodes    = errors.New("too many values")
	errNUL      = errors.New("a member name holds a NUL")
	errNumber   = errors.New("a number that is costly to compare")
)

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
	w.koff, w.kend, w.nameFlags, w.wantsName = off, end, 0, false
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		w.nameFlags = fNameEscaped
		w.t.scratch, _ = jsontext.AppendUnquote(w.t.scratch[:0], raw)
		inner = w.t.scratch
	}
	w.fold = foldHash(inner)
}

func (w *walker) add(k kind, off, end int32) (int32, error) {
	t := w.t
	if len(t.nodes) >= maxNodes {
		return 0, errNodes
	}
	n := node{kind: k, doc: w.doc, parent: w.cur, off: off, end: end}
	if w.kend > 0 {
		n.koff, n.kend, n.flags, n.fold = w.koff, w.kend, w.nameFlags, w.fold
		w.kend = 0
		if n.flags&fNameEscaped != 0 && strings.IndexByte(t.unquote(n.doc, n.koff, n.kend, true), 0) >= 0 {
			return 0, errNUL
		}
	}
	if k == kString && bytes.IndexByte(t.docs[w.doc][off:end], '\\') >= 0 {
		n.flags |= fValueEscaped
	}
	if len(t.nodes) == cap(t.nodes) && len(t.nodes) > maxPooled/4 { // room for as many to every byte as there were so far
		doc := len(t.docs[w.doc])
		t.nodes = slices.Grow(t.nodes, min(len(t.nodes)*(doc-int(off))/(int(off)+1)+1024, doc/2+1, maxNodes))
	}
	id := int32(len(t.nodes))
	if w.last > 0 {
		t.nodes[w.last].next = id
		n.index = t.nodes[w.last].index + 1
	} else if w.cur >= 0 {
		t.nodes[w.cur].first = id
	}
	t.nodes = append(t.nodes, n)
	w.last = id
	if w.depth == 0 {
		w.topLevelSeen = true
	}
	w.wantsName = w.cur >= 0 && w.depth > 0 && t.nodes[w.cur].kind == kObject
	return id, nil
}

// close ends the open container.
func (w *walker) close(end int32) {
	t := w.t
	t.nodes[w.cur].end = end
	w.last, w.cur = w.cur, t.nodes[w.cur].parent
	w.depth--
	w.wantsName = w.depth > 0 && t.nodes[w.cur].kind == kObject
}

// explain turns what the walk met into an ArgumentsError.
func (w *walker) explain(err error) error {
	here := ""
	if w.cur >= 0 {
		here = w.t.pointer(w.cur)
	}
	switch {
	case errors.Is(err, errDepth):
		return &ArgumentsError{Code: CodeArgsTooDeep, Pointer: here, Message: fmt.Sprintf("nested more than %d deep; send flatter arguments", w.t.depth)}
	case errors.Is(err, errNodes):
		return &ArgumentsError{Code: CodeArgsTooLarge, Pointer: here, Message: fmt.Sprintf("more than %d values in one call; split it", maxNodes)}
	case errors.Is(err, errNUL):
		return &ArgumentsError{Code: CodeArgsName, Pointer: here, Message: "a member name holds a NUL character, which some parsers cut at; leave it out"}
	case errors.Is(err, errNumber):
		return &ArgumentsError{Code: CodeArgsNumber, Pointer: here, Message: "a number here has too many digits or too large an exponent; send one that fits a double"}
	case errors.Is(err, errTrailing):
		return &ArgumentsError{Code: CodeArgsSyntax, Message: "more than one JSON value; send exactly one object"}
	}
	var syn *jsontext.SyntacticError
	if !errors.As(err, &syn) {
		return &ArgumentsError{Code: CodeArgsSyntax, Message: "not JSON: " + err.Error()}
	}
	p := string(syn.JSONPointer)
	switch what := syn.Err.Error(); {
	case errors.Is(syn.Err, jsontext.ErrDuplicateName):
		return &ArgumentsError{Code: CodeArgsDuplicate, Pointer: p, Message: "the member name occurs twice in one object, and parsers disagree on which one counts; send it once"}
	case strings.Contains(what, "UTF-8"), strings.Contains(what, "surrogate"), strings.Contains(what, "escape"):
		return &ArgumentsError{Code: CodeArgsText, Pointer: p, Message: "not valid text (invalid UTF-8 or half a surrogate pair); send valid Unicode"}
	default:
		return &ArgumentsError{Code: CodeArgsSyntax, Pointer: p, Message: fmt.Sprintf("not valid JSON at byte %d: %s", syn.ByteOffset, what)}
	}
}
