package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children/offers"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/printable"
	"mcphub/internal/reference"
)

// completions offer to a shell what a word in the use of a command stands for. None of
// them starts a server.
var completions = []struct {
	word  string
	offer func(cmd *cobra.Command) ([]string, error)
}{
	{"SERVER", serverNames}, {"NAME", serverNames}, {"TOOL", toolNames}, {"CLIENT", func(*cobra.Command) ([]string, error) { return clientNames(), nil }},
}

// completeArguments has all commands below one complete their arguments. What a command
// completes by itself stays.
func completeArguments(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		completeArguments(cmd)
		if cmd.ValidArgsFunction != nil {
			continue
		}
		for _, c := range completions {
			at := strings.Index(cmd.Use, c.word)
			if at < 0 {
				continue
			}
			offer, many := c.offer, strings.HasPrefix(cmd.Use[at+len(c.word):], "...")
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				files := cobra.ShellCompDirectiveNoFileComp
				if strings.Contains(cmd.Use, "FILE") || strings.Contains(cmd.Use, "PATH") && len(args) > 0 {
					files = cobra.ShellCompDirectiveDefault
				}
				if len(args) > 0 && !many {
					return nil, files
				}
				names, err := offer(cmd)
				if err != nil {
					return nil, cobra.ShellCompDirectiveError
				}
				return slices.DeleteFunc(names, func(name string) bool {
					return slices.Contains(args, name) || printable.Escape(name, len(name)) != name
				}), files
			}
			break
		}
	}
}

// completeServer offers the servers of hub.json as the value of a flag.
func completeServer(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, err := serverNames(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeToolset offers the toolsets of hub.json as the value of a flag.
func completeToolset(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	file, err := sourceOf(cmd).Load(io.Discard)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(file.Toolsets)), cobra.ShellCompDirectiveNoFileComp
}

// configOf returns the hub.json that the command line names; "" for the one that is found.
func configOf(cmd *cobra.Command) string {
	path, _ := cmd.Flags().GetString("config") // "" if the command has no such flag
	return path
}

// sourceOf returns the place from which the hub.json of the command line is read.
func sourceOf(cmd *cobra.Command) *setup.Source {
	src := newSource()
	src.Config = configOf(cmd)
	return src
}

// serverNames returns the servers of hub.json.
func serverNames(cmd *cobra.Command) ([]string, error) {
	_, _, file, err := hubConfig(configOf(cmd))
	return fileServerNames(file), err
}

// toolNames returns the tools that the servers have offered so far, as far as their names
// fit whole, and the hub's own.
func toolNames(cmd *cobra.Command) ([]string, error) {
	made, err := sourceOf(cmd).Read(io.Discard, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	defer made.WaitForLogins()
	names := slices.Clone(ownTools)
	for i := range made.Hub.Children {
		c := &made.Hub.Children[i]
		for _, tool := range offers.KnownTools(made.Hub.Cache, c.Spec.Identity()) {
			names = append(names, c.Prefix+tool)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return len(name) > made.Hub.Names.Max }), nil
}

// secretNames returns the secrets that hub.json refers to: a shell asks no keyring.
func secretNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	file, err := sourceOf(cmd).Load(io.Discard)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range file.Servers {
		for _, r := range file.Servers[i].References() {
			if r.Kind != reference.File {
				names = append(names, r.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
