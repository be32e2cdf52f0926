package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/declare"
)

// TestLenientCalls: the server gets the bytes that the client sent, the record says how many values were read otherwise, and what is
// hidden in them is denied.
func TestLenientCalls(t *testing.T) {
	t.Parallel()
	defs := filepath.Join(t.TempDir(), "defs")
	if err := os.WriteFile(defs, []byte(`{"name":"echo_all","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"files":{"type":"array","items":{"type":"string"}},"note":{"type":"string"}},"additionalProperties":false}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	kid := scripted("kid", childtest.Script{Defs: defs})
	cfg := testConfig(t, kid)
	dir := filepath.Join(t.TempDir(), "audit")
	cfg.Audit.Recorder = audit.NewRecorder(audit.Options{Dir: dir}, nil)
	stop := runRecorder(t, cfg.Audit.Recorder)
	var err error
	if cfg.Checker, err = validate.NewChecker(validate.Config{FS: guard.OS{}, Home: t.TempDir(), Children: []validate.ChildConfig{{Name: "kid", Command: kid.Command, Demand: declare.DemandLenient}}}); err != nil {
		t.Fatal(err)
	}
	c := connect(t, runHub(t, cfg), t.TempDir())
	c.handshake(`{"roots":{}}`)
	c.raw("tools/list", `{}`)
	type want struct {
		decision, code string
		lenient        int
	}
	var wants []want
	for _, tc := range []struct {
		args string
		want
	}{
		{`{"n":5}`, want{"allow", "", 0}},
		{`{"n":"5", "note" : null , "more":[ 1,2 ]}`, want{"allow", "", 3}},
		{`{"n":"5"}`, want{"allow", "", 1}}, // nothing is waited for any more
		{`{"files":"[\"a.txt\", \"b\\/c\"]"}`, want{"allow", "", 1}},
		{`{"files":"[\"/etc/passwd\"]"}`, want{"deny", "outside", 1}},
		{`{"path":"/etc/passwd"}`, want{"deny", "outside", 1}},
		{`{"NOTE":"x"}`, want{"refuse", "arguments", 0}},
		{`{"n":"five"}`, want{"refuse", "schema", 0}},
	} {
		resp, err := c.conn.Call(t.Context(), "tools/call", []byte(toolCall("kid__echo_all", tc.args)))
		if err != nil {
			t.Fatal(err)
		}
		answer := string(resp.Result) + string(resp.Error)
		resp.Release()
		if passed := strings.Contains(answer, `"structuredContent":`+tc.args+`}`); passed != (tc.decision == "allow") {
			t.Errorf("%s: %s", tc.args, answer)
		}
		wants = append(wants, tc.want)
	}
	stop()
	all, err := trail.Decisions(dir, trail.Filter{})
	if err != nil || len(all) != len(wants) {
		t.Fatalf("%d decisions: %v", len(all), err)
	}
	for i, d := range all {
		if got := (want{d.Decision, d.Code, d.Lenient}); got != wants[i] {
			t.Errorf("line %d: %+v, want %+v", i, got, wants[i])
		}
	}
}
