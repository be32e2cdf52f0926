package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mcphub/internal/caller"
	"mcphub/internal/clients"
	"mcphub/internal/consent"
	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/printable"
	"mcphub/internal/setup"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// newSource returns where a command reads the configuration of a hub.
func newSource() *setup.Source {
	store := consentStore()
	return &setup.Source{Version: buildVersion(), Consent: store, Reach: store.Reach()}
}

// consentStore keeps what a person has accepted.
func consentStore() *consent.Store { return consent.In(setup.StateFolder(os.Getenv)) }

// writeHub changes hub.json for the person who has called this program: every hub takes it
// for accepted. before is nil where there was none.
func writeHub(path string, before, after []byte, private bool) error {
	if err := caller.Self(caller.Want{}); err != nil {
		return exit.Errorf(exit.Failure, "%s is not changed: %w", path, err)
	}
	change, err := setup.Edit(consentStore(), path)
	if err != nil {
		return exit.Errorf(exit.Config, "%w", err)
	}
	return exit.Failed(change.Write(after, func() error { return clients.WriteHub(path, before, after, private) }))
}

// configFlags are the flags of every command that reads hub.json.
func configFlags(cmd *cobra.Command, src *setup.Source) {
	cmd.Flags().StringVarP(&src.Config, "config", "c", "", "hub.json to read (default: $MCPHUB_CONFIG, then mcphub/hub.json in the user's configuration folder)")
	cmd.Flags().StringVar(&src.Roots, "roots", "", "directories in scope for a client that gives none, separated by commas; patterns such as ~/work/* too")
	cmd.Flags().StringArrayVar(&src.Set, "set", nil, "KEY=VALUE: a key of hub.json that counts for more than the file and the environment, such as roots.timeout=5s; repeatable")
	src.RootsGiven = func() bool { return cmd.Flags().Changed("roots") }
}

// jsonFlag is the flag of every command whose result is one JSON object where that is asked for.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "one JSON object; its shape is stable")
}

// shortID is the beginning of the id of a session, by which people tell it from others.
func shortID(id string) string { return printable.Escape(id[:min(8, len(id))], 8) }

// output prints the result of a command: as JSON, or for people by show.
func output(out io.Writer, asJSON bool, result any, show func()) error {
	if asJSON {
		return exit.Failed(layout.JSON(out, result))
	}
	show()
	return nil
}

// givenRoots makes the directories of --root absolute. An empty one is a
// variable that was not set, and must not become the working directory.
func givenRoots(given []string) ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, exit.Errorf(exit.Failure, "the working directory is gone: %w", err)
	}
	out := make([]string, 0, len(given))
	for _, p := range given {
		if p == "" {
			return nil, exit.Errorf(exit.Usage, "--root: the directory is empty")
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		out = append(out, p)
	}
	return out, nil
}

// existingRoots are the directories of --root, which must be there.
func existingRoots(given []string) ([]string, error) {
	roots, err := givenRoots(given)
	for _, r := range roots {
		if _, err := os.Stat(r); err != nil {
			return nil, exit.Errorf(exit.Usage, "--root: %w", err)
		}
	}
	return roots, err
}

func newRoots(origin rootsmgr.Origin, paths []string) *rootsmgr.Snapshot {
	entries := make([]rootsmgr.Entry, 0, len(paths))
	for _, p := range paths {
		entries = append(entries, rootsmgr.Entry{URI: p})
	}
	return rootsmgr.NewSnapshot(guard.OS{}, 1, origin, entries)
}
