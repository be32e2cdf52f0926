package hub

import (
	"strings"
	"testing"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/caller"
)

// TestSessionsAreRecorded: of each client that shares the hub there is one line, before all that is decided for it; of one
// that has the hub alone there is none.
func TestSessionsAreRecorded(t *testing.T) {
	r := newRecorded(t, Audit{Required: true})
	r.raw("tools/call", toolCall("kid__echo", `{}`))
	dir := t.TempDir()
	around := Surroundings{Dir: dir, Client: caller.Process{PID: 7001}, Adapter: caller.Process{PID: 7002}}
	want := trail.Clients{}
	enter := func(greet func(c *testClient)) (c *testClient) {
		c, _ = enterFrom(t, r.hub, around, r.root)
		greet(c)
		st := r.hub.Status().Sessions
		want[st[len(st)-1].ID] = audit.ClientInfo{Name: "test 1", Folder: dir, Process: 7001, Adapter: 7002}
		if name := st[len(st)-1].Client; name != "test 1" {
			t.Errorf("status calls it %q", name)
		}
		return c
	}
	shake := func(c *testClient) { c.handshake(`{"roots":{}}`) }
	enter(shake).raw("tools/call", toolCall("kid__echo", `{}`))
	enter(func(c *testClient) { (&modernClient{testClient: c, caps: `{}`}).raw("tools/list", `{}`) })

	r.full.Store(true)
	late := enter(shake)
	if msg, failed := text(late.raw("tools/call", toolCall("kid__echo", `{}`))); !failed || !strings.Contains(msg, "cannot be recorded") {
		t.Errorf("a call of a session that cannot be recorded: %s", msg)
	}
	r.full.Store(false)
	for {
		if _, failed := text(late.raw("tools/call", toolCall("kid__echo", `{}`))); !failed {
			break
		}
	}
	r.decisions(t)
	got, err := trail.ReadClients(r.dir)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v\n%+v, want\n%+v", err, got, want)
	}
	for id, client := range want {
		if got[id] != client {
			t.Errorf("%+v, want %+v", got[id], client)
		}
	}
	begun := map[string]int{}
	if err := trail.Read(r.dir, func(e trail.Event) bool {
		switch {
		case e.Kind == audit.KindSession:
			begun[e.Session]++
		case e.Kind == audit.KindDecision && want[e.Session] != (audit.ClientInfo{}) && begun[e.Session] != 1:
			t.Errorf("%s: %d lines of its session before it", e.Raw, begun[e.Session])
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
}

// TestARestartNamesWhoIsServed: the attached sessions of the instances that are started again, and no other.
func TestARestartNamesWhoIsServed(t *testing.T) {
	r := newRecorded(t, Audit{})
	around := Surroundings{Dir: t.TempDir(), Client: caller.Process{PID: 7001}}
	one, _ := enterFrom(t, r.hub, around, r.root)
	one.handshake(`{"roots":{}}`)
	for _, c := range []*testClient{r.testClient, one} {
		c.raw("tools/call", toolCall("kid__echo", `{}`))
	}
	id := r.hub.Status().Sessions[1].ID
	if done, err := r.hub.RestartServer(t.Context(), "kid"); err != nil || done.Processes != 2 || len(done.Sessions) != 1 || done.Sessions[0] != id {
		t.Errorf("%+v, %v; want %s alone", done, err, id)
	}
}
