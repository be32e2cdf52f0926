package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/internal/redact"
)

// This file leaves secrets out of hub.json as it is shown on a page.

// mostlySecret are members below which every literal string is left out.
var mostlySecret = []string{"env", "headers", "tokens"}

// showsTexts reports whether the texts stand in a hub.json as it is shown, so that none is left out.
func showsTexts(name, shown string, texts []string) bool {
	root, wrong := jsonc.NewSource(name, []byte(shown)).Parse()
	var there func(n *jsonc.Node, text string) bool
	there = func(n *jsonc.Node, text string) bool {
		return n.Kind == '"' && n.Text == text || slices.ContainsFunc(n.Elems, func(e *jsonc.Node) bool { return there(e, text) }) ||
			slices.ContainsFunc(n.Members, func(m jsonc.Member) bool { return there(m.Value, text) })
	}
	return wrong == nil && !slices.ContainsFunc(texts, func(text string) bool { return !there(root, text) })
}

// withoutSecrets returns the text of a hub.json, with redact.Mark instead of strings that may be secret,
// and without its comments: those may hold entries that were taken out of use. A text that cannot be read
// is not shown, because what in it is secret cannot be told.
func withoutSecrets(name string, text []byte) (string, error) {
	source := jsonc.NewSource(name, text)
	root, wrong := source.Parse()
	standard, err := source.Standard()
	if wrong != nil || err != nil {
		return "", errors.New("it cannot be read, and is not shown because it may hold secrets; mcphub validate says where it is wrong")
	}
	m := masked{text: standard}
	m.maskValue(root, false)
	m.out.Write(m.text[m.done:])
	return m.out.String(), nil
}

// masked is a text with something else instead of some strings.
type masked struct {
	text []byte
	out  bytes.Buffer // what comes of the text before done
	done int
}

func (m *masked) maskValue(n *jsonc.Node, secret bool) {
	for _, e := range n.Members {
		m.maskValue(e.Value, secret || redact.SecretKey(e.Name) || slices.Contains(mostlySecret, e.Name))
	}
	if n.Kind == '[' {
		args := make([]string, len(n.Elems))
		for i, e := range n.Elems {
			args[i] = e.Text
		}
		shown := redact.Args(args, nil) // what follows --token is one
		for i, e := range n.Elems {
			m.maskValue(e, secret || e.Kind == '"' && shown[i] != redact.Text(e.Text))
		}
	}
	if n.Kind != '"' {
		return
	}
	by := redact.Text(n.Text)
	if secret && !onlyReferences(n.Text) {
		by = redact.Mark
	}
	if address := strings.Contains(n.Text, "://") || strings.Contains(n.Text, "?"); address && !secret { // a query or a user may be a key
		by = cmp.Or(redact.URL(n.Text), by)
	}
	if by == n.Text {
		return
	}
	raw, err := json.Marshal(by)
	if err != nil {
		raw = []byte(`"` + redact.Mark + `"`)
	}
	m.out.Write(m.text[m.done:n.Off])
	m.out.Write(raw)
	m.done = n.End
}

// onlyReferences reports whether a text names where its value is, and holds nothing beside.
func onlyReferences(text string) bool {
	for text != "" {
		one, rest, ended := strings.Cut(text, "}")
		if !ended || !strings.HasPrefix(one, "${") || strings.Contains(one, ":-") { // behind that stands a default
			return false
		}
		text = rest
	}
	return true
}
