package hub

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

const declared = `{"roots":{"listChanged":true}}`

// TestWhoSharesAProcess tests C5 for two sessions, whose roots are equal
// or not: each kind of sharing is the control of the others.
func TestWhoSharesAProcess(t *testing.T) {
	one, two, configured := t.TempDir(), t.TempDir(), t.TempDir()
	for _, c := range []struct {
		share    spec.Share
		equal    bool
		together bool
		served   func(mine string) string
	}{
		{spec.ShareSession, false, false, func(mine string) string { return mine }},
		{spec.ShareSession, true, false, func(mine string) string { return mine }},
		{spec.ShareRoots, false, false, func(mine string) string { return mine }},
		{spec.ShareRoots, true, true, func(mine string) string { return mine }},
		{spec.ShareAll, false, true, func(string) string { return configured }},
		{spec.ShareAll, true, true, func(string) string { return configured }},
	} {
		t.Run(fmt.Sprintf("%s equal=%t", c.share, c.equal), func(t *testing.T) {
			playWith(t, []spec.Spec{played("kid", c.share, childtest.Script{AskRoots: true})}, playOptions{fallback: configured}, func(t *testing.T, h *Hub, s *stage) {
				dirs := []string{one, two}
				if c.equal {
					dirs[1] = one
				}
				a, _ := enter(t, h, dirs[0])
				a.handshake(declared)
				b, _ := enter(t, h, dirs[1])
				b.handshake(declared)
				if got := a.tagged(s, "kid", "a") == b.tagged(s, "kid", "b"); got != c.together {
					t.Errorf("in one process: %t", got)
				}
				for i, client := range []*testClient{a, b} {
					msg, bad := text(client.raw("tools/call", toolCall("kid__roots", `{}`)))
					want := platform.Host().FormatURI(c.served(dirs[i]))
					if bad || strings.Count(msg, "file://") != 1 || !strings.Contains(msg, `"`+want+`"`) {
						t.Errorf("session %d: served %s, want %s alone", i, msg, want)
					}
				}
				// What one session does to its process the other sees only if it is
				// the same one.
				a.raw("tools/call", toolCall("kid__change", `{"Name":"from_a"}`))
				time.Sleep(time.Second)
				if got := strings.Contains(b.raw("tools/list", `{}`), "kid__from_a"); got != c.together {
					t.Errorf("the other session sees its state: %t", got)
				}
			})
		})
	}
}

// TestCallUnderWayEndsWhereItBegan changes the roots during a call: it ends on
// the old process, the next one goes to the new one, and the old one is given
// up when it has been idle for its time.
func TestCallUnderWayEndsWhereItBegan(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	play(t, []spec.Spec{played("kid", spec.ShareRoots, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h, one)
		c.handshake(declared)
		old := c.tagged(s, "kid", "before")
		done := make(chan string)
		go func() {
			done <- c.raw("tools/call", `{"name":"kid__progress","arguments":{"tag":"long","Steps":60,"Every":60000000000},"_meta":{"progressToken":"t"}}`)
		}()
		synctest.Wait()
		c.change(two)
		fresh := c.tagged(s, "kid", "after")
		if fresh == old || fresh.roots != two || old.roots != one {
			t.Fatalf("served by roots %s after %s", fresh.roots, old.roots)
		}
		if msg, bad := text(<-done); bad || msg != "done" {
			t.Errorf("the call under way: %s", msg)
		}
		if s.who("long") != old || len(c.progress) != 60 {
			t.Errorf("it moved, or lost progress: %d of 60", len(c.progress))
		}
		if !old.live {
			t.Error("not kept warm")
		}
		c.tagged(s, "kid", "keeps it")
		time.Sleep(14 * time.Minute)
		c.tagged(s, "kid", "keeps it still")
		time.Sleep(2 * time.Minute)
		if _, live := s.count("kid"); old.live || live != 1 || len(h.sup.Status()) != 1 {
			t.Errorf("the old one lives: %t, %d live, %v", old.live, live, h.sup.Status())
		}
	})
}

// TestNewsOfTheInstanceThatServes: what happens to the instance that a session
// has left is no news for it, and is for the one that it serves still.
func TestNewsOfTheInstanceThatServes(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	play(t, []spec.Spec{played("kid", spec.ShareRoots, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		stays, _ := enter(t, h, one)
		moves, _ := enter(t, h, one)
		for _, c := range []*testClient{stays, moves} {
			c.handshake(declared)
			c.raw("tools/list", `{}`)
		}
		moves.change(two)
		moves.tagged(s, "kid", "moved")
		for len(moves.notes) > 0 {
			if n := <-moves.notes; strings.Contains(n, "tools") {
				t.Errorf("the same tools in another process are announced: %s", n)
			}
		}
		stays.raw("tools/call", toolCall("kid__change", `{"Name":"only_here"}`))
		time.Sleep(time.Second)
		if len(moves.notes) > 0 || strings.Contains(moves.raw("tools/list", `{}`), "only_here") {
			t.Error("the session that moved is told of the instance that it left")
		}
		if len(stays.notes) != 1 || !strings.Contains(stays.raw("tools/list", `{}`), "only_here") {
			t.Error("the session that stayed is not told") // the control
		}
		// Back at the first instance, it is offered what that one offers.
		moves.change(one)
		if msg, bad := text(moves.raw("tools/call", toolCall("kid__echo", `{"tag":"back"}`))); bad {
			t.Fatal(msg)
		}
		time.Sleep(time.Second) // of the bubble: news is held back for more of it
		if len(moves.notes) != 1 || !strings.Contains(moves.raw("tools/list", `{}`), "only_here") {
			t.Errorf("after the move back: %d notes", len(moves.notes))
		}
	})
}

// TestLateNewsOfAFormerInstance: an instance that ended tells so last, perhaps
// after another one of the same name has begun.
func TestLateNewsOfAFormerInstance(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareRoots, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h, t.TempDir())
		c.handshake(declared)
		c.tagged(s, "kid", "x")
		now := h.sup.Status()[0]
		state := func() string {
			report := c.raw("tools/call", toolCall("list-tools", `{}`))
			servers := jsonrpc.Get(jsonrpc.Get([]byte(report), "structuredContent"), "servers")
			word := ""
			_ = jsonrpc.Elements(servers, func(v []byte) bool { word, _ = jsonrpc.String(jsonrpc.Get(v, "state")); return true })
			return word
		}
		for _, w := range []struct {
			serial uint64
			want   string
		}{{now.Serial - 1, "ready"}, {now.Serial, "stopped"}} { // the second is the control
			st := now
			st.Serial, st.State, st.Final = w.serial, children.Stopped, true
			h.sessions.UpdateInstance(st, nil)
			if got := state(); got != w.want {
				t.Errorf("news of instance %d where %d serves: %s, want %s", w.serial, now.Serial, got, w.want)
			}
		}
	})
}

// TestStartedBeforeTheRootsAreKnown tests C4: a session's own child is
// replaced once; who needs the roots waits; who serves all needs none of a
// session.
func TestStartedBeforeTheRootsAreKnown(t *testing.T) {
	dir, configured := t.TempDir(), t.TempDir()
	needs := played("needs", spec.ShareSession, childtest.Script{})
	needs.Cwd = "${root}"
	specs := []spec.Spec{
		played("own", spec.ShareSession, childtest.Script{}), needs,
		played("roots", spec.ShareRoots, childtest.Script{}), played("all", spec.ShareAll, childtest.Script{}),
	}
	playWith(t, specs, playOptions{fallback: configured}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h, dir)
		c.late = 3 * time.Second
		c.handshake(declared)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for child, want := range map[string]int{"own": 1, "needs": 0, "roots": 0, "all": 1} {
			if n, _ := s.count(child); n != want {
				t.Errorf("before the roots are known %s was started %d times, want %d", child, n, want)
			}
		}
		old := c.tagged(s, "own", "early")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for child, want := range map[string]int{"own": 2, "needs": 1, "roots": 1, "all": 1} {
			n, live := s.count(child)
			if n != want || live != 1 {
				t.Errorf("%s was started %d times and %d live, want %d", child, n, live, want)
			}
			a := c.tagged(s, child, child)
			if root := map[bool]string{true: configured, false: dir}[child == "all"]; a.cwd != root || a.roots != root {
				t.Errorf("%s runs in %s with roots %s, want %s", child, a.cwd, a.roots, root)
			}
		}
		if old.live {
			t.Error("the early one lives")
		}
		c.late = 0
		c.change(dir, configured)
		c.tagged(s, "own", "later")
		if n, _ := s.count("own"); n != 2 {
			t.Errorf("started %d times: a later change is no reason", n)
		}
	})
}

// TestClientThatNeverSaysItsRoots: what its roots would choose cannot be called,
// and everything else can.
func TestClientThatNeverSaysItsRoots(t *testing.T) {
	specs := []spec.Spec{played("own", spec.ShareSession, childtest.Script{}), played("roots", spec.ShareRoots, childtest.Script{})}
	play(t, specs, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.raw("initialize", `{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"test","version":"1"}}`) // and never initialized
		c.raw("tools/list", `{}`)
		c.tagged(s, "own", "x")
		if msg, bad := text(c.raw("tools/call", toolCall("call-tool", `{"serverName":"roots","toolName":"echo"}`))); !bad || !strings.Contains(msg, "which folders are open") {
			t.Errorf("%t %s", bad, msg)
		}
		if n, _ := s.count("roots"); n != 0 {
			t.Error("a process for roots that nobody knows")
		}
	})
}

// nothingLeft checks a Hub whose sessions have all gone for longer than
// anything is kept warm.
func nothingLeft(t *testing.T, h *Hub, s *stage) {
	t.Helper()
	_, live := s.count("")
	sessions, serving, known := h.sessions.Size()
	if st := h.sup.Status(); live != 0 || len(st) != 0 || known != 0 || serving != 0 || sessions != 0 {
		t.Errorf("left: %d processes, %v, %d instances known, %d serve, %d sessions", live, st, known, serving, sessions)
	}
}

// TestReportsSayWhoShares: get-roots, list-tools and explain tell whose process
// serves a session, and what roots it has if they are not the session's.
func TestReportsSayWhoShares(t *testing.T) {
	mine, configured := t.TempDir(), t.TempDir()
	specs := []spec.Spec{
		played("own", spec.ShareSession, childtest.Script{}), played("roots", spec.ShareRoots, childtest.Script{}), played("all", spec.ShareAll, childtest.Script{}),
	}
	playWith(t, specs, playOptions{fallback: configured}, func(t *testing.T, h *Hub, s *stage) {
		h.currentConfiguration().Inspect = true
		var c *testClient
		for _, dir := range []string{mine, mine, t.TempDir()} { // the third shares with no one by its roots
			other, _ := enter(t, h, dir)
			other.handshake(declared)
			other.raw("tools/list", `{}`)
			if c == nil {
				c = other
			}
		}
		report := c.raw("tools/call", toolCall("get-roots", `{}`))
		got := map[string]string{}
		_ = jsonrpc.Elements(jsonrpc.Get(jsonrpc.Get([]byte(report), "structuredContent"), "children"), func(v []byte) bool {
			name, _ := jsonrpc.String(jsonrpc.Get(v, "server"))
			share, _ := jsonrpc.String(jsonrpc.Get(v, "share"))
			got[name] = fmt.Sprintf("%s %s %s", share, jsonrpc.Get(v, "sessions"), jsonrpc.Get(v, "served"))
			return true
		})
		for name, want := range map[string]string{
			"own": "session 1 ", "roots": "roots 2 ", "all": fmt.Sprintf("all 3 [%q]", platform.Host().FormatURI(configured)),
		} {
			if got[name] != want {
				t.Errorf("get-roots of %s: %q, want %q", name, got[name], want)
			}
		}
		if list, _ := text(c.raw("tools/call", toolCall("list-tools", `{}`))); strings.Count(list, `"share": "`) != 3 || !strings.Contains(list, `"share": "roots"`) {
			t.Errorf("list-tools: %s", list)
		}
		for child, dir := range map[string]string{"own": mine, "roots": mine, "all": configured} {
			// The boundary comes from the session, no matter who runs the call.
			for path, decision := range map[string]string{mine + "/x": "allow", configured + "/x": "deny"} {
				e := []byte(c.raw(MethodExplain, toolCall(child+"__echo", fmt.Sprintf(`{"path":%q}`, path))))
				if got := string(jsonrpc.Get(e, "decision")); got != strconv.Quote(decision) {
					t.Errorf("%s of %s: %s, want %s", child, path, got, decision)
				}
				if got := string(jsonrpc.Get(e, "served")); got != fmt.Sprintf("[%q]", dir) {
					t.Errorf("explain of %s: it works with %s", child, got)
				}
			}
		}
	})
}
