package config

import (
	"maps"
	"slices"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/hub/toolset"
)

// This file checks that toolsets name what is there. What is misspelled would show less than is meant, or be refused later.

// readToolsets checks the toolsets, and all who choose among them.
func (p *parser) readToolsets(f *File) {
	known := slices.Sorted(maps.Keys(f.Toolsets))
	servers := f.ServerNames()
	sets := p.tree.Get("toolsets")
	for _, name := range known {
		p.checkToolset([]string{"toolsets", name}, f.Toolsets[name], sets.Get(name), servers, f.Names.Separator)
	}
	for _, key := range []string{"clients", "projects"} {
		for _, of := range membersOf(p.tree.Get(key)) {
			p.checkToolsetNames([]string{key, of.Name}, of.Value, known)
		}
	}
	http := p.tree.Get("http")
	for i, token := range elementsOf(http.Get("tokens")) {
		p.checkToolsetNames([]string{"http", "tokens", jsonc.Index(i), "toolsets"}, token.Get("toolsets"), known)
	}
	for i, issuer := range elementsOf(http.Get("issuers")) {
		at := []string{"http", "issuers", jsonc.Index(i), "toolsets", "values"}
		for _, of := range membersOf(issuer.Get("toolsets").Get("values")) {
			p.checkToolsetNames(appendStep(at, of.Name), of.Value, known)
		}
	}
}

func membersOf(n *jsonc.Node) []jsonc.Member {
	if n == nil {
		return nil
	}
	return n.Members
}

func elementsOf(n *jsonc.Node) []*jsonc.Node {
	if n == nil {
		return nil
	}
	return n.Elems
}

// checkToolset checks one toolset.
func (p *parser) checkToolset(at []string, set Toolset, n *jsonc.Node, servers []string, separator string) {
	if len(set.Servers)+len(set.Tools) == 0 {
		example := "files"
		if len(servers) > 0 {
			example = servers[0]
		}
		p.reportError(at, n.Off, "the toolset names neither servers nor tools, so it shows nothing", `add "servers": [`+jsonc.Quote(example)+"]")
	}
	for i, e := range elementsOf(n.Get("servers")) {
		if i < len(set.Servers) && !slices.Contains(servers, set.Servers[i]) {
			text, hint := unknownName("server", set.Servers[i], servers)
			p.reportError(appendStep(at, "servers", jsonc.Index(i)), e.Off, text, hint)
		}
	}
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"tools", set.Tools}, {"exclude", set.Exclude}} {
		for i, e := range elementsOf(n.Get(list.key)) {
			if i >= len(list.patterns) {
				break // one is not sound, which was reported
			}
			where := appendStep(at, list.key, jsonc.Index(i))
			pattern, err := toolset.ParsePattern(list.patterns[i], separator)
			switch {
			case err != nil:
				p.reportError(where, e.Off, err.Error(), "write the name of a server, "+jsonc.Quote(separator)+" and a pattern of its tools; a whole server belongs in \"servers\"")
			case !slices.ContainsFunc(servers, pattern.FitsServer):
				text, hint := unknownName("server", pattern.Server, servers)
				p.reportError(where, e.Off, text, hint)
			}
		}
	}
}

// checkToolsetNames checks a list of names of toolsets.
func (p *parser) checkToolsetNames(at []string, list *jsonc.Node, known []string) {
	for i, e := range elementsOf(list) {
		if e.Kind != '"' || slices.Contains(known, e.Text) {
			continue
		}
		text, hint := unknownName("toolset", e.Text, known)
		if len(known) == 0 {
			hint = "define it under \"toolsets\", as docs/servers.md shows"
		}
		p.reportError(appendStep(at, jsonc.Index(i)), e.Off, text, hint)
	}
}
