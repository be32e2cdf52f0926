package main

import (
	"io"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/internal/printable"
	"mcphub/internal/spelling"
)

// checkServerName refuses a name that no server has.
func checkServerName(path, name string, have []string) error {
	if slices.Contains(have, name) {
		return nil
	}
	if best := spelling.Suggest(name, have); best != "" {
		return exit.NotFoundErrorf("%s has no server %q; did you mean %q?", path, name, best)
	}
	return exit.NotFoundErrorf("%s has no server %q; 'mcphub list' shows those that it has", path, name)
}

// fileServerNames lists the servers of a hub.json: as they are called in the hub, and as
// they are written if that is something else.
func fileServerNames(f *config.File) (names []string) {
	if f == nil { // there is none
		return nil
	}
	for i := range f.Servers {
		names = append(names, f.Servers[i].Name)
		if f.Servers[i].Key != f.Servers[i].Name {
			names = append(names, f.Servers[i].Key)
		}
	}
	return names
}

// hubServerNames returns the servers of a configuration, also the ones that cannot be started.
func hubServerNames(cfg *hub.Config) (names []string) {
	for i := range cfg.Children {
		names = append(names, cfg.Children[i].Spec.Name)
	}
	for _, b := range cfg.Broken {
		names = append(names, b.Name)
	}
	return names
}

// useDisabled has a command use those of its servers that hub.json disables, and reports them: a person tries them before they are enabled.
func useDisabled(src *setup.Source, say io.Writer, servers ...string) {
	for _, name := range src.Use(servers) {
		layout.Printf(say, "mcphub: %.100s is disabled in hub.json and runs for this command alone. To serve it: %s\n", name, src.CommandLine(printable.BuildCommand("enable", nil, name)...))
	}
}

// keepNamed leaves only the servers of these names; without one, all.
func keepNamed(cfg *hub.Config, names []string) error {
	for _, name := range names {
		if err := checkServerName("hub.json", name, hubServerNames(cfg)); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		cfg.Children = slices.DeleteFunc(slices.Clone(cfg.Children), func(c hub.Child) bool { return !slices.Contains(names, c.Spec.Name) })
		cfg.Broken = slices.DeleteFunc(slices.Clone(cfg.Broken), func(b hub.Broken) bool { return !slices.Contains(names, b.Name) })
	}
	return nil
}

// ownTools are the hub's own.
var ownTools = []string{"call-tool", "find-tools", "get-roots", "list-tools"}

func clientNames() []string {
	names := make([]string, len(clients.All))
	for i := range clients.All {
		names[i] = clients.All[i].Name
	}
	return names
}

// clientNamed finds a client, or reports which there are.
func clientNamed(name string) (*clients.Profile, error) {
	if c := clients.Find(name); c != nil {
		return c, nil
	}
	names := clientNames()
	if best := spelling.Suggest(name, names); best != "" {
		return nil, exit.NotFoundErrorf("there is no client %q; did you mean %q?", name, best)
	}
	return nil, exit.NotFoundErrorf("there is no client %q; there are %s", name, strings.Join(names, ", "))
}
