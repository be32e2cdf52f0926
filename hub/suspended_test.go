package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

const (
	askCaps   = `{"elicitation":{"form":{},"url":{}},"sampling":{}}`
	someForm  = `{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}},"_meta":{"progressToken":7}}`
	someText  = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}`
	accepted  = `{"action":"accept","content":{"name":"x"}}`
	completed = `{"role":"assistant","content":{"type":"text","text":"ok"},"model":"m"}`
)

func askingStage(t *testing.T, test func(t *testing.T, h *Hub, s *stage)) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, test)
}

func TestQuestionOfALegacyChildBecomesAResult(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, askCaps)
		for method, tc := range map[string]struct{ params, answer string }{
			methods.Elicit: {someForm, accepted},
			methods.Sample: {someText, completed},
		} {
			params := asking("kid", method, tc.params)
			a := c.mustAsk("tools/call", params)
			if len(a.keys) != 1 || a.methods[a.keys[0]] != method {
				t.Fatalf("asked %+v", a)
			}
			if strings.Contains(a.params[a.keys[0]], "progressToken") {
				t.Errorf("asked with a token that no client can use: %s", a.params[a.keys[0]])
			}
			result := c.raw("tools/call", a.retry(params, map[string]string{a.keys[0]: tc.answer}))
			if got := answerOf(result); got != `{"jsonrpc":"2.0","id":"q1","result":`+tc.answer+`}` && !strings.Contains(got, tc.answer) {
				t.Errorf("%s: the child was answered %s", method, got)
			}
		}
		if n := h.suspended.Load(); n != 0 {
			t.Errorf("%d requests are still held", n)
		}
	})
}

func TestUndeclaredIsNeverAsked(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, _ *stage) {
		able, _ := enterModern(t, h, askCaps)
		if _, ok := askedBy(able.raw("tools/call", asking("kid", methods.Elicit, someForm))); !ok {
			t.Fatal("control: a client that can be asked was not")
		}
		for _, caps := range []string{`{}`, `{"sampling":{}}`, `{"elicitation":{"url":{}}}`, `{"elicitation":true}`} {
			c, _ := enterModern(t, h, caps)
			result := c.raw("tools/call", asking("kid", methods.Elicit, someForm))
			if _, ok := askedBy(result); ok || !strings.Contains(answerOf(result), "did not declare") {
				t.Errorf("%s: %s", caps, result)
			}
		}
		// What one request declares is not taken over to the next.
		able.caps = `{}`
		if result := able.raw("tools/call", asking("kid", methods.Elicit, someForm)); !strings.Contains(answerOf(result), "did not declare") {
			t.Errorf("declared by a former request only: %s", result)
		}
	})
}

// Each attack is tried while the request is held; the honest retry goes through
// afterwards, so it was the attack that was refused.
func TestOnlyTheSameRequestGoesOn(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, askCaps)
		foreign, _ := enterModern(t, h, askCaps)
		params := asking("kid", methods.Elicit, someForm)
		a := c.mustAsk("tools/call", params)
		answers := map[string]string{a.keys[0]: accepted}
		tampered := a
		tampered.state = a.state[:20] + string('A'+(a.state[20]-'A'+1)%26) + a.state[21:]
		noString := a
		noString.state = `{"a":1}`
		for name, try := range map[string]func() *jsonrpc.Error{
			"tampered":          func() *jsonrpc.Error { return c.refused("tools/call", tampered.retry(params, answers)) },
			"no string":         func() *jsonrpc.Error { return c.refused("tools/call", noString.retry(params, answers)) },
			"another principal": func() *jsonrpc.Error { return foreign.refused("tools/call", a.retry(params, answers)) },
			"other arguments": func() *jsonrpc.Error {
				return c.refused("tools/call", a.retry(asking("kid", methods.Elicit, strings.Replace(someForm, "who", "why", 1)), answers))
			},
			"another tool": func() *jsonrpc.Error {
				return c.refused("tools/call", a.retry(strings.Replace(params, "kid__ask", "kid__echo", 1), answers))
			},
			"another method": func() *jsonrpc.Error { return c.refused("prompts/get", a.retry(params, answers)) },
			"no object": func() *jsonrpc.Error {
				return c.refused("tools/call", a.retry(params, map[string]string{a.keys[0]: `7`}))
			},
			"no action": func() *jsonrpc.Error {
				return c.refused("tools/call", a.retry(params, map[string]string{a.keys[0]: `{"action":"perhaps"}`}))
			},
		} {
			if e := try(); e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s: %v", name, e)
			}
		}
		// Written again by the client, it is the same request.
		same := `{"arguments":{"params":` + someForm + `,"method": "elicitation\/create"},"name":"kid__ask"}`
		if got := answerOf(c.raw("tools/call", a.retry(same, answers))); !strings.Contains(got, accepted) {
			t.Errorf("the honest retry: %s", got)
		}
		if e := c.refused("tools/call", a.retry(params, answers)); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "already") {
			t.Errorf("replayed: %v", e)
		}
	})
}

func TestStateExpires(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, askCaps)
		params := asking("kid", methods.Elicit, someForm)
		a := c.mustAsk("tools/call", params)
		time.Sleep(modern.StateTime + time.Second)
		synctest.Wait()
		if e := c.refused("tools/call", a.retry(params, map[string]string{a.keys[0]: accepted})); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "too long ago") {
			t.Errorf("expired: %v", e)
		}
		if n := h.suspended.Load(); n != 0 {
			t.Errorf("%d requests are still held", n)
		}
		if got := c.noticed("kid", "notifications/cancelled"); len(got) != 1 || !strings.Contains(got[0], "never answered") {
			t.Errorf("the child was told %q", got)
		}
		if got := c.noticed("kid", "answer"); len(got) != 1 || !strings.Contains(got[0], "error") {
			t.Errorf("the child's question was answered %q", got)
		}
	})
}

// A state goes on with its own question and by its own tool alone, and once: of many retries that bring it together one goes on.
func TestAStateIsOfItsQuestionAlone(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, s *stage) {
		in := t.TempDir()
		c, _ := enterModern(t, h, `{"roots":{},"elicitation":{}}`, in)
		c.full("tools/call", pathCall(in+"/x", "first"), nil) // the child runs, and has its roots
		inside, form := pathCall(in+"/x", "it"), asking("kid", methods.Elicit, someForm)
		roots, asked := c.mustAsk("tools/call", inside), c.mustAsk("tools/call", form)
		given := map[string]string{roots.keys[0]: c.roots, asked.keys[0]: accepted}
		swapped, back := asked, roots
		swapped.state, back.state = roots.state, asked.state
		through := toolCall("call-tool", fmt.Sprintf(`{"serverName":"kid","toolName":"echo","toolArgs":{"path":%q,"tag":"it"}}`, in+"/x"))
		for name, params := range map[string]string{
			"a form with the state of the roots": swapped.retry(form, given),
			"the roots with the state of a form": back.retry(inside, given),
			"through call-tool":                  roots.retry(through, given),
		} {
			if e := c.refused("tools/call", params); e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s: %v", name, e)
			}
		}
		foreign, _ := enterModern(t, h, `{"roots":{},"elicitation":{}}`, in)
		if e := foreign.refused("tools/call", roots.retry(inside, given)); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "not given out for this request") {
			t.Errorf("the roots of another client: %v", e)
		}
		if s.who("it") != nil {
			t.Error("a refused call has reached the child")
		}
		var went atomic.Int32
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				r := c.once("tools/call", asked.retry(form, given))
				switch e := r.Err(); {
				case e == nil && strings.Contains(answerOf(string(r.Result)), accepted):
					went.Add(1)
				case e == nil || e.Code != jsonrpc.CodeInvalidParams:
					t.Errorf("%v %s", e, r.Result)
				}
			})
		}
		all.Wait()
		if n := went.Load(); n != 1 {
			t.Errorf("%d of 40 went on", n)
		}
		if _, bad := text(c.raw("tools/call", roots.retry(inside, given))); bad || s.who("it") == nil {
			t.Error("control: the honest retry was refused")
		}
	})
}

func TestWhatIsMissingIsAskedAgain(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, askCaps)
		params := asking("kid", methods.Elicit, someForm)
		a := c.mustAsk("tools/call", params)
		b := c.mustAsk("tools/call", a.retry(params, map[string]string{}))
		if len(b.keys) != 1 || b.keys[0] != a.keys[0] || b.state == a.state {
			t.Fatalf("asked %+v, then %+v", a, b)
		}
		if e := c.refused("tools/call", a.retry(params, map[string]string{a.keys[0]: accepted})); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("the state of the former round: %v", e)
		}
		if got := answerOf(c.raw("tools/call", with(b.retry(params, map[string]string{b.keys[0]: accepted})))); !strings.Contains(got, accepted) {
			t.Errorf("answered at last: %s", got)
		}
	})
}

func TestCancelEndsWhatIsUnderWay(t *testing.T) {
	askingStage(t, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, askCaps)
		ctx, cancel := context.WithCancelCause(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := c.conn.Call(ctx, "tools/call", []byte(with(toolCall("kid__sleep", `{}`), c.meta())))
			ended <- err
		}()
		synctest.Wait()
		cancel(errors.New("changed my mind"))
		<-ended
		synctest.Wait()
		if got := c.noticed("kid", "notifications/cancelled"); len(got) != 1 || !strings.Contains(got[0], "changed my mind") {
			t.Errorf("the child was told %q", got)
		}
	})
}
