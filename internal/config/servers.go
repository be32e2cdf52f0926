package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcphub/internal/lazyregexp"
)

// looksLikeEntry reports that a value has what makes a server.
func looksLikeEntry(n *node) bool {
	if n.kind != '{' {
		return false
	}
	for _, k := range []string{"command", "url", "builtin", "httpUrl", "serverUrl", "baseUrl", "executable"} {
		if n.get(k) != nil {
			return true
		}
	}
	return false
}

// looksLikeContainer reports that a value has what makes servers, by name, and
// nothing else.
func looksLikeContainer(n *node) bool {
	if n.kind != '{' || looksLikeEntry(n) {
		return false
	}
	return len(n.members) > 0 && !slices.ContainsFunc(n.members, func(m member) bool { return !looksLikeEntry(m.value) })
}

// gather makes the tree in our own spelling: every container becomes
// mcpServers, every entry is normalised.
func (c *checker) gather(raw *node) *node {
	entries := &node{kind: '{', off: raw.off}
	out := &node{kind: '{', off: raw.off}
	inside := map[string]bool{} // keys taken for containers
	found := false
	for _, name := range containers {
		i := slices.IndexFunc(raw.members, func(m member) bool { return m.name == name })
		if i < 0 {
			continue
		}
		m := raw.members[i]
		box := m.value
		if name == "mcp" {
			if in := box.get("servers"); in != nil && !looksLikeEntry(in) {
				box = in
			} else if !slices.ContainsFunc(box.members, func(e member) bool { return looksLikeEntry(e.value) }) {
				continue
			}
		}
		inside[name] = true
		if box.kind == '[' && len(box.elems) > 0 {
			if box = c.named(box); box == nil {
				c.unread = true
				continue
			}
		}
		if box.kind != '{' {
			c.unread = true
			c.fail([]string{"mcpServers"}, box.off, fmt.Sprintf("found %s, want an object of servers by name", box.what()), "")
			continue
		}
		if !found {
			entries.off, found = box.off, true
			out.members = append(out.members, member{"mcpServers", m.off, entries})
		}
		c.boxes[box] = true
		c.entries(entries, box)
	}
	for _, m := range raw.members {
		if !inside[m.name] {
			out.members = append(out.members, m)
		}
	}
	return out
}

// named makes an object of a list of servers that say their names themselves, as Continue
// has it; nil where one says none.
func (c *checker) named(list *node) *node {
	out := &node{kind: '{', off: list.off}
	for _, e := range list.elems {
		name := e.get("name")
		if name == nil || name.kind != '"' || name.text == "" {
			c.fail([]string{"mcpServers"}, e.off, `a server in the list has no "name"`, `add one, or write an object of servers by name`)
			return nil
		}
		if in := e.get("transport"); in != nil && in.kind == '{' {
			e = &node{kind: '{', off: e.off, members: slices.Concat(slices.DeleteFunc(slices.Clone(e.members), func(m member) bool { return m.name == "transport" }), in.members)}
		}
		out.members = append(out.members, member{name.text, name.off, e})
	}
	return out
}

// fromOpencode is an entry of opencode with its placeholders as hub.json has them:
// {env:NAME} and {file:PATH}. Others write them as text.
func fromOpencode(entry *node) *node {
	kind := entry.get("type")
	if entry.get("environment") == nil && (kind == nil || kind.text != "local" && kind.text != "remote") {
		return entry
	}
	var change func(n *node) *node
	change = func(n *node) *node {
		out := *n
		if n.kind == '"' {
			out.text = opencodeVar.ReplaceAllStringFunc(n.text, func(s string) string {
				if s[0] == '$' {
					return s
				}
				return "$" + s
			})
		}
		out.elems, out.members = slices.Clone(n.elems), slices.Clone(n.members)
		for i := range out.elems {
			out.elems[i] = change(out.elems[i])
		}
		for i := range out.members {
			out.members[i].value = change(out.members[i].value)
		}
		return &out
	}
	return change(entry)
}

var opencodeVar = lazyregexp.New(`\$?\{(?:env|file):[^{}]+\}`)

func (c *checker) entries(into, box *node) {
	for _, m := range box.members {
		if strings.HasPrefix(m.name, "//") {
			continue
		}
		at := []string{"mcpServers", m.name}
		if have := slices.IndexFunc(into.members, func(e member) bool { return e.name == m.name }); have >= 0 {
			line, _ := c.src.at(into.members[have].off)
			if slices.ContainsFunc(box.members, func(e member) bool { return e.off == into.members[have].off }) {
				continue // within one object: reported as a duplicate key
			}
			c.fail(at, m.off, fmt.Sprintf("there is another server %s on line %d", quote(m.name), line), "rename one of them")
			continue
		}
		into.members = append(into.members, member{m.name, m.off, c.normalise(at, fromOpencode(m.value))})
	}
}

// duplicates reports names that stand twice in one object. Which of the two
// counts differs from reader to reader, so neither does.
func (c *checker) duplicates(at []string, n *node) {
	if c.boxes[n] { // whatever it is called, what is wrong inside counts for the server
		at = []string{"mcpServers"}
	}
	first := make(map[string]int, len(n.members))
	for _, m := range n.members {
		if strings.HasPrefix(m.name, "//") {
			continue
		}
		here := under(at, m.name)
		if off, again := first[m.name]; again {
			line, _ := c.src.at(off)
			second, _ := c.src.at(m.off)
			c.fail(here, m.off, fmt.Sprintf("key %s stands twice, on lines %d and %d", quote(m.name), line, second), "remove one of them")
		} else {
			first[m.name] = m.off
		}
		c.duplicates(here, m.value)
	}
	for i, e := range n.elems {
		c.duplicates(under(at, index(i)), e)
	}
}

// callNames says what each entry is called in the hub. A name made of A-Z a-z 0-9
// _ . - stays; of another one these signs stay, and it is told apart from others by
// a number.
func callNames(entries *node, separator string) map[string]string {
	called, taken := map[string]string{}, map[string]bool{}
	plain := func(name string) bool { return serverName.MatchString(name) && !strings.Contains(name, separator) }
	for _, m := range entries.members {
		if plain(m.name) {
			called[m.name], taken[m.name] = m.name, true
		}
	}
	for _, m := range entries.members {
		if called[m.name] != "" {
			continue
		}
		base := ServerName(m.name)
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
		called[m.name], taken[name] = name, true
	}
	return called
}

// server checks what one key alone cannot show. n is the entry in our spelling.
func (c *checker) server(s *Server, n *node, nameOff int) {
	at := []string{"mcpServers", s.Key}
	if s.Name != s.Key {
		c.report(SeverityNote, at, nameOff, "is called "+quote(s.Name)+" in the hub: in the names of its tools, in rules and in reports", "")
	}
	if n.kind != '{' {
		return
	}
	var kinds []string
	for _, k := range []string{"builtin", "command", "url"} {
		if n.get(k) != nil {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 0:
		c.fail(at, nameOff, `one of "command", "url" or "builtin" is missing`, "say what to start or where to connect")
	case 1:
		c.fits(at, s, n, kinds[0])
	default:
		c.fail(at, n.get(kinds[1]).off, fmt.Sprintf("has both %q and %q", kinds[0], kinds[1]), "keep the one that is meant")
	}
}

// sandbox fills in the mode of an entry that says none. What is part of mcphub, and what
// runs elsewhere, is held only where its entry says so.
func (s *Server) sandbox(mode string, n *node) {
	s.Sandbox.Default = n.get("sandbox") == nil
	switch {
	case s.Sandbox.Mode != "":
	case s.Command != "":
		s.Sandbox.Mode = mode
	default:
		s.Sandbox.Mode = SandboxOff
	}
}

// fits checks that the rest of an entry goes with its kind.
func (c *checker) fits(at []string, s *Server, n *node, kind string) {
	if t := n.get("type"); t != nil && s.Type != "" && (s.Type == TransportStdio) != (kind == "command") {
		c.fail(under(at, "type"), t.off, fmt.Sprintf("%q does not go with %q", s.Type, kind), "leave it out")
	}
	useless := []string{"url", "headers", "auth"}
	if kind == "url" {
		useless = []string{"args", "env", "envFile", "inherit", "cwd", "local"}
		if v := n.get("roots"); v != nil && s.Roots == "args" {
			c.fail(under(at, "roots"), v.off, `"args" does not go with "url"`, `a server on the network can be told by "list" only`)
		}
		if bad := isURL(s.URL); s.URL != "" && bad != "" && !(s.Disabled && strings.Contains(s.URL, "${")) {
			c.fail(under(at, "url"), n.get("url").off, "the text "+bad, `want "https://HOST/PATH"`)
		}
	}
	if v := n.get("sandbox"); v != nil && kind == "url" && s.Sandbox.Mode != SandboxOff {
		sev := SeverityWarning
		if s.Sandbox.Mode == SandboxRequired {
			sev = SeverityError
		}
		c.report(sev, under(at, "sandbox"), v.off, `has no effect with "url": the server runs elsewhere, and nothing here holds it`, "leave it out")
	}
	for _, k := range useless {
		if v := n.get(k); v != nil && len(v.members)+len(v.elems)+len(v.text) > 0 && v.kind != 'f' {
			c.report(SeverityWarning, under(at, k), v.off, fmt.Sprintf("has no effect with %q", kind), "leave it out")
		}
	}
	if kind == "command" {
		c.shellLine(at, n)
	}
}

// shellLine warns of a command that was meant as a line for a shell.
func (c *checker) shellLine(at []string, n *node) {
	v := n.get("command")
	args := n.get("args")
	words := strings.Fields(v.text)
	if v.kind != '"' || args != nil && len(args.elems) > 0 || len(words) < 2 {
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
	if !strings.ContainsAny(v.text, "\"'\\`$") {
		quoted := make([]string, 0, len(words)-1)
		for _, w := range words[1:] {
			quoted = append(quoted, fmt.Sprintf("%q", w))
		}
		hint = fmt.Sprintf(`write "command": %q, "args": [%s]`, words[0], strings.Join(quoted, ", "))
	}
	c.report(SeverityWarning, under(at, "command"), v.off, "the whole text is taken for the name of one program", hint)
}
