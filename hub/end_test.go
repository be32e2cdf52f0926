package hub

import (
	"net/http"
	"strings"
	"testing"

	"mcphub/hub/audit"
	"mcphub/internal/principal"
)

// TestEndingSessions: the sessions of one principal end in both eras, each with a line of the record, and no other's do. A session over
// stdio goes on. Who has a good token begins another.
func TestEndingSessions(t *testing.T) {
	r := newRecorded(t, Audit{})
	w := serveWeb(t, r.hub, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b"}}})
	begin := func(secret string) *webClient {
		return w.initialize(`{}`, "Authorization", "Bearer "+secret).initialized()
	}
	calls := func(c *webClient) int { return c.request("tools/call", toolCall("kid__echo", `{}`)).StatusCode }
	alice, bob := begin("a"), begin("b")
	w.modern("a").call("kid__echo", `{}`)
	if got := calls(alice); got != http.StatusOK {
		t.Fatal(got)
	}
	ended := r.hub.EndSessions(t.Context(), "", "alice")
	if len(ended) != 2 || ended[0].Kept != "" || ended[1].Kept != "" || ended[0].Client+ended[1].Client != "t 1" {
		t.Errorf("%+v", ended)
	}
	if got := calls(alice); got != http.StatusNotFound {
		t.Errorf("a session that was ended answers %d", got)
	}
	if got := calls(bob); got != http.StatusOK {
		t.Errorf("a session of another principal answers %d", got)
	}
	if got := calls(begin("a")); got != http.StatusOK {
		t.Errorf("another session of the principal answers %d", got)
	}
	if again := r.hub.EndSessions(t.Context(), "", "mallory"); len(again) != 0 {
		t.Errorf("%+v", again)
	}
	for _, s := range r.hub.Status().Sessions {
		if s.Principal != "bob" && s.Principal != principal.Local {
			continue
		}
		got := r.hub.EndSessions(t.Context(), s.ID, "")
		if len(got) != 1 || got[0].ID != s.ID || (got[0].Kept == "") != (s.Principal == "bob") {
			t.Errorf("%+v", got)
		}
	}
	if msg, failed := text(r.raw("tools/call", toolCall("kid__echo", `{}`))); failed {
		t.Errorf("the session over stdio: %s", msg)
	}
	lines := 0
	for _, d := range r.decisions(t) {
		if d.Kind == audit.KindEnded {
			lines++
			if !strings.Contains(" alice bob ", " "+d.Principal+" ") || d.By != "operator" || d.Approver == "" || d.Session == "" {
				t.Errorf("%s", d.Raw)
			}
		}
	}
	if lines != 3 {
		t.Errorf("%d sessions have ended by the record", lines)
	}
}
