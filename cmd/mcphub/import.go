package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/printable"
)

func importCommand() *cobra.Command {
	var w clientWork
	cmd := &cobra.Command{
		Use:   "import [CLIENT|FILE]",
		Short: "Copy the servers that a client has into hub.json",
		Long: "Reads the servers of a client, of a file in the form of any client (JSON with comments,\n" +
			"TOML, YAML), or of all clients on this machine, and adds them to hub.json. What hub.json\n" +
			"holds stays as it is. A server that is there already is not added again; one that has\n" +
			"the name of another gets the name of its client behind its own. The client's own file is\n" +
			"not changed: `mcphub init` does that as well. Each entry is shown whole before. References\n" +
			"to secrets in a file are text, and keys that only hub.json has are left out, unless you\n" +
			"allow each of them at the terminal. What is imported is started once, if the kernel\n" +
			"holds it, to see that it works (--no-try: it is not). What --yes takes over from a FILE\n" +
			"is not started, and is disabled until you have looked at it.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.startWork(cmd); err != nil {
				return err
			}
			found, err := w.readSources(args)
			if err != nil {
				return err
			}
			return w.importAll(found, len(args) > 0 && clients.Find(args[0]) == nil)
		},
	}
	w.registerFlags(cmd)
	cmd.Flags().BoolVar(&w.noTry, "no-try", false, "start nothing")
	return cmd
}

// readSources reads what is named, or all clients.
func (w *clientWork) readSources(args []string) ([]clients.Inventory, error) {
	if len(args) == 0 {
		return w.readAll(), nil
	}
	if c := clients.Find(args[0]); c != nil {
		found, err := clients.Read(c, w.env)
		if err != nil {
			return nil, exit.ConfigErrorf("%w", err)
		}
		if len(found.Files) == 0 {
			return nil, exit.NotFoundErrorf("%s has no configuration here: %s is not there", c.Title, c.Target(w.env).File)
		}
		return []clients.Inventory{found}, nil
	}
	if !pathExists(args[0]) && !strings.ContainsAny(args[0], `/\.`) {
		_, err := clientNamed(args[0])
		return nil, err
	}
	found, err := clients.ReadFile(args[0], w.env)
	if err != nil {
		return nil, exit.ConfigErrorf("%w", err)
	}
	return []clients.Inventory{found}, nil
}

// readAll reads every client on this machine. What cannot be read is said.
func (w *clientWork) readAll() []clients.Inventory {
	var out []clients.Inventory
	for _, c := range w.installedClients() {
		found, err := clients.Read(c, w.env)
		if err != nil {
			found.Err = err
		}
		out = append(out, found)
	}
	return out
}

// importReport is one server of the result in JSON.
type importReport struct {
	Server       string     `json:"server"` // as the client calls it
	From         string     `json:"from,omitempty"`
	State        string     `json:"state"` // imported, present, skipped
	As           string     `json:"as,omitempty"`
	Disabled     bool       `json:"disabled,omitempty"`
	Notes        []string   `json:"notes,omitempty"`
	Entry        edit.Table `json:"entry,omitempty"`     // what hub.json gets, secrets masked
	Variables    []string   `json:"variables,omitempty"` // of the hub's environment that the server gets
	LeftOut      edit.Table `json:"leftOut,omitempty"`   // keys of the hub alone that the file has
	MovedSecrets []string   `json:"movedSecrets,omitempty"`
	PlainSecrets []string   `json:"plainSecrets,omitempty"`
	Error        string     `json:"error,omitempty"`
	Trial        *tryReport `json:"trial,omitempty"`
}

// importAll adds servers to hub.json. stranger: others may have written them, in a file
// that was named or in a registry.
func (w *clientWork) importAll(found []clients.Inventory, stranger bool) error {
	if !stranger {
		if err := w.leaveProjects(found); err != nil {
			return err
		}
	}
	m, err := w.mergeFound(found)
	if err != nil {
		return err
	}
	w.tellUnread(found)
	m.showImports(w)
	if changed, err := w.askHeld(m, found); err != nil {
		return err
	} else if changed {
		if m, err = w.mergeFound(found); err != nil {
			return err
		}
	}
	if m.countAdded() > 0 {
		if yes, err := w.askDefaultYes(fmt.Sprintf("Add %s to %s?", pluralOf(m.countAdded(), "server"), w.shortPath(m.path))); err != nil || !yes {
			return err
		}
		switch {
		case stranger && w.yes: // no one has seen it
			if err := m.disableImported(); err != nil {
				return err
			}
		default:
			if err := w.askInputs(m); err != nil {
				return err
			}
			if w.noTry {
				break
			}
			if err := w.tryMerged(m, nil, true); err != nil {
				return err
			}
		}
		if err := w.writeMerge(m); err != nil {
			return err
		}
	}
	if w.asJSON {
		return layout.JSON(w.out, map[string]any{"config": m.path, "servers": m.importReports(found)})
	}
	if m.countAdded() == 0 {
		w.printResult("Nothing to import: %s has all %s.\n", w.shortPath(m.path), pluralOf(len(m.imports), "server"))
		return nil
	}
	w.printResult("%s imported into %s.\n", pluralOf(m.countAdded(), "server"), w.shortPath(m.path))
	for i := range m.imports {
		if im := &m.imports[i]; im.Same == "" && im.DisabledInHub {
			w.printResult("%s is disabled there, since --yes is no yes to what %s starts. Once you have looked at it: %s\n", im.Name, whatStarts(&im.Server), w.commandLine(printable.BuildCommand("enable", nil, im.Name)...))
		}
	}
	return nil
}

func (w *clientWork) tellUnread(found []clients.Inventory) {
	for _, f := range found {
		if f.Err != nil {
			w.tellPerson("%s is left alone, its configuration cannot be read: %v\n", f.Client.Title, f.Err)
		}
	}
}

// A mergeResult is a hub.json that is to be written.
type mergeResult struct {
	path          string
	before, after []byte
	imports       []clients.Import
	tried         map[string]*tryReport // by name; nil: none was
	answers       map[string]string     // to questions of servers, that have yet to be kept; by the name of the secret
}

// hasChanged reports whether hub.json is to be written.
func (m *mergeResult) hasChanged() bool { return hasChanges(m.before, m.after) }

// hasRunning reports whether there is a server that its client runs and the hub may serve.
func (m *mergeResult) hasRunning() bool {
	return slices.ContainsFunc(m.imports, func(im clients.Import) bool { return !im.Server.Disabled && im.Err == "" })
}

// unfinishedNames returns the servers that their clients run and that the hub cannot serve.
func (m *mergeResult) unfinishedNames() (names []string) {
	for i := range m.imports {
		im := &m.imports[i]
		if tried := m.tried[im.Name] != nil || im.Err != ""; tried && !im.Server.Disabled && m.stayReason(im) != "" && !slices.Contains(names, im.Name) {
			names = append(names, im.Name)
		}
	}
	return names
}

// disableImported has the hub serve none of what is imported.
func (m *mergeResult) disableImported() (err error) {
	for i := range m.imports {
		if im := &m.imports[i]; im.Same == "" {
			im.DisabledInHub = true
			if m.after, err = clients.DisableInHub(m.path, m.after, im.Name, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *clientWork) mergeFound(found []clients.Inventory) (*mergeResult, error) {
	path, text, err := hubFile(w.config)
	if err != nil {
		return nil, err
	}
	var servers []clients.Server
	var inputs []edit.Table
	for _, f := range found {
		if f.Err == nil {
			servers, inputs = append(servers, f.Servers...), append(inputs, f.Inputs...)
		}
	}
	kept, err := w.secretStore(path, text)
	if err != nil {
		return nil, err
	}
	w.secrets = kept
	m := &mergeResult{path: path, before: text, answers: map[string]string{}}
	to := clients.Target{File: path, Text: text, Env: os.LookupEnv, Directories: setup.DirectoriesOf, Located: func(entry edit.Table) edit.Table { return locateProgram(w.env, entry) }, Kept: func(name string) bool {
		_, err := kept.Get(w.ctx, name)
		return err == nil
	}}
	if m.after, m.imports, err = clients.Merge(to, servers, inputs); err != nil {
		return nil, exit.ConfigErrorf("%w", err)
	}
	w.markUnanswered(m, kept)
	return m, nil
}

// secretStore returns the store of the secrets that hub.json refers to.
func (w *clientWork) secretStore(path string, text []byte) (*secrets.Store, error) {
	f := config.Default()
	if text != nil {
		var err error
		if f, _, err = config.Parse(path, text, os.LookupEnv); err != nil {
			return nil, exit.ConfigErrorf("%w", err)
		}
	}
	kept := setup.Secrets(f, w.env.Home)
	kept.Wait = unlockTime
	return secrets.New(kept), nil
}

// markUnanswered sets Err of each import that needs an input for which no value is kept.
func (w *clientWork) markUnanswered(m *mergeResult, kept *secrets.Store) {
	for i := range m.imports {
		im := &m.imports[i]
		if im.Err != "" {
			continue
		}
		for _, id := range im.Inputs {
			if _, err := kept.Get(w.ctx, id); err != nil {
				im.Err = err.Error()
			}
		}
	}
}

// askHeld asks about each key of the hub alone that a file has. --yes is no yes to
// them, and if no one can be asked they are left out. changed: some are taken over.
func (w *clientWork) askHeld(m *mergeResult, found []clients.Inventory) (changed bool, err error) {
	if w.yes || w.in == nil {
		return false, nil
	}
	n := 0
	for i := range found {
		if found[i].Err != nil {
			continue
		}
		for j := range found[i].Servers {
			im := &m.imports[n]
			n++
			if im.Same != "" {
				continue
			}
			for _, h := range found[i].Servers[j].Held {
				yes, err := w.askDefaultNo(fmt.Sprintf("%s: the file sets %s to %s. Allow that?", im.Name, h.Key, asJSONLine(h.Value)))
				if err != nil {
					return false, err
				}
				if yes {
					found[i].Servers[j].Allow(h)
					changed = true
				}
			}
		}
	}
	return changed, nil
}

func (m *mergeResult) countAdded() int {
	n := 0
	for i := range m.imports {
		if m.imports[i].Same == "" {
			n++
		}
	}
	return n
}

// writeMerge keeps the secrets of what is imported, and writes hub.json.
func (w *clientWork) writeMerge(m *mergeResult) error {
	if err := clients.StoreSecrets(m.imports, func(name, value string) error {
		_, _, err := w.secrets.Set(w.ctx, name, value)
		return err
	}, func(name string) error { return w.secrets.Delete(w.ctx, name) }); err != nil {
		return err
	}
	for name, value := range m.answers {
		if _, _, err := w.secrets.Set(w.ctx, name, value); err != nil {
			return err
		}
	}
	plain := slices.ContainsFunc(m.imports, func(im clients.Import) bool { return len(im.Plain) > 0 })
	if err := m.keepConfirmed(); err != nil { // first: a hub reads hub.json as soon as it is written
		return err
	}
	return writeHub(m.path, m.before, m.after, plain)
}

// keepConfirmed keeps what was confirmed during the trials.
func (m *mergeResult) keepConfirmed() error {
	for _, r := range m.tried {
		if err := r.keepConfirmed(); err != nil {
			return err
		}
	}
	return nil
}

// sourceTitle returns the origin of an import, for people.
func sourceTitle(s *clients.Server) string {
	if s.Client == nil {
		return cmp.Or(s.From, "the file")
	}
	return s.Client.Title
}

// whatStarts names the origin of a command that a stranger wrote: a registry or a file.
func whatStarts(s *clients.Server) string {
	if s.From != "" {
		return "an entry of a registry"
	}
	return "a file"
}

// showImports lists what would be imported, by number, each entry whole. If w is brief, an entry takes
// one line if a person chooses, and none with --yes.
func (m *mergeResult) showImports(w *clientWork) {
	n := 0
	var kept []string
	for i := range m.imports {
		im := &m.imports[i]
		if im.Same != "" {
			continue
		}
		n++
		if w.brief {
			if line := fmt.Sprintf("  %d  %s  %s  %s", n, im.Name, sourceTitle(&im.Server), commandOf(im)); !w.yes {
				layout.Println(w.say, w.cutLine(line))
			}
			continue
		}
		w.tellPerson("  %d  %s  %s\n", n, im.Name, sourceTitle(&im.Server))
		for _, row := range rowsOf(im.Shown(), im.Server.Entry) {
			w.tellPerson("       %-9s %s\n", row[0], row[1])
		}
	}
	for i := range m.imports {
		im := &m.imports[i]
		switch {
		case im.Same != "" && im.Same != im.Server.Name:
			w.tellPerson("%s of %s is the same as %s.\n", im.Server.Name, sourceTitle(&im.Server), im.Same)
		case im.Same != "":
		case im.Name != im.Server.Name:
			w.tellPerson("%s of %s is called %s.\n", im.Server.Name, sourceTitle(&im.Server), im.Name)
		}
		if im.Same != "" {
			continue
		}
		for _, note := range im.Notes {
			w.tellPerson("%s: %s\n", im.Name, note)
		}
		if left := leftOut(im); len(left) > 0 {
			w.tellPerson("%s: left out, since only hub.json and you say this: %s\n", im.Name, strings.Join(left, "; "))
		}
		for _, s := range im.Kept() {
			if kept = append(kept, s.Name); w.brief {
				continue
			}
			w.tellPerson("%s: the secret of %s is kept outside of hub.json, as %s\n", im.Name, s.Key, s.Name)
		}
		if len(im.Plain) > 0 {
			w.tellPerson("%s: a secret stays in hub.json as plain text (%s); only you can read the file\n", im.Name, strings.Join(im.Plain, ", "))
		}
		if im.Err != "" {
			w.tellPerson("%s: the hub cannot serve it yet: %s\n", im.Name, im.Err)
		}
	}
	if w.brief && len(kept) > 0 {
		w.tellPerson("kept outside of hub.json, since they are secrets: %s\n", strings.Join(kept, ", "))
	}
}

// commandOf returns the command line of an entry, or its address.
func commandOf(im *clients.Import) string {
	var words []string
	for _, m := range im.Shown() {
		switch v := m.Value.(type) {
		case string:
			if m.Name == "command" || m.Name == "url" {
				words = slices.Insert(words, 0, v)
			}
		case []any:
			for _, part := range v {
				if word, is := part.(string); is && m.Name == "args" {
					words = append(words, word)
				}
			}
		}
	}
	return printable.CommandLine(words)
}

// cutLine shortens a line to the width of the terminal.
func (w *clientWork) cutLine(line string) string {
	if columns := layout.Columns(w.say); columns > 1 {
		return layout.Cut(line, columns-1)
	}
	return line
}

// leftOut returns the keys that a file has and that are not taken over.
func leftOut(im *clients.Import) []string {
	var out []string
	for _, h := range im.Server.Held {
		out = append(out, h.Key+" "+asJSONLine(h.Value))
	}
	return out
}

// rowsOf returns an entry in lines, as it is shown: what starts, with every argument and variable.
func rowsOf(shown, entry edit.Table) [][2]string {
	var rows [][2]string
	text := func(v any) string {
		if s, is := v.(string); is {
			return s
		}
		return asJSONLine(v)
	}
	add := func(name string, v any) { rows = append(rows, [2]string{name, escapeText(text(v))}) }
	for _, m := range shown {
		switch v := m.Value.(type) {
		case []any:
			for _, part := range v {
				add(strings.TrimSuffix(m.Name, "s"), part)
			}
		case edit.Table:
			for _, part := range v {
				add(strings.TrimSuffix(m.Name, "s"), part.Name+"="+text(part.Value))
			}
		default:
			add(m.Name, v)
		}
	}
	for _, name := range clients.Variables(entry) {
		add("gets", "the variable "+name+" of the hub's environment")
	}
	return rows
}

func (m *mergeResult) importReports(found []clients.Inventory) []importReport {
	out := []importReport{}
	for i := range m.imports {
		im := &m.imports[i]
		r := importReport{Server: im.Server.Name, State: "imported", As: im.Name, Disabled: im.Server.Disabled || im.DisabledInHub, Trial: m.tried[im.Name], Notes: im.Notes,
			MovedSecrets: im.Moved, PlainSecrets: im.Plain, Error: im.Err}
		if im.Same != "" {
			r.State = "present"
		} else {
			r.Entry, r.Variables = im.Shown(), clients.Variables(im.Server.Entry)
			for _, h := range im.Server.Held {
				r.LeftOut = append(r.LeftOut, edit.Member{Name: h.Key, Value: h.Value})
			}
		}
		r.From = im.Server.From
		if im.Server.Client != nil {
			r.From = im.Server.Client.Name
		}
		out = append(out, r)
	}
	for _, f := range found {
		for _, s := range f.Skipped {
			r := importReport{Server: s.Name, State: "skipped", Notes: []string{s.Why}}
			if f.Client != nil {
				r.From = f.Client.Name
			}
			out = append(out, r)
		}
	}
	return out
}
