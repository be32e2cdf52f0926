package main

import (
	"encoding/csv"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/internal/audit/trail"
	"mcphub/internal/printable"
)

func auditExportCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var format, output string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write decisions with their outcomes as JSON lines or CSV",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i := slices.IndexFunc(exportFormats, func(f exportFormat) bool { return f.name == format })
			if i < 0 {
				return exit.Errorf(exit.Usage, "--format: %q is neither jsonl nor csv", format)
			}
			write := exportFormats[i].write
			all, by, err := from.readDecisions(&f)
			if err != nil {
				return err
			}
			if output == "" {
				return exit.Failed(write(cmd.OutOrStdout(), all, by))
			}
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return exit.Failed(err)
			}
			err = write(file, all, by)
			if e := file.Close(); err == nil {
				err = e
			}
			return exit.Failed(err)
		},
	}
	f.registerFlags(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	cmd.Flags().StringVarP(&output, "output", "o", "", "a file, readable by its owner only (default: standard output)")
	return cmd
}

// An exportFormat is one of export, and of the console.
type exportFormat struct {
	name, title, media string
	write              func(io.Writer, []trail.Decision, trail.Clients) error
}

var exportFormats = []exportFormat{
	{"jsonl", "JSON lines", "application/x-ndjson", exportJSON},
	{"csv", "CSV", "text/csv; charset=utf-8", exportCSV},
}

func exportJSON(w io.Writer, all []trail.Decision, by trail.Clients) error {
	p := auditPage{w: w, json: true, clients: by}
	for i := range all {
		if err := p.printDecision(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func exportCSV(w io.Writer, all []trail.Decision, _ trail.Clients) error {
	out := csv.NewWriter(w)
	const pathsColumn = 16
	rows := [][]string{{"time", "log", "n", "kind", "session", "request", "method", "child", "tool", "decision", "code", "rule", "by", "roots", "generation", "stale", "paths", "outcome", "us", "call", "kernel", "principal"}}
	for i := range all {
		r := rowOf(&all[i])
		var paths []string
		for _, f := range all[i].Findings {
			paths = append(paths, printable.Line(strings.TrimSpace(f.Role+" "+f.Path)))
		}
		rows = append(rows, []string{
			r.Time.Format(time.RFC3339Nano), r.Log, strconv.FormatUint(r.Line, 10), r.Kind, r.Session, string(r.Request), r.Method, r.Child, r.Tool,
			r.Decision, r.Code, r.Rule, r.By, r.Roots, strconv.FormatUint(r.Generation, 10), strconv.FormatBool(r.Stale),
			strings.Join(paths, "\n"), r.Outcome, strconv.FormatInt(r.US, 10), strconv.Itoa(r.Call), r.Kernel, r.Principal,
		})
	}
	for _, row := range rows {
		for i, cell := range row {
			if i != pathsColumn { // several lines, each of them made printable
				cell = printable.Line(cell)
				row[i] = cell
			}
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				row[i] = "'" + cell // a spreadsheet would take it for a formula
			}
		}
	}
	return out.WriteAll(rows)
}
