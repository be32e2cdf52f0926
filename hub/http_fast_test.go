package hub

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/children/childtest"
	"mcphub/children/spec"
	"mcphub/hub/call"
	"mcphub/internal/audit"
	"mcphub/internal/audit/trail"
	"mcphub/internal/jsonrpc"
)

// TestHTTPFastPath: what takes the fast path over HTTP, and what is left to the
// slow path, which says what is wrong with it.
func TestHTTPFastPath(t *testing.T) {
	h := newTestHub(t, scripted("kid", childtest.Script{}))
	w := serveWeb(t, h, HTTPOptions{})
	s := w.initialize(`{}`).initialized()
	s.frames(s.request("tools/call", toolCall("kid__echo", `{"n":0}`)), nil)
	one := onlySession(h)
	for name, tc := range map[string]struct {
		frame string
		want  bool
	}{
		"plain":               {`"tools/call","params":` + toolCall("kid__echo", `{"n":1}`), true},
		"with progress":       {`"tools/call","params":{"name":"kid__progress","arguments":{"steps":2},"_meta":{"progressToken":"p"}}`, true},
		"no arguments":        {`"tools/call","params":{"name":"kid__echo"}`, true},
		"a path":              {`"tools/call","params":` + toolCall("kid__echo", `{"path":"/etc/passwd"}`), runtime.GOOS == "linux"},
		"a path to nothing":   {`"tools/call","params":` + toolCall("kid__echo", `{"path":"/etc/nothing"}`), false},
		"an escape":           {`"tools/call","params":` + strings.Replace(toolCall("kid__echo", `{"n":1}`), "kid", `\u006bid`, 1), false},
		"a task":              {`"tools/call","params":{"name":"kid__echo","arguments":{},"task":{}}`, false},
		"unknown":             {`"tools/call","params":` + toolCall("kid__nothing", `{}`), false},
		"no arguments object": {`"tools/call","params":{"name":"kid__echo","arguments":[]}`, false},
		"look-alike":          {`"tools/call","params":{"name":"kid__echo","Arguments":{"path":"/etc/passwd"}}`, false},
		"twice":               {`"tools/call","params":{"name":"kid__echo","arguments":{"n":1,"n":2}}`, false},
		"the hub's own":       {`"tools/call","params":` + toolCall("get-roots", `{}`), false},
		"another":             {`"ping"`, false},
		"long":                {`"tools/call","params":` + toolCall("kid__echo", `{"text":"`+strings.Repeat("x", 16<<10)+`"}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			var m jsonrpc.Message
			if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":7,"method":`+tc.frame+`}`), tc.want, &m); err != nil {
				t.Fatal(err)
			}
			a, ok := one.sender.TryCallToolAndWait(one.mainClient, &call.SyncReply{Cancellation: &jsonrpc.Cancellation{}}, &m)
			if ok != tc.want {
				t.Errorf("taken: %v, want %v", ok, tc.want)
			}
			if ok && a.Result == nil {
				t.Errorf("%s", a.Error)
			}
		})
	}
}

// TestHTTPFastPathEndsAsTheSlowOne: whatever becomes of a call, it is answered
// and recorded in the same words on both ways, and the child is told the same.
func TestHTTPFastPathEndsAsTheSlowOne(t *testing.T) {
	const sleeper = `{"name":"kid__sleep","arguments":{}}`
	until := func(t *testing.T, s *webClient, note string) {
		t.Helper()
		for !strings.Contains(body(t, s.request("tools/call", toolCall("kid__noticed", `{}`))), note) {
			if t.Context().Err() != nil {
				t.Fatal("the test is over")
			}
		}
	}
	for name, tc := range map[string]struct {
		params string
		limit  time.Duration
		during func(t *testing.T, s, other *webClient)
		want   string // in the answer; "": there is none
		result string // in the record
	}{
		"answered":    {params: toolCall("kid__echo", `{"n":12345678901234567890}`), want: `"n":12345678901234567890`, result: audit.ResultOK},
		"with a path": {params: toolCall("kid__echo", `{"path":"/etc/passwd"}`), want: "/etc/passwd", result: audit.ResultOK},
		"cancelled": {params: sleeper, result: audit.ResultCancelled, during: func(t *testing.T, s, other *webClient) {
			until(t, other, "sleeping")
			s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x","reason":"enough"}}`)
			until(t, other, "cancelled")
		}},
		"session over": {params: sleeper, want: "the session has ended", result: audit.ResultCancelled, during: func(t *testing.T, s, other *webClient) {
			until(t, other, "sleeping")
			if r := s.do("DELETE", "", headerSession, s.session); r.StatusCode != http.StatusNoContent {
				t.Errorf("DELETE: %d", r.StatusCode)
			}
			until(t, other, "cancelled")
		}},
		"child dies": {params: toolCall("kid__exit", `{"code":3}`), want: "exited with status 3", result: audit.ResultUnavailable},
		"broken":     {params: toolCall("kid__broken", `{}`), want: `"code":-32603`, result: audit.ResultError},
		"timeout":    {params: sleeper, limit: 200 * time.Millisecond, want: "200ms", result: audit.ResultTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{}
			lines := map[string]string{}
			for _, way := range []string{"short", "long"} {
				child := scripted("kid", childtest.Script{})
				child.Share, child.CallTimeout = spec.ShareAll, tc.limit
				rec := audit.NewRecorder(audit.Options{Dir: t.TempDir() + "/audit"}, nil)
				stop := runRecorder(t, rec)
				cfg := testConfig(t, child)
				cfg.Audit = Audit{Recorder: rec, Required: true, Arguments: true}
				w := serveWeb(t, runHub(t, cfg), HTTPOptions{})
				s, other := w.initialize(`{}`).initialized(), w.initialize(`{}`).initialized()
				s.frames(s.request("tools/call", toolCall("kid__noticed", `{}`)), nil)
				params := tc.params
				if way == "long" {
					params = strings.Replace(params, "kid", `\u006bid`, 1)
				}
				got := make(chan string, 1)
				go func() {
					r := s.send(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":` + params + `}`)
					got <- fmt.Sprintf("%d %s %s", r.StatusCode, r.Header.Get("Content-Type"), body(t, r))
				}()
				if tc.during != nil {
					tc.during(t, s, other)
				}
				answers[way] = <-got
				dir := rec.State().Dir
				stop()
				all, err := trail.Decisions(dir, trail.Filter{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range all {
					if d := &all[i]; string(d.Request) == `"x"` && d.Outcome != nil {
						lines[way] += fmt.Sprintf("%+v %s %s\n", d.DecisionFields, d.Arguments, d.Outcome.Result)
					}
				}
			}
			if answers["short"] != answers["long"] || tc.want == "" == strings.Contains(answers["short"], "jsonrpc") || !strings.Contains(answers["short"], tc.want) {
				t.Errorf("short %s\nlong  %s\nwant  %q", answers["short"], answers["long"], tc.want)
			}
			if lines["short"] != lines["long"] || !strings.Contains(lines["short"], tc.result) || strings.Count(lines["short"], "\n") != 1 {
				t.Errorf("short %s\nlong  %s\nwant  %s", lines["short"], lines["long"], tc.result)
			}
		})
	}
}
