package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcphub/children/childtest"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

func toolCall(name, args string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
}

// text returns the text of a tool result and whether it is an error.
func text(result string) (string, bool) {
	var parts []string
	_ = jsonrpc.Elements(jsonrpc.Get([]byte(result), "content"), func(item []byte) bool {
		t, _ := jsonrpc.String(jsonrpc.Get(item, "text"))
		parts = append(parts, t)
		return true
	})
	return strings.Join(parts, "\n"), string(jsonrpc.Get([]byte(result), "isError")) == "true"
}

func TestCallIsJudgedBeforeItReachesTheChild(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})), root)
	c.handshake(`{"roots":{"listChanged":true}}`)

	in := c.raw("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q,"n":12345678901234567890}`, filepath.Join(root, "new.txt"))))
	want := fmt.Sprintf(`{"path":%q,"n":12345678901234567890}`, filepath.Join(root, "new.txt"))
	if got := string(jsonrpc.Get([]byte(in), "structuredContent")); got != want {
		t.Errorf("the child got %s, want %s", got, want)
	}
	for _, path := range []string{outside, root + "/../x", root + "x", "file://" + outside, "../../../../etc/passwd"} {
		msg, bad := text(c.raw("tools/call", toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, path))))
		prefix := fmt.Sprintf("Access denied: Path '%s' is outside the allowed roots boundaries. Current roots: [\"file://%s\"]", path, root)
		if !bad || !strings.HasPrefix(msg, prefix) {
			t.Errorf("%s: %v %s", path, bad, msg)
		}
	}
}

func TestCallToolGoesTheSameWay(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})), root)
	c.handshake(`{"roots":{}}`)
	wrap := func(server, tool, args string) string {
		return toolCall("call-tool", fmt.Sprintf(`{"serverName":%q,"toolName":%q,"toolArgs":%s}`, server, tool, args))
	}
	ok := c.raw("tools/call", wrap("kid", "echo", `{"a":[1.0,1e2]}`))
	if got := string(jsonrpc.Get([]byte(ok), "structuredContent")); got != `{"a":[1.0,1e2]}` {
		t.Errorf("the child got %s", got)
	}
	if msg, bad := text(c.raw("tools/call", wrap("kid", "echo", fmt.Sprintf(`{"path":%q}`, outside)))); !bad || !strings.HasPrefix(msg, "Access denied") {
		t.Errorf("%v %s", bad, msg)
	}
	for _, wrong := range []string{wrap("nobody", "echo", "{}"), wrap("kid", "nothing", "{}"), toolCall("call-tool", `{}`), toolCall("call-tool", `{"serverName":"kid"}`)} {
		if msg, bad := text(c.raw("tools/call", wrong)); !bad || msg == "" {
			t.Errorf("%s: %v %q", wrong, bad, msg)
		}
	}
	_ = jsonrpc.Elements(jsonrpc.Get([]byte(c.raw("tools/list", `{}`)), "tools"), func(def []byte) bool {
		if name, _ := jsonrpc.String(jsonrpc.Get(def, "name")); name == "call-tool" && string(jsonrpc.Get(jsonrpc.Get(def, "annotations"), "destructiveHint")) != "true" {
			t.Errorf("call-tool is not annotated as destructive: %s", def)
		}
		return true
	})
}

func TestRootsChangeBetweenTwoCalls(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{AskRoots: true})), one)
	c.handshake(`{"roots":{"listChanged":true}}`)
	file := func(dir string) string {
		return toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "f")))
	}
	if msg, bad := text(c.raw("tools/call", file(one))); bad {
		t.Fatal(msg)
	}
	if _, bad := text(c.raw("tools/call", file(two))); !bad {
		t.Fatal("a path outside the first roots passed")
	}
	known := func() (generation int, dirs string) {
		got := jsonrpc.Get([]byte(c.raw("tools/call", toolCall("get-roots", `{}`))), "structuredContent")
		if _, err := fmt.Sscan(string(jsonrpc.Get(got, "generation")), &generation); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		return generation, string(jsonrpc.Get(got, "filePaths"))
	}
	before, _ := known()
	c.setRoots(two)
	if err := c.conn.Notify(context.Background(), "notifications/roots/list_changed"); err != nil {
		t.Fatal(err)
	}
	// Sent right behind the notification: judged by what it announced.
	if _, bad := text(c.raw("tools/call", file(one))); !bad {
		t.Error("narrowed roots did not take effect for the next call")
	}
	if msg, bad := text(c.raw("tools/call", file(two))); bad {
		t.Error(msg)
	}
	if served, _ := text(c.raw("tools/call", toolCall("kid__roots", `{}`))); !strings.Contains(served, two) || strings.Contains(served, one) {
		t.Errorf("the child is served %s", served)
	}
	if now, dirs := known(); now <= before || dirs != fmt.Sprintf("[%q]", two) {
		t.Errorf("get-roots knows %s of generation %d, before it was %d", dirs, now, before)
	}
}

func TestCancelledWhileWaitingNeverRuns(t *testing.T) {
	root := t.TempDir()
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})), root)
	c.mu.Lock()
	c.roots = nil // the client never answers, so calls with paths wait
	c.mu.Unlock()
	c.handshake(`{"roots":{}}`)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("changed my mind")
	done := make(chan error, 1)
	go func() {
		_, err := c.conn.Call(ctx, "tools/call", []byte(toolCall("kid__change", fmt.Sprintf(`{"name":"ran","path":%q}`, root))))
		done <- err
	}()
	// Calls without paths are answered meanwhile.
	if got := c.raw("tools/call", toolCall("kid__echo", `{"x":1}`)); string(jsonrpc.Get([]byte(got), "structuredContent")) != `{"x":1}` {
		t.Error(got)
	}
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("the call ended with %v", err)
	}
	if list := c.raw("tools/list", `{}`); strings.Contains(list, "kid__ran") {
		t.Error("a call that was cancelled while it waited ran all the same")
	}
}

// TestCancelOfARunningCall cancels calls that took the fast path (no path) and
// the slow one, and calls whose client vanishes: the child is told about each.
func TestCancelOfARunningCall(t *testing.T) {
	root := t.TempDir()
	h := newTestHub(t, scripted("kid", childtest.Script{}))
	c := connect(t, h, root)
	c.handshake(`{"roots":{}}`)
	c.raw("tools/list", `{}`)
	for i, args := range []string{`{}`, fmt.Sprintf(`{"path":%q}`, root)} {
		ctx, cancel := context.WithCancelCause(context.Background())
		progress := fmt.Sprintf(`{"name":"kid__sleep","arguments":%s}`, args)
		done := make(chan error, 1)
		go func() {
			_, err := c.conn.Call(ctx, "tools/call", []byte(progress))
			done <- err
		}()
		for { // until the call is with the child
			noticed, _ := text(c.raw("tools/call", toolCall("kid__noticed", `{}`)))
			if strings.Count(noticed, "sleeping") == i+1 {
				break
			}
		}
		stop := errors.New("enough")
		cancel(stop)
		if err := <-done; !errors.Is(err, stop) {
			t.Errorf("%s: ended with %v", args, err)
		}
		for {
			noticed, _ := text(c.raw("tools/call", toolCall("kid__noticed", `{}`)))
			if strings.Count(noticed, "cancelled") == i+1 {
				break
			}
		}
	}
}

func TestParallelCallsThatAskBack(t *testing.T) {
	root := t.TempDir()
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})), root)
	c.handshake(`{"roots":{}}`)
	var wg sync.WaitGroup
	for range 120 {
		wg.Go(func() {
			if got, bad := text(c.raw("tools/call", toolCall("kid__roots", `{}`))); bad || !strings.Contains(got, root) {
				t.Errorf("%v %s", bad, got)
			}
		})
	}
	wg.Wait()
}

func TestProgressKeepsTokenAndOrder(t *testing.T) {
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})))
	c.handshake(`{}`)
	c.raw("tools/list", `{}`) // no call waits for the start, and hears of it
	for _, token := range []string{`7`, `"seven"`, `9007199254740993`} {
		c.raw("tools/call", `{"_meta":{"keep":1,"progressToken":`+token+`},"name":"kid__progress","arguments":{"Steps":50}}`)
		if len(c.progress) != 50 {
			t.Fatalf("token %s: %d of 50 before the result", token, len(c.progress))
		}
		for i := range 50 {
			if got, want := <-c.progress, fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, i); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
}

func TestChildThatDiesMidCallHarmsNobody(t *testing.T) {
	h := newTestHub(t, scripted("bad", childtest.Script{}), scripted("good", childtest.Script{}))
	c := connect(t, h)
	c.handshake(`{}`)
	msg, bad := text(c.raw("tools/call", toolCall("bad__exit", `{"Code":3}`)))
	if !bad || !strings.Contains(msg, "status 3") || !strings.Contains(msg, "exiting in the middle of a call") {
		t.Errorf("%v %s", bad, msg)
	}
	if got := c.raw("tools/call", toolCall("good__echo", `{"x":1}`)); string(jsonrpc.Get([]byte(got), "structuredContent")) != `{"x":1}` {
		t.Error(got)
	}
	if got := c.raw("tools/call", toolCall("bad__echo", `{"x":2}`)); string(jsonrpc.Get([]byte(got), "structuredContent")) != `{"x":2}` {
		t.Errorf("not started again: %s", got)
	}
}

func TestBrokenAnswerEndsItsCall(t *testing.T) {
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})))
	c.handshake(`{}`)
	if e := c.refused("tools/call", toolCall("kid__broken", `{}`)); e.Code != jsonrpc.CodeInternal {
		t.Error(e)
	}
	c.raw("tools/call", toolCall("kid__echo", `{}`))
}

func TestOddEntriesDoNotSpoilTheList(t *testing.T) {
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{OddTools: true, Pages: 2}), scripted("dead", childtest.Script{Exit: 4})))
	c.handshake(`{}`)
	list := c.raw("tools/list", `{}`)
	names := map[string]bool{}
	if err := jsonrpc.Elements(jsonrpc.Get([]byte(list), "tools"), func(def []byte) bool {
		n, _ := jsonrpc.String(jsonrpc.Get(def, "name"))
		names[n] = true
		if strings.HasPrefix(n, "kid__") && n != "kid__odd" && string(jsonrpc.Get(def, "x-kept")) != "12345678901234567890" {
			t.Errorf("%s lost a member: %s", n, def)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"get-roots", "call-tool", "list-tools", "find-tools", "kid__echo", "kid__page3_2", "kid__odd"} {
		if !names[want] {
			t.Errorf("%s is not listed", want)
		}
	}
	report, _ := text(c.raw("tools/call", toolCall("list-tools", `{}`)))
	for _, want := range []string{`"dead"`, "status 4", "no tool definition with a name"} {
		if !strings.Contains(report, want) {
			t.Errorf("list-tools does not say %q:\n%s", want, report)
		}
	}
	if msg, bad := text(c.raw("tools/call", toolCall("dead__x", `{}`))); !bad || !strings.Contains(msg, "status 4") {
		t.Errorf("a tool of a child that is down: %v %s", bad, msg)
	}
	if e := c.refused("tools/call", toolCall("kid__nothing", `{}`)); e.Code != jsonrpc.CodeInvalidParams {
		t.Error(e)
	}
}

func TestWrongRequests(t *testing.T) {
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})))
	if e := c.refused("initialize", `{"capabilities":{}}`); e.Code != jsonrpc.CodeInvalidParams {
		t.Error(e)
	}
	c.handshake(`{"roots":true}`)
	if e := c.refused("initialize", `{"protocolVersion":"2025-06-18","capabilities":{}}`); e.Code != jsonrpc.CodeInvalidRequest {
		t.Error(e)
	}
	report := c.raw("tools/call", toolCall("get-roots", `{}`))
	if got := jsonrpc.Get(jsonrpc.Get([]byte(report), "structuredContent"), "supportsRoots"); string(got) != "false" {
		t.Errorf("roots of an odd shape count as declared: %s", report)
	}
	cases := []struct {
		method, params string
		code           int64
	}{
		{"tools/call", `{"arguments":{}}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":7}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":"kid__echo","arguments":{"a":1,"a":2}}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":"kid__echo","arguments":[]}`, jsonrpc.CodeInvalidParams},
		{"tools/call", `{"name":"kid__echo","arguments":{},"Arguments":{}}`, jsonrpc.CodeInvalidParams},
		{"tools/list", `{"cursor":"made-up"}`, jsonrpc.CodeInvalidParams},
		{"no/such", `{}`, jsonrpc.CodeMethodNotFound},
		{"server/discover", `{}`, jsonrpc.CodeInvalidParams}, // of the other era, and without what that needs
	}
	for _, w := range cases {
		if e := c.refused(w.method, w.params); e.Code != w.code {
			t.Errorf("%s %s: %v, want code %d", w.method, w.params, e, w.code)
		}
	}
	// Notifications that mean nothing do no harm.
	for method, params := range map[string]string{"no/such/notification": `{"x":1}`, "notifications/cancelled": `7`} {
		if err := c.conn.Notify(context.Background(), method, []byte(params)); err != nil {
			t.Error(err)
		}
	}
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != 0 {
		t.Error("a client that declared no roots was asked for them")
	}
}

func TestListChangedIsAnnounced(t *testing.T) {
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{})))
	c.handshake(`{}`)
	if list := c.raw("tools/list", `{}`); strings.Contains(list, "kid__fresh") {
		t.Fatal(list)
	}
	c.raw("tools/call", toolCall("kid__change", `{"Name":"fresh"}`))
	for note := range c.notes {
		if note == "notifications/tools/list_changed" {
			break
		}
	}
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, "kid__fresh") {
		t.Error("the new tool is not listed")
	}
}

func BenchmarkCall(b *testing.B) {
	root := b.TempDir()
	file := filepath.Join(root, "f.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	c := connect(b, newTestHub(b, scripted("kid", childtest.Script{})), root)
	c.handshake(`{"roots":{}}`)
	for name, params := range map[string]string{
		"no-path":  toolCall("kid__echo", `{"text":"seventy-one bytes of text that are no path and mean nothing at all"}`),
		"one-path": toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, file)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.raw("tools/call", params)
			}
		})
	}
}

// TestACallBeforeInitialize: a call without a handshake and without the _meta of the other era runs nothing.
func TestACallBeforeInitialize(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.raw("tools/list", `{}`)
		for method, params := range map[string]string{
			"tools/call": toolCall("kid__echo", `{"tag":"early"}`), "resources/read": `{"uri":"note://1"}`, "prompts/get": `{"name":"kid__greet"}`,
		} {
			resp, err := c.conn.Call(context.Background(), method, []byte(params))
			if err != nil {
				t.Fatal(err)
			}
			if e := resp.Err(); e == nil || e.Code != jsonrpc.CodeInvalidRequest || !strings.Contains(e.Message, "say initialize first") {
				t.Errorf("%s: %v", method, e)
			}
		}
		if s.who("early") != nil {
			t.Error("the child got the call")
		}
		c.handshake(`{}`)
		c.tagged(s, "kid", "control")
	})
}
