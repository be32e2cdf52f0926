package main

import (
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
)

func auditExportCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var format, output string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write decisions with their outcomes for other programs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			i := slices.IndexFunc(exportFormats, func(f exportFormat) bool { return f.name == format })
			if i < 0 {
				return exit.UsageErrorf("--format: %q is none of jsonl, csv, ocsf, ecs and cef", format)
			}
			pick, dir, err := from.pickDecisions(&f)
			if err != nil {
				return err
			}
			if output == "" {
				return auditReadError(dir, exportFormats[i].writeAll(cmd.OutOrStdout(), dir, pick))
			}
			if _, err := os.Stat(dir); err != nil {
				return auditReadError(dir, err)
			}
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return err
			}
			return errors.Join(exportFormats[i].writeAll(file, dir, pick), file.Close())
		},
	}
	f.registerFlags(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl, csv, or for a collector of security events ocsf, ecs or cef")
	cmd.Flags().StringVarP(&output, "output", "o", "", "a file, readable by its owner only (default: standard output)")
	return cmd
}
