package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
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
