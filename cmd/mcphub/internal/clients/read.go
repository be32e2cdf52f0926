package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/internal/atomicfile"
)

// maxFile bounds a configuration. Claude Code keeps its history beside its servers.
const maxFile = 64 << 20

// Server is one server of a client, in the spelling of hub.json.
type Server struct {
	Name     string     // as the client has it
	Entry    edit.Table // without "disabled"
	Disabled bool
	Client   *Profile // nil if a file was named
	From     string   // its origin, if that is neither a client nor a file
	Project  string   // the folder that its client has it for, alone; "": all
	Held     []HubKey // keys of the file that only hub.json may set
	Notes    []string

	escapedFrom edit.Table // Entry before its references became text; nil: none did
	located     edit.Table // Entry with the path of its program, see Target
	unservable  string     // why the hub cannot serve it, because of what was held back
	key         string     // its name in the file
	place       Place
	where       edit.Container
	toggle      string
}

// Skipped is an entry that is not imported, and why.
type Skipped struct {
	Name string
	Why  string
}

// Inventory lists what the files of a client hold.
type Inventory struct {
	Client     *Profile
	Files      []string // the ones that are there
	Servers    []Server
	Skipped    []Skipped
	Registered string       // the name under which the hub is in it
	HubRoots   []string     // the folders that it is registered with there
	Toolsets   []string     // the toolsets that it is registered with there
	HubProgram []string     // the program that it starts as the hub, and its arguments
	Inputs     []edit.Table // questions of VS Code that entries refer to
	Err        error        // why it could not be read, where several are read
}

// IsInstalled reports whether a client seems to be on this machine: a file of it is
// there, or its folder.
func (c *Profile) IsInstalled(e Env) bool {
	marks := []string{}
	if c.marks != nil {
		marks = c.marks(e)
	}
	for i, p := range c.places(e) {
		marks = append(marks, p.File)
		if i == 0 && c.marks == nil {
			marks = append(marks, filepath.Dir(p.File))
		}
	}
	return slices.ContainsFunc(marks, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// Read lists the servers of a client. What cannot be read is an error that names the file.
func Read(c *Profile, e Env) (Inventory, error) {
	out := Inventory{Client: c}
	for _, p := range c.places(e) {
		data, err := readFile(p.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, p.File)
		whole, err := edit.Decode(p.Format, data)
		if err != nil {
			return out, edit.WithFile(p.File, err)
		}
		out.readServers(p, whole)
	}
	return out, nil
}

func readFile(path string) ([]byte, error) {
	f, err := atomicfile.Open(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d MiB", path, maxFile>>20)
	}
	return data, err
}

// readServers takes in the servers of a file.
func (f *Inventory) readServers(p Place, whole edit.Table) {
	f.noteInputs(whole)
	for _, at := range f.Client.tablesIn(whole, p) {
		for _, m := range edit.Entries(whole, at.where) {
			t, _ := m.Value.(edit.Table)
			f.addEntry(m.Name, t, f.Client.dialect, p, at)
		}
	}
}

// noteInputs remembers what a file asks a person for.
func (f *Inventory) noteInputs(whole edit.Table) {
	inputs, _ := whole.Get("inputs").([]any)
	for _, in := range inputs {
		if t, ok := in.(edit.Table); ok {
			f.Inputs = append(f.Inputs, t)
		}
	}
}

// secretsOf remembers the secrets that an entry of Continue refers to, which Continue
// keeps if no one else reads them.
func (f *Inventory) secretsOf(entry edit.Table) {
	eachText(entry, func(s string) string {
		for _, id := range inputsIn(s) {
			if !slices.ContainsFunc(f.Inputs, func(in edit.Table) bool { return in.Get("id") == id }) {
				f.Inputs = append(f.Inputs, edit.Table{{Name: "type", Value: "promptString"}, {Name: "id", Value: id},
					{Name: "description", Value: "the secret of that name in Continue"}, {Name: "password", Value: true}})
			}
		}
		return s
	})
}

// A serverTable is the place of one table of servers in a file. toggle is the key that
// turns an entry off.
type serverTable struct {
	where  edit.Container
	toggle string
}

// tablesIn returns where in a file the servers are, the first for the hub.
func (c *Profile) tablesIn(whole edit.Table, p Place) []serverTable {
	first := serverTable{p.Where, c.Switch}
	if c.Name == "opencode" { // its second version has them one table further down
		mcp, _ := whole.Get("mcp").(edit.Table)
		if in, ok := mcp.Get("servers").(edit.Table); ok && !in.Has("type") && !in.Has("command") {
			first = serverTable{edit.Container{Path: []string{"mcp", "servers"}}, "disabled"}
		}
	}
	out := []serverTable{first}
	if c.more != nil {
		for _, w := range c.more(whole) {
			if !slices.Equal(w.Path, first.where.Path) {
				out = append(out, serverTable{w, c.Switch})
			}
		}
	}
	return out
}

// addEntry reads an entry in the dialect of its client.
func (f *Inventory) addEntry(name string, t edit.Table, d dialect, p Place, at serverTable) {
	raw, ok := d.readEntry(t)
	if !ok {
		f.Skipped = append(f.Skipped, Skipped{name, "it is part of the client or an extension, not a server that another program can start"})
		return
	}
	shown := name
	if strings.HasPrefix(name, "#") {
		shown = guessName(raw)
	}
	if d.vars == varsContinue {
		f.secretsOf(raw)
	}
	var asks []string
	for _, in := range f.Inputs {
		if id, ok := in.Get("id").(string); ok && d.inputs {
			asks = append(asks, id)
		}
	}
	entry, held, text, problems, err := readForeign(shown, raw, asks)
	if err != nil {
		f.Skipped = append(f.Skipped, Skipped{shown, problemText(err)})
		return
	}
	entry = resolvePaths(entry, folderOf(p.File, at.where))
	resolveHeld(held, helperFolder(p.File, at.where))
	s := Server{Name: shown, Entry: entry, Held: held, key: name, Client: f.Client, place: p, where: at.where, toggle: at.toggle}
	if isHub(s.Entry) || isHubAt(name, s.Entry) {
		if f.Registered == "" {
			f.Registered, f.HubProgram = name, wordsOf(s.Entry)
			f.Toolsets = flagValues(f.HubProgram, ToolsetFlag)
			if dirs := flagValues(f.HubProgram, "--roots"); len(dirs) > 0 {
				f.HubRoots = strings.Split(dirs[0], ",")
			}
		}
		return
	}
	s.Disabled, _ = s.Entry.Get("disabled").(bool)
	s.Entry = s.Entry.Without("disabled")
	for _, p := range problems {
		if p.Severity != config.SeverityNote {
			s.Notes = append(s.Notes, strings.TrimPrefix(p.Key, "mcpServers."+shown+".")+": "+p.Text)
		}
	}
	if len(text) > 0 {
		s.escapedFrom = unescapeReferences(s.Entry)
		s.Notes = append(s.Notes, textNote(text))
		if d.vars == varsOpencode {
			s.unservable = "its client reads " + strings.Join(text, ", ") + ", and the hub does not"
		}
	}
	if len(at.where.Path) == 3 && at.where.Path[0] == "projects" {
		s.Project = at.where.Path[1]
		s.Notes = append(s.Notes, "it was for "+s.Project+" alone; now it is for every folder")
	}
	f.Servers = append(f.Servers, s)
}

// textNote returns what references became.
func textNote(all []string) string {
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ") + " stays text, because only hub.json refers to secrets; where the server may have it, take the second $ before it out of hub.json"
}

func problemText(err error) string {
	if p, ok := errors.AsType[*config.Problem](err); ok {
		return p.Text
	}
	return err.Error()
}

// guessName calls a server that has no name by its package or program.
func guessName(t edit.Table) string {
	args, _ := t.Get("args").([]any)
	for _, a := range args {
		if s, _ := a.(string); s != "" && !strings.HasPrefix(s, "-") {
			return config.ServerName(filepath.Base(s))
		}
	}
	if s, _ := t.Get("command").(string); s != "" {
		return config.ServerName(filepath.Base(s))
	}
	return "server"
}

// flagValues returns what a command line gives a flag.
func flagValues(words []string, flag string) (all []string) {
	for i, word := range words {
		if word == flag && i+1 < len(words) {
			all = append(all, words[i+1])
		}
	}
	return all
}

// ToolsetFlag is the flag of serve that names a toolset.
const ToolsetFlag = "--toolset"

// WithToolsets returns how clients start the hub, or reach it, to see some toolsets alone. A URL names one at most.
func (h Hub) WithToolsets(names []string) Hub {
	if h.Web != nil && len(names) > 0 {
		at := *h.Web
		at.URL = strings.TrimSuffix(at.URL, "/") + "/" + names[0]
		h.Web = &at
		return h
	}
	h.Args = slices.Clone(h.Args)
	for _, name := range names {
		h.Args = append(h.Args, ToolsetFlag, name)
	}
	return h
}

// isHub reports an entry that starts mcphub.
func isHub(t edit.Table) bool {
	words := wordsOf(t)
	program := slices.ContainsFunc(words, func(w string) bool {
		base := w[strings.LastIndexAny(w, `/\`)+1:]
		return base == HubName || base == HubName+".exe"
	})
	return program && slices.Contains(words, "serve")
}

// wordsOf returns the program of an entry and its arguments.
func wordsOf(t edit.Table) []string {
	words := []string{}
	if s, ok := t.Get("command").(string); ok {
		words = append(words, s)
	}
	args, _ := t.Get("args").([]any)
	for _, a := range args {
		if s, ok := a.(string); ok {
			words = append(words, s)
		}
	}
	return words
}
