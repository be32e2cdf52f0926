package hub

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
)

// twoHubs are hubs of one key of requestState, and what makes another of it.
func twoHubs(t *testing.T, keys ...[]byte) (a, b *web) {
	tokens := []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b"}}
	a = serveWeb(t, newPlayedHub(t, scripted("kid", childtest.Script{})), HTTPOptions{Tokens: tokens, StateKeys: keys, Node: "hub-a"})
	b = serveWeb(t, newPlayedHub(t, scripted("kid", childtest.Script{})), HTTPOptions{Tokens: tokens, StateKeys: keys, Node: "hub-b"})
	return a, b
}

// A hub that gets the session of another one of the same key answers as for every session that it does not
// have, and names the other, to whom the session belongs alone.
func TestASessionOfAnotherHub(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 32)
	a, b := twoHubs(t, key)
	at := func(w *web, id, secret string) (status int, node string) {
		r := w.do("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, headerSession, id, headerProtocol, "2025-11-25", "Authorization", "Bearer "+secret)
		body(t, r)
		return r.StatusCode, r.Header.Get("Mcphub-Node")
	}
	id := a.initialize(`{}`, "Authorization", "Bearer a").session
	if raw, err := base64.RawURLEncoding.DecodeString(id); err != nil || bytes.Contains(raw, []byte("hub-a")) || len(id) > 128 {
		t.Errorf("the id %q tells the hub, or is too long for the recipes: %v", id, err)
	}
	if other := a.initialize(`{}`, "Authorization", "Bearer a").session; other == id {
		t.Error("two sessions have one id")
	}
	if status, node := at(a, id, "a"); status != 200 || node != "" {
		t.Errorf("at its own hub: %d, of %q", status, node)
	}
	if status, node := at(b, id, "a"); status != 404 || node != "hub-a" {
		t.Errorf("at the other hub: %d, of %q", status, node)
	}
	for name, tc := range map[string]struct {
		w      *web
		id     string
		secret string
	}{
		"of another principal": {b, id, "b"},
		"guessed":              {b, strings.Repeat("A", len(id)), "a"},
		"altered":              {b, id[:len(id)-2] + "AA", "a"},
		"of its own, ended":    {a, a.ended(t), "a"},
	} {
		if status, node := at(tc.w, tc.id, tc.secret); status != 404 || node != "" {
			t.Errorf("%s: %d, of %q", name, status, node)
		}
	}
	// Without a key in common no one can tell, and ids stay as they were.
	a, b = twoHubs(t)
	id = a.initialize(`{}`, "Authorization", "Bearer a").session
	if status, node := at(b, id, "a"); status != 404 || node != "" || len(id) > 40 {
		t.Errorf("without a key: %d, of %q, %q", status, node, id)
	}
}

// ended returns the id of a session of alice that has ended.
func (w *web) ended(t *testing.T) string {
	id := w.initialize(`{}`, "Authorization", "Bearer a").session
	if r := w.do("DELETE", "", headerSession, id, headerProtocol, "2025-11-25", "Authorization", "Bearer a"); r.StatusCode >= 300 {
		t.Fatal(r.StatusCode)
	}
	return id
}

// A call of 2026-07-28 that is suspended at another hub of the same key is refused, and the answer names that hub.
func TestACallSuspendedAtAnotherHub(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 32)
	ask := func(node string, keys ...[]byte) *modernWeb {
		c := serveWeb(t, newPlayedHub(t, askingKid("kid")), HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}}, StateKeys: keys, Node: node}).modern("a")
		c.caps = `{"elicitation":{"form":{}}}`
		c.answer = func(string, []byte) string { return `{"action":"accept","content":{}}` }
		return c
	}
	a := ask("hub-a", key)
	params := toolCall("kid__ask", elicits)
	retry := a.again(params, a.suspendCall("kid__ask", elicits).Result)
	for name, tc := range map[string]struct {
		c      *modernWeb
		status int
		node   string
	}{
		"of the same key": {ask("hub-b", key), 404, "hub-a"},
		"of another key":  {ask("hub-c"), 200, ""},
	} {
		r := tc.c.once("tools/call", retry)
		if m, _ := tc.c.outcome(r, nil); r.StatusCode != tc.status || r.Header.Get("Mcphub-Node") != tc.node || codeOf(m) != -32602 {
			t.Errorf("a hub %s: %d, of %q: %s%s", name, r.StatusCode, r.Header.Get("Mcphub-Node"), m.Result, m.Error)
		}
	}
	r := a.once("tools/call", retry)
	if m, _ := a.outcome(r, nil); r.Header.Get("Mcphub-Node") != "" || !strings.Contains(string(m.Result), `"action":"accept"`) {
		t.Errorf("at its own hub: of %q; %s%s", r.Header.Get("Mcphub-Node"), m.Result, m.Error)
	}
}
