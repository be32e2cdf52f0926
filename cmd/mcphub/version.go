package main

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if !asJSON {
				layout.Printf(out, "mcphub %s (%s, %s/%s)\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return nil
			}
			return layout.JSONLine(out, map[string]any{
				"version": buildVersion(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				"protocolVersions": hub.ProtocolVersions(),
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// version is what this build calls itself: set by the linker in a release,
// else what the Go toolchain recorded.
var version = ""

// buildVersion is read once: every command has it, and to read it means to parse what the toolchain recorded.
var buildVersion = sync.OnceValue(func() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
})
