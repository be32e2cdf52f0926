package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/internal/audit"
	"mcphub/internal/exit"
	"mcphub/internal/printable"
)

// auditRow is one decision as show --json and export give it; its shape is
// stable.
type auditRow struct {
	Time       time.Time       `json:"time"`
	Log        string          `json:"log"`
	Line       uint64          `json:"n"`
	Call       int             `json:"call,omitempty"` // of a line that tells of several, from 1
	Kind       string          `json:"kind"`
	Session    string          `json:"session"`
	Request    json.RawMessage `json:"request,omitempty"`
	Method     string          `json:"method"`
	Child      string          `json:"child"`
	Tool       string          `json:"tool,omitempty"`
	Decision   string          `json:"decision"`
	Code       string          `json:"code,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	By         string          `json:"by,omitempty"`
	Granted    any             `json:"granted,omitempty"`
	Roots      string          `json:"roots,omitempty"`
	Generation uint64          `json:"generation,omitempty"`
	Stale      bool            `json:"stale,omitempty"`
	Findings   any             `json:"findings,omitempty"`
	More       uint64          `json:"more,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Outcome    string          `json:"outcome,omitempty"`
	US         int64           `json:"us,omitempty"`
}

func rowOf(d *audit.Decision) auditRow {
	r := auditRow{
		Time: d.Time, Log: d.LogID, Line: d.Number, Call: d.Call, Kind: d.Kind, Session: d.Session, Request: d.Request, Method: methodOf(d), Child: d.Child, Tool: d.Tool,
		Decision: d.Decision, Code: d.Code, Rule: d.Rule, By: d.By, Roots: d.Roots, Generation: d.Generation, Stale: d.Stale,
		More: d.More, Arguments: d.Arguments, US: d.US,
	}
	if len(d.Findings) > 0 {
		r.Findings = d.Findings
	}
	if len(d.Granted) > 0 {
		r.Granted = d.Granted
	}
	if d.Outcome != nil {
		r.Outcome, r.US = d.Outcome.Result, d.Outcome.US
	}
	return r
}

func methodOf(d *audit.Decision) string {
	if d.Method == "" && d.Kind != audit.KindDefinition {
		return "tools/call"
	}
	return d.Method
}

// auditPage writes decisions for people, or as JSON.
type auditPage struct {
	w    io.Writer
	json bool
}

func (p *auditPage) decision(d *audit.Decision) error {
	if p.json {
		return json.NewEncoder(p.w).Encode(rowOf(d))
	}
	what := d.Tool
	if d.Method != "" {
		what = strings.TrimSpace(d.Method + " " + d.Tool)
	}
	text := d.Decision
	for _, more := range []string{d.Code, d.Rule} {
		if more != "" && !strings.Contains(text, more) {
			text += ", " + more
		}
	}
	switch d.Kind {
	case audit.KindQuestion:
		text = "asked: " + text
	case audit.KindDefinition:
		text = "defined otherwise than before: " + d.Code
	}
	if d.By != "" {
		text += ", by " + d.By
	}
	if d.Stale {
		text += ", roots stale"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s: %s", d.Time.Local().Format("2006-01-02 15:04:05.000"), printable.Escape(d.Session[:min(8, len(d.Session))], 8),
		printable.Escape(cmp.Or(d.Child, "-"), 60), printable.Escape(cmp.Or(what, "-"), 100), printable.Escape(text, 200))
	if d.Outcome != nil {
		fmt.Fprintf(&b, " -> %s in %s", printable.Escape(d.Outcome.Result, 20), d.Outcome.Took().Round(time.Microsecond))
	}
	for i, f := range d.Findings {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", uint64(len(d.Findings)-i)+d.More)
			break
		}
		where := "outside"
		if f.Inside {
			where = "inside"
		}
		fmt.Fprintf(&b, "\n    %s %s (%s) at %s", printable.Escape(cmp.Or(f.Role, "-"), 10), printable.Escape(cmp.Or(f.Path, "-"), 300), where, printable.Escape(f.At, 100))
	}
	for _, g := range d.Granted {
		what, path := "file", g.File
		if path == "" {
			what, path = "directory", g.Directory
		}
		fmt.Fprintf(&b, "\n    granted: to %s the %s %s", printable.Escape(g.Roles, 30), what, printable.Escape(path, 300))
	}
	_, err := fmt.Fprintln(p.w, b.String())
	return err
}

func auditExportCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var format, output string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write decisions with their outcomes as JSON lines or CSV",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write := map[string]func(io.Writer, []audit.Decision) error{"jsonl": exportJSON, "csv": exportCSV}[format]
			if write == nil {
				return exit.Errorf(exit.Usage, "--format: %q is neither jsonl nor csv", format)
			}
			all, err := from.decisions(&f)
			if err != nil {
				return err
			}
			if output == "" {
				return exit.Failed(write(cmd.OutOrStdout(), all))
			}
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return exit.Errorf(exit.Failure, "%w", err)
			}
			err = write(file, all)
			if e := file.Close(); err == nil {
				err = e
			}
			return exit.Failed(err)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	cmd.Flags().StringVarP(&output, "output", "o", "", "a file, readable by its owner only (default: standard output)")
	return cmd
}

func exportJSON(w io.Writer, all []audit.Decision) error {
	p := auditPage{w: w, json: true}
	for i := range all {
		if err := p.decision(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func exportCSV(w io.Writer, all []audit.Decision) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"time", "log", "n", "kind", "session", "request", "method", "child", "tool", "decision", "code", "rule", "by", "roots", "generation", "stale", "paths", "outcome", "us", "call"}}
	for i := range all {
		r := rowOf(&all[i])
		var paths []string
		for _, f := range all[i].Findings {
			paths = append(paths, strings.TrimSpace(f.Role+" "+f.Path))
		}
		rows = append(rows, []string{
			r.Time.Format(time.RFC3339Nano), r.Log, strconv.FormatUint(r.Line, 10), r.Kind, r.Session, string(r.Request), r.Method, r.Child, r.Tool,
			r.Decision, r.Code, r.Rule, r.By, r.Roots, strconv.FormatUint(r.Generation, 10), strconv.FormatBool(r.Stale),
			strings.Join(paths, "\n"), r.Outcome, strconv.FormatInt(r.US, 10), strconv.Itoa(r.Call),
		})
	}
	for _, row := range rows {
		for i, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				row[i] = "'" + cell // a spreadsheet would take it for a formula
			}
		}
	}
	return out.WriteAll(rows)
}
