package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
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
		Short: "Write decisions with their outcomes for other programs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i := slices.IndexFunc(exportFormats, func(f exportFormat) bool { return f.name == format })
			if i < 0 {
				return exit.Errorf(exit.Usage, "--format: %q is none of jsonl, csv, ocsf, ecs and cef", format)
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
				return exit.Failed(err)
			}
			return exit.Failed(errors.Join(exportFormats[i].writeAll(file, dir, pick), file.Close()))
		},
	}
	f.registerFlags(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl, csv, or for a collector of security events ocsf, ecs or cef")
	cmd.Flags().StringVarP(&output, "output", "o", "", "a file, readable by its owner only (default: standard output)")
	return cmd
}

// An exportFormat is one of export, and of the console.
type exportFormat struct {
	name, title, media string
	begin              func(io.Writer) func(*trail.Decision) error // returns what writes one decision after the other
}

var exportFormats = []exportFormat{
	{"jsonl", "JSON lines", "application/x-ndjson", func(w io.Writer) func(*trail.Decision) error {
		return (&auditPage{w: w, json: true}).printDecision
	}},
	{"csv", "CSV", "text/csv; charset=utf-8", beginCSV},
	{"ocsf", "OCSF", "application/x-ndjson", beginOCSF},
	{"ecs", "ECS", "application/x-ndjson", beginECS},
	{"cef", "CEF", "text/plain; charset=utf-8", beginCEF},
}

// writeAll writes the decisions of a folder that a filter picks, one after the other.
func (f *exportFormat) writeAll(w io.Writer, dir string, pick trail.Filter) error {
	return printDecisions(w, dir, pick, f.begin)
}

// printDecisions hands the decisions of a folder to what begin returns, as they are read, until it fails.
func printDecisions(w io.Writer, dir string, pick trail.Filter, begin func(io.Writer) func(*trail.Decision) error) error {
	out := bufio.NewWriterSize(w, 64<<10)
	print, wrong := begin(out), error(nil)
	err := trail.Each(dir, pick, func(d *trail.Decision) bool {
		wrong = print(d)
		return wrong == nil
	})
	return cmp.Or(wrong, err, out.Flush())
}

// csvPage writes decisions as CSV.
type csvPage struct{ out *csv.Writer }

// beginCSV writes the names of the columns.
func beginCSV(w io.Writer) func(*trail.Decision) error {
	p := csvPage{csv.NewWriter(w)}
	_ = p.writeRow(slices.Clone(csvColumns)) // the writer keeps its error for the next row, or for Flush
	return p.printDecision
}

const pathsColumn = 16

var csvColumns = []string{"time", "log", "n", "kind", "session", "request", "method", "child", "tool", "decision", "code", "rule", "by", "roots", "generation", "stale", "paths", "outcome", "us", "call", "kernel", "principal"}

func (p *csvPage) printDecision(d *trail.Decision) error {
	r := rowOf(d)
	var paths []string
	for _, f := range d.Findings {
		paths = append(paths, printable.Line(strings.TrimSpace(f.Role+" "+f.Path)))
	}
	return p.writeRow([]string{
		r.Time.Format(time.RFC3339Nano), r.Log, strconv.FormatUint(r.Line, 10), r.Kind, r.Session, string(r.Request), r.Method, r.Child, r.Tool,
		r.Decision, r.Code, r.Rule, r.By, r.Roots, strconv.FormatUint(r.Generation, 10), strconv.FormatBool(r.Stale),
		strings.Join(paths, "\n"), r.Outcome, strconv.FormatInt(r.US, 10), strconv.Itoa(r.Call), r.Kernel, r.Principal,
	})
}

func (p *csvPage) writeRow(row []string) error {
	for i, cell := range row {
		if i != pathsColumn { // several lines, each of them made printable
			cell = printable.Line(cell)
			row[i] = cell
		}
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			row[i] = "'" + cell // a spreadsheet would take it for a formula
		}
	}
	if err := p.out.Write(row); err != nil {
		return err
	}
	p.out.Flush()
	return p.out.Error()
}
