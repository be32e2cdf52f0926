package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/rootsmgr"
)

// A client that declares no roots is not waited for, also if it never sends notifications/initialized. The control declares them.
func TestAClientWithoutRootsThatIsNeverInitialized(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, scripted("kid", childtest.Script{Library: true}))
	cfg.Roots.Timeout = bounds.Of(time.Second) // each call starts a child, which counts as well
	cfg.Roots.When = rootsmgr.NoRootsPolicy{Unsupported: true}
	h := runHub(t, cfg)
	w := serveWeb(t, h, HTTPOptions{})
	for caps, waits := range map[string]bool{`{}`: false, `{"roots":{}}`: true} {
		for method, params := range map[string]string{"tools/call": pathCall(t.TempDir(), "x"), "resources/read": `{"uri":"note://7"}`} {
			for front, begin := range map[string]func(t *testing.T) (call func()){
				"http": func(*testing.T) func() {
					c := w.initialize(caps)
					return func() { c.frames(c.request(method, params), c.answering()) }
				},
				"stdio": func(t *testing.T) func() {
					c, leave := enter(t, h)
					t.Cleanup(leave)
					c.raw("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+caps+`,"clientInfo":{"name":"test","version":"1"}}`)
					return func() { c.raw(method, params) }
				},
			} {
				t.Run(fmt.Sprint(front, " ", caps, " ", method), func(t *testing.T) {
					t.Parallel()
					call := begin(t)
					for range 2 { // each call, and not the first one alone
						began := time.Now()
						call()
						if took := time.Since(began); took >= cfg.Roots.Timeout != waits {
							t.Errorf("a call took %s", took)
						}
						if waits {
							break
						}
					}
				})
			}
		}
	}
}

// A client whose token names no directories, and which gives no roots, opens no path, whatever roots.when
// says. The control of each attack is the same call where http.when.noRoots allows it.
func TestATokenWithoutRootsOpensNothing(t *testing.T) {
	const secrets = "/etc/shadow"
	dir := t.TempDir()
	inside := dir + "/f"
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Launcher = childtest.Pipes{}
	cfg.Roots.When = rootsmgr.NoRootsPolicy{Unsupported: true, Empty: true}
	h := runHub(t, cfg)
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b", Roots: directories(dir)}}})
	// empty gives roots, but no root
	handshake := func(secret string, empty bool) func(path string) string {
		caps := `{}`
		if empty {
			caps = `{"roots":{}}`
		}
		c := w.initialize(caps, "Authorization", "Bearer "+secret).initialized()
		return func(path string) string {
			m := c.frames(c.request("tools/call", pathCall(path, "x")), c.answering())
			msg, bad := text(string(m.Result))
			return fmt.Sprint(bad, " ", msg)
		}
	}
	modern := func(secret string, roots ...string) func(path string) string {
		c := w.modern(secret, roots...)
		return func(path string) string {
			msg, bad := c.call("kid__echo", fmt.Sprintf(`{"path":%q}`, path))
			return fmt.Sprint(bad, " ", msg)
		}
	}
	attacks := map[string]func(path string) string{
		"handshake, no roots": handshake("a", false), "handshake, empty": handshake("a", true),
		"2026-07-28, no roots": modern("a"), "2026-07-28, empty": modern("a", []string{}...),
	}
	for name, try := range attacks {
		got := try(secrets)
		if !strings.HasPrefix(got, "true") || !strings.Contains(got, "http.when.noRoots") || !strings.Contains(got, "http.tokens[].roots") {
			t.Errorf("%s: %s", name, got)
		}
	}
	// The one who has directories by the token goes by them, as before.
	for name, try := range map[string]func(path string) string{"handshake": handshake("b", false), "empty": handshake("b", true), "2026-07-28": modern("b")} {
		if got := try(inside); !strings.HasPrefix(got, "false") {
			t.Errorf("%s, inside of the token's: %s", name, got)
		}
		if got := try(secrets); !strings.HasPrefix(got, "true") || strings.Contains(got, "noRoots") {
			t.Errorf("%s, outside of the token's: %s", name, got)
		}
	}
	// So does the one who gives roots.
	if try := modern("a", dir); !strings.HasPrefix(try(inside), "false") || !strings.HasPrefix(try(secrets), "true") {
		t.Error("the client's own roots do not hold")
	}

	cfg.AllowWithoutRoots = true
	apply(t, h, cfg)
	for name, try := range attacks {
		if got := try(secrets); !strings.HasPrefix(got, "false") {
			t.Errorf("control: %s: %s", name, got)
		}
	}
	cfg.Roots.When = rootsmgr.NoRootsPolicy{}
	apply(t, h, cfg)
	for name, try := range attacks {
		if got := try(secrets); !strings.HasPrefix(got, "true") || strings.Contains(got, "noRoots") {
			t.Errorf("%s, and roots.when denies: %s", name, got)
		}
	}
	cfg.AllowWithoutRoots, cfg.Fallback = false, rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: dir}}}
	apply(t, h, cfg)
	for name, try := range attacks {
		if strings.Contains(name, "empty") {
			continue // an answer, for which nothing stands in
		}
		if !strings.HasPrefix(try(inside), "false") || !strings.HasPrefix(try(secrets), "true") {
			t.Errorf("%s: roots.fallback does not hold", name)
		}
	}
}

// The one who is of no token goes by roots.when alone: the user of a token that the hub made, and the one who
// reaches an address without one.
func TestRootsWhenHoldsForTheUserOfThisMachine(t *testing.T) {
	for name, o := range map[string]HTTPOptions{"made by the hub": {LocalToken: "mine"}, "none": {}} {
		cfg := testConfig(t, scripted("kid", childtest.Script{}))
		cfg.Launcher = childtest.Pipes{}
		h := runHub(t, cfg)
		w := serveWeb(t, h, o)
		c := w.initialize(`{}`, "Authorization", "Bearer "+o.LocalToken).initialized()
		try := func() string {
			return string(c.frames(c.request("tools/call", pathCall("/etc/shadow", "x")), nil).Result)
		}
		if msg, bad := text(try()); bad {
			t.Errorf("%s: %s", name, msg)
		}
		cfg.Roots.When = rootsmgr.NoRootsPolicy{}
		apply(t, h, cfg)
		if msg, bad := text(try()); !bad || strings.Contains(msg, "noRoots") {
			t.Errorf("%s, denied: %s", name, msg)
		}
	}
}
