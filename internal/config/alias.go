package config

import (
	"fmt"
	"slices"
	"strings"
)

// alias is another client's spelling of one of our keys.
type alias struct {
	from string
	to   string            // our key; "timeout.start" for one inside of another
	conv func(*node) *node // changes the value on the way; nil: as it is
	also *member           // a further key that the spelling implies
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
	{from: "httpUrl", to: "url", also: &member{name: "type", value: &node{kind: '"', text: TransportHTTP}}},
	{from: "http_url", to: "url", also: &member{name: "type", value: &node{kind: '"', text: TransportHTTP}}},
	{from: "serverUrl", to: "url"},
	{from: "server_url", to: "url"},
	{from: "baseUrl", to: "url"},
	{from: "base_url", to: "url"},
	{from: "http_headers", to: "headers.*"},
	{from: "env_http_headers", to: "headers.*", conv: fromVariable("")},
	{from: "bearerToken", to: "headers.Authorization", conv: bearer},
	{from: "bearer_token", to: "headers.Authorization", conv: bearer},
	{from: "bearerTokenEnv", to: "headers.Authorization", conv: fromVariable("Bearer ")},
	{from: "bearer_token_env", to: "headers.Authorization", conv: fromVariable("Bearer ")},
	{from: "bearer_token_env_var", to: "headers.Authorization", conv: fromVariable("Bearer ")},
	{from: "oauth", to: "auth", conv: authOf},
	{from: "enabled", to: "disabled", conv: not},
	{from: "timeoutMs", to: "timeout.call", conv: unit("ms")},
	{from: "requestTimeout", to: "timeout.call", conv: unit("ms")},
	{from: "tool_timeout_sec", to: "timeout.call", conv: unit("s")},
	{from: "connectionTimeout", to: "timeout.start", conv: unit("ms")},
	{from: "startup_timeout_ms", to: "timeout.start", conv: unit("ms")},
	{from: "startup_timeout_sec", to: "timeout.start", conv: unit("s")},
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
	"local": TransportStdio, "remote": "",
	"streamable-http": TransportHTTP, "streamable_http": TransportHTTP, "streamableHttp": TransportHTTP,
	"streamableHTTP": TransportHTTP, "httpStream": TransportHTTP, "http-stream": TransportHTTP,
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

// lost are keys of an entry whose absence a person would notice.
var lost = map[string]struct {
	severity   Severity
	text, hint string
}{
	"autoApprove":                 {SeverityNote, "has no effect in a hub", "your client decides what it asks about"},
	"alwaysAllow":                 {SeverityNote, "has no effect in a hub", "your client decides what it asks about"},
	"trust":                       {SeverityNote, "has no effect in a hub", "your client decides what it asks about"},
	"default_tools_approval_mode": {SeverityNote, "has no effect in a hub", "your client decides what it asks about"},
	"sandboxEnabled":              {SeverityWarning, otherSandbox, sandboxHint},
}

const (
	otherSandbox = "has no effect in a hub: the server runs without this sandbox"
	sandboxHint  = `write "sandbox": "required", and see docs/sandbox.md`
)

// isOtherSandbox reports the object of that name which VS Code has.
func isOtherSandbox(m member) bool {
	network := m.value.get("network")
	return m.name == "sandbox" && (m.value.get("filesystem") != nil || network != nil && network.kind == '{')
}

func aliasOf(name string) *alias {
	for i := range aliases {
		if aliases[i].from == name {
			return &aliases[i]
		}
	}
	return nil
}

// normalise rewrites an entry into our spelling. Values keep their places in
// the file, so that every later message points at what was really written.
func (c *checker) normalise(at []string, raw *node) *node {
	if raw.kind != '{' {
		return raw
	}
	out := &node{kind: '{', off: raw.off}
	for _, m := range raw.members {
		if entryTable.find(m.name) == nil || m.value.kind == 'n' || out.get(m.name) != nil || noLogin(m) {
			continue
		}
		if m.name == "roots" && m.value.kind == '[' {
			c.report(SeverityNote, under(at, m.name), m.off, "a list of roots has no effect in an entry", `roots come from the client; name others under "roots.fallback"`)
			continue
		}
		if isOtherSandbox(m) {
			c.report(SeverityWarning, under(at, m.name), m.off, otherSandbox, sandboxHint)
			continue
		}
		out.members = append(out.members, member{m.name, m.off, opened(m.name, m.value)})
	}
	for _, m := range raw.members {
		a := aliasOf(m.name)
		switch known := entryTable.find(m.name) != nil; {
		case known || slices.Contains(clientKeys, m.name):
		case a != nil:
			if m.value.kind != 'n' && !noLogin(m) {
				c.apply(at, out, a, m)
			}
		default:
			if l, ok := lost[m.name]; ok {
				c.report(l.severity, under(at, m.name), m.off, l.text, l.hint)
				continue
			}
			out.members = append(out.members, m)
		}
	}
	c.splitCommand(at, out)
	plainType(out)
	return out
}

// opened writes the short forms of timeout and tools in full, so that a
// client's spelling of one part can stand beside them.
func opened(name string, v *node) *node {
	k := entryTable.find(name)
	if name == "auth" {
		return authOf(v)
	}
	if name != "timeout" && name != "tools" {
		return v
	}
	if v.kind == '{' {
		full := &node{kind: '{', off: v.off, members: slices.Clone(v.members)}
		for i, m := range full.members {
			if to := inTimeout[m.name]; name == "timeout" && to != "" && v.get(to) == nil {
				full.members[i].name = to
			}
		}
		return full
	}
	if name == "tools" && v.kind != '[' {
		return v
	}
	return &node{kind: '{', off: v.off, members: []member{{k.spec.short, v.off, v}}}
}

// noLogin reports that a client's file turns logins off for a server.
func noLogin(m member) bool {
	return (m.name == "auth" || m.name == "oauth") && (m.value.kind == 'f' || m.value.get("enabled") != nil && m.value.get("enabled").kind == 'f')
}

// inAuth are the spellings inside the object auth. Those that stand for nothing are
// what the authorization server says itself.
var inAuth = map[string]string{
	"CLIENT_ID": "clientId", "client_id": "clientId", "CLIENT_SECRET": "clientSecret", "client_secret": "clientSecret", "scope": "scopes", "callback_port": "callbackPort",
	"enabled": "", "authorizationUrl": "", "tokenUrl": "", "registrationUrl": "", "authServerMetadataUrl": "", "redirectUri": "", "audiences": "", "tokenParamName": "",
}

// authOf writes a client's settings of logins as ours. Some only say that there are to
// be logins.
func authOf(v *node) *node {
	if v.kind == 't' || v.kind == '"' && strings.EqualFold(v.text, "oauth") {
		return &node{kind: '{', off: v.off}
	}
	if v.kind != '{' {
		return v
	}
	out := &node{kind: '{', off: v.off}
	for _, m := range v.members {
		if to, other := inAuth[m.name]; other {
			if to == "" || v.get(to) != nil {
				continue
			}
			m.name = to
		}
		if m.name == "scopes" && m.value.kind == '"' {
			list := &node{kind: '[', off: m.value.off}
			for _, scope := range strings.Fields(m.value.text) {
				list.elems = append(list.elems, &node{kind: '"', off: m.value.off, text: scope})
			}
			m.value = list
		}
		out.members = append(out.members, m)
	}
	return out
}

// apply puts the value of a client's key where ours has it.
func (c *checker) apply(at []string, out *node, a *alias, m member) {
	v := m.value
	if a.conv != nil {
		v = a.conv(v)
	}
	head, tail, nested := strings.Cut(a.to, ".")
	switch {
	case tail == "*":
		if v.kind != '{' {
			c.put(at, out, head, v, m)
			return
		}
		for _, h := range v.members {
			c.inside(at, out, head, h.name, h.value, h)
		}
	case nested:
		c.inside(at, out, head, tail, v, m)
	default:
		c.put(at, out, head, v, m)
	}
	if a.also != nil && out.get(a.also.name) == nil {
		out.members = append(out.members, member{a.also.name, m.off, &node{kind: a.also.value.kind, off: m.off, text: a.also.value.text}})
	}
}

func (c *checker) inside(at []string, out *node, head, tail string, v *node, m member) {
	in := out.get(head)
	if in == nil {
		in = &node{kind: '{', off: m.off}
		out.members = append(out.members, member{head, m.off, in})
	}
	if in.kind != '{' { // its type is wrong, which the checker reports
		return
	}
	if head == "headers" { // the node is the file's own
		in = &node{kind: '{', off: in.off, members: slices.Clone(in.members)}
		for i := range out.members {
			if out.members[i].name == head {
				out.members[i].value = in
			}
		}
	}
	c.put(under(at, head), in, tail, v, m)
}

// put adds a key, or says that it is there already with another value.
func (c *checker) put(at []string, in *node, name string, v *node, m member) {
	for _, have := range in.members {
		if have.name != name && !(len(at) == 3 && at[2] == "headers" && strings.EqualFold(have.name, name)) {
			continue
		}
		if !same(have.value, v) {
			line, _ := c.src.at(have.off)
			c.fail(under(at, name), m.off, fmt.Sprintf("%s says the same as a key on line %d, with another value", quote(m.name), line), "keep one of them")
		}
		return
	}
	in.members = append(in.members, member{name, m.off, v})
}

func same(a, b *node) bool {
	return a.kind == b.kind && a.text == b.text &&
		slices.EqualFunc(a.elems, b.elems, same) &&
		slices.EqualFunc(a.members, b.members, func(x, y member) bool { return x.name == y.name && same(x.value, y.value) })
}

// splitCommand takes apart a command that is a list (opencode, mcporter) or an
// object (older Zed).
func (c *checker) splitCommand(at []string, out *node) {
	at0 := slices.IndexFunc(out.members, func(m member) bool { return m.name == "command" })
	if at0 < 0 {
		return
	}
	m := out.members[at0]
	switch {
	case m.value.kind == '[' && len(m.value.elems) > 0:
		out.members[at0].value = m.value.elems[0]
		rest := m.value.elems[1:]
		if args := out.get("args"); args == nil && len(rest) > 0 {
			out.members = append(out.members, member{"args", rest[0].off, &node{kind: '[', off: rest[0].off, elems: rest}})
		} else if args != nil && args.kind == '[' {
			for i := range out.members {
				if out.members[i].name == "args" {
					out.members[i].value = &node{kind: '[', off: args.off, elems: slices.Concat(rest, args.elems)}
				}
			}
		}
	case m.value.kind == '{' && m.value.get("path") != nil:
		out.members[at0].value = m.value.get("path")
		for _, in := range m.value.members {
			switch {
			case in.name == "path" || in.value.kind == 'n':
			case in.name == "args" || in.name == "env":
				c.put(at, out, in.name, in.value, in)
			default:
				c.report(SeverityWarning, under(under(at, "command"), in.name), in.off, "unknown key "+quote(in.name), "it has no effect")
			}
		}
	}
}

// plainType translates the spellings of type, and drops the ones that say
// nothing.
func plainType(out *node) {
	for i, m := range out.members {
		to, known := transports[m.value.text]
		if m.name != "type" || m.value.kind != '"' || !known {
			continue
		}
		if to == "" {
			out.members = slices.Delete(out.members, i, i+1)
		} else {
			out.members[i].value = &node{kind: '"', off: m.value.off, text: to}
		}
		return
	}
}

func unit(u string) func(*node) *node {
	return func(n *node) *node {
		if n.kind != '0' {
			return n
		}
		return &node{kind: '"', off: n.off, text: n.text + u}
	}
}

func not(n *node) *node {
	switch n.kind {
	case 't':
		return &node{kind: 'f', off: n.off, text: "false"}
	case 'f':
		return &node{kind: 't', off: n.off, text: "true"}
	}
	return n
}

func bearer(n *node) *node {
	if n.kind != '"' {
		return n
	}
	return &node{kind: '"', off: n.off, text: "Bearer " + n.text}
}

// fromVariable turns the name of a variable, or an object of such names, into
// text that takes its value.
func fromVariable(before string) func(*node) *node {
	var conv func(*node) *node
	conv = func(n *node) *node {
		switch n.kind {
		case '"':
			return &node{kind: '"', off: n.off, text: before + "${env:" + n.text + "}"}
		case '{':
			out := &node{kind: '{', off: n.off}
			for _, m := range n.members {
				if m.value.kind == '"' {
					m.value = conv(m.value)
				}
				out.members = append(out.members, m)
			}
			return out
		}
		return n
	}
	return conv
}

// variableNames reduces Codex's {name, source} to the name.
func variableNames(n *node) *node {
	if n.kind != '[' {
		return n
	}
	out := &node{kind: '[', off: n.off}
	for _, e := range n.elems {
		if name := e.get("name"); name != nil {
			e = name
		}
		out.elems = append(out.elems, e)
	}
	return out
}
