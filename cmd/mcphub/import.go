package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/internal/clients"
	"mcphub/internal/clients/edit"
	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/secrets"
	"mcphub/internal/setup"
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
			"not changed: `mcphub init` does that as well.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.start(cmd); err != nil {
				return err
			}
			found, err := w.sources(args)
			if err != nil {
				return err
			}
			return w.importAll(found)
		},
	}
	w.flags(cmd)
	return cmd
}

// sources reads what is named, or all clients.
func (w *clientWork) sources(args []string) ([]clients.Found, error) {
	if len(args) == 0 {
		return w.readAll(), nil
	}
	if c := clients.Find(args[0]); c != nil {
		found, err := clients.Read(c, w.env)
		if err != nil {
			return nil, exit.Errorf(exit.Config, "%w", err)
		}
		if len(found.Files) == 0 {
			return nil, exit.Errorf(exit.NotFound, "%s has no configuration here: %s is not there", c.Title, c.Places(w.env)[0].File)
		}
		return []clients.Found{found}, nil
	}
	if !isThere(args[0]) && !strings.ContainsAny(args[0], `/\.`) {
		_, err := clientNamed(args[0])
		return nil, err
	}
	found, err := clients.ReadFile(args[0], w.env)
	if err != nil {
		return nil, exit.Errorf(exit.Config, "%w", err)
	}
	return []clients.Found{found}, nil
}

// readAll reads every client on this machine. What cannot be read is said.
func (w *clientWork) readAll() []clients.Found {
	var out []clients.Found
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
	Server       string   `json:"server"` // as the client calls it
	From         string   `json:"from,omitempty"`
	State        string   `json:"state"` // imported, present, skipped
	As           string   `json:"as,omitempty"`
	Disabled     bool     `json:"disabled,omitempty"`
	Notes        []string `json:"notes,omitempty"`
	MovedSecrets []string `json:"movedSecrets,omitempty"`
	PlainSecrets []string `json:"plainSecrets,omitempty"`
	Error        string   `json:"error,omitempty"`
}

func (w *clientWork) importAll(found []clients.Found) error {
	m, err := w.merge(found)
	if err != nil {
		return err
	}
	w.tellUnread(found)
	m.show(w)
	if m.added() > 0 {
		if yes, err := w.agreed(fmt.Sprintf("Add %s to %s?", several(m.added(), "server"), w.short(m.path))); err != nil || !yes {
			return err
		}
		if err := m.write(w.secrets); err != nil {
			return err
		}
	}
	if w.asJSON {
		return layout.JSON(w.out, map[string]any{"config": m.path, "servers": m.reports(found)})
	}
	if m.added() == 0 {
		fmt.Fprintf(w.out, "Nothing to import: %s has all %s.\n", w.short(m.path), several(len(m.imports), "server"))
		return nil
	}
	fmt.Fprintf(w.out, "%s imported into %s.\n", several(m.added(), "server"), w.short(m.path))
	return nil
}

func (w *clientWork) tellUnread(found []clients.Found) {
	for _, f := range found {
		if f.Err != nil {
			fmt.Fprintf(w.say, "%s is left alone, its configuration cannot be read: %v\n", f.Client.Title, f.Err)
		}
	}
}

// merged is a hub.json that is to be written.
type merged struct {
	path          string
	before, after []byte
	imports       []clients.Import
}

func (w *clientWork) merge(found []clients.Found) (*merged, error) {
	path, text, err := w.hubFile()
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
	kept, err := w.kept(path, text)
	if err != nil {
		return nil, err
	}
	w.secrets = kept.Keeper(w.ctx)
	m := &merged{path: path, before: text}
	if m.after, m.imports, err = clients.Merge(path, text, servers, inputs, w.secrets != nil, os.LookupEnv); err != nil {
		return nil, exit.Errorf(exit.Config, "%w", err)
	}
	w.unanswered(m, kept)
	return m, nil
}

// kept is where the secrets are that hub.json refers to.
func (w *clientWork) kept(path string, text []byte) (*secrets.Store, error) {
	f := config.Default()
	if text != nil {
		var err error
		if f, _, err = config.Parse(path, text, os.LookupEnv); err != nil {
			return nil, exit.Errorf(exit.Config, "%w", err)
		}
	}
	kept := setup.Secrets(f, w.env.Home)
	kept.Wait = unlockTime
	return secrets.New(kept), nil
}

// asksFor finds what a client asked a person for, and the hub has not been told.
var asksFor = regexp.MustCompile(`\$\{input:([^}]+)\}`)

func (w *clientWork) unanswered(m *merged, kept *secrets.Store) {
	for i := range m.imports {
		im := &m.imports[i]
		raw, err := json.Marshal(im.Server.Entry)
		if err != nil || im.Err != "" {
			continue
		}
		for _, found := range asksFor.FindAllStringSubmatch(string(raw), -1) {
			if _, err := kept.Get(w.ctx, found[1]); err != nil {
				im.Err = err.Error()
			}
		}
	}
}

func (m *merged) added() int {
	n := 0
	for i := range m.imports {
		if m.imports[i].Same == "" {
			n++
		}
	}
	return n
}

func (m *merged) write(secrets clients.Secrets) error {
	if secrets != nil {
		if err := clients.Keep(m.imports, secrets); err != nil {
			return exit.Failed(err)
		}
	}
	plain := false
	for i := range m.imports {
		plain = plain || len(m.imports[i].Plain) > 0
	}
	return exit.Failed(clients.WriteHub(m.path, m.before, m.after, plain))
}

// from is where an import comes from, for people.
func from(s *clients.Server) string {
	if s.Client == nil {
		return "the file"
	}
	return s.Client.Title
}

// show lists what would be imported, by number.
func (m *merged) show(w *clientWork) {
	var rows [][]string
	n := 0
	for i := range m.imports {
		im := &m.imports[i]
		if im.Same != "" {
			continue
		}
		n++
		rows = append(rows, []string{strconv.Itoa(n), im.Name, from(&im.Server), summary(im.Server.Entry)})
	}
	if !w.yes {
		w.table(rows)
	}
	for i := range m.imports {
		im := &m.imports[i]
		switch {
		case im.Same != "" && im.Same != im.Server.Name:
			fmt.Fprintf(w.say, "%s of %s is the same as %s.\n", im.Server.Name, from(&im.Server), im.Same)
		case im.Same != "":
		case im.Name != im.Server.Name:
			fmt.Fprintf(w.say, "%s of %s is called %s.\n", im.Server.Name, from(&im.Server), im.Name)
		}
		if im.Same != "" {
			continue
		}
		for _, note := range im.Notes {
			fmt.Fprintf(w.say, "%s: %s\n", im.Name, note)
		}
		if len(im.Moved) > 0 {
			fmt.Fprintf(w.say, "%s: a secret is kept outside of hub.json (%s)\n", im.Name, strings.Join(im.Moved, ", "))
		}
		if len(im.Plain) > 0 {
			fmt.Fprintf(w.say, "%s: a secret stays in hub.json as plain text (%s); only you can read the file\n", im.Name, strings.Join(im.Plain, ", "))
		}
		if im.Err != "" {
			fmt.Fprintf(w.say, "%s: the hub cannot serve it yet: %s\n", im.Name, im.Err)
		}
	}
}

func (m *merged) reports(found []clients.Found) []importReport {
	out := []importReport{}
	for i := range m.imports {
		im := &m.imports[i]
		r := importReport{Server: im.Server.Name, State: "imported", As: im.Name, Disabled: im.Server.Disabled, Notes: im.Notes,
			MovedSecrets: im.Moved, PlainSecrets: im.Plain, Error: im.Err}
		if im.Same != "" {
			r.State = "present"
		}
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
