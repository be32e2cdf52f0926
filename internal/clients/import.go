package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/clients/edit"
	"mcphub/internal/config"
)

// Import is what becomes of one server.
type Import struct {
	Server Server
	Name   string   // in hub.json
	Same   string   // it is the same as this server, which is there already
	Moved  []string // keys whose secret went to the store
	Plain  []string // keys that hold a secret as plain text
	Notes  []string
	Err    string // why the hub cannot serve it as it is

	secrets []secret // for Keep
}

// ReadFile lists the servers in a file of any client. The file's name and what
// is in it tell whose it is.
func ReadFile(path string, e Env) (Found, error) {
	data, err := readFile(path)
	if err != nil {
		return Found{}, err
	}
	out := Found{Files: []string{path}}
	place := Place{File: path, Format: formatOf(path, data)}
	whole, err := edit.Decode(place.Format, data)
	if err != nil {
		return out, fmt.Errorf("%s: %w", path, err)
	}
	for i := range All {
		c := &All[i]
		for _, p := range c.places(e) {
			if out.Client != nil || filepath.Base(p.File) != filepath.Base(path) {
				continue
			}
			for _, k := range c.layout(whole, p) {
				if found, _ := edit.Entries(place.Format, data, k.where); len(found) > 0 && ownName(path) {
					out.Client, place.Where = c, p.Where
				}
			}
		}
	}
	if out.Client == nil {
		for _, known := range containers {
			if found, _ := edit.Entries(place.Format, data, known.where); len(found) > 0 {
				place.Where, out.Client = known.where, Find(known.client)
				break
			}
		}
	}
	if place.Where.Path == nil { // servers by name and nothing else, as manuals show them
		whole = edit.Table{{Name: "mcpServers", Value: whole}}
		if data, err = json.Marshal(whole); err != nil {
			return out, err
		}
		place.Format, place.Where = edit.JSON, mcpServers
	}
	if out.Client == nil {
		entries, err := edit.Entries(place.Format, data, place.Where)
		if err != nil {
			return out, err
		}
		for _, m := range entries {
			t, _ := m.Value.(edit.Table)
			d := dialect{vars: varsEditor}
			if entry, ok := d.entry(t); ok {
				out.addEntry(m.Name, entry, place, kept{where: place.Where})
			}
		}
	} else if err := out.read(place, data); err != nil {
		return out, fmt.Errorf("%s: %w", path, err)
	}
	for i := range out.Servers {
		out.Servers[i].place = Place{} // it is not ours to edit
	}
	if len(out.Servers)+len(out.Skipped) == 0 && out.Registered == "" {
		return out, fmt.Errorf("%s: there is no MCP server in it", path)
	}
	return out, nil
}

// ownName reports a file name that belongs to one client. Many have an mcp.json.
func ownName(path string) bool {
	switch filepath.Base(path) {
	case "mcp.json", "settings.json", "config.json", "config.yaml", "config.toml":
		return false
	}
	return true
}

// containers are where servers may be, and whose way that is.
var containers = []struct {
	where  edit.Where
	client string
}{
	{mcpServers, ""},
	{edit.Where{Path: []string{"mcpServers"}, List: true}, "continue"},
	{edit.Where{Path: []string{"servers"}}, "vscode"},
	{edit.Where{Path: []string{"context_servers"}}, "zed"},
	{edit.Where{Path: []string{"mcp_servers"}}, "codex"},
	{edit.Where{Path: []string{"mcp", "servers"}}, ""},
	{edit.Where{Path: []string{"mcp"}}, "opencode"},
	{edit.Where{Path: []string{"extensions"}}, "goose"},
	{edit.Where{Path: []string{"experimental", "modelContextProtocolServers"}, List: true}, "continue"},
}

func formatOf(path string, data []byte) edit.Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return edit.TOML
	case ".yaml", ".yml":
		return edit.YAML
	case ".json", ".jsonc", ".json5":
		return edit.JSON
	}
	for _, f := range []edit.Format{edit.JSON, edit.TOML, edit.YAML} {
		if t, err := edit.Decode(f, data); err == nil && len(t) > 0 {
			return f
		}
	}
	return edit.JSON
}

// opensFiles reports whether a server is the official filesystem server, or is called
// like it.
func opensFiles(s Server) bool {
	words, _ := s.Entry.Get("args").([]any)
	for _, word := range append([]any{s.Entry.Get("command")}, words...) {
		if text, _ := word.(string); strings.Contains(text, "server-filesystem") || strings.HasSuffix(text, "filesystem-server") {
			return true
		}
	}
	return false
}

// Merge adds servers to the text of hub.json, which may be empty. A server that
// is there already is not added again; one with the name of another server gets
// the name of its client behind its own. env looks up variables.
//
// With move, references stand in the text for plain secrets, which [Keep] keeps;
// otherwise they stay where they are.
func Merge(file string, text []byte, servers []Server, inputs []edit.Table, move bool, env func(string) (string, bool)) ([]byte, []Import, error) {
	whole, err := edit.Decode(edit.JSON, text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	where := hubContainer(whole)
	switch {
	case len(whole) > 0:
	case slices.ContainsFunc(servers, opensFiles): // its tools would be there twice
		text = []byte(emptyHub)
	default:
		text = []byte(FirstHub)
	}
	there, err := edit.Entries(edit.JSON, text, where)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	taken := edit.Table{}
	for _, m := range there {
		t, _ := m.Value.(edit.Table)
		taken = append(taken, edit.Member{Name: m.Name, Value: spelled(m.Name, t)})
	}
	var out []Import
	for _, s := range servers {
		im := Import{Server: s, Notes: slices.Clone(s.Notes)}
		if im.Same = sameAs(taken, s.Entry); im.Same != "" {
			im.Name = im.Same
			out = append(out, im)
			continue
		}
		im.Name = freeName(taken, s)
		taken = append(taken, edit.Member{Name: im.Name, Value: s.Entry})
		entry := s.Entry
		with, found, keys := moveSecrets(im.Name, entry)
		if move {
			entry, im.secrets, im.Moved = with, found, keys
		} else {
			im.Plain = keys
		}
		if secretURL(with) {
			im.Plain = append(im.Plain, "url")
		}
		if s.Disabled && !enabledElsewhere(servers, s) {
			entry = entry.With("disabled", true)
		}
		if text, _, err = edit.Make(edit.JSON, text, where, edit.Change{Kind: edit.Put, Name: im.Name, Value: entry}); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, im)
	}
	if text, err = addInputs(file, text, out, inputs); err != nil {
		return nil, nil, err
	}
	return text, out, check(file, text, out, env)
}

// hubContainer is where a hub.json has its servers.
func hubContainer(whole edit.Table) edit.Where {
	for _, path := range [][]string{{"mcpServers"}, {"servers"}, {"context_servers"}, {"mcp_servers"}} {
		if _, ok := whole.Get(path[0]).(edit.Table); ok {
			return edit.Where{Path: path}
		}
	}
	return mcpServers
}

// spelled is an entry of hub.json in its own spelling.
func spelled(name string, t edit.Table) edit.Table {
	raw, err := json.Marshal(t)
	if err != nil {
		return t
	}
	text, _, err := config.Translate(name, raw)
	if err != nil {
		return t
	}
	var out edit.Table
	if json.Unmarshal(text, &out) != nil {
		return t
	}
	return out.Without("disabled")
}

// sameAs finds a server that is the same. A secret that was moved out counts as
// the one that an entry holds as plain text.
func sameAs(taken edit.Table, entry edit.Table) string {
	for _, m := range taken {
		t, _ := m.Value.(edit.Table)
		if edit.Equal(core(t), core(entry)) {
			return m.Name
		}
		if moved, _, _ := moveSecrets(m.Name, entry); edit.Equal(core(t), core(moved)) {
			return m.Name
		}
	}
	return ""
}

// core is what makes a server what it is. Its usual transport is said by some
// clients and meant by all, and several write a time-out that nobody asked for.
func core(t edit.Table) edit.Table {
	if kind := t.Get("type"); kind == "stdio" && t.Has("command") || kind == "http" && t.Has("url") {
		t = t.Without("type")
	}
	return t.Without("timeout")
}

func enabledElsewhere(all []Server, s Server) bool {
	return slices.ContainsFunc(all, func(o Server) bool { return !o.Disabled && edit.Equal(core(o.Entry), core(s.Entry)) })
}

func freeName(taken edit.Table, s Server) string {
	name := config.ServerName(s.Name)
	if !taken.Has(name) {
		return name
	}
	if s.Client != nil {
		name = config.ServerName(s.Name + "-" + s.Client.Name)
	}
	for n, base := 2, name; taken.Has(name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// addInputs copies the questions that imported entries refer to.
func addInputs(file string, text []byte, imports []Import, inputs []edit.Table) ([]byte, error) {
	at := edit.Where{Path: []string{"inputs"}, List: true}
	for _, in := range inputs {
		id, _ := in.Get("id").(string)
		needed := slices.ContainsFunc(imports, func(im Import) bool {
			raw, err := json.Marshal(im.Server.Entry)
			return err == nil && im.Same == "" && strings.Contains(string(raw), "${input:"+id+"}")
		})
		whole, err := edit.Decode(edit.JSON, text)
		if err != nil {
			return nil, err
		}
		have, _ := whole.Get("inputs").([]any)
		if !needed || slices.ContainsFunc(have, func(v any) bool { t, _ := v.(edit.Table); return t.Get("id") == id }) {
			continue
		}
		if text, _, err = edit.Make(edit.JSON, text, at, edit.Change{Kind: edit.Put, Name: "#", Value: in}); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return text, nil
}

// check reads the new hub.json as serve would and notes what it cannot serve.
func check(file string, text []byte, imports []Import, env func(string) (string, bool)) error {
	f, _, err := config.Parse(file, text, env)
	if err != nil {
		return err
	}
	for i := range imports {
		im := &imports[i]
		s := f.Server(im.Name)
		switch {
		case s == nil:
			return errors.New("hub.json would not hold the server " + im.Name + "; nothing was written")
		case im.Same != "" && s.Disabled && !im.Server.Disabled:
			im.Err = "it is disabled in hub.json"
		case s.Err != nil:
			im.Err = s.Err.Text
			if s.Err.Hint != "" {
				im.Err += "; " + s.Err.Hint
			}
		}
	}
	return nil
}
