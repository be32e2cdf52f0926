package main

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/internal/audit"
	"mcphub/internal/audit/trail"
	"mcphub/internal/printable"
)

// This file writes decisions in the forms that collectors of security events read. docs/audit.md has a table of their members.

// eventOf is a decision as all three forms see it.
type eventOf struct {
	auditRow
	id       string // names the decision: log, line and call
	action   string // what was asked for
	denied   bool
	result   string // success, failure, unknown
	severity int    // 1 informational, 3 medium
}

func newEvent(d *trail.Decision) eventOf {
	e := eventOf{auditRow: rowOf(d), result: "unknown", severity: 1}
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
func (e *eventOf) reason() string { return cmp.Or(e.Why, e.Code, e.Rule) }

// paths returns the paths that were found.
func (e *eventOf) paths() (all []string) {
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
		e := newEvent(d)
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
		e := newEvent(d)
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
		e := newEvent(d)
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
