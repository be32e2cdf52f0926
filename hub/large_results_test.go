package hub

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// This file is about results that are cut: see package results, which has the tests of where and how.

const resultMax = 4 << 10

// report returns a text of 500 lines, and what a server makes of it.
func report() (text, result string) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "line %d: größer als erlaubt\n", i)
	}
	return b.String(), `{"content":[{"type":"text","text":` + string(jsonrpc.AppendString(nil, b.String())) + `}],"isError":true,"x":1e2}`
}

// cutting returns the configuration of a hub whose child answers each call with a result.
func cutting(t testing.TB, s childtest.Script, result string) Config {
	t.Helper()
	s.Replies = map[string]string{"tools/call": result}
	cfg := testConfig(t, scripted("kid", s))
	cfg.Launcher = childtest.Pipes{}
	cfg.Children[0].ResultMax = resultMax
	return cfg
}

// A reader makes one request and returns its result, and its error.
type reader func(method, params string) (result, fault []byte)

func (c *testClient) reader() reader {
	return func(method, params string) ([]byte, []byte) {
		c.t.Helper()
		resp, err := c.conn.Call(c.t.Context(), method, []byte(params))
		if err != nil {
			c.t.Fatal(err)
		}
		return resp.Result, resp.Error
	}
}

func (c *modernClient) reader() reader {
	return func(method, params string) ([]byte, []byte) {
		resp := c.once(method, params)
		return resp.Result, resp.Error
	}
}

func (c *webClient) reader() reader {
	return func(method, params string) ([]byte, []byte) {
		m := c.frames(c.request(method, params), nil)
		return m.Result, m.Error
	}
}

func (c *modernWeb) reader() reader {
	return func(method, params string) ([]byte, []byte) {
		m := c.request(method, params, nil)
		return m.Result, m.Error
	}
}

// linked returns the URI that a result of tools/call leads to, "" for none.
func linked(result []byte) (uri string) {
	_ = jsonrpc.Elements(jsonrpc.Get(result, "content"), func(block []byte) bool {
		if kind, _ := jsonrpc.String(jsonrpc.Get(block, "type")); kind == "resource_link" {
			uri, _ = jsonrpc.String(jsonrpc.Get(block, "uri"))
		}
		return true
	})
	return uri
}

func readParams(uri string) string { return fmt.Sprintf(`{"uri":%q}`, uri) }

// whole reads all pages behind a URI.
func (r reader) whole(t testing.TB, uri string) (text string, pages int) {
	t.Helper()
	for uri != "" {
		result, fault := r("resources/read", readParams(uri))
		if fault != nil {
			t.Fatalf("%s: %s", uri, fault)
		}
		uri = ""
		_ = jsonrpc.Elements(jsonrpc.Get(result, "contents"), func(page []byte) bool {
			part, _ := jsonrpc.String(jsonrpc.Get(page, "text"))
			text += part
			uri, _ = jsonrpc.String(jsonrpc.Get(jsonrpc.Get(page, "_meta"), "mcphub/next"))
			return true
		})
		pages++
	}
	return text, pages
}

// TestALargeResultIsCutForEveryClient: on both fronts, in both eras, whatever era the server is of.
func TestALargeResultIsCutForEveryClient(t *testing.T) {
	report, result := report()
	for _, era := range []string{"", "dual"} {
		for name, open := range map[string]func(t *testing.T, h *Hub) reader{
			"stdio, handshake": func(t *testing.T, h *Hub) reader {
				c := connect(t, h)
				c.handshake(`{}`)
				return c.reader()
			},
			"stdio, modern": func(t *testing.T, h *Hub) reader {
				c, _ := enterModern(t, h, `{}`)
				return c.reader()
			},
			"HTTP, handshake": func(t *testing.T, h *Hub) reader {
				return serveWeb(t, h, HTTPOptions{}).initialize(`{}`).initialized().reader()
			},
			"HTTP, modern": func(t *testing.T, h *Hub) reader { return serveWeb(t, h, HTTPOptions{}).modern("").reader() },
		} {
			t.Run(name+" "+era, func(t *testing.T) {
				r := open(t, runHub(t, cutting(t, childtest.Script{Era: era}, result)))
				for _, call := range []string{toolCall("kid__echo", `{}`), toolCall("call-tool", `{"serverName":"kid","toolName":"echo","toolArgs":{}}`)} {
					got, fault := r("tools/call", call)
					if fault != nil {
						t.Fatal(string(fault))
					}
					shown, failed := text(string(got))
					if !failed || string(jsonrpc.Get(got, "x")) != "1e2" || len(shown) > resultMax+1000 || !strings.HasPrefix(shown, "line 0:") || !strings.Contains(shown, "line 499:") {
						t.Errorf("got %s", got)
					}
					uri := linked(got)
					if !strings.Contains(shown, uri+"?page=1") {
						t.Errorf("the text does not name %s", uri)
					}
					back, pages := r.whole(t, uri)
					if sha256.Sum256([]byte(back)) != sha256.Sum256([]byte(report)) || pages < 4 {
						t.Errorf("%d bytes in %d pages, of %d", len(back), pages, len(report))
					}
				}
			})
		}
	}
}

// TestALinkIsOfNoOtherSession: neither of another client of the same user, nor of another principal, nor of a child that
// lists it or is asked for everything; and it ends with the session.
func TestALinkIsOfNoOtherSession(t *testing.T) {
	_, result := report()
	cfg := cutting(t, childtest.Script{Library: true}, result)
	cfg.AllowWithoutRoots = true
	h := runHub(t, cfg)
	w := serveWeb(t, h, HTTPOptions{Tokens: []Token{{Name: "alice", Secret: "a"}, {Name: "bob", Secret: "b"}}})
	as := func(secret string) []string { return []string{"Authorization", "Bearer " + secret} }
	alice, again, bob := w.initialize(`{}`, as("a")...).initialized(), w.initialize(`{}`, as("a")...).initialized(), w.initialize(`{}`, as("b")...).initialized()
	local := connect(t, h)
	local.handshake(`{}`)
	got, _ := alice.reader()("tools/call", toolCall("kid__echo", `{}`))
	uri := linked(got)
	if _, pages := alice.reader().whole(t, uri); pages < 4 {
		t.Fatalf("%d pages", pages)
	}
	modernAlice, _ := w.modern("a").reader()("tools/call", toolCall("kid__echo", `{}`))
	for name, tc := range map[string]struct {
		r   reader
		uri string
	}{
		"another session":                   {again.reader(), uri},
		"another principal":                 {bob.reader(), uri},
		"another front":                     {local.reader(), uri},
		"another era":                       {w.modern("a").reader(), uri},
		"another principal of that era":     {w.modern("b").reader(), linked(modernAlice)},
		"the session of the same principal": {alice.reader(), linked(modernAlice)},
	} {
		if read, fault := tc.r("resources/read", readParams(tc.uri)); fault == nil || !strings.Contains(string(fault), "there is no result") {
			t.Errorf("%s was given %s%s", name, read, fault)
		}
	}
	if _, pages := w.modern("a").reader().whole(t, linked(modernAlice)); pages < 4 { // the control: the same token
		t.Errorf("%d pages", pages)
	}
	if read, fault := alice.reader()("resources/subscribe", readParams(uri)); fault == nil {
		t.Errorf("a child follows it: %s", read)
	}
	if r := alice.do("DELETE", "", append(as("a"), headerSession, alice.session)...); r.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: %d", r.StatusCode)
	}
	if r := alice.request("resources/read", readParams(uri)); r.StatusCode != http.StatusNotFound {
		t.Errorf("after its session: %d", r.StatusCode)
	}
	if read, fault := again.reader()("resources/read", readParams(uri)); fault == nil {
		t.Errorf("after its session somebody read %s", read)
	}
}

// TestNoSchemaIsPromisedOfWhatMayBeCut: a client that knows an outputSchema insists on structuredContent. A reload
// brings the schema back.
func TestNoSchemaIsPromisedOfWhatMayBeCut(t *testing.T) {
	defs := filepath.Join(t.TempDir(), "defs")
	if err := os.WriteFile(defs, []byte(`{"name":"shaped","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["a"]},"x-odd":1e2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	large := `{"a":"` + strings.Repeat("b", resultMax) + `"}`
	cfg := cutting(t, childtest.Script{Defs: defs}, `{"content":[{"type":"text","text":"short"}],"structuredContent":`+large+`}`)
	h := runHub(t, cfg)
	c := connect(t, h)
	c.handshake(`{}`)
	if list := c.raw("tools/list", `{}`); strings.Contains(list, "outputSchema") || !strings.Contains(list, `"x-odd":1e2`) {
		t.Errorf("tools/list: %s", list)
	}
	got := []byte(c.raw("tools/call", toolCall("kid__shaped", `{}`)))
	if shown, _ := text(string(got)); jsonrpc.Get(got, "structuredContent") != nil || !strings.HasPrefix(shown, "short\n[mcphub: structuredContent of ") {
		t.Errorf("got %s", got)
	}
	if back, _ := c.reader().whole(t, linked(got)); back != large {
		t.Errorf("behind the link: %s", back)
	}
	for _, max := range []int{0, resultMax} {
		other := cfg
		other.Children = append([]Child(nil), cfg.Children...)
		other.Children[0].ResultMax = max
		if _, err := h.Apply(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if list := c.raw("tools/list", `{}`); strings.Contains(list, "outputSchema") != (max == 0) {
			t.Errorf("with %d: %s", max, list)
		}
		if got := []byte(c.raw("tools/call", toolCall("kid__shaped", `{}`))); (jsonrpc.Get(got, "structuredContent") != nil) != (max == 0) {
			t.Errorf("with %d: %s", max, got)
		}
	}
}
