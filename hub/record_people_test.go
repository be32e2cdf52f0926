package hub

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/principal"
	"mcphub/validate/policy"
)

// TestTheRecordNamesWhoseSessionItIs: each line of a call does, however it came and whatever became of it, and so does status. A line of
// outcomes names client, server and tool, too.
func TestTheRecordNamesWhoseSessionItIs(t *testing.T) {
	r := newRecorded(t, Audit{Required: true})
	if _, err := r.hub.Apply(t.Context(), under(t, r.hub.currentConfiguration().Settings, policy.Policy{Rules: []policy.Rule{{Name: "no", Tools: []string{"env"}}}})); err != nil {
		t.Fatal(err)
	}
	w := serveWeb(t, r.hub, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b"}}})
	alice := w.initialize(`{}`, "Authorization", "Bearer a").initialized()
	for _, tool := range []string{"kid__echo", "kid__env", "kid__nothing"} {
		alice.frames(alice.request("tools/call", toolCall(tool, `{}`)), nil)
	}
	w.modern("b").call("kid__echo", `{}`)
	r.raw("tools/call", toolCall("kid__echo", `{}`))
	var of []string
	for _, s := range r.hub.Status().Sessions {
		of = append(of, s.Principal)
	}
	slices.Sort(of)
	if !slices.Equal(of, []string{"alice", "bob", principal.Local}) {
		t.Errorf("status: %q", of)
	}
	all := r.decisions(t)
	if len(all) != 5 {
		t.Errorf("%d decisions", len(all))
	}
	outcomes := ""
	if err := trail.Read(r.dir, func(e trail.Event) bool {
		if e.Kind == audit.KindOutcome {
			outcomes += string(e.Raw)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"principal":"alice"`, `"principal":"bob"`, `"principal":"local"`, `"client":"test 1"`, `"child":"kid"`, `"tool":"echo"`} {
		if !strings.Contains(outcomes, part) {
			t.Errorf("no %s in %s", part, outcomes)
		}
	}
	for who, want := range map[string]int{"alice": 3, "bob": 1, principal.Local: 1, "mallory": 0} {
		f := trail.Filter{Principal: who}
		got := slices.DeleteFunc(slices.Clone(all), func(d trail.Decision) bool { return !f.Matches(&d.Event) })
		if len(got) != want {
			t.Errorf("%d decisions of %s, want %d", len(got), who, want)
		}
		for _, d := range got {
			if !bytes.Contains(d.Raw, []byte(`,"principal":"`+who+`"`)) {
				t.Errorf("%s", d.Raw)
			}
		}
	}
}
