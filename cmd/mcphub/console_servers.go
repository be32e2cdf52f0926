package main

import (
	"bytes"
	"context"
	"slices"
	"strings"

	webconsole "mcphub/cmd/mcphub/internal/console"
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
	out.Silent = slices.Collect(strings.Lines(said.String()))
	return out
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
