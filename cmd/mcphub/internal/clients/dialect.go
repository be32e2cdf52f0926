package clients

import (
	"encoding/json"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/internal/lazyregexp"
)

// A dialect describes how to read the entries of a client if the same text means
// something else in hub.json.
type dialect struct {
	vars    vars
	inputs  bool // its files may ask a person, and refer to the answer
	seconds bool // a number as timeout is seconds
	millis  bool // ... milliseconds
	shape   func(edit.Table) (edit.Table, bool)

	// redirect is at which a browser comes back to it, for a client of OAuth that was registered for it; "": it is not known,
	// or leads elsewhere than to this machine.
	redirect string
}

// vars is what a client replaces in texts.
type vars uint8

const (
	varsNone     vars = iota // nothing
	varsShell                // ${NAME} and ${NAME:-default}
	varsEditor               // ${env:NAME}, ${workspaceFolder} and the like
	varsGemini               // $NAME too
	varsOpencode             // {env:NAME} and {file:PATH}
	varsContinue             // ${{ secrets.NAME }}
)

// readEntry turns a client's entry into one that hub.json takes. false: it is no
// server that another program could start.
func (d dialect) readEntry(t edit.Table) (edit.Table, bool) {
	if d.shape != nil {
		var ok bool
		if t, ok = d.shape(t); !ok {
			return nil, false
		}
	}
	out := make(edit.Table, 0, len(t))
	for _, m := range t {
		if n, ok := m.Value.(json.Number); ok && m.Name == "timeout" {
			switch {
			case d.seconds:
				m.Value = n.String() + "s"
			case d.millis:
				m.Value = n.String() + "ms"
			}
		}
		if names, ok := m.Value.([]any); ok && m.Name == "tools" && len(names) == 1 && names[0] == "*" {
			continue // all of them
		}
		m.Value = eachText(m.Value, d.vars.replaceIn)
		if login, ok := m.Value.(edit.Table); ok && m.Name == "oauth" && d.redirect != "" && login.Has("clientId") && !login.Has("redirectUri") {
			m.Value = login.With("redirectUri", d.redirect)
		}
		out = append(out, m)
	}
	for _, key := range []string{"command", "url", "httpUrl", "serverUrl", "baseUrl", "executable", "http_url", "server_url", "base_url"} {
		if v := out.Get(key); v != nil && v != "" {
			return out, true
		}
	}
	return nil, false
}

var (
	openBrace    = strings.NewReplacer("${", "$${")
	shellVar     = lazyregexp.New(`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`)
	geminiVar    = lazyregexp.New(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	opencodeVar  = lazyregexp.New(`\{(env|file):([^{}]+)\}`)
	continueVar  = lazyregexp.New(`\$\$\{\{\s*(?:secrets|inputs)\.([A-Za-z0-9_][A-Za-z0-9_./-]*)\s*\}\}`)
	anyBraceOpen = lazyregexp.New(`\$\{[^}]*\}?`)
)

// replaceIn rewrites the placeholders of a text.
func (v vars) replaceIn(s string) string {
	switch v {
	case varsShell:
		return anyBraceOpen.ReplaceAllStringFunc(s, func(p string) string {
			if shellVar.MatchString(p) {
				return p
			}
			return "$" + p
		})
	case varsEditor:
		return s
	case varsGemini:
		return geminiVar.ReplaceAllString(s, "$${$1}")
	case varsContinue: // a person is asked for its secrets, as for the ones of VS Code
		return continueVar.ReplaceAllString(openBrace.Replace(s), "$${input:$1}")
	case varsOpencode:
		return opencodeVar.ReplaceAllString(openBrace.Replace(s), "$${$1:$2}")
	}
	return openBrace.Replace(s)
}

// opencodeShape: its timeout is for listing the tools.
func opencodeShape(t edit.Table) (edit.Table, bool) {
	if n, ok := t.Get("timeout").(json.Number); ok {
		t = t.Without("timeout").With("connectionTimeout", n)
	}
	return t, true
}

// gooseKeys are Goose's names of keys.
var gooseKeys = map[string]string{"cmd": "command", "uri": "url", "envs": "env", "env_keys": "env_vars", "available_tools": "includeTools"}

// gooseShape: extensions of types that Goose brings itself are not servers.
func gooseShape(t edit.Table) (edit.Table, bool) {
	kind, _ := t.Get("type").(string)
	switch kind {
	case "stdio", "sse":
	case "streamable_http":
		t = t.With("type", "http")
	default:
		return nil, false
	}
	var out edit.Table
	for _, m := range t {
		if to := gooseKeys[m.Name]; to != "" {
			m.Name = to
		}
		if l, ok := m.Value.([]any); ok && len(l) == 0 {
			continue
		}
		switch m.Name {
		case "bundled", "display_name":
			continue
		}
		out = append(out, m)
	}
	return out, true
}

// continueShape: headers stand below requestOptions, and config.json has the
// whole server below transport.
func continueShape(t edit.Table) (edit.Table, bool) {
	if in, ok := t.Get("transport").(edit.Table); ok {
		t = t.Without("transport")
		for _, m := range in {
			t = t.With(m.Name, m.Value)
		}
	}
	if o, ok := t.Get("requestOptions").(edit.Table); ok {
		t = t.Without("requestOptions")
		if h := o.Get("headers"); h != nil {
			t = t.With("headers", h)
		}
	}
	for _, key := range []string{"faviconUrl", "sourceFile", "serverName"} {
		t = t.Without(key)
	}
	return t, true
}
