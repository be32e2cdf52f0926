package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"mcphub/internal/config/jsonc"
	"mcphub/internal/redact"
)

// This file leaves secrets out of hub.json as it is shown on a page.

// mostlySecret are members below which every literal string is left out.
var mostlySecret = []string{"env", "headers", "tokens"}

// withoutSecrets is the text of a hub.json, with redact.Mark in the place of strings that may be
// secret, and without its comments: those may hold entries that were taken out of use. A text that cannot
// be read is not shown, because what in it is secret cannot be told.
func withoutSecrets(name string, text []byte) (string, error) {
	root, wrong := jsonc.NewSource(name, text).Parse()
	if wrong != nil {
		return "", errors.New("it cannot be read, and is not shown because it may hold secrets; mcphub validate says where it is wrong")
	}
	m := masked{text: blankComments(text)}
	m.value(root, false)
	// From the end, so that the places before stay right.
	slices.SortFunc(m.spans, func(a, b span) int { return b.from - a.from })
	for _, s := range m.spans {
		m.text = slices.Replace(m.text, s.from, s.to, s.by...)
	}
	return string(m.text), nil
}

// span is a part of a text, and what stands there instead.
type span struct {
	from, to int
	by       []byte
}

type masked struct {
	text  []byte
	spans []span
}

func (m *masked) value(n *jsonc.Node, secret bool) {
	for _, e := range n.Members {
		m.value(e.Value, secret || redact.SecretKey(e.Name) || slices.Contains(mostlySecret, e.Name))
	}
	if n.Kind == '[' {
		args := make([]string, len(n.Elems))
		for i, e := range n.Elems {
			args[i] = e.Text
		}
		shown := redact.Args(args, nil) // what follows --token is one
		for i, e := range n.Elems {
			m.value(e, secret || e.Kind == '"' && shown[i] != redact.Text(e.Text))
		}
	}
	if n.Kind != '"' {
		return
	}
	by := redact.Text(n.Text)
	if secret && !onlyReferences(n.Text) {
		by = redact.Mark
	}
	if u := redact.URL(n.Text); u != "" && !secret { // a query or a user may be a key
		by = u
	}
	if by == n.Text {
		return
	}
	raw, err := json.Marshal(by)
	if err != nil {
		raw = []byte(`"` + redact.Mark + `"`)
	}
	m.spans = append(m.spans, span{n.Off, stringEnd(m.text, n.Off), raw})
}

// onlyReferences reports whether a text names where its value is, and holds nothing beside.
func onlyReferences(text string) bool {
	for text != "" {
		if len(text) < 2 || text[:2] != "${" {
			return false
		}
		i := bytes.IndexByte([]byte(text), '}')
		// A default stands behind ":-".
		if i < 0 || bytes.Contains([]byte(text[:i]), []byte(":-")) {
			return false
		}
		text = text[i+1:]
	}
	return true
}

// stringEnd is the offset behind a string of JSON.
func stringEnd(text []byte, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// blankComments puts spaces in the place of comments. The text is one that was read.
func blankComments(text []byte) []byte {
	out := bytes.Clone(text)
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '"':
			i = stringEnd(out, i) - 1
		case bytes.HasPrefix(out[i:], []byte("//")):
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case bytes.HasPrefix(out[i:], []byte("/*")):
			end := i + bytes.Index(out[i:], []byte("*/")) + 2
			for ; i < end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		}
	}
	return out
}
