package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/hub/status"
)

func TestStatus(t *testing.T) {
	began := time.Now()
	kid := scripted("kid", childtest.Script{FloodStderr: 2})
	kid.Env["MCPHUB_TEST_TOKEN"] = "hush-this-is-secret"
	kid.Args = []string{"--api-key", "hush-this-is-secret"}
	bad := scripted("bad", childtest.Script{Exit: 3})
	shared := scripted("shared", childtest.Script{})
	shared.Share = spec.ShareAll
	h := newTestHub(t, kid, bad, shared)
	h.currentConfiguration().Broken = []Broken{{Name: "broken", Reason: "no command"}}
	h.currentConfiguration().Disabled = []string{"off"}

	before := h.Status()
	if len(before.Sessions) != 0 || len(before.Children) != 3 || before.Children[0].Server != "bad" || before.Children[0].State != "configured" {
		t.Errorf("before anybody came: %+v", before)
	}

	root := t.TempDir()
	c := connect(t, h, root)
	c.handshake(`{"roots":{}}`)
	c.raw("tools/list", `{}`)
	if msg, failed := text(c.raw("tools/call", toolCall("bad__x", `{}`))); !failed {
		t.Fatalf("control: bad answered %s", msg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = c.conn.Call(ctx, "tools/call", []byte(`{"name":"kid__progress","arguments":{"steps":3000,"every":100000000},"_meta":{"progressToken":"p"}}`))
	}()
	<-c.progress // so the call is under way
	st := h.Status()
	cancel()
	var now status.Session
	if !bounds.Within(bounds.Patience, func() bool { now = h.Status().Sessions[0]; return now.Calls == 0 }) || now.Passed != st.Sessions[0].Passed || st.Sessions[0].Passed != 1 {
		t.Errorf("one call went on: %d then, %d now, %d under way", st.Sessions[0].Passed, now.Passed, now.Calls)
	}
	c.raw("tools/call", toolCall("kid__echo", `{"short":"way"}`))
	c.raw("tools/call", toolCall("kid__echo", `{"path":"/etc/passwd"}`)) // which goes nowhere
	if now := h.Status().Sessions[0].Passed; now != 2 {
		t.Errorf("%d calls went on, want 2", now)
	}

	byName := map[string]status.Child{}
	for _, k := range st.Children {
		byName[k.Server] = k
	}
	got := byName["kid"]
	if got.State != "ready" || got.PID == 0 || got.PID == os.Getpid() || got.Share != "session" || got.Instance != st.Sessions[0].ID || got.Tools == 0 ||
		got.Since == nil || got.Since.Before(began) || got.Restarts != 0 || got.CircuitOpen || got.LastFailure != "" {
		t.Errorf("kid: %+v", got)
	}
	offered, tokens := st.Sessions[0].ID, 0
	for _, s := range h.sessions.Sessions() {
		for _, tool := range s.Catalog().Listed() {
			if s.id == offered && tool.Child == "kid" {
				tokens += (len(tool.Def) + 3) / 4
			}
		}
	}
	if got.Tokens != tokens || tokens == 0 || byName["bad"].Tokens != 0 {
		t.Errorf("the definitions of kid are %d tokens, and told as %d; those of bad as %d", tokens, got.Tokens, byName["bad"].Tokens)
	}
	if got.Command != kid.Command || got.Cwd != root || !slices.Equal(got.RootsServed, []string{root}) || !got.RootsApplied {
		t.Errorf("kid was started as %+v with %+v", got, got.RootsServed)
	}
	if !strings.Contains(got.Stderr, "line 1 of a flood") || strings.Contains(got.Stderr, "\x1b") {
		t.Errorf("stderr of kid: %q", got.Stderr)
	}
	if !slices.Contains(got.Environment, "MCPHUB_TEST_TOKEN") || !slices.Contains(got.Environment, "PATH") {
		t.Errorf("names of variables: %q", got.Environment)
	}
	if f := byName["bad"]; f.State == "ready" || f.Failures == 0 || !strings.Contains(f.LastFailure, "exited with status 3") || f.FailedAt == nil || f.StartedBy == "" || f.NextStart == nil ||
		!strings.Contains(f.Stderr, "exiting as told") {
		t.Errorf("bad: %+v", f)
	}
	if s := byName["shared"]; s.Share != "all" || s.Instance != "" || s.State != "ready" {
		t.Errorf("shared: %+v", s)
	}
	if want := []status.NotServed{{Server: "broken", Reason: "no command"}, {Server: "off", Reason: "disabled"}}; !slices.Equal(st.NotServed, want) {
		t.Errorf("not served: %+v", st.NotServed)
	}
	s := st.Sessions[0]
	if s.Client != "test 1" || s.Protocol != "2025-06-18" || s.Calls != 1 || s.RootsState != "known" || s.RootsOrigin != "asked" || s.RootsCount != 1 || s.Generation == 0 {
		t.Errorf("session: %+v", s)
	}
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "hush-") {
		t.Error("the value of a variable is told")
	}
	for _, member := range []string{`"rootsServed":["` + root + `"]`, `"circuitOpen":false`, `"environment":[`, `"rootsGeneration":`, fmt.Sprintf(`"pid":%d`, got.PID)} {
		if !strings.Contains(string(raw), member) {
			t.Errorf("%s is missing in %s", member, raw)
		}
	}
}
