package main

import (
	"os"

	"github.com/spf13/cobra"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/caller"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// newSource returns where a command reads the configuration of a hub.
func newSource() *setup.Source {
	store := consentStore()
	return &setup.Source{Version: buildVersion(), Consent: store, Reach: store.Reach()}
}

// consentStore keeps what a person has accepted.
func consentStore() *consent.Store { return consent.New(rundir.State(os.Getenv)) }

// writeHub changes hub.json for the person who has called this program: every hub takes it
// for accepted. before is nil if there was none.
func writeHub(path string, before, after []byte, private bool) error {
	if err := caller.Self(caller.Want{}); err != nil {
		return exit.Errorf(exit.Failure, "%s is not changed: %w", path, err)
	}
	change, err := setup.Edit(consentStore(), path)
	if err != nil {
		return exit.ConfigErrorf("%w", err)
	}
	return change.Write(after, func() error { return clients.WriteHub(path, before, after, private) })
}

// configFlags are the flags of every command that reads hub.json.
func configFlags(cmd *cobra.Command, src *setup.Source) {
	flags := cmd.Flags()
	flags.StringVarP(&src.Config, "config", "c", "", "hub.json to read (default: $MCPHUB_CONFIG, then mcphub/hub.json in the user's configuration folder)")
	flags.StringVar(&src.Roots, "roots", "", "directories in scope for a client that gives none, separated by commas; patterns such as ~/work/* too")
	flags.StringArrayVar(&src.Set, "set", nil, "KEY=VALUE: a key of hub.json that counts for more than the file and the environment, such as roots.timeout=5s; repeatable")
	src.RootsGiven = func() bool { return cmd.Flags().Changed("roots") }
}

// toolsetFlag adds --toolset to a command, with its completion.
func toolsetFlag(cmd *cobra.Command, names *[]string, usage string) {
	const flag = "toolset"
	cmd.Flags().StringArrayVar(names, flag, nil, usage)
	if err := cmd.RegisterFlagCompletionFunc(flag, completeToolset); err != nil {
		panic(err) // it was defined above
	}
}

// askedRoots makes roots of directories as if a client had given them.
func askedRoots(paths []string) *rootsmgr.Snapshot {
	uris := make([]string, len(paths))
	for i, p := range paths {
		uris[i] = platform.Host().FormatURI(p)
	}
	return newRoots(rootsmgr.OriginAsked, uris)
}

func newRoots(origin rootsmgr.Origin, paths []string) *rootsmgr.Snapshot {
	entries := make([]rootsmgr.RootEntry, 0, len(paths))
	for _, p := range paths {
		entries = append(entries, rootsmgr.RootEntry{URI: p})
	}
	return rootsmgr.NewSnapshot(guard.OS{}, 1, origin, entries)
}
