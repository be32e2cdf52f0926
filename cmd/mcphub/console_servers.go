package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/config"
	webconsole "mcphub/cmd/mcphub/internal/console"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/toolset"
	"mcphub/internal/printable"
)

// listEntries returns the entries of hub.json, with how they are in the hubs that run on it and which tools they have listed.
func (c *consoleSource) listEntries(ctx context.Context) (out webconsole.Entries) {
	var said bytes.Buffer
	src := *c.src
	file, err := src.Load(&said)
	if err != nil {
		out.Wrong = err.Error()
		return out
	}
	out.File = file.Path
	on, _ := hubsOn(ctx, &said, file.Path) // none is no error here
	out.Hubs = len(on)
	for _, s := range listServers(file, nil).Servers {
		e := webconsole.Entry{Name: s.Name, Kind: s.Kind, Disabled: s.Disabled, Wrong: s.Error}
		for _, h := range on {
			for i := range h.report.Children {
				if h.report.Children[i].Server == s.Name {
					e.Instances = append(e.Instances, webconsole.Instance{Hub: h.Socket, Child: h.report.Children[i]})
				}
			}
			e.Asks += webconsole.Asks(h.report.Sessions, s.Name)
		}
		out.Servers = append(out.Servers, e)
	}
	for _, h := range on {
		tools, err := h.Tools(ctx)
		if err != nil {
			said.WriteString(err.Error() + "\n")
		}
		for i := range tools {
			if at := slices.IndexFunc(out.Servers, func(e webconsole.Entry) bool { return e.Name == tools[i].Server }); at >= 0 && out.Servers[at].Tools == nil {
				out.Servers[at].Tools = &tools[i]
			}
		}
	}
	if out.Sets, err = listToolsets(file, out.Servers); err != nil {
		said.WriteString(err.Error() + "\n")
	}
	out.Silent = slices.Collect(strings.Lines(said.String()))
	return out
}

// listToolsets returns the toolsets of hub.json, with what each shows of the tools that the servers have listed.
func listToolsets(file *config.File, servers []webconsole.Entry) (out []webconsole.Toolset, err error) {
	home, _ := os.UserHomeDir() // without one no project is at home
	table, err := setup.ToolsetTable(file, home)
	if err != nil {
		return nil, err
	}
	for _, name := range table.Names() {
		toolsetView := table.ViewOf(&toolset.Claim{Flag: []string{name}})
		set := webconsole.Toolset{Name: name, Instructions: toolsetView.Instructions(), By: toolsetOwners(file, name)}
		for i := range servers {
			e := &servers[i]
			if !toolsetView.ShowsServer(e.Name) {
				continue
			}
			shown := webconsole.ToolsetServer{Name: e.Name, Whole: toolsetView.ShowsWhole(e.Name), Known: e.Tools != nil}
			if e.Tools != nil {
				for _, tool := range e.Tools.Tools {
					if toolsetView.ShowsTool(e.Name, tool.ToolName) {
						shown.Tools = append(shown.Tools, tool.ToolName)
					}
				}
			}
			set.Servers = append(set.Servers, shown)
		}
		out = append(out, set)
	}
	return out, nil
}

// toolsetOwners returns who has a toolset, as hub.json says.
func toolsetOwners(file *config.File, name string) (all []string) {
	for _, of := range []struct {
		kind string
		sets map[string][]string
	}{{"the client ", file.Clients}, {"clients that were started in ", file.Projects}} {
		for _, who := range slices.Sorted(maps.Keys(of.sets)) {
			if slices.Contains(of.sets[who], name) {
				all = append(all, of.kind+who)
			}
		}
	}
	for _, token := range file.HTTP.Tokens {
		if slices.Contains(token.Toolsets, name) {
			all = append(all, "the token "+token.Name)
		}
	}
	for _, issuer := range file.HTTP.Issuers {
		if issuer.Toolsets == nil {
			continue
		}
		for _, value := range slices.Sorted(maps.Keys(issuer.Toolsets.Values)) {
			if slices.Contains(issuer.Toolsets.Values[value], name) {
				all = append(all, "tokens of "+issuer.Issuer+" with "+value)
			}
		}
	}
	if file.Toolsets[name].Selectable {
		all = append(all, "projects that choose it")
	}
	return all
}

// findServers searches the registry, as `mcphub search` does.
func (c *consoleSource) findServers(ctx context.Context, words string) (found []webconsole.Found, more bool, err error) {
	r, err := registryAt("")
	if err != nil {
		return nil, false, err
	}
	l, err := r.Search(ctx, strings.Fields(words), maxFound)
	for i := range l.Servers {
		s := &l.Servers[i]
		found = append(found, webconsole.Found{Name: s.Name, Version: s.Version, Description: printable.Line(s.Description), Ways: s.Ways()})
	}
	return found, l.More, err
}
