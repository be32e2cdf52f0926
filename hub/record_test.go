package hub

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/redact"
)

// recordedHub is a hub whose decisions go to a folder that a test can fill up.
type recordedHub struct {
	*testClient
	dir  string
	root string
	full atomic.Bool
	stop func()
}

// runRecorder opens and runs a recorder until it is stopped, at the latest with the test.
func runRecorder(t *testing.T, to *audit.Recorder) (stop func()) {
	t.Helper()
	if err := to.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- to.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func newRecorded(t *testing.T, cfg Audit, script ...childtest.Script) *recordedHub {
	t.Helper()
	return newWatchedRecord(t, cfg, nil, script...)
}

// newWatchedRecord is newRecorded of a hub that is watched.
func newWatchedRecord(t *testing.T, cfg Audit, watch *Telemetry, script ...childtest.Script) *recordedHub {
	t.Helper()
	r := &recordedHub{dir: filepath.Join(t.TempDir(), "audit"), root: t.TempDir()}
	cfg.Recorder = audit.NewRecorder(audit.Options{Dir: r.dir, Write: func(f io.Writer, b []byte) (int, error) {
		if r.full.Load() {
			n, _ := f.Write(b[:len(b)/2]) // half a line, as a full disk takes it
			return n, syscall.ENOSPC
		}
		return f.Write(b)
	}}, nil)
	r.stop = runRecorder(t, cfg.Recorder)
	script = append(script, childtest.Script{Library: true})
	hub := testConfig(t, scripted("kid", script[0]))
	hub.Audit, hub.Telemetry = cfg, watch
	r.testClient = connect(t, runHub(t, hub), r.root)
	r.handshake(`{"roots":{}}`)
	r.raw("tools/list", `{}`)
	return r
}

// decisions ends the record and returns it.
func (r *recordedHub) decisions(t *testing.T) []trail.Decision {
	t.Helper()
	r.stop()
	report, err := trail.Verify(r.dir)
	if err != nil || !report.IsWhole() {
		t.Errorf("%+v, %v", report, err)
	}
	all, err := trail.Decisions(r.dir, trail.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryDecisionIsRecorded(t *testing.T) {
	r := newRecorded(t, Audit{})
	inside := filepath.Join(r.root, "a.txt")
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	try := func(method, params string) {
		resp, err := r.conn.Call(context.Background(), method, []byte(params))
		if err != nil {
			t.Fatal(err)
		}
		resp.Release()
	}
	type want struct{ method, tool, decision, code, outcome, path string }
	var wants []want
	for _, tc := range []struct {
		method, params string
		want           want
	}{
		{"tools/call", toolCall("kid__echo", `{"text":"fast path"}`), want{"", "echo", "allow", "", "ok", ""}},
		{"tools/call", toolCall("kid__echo", `{"path":`+quote(inside)+`}`), want{"", "echo", "allow", "", "ok", inside}},
		{"tools/call", toolCall("kid__echo", `{"path":"/etc/passwd"}`), want{"", "echo", "deny", "outside", "", "/etc/passwd"}},
		{"tools/call", toolCall("call-tool", `{"serverName":"kid","toolName":"echo","toolArgs":{"path":"/etc/passwd"}}`), want{"", "echo", "deny", "outside", "", "/etc/passwd"}},
		{"tools/call", toolCall("kid__echo", `[1]`), want{"", "echo", "refuse", "arguments", "", ""}},
		{"tools/call", toolCall("kid__nobody", `{}`), want{"", "kid__nobody", "refuse", "request", "", ""}},
		{"tools/call", `{"name":"kid__echo","Arguments":{}}`, want{"", "kid__echo", "refuse", "request", "", ""}},
		{"prompts/get", `{"name":"kid__greet","arguments":{"path":` + quote(inside) + `}}`, want{"prompts/get", "kid__greet", "allow", "", "ok", inside}},
		{"prompts/get", `{"name":"kid__greet","arguments":{"path":"/etc/passwd"}}`, want{"prompts/get", "kid__greet", "deny", "outside", "", "/etc/passwd"}},
		{"prompts/get", `{"name":"kid__greet","arguments":[1]}`, want{"prompts/get", "kid__greet", "refuse", "arguments", "", ""}},
		{"prompts/get", `{"name":"kid__nobody"}`, want{"prompts/get", "kid__nobody", "refuse", "request", "", ""}},
		{"resources/read", `{"uri":"note://1"}`, want{"resources/read", "", "allow", "", "ok", ""}},
		{"resources/read", `{"uri":"file:///etc/passwd"}`, want{"resources/read", "", "deny", "outside", "", "/etc/passwd"}},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"kid__greet"},"argument":{"name":"path","value":"/etc/passwd"}}`,
			want{"completion/complete", "", "deny", "outside", "", "/etc/passwd"}},
	} {
		try(tc.method, tc.params)
		wants = append(wants, tc.want)
	}
	try("tools/call", toolCall("get-roots", `{}`)) // the hub's own: no decision
	try("tools/list", `{}`)
	all := r.decisions(t)
	if len(all) != len(wants) {
		t.Errorf("%d lines, want %d", len(all), len(wants))
	}
	for i, w := range wants {
		if i >= len(all) {
			break
		}
		d := &all[i]
		got := want{method: d.Method, tool: d.Tool, decision: d.Decision, code: d.Code}
		if d.Outcome != nil {
			got.outcome = d.Outcome.Result
		}
		if len(d.Findings) > 0 {
			got.path = d.Findings[0].Path
			if inside := d.Findings[0].Inside; inside != (d.Decision == "allow") {
				t.Errorf("%s: inside is %v", d.Raw, inside)
			}
			if d.Roots != "asked" || d.Generation == 0 {
				t.Errorf("%s: no boundary", d.Raw)
			}
		}
		if got != w {
			t.Errorf("%d: %+v, want %+v\n%s", i, got, w, d.Raw)
		}
		if d.Session == "" || len(d.Request) == 0 || d.Decision != "allow" && d.Micros == 0 || len(d.Arguments) > 0 {
			t.Errorf("%s", d.Raw)
		}
	}
}

// A full disk denies every kind of call where the record is required, and none
// if it is not; when there is room again all goes on, and nothing is missing in
// the record.
func TestAFullDisk(t *testing.T) {
	kinds := []struct{ method, params string }{
		{"tools/call", toolCall("kid__echo", `{"text":"fast path"}`)},
		{"tools/call", toolCall("kid__echo", `{"path":"."}`)},
		{"tools/call", toolCall("call-tool", `{"serverName":"kid","toolName":"echo","toolArgs":{}}`)},
		{"prompts/get", `{"name":"kid__greet","arguments":{}}`},
		{"resources/read", `{"uri":"note://1"}`},
	}
	for _, required := range []bool{true, false} {
		r := newRecorded(t, Audit{Required: required})
		for _, full := range []bool{false, true, false} {
			r.full.Store(full)
			for _, k := range kinds {
				refused := func() (bool, string) {
					resp, err := r.conn.Call(context.Background(), k.method, []byte(k.params))
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Release()
					text := string(resp.Result) + string(resp.Error)
					return strings.Contains(text, "audit.required"), text
				}
				got, text := refused()
				bounds.Within(bounds.Patience, func() bool { // it is tried again now and then only
					if full || !got && r.hub.Status().Audit.Error == "" {
						return true
					}
					got, text = refused()
					return false
				})
				if got != (full && required) {
					t.Errorf("required %v, full %v, %s: %s", required, full, k.params, text)
				}
			}
			if st := r.hub.Status().Audit; (st.Error != "") != full || full && st.Unrecorded == 0 {
				t.Errorf("required %v, full %v: status %+v", required, full, st)
			}
			if report := r.raw("tools/call", toolCall("get-roots", `{}`)); strings.Contains(report, "no space left") != full {
				t.Errorf("required %v, full %v: %s", required, full, report)
			}
		}
		for _, d := range r.decisions(t) {
			if d.Outcome == nil {
				t.Errorf("required %v: no outcome: %s", required, d.Raw)
			}
		}
	}
}

// A reload turns required on where the hub was started without a record: then
// nothing may pass.
func TestARequiredRecordThatIsNotKept(t *testing.T) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	h := runHub(t, cfg)
	c := connect(t, h, t.TempDir())
	c.handshake(`{"roots":{}}`)
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	cfg.Audit.Required = true
	if _, err := h.Apply(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := c.raw("tools/call", toolCall("kid__echo", `{}`)); !strings.Contains(got, "audit.required") {
			t.Errorf("%s", got)
		}
	}
}

func TestArgumentsAreRecordedWhereAskedFor(t *testing.T) {
	r := newRecorded(t, Audit{Arguments: true})
	r.raw("tools/call", toolCall("kid__echo", `{"text":"a word","token":"hunter2"}`))
	r.raw("tools/call", toolCall("kid__echo", `{"text":"a word","token":"hunter2","path":"/etc/passwd"}`))
	r.raw("prompts/get", `{"name":"kid__greet","arguments":{"password":"hunter2"}}`)
	for _, d := range r.decisions(t) {
		if strings.Contains(string(d.Raw), "hunter2") || !strings.Contains(string(d.Arguments), redact.Mark) {
			t.Errorf("%s", d.Raw)
		}
	}
}

// What a modern client calls is recorded likewise: once, with the roots that
// came with it. That it is asked for these is no decision.
func TestModernRequestsAreRecorded(t *testing.T) {
	r := newRecorded(t, Audit{Required: true})
	c, leave := enterModern(t, r.hub, `{"roots":{}}`, r.root)
	for params, want := range map[string]string{
		toolCall("kid__echo", `{"text":"x"}`):           "x",
		toolCall("kid__echo", `{"path":"."}`):           `"."`,
		toolCall("kid__echo", `{"path":"/etc/passwd"}`): "Access denied",
	} {
		if got, _ := c.full("tools/call", params, nil); !strings.Contains(got, want) {
			t.Errorf("%s: %s", params, got)
		}
	}
	if got, _ := c.full("tools/call", toolCall("get-roots", `{}`), nil); !strings.Contains(got, "inline") { // asks for the roots, too
		t.Errorf("get-roots: %s", got)
	}
	c.raw("resources/read", `{"uri":"note://1"}`)
	leave()
	count := map[string]int{}
	for _, d := range r.decisions(t) {
		what := d.Decision + " " + d.Method + d.Tool
		if len(d.Findings) > 0 {
			what += map[bool]string{true: " by inline"}[strings.Contains(string(d.Raw), `"roots":"inline"`)]
		}
		count[what]++
	}
	want := map[string]int{"allow echo": 1, "allow echo by inline": 1, "deny echo by inline": 1, "allow resources/read": 1}
	if !maps.Equal(count, want) {
		t.Errorf("%v, want %v", count, want)
	}
}
