package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/internal/lazyregexp"
)

// alias is another client's spelling of one of our keys.
type alias struct {
	from string
	to   string                        // our key; "timeout.start" for one inside of another
	conv func(*jsonc.Node) *jsonc.Node // changes the value on the way; nil: as it is
	kind string                        // the type that the spelling implies; "": none
}

// aliases holds the spellings of the common clients. Claude, Cursor, VS Code,
// Windsurf, Zed, Gemini CLI, Codex, opencode, Cline, Roo, Copilot, mcporter.
var aliases = []alias{
	{from: "transport", to: "type"},
	{from: "transportType", to: "type"},
	{from: "executable", to: "command"},
	{from: "environment", to: "env"},
	{from: "workingDirectory", to: "cwd"},
	{from: "working_directory", to: "cwd"},
	{from: "env_file", to: "envFile"},
	{from: "env_vars", to: "inherit", conv: variableNames},
	{from: "httpUrl", to: "url", kind: keys.TransportHTTP},
	{from: "http_url", to: "url", kind: keys.TransportHTTP},
	{from: "serverUrl", to: "url"},
	{from: "server_url", to: "url"},
	{from: "baseUrl", to: "url"},
	{from: "base_url", to: "url"},
	{from: "http_headers", to: "headers.*"},
	{from: "env_http_headers", to: "headers.*", conv: fromVariable("")},
	{from: "bearerToken", to: "headers.Authorization", conv: bearerValue},
	{from: "bearer_token", to: "headers.Authorization", conv: bearerValue},
	{from: "bearerTokenEnv", to: "headers.Authorization", conv: fromVariable("Bearer ")},
	{from: "bearer_token_env", to: "headers.Authorization", conv: fromVariable("Bearer ")},
	{from: "bearer_token_env_var", to: "headers.Authorization", conv: fromVariable("Bearer ")},
	{from: "headersHelper", to: "headersFrom", conv: helperOf},
	{from: "oauth", to: "auth", conv: oauthOf},
	{from: "enabled", to: "disabled", conv: negateValue},
	{from: "isActive", to: "disabled", conv: negateValue},
	{from: "timeoutMs", to: "timeout.call", conv: withUnit("ms")},
	{from: "requestTimeout", to: "timeout.call", conv: withUnit("ms")},
	{from: "tool_timeout_sec", to: "timeout.call", conv: withUnit("s")},
	{from: "connectionTimeout", to: "timeout.start", conv: withUnit("ms")},
	{from: "startup_timeout_ms", to: "timeout.start", conv: withUnit("ms")},
	{from: "startup_timeout_sec", to: "timeout.start", conv: withUnit("s")},
	{from: "includeTools", to: "tools.include"},
	{from: "enabledTools", to: "tools.include"},
	{from: "enabled_tools", to: "tools.include"},
	{from: "allowedTools", to: "tools.include"},
	{from: "allowed_tools", to: "tools.include"},
	{from: "excludeTools", to: "tools.exclude"},
	{from: "disabledTools", to: "tools.exclude"},
	{from: "disabled_tools", to: "tools.exclude"},
	{from: "blockedTools", to: "tools.exclude"},
	{from: "blocked_tools", to: "tools.exclude"},
}

// inTimeout are the spellings inside the object timeout (opencode).
var inTimeout = map[string]string{"startup": "start", "request": "call"}

// transports are the spellings of type; "" stands for not said.
var transports = map[string]string{
	"local": keys.TransportStdio, "remote": "",
	"streamable-http": keys.TransportHTTP, "streamable_http": keys.TransportHTTP, "streamableHttp": keys.TransportHTTP,
	"streamableHTTP": keys.TransportHTTP, "httpStream": keys.TransportHTTP, "http-stream": keys.TransportHTTP,
}

// containers are the names under which clients keep their entries. They are
// read in this order.
var containers = []string{"mcpServers", "servers", "context_servers", "mcp_servers", "mcp"}

// clientSettings are top-level keys of clients that say nothing to a hub.
var clientSettings = []string{"imports", "globalShortcut"}

// clientKeys are keys of an entry that say nothing to a hub.
var clientKeys = []string{
	"name", "title", "description", "icon", "icons", "id", "version", "source", "gallery", "metadata", "settings",
	"dev", "watchPaths", "lifecycle", "required", "scopes", "supports_parallel_tool_calls", "authProviderType",
	"custom_instructions", "protocolEra", "$schema",
}

// approvalKeys are keys of an entry by which clients ask a person less.
var approvalKeys = []string{"autoApprove", "alwaysAllow", "trust", "default_tools_approval_mode"}

const (
	otherSandbox = "has no effect in a hub: the server runs without this sandbox"
	sandboxHint  = `write "sandbox": "required", and see docs/sandbox.md`
)

// isOtherSandbox reports the object of that name which VS Code has.
func isOtherSandbox(m jsonc.Member) bool {
	return m.Name == "sandbox" && (m.Value.Get("filesystem") != nil || m.Value.Get("network").Is('{'))
}

func aliasOf(name string) *alias {
	for i := range aliases {
		if aliases[i].from == name {
			return &aliases[i]
		}
	}
	return nil
}

// normaliseEntry rewrites an entry into our spelling. Values keep their places in
// the file, so that every later message points at what was really written.
func (c *checker) normaliseEntry(at []string, raw *jsonc.Node) *jsonc.Node {
	if raw.Kind != '{' {
		return raw
	}
	out := jsonc.NewObject(raw.Off)
	for _, m := range raw.Members {
		if keys.Entry.Find(m.Name) == nil || m.Value.Kind == 'n' || out.Get(m.Name) != nil || noLogin(m) {
			continue
		}
		if m.Name == "roots" && len(m.Value.Elems) > 0 && m.Value.Elems[0].Kind == '{' {
			c.reportProblem(SeverityNote, appendStep(at, m.Name), m.Off, "a list of objects has no effect in an entry", `directories of its own are a list of texts: ["~/Documents"]`)
			continue
		}
		c.lostRedirect(at, m)
		if isOtherSandbox(m) {
			c.reportProblem(SeverityWarning, appendStep(at, m.Name), m.Off, otherSandbox, sandboxHint)
			continue
		}
		out.Members = append(out.Members, jsonc.NewMember(m.Name, m.Off, expandShortForms(m.Name, m.Value)))
	}
	for _, m := range raw.Members {
		a := aliasOf(m.Name)
		switch known := keys.Entry.Find(m.Name) != nil; {
		case known || slices.Contains(clientKeys, m.Name):
		case a != nil:
			if m.Value.Kind != 'n' && !noLogin(m) {
				if m.Name == "headersHelper" && helperOf(m.Value).Kind != '{' {
					c.reportError(appendStep(at, m.Name), m.Off, "is more than a program and its arguments, and there is no shell", `write "headersFrom": {"command": ..., "args": [...]}`)
					continue
				}
				c.lostRedirect(at, m)
				c.applyAlias(at, out, a, m)
			}
		case slices.Contains(approvalKeys, m.Name):
			c.reportProblem(SeverityNote, appendStep(at, m.Name), m.Off, "has no effect in a hub", "your client decides what it asks about")
		case m.Name == "sandboxEnabled":
			c.reportProblem(SeverityWarning, appendStep(at, m.Name), m.Off, otherSandbox, sandboxHint)
		default:
			out.Members = append(out.Members, m)
		}
	}
	c.splitCommand(at, out)
	plainType(out)
	trimURL(out)
	return out
}

// trimURL takes the blanks around an address away: they came with it from a page.
func trimURL(out *jsonc.Node) {
	for i, m := range out.Members {
		if m.Name == "url" && m.Value.Kind == '"' {
			trimmed := *m.Value
			trimmed.Text = strings.TrimSpace(trimmed.Text)
			out.Members[i].Value = &trimmed
		}
	}
}

// expandShortForms writes the short forms of timeout and tools in full, so that a
// client's spelling of one part can stand beside them.
func expandShortForms(name string, v *jsonc.Node) *jsonc.Node {
	k := keys.Entry.Find(name)
	if name == "auth" {
		return authOf(v)
	}
	if name != "timeout" && name != "tools" {
		return v
	}
	if v.Kind == '{' {
		full := jsonc.NewObject(v.Off, slices.Clone(v.Members)...)
		for i, m := range full.Members {
			if to := inTimeout[m.Name]; name == "timeout" && to != "" && v.Get(to) == nil {
				full.Members[i].Name = to
			}
		}
		return full
	}
	if name == "tools" && v.Kind != '[' {
		return v
	}
	return jsonc.NewObject(v.Off, jsonc.NewMember(k.Spec.Short, v.Off, v))
}

// noLogin reports that a client's file turns logins off for a server.
func noLogin(m jsonc.Member) bool {
	return (m.Name == "auth" || m.Name == "oauth") && (m.Value.Kind == 'f' || m.Value.Get("enabled").Is('f'))
}

// inAuth are the spellings inside the object auth. The ones that stand for nothing
// are what the authorization server says itself.
var inAuth = map[string]string{
	"CLIENT_ID": "clientId", "client_id": "clientId", "CLIENT_SECRET": "clientSecret", "client_secret": "clientSecret", "scope": "scopes", "callback_port": "callbackPort", "redirect_uri": redirectURI,
	"enabled": "", "authorizationUrl": "", "tokenUrl": "", "registrationUrl": "", "authServerMetadataUrl": "", "audiences": "", "tokenParamName": "",
}

// redirectURI is a client's key for the whole redirect, of which ours name the parts.
const redirectURI = "redirectUri"

// authOf writes a client's settings of logins as ours. Some only report that there are
// to be logins.
func authOf(v *jsonc.Node) *jsonc.Node {
	if v.Kind == 't' || v.Kind == '"' && strings.EqualFold(v.Text, "oauth") {
		return jsonc.NewObject(v.Off)
	}
	if v.Kind != '{' {
		return v
	}
	out := jsonc.NewObject(v.Off)
	for _, m := range v.Members {
		if to, other := inAuth[m.Name]; other {
			if to == "" || v.Get(to) != nil {
				continue
			}
			m.Name = to
		}
		if m.Name == "scopes" && m.Value.Kind == '"' {
			list := jsonc.NewList(m.Value.Off)
			for _, scope := range strings.Fields(m.Value.Text) {
				list.Elems = append(list.Elems, jsonc.NewText(m.Value.Off, scope))
			}
			m.Value = list
		}
		if m.Name == redirectURI {
			out.Members = append(out.Members, redirectParts(v, m)...)
			continue
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// oauthOf is authOf for the key oauth, which is Claude Code's: with a port there it registers localhost.
func oauthOf(v *jsonc.Node) *jsonc.Node {
	out := authOf(v)
	if port := out.Get("callbackPort"); port != nil && out.Get("redirectHost") == nil {
		out.Members = append(out.Members, jsonc.NewMember("redirectHost", port.Off, jsonc.NewText(port.Off, keys.RedirectName)))
	}
	return out
}

// helperOf takes Claude Code's line for a shell apart, if it is a program and its arguments and nothing that a shell would read
// otherwise; else it is v.
func helperOf(v *jsonc.Node) *jsonc.Node {
	words := strings.Fields(v.Text)
	bare := plainVariable.ReplaceAllString(v.Text, "")
	if v.Kind != '"' || len(words) == 0 || strings.Contains(words[0], "=") || strings.ContainsAny(bare, "\"'`\\|&;<>()*?[]{}#$!\n") || strings.Contains(strings.TrimPrefix(bare, "~/"), "~") {
		return v
	}
	word := func(text string) *jsonc.Node { return jsonc.NewText(v.Off, text) }
	args := jsonc.NewList(v.Off)
	for _, w := range words[1:] {
		args.Elems = append(args.Elems, word(w))
	}
	return jsonc.NewObject(v.Off, jsonc.NewMember("command", v.Off, word(words[0])), jsonc.NewMember("args", v.Off, args))
}

// plainVariable matches a variable that the hub replaces as a shell does.
var plainVariable = lazyregexp.New(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// redirectParts returns our keys for the redirect m of a client, but for the ones that auth has itself; none if the hub
// cannot be come back to there.
func redirectParts(auth *jsonc.Node, m jsonc.Member) (parts []jsonc.Member) {
	u := loopbackRedirect(m.Value)
	if u == nil {
		return nil
	}
	for _, part := range []struct {
		name string
		kind hujson.Kind
		text string
	}{{"redirectHost", '"', u.Hostname()}, {"redirectPath", '"', u.Path}, {"callbackPort", '0', u.Port()}} {
		if auth.Get(part.name) == nil && (part.kind == '"' || part.text != "") {
			parts = append(parts, jsonc.NewMember(part.name, m.Off, &jsonc.Node{Kind: part.kind, Off: m.Value.Off, Text: part.text}))
		}
	}
	return parts
}

// loopbackRedirect reads a redirect to this machine; nil if it is another one.
func loopbackRedirect(v *jsonc.Node) *url.URL {
	u, err := url.Parse(v.Text)
	if v.Kind != '"' || err != nil {
		return nil
	}
	host, path := u.Hostname(), keys.Entry.Find("auth").Spec.Find("redirectPath").Spec
	plain := url.URL{Scheme: "http", Host: u.Host, Path: u.Path}
	if host != keys.RedirectIP && host != keys.RedirectName || plain.String() != v.Text || path.Valid(u.Path) != "" {
		return nil
	}
	return u
}

// lostRedirect reports a redirect of a client that leads elsewhere: the hub sends another one than is registered.
func (c *checker) lostRedirect(at []string, m jsonc.Member) {
	if m.Name != "auth" && m.Name != "oauth" {
		return
	}
	for _, name := range []string{redirectURI, "redirect_uri"} {
		if v := m.Value.Get(name); v != nil && v.Kind != 'n' && loopbackRedirect(v) == nil {
			c.reportProblem(SeverityWarning, appendStep(at, m.Name, name), v.Off, "has no effect: a browser comes back to the hub at http://127.0.0.1 or http://localhost", `register such a redirect, and write "redirectHost", "callbackPort" and "redirectPath"`)
		}
	}
}

// applyAlias puts the value of a client's key where ours has it.
func (c *checker) applyAlias(at []string, out *jsonc.Node, a *alias, m jsonc.Member) {
	v := m.Value
	if a.conv != nil {
		v = a.conv(v)
	}
	head, tail, nested := strings.Cut(a.to, ".")
	switch {
	case tail == "*":
		if v.Kind != '{' {
			c.putKey(at, out, head, v, m)
			return
		}
		for _, h := range v.Members {
			c.putInside(at, out, head, h.Name, h.Value, h)
		}
	case nested:
		c.putInside(at, out, head, tail, v, m)
	default:
		c.putKey(at, out, head, v, m)
	}
	if a.kind != "" && out.Get("type") == nil {
		out.Members = append(out.Members, jsonc.NewMember("type", m.Off, jsonc.NewText(m.Off, a.kind)))
	}
}

func (c *checker) putInside(at []string, out *jsonc.Node, head, tail string, v *jsonc.Node, m jsonc.Member) {
	in := out.Get(head)
	if in == nil {
		in = jsonc.NewObject(m.Off)
		out.Members = append(out.Members, jsonc.NewMember(head, m.Off, in))
	}
	if in.Kind != '{' { // its type is wrong, which the checker reports
		return
	}
	if head == "headers" { // the node is the file's own
		in = jsonc.NewObject(in.Off, slices.Clone(in.Members)...)
		out.Members[out.Index(head)].Value = in
	}
	c.putKey(appendStep(at, head), in, tail, v, m)
}

// putKey adds a key, or reports that it is there already with another value.
func (c *checker) putKey(at []string, in *jsonc.Node, name string, v *jsonc.Node, m jsonc.Member) {
	for _, have := range in.Members {
		if have.Name != name && !(len(at) == 3 && at[2] == "headers" && strings.EqualFold(have.Name, name)) {
			continue
		}
		if !jsonc.Same(have.Value, v) {
			line, _ := c.src.At(have.Off)
			c.reportError(appendStep(at, name), m.Off, fmt.Sprintf("%s says the same as a key on line %d, with another value", jsonc.Quote(m.Name), line), "keep one of them")
		}
		return
	}
	in.Members = append(in.Members, jsonc.NewMember(name, m.Off, v))
}

// splitCommand takes apart a command that is a list (opencode, mcporter) or an
// object (older Zed).
func (c *checker) splitCommand(at []string, out *jsonc.Node) {
	at0 := out.Index("command")
	if at0 < 0 {
		return
	}
	m := out.Members[at0]
	switch {
	case m.Value.Kind == '[' && len(m.Value.Elems) > 0:
		out.Members[at0].Value = m.Value.Elems[0]
		rest := m.Value.Elems[1:]
		if args := out.Get("args"); args == nil && len(rest) > 0 {
			out.Members = append(out.Members, jsonc.NewMember("args", rest[0].Off, jsonc.NewList(rest[0].Off, rest...)))
		} else if args.Is('[') {
			out.Members[out.Index("args")].Value = jsonc.NewList(args.Off, slices.Concat(rest, args.Elems)...)
		}
	case m.Value.Kind == '{' && m.Value.Get("path") != nil:
		out.Members[at0].Value = m.Value.Get("path")
		for _, in := range m.Value.Members {
			switch {
			case in.Name == "path" || in.Value.Kind == 'n':
			case in.Name == "args" || in.Name == "env":
				c.putKey(at, out, in.Name, in.Value, in)
			default:
				c.reportProblem(SeverityWarning, appendStep(at, "command", in.Name), in.Off, "unknown key "+jsonc.Quote(in.Name), "it has no effect")
			}
		}
	}
}

// plainType translates the spellings of type, and drops the ones that say
// nothing.
func plainType(out *jsonc.Node) {
	for i, m := range out.Members {
		to, known := transports[m.Value.Text]
		if m.Name != "type" || m.Value.Kind != '"' || !known {
			continue
		}
		if to == "" {
			out.Members = slices.Delete(out.Members, i, i+1)
		} else {
			out.Members[i].Value = jsonc.NewText(m.Value.Off, to)
		}
		return
	}
}

func withUnit(u string) func(*jsonc.Node) *jsonc.Node {
	return func(n *jsonc.Node) *jsonc.Node {
		if n.Kind != '0' {
			return n
		}
		return jsonc.NewText(n.Off, n.Text+u)
	}
}

func negateValue(n *jsonc.Node) *jsonc.Node {
	switch n.Kind {
	case 't':
		return &jsonc.Node{Kind: 'f', Off: n.Off, Text: "false"}
	case 'f':
		return &jsonc.Node{Kind: 't', Off: n.Off, Text: "true"}
	}
	return n
}

func bearerValue(n *jsonc.Node) *jsonc.Node {
	if n.Kind != '"' {
		return n
	}
	return jsonc.NewText(n.Off, "Bearer "+n.Text)
}

// fromVariable turns the name of a variable, or an object of such names, into
// text that takes its value.
func fromVariable(before string) func(*jsonc.Node) *jsonc.Node {
	var conv func(*jsonc.Node) *jsonc.Node
	conv = func(n *jsonc.Node) *jsonc.Node {
		switch n.Kind {
		case '"':
			return jsonc.NewText(n.Off, before+"${env:"+n.Text+"}")
		case '{':
			out := jsonc.NewObject(n.Off)
			for _, m := range n.Members {
				if m.Value.Kind == '"' {
					m.Value = conv(m.Value)
				}
				out.Members = append(out.Members, m)
			}
			return out
		}
		return n
	}
	return conv
}

// variableNames reduces Codex's {name, source} to the name.
func variableNames(n *jsonc.Node) *jsonc.Node {
	if n.Kind != '[' {
		return n
	}
	out := jsonc.NewList(n.Off)
	for _, e := range n.Elems {
		if name := e.Get("name"); name != nil {
			e = name
		}
		out.Elems = append(out.Elems, e)
	}
	return out
}
