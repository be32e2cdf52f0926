package main

import (
	"cmp"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/progress"
	"mcphub/cmd/mcphub/internal/registry"
	"mcphub/internal/printable"
	"mcphub/internal/stdio"
)

// registryVariable names the registry if no flag does.
const registryVariable = "MCPHUB_REGISTRY"

// maxFound is how many servers a search lists if nothing else is said.
const maxFound = 20

func registryFlag(cmd *cobra.Command, address *string) {
	cmd.Flags().StringVar(address, "registry", "", "the address of the registry (default: $"+registryVariable+", then "+registry.Official+")")
}

func registryAt(address string) (*registry.Client, error) {
	c, err := registry.New(cmp.Or(address, os.Getenv(registryVariable), registry.Official))
	if err != nil {
		return nil, exit.UsageErrorf("%w", err)
	}
	return c, nil
}

// foundServer is one server of a search as JSON; its shape is stable.
type foundServer struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Ways        []string `json:"ways"` // npm, pypi, oci, remote and others
	Deprecated  bool     `json:"deprecated,omitempty"`
	Repository  string   `json:"repository,omitempty"`
}

func searchCommand() *cobra.Command {
	var address string
	var most int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Search a registry for servers",
		Long: "Lists the servers of a registry that have every word in their name, title or description;\n" +
			"the longest word stands in the name. Nothing is fetched but the list, and nothing is run.",
		Example: "  mcphub search weather\n  mcphub search github issues --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			c, err := registryAt(address)
			if err != nil {
				return err
			}
			if most < 1 {
				return exit.UsageErrorf("--limit is at least 1")
			}
			over := running.Watch(func() []progress.Step { return []progress.Step{{Name: "search", Phase: "asks the registry"}} })
			l, err := c.Search(cmd.Context(), words, most)
			over()
			if err != nil {
				return err
			}
			found := []foundServer{}
			for i := range l.Servers {
				s := &l.Servers[i]
				found = append(found, foundServer{s.Name, s.Title, s.Description, s.Version, s.Ways(), s.Status == registry.StatusDeprecated, s.Repository.URL})
			}
			if asJSON {
				return layout.JSON(cmd.OutOrStdout(), map[string]any{"servers": found, "more": l.More, "invalid": l.Invalid})
			}
			t := layout.NewTable(cmd.OutOrStdout())
			t.Head("NAME", "VERSION", "AS", "DESCRIPTION")
			for _, f := range found {
				t.Row(f.Name, printable.Escape(f.Version, 40), printable.Escape(strings.Join(f.Ways, " "), 60), layout.When(f.Deprecated, "(deprecated) ")+printable.Line(f.Description))
			}
			if len(found) > 0 {
				if err := t.Flush(); err != nil {
					return err
				}
			}
			say := cmd.ErrOrStderr()
			switch {
			case len(found) == 0:
				layout.Println(say, "Nothing was found.")
			case l.More:
				layout.Println(say, "There are more: add a word, or --limit.")
			}
			if l.Invalid > 0 {
				layout.Printf(say, "%s left out, whose entries are not valid.\n", pluralOf(l.Invalid, "server"))
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&most, "limit", maxFound, "list at most so many")
	registryFlag(cmd, &address)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// registryFlags are the flags of add for a server of a registry.
type registryFlags struct {
	address, use, name string
	set                []string
	yes                bool
}

func (r *registryFlags) registerFlags(cmd *cobra.Command) {
	registryFlag(cmd, &r.address)
	flags := cmd.Flags()
	flags.StringVar(&r.use, "use", "", "npm, pypi, oci or remote: which way of a registry's entry to take (default: the first that works here)")
	flags.StringVar(&r.name, "as", "", "its name in hub.json (default: the last part of its name in the registry)")
	flags.StringArrayVar(&r.set, "set", nil, "NAME=VALUE: a value that a registry's entry asks for; NAME alone: ask for it and keep it as a secret; repeatable")
	flags.BoolVarP(&r.yes, "yes", "y", false, "write a registry's entry without asking; the server is disabled")
}

// givenFlag names a flag that was given; "": none was.
func (r *registryFlags) givenFlag(cmd *cobra.Command) string {
	for _, name := range []string{"registry", "use", "as", "set", "yes"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// setOptions reads --set.
func (r *registryFlags) setOptions(name string) registry.Options {
	_, last, _ := strings.Cut(name, "/")
	o := registry.Options{Name: config.ServerName(cmp.Or(r.name, last)), Way: r.use, Set: map[string]string{}}
	for _, text := range r.set {
		if key, value, has := strings.Cut(text, "="); has {
			o.Set[key] = value
		} else {
			o.Ask = append(o.Ask, key)
		}
	}
	return o
}

// addServer adds a server of a registry: as import does with a file of a stranger.
func (r *registryFlags) addServer(cmd *cobra.Command, e *entryWork, name string, disabled bool) error {
	w := clientWork{config: e.config, yes: r.yes, asJSON: e.asJSON, noTry: e.noTry}
	if err := w.startWork(cmd); err != nil {
		return err
	}
	found, err := r.lookUp(&w, name)
	if err != nil {
		return err
	}
	found.Servers[0].Disabled = disabled
	return w.importAll([]clients.Inventory{found}, true)
}

// lookUp gets the entry of a server from the registry, and prints it. It fetches nothing else.
func (r *registryFlags) lookUp(w *clientWork, name string) (clients.Inventory, error) {
	var none clients.Inventory
	c, err := registryAt(r.address)
	if err != nil {
		return none, err
	}
	path, text, err := hubFile(w.config)
	if err != nil {
		return none, err
	}
	if w.secrets, err = w.secretStore(path, text); err != nil {
		return none, err
	}
	over := running.Watch(func() []progress.Step { return []progress.Step{{Name: name, Phase: "is looked up in the registry"}} })
	s, err := c.Latest(w.ctx, name)
	over()
	if errors.Is(err, registry.ErrNotFound) {
		return none, exit.NotFoundErrorf("%w: %s; look for it: mcphub search WORD", err, name)
	} else if err != nil {
		return none, err
	}
	o := r.setOptions(name)
	o.Taken = func(id string) bool {
		if strings.Contains(string(text), id) {
			return true
		}
		_, err := w.secrets.Get(w.ctx, id)
		return err == nil
	}
	in, err := s.Install(o)
	if err != nil {
		return none, exit.Errorf(exit.Failure, "%s cannot be added: %w", name, err)
	}
	w.showEntry(s, in)
	return clients.Inventory{Servers: []clients.Server{{Name: o.Name, Entry: in.Entry, From: "the registry", Notes: in.Notes}}, Inputs: in.Inputs}, nil
}

// showEntry reports what a registry says about a server, before what it amounts to in hub.json.
func (w *clientWork) showEntry(s *registry.Server, in *registry.Install) {
	layout.Printf(w.say, "%s %.255s  %s\n", s.Name, s.Version, printable.Line(cmp.Or(s.Title, s.Description)))
	if s.Title != "" {
		layout.Printf(w.say, "  %s\n", printable.Line(s.Description))
	}
	if s.Repository.URL != "" {
		layout.Printf(w.say, "  %.500s\n", s.Repository.URL)
	}
	for _, q := range in.Inputs {
		id, _ := q.Get("id").(string)
		description, _ := q.Get("description").(string)
		secret, _ := q.Get("password").(bool)
		layout.Printf(w.say, "  asks for %s%s%s\n", id, layout.When(secret, " (a secret)"), layout.WithPrefix(": ", description))
	}
}

// askInputs asks at the terminal for what imported servers ask for and what is not kept yet. What
// is left out can be said later, by mcphub secret set.
func (w *clientWork) askInputs(m *mergeResult) error {
	if w.in == nil || w.yes {
		return nil
	}
	for i := range m.imports {
		im := &m.imports[i]
		if im.Same != "" || im.Server.From == "" || im.Server.Disabled {
			continue
		}
		for _, id := range im.Inputs {
			_, unset := w.secrets.Get(w.ctx, id)
			if unset == nil {
				continue
			}
			if im.Err == unset.Error() { // see markUnanswered
				im.Err = ""
			}
			value, err := w.askInput(im, id)
			if err != nil {
				return err
			}
			if value == "" {
				im.Err = cmp.Or(im.Err, unset.Error())
			} else {
				m.answers[id] = value
			}
		}
	}
	return nil
}

// askInput asks for one value. At a terminal a secret is not shown.
func (w *clientWork) askInput(im *clients.Import, id string) (string, error) {
	question := id + " of " + im.Name + " (Enter: later)"
	if stdio.IsTerminal(os.Stdin) && w.in.Buffered() == 0 {
		return readTerminalLine(w.ctx, question, true)
	}
	return w.askPerson(question + ": ")
}
