package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/validate/chars"
)

// unquote decodes the raw string at off:end of a document.
func (t *Tree) unquote(doc uint32, off, end int32, escaped bool) string {
	raw := t.docs[doc][off:end]
	if !escaped {
		return string(raw[1 : len(raw)-1])
	}
	// The walk has checked the string already; what remains of an error concerns lone surrogates inside a document
	// nested in a string, which decode to U+FFFD here and in most children.
	b, _ := jsontext.AppendUnquote(nil, raw)
	return string(b)
}

// Str returns a string, decoded.
func (t *Tree) Str(id int32) string {
	n := &t.Nodes[id]
	return t.unquote(n.doc, n.start, n.end, n.flags&valueEscaped != 0)
}

// Raw returns the string's text between the quotes, undecoded.
func (t *Tree) Raw(id int32) []byte {
	whole := t.Whole(id)
	return whole[1 : len(whole)-1]
}

// Name returns the name of a member, decoded.
func (t *Tree) Name(id int32) string {
	n := &t.Nodes[id]
	return t.unquote(n.doc, n.nameStart, n.nameEnd, n.flags&nameEscaped != 0)
}

// Whole returns a value as it stands, quotes and all.
func (t *Tree) Whole(id int32) []byte {
	n := &t.Nodes[id]
	return t.docs[n.doc][n.start:n.end]
}

// Span returns the place of a value in its document.
func (t *Tree) Span(id int32) (start, end int32) { return t.Nodes[id].start, t.Nodes[id].end }

// RawName returns a member's name as it stands between its quotes; plain is false if it has escapes.
func (t *Tree) RawName(id int32) (raw []byte, plain bool) {
	n := &t.Nodes[id]
	return t.docs[n.doc][n.nameStart+1 : n.nameEnd-1], n.flags&nameEscaped == 0
}

// IsMember reports a value with a name.
func (t *Tree) IsMember(id int32) bool { return t.Nodes[id].nameEnd > 0 }

// IsEscaped reports a string with escapes.
func (t *Tree) IsEscaped(id int32) bool { return t.Nodes[id].flags&valueEscaped != 0 }

// IsNested reports a string whose text was read as JSON.
func (t *Tree) IsNested(id int32) bool { return t.Nodes[id].flags&nested != 0 }

// InString reports a value that stands in JSON inside a string.
func (t *Tree) InString(id int32) bool { return t.Nodes[id].doc != 0 }

// ParseNested parses a string's content as JSON and hangs it below the string. It reports whether it was an object or an
// array; any other string stays a string.
func (t *Tree) ParseNested(id int32, s string, level int) (bool, error) {
	trimmed := strings.Trim(s, " \t\r\n\ufeff")
	for range maxNested {
		if len(trimmed) < 2 || trimmed[0] != '"' {
			break
		}
		var inner string // JSON in a JSON string in a string; lone surrogates pass here, as they do in most children
		if json.Unmarshal([]byte(trimmed), &inner) != nil {
			return false, nil
		}
		trimmed = strings.Trim(inner, " \t\r\n\ufeff")
	}
	if trimmed == "" || strings.IndexByte("{[/", trimmed[0]) < 0 {
		return false, nil
	}
	depth := 1
	for p := t.Nodes[id].Parent; p >= 0; p = t.Nodes[p].Parent {
		depth++
	}
	mark, docs := len(t.Nodes), len(t.docs)
	undo := func() { t.Nodes, t.docs, t.Nodes[id].First = t.Nodes[:mark], t.docs[:docs], 0 }
	err := t.Walk([]byte(trimmed), id, depth, Tolerated...)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeSyntax {
		plain, deep := standardJSON(trimmed)
		if depth+deep > t.depth {
			err = &Error{CodeTooDeep, t.Pointer(id), fmt.Sprintf("the text holds objects and arrays nested more than %d deep; send flatter arguments", t.depth)}
		} else if plain != nil {
			undo()
			err = t.Walk(plain, id, depth, Tolerated...)
		}
	}
	if err == nil {
		t.Nodes[id].flags |= nested
		if level >= maxNested {
			return false, &Error{CodeTooDeep, t.Pointer(id), "JSON in strings nested too deeply; send it as JSON"}
		}
		return true, nil
	}
	undo()
	if e, ok := errors.AsType[*Error](err); ok && (e.Code == CodeTooDeep || e.Code == CodeTooLarge || e.Code == CodeName) {
		return false, e
	}
	return false, nil
}

// Pointer builds the RFC 6901 pointer of a value, from the root. It is only called for what is reported.
func (t *Tree) Pointer(id int32) string { return t.spell(id, false) }

// Starred writes a pointer as a declaration: array positions become "*".
func (t *Tree) Starred(id int32) string { return t.spell(id, true) }

func (t *Tree) spell(id int32, starred bool) string {
	var tokens []string
	for id > 0 {
		n := &t.Nodes[id]
		switch {
		case n.nameEnd > 0:
			tokens = append(tokens, EscapeToken(t.Name(id)))
		case t.Nodes[n.Parent].Kind != Array:
		case starred:
			tokens = append(tokens, "*")
		default:
			tokens = append(tokens, IndexToken(n.Index))
		}
		id = n.Parent
	}
	tokens = append(tokens, "") // so that the pointer begins with a slash
	slices.Reverse(tokens)
	return strings.Join(tokens, "/")
}

// Lookup finds the value at a pointer, -1 if there is none.
func (t *Tree) Lookup(pointer string) int32 {
	id := int32(0)
	for pointer != "" && id >= 0 {
		var token string
		token, pointer, _ = CutToken(pointer)
		id = t.Child(id, token)
	}
	return id
}

// Child returns the member or element that a token names, -1 if there is none.
func (t *Tree) Child(id int32, token string) int32 {
	n := &t.Nodes[id]
	if n.flags&nested != 0 {
		id = n.First
		n = &t.Nodes[id]
	}
	for c := n.First; c > 0; c = t.Nodes[c].Next {
		if n.Kind == Array && token == strconv.Itoa(int(t.Nodes[c].Index)) || n.Kind == Object && t.Name(c) == token {
			return c
		}
	}
	return -1
}

// Text returns the string that an object has under a name, "" if it has none.
func (t *Tree) Text(object int32, name string) string {
	if id := t.Child(object, name); id > 0 && t.Nodes[id].Kind == String {
		return t.Str(id)
	}
	return ""
}

// IsTrue reports an object that has the value true under a name.
func (t *Tree) IsTrue(object int32, name string) bool {
	id := t.Child(object, name)
	return id > 0 && string(t.Whole(id)) == "true"
}

// Value decodes for the schema stage: numbers keep their text.
func (t *Tree) Value(id int32) any {
	n := &t.Nodes[id]
	switch n.Kind {
	case Object:
		m := make(map[string]any)
		for c := n.First; c > 0; c = t.Nodes[c].Next {
			m[t.Name(c)] = t.Value(c)
		}
		return m
	case Array:
		a := []any{}
		for c := n.First; c > 0; c = t.Nodes[c].Next {
			a = append(a, t.Value(c))
		}
		return a
	case String:
		return t.Str(id)
	case Number:
		return json.Number(t.Whole(id))
	case Bool:
		return t.Whole(id)[0] == 't'
	}
	return nil
}

var (
	tokenEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	tokenUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapeToken writes a name as a token of a pointer.
func EscapeToken(s string) string {
	return tokenEscaper.Replace(s)
}

// CutToken takes the first token off a pointer; ok is false if the pointer does not begin with a slash.
func CutToken(pointer string) (token, rest string, ok bool) {
	if pointer == "" || pointer[0] != '/' {
		return "", "", false
	}
	token, _, _ = strings.Cut(pointer[1:], "/")
	rest = pointer[1+len(token):]
	if strings.IndexByte(token, '~') >= 0 {
		token = tokenUnescaper.Replace(token)
	}
	return token, rest, true
}

func foldHash(b []byte) uint32 {
	h := uint32(2166136261)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		h = (h ^ uint32(chars.FoldRune(r))) * 16777619
		b = b[n:]
	}
	return h
}

// Twins checks pairs of members of an object whose names are equal under case folding, until one is refused: every one of a
// group at least once, with another of it.
func (t *Tree) Twins(id int32, check func(a, b int32) error) error {
	first := t.Nodes[id].First
	if first == 0 || t.Nodes[first].Next == 0 {
		return nil
	}
	same := func(a, b int32) bool {
		return t.Nodes[a].fold == t.Nodes[b].fold && strings.EqualFold(t.Name(a), t.Name(b))
	}
	count := 0
	for c := first; c > 0 && count <= 16; c = t.Nodes[c].Next {
		count++
	}
	if count <= 16 {
		for a := first; a > 0; a = t.Nodes[a].Next {
			for b := t.Nodes[a].Next; b > 0; b = t.Nodes[b].Next {
				if same(a, b) {
					if err := check(a, b); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	seen := make(map[string]int32)
	for b := first; b > 0; b = t.Nodes[b].Next {
		folded := chars.FoldName(t.Name(b))
		a, ok := seen[folded]
		if !ok {
			seen[folded] = b
		} else if err := check(a, b); err != nil {
			return err
		}
	}
	return nil
}

// TrimJSONSpace takes off what JSON calls blank.
func TrimJSONSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// IndexToken writes a position as a token of a pointer.
func IndexToken(i int32) string { return strconv.Itoa(int(i)) }
