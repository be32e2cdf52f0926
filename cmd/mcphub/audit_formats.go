package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/printable"
)

// This file has the formats in which decisions are exported, and the page that people read.

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

// The three forms below are for collectors of security events. docs/audit.md has a table of their members.

// exportedDecision is a decision as all three forms see it.
type exportedDecision struct {
	auditRow
	id       string // names the decision: log, line and call
	action   string // what was asked for
	denied   bool
	result   string // success, failure, unknown
	severity int    // 1 informational, 3 medium
}

func newExportedDecision(d *trail.Decision) exportedDecision {
	e := exportedDecision{auditRow: rowOf(d), result: "unknown", severity: 1}
	e.id = e.Log + ":" + strconv.FormatUint(e.Line, 10)
	if e.Call > 0 {
		e.id += ":" + strconv.Itoa(e.Call)
	}
	e.action = cmp.Or(e.Method, e.Kind)
	switch {
	case e.Kind != audit.KindDecision && e.Kind != audit.KindRejection && e.Kind != audit.KindRefusal:
	case e.Kind == audit.KindRefusal || e.Decision != "allow":
		e.denied, e.result, e.severity = true, "failure", 3
	case e.Outcome == audit.ResultOK || e.Outcome == audit.ResultAnswered:
		e.result = "success"
	case e.Outcome != "":
		e.result = "failure"
	}
	return e
}

// reason returns why it was decided so.
func (e *exportedDecision) reason() string { return cmp.Or(e.Why, e.Code, e.Rule) }

// paths returns the paths that were found.
func (e *exportedDecision) paths() (all []string) {
	for _, f := range e.Findings {
		if f.Path != "" {
			all = append(all, f.Path)
		}
	}
	return all
}

type object = map[string]any

// withoutEmpty leaves out members without a value, at any depth.
func withoutEmpty(o object) object {
	for name, v := range o {
		switch v := v.(type) {
		case string:
			if v == "" {
				delete(o, name)
			}
		case []string:
			if len(v) == 0 {
				delete(o, name)
			}
		case object:
			if len(withoutEmpty(v)) == 0 {
				delete(o, name)
			}
		}
	}
	return o
}

// beginOCSF writes events of the class API Activity (6003) of the Open Cybersecurity Schema Framework, one a line.
func beginOCSF(w io.Writer) func(*trail.Decision) error {
	version := buildVersion()
	return func(d *trail.Decision) error {
		e := newExportedDecision(d)
		const class, other = 6003, 99
		status, action, disposition := 0, 0, 0
		switch {
		case e.denied:
			status, action, disposition = 2, 2, 2
		case e.Decision == "allow":
			action, disposition = 1, 1
		}
		if e.result == "success" {
			status = 1
		} else if e.result == "failure" {
			status = 2
		}
		var resources []object
		for _, path := range e.paths() {
			resources = append(resources, object{"name": path, "type": "file"})
		}
		out := withoutEmpty(object{
			"class_uid": class, "category_uid": class / 1000, "activity_id": other, "activity_name": e.action, "type_uid": class*100 + other,
			"time": e.Time.UnixMilli(), "severity_id": e.severity, "status_id": status, "action_id": action, "disposition_id": disposition,
			"status_detail": e.reason(), "duration": e.US / 1000,
			"metadata":      object{"version": "1.3.0", "uid": e.id, "product": object{"name": "mcphub", "vendor_name": "mcphub", "version": version}, "log_name": "audit"},
			"actor":         object{"user": object{"name": e.Principal}, "session": object{"uid": e.Session}, "app_name": e.Name},
			"api":           object{"operation": cmp.Or(e.Tool, e.action), "service": object{"name": cmp.Or(e.Child, "mcphub")}, "request": object{"uid": string(e.Request)}},
			"src_endpoint":  object{"ip": e.Address, "name": "client"},
			"http_request":  object{"user_agent": e.Agent},
			"firewall_rule": object{"name": e.Rule}, "unmapped": object{"by": e.By, "approver": e.Approver, "outcome": e.Outcome, "kind": e.Kind, "decision": e.Decision, "code": e.Code},
		})
		if len(resources) > 0 {
			out["resources"] = resources
		}
		return layout.JSONLine(w, out)
	}
}

// beginECS writes events of the Elastic Common Schema, one a line.
func beginECS(w io.Writer) func(*trail.Decision) error {
	return func(d *trail.Decision) error {
		e := newExportedDecision(d)
		kind, types := "event", []string{"access"}
		switch {
		case e.denied:
			types = append(types, "denied")
		case e.Decision == "allow":
			types = append(types, "allowed")
		}
		paths := e.paths()
		first := ""
		if len(paths) > 0 {
			first = paths[0]
		}
		var users, addresses []string
		if e.Principal != "" {
			users = []string{e.Principal}
		}
		if e.Address != "" {
			addresses = []string{e.Address}
		}
		out := withoutEmpty(object{
			"@timestamp": e.Time.UTC().Format(time.RFC3339Nano), "ecs": object{"version": "8.17.0"},
			"event": object{
				"kind": kind, "category": []string{"api"}, "type": types, "action": e.action, "outcome": e.result, "id": e.id, "reason": e.reason(), "module": "mcphub",
				"dataset": "mcphub.audit", "duration": e.US * 1000,
			},
			"user": object{"name": e.Principal}, "source": object{"ip": e.Address, "address": e.Address}, "user_agent": object{"original": e.Agent},
			"service": object{"name": e.Child, "type": "mcp"}, "rule": object{"name": e.Rule}, "file": object{"path": first}, "trace": object{"id": traceID(e.Parent)},
			"related": object{"user": users, "ip": addresses},
			"mcphub":  object{"session": e.Session, "client": e.Name, "tool": e.Tool, "decision": e.Decision, "code": e.Code, "by": e.By, "approver": e.Approver, "outcome": e.Outcome, "kind": e.Kind, "paths": paths},
		})
		return layout.JSONLine(w, out)
	}
}

// traceID returns the id of the trace in a traceparent.
func traceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 {
		return ""
	}
	return parts[1]
}

// beginCEF writes events of the Common Event Format, one a line.
func beginCEF(w io.Writer) func(*trail.Decision) error {
	version := buildVersion()
	return func(d *trail.Decision) error {
		e := newExportedDecision(d)
		var b strings.Builder
		b.WriteString("CEF:0")
		for _, part := range []string{"mcphub", "mcphub", version, strings.TrimSuffix(e.Kind+":"+e.Decision, ":"), strings.TrimSpace(e.action + " " + e.Tool), strconv.Itoa(2*e.severity + 1)} {
			b.WriteString("|" + cefHead.Replace(printable.Line(part)))
		}
		b.WriteByte('|')
		between := ""
		for _, m := range [][2]string{
			{"rt", strconv.FormatInt(e.Time.UnixMilli(), 10)}, {"externalId", e.id}, {"act", e.Decision}, {"outcome", e.result}, {"reason", e.reason()},
			{"suser", e.Principal}, {"src", e.Address}, {"requestClientApplication", cmp.Or(e.Agent, e.Name)}, {"dproc", e.Child}, {"requestMethod", e.Method},
			{"filePath", strings.Join(e.paths(), " ")}, {"cs1Label", "tool"}, {"cs1", e.Tool}, {"cs2Label", "rule"}, {"cs2", e.Rule}, {"cs3Label", "session"}, {"cs3", e.Session},
			{"cs4Label", "client"}, {"cs4", e.Name}, {"cs5Label", "approvedBy"}, {"cs5", strings.TrimSpace(e.By + " " + e.Approver)}, {"cs6Label", "result"}, {"cs6", e.Outcome},
			{"cn1Label", "microseconds"}, {"cn1", strconv.FormatInt(e.US, 10)},
		} {
			if m[1] == "" {
				continue
			}
			b.WriteString(between + m[0] + "=" + cefValue.Replace(printable.Line(m[1])))
			between = " "
		}
		return layout.Printf(w, "%s\n", b.String())
	}
}

var (
	cefHead  = strings.NewReplacer(`\`, `\\`, `|`, `\|`)
	cefValue = strings.NewReplacer(`\`, `\\`, `=`, `\=`)
)

// auditRow is one decision as show --json and export give it; its shape is
// stable.
type auditRow struct {
	Time             time.Time       `json:"time"`
	Log              string          `json:"log"`
	Line             uint64          `json:"n"`
	Call             int             `json:"call,omitempty"` // of a line that tells about several, from 1
	Kind             string          `json:"kind"`
	Session          string          `json:"session"`
	Principal        string          `json:"principal,omitempty"` // whose session it is
	audit.ClientInfo                 // which client has come with it
	Request          json.RawMessage `json:"request,omitempty"`
	audit.Trace
	Method   string `json:"method"`
	Child    string `json:"child"` // this and the next one stand in DecisionFields too, and are written here also if they are empty
	Decision string `json:"decision"`
	audit.DecisionFields
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Outcome   string          `json:"outcome,omitempty"`
	US        int64           `json:"us,omitempty"`

	Status     int    `json:"status,omitempty"` // this and the next two: of a request that the HTTP front has refused
	Suppressed int    `json:"suppressed,omitempty"`
	Why        string `json:"why,omitempty"`
}

func rowOf(d *trail.Decision) auditRow {
	r := auditRow{
		Time: d.Time, Log: d.LogID, Line: d.Number, Call: d.Call, Kind: d.Kind, Session: d.Session, Principal: d.Principal, Request: d.Request, Trace: d.Trace, Method: d.RequestMethod(),
		ClientInfo: d.ClientInfo, Child: d.Child, Decision: d.Decision, DecisionFields: d.DecisionFields, Arguments: d.Arguments, US: d.Micros,
	}
	if d.Kind == audit.KindRejection {
		r.Status, r.Suppressed, r.Why = d.Status, d.Suppressed, d.Why
	}
	if d.Outcome != nil {
		r.Outcome, r.US = d.Outcome.Result, d.Outcome.Micros
	}
	return r
}

// auditPage writes decisions for people, or as JSON.
type auditPage struct {
	w    io.Writer
	json bool
	rows *watchedRows // takes them instead of w; nil: w does
}

func (p *auditPage) printDecision(d *trail.Decision) error {
	if p.json {
		return layout.JSONLine(p.w, rowOf(d))
	}
	by := sharedClient(&d.Event)
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
	case audit.KindEnded:
		text = "the session was ended"
	case audit.KindRejection:
		what = "HTTP"
		text = fmt.Sprintf("refused with %d, %s", d.Status, d.Code) + layout.When(d.Suppressed > 0, fmt.Sprintf(", and %d before it", d.Suppressed)) + layout.WithPrefix(": ", d.Why)
	}
	if d.By != "" {
		text += ", by " + d.By + layout.WithPrefix(" ", d.Approver)
	}
	if d.Kernel != "" {
		text += ", kernel " + d.Kernel
	}
	if d.Stale {
		text += ", roots stale"
	}
	var b strings.Builder
	layout.Printf(&b, "%s %s%s%s %.60s %.100s: %.200s", d.Time.Local().Format("2006-01-02 15:04:05.000"), shortID(d.Session), layout.WithPrefix(" ", principalText(d.Principal)), layout.When(clientText(by) != "", " ("+clientText(by)+")"),
		cmp.Or(d.Child, "-"), cmp.Or(what, "-"), text)
	if d.Outcome != nil {
		layout.Printf(&b, " -> %.20s in %s", d.Outcome.Result, d.Outcome.Duration().Round(time.Microsecond))
	}
	for i, f := range d.Findings {
		if i == 8 {
			layout.Printf(&b, " and %d more", len(d.Findings)-i+d.More)
			break
		}
		where := "outside"
		if f.Inside {
			where = "inside"
		}
		layout.Printf(&b, "\n    %.10s %.300s (%s) at %.100s", cmp.Or(f.Role, "-"), cmp.Or(f.Path, "-"), where, f.At)
	}
	for _, g := range d.Granted {
		what, path := "file", g.File
		if path == "" {
			what, path = "directory", g.Directory
		}
		layout.Printf(&b, "\n    granted: to %.30s the %s %.300s", g.Roles, what, path)
	}
	b.WriteByte('\n')
	if p.rows != nil {
		p.rows.addRow(d, b.String())
		return nil
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

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
