package hub

import (
	"fmt"
	"runtime"
	"testing"

	"mcphub/children/childtest"
	"mcphub/children/spec"
)

// What it takes to say which log messages a session wants does not depend on how many sessions share
// its server: what is looked at is counted. The most verbose of all counts, and no longer than its session.
func TestLevelOfShared(t *testing.T) {
	kid := scripted("kid", childtest.Script{})
	kid.Share = spec.ShareAll
	h := newTestHub(t, kid)
	w := serveWeb(t, h, HTTPOptions{})
	key := spec.Key{Child: "kid"}
	open := func(level string) *webClient {
		c := w.initialize(`{}`).initialized()
		body(t, c.request("tools/call", toolCall("kid__echo", `{"a":1}`)))
		body(t, c.request("logging/setLevel", fmt.Sprintf(`{"level":%q}`, level)))
		return c
	}
	for range 40 {
		open("error")
	}
	loud := open("debug")
	if n := h.sessions.Sharing(key); n != 41 {
		t.Fatalf("%d sessions share it", n)
	}
	if looked := h.sessions.Wanted(key); len(looked) != 2 || h.levelOf(key) != "debug" {
		t.Errorf("%s, of %v", h.levelOf(key), looked)
	}
	body(t, loud.request("logging/setLevel", `{"level":"info"}`))
	if got := h.levelOf(key); got != "info" {
		t.Errorf("after another wish: %s", got)
	}
	w.do("DELETE", "", headerSession, loud.session)
	for h.sessions.Sharing(key) == 41 {
		runtime.Gosched() // it ends after the answer
	}
	if got := h.levelOf(key); got != "error" {
		t.Errorf("after its end: %s", got)
	}
}
