package main

import (
	"github.com/spf13/cobra"
)

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read, check and export the record of every decision",
		Long: "Every hub records what it decided before it acts upon it, in a folder that all hubs of\n" +
			"a user share (audit.dir in hub.json). docs/audit-format.md describes the files.",
	}
	from := auditSource{src: newSource()}
	cmd.PersistentFlags().StringVarP(&from.src.Config, "config", "c", "", "hub.json that names the folder")
	cmd.PersistentFlags().StringVar(&from.dir, "dir", "", "the folder itself, be it a copy")
	cmd.AddCommand(auditTailCommand(&from), auditShowCommand(&from), auditVerifyCommand(&from), auditExportCommand(&from), auditReplayCommand(&from))
	return cmd
}
