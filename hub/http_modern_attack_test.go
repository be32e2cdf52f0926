package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// TestModernHTTPStateIsItsCallsAlone: a requestState goes on with the very call
// of the very token that it was given for, once.
func TestModernHTTPStateIsItsCallsAlone(t *testing.T) {
	w := serveWeb(t, newPlayedHub(t, askingKid("kid")), HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b"}}})
	alice, bob := w.modern("a"), w.modern("b")
	for _, c := range []*modernWeb{alice, bob} {
		c.caps = `{"elicitation":{"form":{}}}`
		c.answer = func(string, []byte) string { return `{"action":"accept","content":{}}` }
	}
	params := toolCall("kid__ask", elicits)
	m := alice.suspendCall("kid__ask", elicits)
	retry := alice.again(params, m.Result)
	other := strings.Replace(retry, "sure?", "really?", 1)
	for what, tc := range map[string]struct {
		c      *modernWeb
		params string
	}{
		"another token":   {bob, retry},
		"other arguments": {alice, other},
		"another tool":    {alice, strings.Replace(retry, "kid__ask", "kid__echo", 1)},
	} {
		got, status := tc.c.outcome(tc.c.once("tools/call", tc.params), nil)
		if codeOf(got) != -32602 || status != 200 {
			t.Errorf("%s: %d %s%s", what, status, got.Result, got.Error)
		}
	}
	if got := alice.noticed("kid"); strings.Contains(got, "answer ") {
		t.Errorf("the child got an answer: %s", got)
	}
	got, _ := alice.outcome(alice.once("tools/call", retry), nil)
	if !strings.Contains(string(got.Result), `"answer":{"action":"accept","content":{}}`) {
		t.Fatalf("control: %s%s", got.Result, got.Error)
	}
	if again, _ := alice.outcome(alice.once("tools/call", retry), nil); codeOf(again) != -32602 {
		t.Errorf("a second time: %s%s", again.Result, again.Error)
	}
}

// TestModernHTTPCeilings: two tokens with other ceilings at once, whatever roots
// they bring; who may see more is the control of who may not.
func TestModernHTTPCeilings(t *testing.T) {
	dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
	w := serveWeb(t, newPlayedHub(t, scripted("kid", childtest.Script{AskRoots: true})), HTTPOptions{Tokens: []Token{
		{Name: "alice", Secret: "a", Roots: directories(dirs["a"])}, {Name: "bob", Secret: "b", Roots: directories(dirs["b"])}, {Name: "carol", Secret: "c"},
	}})
	var wg sync.WaitGroup
	for i := range 30 {
		secret := []string{"a", "b", "c"}[i%3]
		wg.Go(func() {
			c := w.modern(secret, "/")
			if i%2 == 0 {
				c = w.modern(secret, dirs["a"], dirs["b"])
			}
			for whose, dir := range dirs {
				msg, bad := c.call("kid__roots", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "x")))
				if want := secret == whose || secret == "c"; bad == want {
					t.Errorf("%s of %s: %s", secret, whose, msg)
				} else if other := dirs[map[string]string{"a": "b", "b": "a"}[whose]]; want && secret != "c" && strings.Contains(msg, other) {
					t.Errorf("%s: the child is served %s", secret, msg)
				}
			}
		})
	}
	wg.Wait()
	// Without roots the ceiling is the boundary.
	for whose, dir := range dirs {
		if _, bad := w.modern("a").call("kid__echo", fmt.Sprintf(`{"path":%q}`, dir)); bad == (whose == "a") {
			t.Errorf("without roots, %s: %t", whose, bad)
		}
	}
}

// TestModernHTTPClosedResponseIsACancel: closing the response ends the call at
// the child; the others go on.
func TestModernHTTPClosedResponseIsACancel(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		w, _, _ := bubbleWeb(t, h, HTTPOptions{})
		c := w.modern("")
		c.outcome(c.once("tools/list", `{}`), nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := [2]chan error{make(chan error, 1), make(chan error, 1)}
		go func() { ended[0] <- c.aborted(ctx, "tools/call", toolCall("kid__sleep", `{}`)) }()
		go func() {
			ended[1] <- c.aborted(t.Context(), "tools/call", toolCall("kid__progress", `{"steps":2,"every":60000000000}`))
		}()
		synctest.Wait()
		if got := c.noticed("kid"); !strings.Contains(got, "sleeping") || strings.Contains(got, "cancelled") {
			t.Fatalf("before: %s", got)
		}
		cancel()
		if <-ended[0] == nil {
			t.Fatal("it was answered")
		}
		synctest.Wait()
		if got := c.noticed("kid"); strings.Count(got, "notifications/cancelled") != 1 || !strings.Contains(got, "the client has closed the response") {
			t.Errorf("after: %s", got)
		}
		if err := <-ended[1]; err != nil {
			t.Errorf("the other: %v", err)
		}
	})
}

// postWhile posts a frame for as long as ctx lasts.
func (c *modernWeb) postWhile(ctx context.Context, frame string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", c.url, strings.NewReader(frame))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for h := c.headersOf(frame); len(h) > 1; h = h[2:] {
		req.Header.Set(h[0], h[1])
	}
	return c.c.Do(req)
}

// aborted makes a request for as long as ctx lasts; the error is that there is
// no answer.
func (c *modernWeb) aborted(ctx context.Context, method, params string) error {
	r, err := c.postWhile(ctx, c.frame(method, params))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return errors.Join(err, r.Body.Close())
}

// TestModernHTTPBesideHandshakes: both eras on one endpoint at once, of the same
// token; neither takes anything from the other.
func TestModernHTTPBesideHandshakes(t *testing.T) {
	h := newPlayedHub(t, scripted("kid", childtest.Script{AskRoots: true}))
	w := serveWeb(t, h, HTTPOptions{})
	dirs := []string{t.TempDir(), t.TempDir()}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			mine, other := dirs[i%2], dirs[(i+1)%2]
			if i%4 < 2 {
				c := w.modern("", mine)
				for _, dir := range []string{mine, other} {
					if msg, bad := c.call("kid__echo", fmt.Sprintf(`{"path":%q}`, dir)); bad != (dir == other) {
						t.Errorf("modern, %s: %s", dir, msg)
					}
				}
				return
			}
			c := w.initialize(`{"roots":{}}`).initialized()
			for _, dir := range []string{mine, other} {
				m := c.frames(c.request("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, dir))), c.answering(mine))
				if msg, bad := text(string(m.Result)); bad != (dir == other) {
					t.Errorf("handshake, %s: %s", dir, msg)
				}
			}
			// A modern request does not become one of the session that it names.
			if m, status := w.modern("").outcome(w.modern("").once("tools/call", toolCall("kid__echo", `{}`), headerSession, c.session), nil); status != 200 || m.Error != nil {
				t.Errorf("%d %s", status, m.Error)
			}
		})
	}
	wg.Wait()
	if n := len(h.Status().Sessions); n != 9 {
		t.Errorf("%d sessions, want 8 of handshakes and 1", n)
	}
}
