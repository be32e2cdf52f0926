package hub

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
)

// modernKid is a child that speaks without a handshake only.
var modernKid = childtest.Script{Era: "modern", Library: true}

// inputs are inputRequests that ask for one of each kind.
const inputs = `{"q 1":{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"z":{},"a":{}},"n":12345678901234567890}},` +
	`"q2":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1.0}},"r":{"method":"roots/list"}}`

// answering lets a client answer what it is asked by the method.
func answering(c *testClient) *atomic.Int32 {
	n := new(atomic.Int32)
	c.asks = func(_ context.Context, _ *testClient, m *jsonrpc.Message) jsonrpc.Answer {
		n.Add(1)
		if m.Method == methods.Elicit {
			return jsonrpc.ResultAnswer([]byte(`{"action":"accept","content":{"z":1.0,"n":12345678901234567890}}`))
		}
		return jsonrpc.ResultAnswer([]byte(`{"model":"m","role":"assistant","content":{"type":"text","text":"hi"}}`))
	}
	return n
}

// wasGiven returns what the child was given, as its tool tells it.
func wasGiven(result, member string) string {
	return string(jsonrpc.Get(jsonrpc.Get([]byte(result), "structuredContent"), member))
}

// rounds counts how often the child was sent a request that may ask.
func (c *testClient) rounds(child string) int { return len(c.noticed(child, "round")) }

// both runs a test over children in this process, where calls take the waiting path,
// and over processes, where they go the short one.
func both(t *testing.T, script childtest.Script, test func(t *testing.T, h *Hub, enter func(dirs ...string) *testClient)) {
	child := played("kid", spec.ShareSession, script)
	t.Run("waiting path", func(t *testing.T) {
		play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, _ *stage) {
			test(t, h, func(dirs ...string) *testClient {
				c, _ := enter(t, h, dirs...)
				return c
			})
		})
	})
	t.Run("fast path", func(t *testing.T) {
		h := newTestHub(t, child)
		test(t, h, func(dirs ...string) *testClient { return connect(t, h, dirs...) })
	})
}

func TestModernChildIsGivenWhatItAsksFor(t *testing.T) {
	both(t, modernKid, func(t *testing.T, h *Hub, enter func(dirs ...string) *testClient) {
		root := t.TempDir()
		c := enter(root)
		asked := answering(c)
		c.handshake(everything)
		c.raw("tools/list", `{}`)
		elicited, sampled := `"q 1":{"action":"accept","content":{"z":1.0,"n":12345678901234567890}}`, `"q2":{"model":"m","role":"assistant","content":{"type":"text","text":"hi"}}`
		for range 3 { // the last ones with everything there, so that a call may take the fast path
			got := c.raw("tools/call", toolCall("kid__input", `{"ask":`+inputs+`,"state":"s \"1\" ","rounds":3}`))
			responses := wasGiven(got, "given")
			for _, want := range []string{elicited, sampled, `"r":{"roots":[{"uri":"file://` + root + `"`} {
				if !strings.Contains(responses, want) {
					t.Errorf("the child was given %s, want %s", responses, want)
				}
			}
			if state := wasGiven(got, "state"); state != `"s \"1\" +++"` {
				t.Errorf("its state came back as %s", state)
			}
			if caps := wasGiven(got, "caps"); !strings.HasPrefix(caps, `{"roots":{},"sampling":{"tools":{},"x":1.0},"elicitation":`) || strings.Contains(caps, `"tasks"`) {
				t.Errorf("it was shown %s", caps)
			}
		}
		if n := asked.Load(); n != 3*3*2 {
			t.Errorf("the client was asked %d times", n)
		}
		if got := c.raw("prompts/get", fmt.Sprintf(`{"name":"kid__greet","arguments":{"path":%q}}`, `{"ask":`+inputs+`,"state":"s"}`)); !strings.Contains(wasGiven(got, "given"), sampled) {
			t.Errorf("prompts/get: %s", got)
		}
		if got := c.raw("resources/read", fmt.Sprintf(`{"uri":%q}`, `ask:{"ask":`+inputs+`,"state":"s"}`)); !strings.Contains(wasGiven(got, "given"), sampled) {
			t.Errorf("resources/read: %s", got)
		}
	})
}

// TestModernChildThatAsksTooMuch plays the ways in which what a child asks is not
// for anybody to answer. None reaches the client but the ones that are its own,
// the call fails with the reason, and the next one works.
func TestModernChildThatAsksTooMuch(t *testing.T) {
	const form = `{"q":{"method":"elicitation/create","params":{"message":"?"}}}`
	for name, test := range map[string]struct {
		declared, args string
		want           string // in the refusal; "": a control, which must work
		asked, rounds  int
	}{
		"a form":                           {`{"elicitation":{}}`, `{"ask":` + form + `}`, "", 1, 2},
		"a form that was not declared":     {`{"sampling":{}}`, `{"ask":` + form + `}`, "did not declare elicitation", 0, 1},
		"a URL that was not declared":      {`{"elicitation":{}}`, `{"ask":{"q":{"method":"elicitation/create","params":{"mode":"url"}}}}`, "did not declare elicitation.url", 0, 1},
		"sampling with tools":              {`{"sampling":{}}`, `{"ask":{"q":{"method":"sampling/createMessage","params":{"tools":[]}}}}`, "did not declare sampling.tools", 0, 1},
		"one declared, one not":            {`{"elicitation":{}}`, `{"ask":` + inputs + `}`, "did not declare sampling", 0, 1},
		"another method":                   {everything, `{"ask":{"q":{"method":"odd/question","params":{}}}}`, "not for a server to ask", 0, 1},
		"many rounds":                      {everything, `{"ask":{"r":{"method":"roots/list"}},"state":"s","rounds":20}`, "", 0, 21},
		"endless rounds":                   {everything, `{"ask":{"r":{"method":"roots/list"}},"state":"s","rounds":-1}`, "given up", 0, 32 + 1},
		"come again":                       {everything, `{"state":"s","rounds":5}`, "", 0, 6},
		"come again, for ever":             {everything, `{"state":"s","rounds":-1}`, "come again", 0, 8 + 1},
		"come again, for ever, and a form": {everything, `{"ask":` + form + `,"state":"s","rounds":-1}`, "given up", 32, 32 + 1},
		"input for a list":                 {everything, `{"instead":` + strconv.Quote(`{"resultType":"odd"}`) + `}`, "resultType", 0, 1},
		"a task without the extension":     {everything, `{"instead":` + strconv.Quote(`{"resultType":"task","taskId":"t"}`) + `}`, "was not to be expected", 0, 1},
		"two types":                        {everything, `{"instead":` + strconv.Quote(`{"resultType":"complete","content":[],"resultType":"input_required"}`) + `}`, "two members resultType", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []spec.Spec{played("kid", spec.ShareSession, modernKid)}, func(t *testing.T, h *Hub, _ *stage) {
				c, _ := enter(t, h, t.TempDir())
				asked := answering(c)
				c.handshake(test.declared)
				resp, err := c.conn.Call(t.Context(), "tools/call", []byte(toolCall("kid__input", test.args)))
				if err != nil {
					t.Fatal(err)
				}
				got := string(resp.Result)
				_, bad := text(got)
				if e := resp.Err(); e != nil {
					got, bad = e.Error(), true
				}
				if bad != (test.want != "") || !strings.Contains(got, test.want) {
					t.Errorf("answered %.300s", got)
				}
				if n := int(asked.Load()); n != test.asked {
					t.Errorf("the client was asked %d times, want %d", n, test.asked)
				}
				if n := c.rounds("kid"); n != test.rounds {
					t.Errorf("%d rounds, want %d", n, test.rounds)
				}
				if msg, bad := text(c.raw("tools/call", toolCall("kid__echo", `{}`))); bad {
					t.Errorf("the next call: %s", msg)
				}
			})
		})
	}
}

// TestAnswersOfCallsDoNotCross makes many calls at once, of two clients that
// share a child: each gets the answers, the state and the roots of its own.
func TestAnswersOfCallsDoNotCross(t *testing.T) {
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareAll} {
		t.Run(share.String(), func(t *testing.T) {
			configured := t.TempDir()
			playWith(t, []spec.Spec{played("kid", share, modernKid)}, playOptions{fallback: configured}, func(t *testing.T, h *Hub, _ *stage) {
				var all sync.WaitGroup
				for who := range 2 {
					root := t.TempDir()
					c, _ := enter(t, h, root)
					if share == spec.ShareAll {
						root = configured
					}
					c.asks = func(_ context.Context, _ *testClient, m *jsonrpc.Message) jsonrpc.Answer {
						time.Sleep(time.Duration(len(m.Params)%7) * time.Millisecond)
						return jsonrpc.ResultAnswer(fmt.Appendf(nil, `{"action":"accept","content":{"who":%d,"of":%s}}`, who, m.Param("message")))
					}
					c.handshake(everything)
					for i := range 20 {
						all.Go(func() {
							of := fmt.Sprintf("%d.%d %s", who, i, strings.Repeat("x", i%7))
							got := c.raw("tools/call", toolCall("kid__input", fmt.Sprintf(`{"ask":{"q":{"method":"elicitation/create","params":{"message":%q}},"r":{"method":"roots/list"}},"state":%q,"rounds":3}`, of, of)))
							want := fmt.Sprintf(`"q":{"action":"accept","content":{"who":%d,"of":%q}}`, who, of)
							if responses := wasGiven(got, "given"); !strings.Contains(responses, want) || !strings.Contains(responses, `"file://`+root+`"`) {
								t.Errorf("given %s, want %s and %s", responses, want, root)
							}
							if state := wasGiven(got, "state"); state != fmt.Sprintf("%q", of+"+++") {
								t.Errorf("state %s of %s", state, of)
							}
						})
					}
				}
				all.Wait()
			})
		})
	}
}

// One question of two fails: the other is taken back, and the call says why.
func TestOneQuestionOfTwoFails(t *testing.T) {
	both(t, modernKid, func(t *testing.T, h *Hub, enter func(dirs ...string) *testClient) {
		c := enter(t.TempDir())
		there, ended := make(chan struct{}, 2), make(chan error, 2)
		c.asks = func(ctx context.Context, _ *testClient, m *jsonrpc.Message) jsonrpc.Answer {
			if m.Method == methods.Sample {
				<-there // the other one is being asked
				return jsonrpc.ErrorAnswer(-1, "the person said no")
			}
			there <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return jsonrpc.Answer{}
		}
		c.handshake(everything)
		c.raw("tools/list", `{}`)
		c.raw("tools/call", toolCall("kid__echo", `{}`))
		msg, bad := text(c.raw("tools/call", toolCall("kid__input", `{"ask":`+inputs+`,"state":"s"}`)))
		if !bad || !strings.Contains(msg, "the person said no") || !strings.Contains(msg, "sampling/createMessage") {
			t.Errorf("answered %s", msg)
		}
		if _, ok := errors.AsType[*jsonrpc.CancelledError](<-ended); !ok {
			t.Error("the other question was not taken back")
		}
	})
}

// TestModernChildTellsOfChanges: lists, resources and the log reach a client of
// the handshake's era in its own way, also after the child has hung up.
func TestModernChildTellsOfChanges(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, modernKid)}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h, t.TempDir())
		updates := make(chan string, 10)
		lists := make(chan string, 10)
		c.hears = func(m *jsonrpc.Message) {
			switch m.Method {
			case "notifications/resources/updated":
				updates <- string(m.Params)
			case "notifications/tools/list_changed":
				lists <- m.Method
			}
		}
		c.handshake(everything)
		c.raw("tools/list", `{}`)
		change := func(name string) {
			t.Helper()
			c.raw("tools/call", toolCall("kid__change", fmt.Sprintf(`{"Name":%q}`, name)))
			<-lists
			if got := c.raw("tools/list", `{}`); !strings.Contains(got, "kid__"+name) {
				t.Errorf("%s is not listed", name)
			}
		}
		change("one")
		c.raw("resources/subscribe", `{"uri":"note://1"}`)
		c.raw("resources/subscribe", `{"uri":"note://2"}`)
		touch := func(uri string, want bool) {
			t.Helper()
			if told := wasGiven(c.raw("tools/call", toolCall("kid__touch", fmt.Sprintf(`{"URI":%q}`, uri))), "told"); told != fmt.Sprint(want) {
				t.Errorf("%s: told %s", uri, told)
			}
			if !want {
				return
			}
			if got := <-updates; got != fmt.Sprintf(`{"uri":%q,"_meta":{"x":1.0}}`, uri) {
				t.Errorf("the client was told %s", got)
			}
		}
		touch("note://1", true)
		touch("note://2", true)
		touch("note://3", false)
		c.raw("resources/unsubscribe", `{"uri":"note://1"}`)
		time.Sleep(time.Second)
		touch("note://1", false)
		c.raw("tools/call", toolCall("kid__hangup", `{}`))
		if got := <-updates; got != `{"uri":"note://2"}` { // it may have changed while no one listened
			t.Errorf("the client was told %s", got)
		}
		time.Sleep(time.Second)
		touch("note://2", true)
		change("two")
	})
}

func TestModernChildIsToldTheLevelOfTheLog(t *testing.T) {
	both(t, modernKid, func(t *testing.T, h *Hub, enter func(dirs ...string) *testClient) {
		c := enter(t.TempDir())
		c.handshake(`{}`)
		c.raw("tools/list", `{}`)
		level := func() string {
			return string(jsonrpc.Get([]byte(wasGiven(c.raw("tools/call", `{"name":"kid__meta","arguments":{},"_meta":{"kept":1.0}}`), "meta")), "io.modelcontextprotocol/logLevel"))
		}
		if got := level(); got != "" {
			t.Errorf("told %s before the client has said it", got)
		}
		c.raw("logging/setLevel", `{"level":"warning"}`)
		if got := level(); got != `"warning"` {
			t.Errorf("told %s", got)
		}
	})
}

// TestModernChildAsksWhoDidNotWait: what a child asks by its result is asked, over
// HTTP on the POST of the call, whether that was tried without waiting or not, and the
// answers go back.
func TestModernChildAsksWhoDidNotWait(t *testing.T) {
	cfg := testConfig(t, scripted("kid", modernKid))
	var err error
	none := declare.ArgRule{Role: access.None}
	cfg.Checker, err = validate.NewChecker(validate.Config{Home: t.TempDir(), Children: []validate.ChildConfig{{
		Name: "kid", Args: map[string]map[string]declare.ArgRule{"*": {"/ask/q 1/method": none, "/ask/q2/method": none, "/ask/r/method": none}}}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := serveWeb(t, runHub(t, cfg), HTTPOptions{}).initialize(everything).initialized()
	s.frames(s.request("tools/list", `{}`), s.answering(dir))
	for range 2 { // the second with everything there
		for _, name := range []string{"kid__input", `\u006bid__input`} { // an escape in the name: it has to wait
			asked := 0
			answer := s.frames(s.request("tools/call", strings.Replace(toolCall("kid__input", `{"ask":`+inputs+`,"state":"s","rounds":2}`), "kid__input", name, 1)), func(m *jsonrpc.Message, event string) {
				switch m.Method {
				case methods.Elicit:
					asked++
					s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"action":"accept","content":{"z":1.0}}}`)
				case methods.Sample:
					asked++
					s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"model":"m","role":"assistant","content":{"type":"text","text":"hi"}}}`)
				default:
					s.answering(dir)(m, event)
				}
			})
			given := wasGiven(string(answer.Result), "given")
			if asked != 4 || !strings.Contains(given, `"content":{"z":1.0}`) || !strings.Contains(given, `"text":"hi"`) || wasGiven(string(answer.Result), "state") != `"s++"` {
				t.Errorf("%s: asked %d times, answered %s %s", name, asked, answer.Result, answer.Error)
			}
		}
	}
}
