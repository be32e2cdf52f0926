package hub

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// The behaviours of docs/peers.md that no other test shows. Each names its number.

// bubble serves a Hub over HTTP in a time of its own.
func bubble(t *testing.T, h *Hub) *web {
	t.Helper()
	w, _, _ := bubbleWeb(t, h, HTTPOptions{})
	return w
}

// TestHTTPQuestionWithoutAStream (H06): a client that takes no stream and has
// none open is not asked for ever, the question is not kept for later either,
// and once there is a stream everything works.
func TestHTTPQuestionWithoutAStream(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c := bubble(t, h).initialize(`{"sampling":{}}`).initialized()
		c.frames(c.request("tools/list", `{}`), nil)
		ask := func(n int) *jsonrpc.Message {
			return c.frames(c.request("tools/call", asking("kid", "sampling/createMessage", fmt.Sprintf(`{"n":%d}`, n)), "Accept", "application/json"), nil)
		}
		for n := range 12 {
			began := time.Now()
			got := ask(n)
			if answer := answerOf(string(got.Result)); !strings.Contains(answer, "no stream open") || time.Since(began) != 10*time.Second {
				t.Fatalf("question %d: %s after %s", n, answer, time.Since(began))
			}
		}
		r := c.do("GET", "", headerSession, c.session)
		asked := make(chan string, 20)
		go c.frames(r, func(m *jsonrpc.Message, _ string) {
			asked <- string(m.Params)
			if r := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)); r.StatusCode != http.StatusAccepted { // an empty result is one
				t.Errorf("the answer: %d", r.StatusCode)
			}
		})
		synctest.Wait()
		if answer := answerOf(string(ask(99).Result)); answer != `{}` {
			t.Errorf("with a stream: %s", answer)
		}
		if got := <-asked; got != `{"n":99}` || len(asked) != 0 {
			t.Errorf("asked %s and %d more", got, len(asked))
		}
		c.do("DELETE", "", headerSession, c.session)
	})
}

// TestHTTPAQuestionMayTakeAsLongAsItTakes (H09): an hour, on the POST of the
// call and on the client's own stream; no timer of the front ends it.
func TestHTTPAQuestionMayTakeAsLongAsItTakes(t *testing.T) {
	for _, on := range []string{"POST", "GET"} {
		t.Run(on, func(t *testing.T) {
			child := played("kid", spec.ShareSession, childtest.Script{Asks: true})
			child.CallTimeout = time.Minute
			play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, _ *stage) {
				c := bubble(t, h).initialize(`{"elicitation":{}}`).initialized()
				c.frames(c.request("tools/list", `{}`), nil)
				slow := func(m *jsonrpc.Message, _ string) {
					if m.Method == "elicitation/create" {
						id := string(m.ID)
						time.AfterFunc(time.Hour, func() {
							c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, id))
						})
					}
				}
				accept := "application/json, text/event-stream"
				if on == "GET" {
					accept = "application/json"
					go c.frames(c.do("GET", "", headerSession, c.session), slow)
					synctest.Wait()
				}
				got := c.frames(c.request("tools/call", asking("kid", "elicitation/create", `{}`), "Accept", accept), slow)
				if answer := answerOf(string(got.Result)); answer != `{"action":"accept"}` {
					t.Errorf("answered %s", answer)
				}
				c.do("DELETE", "", headerSession, c.session)
			})
		})
	}
}

// TestCancelledBehindTheBoundNeverRuns (B03): a call that waits because as many
// as may be are under way is cancelled; it does not run when its turn comes. The
// control is one that is not.
func TestCancelledBehindTheBoundNeverRuns(t *testing.T) {
	for _, front := range []string{"stdio", "http"} {
		t.Run(front, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				cfg := testConfig(t, played("kid", spec.ShareSession, childtest.Script{}))
				cfg.Launcher, cfg.Limits.Calls = s, 1
				h := runHub(t, cfg)
				var all sync.WaitGroup
				var begin func(params string) (cancel func())
				var endSession func()
				if front == "stdio" {
					c, leave := enter(t, h)
					c.handshake(`{}`)
					endSession = leave
					begin = func(params string) func() {
						ctx, cancel := context.WithCancelCause(t.Context())
						all.Go(func() { _, _ = c.conn.Call(ctx, "tools/call", []byte(params)) })
						return func() { cancel(errors.New("changed my mind")) }
					}
				} else {
					c := bubble(t, h).initialize(`{}`).initialized()
					endSession = func() { c.do("DELETE", "", headerSession, c.session) }
					last := 100
					begin = func(params string) func() {
						last++
						id := last
						all.Go(func() {
							c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id, params))
						})
						return func() {
							c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
						}
					}
				}
				begin(toolCall("kid__echo", `{"tag":"warm"}`))
				all.Wait()
				first := begin(toolCall("kid__sleep", `{"ms":3600000,"tag":"first"}`))
				synctest.Wait()
				second := begin(toolCall("kid__echo", `{"tag":"second"}`))
				synctest.Wait()
				begin(toolCall("kid__echo", `{"tag":"third"}`))
				synctest.Wait()
				second()
				synctest.Wait()
				if s.who("first") == nil || s.who("third") != nil {
					t.Fatal("nothing waits")
				}
				first()
				all.Wait()
				if s.who("third") == nil {
					t.Error("the control did not run")
				}
				if s.who("second") != nil {
					t.Error("it ran all the same")
				}
				endSession()
			})
		})
	}
}

// TestIDsThatLookAlike (B13, H27): requests under 1 and "1" are two, also for
// the caller that cancels one.
func TestIDsThatLookAlike(t *testing.T) {
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{}`).initialized()
	c.frames(c.request("tools/call", toolCall("kid__echo", `{}`)), nil) // it has started
	slow := func(id string) *http.Response {                            // its progress shows that it runs
		return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"kid__progress","arguments":{"steps":20,"every":50000000},"_meta":{"progressToken":%s}}}`, id, id))
	}
	number, text := slow(`1`), slow(`"1"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`)
	if m := c.frames(text, nil); m != nil {
		t.Errorf("the cancelled one was answered: %s", m.Result)
	}
	notes := 0
	m := c.frames(number, func(m *jsonrpc.Message, _ string) {
		if string(m.Param("progressToken")) != "1" {
			t.Errorf("its stream has %s", m.Params)
		}
		notes++
	})
	if m == nil || string(m.ID) != "1" || notes != 20 {
		t.Errorf("the other: %+v after %d notes", m, notes)
	}
	for _, id := range []string{"9007199254740993", "1e400", "-0", `"\u0041"`, "1.0"} {
		r := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id))
		if got := body(t, r); !strings.Contains(got, `"id":`+id+`,`) {
			t.Errorf("%s came back as %s", id, got)
		}
	}
}

// TestHTTPOneStreamMakesNoOther (H08): after a call that was answered on a stream
// the next is plain again.
func TestHTTPOneStreamMakesNoOther(t *testing.T) {
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{})), HTTPOptions{})
	c := w.initialize(`{}`).initialized()
	c.frames(c.request("tools/call", toolCall("kid__echo", `{}`)), nil) // it has started
	for range 3 {
		r := c.request("tools/call", `{"name":"kid__progress","arguments":{"steps":3},"_meta":{"progressToken":1}}`)
		if got := r.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Fatalf("with progress: %s", got)
		}
		c.frames(r, nil)
		r = c.request("tools/call", toolCall("kid__echo", `{}`))
		if got := r.Header.Get("Content-Type"); got != "application/json" {
			t.Fatalf("without: %s", got)
		}
		c.frames(r, nil)
	}
}

// TestOddDefinitionsHarmNothing (B17, B31): tool definitions on which a library
// panics or gives up the whole list. All are offered as they are, but for what
// an SDK refuses.
func TestOddDefinitionsHarmNothing(t *testing.T) {
	odd := []struct{ def, listed string }{
		{`{"name":"header","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A b"}}}}`, ""},
		{`{"name":"headers","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":7},"b":{"type":"string","x-mcp-header":"X"},"c":{"type":"string","x-mcp-header":"x"}}}}`, ""},
		{`{"name":"types","inputSchema":{"type":["object","null"],"$schema":"http://json-schema.org/draft-07/schema#","anyOf":[{}],"definitions":{"x":{}}}}`, `{"name":"types","inputSchema":{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","anyOf":[{}],"definitions":{"x":{}}}}`},
		{`{"name":"plain","inputSchema":{"type":"object"},"outputSchema":{"oneOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{}}},"execution":{"taskSupport":"forbidden","x":1.0}}`, `{"name":"plain","inputSchema":{"type":"object"},"outputSchema":{"oneOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{}},"type":"object"},"execution":{"taskSupport":"forbidden","x":1.0}}`},
	}
	var defs []string
	for _, o := range odd {
		defs = append(defs, o.def)
	}
	file := filepath.Join(t.TempDir(), "defs")
	if err := os.WriteFile(file, []byte(strings.Join(defs, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connect(t, newTestHub(t, scripted("kid", childtest.Script{Defs: file}), scripted("good", childtest.Script{})))
	c.handshake(`{}`)
	list := c.raw("tools/list", `{}`)
	for _, o := range odd {
		if want := strings.Replace(cmp.Or(o.listed, o.def), `"name":"`, `"name":"kid__`, 1); !strings.Contains(list, want) {
			t.Errorf("not listed: %s", want)
		}
	}
	if got := c.raw("tools/call", toolCall("good__echo", `{"x":1}`)); !strings.Contains(got, `{"x":1}`) {
		t.Error(got)
	}
}

// TestAChildOutlivesTheCallThatStartedIt (B30).
func TestAChildOutlivesTheCallThatStartedIt(t *testing.T) {
	child := played("kid", spec.ShareSession, childtest.Script{StartDelay: time.Second})
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errors.New("too slow for me"))
		defer cancel()
		if _, err := c.conn.Call(ctx, "tools/call", []byte(toolCall("kid__echo", `{"tag":"impatient"}`))); err == nil {
			t.Fatal("the call was answered")
		}
		c.tagged(s, "kid", "patient")
		if launched, live := s.count("kid"); launched != 1 || live != 1 || s.who("impatient") != nil {
			t.Errorf("%d starts, %d live", launched, live)
		}
	})
}

// TestABurstOfARemoteChild (B05): 5,000 notifications of a child over HTTP within
// one call, half of them progress: everything arrives, in order, before the
// answer, over both fronts; so does the changed list that comes in their middle.
func TestABurstOfARemoteChild(t *testing.T) {
	const notes = 5000
	far, spec := serveAsking(t)
	far.play = func(w http.ResponseWriter, m *jsonrpc.Message) {
		token := jsonrpc.Get(m.Param("_meta"), "progressToken")
		w.Header().Set("Content-Type", "text/event-stream")
		var b bytes.Buffer
		for i := range notes / 2 {
			fmt.Fprintf(&b, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", token, i)
			fmt.Fprintf(&b, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%d}}\n\n", i)
			if i == notes/4 {
				b.WriteString("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			}
		}
		fmt.Fprintf(&b, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
		_, _ = w.Write(b.Bytes())
	}
	h := newTestHub(t, spec)
	params := `{"name":"far__ask","arguments":{},"_meta":{"progressToken":"t"}}`
	judge := func(front string, progress, messages []string) {
		t.Helper()
		for i := range notes / 2 {
			if i >= len(progress) || progress[i] != fmt.Sprintf(`{"progressToken":"t","progress":%d}`, i) {
				t.Fatalf("%s: progress %d of %d", front, i, len(progress))
			}
			if i >= len(messages) || messages[i] != fmt.Sprintf(`{"level":"info","data":%d}`, i) {
				t.Fatalf("%s: message %d of %d", front, i, len(messages))
			}
		}
	}
	t.Run("http", func(t *testing.T) {
		c := serveWeb(t, h, HTTPOptions{}).initialize(`{}`).initialized()
		c.frames(c.request("tools/list", `{}`), nil)
		var progress, messages []string
		got := c.frames(c.request("tools/call", params), func(m *jsonrpc.Message, _ string) {
			switch m.Method {
			case "notifications/progress":
				progress = append(progress, string(m.Params))
			case "notifications/message":
				messages = append(messages, string(m.Params))
			}
		})
		if got == nil {
			t.Fatal("no answer")
		}
		judge("http", progress, messages)
	})
	t.Run("stdio", func(t *testing.T) {
		c := connect(t, h)
		var progress, messages []string
		changed := make(chan struct{}, 10)
		c.hears = func(m *jsonrpc.Message) {
			switch m.Method {
			case "notifications/progress":
				progress = append(progress, string(m.Params))
			case "notifications/message":
				messages = append(messages, string(m.Params))
			case "notifications/tools/list_changed":
				changed <- struct{}{}
			}
		}
		c.handshake(`{}`)
		c.raw("tools/list", `{}`)
		c.raw("tools/call", params)
		judge("stdio", progress, messages)
	})
}
