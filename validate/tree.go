package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/validate/chars"
)

// unquote decodes the raw string at off:end of a document.
func (t *tree) unquote(doc uint32, off, end int32, escaped bool) string {
	raw := t.docs[doc][off:end]
	if !escaped {
		return string(raw[1 : len(raw)-1])
	}
	// The walk has checked the string already; what remains of an error concerns lone surrogates inside a document
	// nested in a string, which decode to U+FFFD here and in most children.
	b, _ := jsontext.AppendUnquote(nil, raw)
	return string(b)
}

func (t *tree) str(id int32) string {
	n := &t.nodes[id]
	return t.unquote(n.doc, n.off, n.end, n.flags&fValueEscaped != 0)
}

// raw is the string's text between the quotes, undecoded.
func (t *tree) raw(id int32) []byte {
	n := &t.nodes[id]
	return t.docs[n.doc][n.off+1 : n.end-1]
}

func (t *tree) name(id int32) string {
	n := &t.nodes[id]
	return t.unquote(n.doc, n.koff, n.kend, n.flags&fNameEscaped != 0)
}

// nested parses a string's content as JSON and hangs it below the string. It reports whether it was an object or an
// array; any other string stays a string.
func (t *tree) nested(id int32, s string, level int) (bool, error) {
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
	for p := t.nodes[id].parent; p >= 0; p = t.nodes[p].parent {
		depth++
	}
	mark, docs := len(t.nodes), len(t.docs)
	err := t.walk([]byte(trimmed), id, depth, lenient...)
	if e, ok := errors.AsType[*ArgumentsError](err); ok && e.Code == CodeArgsSyntax {
		plain, deep := standardJSON(trimmed)
		if depth+deep > t.depth {
			err = &ArgumentsError{Code: CodeArgsTooDeep, Pointer: t.pointer(id), Message: fmt.Sprintf("the text holds objects and arrays nested more than %d deep; send flatter arguments", t.depth)}
		} else if plain != nil {
			t.nodes, t.docs, t.nodes[id].first = t.nodes[:mark], t.docs[:docs], 0
			err = t.walk(plain, id, depth, lenient...)
		}
	}
	if err == nil {
		t.nodes[id].flags |= fNested
		if level >= maxNested {
			return false, &ArgumentsError{Code: CodeArgsTooDeep, Pointer: t.pointer(id), Message: "JSON in strings nested too deeply; send it as JSON"}
		}
		return true, nil
	}
	t.nodes, t.docs, t.nodes[id].first = t.nodes[:mark], t.docs[:docs], 0
	if e, ok := errors.AsType[*ArgumentsError](err); ok && (e.Code == CodeArgsTooDeep || e.Code == CodeArgsTooLarge || e.Code == CodeArgsName) {
		return false, e
	}
	return false, nil
}

// pointer builds the RFC 6901 pointer of a value, from the root. It is only called for what is reported.
func (t *tree) pointer(id int32) string { return t.spell(id, indexToken) }

// starred writes a pointer as a declaration: array positions become "*".
func (t *tree) starred(id int32) string { return t.spell(id, func(int32) string { return "*" }) }

func (t *tree) spell(id int32, position func(index int32) string) string {
	var parts []string
	for id > 0 {
		n := &t.nodes[id]
		switch {
		case n.kend > 0:
			parts = append(parts, escapeToken(t.name(id)))
		case t.nodes[n.parent].kind == kArray:
			parts = append(parts, position(n.index))
		}
		id = n.parent
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(parts[i])
	}
	return b.String()
}

// lookup finds the value at a pointer, -1 where there is none.
func (t *tree) lookup(pointer string) int32 {
	id := int32(0)
	for rest := pointer; rest != ""; {
		var token string
		token, rest, _ = cutToken(rest)
		if id = t.child(id, token); id < 0 {
			return -1
		}
	}
	return id
}

func (t *tree) child(id int32, token string) int32 {
	n := &t.nodes[id]
	if n.flags&fNested != 0 {
		id = n.first
		n = &t.nodes[id]
	}
	for c := n.first; c > 0; c = t.nodes[c].next {
		if n.kind == kArray && token == strconv.Itoa(int(t.nodes[c].index)) || n.kind == kObject && t.name(c) == token {
			return c
		}
	}
	return -1
}

// value decodes for the schema stage: numbers keep their text.
func (t *tree) value(id int32) any {
	n := &t.nodes[id]
	switch n.kind {
	case kObject:
		m := make(map[string]any)
		for c := n.first; c > 0; c = t.nodes[c].next {
			m[t.name(c)] = t.value(c)
		}
		return m
	case kArray:
		a := []any{}
		for c := n.first; c > 0; c = t.nodes[c].next {
			a = append(a, t.value(c))
		}
		return a
	case kString:
		return t.str(id)
	case kNumber:
		return json.Number(t.docs[n.doc][n.off:n.end])
	case kBool:
		return t.docs[n.doc][n.off] == 't'
	}
	return nil
}

var (
	tokenEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	tokenUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escapeToken(s string) string {
	if strings.ContainsAny(s, "~/") {
		return tokenEscaper.Replace(s)
	}
	return s
}

// cutToken takes the first token off a pointer; ok is false where the pointer does not begin with a slash.
func cutToken(pointer string) (token, rest string, ok bool) {
	if pointer == "" || pointer[0] != '/' {
		return "", "", false
	}
	token = pointer[1:]
	if i := strings.IndexByte(token, '/'); i >= 0 {
		token, rest = token[:i], token[i:]
	}
	if strings.IndexByte(token, '~') >= 0 {
		token = tokenUnescaper.Replace(token)
	}
	return token, rest, true
}

func foldHash(b []byte) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(b[i:])
		}
		h = (h ^ uint32(chars.FoldRune(r))) * 16777619
		i += n
	}
	return h
}

// twins yields pairs of members of an object whose names are equal under case folding: every one of a group at least
// once, with another of it.
func (t *tree) twins(id int32, yield func(a, b int32) bool) {
	first := t.nodes[id].first
	if first == 0 || t.nodes[first].next == 0 {
		return
	}
	same := func(a, b int32) bool {
		return t.nodes[a].fold == t.nodes[b].fold && strings.EqualFold(t.name(a), t.name(b))
	}
	count := 0
	for c := first; c > 0 && count <= 16; c = t.nodes[c].next {
		count++
	}
	if count <= 16 {
		for a := first; a > 0; a = t.nodes[a].next {
			for b := t.nodes[a].next; b > 0; b = t.nodes[b].next {
				if same(a, b) && !yield(a, b) {
					return
				}
			}
		}
		return
	}
	seen := make(map[string]int32)
	for b := first; b > 0; b = t.nodes[b].next {
		folded := chars.FoldName(t.name(b))
		a, ok := seen[folded]
		if !ok {
			seen[folded] = b
		} else if !yield(a, b) {
			return
		}
	}
}

func trimJSONSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }
