package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
)

// An Import is one server of a client on its way into hub.json.
type Import struct {
	Server        Server
	Name          string   // in hub.json
	Same          string   // the server of hub.json that is the same; "": there is none
	Moved         []string // keys whose secret went to the store
	Plain         []string // keys that hold a secret as plain text
	Notes         []string
	Inputs        []string // ids of the inputs that the entry refers to
	DisabledInHub bool     // hub.json has it disabled, and its client runs it
	Err           string   // why the hub cannot serve it as it is

	written edit.Table // as hub.json has it
	plain   edit.Table // as its file has it
	secrets []secret   // for StoreSecrets
}

// Target is the hub.json that servers are added to.
type Target struct {
	File string
	Text []byte                      // may be empty
	Kept func(name string) bool      // a secret of this name is kept already; nil: none
	Env  func(string) (string, bool) // looks up variables

	// Directories returns those among the arguments of a command that is a filesystem server; nil: of none.
	Directories func(command string, args []string) []string
	// Located gives an entry the path of its program if a client does not find it by its name; nil: it does. See [Env.Located].
	Located func(edit.Table) edit.Table
}

// ReadFile lists the servers in a file of any client. The file's name and what
// is in it tell whose it is.
func ReadFile(path string, e Env) (Inventory, error) {
	data, err := readFile(path)
	if err != nil {
		return Inventory{}, err
	}
	return ReadText(path, data, e)
}

// ReadText lists the servers in a text as if it stood in a file of this name.
func ReadText(path string, data []byte, e Env) (Inventory, error) {
	out := Inventory{Files: []string{path}}
	place := Place{File: path, Format: formatOf(path, data)}
	whole, err := edit.Decode(place.Format, data)
	if err != nil {
		return out, edit.WithFile(path, err)
	}
	for i := range All {
		c := &All[i]
		for _, p := range c.places(e) {
			if out.Client != nil || filepath.Base(p.File) != filepath.Base(path) {
				continue
			}
			for _, k := range c.tablesIn(whole, p) {
				if len(edit.Entries(whole, k.where)) > 0 && ownName(path) {
					out.Client, place.Where = c, p.Where
				}
			}
		}
	}
	if out.Client == nil {
		for _, known := range containers {
			if len(edit.Entries(whole, known.where)) > 0 {
				place.Where, out.Client = known.where, Find(known.client)
				break
			}
		}
	}
	if place.Where.Path == nil { // servers by name and nothing else, as manuals show them
		whole, place.Where = edit.Table{{Name: "mcpServers", Value: whole}}, mcpServers
	}
	if out.Client != nil {
		out.readServers(place, whole)
	} else {
		out.noteInputs(whole)
		for _, m := range edit.Entries(whole, place.Where) {
			t, _ := m.Value.(edit.Table)
			d := dialect{vars: varsEditor, inputs: true}
			if _, ok := d.readEntry(t); ok {
				out.addEntry(m.Name, t, d, place, serverTable{where: place.Where})
			}
		}
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
	where  edit.Container
	client string
}{
	{mcpServers, ""},
	{namedServers, "continue"},
	{memberOf("servers"), "vscode"},
	{memberOf("context_servers"), "zed"},
	{memberOf("mcp_servers"), "codex"},
	{edit.Container{Path: []string{"mcp", "servers"}}, ""},
	{memberOf("mcp"), "opencode"},
	{memberOf("extensions"), "goose"},
	{olderServers, "continue"},
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
	return slices.ContainsFunc(wordsOf(s.Entry), func(word string) bool {
		return strings.Contains(word, "server-filesystem") || strings.HasSuffix(word, "filesystem-server")
	})
}

// Merge adds servers to the text of hub.json. A server that is there already is not
// added again; one with the name of another server gets the name of its client
// behind its own. No entry refers to a secret but to the ones that were in it as
// plain text, and to what its own file asks a person for.
func Merge(to Target, servers []Server, inputs []edit.Table) ([]byte, []Import, error) {
	file, text := to.File, to.Text
	whole, err := edit.Decode(edit.JSON, text)
	if err != nil {
		return nil, nil, edit.WithFile(file, err)
	}
	where := hubContainer(whole)
	switch {
	case len(whole) > 0:
	case slices.ContainsFunc(servers, opensFiles): // its tools would be there twice
		text = []byte(emptyHub)
	default:
		text = []byte(FirstHub)
	}
	if whole, err = edit.Decode(edit.JSON, text); err != nil {
		return nil, nil, edit.WithFile(file, err)
	}
	taken := edit.Table{}
	for _, m := range edit.Entries(whole, where) {
		t, _ := m.Value.(edit.Table)
		taken = append(taken, edit.Member{Name: m.Name, Value: spellEntry(m.Name, t)})
	}
	var out []Import
	used := referredTo(file, text)
	kept := func(name string) bool { return used[name] || to.Kept != nil && to.Kept(name) }
	for _, s := range servers {
		im := Import{Server: s, Notes: slices.Clone(s.Notes)}
		s.located = to.locateEntry(s.Entry)
		if im.Same = sameAs(taken, &s); im.Same != "" {
			im.Name = im.Same
			there, _ := taken.Get(im.Same).(edit.Table)
			im.Err = im.whyUnserved(there)
			out = append(out, im)
			continue
		}
		im.Name = freeName(taken, s)
		entry := im.claimInputs(s.Entry, kept)
		im.plain = entry
		taken = append(taken, edit.Member{Name: im.Name, Value: entry})
		entry, im.secrets, im.Moved = moveSecrets(im.Name, to.locateEntry(entry), kept)
		if secretURL(entry) {
			im.Plain = []string{"url"}
		}
		entry = to.withOwnRoots(entry)
		if roots := entry.Get("roots"); roots != nil {
			im.plain = im.plain.With("roots", roots) // a person sees it
		}
		im.written, im.Err = entry, im.whyUnserved(entry)
		if s.Disabled && !enabledElsewhere(servers, s) {
			entry = entry.With("disabled", true)
		}
		if text, _, err = edit.Apply(edit.JSON, text, where, edit.Change{Kind: edit.Put, Name: im.Name, Value: entry}); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, im)
	}
	if text, err = addInputs(file, text, out, inputs); err != nil {
		return nil, nil, err
	}
	return text, out, checkMerged(file, text, out, to.Env)
}

// withOwnRoots gives a server that is known to serve the files in directories of its arguments these
// directories for its own roots, so that it opens what it opened in its client, whatever roots the clients of the hub have. A relative one
// means where its client works, and one with wildcards would be a pattern: such a server has the client's roots.
func (to Target) withOwnRoots(entry edit.Table) edit.Table {
	if to.Directories == nil {
		return entry
	}
	command, _ := entry.Get("command").(string)
	list, _ := entry.Get("args").([]any)
	args := make([]string, len(list))
	for i, a := range list {
		args[i], _ = a.(string)
	}
	var dirs []any
	for _, dir := range to.Directories(command, args) {
		if !filepath.IsAbs(dir) && dir != "~" && !strings.HasPrefix(dir, "~/") || strings.ContainsAny(dir, "*?[") {
			return entry
		}
		dirs = append(dirs, dir)
	}
	if dirs == nil {
		return entry
	}
	return entry.With("roots", dirs)
}

func (to *Target) locateEntry(entry edit.Table) edit.Table {
	if to.Located == nil {
		return entry
	}
	return to.Located(entry)
}

// noneSet looks up variables of which none has a value, so that each default counts.
func noneSet(string) (string, bool) { return "", true }

// parseTwice parses a hub.json twice: with no variable set, so that defaults count, and with
// all of them set.
func parseTwice(file string, text []byte) (out []*config.File) {
	for _, values := range []func(string) (string, bool){noneSet, allSet} {
		if f, _, err := config.Parse(file, text, values); err == nil {
			out = append(out, f)
		}
	}
	return out
}

// referredTo returns the names of the secrets that a hub.json refers to or asks for.
func referredTo(file string, text []byte) map[string]bool {
	out := map[string]bool{}
	for _, f := range parseTwice(file, text) {
		for i := range f.Servers {
			for _, r := range f.Servers[i].References() {
				out[r.Name] = true
			}
		}
		for _, in := range f.Inputs {
			out[in.ID] = true
		}
	}
	return out
}

// claimInputs keeps the references of an entry to inputs of its own file, if nothing is
// kept under that name yet. Where something is, it was meant for another server, and the
// reference becomes text.
func (im *Import) claimInputs(entry edit.Table, kept func(string) bool) edit.Table {
	var text []string
	var fresh []string
	eachText(entry, func(s string) string {
		for _, id := range inputsIn(s) {
			if !kept(id) {
				fresh = append(fresh, id)
				im.Inputs = append(im.Inputs, id)
			}
		}
		return s
	})
	out, _ := asText(entry, fresh, &text).(edit.Table)
	if len(text) > 0 {
		im.Notes = append(im.Notes, strings.Join(text, ", ")+" stays text, because another server has a secret of that name; where this one may have it too, take the second $ before it out of hub.json")
		im.Server.unservable = "it asks for " + strings.Join(text, ", ") + ", which is a secret of another server"
		im.Server.escapedFrom = entry
	}
	return out
}

var inputReference = lazyregexp.New(`(\$?)\$\{input:([^}]+)\}`)

// inputsIn lists the ids of the inputs that a text refers to. A reference behind one more $
// is text.
func inputsIn(s string) (ids []string) {
	for _, found := range inputReference.FindAllStringSubmatch(s, -1) {
		if found[1] == "" {
			ids = append(ids, found[2])
		}
	}
	return ids
}

// hubContainer returns the part of a hub.json that holds its servers.
func hubContainer(whole edit.Table) edit.Container {
	for _, name := range []string{"mcpServers", "servers", "context_servers", "mcp_servers"} {
		if _, ok := whole.Get(name).(edit.Table); ok {
			return memberOf(name)
		}
	}
	return mcpServers
}

// spellEntry returns an entry of hub.json in its own spelling.
func spellEntry(name string, t edit.Table) edit.Table {
	out, _, err := translateEntry(name, t)
	if err != nil {
		return t
	}
	return out.Without("disabled")
}

// sameAs finds the server of hub.json that is the same as s; "" where none is. A secret that
// was moved out equals the plain text that it was. Keys that only hub.json may set do not
// count: a person may have set them since.
func sameAs(taken edit.Table, s *Server) string {
	for _, m := range taken {
		t, _ := m.Value.(edit.Table)
		t = slices.DeleteFunc(slices.Clone(t), func(key edit.Member) bool {
			_, theirs := clientsKeys[key.Name]
			return !s.Entry.Has(key.Name) && (!theirs || slices.ContainsFunc(s.Held, func(h HubKey) bool { return strings.HasPrefix(h.Key, key.Name+".") }))
		})
		for _, entry := range []edit.Table{s.Entry, s.escapedFrom, s.located} {
			if entry == nil {
				continue
			}
			moved, _, _ := moveSecrets(m.Name, entry, nil)
			if edit.Equal(withoutDefaults(t), withoutDefaults(entry)) || edit.Equal(dropNumbers(withoutDefaults(t)), withoutDefaults(moved)) || edit.Equal(withoutDefaults(t), withoutDefaults(moved)) || edit.Equal(unescapeReferences(withoutDefaults(t)), unescapeReferences(withoutDefaults(entry))) {
				return m.Name
			}
		}
	}
	return ""
}

// dropNumbers returns an entry without the number of a secret whose name was taken.
func dropNumbers(t edit.Table) edit.Table {
	out, _ := eachText(t, func(s string) string { return numbered.ReplaceAllString(s, "$1}") }).(edit.Table)
	return out
}

var numbered = lazyregexp.New(`(\$\{keyring:[^}]*)-[0-9]+\}`)

// withoutDefaults returns an entry without what some clients add by themselves: the
// usual transport and a time-out.
func withoutDefaults(t edit.Table) edit.Table {
	if kind := t.Get("type"); kind == "stdio" && t.Has("command") || kind == "http" && t.Has("url") {
		t = t.Without("type")
	}
	return t.Without("timeout")
}

func enabledElsewhere(all []Server, s Server) bool {
	return slices.ContainsFunc(all, func(o Server) bool {
		return !o.Disabled && edit.Equal(withoutDefaults(o.Entry), withoutDefaults(s.Entry))
	})
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
	at := edit.Container{Path: []string{"inputs"}, List: true}
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
		if text, _, err = edit.Apply(edit.JSON, text, at, edit.Change{Kind: edit.Put, Name: "#", Value: in}); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return text, nil
}

// checkMerged reads the new hub.json as serve would and notes what it cannot serve. It
// holds that no new entry refers to a secret that is not its own, whatever its
// variables are.
func checkMerged(file string, text []byte, imports []Import, env func(string) (string, bool)) error {
	for i := range imports {
		if imports[i].Same != "" {
			continue
		}
		for _, r := range entryReferences(imports[i].Name, imports[i].written) {
			if !imports[i].mayRefer(r) {
				return fmt.Errorf("%s: the server %s refers to %s, which only hub.json may; nothing was written", file, imports[i].Name, r)
			}
		}
	}
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
			im.DisabledInHub = true
		case s.Err != nil:
			im.Err = s.Err.Text
			if s.Err.Hint != "" {
				im.Err += "; " + s.Err.Hint
			}
		}
	}
	return nil
}

// whyUnserved returns why the hub cannot serve an import by the entry there: the client's
// entry has what that lacks. "": it can.
func (im *Import) whyUnserved(there edit.Table) string {
	text, asked := false, im.Server.unservable
	eachText(there, func(s string) string {
		text = text || textOfReference.MatchString(s)
		return s
	})
	eachText(im.Server.Entry, func(s string) string {
		if ids := inputsIn(s); asked == "" && len(ids) > 0 {
			asked = "it asks for ${input:" + ids[0] + "}, which is text in hub.json"
		}
		return s
	})
	switch {
	case text && asked != "":
		return asked
	case slices.ContainsFunc(im.Server.Held, func(h HubKey) bool { return h.Key == "envFile" }) && !there.Has("envFile"):
		return "its envFile is left out"
	case slices.ContainsFunc(im.Server.Held, func(h HubKey) bool { return h.Key == "headersFrom" }) && !there.Has("headersFrom"):
		return "its headersFrom is left out"
	}
	return ""
}

// entryReferences returns the entry references of an entry, whatever the variables in it are.
func entryReferences(name string, entry edit.Table) []reference.Ref {
	alone, err := json.Marshal(edit.Table{{Name: "mcpServers", Value: edit.Table{{Name: name, Value: entry}}}})
	if err != nil {
		return nil
	}
	var out []reference.Ref
	for _, f := range parseTwice("", alone) {
		for i := range f.Servers {
			for _, r := range f.Servers[i].References() {
				out = append(out, r.Ref)
			}
		}
	}
	return out
}

// mayRefer reports whether the new entry may hold a reference: one to a secret that was plain
// text in it, or to an input that its own file asks for.
func (im *Import) mayRefer(r reference.Ref) bool {
	switch r.Kind {
	case reference.Keyring:
		return slices.ContainsFunc(im.secrets, func(s secret) bool { return s.name == r.Name })
	case reference.Input:
		return slices.Contains(im.Inputs, r.Name)
	}
	return false
}

// Kept returns the secrets that went to the store, each with the name that it has there.
func (im *Import) Kept() []PlainSecret {
	out := make([]PlainSecret, len(im.secrets))
	for i, s := range im.secrets {
		out[i] = PlainSecret{im.Moved[i], s.name}
	}
	return out
}

// Secret returns the value of a secret that [StoreSecrets] has yet to keep, for its server.
func (im *Import) Secret(name string) (value string, ok bool) {
	for _, s := range im.secrets {
		if s.name == name {
			return s.value, true
		}
	}
	return "", false
}
