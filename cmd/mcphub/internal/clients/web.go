package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// This file registers a hub that serves HTTP: by its address, and by the header that
// clients show. If the client can refer to a variable or a file, the token itself is
// not written.

// TokenVariable is the variable by which clients know the token.
const TokenVariable = "MCPHUB_TOKEN"

// A Web describes how a client reaches the hub over HTTP.
type Web struct {
	URL   string
	Token string // that the client shows; "": none
	File  string // that holds it
}

// TokenReference describes how a client's configuration refers to a token.
type TokenReference uint8

// The kinds of reference.
const (
	ByValue    TokenReference = iota // not at all: the token itself is written
	ByVariable                       // to TokenVariable of the client's environment
	ByFile                           // to the file of the token
)

// A webForm describes how a client writes a server at an address.
type webForm struct {
	refers TokenReference
	token  string // what stands for the token, if it is not written
	entry  func(w Web, header string, at Place) edit.Table
}

// webForms are the clients that can; of these their documentation or their program shows it.
var webForms = map[string]webForm{
	"claude-code": {ByVariable, "${" + TokenVariable + "}", atURL("type", "http", "url")},
	"cursor":      {ByVariable, "${env:" + TokenVariable + "}", atURL("", "", "url")},
	"vscode":      {ByVariable, "${env:" + TokenVariable + "}", atURL("type", "http", "url")},
	"windsurf":    {entry: atURL("", "", "serverUrl")},
	"zed":         {entry: atURL("", "", "url")},
	"codex": {ByVariable, TokenVariable, func(w Web, header string, _ Place) edit.Table {
		t := edit.Table{{Name: "url", Value: w.URL}}
		if header != "" {
			t = t.With("bearer_token_env_var", TokenVariable)
		}
		return t
	}},
	"gemini": {ByVariable, "$" + TokenVariable, atURL("", "", "httpUrl")},
	"opencode": {ByFile, "{file:%s}", func(w Web, header string, at Place) edit.Table {
		return atURL("type", "remote", "url")(w, header, at).With("enabled", true)
	}},
	"cline": {entry: atURL("type", "streamableHttp", "url")},
	"roo":   {entry: atURL("type", "streamable-http", "url")},
	"goose": {entry: func(w Web, header string, at Place) edit.Table {
		t := edit.Table{{Name: "enabled", Value: true}, {Name: "type", Value: "streamable_http"}, {Name: "name", Value: HubName},
			{Name: "description", Value: "MCP servers behind one endpoint"}, {Name: "timeout", Value: json.Number("600")}}
		return append(t, atURL("", "", "uri")(w, header, at)...)
	}},
	"continue": {entry: func(w Web, header string, at Place) edit.Table {
		t := edit.Table{{Name: "type", Value: "streamable-http"}, {Name: "url", Value: w.URL}}
		if header != "" {
			t = t.With("requestOptions", edit.Table{{Name: "headers", Value: edit.Table{{Name: "Authorization", Value: header}}}})
		}
		if at.Format == edit.YAML {
			return t
		}
		return edit.Table{{Name: "transport", Value: t}}
	}},
	"copilot": {entry: func(w Web, header string, at Place) edit.Table {
		return atURL("type", "http", "url")(w, header, at).With("tools", toList([]string{"*"}))
	}},
	"lm-studio": {entry: atURL("", "", "url")},
	"mcporter":  {ByVariable, "${" + TokenVariable + "}", atURL("", "", "baseUrl")},
	"inspector": {entry: atURL("type", "streamable-http", "url")},
}

// atURL makes an entry with the address under a key. A member of the client's own comes first.
func atURL(key, value, address string) func(Web, string, Place) edit.Table {
	return func(w Web, header string, _ Place) edit.Table {
		var t edit.Table
		if key != "" {
			t = t.With(key, value)
		}
		t = t.With(address, w.URL)
		if header != "" {
			t = t.With("headers", edit.Table{{Name: "Authorization", Value: header}})
		}
		return t
	}
}

// ErrNoHTTP means that a client knows no servers at an address.
var ErrNoHTTP = errors.New("starts servers as processes and takes no address in its configuration; install it without --http")

// Refers returns how the client refers to the token. false: it takes no address.
func (c *Profile) Refers() (TokenReference, bool) {
	form, ok := webForms[c.Name]
	return form.refers, ok
}

// webEntry returns the hub's entry with its address.
func (c *Profile) webEntry(h Hub, at Place) edit.Table {
	form := webForms[c.Name]
	header := ""
	if h.Web.Token != "" {
		token := form.token
		switch form.refers {
		case ByValue:
			token = h.Web.Token
		case ByFile:
			token = fmt.Sprintf(token, h.Web.File)
		}
		header = "Bearer " + token
	}
	t := form.entry(*h.Web, header, at)
	if len(h.Roots) > 0 {
		t = t.With("roots", rootsOf(h.Roots))
	}
	return t
}

// holdsToken prepares a file that a token is written into: no one else reads it then, and
// no preview shows it.
func (f *FileEdit) holdsToken(token string) error {
	if info, err := os.Lstat(f.Place.File); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a link, and the token would be written to what it leads to, which may be meant for others; put the entry there by hand: mcphub install --http --print shows it", f.Place.File)
	}
	f.private, f.hides = true, token
	return nil
}

// isHubAt reports an entry of the hub's own name that leads to an endpoint like the hub's
// on this machine.
func isHubAt(name string, t edit.Table) bool {
	if name != HubName {
		return false
	}
	for _, key := range []string{"url", "httpUrl", "serverUrl", "baseUrl", "uri"} {
		text, _ := t.Get(key).(string)
		u, err := url.Parse(text)
		if err != nil || u.Path != "/mcp" && path.Dir(u.Path) != "/mcp" { // with a toolset below it
			continue
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if strings.EqualFold(u.Hostname(), "localhost") || err == nil && ip.IsLoopback() {
			return true
		}
	}
	return false
}
