package hub

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

// pathCall returns a call with a path and a tag by which a test finds who got it.
func pathCall(path, tag string) string {
	return toolCall("kid__echo", fmt.Sprintf(`{"path":%q,"tag":%q}`, path, tag))
}

func TestMalformedRootsAreRefused(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		in := t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		params := pathCall(in+"/x", "it")
		a := c.mustAsk("tools/call", params)
		for _, roots := range []string{`7`, `{}`, `{"roots":null}`, `{"roots":{}}`, `"x"`, `[]`} {
			if e := c.refused("tools/call", a.retry(params, map[string]string{a.keys[0]: roots})); e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s: %v", roots, e)
			}
		}
		if s.who("it") != nil {
			t.Error("the child got the call")
		}
		// Left out, they are asked for again; then they are given.
		if b := c.mustAsk("tools/call", a.retry(params, nil)); len(b.keys) != 1 || b.methods[b.keys[0]] != "roots/list" {
			t.Errorf("asked %+v", b)
		}
		if _, bad := text(c.raw("tools/call", a.retry(params, map[string]string{a.keys[0]: c.roots}))); bad || s.who("it") == nil {
			t.Error("control: the honest retry was refused")
		}
	})
}

func TestGetRootsOfAModernClient(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, _ *stage) {
		in := t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		report, sent := c.full("tools/call", toolCall("get-roots", `{}`), nil)
		report = member(report, "structuredContent")
		for name, want := range map[string]string{"state": `"known"`, "origin": `"inline"`, "era": `"modern"`, "protocolVersion": `"2026-07-28"`, "rootsCount": "1", "supportsRoots": "true", "rootsListChanged": "false"} {
			if got := member(report, name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if sent != 2 || !strings.Contains(report, in) {
			t.Errorf("sent %d times: %s", sent, report)
		}
	})
}

// A child that needs the roots without a path in the call: the first call to it
// asks for them, later ones do not.
func TestFirstCallOfAChildThatNeedsRoots(t *testing.T) {
	with := func(change func(*spec.Spec), s childtest.Script) []spec.Spec {
		child := played("kid", spec.ShareSession, s)
		change(&child)
		return []spec.Spec{child}
	}
	elsewhere := t.TempDir()
	for name, tc := range map[string]struct {
		specs []spec.Spec
		sent  int
	}{
		"no cwd":        {with(func(*spec.Spec) {}, childtest.Script{}), 2},
		"cwd":           {with(func(s *spec.Spec) { s.Cwd = elsewhere }, childtest.Script{}), 1},
		"cwd, but asks": {with(func(s *spec.Spec) { s.Cwd = elsewhere }, childtest.Script{AskRoots: true}), 2},
		"serves all":    {with(func(s *spec.Spec) { s.Share = spec.ShareAll }, childtest.Script{}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, tc.specs, func(t *testing.T, h *Hub, s *stage) {
				in := t.TempDir()
				c, _ := enterModern(t, h, rootsCaps, in)
				c.raw("tools/list", `{}`)
				synctest.Wait()
				if _, sent := c.full("tools/call", toolCall("kid__echo", `{"tag":"first"}`), nil); sent != tc.sent {
					t.Errorf("the first call was sent %d times, want %d", sent, tc.sent)
				}
				if got := s.who("first").cwd; name == "no cwd" && got != in {
					t.Errorf("it works in %s, want %s", got, in)
				}
				if _, sent := c.full("tools/call", toolCall("kid__echo", `{}`), nil); sent != 1 {
					t.Errorf("the second call was sent %d times", sent)
				}
			})
		})
	}
}

// The tools of a child that cannot start without roots are there before any
// have come.
func TestChildThatNeedsRootsIsListedBefore(t *testing.T) {
	child := played("kid", spec.ShareSession, childtest.Script{})
	child.Args = append(child.Args, "${roots}")
	in := t.TempDir()
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enterModern(t, h, rootsCaps, in)
		if l := c.raw("tools/list", `{}`); !strings.Contains(l, "kid__echo") {
			t.Fatalf("not listed: %s", l)
		}
		if _, sent := c.full("tools/call", toolCall("kid__echo", `{"tag":"it"}`), nil); sent != 2 || s.who("it").roots != in {
			t.Errorf("sent %d times, to a child with the roots %q", sent, s.who("it").roots)
		}
	})
}

func TestModernResourcesAndPrompts(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true})}, func(t *testing.T, h *Hub, _ *stage) {
		in, out := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		c.extra = `,"x-own":1`
		inside := platform.Host().FormatURI(in + "/x")
		result, sent := c.full("resources/read", fmt.Sprintf(`{"uri":%q}`, inside), nil)
		if sent != 2 || member(result, "ttlMs") != "0" || member(result, "cacheScope") != `"private"` || !strings.Contains(result, `x-own`) {
			t.Errorf("sent %d times: %s", sent, result)
		}
		for _, hop := range []string{"clientCapabilities", "protocolVersion", "clientInfo", "inputResponses", "requestState"} {
			if strings.Contains(member(result, "contents"), hop) {
				t.Errorf("the child was sent %s: %s", hop, result)
			}
		}
		outside := fmt.Sprintf(`{"uri":%q}`, platform.Host().FormatURI(out+"/x"))
		a := c.mustAsk("resources/read", outside)
		if e := c.refused("resources/read", a.retry(outside, map[string]string{a.keys[0]: c.roots})); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "Access denied") {
			t.Errorf("outside: %v", e)
		}
		// What is no path whatever the disk holds costs no question.
		if e := c.refused("resources/read", `{"uri":"gone:1"}`); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("a resource that nobody has: %v", e)
		}
		prompt := fmt.Sprintf(`{"name":"kid__greet","arguments":{"path":%q}}`, in+"/x")
		if _, sent := c.full("prompts/get", prompt, nil); sent != 2 {
			t.Errorf("a prompt with a path was sent %d times", sent)
		}
		// Completion cannot ask: it goes by the roots that came last.
		complete := `{"ref":{"type":"ref/prompt","name":"kid__greet"},"argument":{"name":"path","value":%q}}`
		c.raw("completion/complete", fmt.Sprintf(complete, in+"/x"))
		if e := c.refused("completion/complete", fmt.Sprintf(complete, out+"/x")); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("completion outside: %v", e)
		}
		fresh, _ := enterModern(t, h, rootsCaps, in)
		if e := fresh.refused("completion/complete", fmt.Sprintf(complete, in+"/x")); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("completion before any roots: %v", e)
		}
	})
}

func TestResourceThatIsNoPathCostsNoQuestion(t *testing.T) {
	child := played("kid", spec.ShareSession, childtest.Script{Library: true})
	child.Cwd = t.TempDir()
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, _ *stage) {
		in := t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		c.raw("resources/list", `{}`)
		if result, sent := c.full("resources/read", `{"uri":"note://static-text"}`, nil); sent != 1 || member(result, "contents") == "" {
			t.Errorf("sent %d times: %s", sent, result)
		}
		if _, sent := c.full("resources/read", fmt.Sprintf(`{"uri":%q}`, platform.Host().FormatURI(in+"/x")), nil); sent != 2 {
			t.Errorf("control: one that is a path was sent %d times", sent)
		}
	})
}

// Both eras on one connection: each request is of its own.
func TestBothErasOnOneConnection(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		in, out := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		c.asks = func(_ *modernClient, m *jsonrpc.Message) jsonrpc.Answer {
			if m.Method != "roots/list" {
				t.Errorf("asked for %s", m.Method)
			}
			return jsonrpc.ResultAnswer([]byte(fmt.Sprintf(`{"roots":[{"uri":%q}]}`, platform.Host().FormatURI(out))))
		}
		c.raw("server/discover", `{}`)
		if _, bad := text(first(c.full("tools/call", pathCall(in+"/x", "modern"), nil))); bad {
			t.Error("modern, inside: denied")
		}
		c.testClient.handshake(`{"roots":{}}`)
		if msg, bad := text(c.testClient.raw("tools/call", pathCall(out+"/x", "legacy"))); bad {
			t.Errorf("handshake, inside what it answered: %s", msg)
		}
		if _, bad := text(c.testClient.raw("tools/call", pathCall(in+"/x", "legacy out"))); !bad {
			t.Error("handshake, inside what came with another call only: allowed")
		}
		if _, bad := text(first(c.full("tools/call", pathCall(out+"/x", "modern out"), nil))); !bad {
			t.Error("modern, outside: allowed")
		}
		// What came with a call is not what the process goes by once the handshake has said how to ask for that.
		if msg, bad := text(first(c.full("tools/call", pathCall(in+"/x", "modern"), nil))); bad {
			t.Errorf("modern, inside, after the handshake: %s", msg)
		}
		if _, bad := text(c.testClient.raw("tools/call", pathCall(in+"/x", "legacy out"))); !bad {
			t.Error("handshake, inside what came with a later call only: allowed")
		}
		if msg, bad := text(c.testClient.raw("tools/call", pathCall(out+"/x", "legacy"))); bad {
			t.Errorf("handshake, inside what it answered, after a modern call: %s", msg)
		}
		// Nor is a request that declares no roots free of them.
		c.caps = `{}`
		if _, bad := text(c.raw("tools/call", pathCall(in+"/x", "modern out"))); !bad {
			t.Error("modern, without roots of its own, outside those of the handshake: allowed")
		}
		if msg, bad := text(c.raw("tools/call", pathCall(out+"/x", "modern"))); bad {
			t.Errorf("modern, without roots of its own, inside those of the handshake: %s", msg)
		}
		if s.who("legacy out") != nil || s.who("modern out") != nil {
			t.Error("a denied call reached the child")
		}
	})
}

// A request that declares no roots, of a process that has given some: those hold. The control is the same request before.
func TestRequestThatDeclaresNoRoots(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		in, out := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		silent := func(path, tag string) bool {
			c.caps = `{}`
			defer func() { c.caps = rootsCaps }()
			_, bad := text(c.raw("tools/call", pathCall(path, tag)))
			return bad
		}
		if silent(out+"/x", "control") {
			t.Error("control: denied before any roots are known")
		}
		if _, bad := text(first(c.full("tools/call", pathCall(in+"/x", "in"), nil))); bad {
			t.Error("with roots, inside: denied")
		}
		synctest.Wait()
		if silent(in+"/x", "in") {
			t.Error("without, inside: denied")
		}
		if !silent(out+"/x", "out") || s.who("out") != nil {
			t.Error("without, outside: allowed")
		}
	})
}

func first(result string, _ int) string { return result }
