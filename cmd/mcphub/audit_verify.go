package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit/trail"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
)

func auditVerifyCommand(from *auditSource) *cobra.Command {
	var heads []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that no line was changed, removed, inserted or moved",
		Long: "Follows the chain of every log in the folder and names the first line of each that is\n" +
			"not as it was written, or not where it was. The last line printed is the head of the\n" +
			"folder: keep it elsewhere, and --head FILE proves later that nothing before it was\n" +
			"rewritten, the whole folder included.",
		Example: "  mcphub audit verify | tee ~/elsewhere/head.txt\n  mcphub audit verify --head ~/elsewhere/head.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := from.auditFolder()
			if err != nil {
				return err
			}
			kept, err := keptHeads(heads)
			if err != nil {
				return err
			}
			report, err := trail.Verify(dir, kept...)
			if err != nil {
				return auditReadError(dir, err)
			}
			out := cmd.OutOrStdout()
			if asJSON {
				if err := layout.JSONLine(out, verifiedJSON(dir, report)); err != nil {
					return err
				}
			} else {
				for _, p := range report.Problems {
					p.File = filepath.Join(dir, p.File)
					layout.Println(out, printable.Escape(p.String(), 2000))
				}
				layout.Printf(out, "%d lines in %d logs, %d of them open, %d lines cut off by a crash and recognised\n", report.Lines, report.Logs, report.Open, report.Torn)
				if report.Removed > 0 {
					layout.Printf(out, "%d lines before were removed, as chain.jsonl states (audit.keep)\n", report.Removed)
				}
				if report.IsWhole() {
					layout.Printf(out, "whole; head %s\n", report.Head)
				}
			}
			if !report.IsWhole() {
				return fmt.Errorf("the record in %s is not whole", dir)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a file that holds what verify printed earlier; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// verifiedJSON returns the shape of verify --json.
func verifiedJSON(dir string, r *trail.Report) any {
	type problem struct {
		File string `json:"file"`
		Line int    `json:"line,omitempty"`
		Text string `json:"text"`
	}
	all := []problem{}
	for _, p := range r.Problems {
		all = append(all, problem{filepath.Join(dir, p.File), p.Line, p.Text})
	}
	return map[string]any{"whole": r.IsWhole(), "logs": r.Logs, "lines": r.Lines, "open": r.Open, "torn": r.Torn, "removed": r.Removed, "head": r.Head, "problems": all}
}

var headPattern = lazyregexp.New(`\b[0-9a-f]{64}\b`)

// keptHeads reads the heads out of files; one without any proves nothing.
func keptHeads(files []string) ([]string, error) {
	var all []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, exit.UsageErrorf("--head: %w", err)
		}
		found := headPattern.FindAllString(string(text), -1)
		if len(found) == 0 {
			return nil, exit.UsageErrorf("--head: %s holds no head (64 hexadecimal digits), so it proves nothing", name)
		}
		all = append(all, found...)
	}
	return all, nil
}
