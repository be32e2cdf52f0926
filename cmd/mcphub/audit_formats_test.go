package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// TestFormatsForCollectors: each form has what a decision tells, in the places in which its collectors look, and what a client chose cannot pass for
// another member or another line.
func TestFormatsForCollectors(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	odd := "a|b=c\\d\nCEF:0|x act=allow"
	allowed := trail.Decision{Outcome: &audit.Outcome{Result: audit.ResultOK, Micros: 2500}}
	allowed.Entry = audit.Entry{Number: 7, Time: at, Kind: audit.KindDecision}
	allowed.LogID, allowed.Session, allowed.Principal = "log", "s1", "alice"
	allowed.DecisionFields = audit.DecisionFields{Child: "files", Tool: odd, Decision: "allow", Rule: "inside", By: "client", Findings: []audit.Finding{{Path: "/srv/x", Role: "read"}}}
	allowed.ClientInfo = audit.ClientInfo{Name: "c 1", Address: "192.0.2.1", Agent: "agent/1"}
	denied := allowed
	denied.Outcome, denied.Event.Call, denied.Code = nil, 2, "outside"
	denied.DecisionFields.Decision = "deny"
	turned := trail.Decision{}
	turned.Entry, turned.LogID = audit.Entry{Number: 9, Time: at, Kind: audit.KindRejection}, "log"
	turned.DecisionFields, turned.Status, turned.Why = audit.DecisionFields{Decision: "refuse", Code: "token"}, 401, "a token is needed"
	turned.ClientInfo = audit.ClientInfo{Address: "192.0.2.9"}

	for name, want := range map[string][3]map[string]any{
		"ocsf": {
			{"class_uid": 6003.0, "type_uid": 600399.0, "time": float64(at.UnixMilli()), "action_id": 1.0, "status_id": 1.0, "severity_id": 1.0, "metadata.uid": "log:7", "actor.user.name": "alice",
				"actor.session.uid": "s1", "api.operation": odd, "api.service.name": "files", "src_endpoint.ip": "192.0.2.1", "http_request.user_agent": "agent/1", "unmapped.by": "client"},
			{"action_id": 2.0, "status_id": 2.0, "disposition_id": 2.0, "severity_id": 3.0, "metadata.uid": "log:7:2", "status_detail": "outside"},
			{"action_id": 2.0, "status_id": 2.0, "status_detail": "a token is needed", "src_endpoint.ip": "192.0.2.9", "api.operation": "rejection"},
		},
		"ecs": {
			{"@timestamp": at.Format(time.RFC3339Nano), "event.outcome": "success", "event.id": "log:7", "event.duration": 2500000.0, "user.name": "alice", "source.ip": "192.0.2.1",
				"user_agent.original": "agent/1", "service.name": "files", "rule.name": "inside", "file.path": "/srv/x", "mcphub.tool": odd, "mcphub.client": "c 1"},
			{"event.outcome": "failure", "event.reason": "outside", "event.id": "log:7:2"},
			{"event.outcome": "failure", "event.reason": "a token is needed", "source.ip": "192.0.2.9", "event.action": "rejection"},
		},
		"cef": {{}, {}, {}},
	} {
		var out bytes.Buffer
		for _, f := range exportFormats {
			if f.name != name {
				continue
			}
			print := f.begin(&out)
			for _, d := range []*trail.Decision{&allowed, &denied, &turned} {
				if err := print(d); err != nil {
					t.Fatal(err)
				}
			}
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 3 {
			t.Fatalf("%s: %d lines: %s", name, len(lines), out.String())
		}
		for i, line := range lines {
			if name == "cef" {
				continue
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
			for path, value := range want[i] {
				var at any = got
				for step := range strings.SplitSeq(path, ".") {
					o, _ := at.(map[string]any)
					at = o[step]
				}
				if at != value {
					t.Errorf("%s, line %d: %s is %v, want %v", name, i, path, at, value)
				}
			}
		}
		if name != "cef" {
			continue
		}
		head, extension, _ := strings.Cut(lines[0], "|3|")
		if strings.Count(strings.ReplaceAll(head, `\|`, ""), "|") != 5 {
			t.Errorf("the head has other parts: %s", lines[0])
		}
		for i, part := range []string{"act=allow outcome=success", "act=deny outcome=failure reason=outside", "act=refuse outcome=failure reason=a token is needed src=192.0.2.9"} {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d lacks %q: %s", i, part, lines[i])
			}
		}
		if strings.Count(extension, " act=") != 1 || !strings.Contains(extension, `act\=allow`) {
			t.Errorf("a tool's name passes for a member: %s", extension)
		}
	}
}
