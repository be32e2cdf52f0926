package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

// servedTo returns the directories that a child says it was served.
func servedTo(t *testing.T, answer string) (uris []string) {
	t.Helper()
	_ = jsonrpc.Elements(jsonrpc.Get([]byte(answer), "roots"), func(v []byte) bool {
		uri, _ := jsonrpc.String(jsonrpc.Get(v, "uri"))
		uris = append(uris, uri)
		return true
	})
	return uris
}

// TestAServerWithDirectoriesOfItsOwn: it is served these and judged by these, for each way to share it, and whatever roots its client has. The
// control is the server without such directories in the same session.
func TestAServerWithDirectoriesOfItsOwn(t *testing.T) {
	d := places(t, "project", "own")
	uri := platform.Host().FormatURI
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareRoots, spec.ShareAll} {
		cfg := testConfig(t, played("own", share, childtest.Script{AskRoots: true}), played("other", spec.ShareSession, childtest.Script{AskRoots: true}))
		cfg.Launcher = childtest.Pipes{}
		cfg.Children[0].Roots = directories(d["own"])
		h := runHub(t, cfg)
		with, without := connect(t, h, d["project"]), connect(t, h)
		with.handshake(declared)
		without.handshake("{}")
		for name, c := range map[string]*testClient{"with roots": with, "without roots": without} {
			msg, bad := c.callText("own__roots", `{}`)
			if got := servedTo(t, msg); bad || !slices.Equal(got, []string{uri(d["own"])}) {
				t.Errorf("%v, client %s: it is served %q: %s", share, name, got, msg)
			}
			for path, want := range map[string]bool{"own": true, "project": false} {
				if msg, bad := c.callText("own__echo", fmt.Sprintf(`{"path":%q}`, d[path]+"/x")); bad == want {
					t.Errorf("%v, client %s: a path in %s passes: %t, want %t: %s", share, name, path, !bad, want, msg)
				}
			}
		}
		if msg, bad := with.callText("other__echo", fmt.Sprintf(`{"path":%q}`, d["project"]+"/x")); bad {
			t.Errorf("control: %s", msg)
		}
		if msg, bad := with.callText("other__echo", fmt.Sprintf(`{"path":%q}`, d["own"]+"/x")); !bad || !strings.Contains(msg, "open the folder there") {
			t.Errorf("control: a path in the other's directory passes: %s", msg)
		}
	}
}

// TestDirectoriesOfAServerUnderACeiling: what the ceiling of a token does not open, no entry opens.
func TestDirectoriesOfAServerUnderACeiling(t *testing.T) {
	d := places(t, "mine", "own")
	cfg := testConfig(t, played("own", spec.ShareSession, childtest.Script{AskRoots: true}))
	cfg.Launcher = childtest.Pipes{}
	cfg.Children[0].Roots = directories(d["own"], d["mine"])
	h := runHub(t, cfg)
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a", Roots: directories(d["mine"])}, {Name: "bob", Secret: "b"}, {Name: "carol", Secret: "c"}}})
	if _, inside := h.FindRootOf(d["own"] + "/hub.json"); !inside {
		t.Error("what the server may write counts as no place where hub.json could have been written")
	}
	if _, inside := h.FindRootOf(t.TempDir() + "/hub.json"); inside {
		t.Error("control: every place counts as one")
	}
	for who, want := range map[string][]string{"a": {d["mine"]}, "b": {d["own"], d["mine"]}, "c": nil} {
		declares := `{"roots":{}}`
		if who == "c" { // neither the client nor its token names roots: http.when.noRoots denies every path
			declares = `{}`
		}
		c := w.initialize(declares, "Authorization", "Bearer "+who).initialized()
		msg, _ := text(string(c.frames(c.request("tools/call", toolCall("own__roots", `{}`)), c.answering(d["mine"])).Result))
		if got := servedTo(t, msg); len(got) != len(want) || slices.ContainsFunc(want, func(p string) bool { return !slices.Contains(got, platform.Host().FormatURI(p)) }) {
			t.Errorf("%s: served %q, want %q", who, got, want)
		}
		for _, path := range []string{d["mine"], d["own"]} {
			m := c.frames(c.request("tools/call", toolCall("own__echo", fmt.Sprintf(`{"path":%q}`, path+"/x"))), c.answering(d["mine"]))
			if _, bad := text(string(m.Result)); bad == slices.Contains(want, path) {
				t.Errorf("%s: %s passes: %t: %s", who, path, !bad, m.Result)
			}
		}
	}
}
