package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/internal/lazyregexp"
)

// looksLikeEntry reports that a value has what makes a server.
func looksLikeEntry(n *jsonc.Node) bool {
	if n.Kind != '{' {
		return false
	}
	for _, k := range []string{"command", "url", "builtin", "httpUrl", "serverUrl", "baseUrl", "executable"} {
		if n.Get(k) != nil {
			return true
		}
	}
	return false
}

// looksLikeContainer reports that a value has what makes servers, by name, and
// nothing else.
func looksLikeContainer(n *jsonc.Node) bool {
	if n.Kind != '{' || looksLikeEntry(n) {
		return false
	}
	return len(n.Members) > 0 && !slices.ContainsFunc(n.Members, func(m jsonc.Member) bool { return !looksLikeEntry(m.Value) })
}

// gatherEntries makes the tree in our own spelling: every container becomes
// mcpServers, every entry is normalised.
func (c *checker) gatherEntries(raw *jsonc.Node) *jsonc.Node {
	entries := jsonc.NewObject(raw.Off)
	out := jsonc.NewObject(raw.Off)
	inside := map[string]bool{} // keys taken for containers
	found := false
	for _, name := range containers {
		i := raw.Index(name)
		if i < 0 {
			continue
		}
		m := raw.Members[i]
		box := m.Value
		if name == "mcp" {
			if in := box.Get("servers"); in != nil && !looksLikeEntry(in) {
				box = in
			} else if !slices.ContainsFunc(box.Members, func(e jsonc.Member) bool { return looksLikeEntry(e.Value) }) {
				continue
			}
		}
		inside[name] = true
		if box.Kind == '[' && len(box.Elems) > 0 {
			if box = c.nameServers(box); box == nil {
				c.unread = true
				continue
			}
		}
		if box.Kind != '{' {
			c.unread = true
			c.reportError([]string{"mcpServers"}, box.Off, fmt.Sprintf("found %s, want an object of servers by name", box.What()), "")
			continue
		}
		if !found {
			entries.Off, found = box.Off, true
			out.Members = append(out.Members, jsonc.NewMember("mcpServers", m.Off, entries))
		}
		c.boxes[box] = true
		c.checkEntries(entries, box)
	}
	for _, m := range raw.Members {
		if !inside[m.Name] {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// nameServers makes an object of a list of servers that say their names themselves, as Continue
// has it; nil if one says none.
func (c *checker) nameServers(list *jsonc.Node) *jsonc.Node {
	out := jsonc.NewObject(list.Off)
	for _, e := range list.Elems {
		name := e.Get("name")
		if !name.Is('"') || name.Text == "" {
			c.reportError([]string{"mcpServers"}, e.Off, `a server in the list has no "name"`, `add one, or write an object of servers by name`)
			return nil
		}
		if in := e.Get("transport"); in.Is('{') {
			e = jsonc.NewObject(e.Off, slices.Concat(slices.DeleteFunc(slices.Clone(e.Members), func(m jsonc.Member) bool { return m.Name == "transport" }), in.Members)...)
		}
		out.Members = append(out.Members, jsonc.NewMember(name.Text, name.Off, e))
	}
	return out
}

// fromOpencode returns an entry of opencode with its placeholders as hub.json has
// them: {env:NAME} and {file:PATH}. Others write them as text.
func fromOpencode(entry *jsonc.Node) *jsonc.Node {
	kind := entry.Get("type")
	if entry.Get("environment") == nil && (kind == nil || kind.Text != "local" && kind.Text != "remote") {
		return entry
	}
	var change func(n *jsonc.Node) *jsonc.Node
	change = func(n *jsonc.Node) *jsonc.Node {
		out := *n
		if n.Kind == '"' {
			out.Text = opencodeVar.ReplaceAllStringFunc(n.Text, func(s string) string {
				if s[0] == '$' {
					return s
				}
				return "$" + s
			})
		}
		out.Elems, out.Members = slices.Clone(n.Elems), slices.Clone(n.Members)
		for i := range out.Elems {
			out.Elems[i] = change(out.Elems[i])
		}
		for i := range out.Members {
			out.Members[i].Value = change(out.Members[i].Value)
		}
		return &out
	}
	return change(entry)
}

var opencodeVar = lazyregexp.New(`\$?\{(?:env|file):[^{}]+\}`)

func (c *checker) checkEntries(into, box *jsonc.Node) {
	for _, m := range box.Members {
		if strings.HasPrefix(m.Name, "//") {
			continue
		}
		at := []string{"mcpServers", m.Name}
		if have := into.Index(m.Name); have >= 0 {
			line, _ := c.src.At(into.Members[have].Off)
			if slices.ContainsFunc(box.Members, func(e jsonc.Member) bool { return e.Off == into.Members[have].Off }) {
				continue // within one object: reported as a duplicate key
			}
			c.reportError(at, m.Off, fmt.Sprintf("there is another server %s on line %d", jsonc.Quote(m.Name), line), "rename one of them")
			continue
		}
		into.Members = append(into.Members, jsonc.NewMember(m.Name, m.Off, c.normaliseEntry(at, fromOpencode(m.Value))))
	}
}

// reportDuplicates reports names that stand twice in one object. Which of the two
// counts differs from reader to reader, so neither does.
func (c *checker) reportDuplicates(at []string, n *jsonc.Node) {
	if c.boxes[n] { // whatever it is called, what is wrong inside counts for the server
		at = []string{"mcpServers"}
	}
	first := make(map[string]int, len(n.Members))
	for _, m := range n.Members {
		if strings.HasPrefix(m.Name, "//") {
			continue
		}
		here := appendStep(at, m.Name)
		if off, again := first[m.Name]; again {
			line, _ := c.src.At(off)
			second, _ := c.src.At(m.Off)
			c.reportError(here, m.Off, fmt.Sprintf("key %s stands twice, on lines %d and %d", jsonc.Quote(m.Name), line, second), "remove one of them")
		} else {
			first[m.Name] = m.Off
		}
		c.reportDuplicates(here, m.Value)
	}
	for i, e := range n.Elems {
		c.reportDuplicates(appendStep(at, jsonc.Index(i)), e)
	}
}

// callNames returns what each entry is called in the hub. A name made of A-Z a-z
// 0-9 _ . - stays; of another one these signs stay, and it is told apart from
// others by a number.
func callNames(entries *jsonc.Node, separator string) map[string]string {
	called, taken := map[string]string{}, map[string]bool{}
	plain := func(name string) bool { return keys.IsServerName(name) && !strings.Contains(name, separator) }
	for _, m := range entries.Members {
		if plain(m.Name) {
			called[m.Name], taken[m.Name] = m.Name, true
		}
	}
	for _, m := range entries.Members {
		if called[m.Name] != "" {
			continue
		}
		base := ServerName(m.Name)
		for _, fill := range []string{"-", "_", "."} {
			if strings.Contains(base, separator) && !strings.Contains(separator, fill) {
				base = strings.ReplaceAll(base, separator, fill)
			}
		}
		if strings.Contains(base, separator) {
			base = "server"
		}
		name := base
		for i := 2; taken[name]; i++ {
			name = base + strconv.Itoa(i)
		}
		called[m.Name], taken[name] = name, true
	}
	return called
}

// checkServer checks what one key alone cannot show. n is the entry in our spelling.
func (c *checker) checkServer(s *Server, n *jsonc.Node, nameOff int) {
	at := []string{"mcpServers", s.Key}
	if s.Name != s.Key {
		c.reportProblem(SeverityNote, at, nameOff, "is called "+jsonc.Quote(s.Name)+" in the hub: in the names of its tools, in rules and in reports", "")
	}
	if n.Kind != '{' {
		return
	}
	var kinds []string
	for _, k := range []string{"builtin", "command", "url"} {
		if n.Get(k) != nil {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 0:
		c.reportError(at, nameOff, `one of "command", "url" or "builtin" is missing`, "say what to start or where to connect")
	case 1:
		c.checkKind(at, s, n, kinds[0])
	default:
		c.reportError(at, n.Get(kinds[1]).Off, fmt.Sprintf("has both %q and %q", kinds[0], kinds[1]), "keep the one that is meant")
	}
}

// leavesRedirectOpen reports whether a person logs in by a client that they have registered, whose redirect is not named.
func (a *Auth) leavesRedirectOpen() bool {
	return a != nil && a.ClientID != "" && !strings.HasPrefix(a.ClientID, "https://") && (a.Flow == "" || a.Flow == keys.FlowBrowser) &&
		a.RedirectHost == "" && a.RedirectPath == nil && a.CallbackPort == 0
}

// checkExchange checks an entry whose server is called with a token in exchange for the caller's.
func (c *checker) checkExchange(at []string, s *Server, n *jsonc.Node) {
	flow := n.Get("auth").Get("flow")
	if s.Auth.ClientID == "" {
		c.reportError(appendStep(at, "auth", "flow"), flow.Off, `the authorization server exchanges tokens for a client that it knows, which is not named`, `register one there, and write its "clientId" and "clientSecret" beside it`)
	}
	for _, m := range membersOf(n.Get("headers")) {
		if strings.EqualFold(m.Name, "Authorization") {
			c.reportError(appendStep(at, "headers", m.Name), m.Off, `every caller would have these credentials, and none a token in exchange for its own`, `leave it out, or take "auth" out`)
		}
	}
}

// fillSandbox fills in the mode of an entry that says none. What is part of mcphub, and what
// runs elsewhere, is held only where its entry says so.
func (s *Server) fillSandbox(mode string, n *jsonc.Node) {
	s.Sandbox.Default = n.Get("sandbox") == nil
	switch {
	case s.Sandbox.Mode != "":
	case s.Command != "":
		s.Sandbox.Mode = mode
	default:
		s.Sandbox.Mode = keys.SandboxOff
	}
}

// rootsWords report how a server learns the roots.
var rootsWords = []string{"args", "list", "none"}

// RootsMode returns the word that reports how the server learns the roots, or "" if there is none.
func (s *Server) RootsMode() string {
	if len(s.Roots) == 1 && slices.Contains(rootsWords, s.Roots[0]) {
		return s.Roots[0]
	}
	return ""
}

// checkKind checks that the rest of an entry goes with its kind.
func (c *checker) checkKind(at []string, s *Server, n *jsonc.Node, kind string) {
	if t := n.Get("type"); t != nil && s.Type != "" && (s.Type == keys.TransportStdio) != (kind == "command") {
		c.reportError(appendStep(at, "type"), t.Off, fmt.Sprintf("%q does not go with %q", s.Type, kind), "leave it out")
	}
	if v := n.Get("roots"); v != nil && len(s.Roots) > 0 && (v.Kind == '[') == (s.RootsMode() != "") {
		c.reportError(appendStep(at, "roots"), v.Off, fmt.Sprintf("%q is no word that stands alone, and no list of directories", s.Roots[0]), `want "args", "list", "none" or ["DIRECTORY", ...]`)
	}
	useless := []string{"url", "headers", "headersFrom", "auth"}
	c.checkSecured(at, s, n)
	c.checkWords(at, n.Get("tools"))
	if kind == "url" {
		useless = []string{"args", "env", "envFile", "inherit", "cwd", "local"}
		for _, k := range []string{"memory", "processes"} {
			if v := n.Get("limits").Get(k); v != nil {
				c.reportProblem(SeverityWarning, appendStep(at, "limits", k), v.Off, fmt.Sprintf("has no effect with %q", kind), "leave it out")
			}
		}
		if v := n.Get("roots"); v != nil && s.RootsMode() == "args" {
			c.reportError(appendStep(at, "roots"), v.Off, `"args" does not go with "url"`, `a server on the network can be told by "list" only`)
		}
		if bad := keys.CheckURL(s.URL); s.URL != "" && bad != "" && !(s.Disabled && strings.Contains(s.URL, "${")) {
			c.reportError(appendStep(at, "url"), n.Get("url").Off, "the text "+bad, `want "https://HOST/PATH"`)
		}
	}
	if kind == "url" && s.Auth != nil && s.Auth.Flow == keys.FlowExchange {
		c.checkExchange(at, s, n)
	}
	if kind == "url" && s.Auth.leavesRedirectOpen() {
		c.reportProblem(SeverityNote, appendStep(at, "auth", "clientId"), n.Get("auth").Get("clientId").Off,
			"the browser comes back to http://127.0.0.1:PORT/callback, on any free port", `if the client is registered with another redirect, write its parts: "redirectHost", "redirectPath" and "callbackPort"`)
	}
	if v := n.Get("sandbox"); v != nil && kind == "url" && s.Sandbox.Mode != keys.SandboxOff {
		sev := SeverityWarning
		if s.Sandbox.Mode == keys.SandboxRequired {
			sev = SeverityError
		}
		c.reportProblem(sev, appendStep(at, "sandbox"), v.Off, `has no effect with "url": the server runs elsewhere, and nothing here holds it`, "leave it out")
	}
	for _, k := range useless {
		if v := n.Get(k); v != nil && len(v.Members)+len(v.Elems)+len(v.Text) > 0 && v.Kind != 'f' {
			c.reportProblem(SeverityWarning, appendStep(at, k), v.Off, fmt.Sprintf("has no effect with %q", kind), "leave it out")
		}
	}
	c.checkVersion(at, s, n, kind)
	if kind == "command" {
		c.shellLine(at, n)
	}
}

// checkSecured checks what an entry says about its TLS and of a program for headers. Without effect, it would leave a person in the belief
// that it is there.
func (c *checker) checkSecured(at []string, s *Server, n *jsonc.Node) {
	if v := n.Get("headersFrom"); s.HeadersFrom != nil && v != nil && v.Get("command") == nil {
		c.reportError(appendStep(at, "headersFrom"), v.Off, `"command" is missing`, "name the program that prints them")
	}
	v := n.Get("tls")
	if s.TLS == nil || v == nil {
		return
	}
	at = appendStep(at, "tls")
	if scheme, _, _ := strings.Cut(s.URL, ":"); !strings.EqualFold(scheme, "https") && !(s.Disabled && strings.HasPrefix(s.URL, "${")) {
		c.reportError(at, v.Off, `goes with an https "url" only`, `write "https://HOST/PATH", or leave it out`)
	}
	for _, pair := range [][2]string{{"cert", "key"}, {"key", "cert"}} {
		if has, lacks := v.Get(pair[0]), v.Get(pair[1]); has != nil && lacks == nil {
			c.reportError(appendStep(at, pair[0]), has.Off, fmt.Sprintf("needs %q beside it", pair[1]), "a server is shown a certificate and proves to have its key")
		}
	}
}

// checkWords checks that no two tools of an entry are renamed alike, and that no set argument lies in another one.
func (c *checker) checkWords(at []string, tools *jsonc.Node) {
	called := map[string]string{}
	for _, m := range membersOf(tools.Get("rename")) {
		if other, taken := called[m.Value.Text]; taken && m.Value.Kind == '"' {
			c.reportError(appendStep(at, "tools", "rename", m.Name), m.Off, fmt.Sprintf("is renamed to %s, as %s is", jsonc.Quote(m.Value.Text), jsonc.Quote(other)), "give one of them another name")
		}
		called[m.Value.Text] = m.Name
	}
	for _, tool := range membersOf(tools.Get("set")) {
		for i, m := range tool.Value.Members {
			for _, other := range tool.Value.Members[:i] {
				if strings.HasPrefix(m.Name+"/", other.Name+"/") || strings.HasPrefix(other.Name+"/", m.Name+"/") {
					c.reportError(appendStep(at, "tools", "set", tool.Name, m.Name), m.Off, "lies in "+jsonc.Quote(other.Name)+", or holds it", "keep one of them")
				}
			}
		}
	}
}

// checkVersion checks that the protocol version of an entry goes with what says its era.
func (c *checker) checkVersion(at []string, s *Server, n *jsonc.Node, kind string) {
	modern, with := s.Protocol == keys.ModernProtocol, ""
	switch {
	case s.Protocol == "":
	case s.Era == "legacy" && modern, s.Era == "modern" && !modern:
		with = fmt.Sprintf("\"era\": %q", s.Era)
	case kind == "builtin" && modern:
		with = `"builtin"`
	case s.Type == keys.TransportSSE && modern:
		with = fmt.Sprintf("\"type\": %q", s.Type)
	}
	if with != "" {
		c.reportError(appendStep(at, "protocol"), n.Get("protocol").Off, fmt.Sprintf("%q does not go with %s", s.Protocol, with), "keep the one that is meant")
	}
}

// shellLine warns of a command that was meant as a line for a shell.
func (c *checker) shellLine(at []string, n *jsonc.Node) {
	v := n.Get("command")
	args := n.Get("args")
	words := strings.Fields(v.Text)
	if v.Kind != '"' || args != nil && len(args.Elems) > 0 || len(words) < 2 {
		return
	}
	// A program may lie below a folder with a blank in its name.
	if strings.ContainsAny(words[0], `/\`) {
		for _, w := range words[1:] {
			if strings.LastIndexAny(w, `/\`) > 0 && !strings.HasPrefix(w, "/") || strings.HasSuffix(strings.ToLower(w), ".exe") {
				return
			}
		}
	}
	hint := fmt.Sprintf(`write "command": %q, and the other words each on its own under "args"`, words[0])
	if !strings.ContainsAny(v.Text, "\"'\\`$") {
		quoted := make([]string, 0, len(words)-1)
		for _, w := range words[1:] {
			quoted = append(quoted, fmt.Sprintf("%q", w))
		}
		hint = fmt.Sprintf(`write "command": %q, "args": [%s]`, words[0], strings.Join(quoted, ", "))
	}
	c.reportProblem(SeverityWarning, appendStep(at, "command"), v.Off, "the whole text is taken for the name of one program", hint)
}
