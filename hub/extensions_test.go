package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
)

const (
	skills     = `{"extensions":{"io.modelcontextprotocol/skills":{"n":12345678901234567890,"z":1.0,"a":[]}},"experimental":{"odd/channel":{"e":1e2}}}`
	skillsOnly = `{"extensions":{"io.modelcontextprotocol/skills":{}}}`
	chartsOnly = `{"extensions":{"com.example/charts":{}}}`
)

// extended returns a child that offers more than the protocol.
func extended(name, offers, era string) spec.Spec {
	return played(name, spec.ShareSession, childtest.Script{Offers: offers, Era: era, Asks: era == "", Library: true})
}

// heardOf returns what a child was told about methods that the protocol does not know.
func (c *testClient) heardOf(child, method string) []string {
	c.t.Helper()
	return c.noticed(child, method)
}

// TestExtensionsPass: capabilities, methods and notifications of a child of either
// era, to a client of either era, on either front.
func TestExtensionsPass(t *testing.T) {
	const params = `{"z":1.0,"n":12345678901234567890,"a":{"e":1e2},"text":"\u00e9"}`
	for _, era := range []string{"", "modern"} {
		for _, front := range []string{"stdio", "stdio modern", "http", "http modern"} {
			t.Run("child "+era+", "+front, func(t *testing.T) {
				play(t, []spec.Spec{extended("kid", skills, era)}, func(t *testing.T, h *Hub, _ *stage) {
					first, _ := enter(t, h) // learns what there is
					first.handshake(`{}`)
					first.raw("tools/list", `{}`)
					var caps, result string
					told := func() {}
					note := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/skills/changed","params":%s}`, params)
					switch front {
					case "stdio":
						c, _ := enter(t, h)
						caps = string(jsonrpc.Get([]byte(c.raw("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)), "capabilities"))
						told = func() {
							_ = c.conn.Notify(t.Context(), "notifications/skills/changed", []byte(params))
							synctest.Wait()
							if got := c.heardOf("kid", "notifications/skills/changed"); len(got) != 1 || got[0] != params {
								t.Errorf("told %q", got)
							}
						}
						result = c.raw("skills/own", params)
					case "stdio modern":
						c, _ := enterModern(t, h, `{}`)
						c.raw("tools/list", `{}`)
						caps = string(jsonrpc.Get([]byte(c.raw("server/discover", `{}`)), "capabilities"))
						result = c.raw("skills/own", params)
						told = func() {
							_ = c.conn.Notify(t.Context(), "notifications/skills/changed", []byte(params))
							synctest.Wait()
							if got, _ := text(c.raw("tools/call", toolCall("kid__noticed", `{}`))); !strings.Contains(got, "notifications/skills/changed "+params) {
								t.Errorf("told %q", got)
							}
						}
					case "http":
						c := bubble(t, h).initialize(`{}`)
						r := c.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
						caps = string(jsonrpc.Get(jsonrpc.Get([]byte(body(t, r)), "result"), "capabilities"))
						c.initialized()
						result = string(c.frames(c.request("skills/own", params), nil).Result)
						told = func() {
							c.send(note)
							synctest.Wait()
							if got := string(c.frames(c.request("tools/call", toolCall("kid__noticed", `{}`)), nil).Result); !strings.Contains(got, "notifications/skills/changed") {
								t.Errorf("told %q", got)
							}
							c.do("DELETE", "", headerSession, c.session)
						}
					case "http modern":
						c := bubble(t, h).modern("")
						c.request("tools/list", `{}`, nil)
						m, _ := c.outcome(c.once("server/discover", `{}`), nil)
						caps = string(jsonrpc.Get(m.Result, "capabilities"))
						m, status := c.outcome(c.once("skills/own", params), nil)
						if result = string(m.Result); status != http.StatusOK {
							t.Errorf("status %d, %s", status, m.Error)
						}
						if _, status := c.outcome(c.once("skills/list/", `{"uri":"file:///x"}`), nil); status != http.StatusOK {
							t.Errorf("a refusal has the status %d", status)
						}
						told = func() {
							c.do("POST", note, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/skills/changed")
							synctest.Wait()
							if got := string(c.request("tools/call", toolCall("kid__noticed", `{}`), nil).Result); !strings.Contains(got, "notifications/skills/changed") {
								t.Errorf("told %q", got)
							}
						}
					}
					var want struct{ Extensions, Experimental json.RawMessage }
					_ = json.Unmarshal([]byte(skills), &want)
					if got := jsonrpc.Get([]byte(caps), "extensions"); string(got) != string(want.Extensions) {
						t.Errorf("offered %s", caps)
					}
					if got := jsonrpc.Get([]byte(caps), "experimental"); string(got) != string(want.Experimental) {
						t.Errorf("offered %s", caps)
					}
					sent := string(jsonrpc.Get([]byte(result), "sent"))
					if !strings.Contains(sent, strings.TrimPrefix(strings.TrimSuffix(params, "}"), "{")) || era == "" && sent != params {
						t.Errorf("the child was sent %s", sent)
					}
					if !strings.Contains(result, `"n":12345678901234567890,"z":1.0,"sent":`) || !strings.Contains(result, `"x":1e2`) {
						t.Errorf("answered %s", result)
					}
					told()
				})
			})
		}
	}
}

// TestUnknownMethodsPassAsBytes holds what goes through the hub against what the
// same child says without it: but for the id of the request nothing differs.
func TestUnknownMethodsPassAsBytes(t *testing.T) {
	script := childtest.Script{Offers: skills}
	methods := []string{"skills/own", "skills/get", "odd", "a/b/c", "x.y/z", `sk\u0069lls/own`}
	params := []string{
		``, `,"params":{}`, `,"params":{"_meta":{"a":1.0,"b/c":[1e2]}}`, `,"params": { "z" : 1.0 , "a" : [ ] , "n":-0.0 }`,
		`,"params":{"text":"\u00e9\/\ud83d\ude00é","n":12345678901234567890,"e":1E+2,"_meta":{"x":null}}`, `,"params":{"deep":[[[{"a":{"b":[{}]}}]]],"cursor":"c","name":"n","uri":"skill://x"}`,
	}
	var asked []string
	for _, method := range methods {
		for _, p := range params {
			asked = append(asked, fmt.Sprintf(`{"jsonrpc":"2.0","id":"id-%d","method":"%s"%s}`, len(asked), method, p))
		}
	}
	answers := func(t *testing.T, write io.Writer, read io.Reader, asked []string) map[string]string {
		got := map[string]string{}
		go func() {
			for _, line := range asked {
				_, _ = io.WriteString(write, line+"\n")
			}
		}()
		in := lines.NewReader(read, 1<<20)
		for len(got) < len(asked) {
			line, err := in.Next()
			if err != nil {
				t.Fatal(err)
			}
			var m jsonrpc.Message
			if err := jsonrpc.Split(line, false, &m); err != nil {
				t.Fatal(err)
			}
			if id, _ := jsonrpc.String(m.ID); strings.HasPrefix(id, "id-") {
				got[id] = strings.Replace(string(line), `"id":`+string(m.ID), `"id":0`, 1)
			}
		}
		return got
	}
	toChild, child := io.Pipe()
	fromChild, out := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() { script.Serve(toChild, out, io.Discard, nil) })
	direct := answers(t, child, fromChild, asked)
	_ = child.Close()
	wg.Wait()

	h := newPlayedHub(t, scripted("kid", script))
	toHub, fromClient := io.Pipe()
	toClient, fromHub := io.Pipe()
	wg.Go(func() { _ = h.ServeStdio(context.Background(), toHub, fromHub, Surroundings{}) })
	begin := []string{
		`{"jsonrpc":"2.0","id":"id-i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
	}
	answers(t, fromClient, toClient, begin)
	_, _ = io.WriteString(fromClient, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	through := answers(t, fromClient, toClient, asked)
	_ = fromClient.Close()
	go func() { _, _ = io.Copy(io.Discard, toClient) }()
	wg.Wait()
	for id, want := range direct {
		if through[id] != want {
			t.Errorf("%s\n direct  %s\n through %s", id, want, through[id])
		}
	}
	if len(direct) != len(asked) || !strings.Contains(direct["id-3"], `{ "z" : 1.0 , "a" : [ ] , "n":-0.0 }`) {
		t.Errorf("the child did not say what it was sent: %d answers, %s", len(direct), direct["id-3"])
	}
}

// What a server with extensions says about a method that the protocol does not know is the server's word: its "no such method"
// is no status 404, by which a client takes the hub for an older one. Control: no server has an extension.
func TestNoSuchMethodOfAnExtension(t *testing.T) {
	for offers, want := range map[string]int{skillsOnly: http.StatusOK, "": http.StatusNotFound} {
		play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Offers: offers})}, func(t *testing.T, h *Hub, _ *stage) {
			c := bubble(t, h).modern("")
			c.request("tools/list", `{}`, nil)
			if m, status := c.outcome(c.once("tools/none", `{}`), nil); status != want || codeOf(m) != jsonrpc.CodeMethodNotFound {
				t.Errorf("%q: %d %s%s", offers, status, m.Result, m.Error)
			}
		})
	}
}

// TestContestedExtensions: of several with one key the first is offered, and the
// others are named wherever the hub tells how things stand.
func TestContestedExtensions(t *testing.T) {
	specs := []spec.Spec{extended("one", skillsOnly, ""), extended("two", skills, ""), extended("odd", `{"extensions":{"com.example/bad":7}}`, "")}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		c.raw("tools/list", `{}`)
		want := `[{"key":"io.modelcontextprotocol/skills","server":"one","contested":["two"]},{"key":"odd/channel","experimental":true,"server":"two"}]`
		status, _ := json.Marshal(h.Status())
		for where, report := range map[string]string{
			"get-roots":  string(jsonrpc.Get([]byte(c.raw("tools/call", toolCall("get-roots", `{}`))), "structuredContent")),
			"list-tools": string(jsonrpc.Get([]byte(c.raw("tools/call", toolCall("list-tools", `{}`))), "structuredContent")),
			"status":     string(status),
		} {
			if got := string(jsonrpc.Get([]byte(report), "extensions")); got != want {
				t.Errorf("%s: %s", where, got)
			}
			if where == "list-tools" && !strings.Contains(report, `"extension com.example/bad"`) {
				t.Errorf("what is left out is not named: %s", report)
			}
		}
		other, _ := enter(t, h)
		caps := jsonrpc.Get([]byte(other.raw("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)), "capabilities")
		if got := string(jsonrpc.Get(caps, "extensions")); got != `{"io.modelcontextprotocol/skills":{}}` {
			t.Errorf("offered %s", got)
		}
	})
}

// TestAChildReachesTheClientByDeclaredExtensionsOnly: what the client did not
// declare is refused to the child and does not reach the client. The control is
// a client that declared it.
func TestAChildReachesTheClientByDeclaredExtensionsOnly(t *testing.T) {
	specs := []spec.Spec{extended("kid", chartsOnly, ""), extended("other", skillsOnly, "")}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		for _, test := range []struct {
			declared, method string
			passes           bool
		}{
			{`{"extensions":{"com.example/charts":{}}}`, "charts/pick", true},
			{`{"experimental":{"charts":{}}}`, "charts/pick", true},
			{`{"extensions":{"com.example/other":{}}}`, "charts/pick", false},
			{`{"experimental":{"x":{}},"sampling":{}}`, "charts/pick", false},
			{`{}`, "charts/pick", false}, // that the child offers it is not enough
			{`{"extensions":{"com.example/roots":{}}}`, "server/discover", false},
			{`{"extensions":{"com.example/tools":{}}}`, "tools/call", false},
		} {
			c, leave := enter(t, h)
			c.asks = func(context.Context, *testClient, *jsonrpc.Message) jsonrpc.Answer {
				if !test.passes {
					t.Errorf("%+v: the client was asked", test)
				}
				return jsonrpc.ResultAnswer([]byte(`{"ok":true}`))
			}
			c.handshake(test.declared)
			answer := answerOf(c.raw("tools/call", asking("kid", test.method, `{}`)))
			if passes := answer == `{"ok":true}`; passes != test.passes || !passes && !strings.Contains(answer, "-32601") {
				t.Errorf("%+v: %s", test, answer)
			}
			leave()
		}
	})
}

// TestUnknownNotificationsOfAChild: those of an extension that the client declared
// or the child itself offers pass, others do not.
func TestUnknownNotificationsOfAChild(t *testing.T) {
	specs := []spec.Spec{extended("kid", chartsOnly, ""), extended("other", skillsOnly, ""), extended("plain", `{}`, "")}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		for _, test := range []struct {
			declared, child, method string
			passes                  bool
		}{
			{`{}`, "kid", "notifications/charts/drawn", true},
			{`{}`, "other", "notifications/charts/drawn", false}, // another's
			{`{}`, "plain", "notifications/charts/drawn", false},
			{`{"extensions":{"com.example/charts":{}}}`, "plain", "notifications/charts/drawn", true},
			{`{"extensions":{"com.example/maps":{}}}`, "plain", "notifications/maps/drawn", true},
			{`{}`, "kid", "notifications/maps/drawn", false}, // of two that offer anything
			{`{}`, "plain", "notifications/elicitation/complete", true},
		} {
			c, leave := enter(t, h)
			got := make(chan string, 10)
			c.hears = func(m *jsonrpc.Message) {
				if m.Method == test.method {
					got <- string(m.Params)
				}
			}
			c.handshake(test.declared)
			c.raw("tools/list", `{}`)
			c.raw("tools/call", toolCall(test.child+"__say", fmt.Sprintf(`{"method":%q,"times":1,"params":{"z":1.0}}`, test.method)))
			synctest.Wait()
			if passes := len(got) == 1; passes != test.passes || passes && <-got != `{"z":1.0}` {
				t.Errorf("%+v: %d came", test, len(got))
			}
			leave()
		}
	})
}

// TestExtensionsFollowAReload: other capabilities count from then on.
func TestExtensionsFollowAReload(t *testing.T) {
	play(t, []spec.Spec{extended("kid", skillsOnly, "")}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enterModern(t, h, `{}`)
		c.raw("tools/list", `{}`)
		c.raw("skills/list", `{}`)
		cfg := testConfig(t, extended("new", chartsOnly, ""))
		cfg.Launcher = s
		apply(t, h, cfg)
		c.raw("charts/list", `{}`)
		if caps := string(jsonrpc.Get([]byte(c.raw("server/discover", `{}`)), "capabilities")); strings.Contains(caps, "skills") || !strings.Contains(caps, `"com.example/charts":{}`) {
			t.Errorf("offered %s", caps)
		}
	})
}

// TestExtensionsOfALazyChild: what is remembered is offered, and the first method
// of it starts the child.
func TestExtensionsOfALazyChild(t *testing.T) {
	child := extended("kid", skills, "")
	child.Start = spec.StartLazy
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, s *stage) {
		first, leave := enter(t, h)
		first.handshake(`{}`)
		first.raw("tools/list", `{}`)
		leave()
		before, _ := s.count("kid")
		c, _ := enter(t, h)
		caps := jsonrpc.Get([]byte(c.raw("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)), "capabilities")
		if !strings.Contains(string(caps), `"io.modelcontextprotocol/skills":{"n":12345678901234567890,`) {
			t.Errorf("offered %s", caps)
		}
		_ = c.conn.Notify(t.Context(), "notifications/initialized")
		c.raw("tools/list", `{}`)
		if now, _ := s.count("kid"); now != before {
			t.Fatalf("%d started before it was needed", now-before)
		}
		c.raw("skills/own", `{}`)
		if now, _ := s.count("kid"); now != before+1 {
			t.Errorf("%d were started", now-before)
		}
	})
}

// TestDiscoverLearnsOverHTTP: the first server/discover of a hub that knows nothing has what there is started, and a later one
// shows its extensions. No one has listed anything.
func TestDiscoverLearnsOverHTTP(t *testing.T) {
	slow := played("kid", spec.ShareSession, childtest.Script{Offers: chartsOnly, Era: "modern", StartDelay: time.Second}) // it must not be there at once
	play(t, []spec.Spec{slow}, func(t *testing.T, h *Hub, s *stage) {
		c := bubble(t, h).modern("")
		shown := func() bool {
			m, _ := c.outcome(c.once("server/discover", `{}`), nil)
			return strings.Contains(string(m.Result), "com.example/charts")
		}
		if shown() {
			t.Fatal("it is known before anything has started: this shows nothing")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n, _ := s.count("kid"); n == 0 || !shown() {
			t.Errorf("started %d times, and the extension is not shown", n)
		}
	})
}
