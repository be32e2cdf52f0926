package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

const everything = `{"roots":{},"sampling":{"tools":{},"x":1.0},"elicitation":{"form":{"applyDefaults":true},"url":{}},"tasks":{"list":{},"cancel":{},"requests":{"elicitation":{"create":{}}}},"experimental":{"odd":{"n":12345678901234567890}}}`

// asking returns a call of the tool that asks the client.
func asking(child, method, params string, more ...string) string {
	return toolCall(child+"__ask", fmt.Sprintf(`{"method":%q,"params":%s%s}`, method, params, strings.Join(more, "")))
}

// answerOf returns what the child was answered, as its tool tells it.
func answerOf(result string) string {
	return string(jsonrpc.Get(jsonrpc.Get([]byte(result), "structuredContent"), "answer"))
}

// noticed returns what a child was told, by the beginning of it.
func (c *testClient) noticed(child, prefix string) (found []string) {
	c.t.Helper()
	return noticed(c.raw("tools/call", toolCall(child+"__noticed", `{}`)), prefix)
}

// noticed returns what a client without a handshake has noticed.
func (c *modernClient) noticed(child, prefix string) (found []string) {
	c.t.Helper()
	return noticed(c.raw("tools/call", toolCall(child+"__noticed", `{}`)), prefix)
}

func noticed(result, prefix string) (found []string) {
	all, _ := text(result)
	for line := range strings.Lines(all) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix+" "); ok {
			found = append(found, rest)
		}
	}
	return found
}

func TestChildIsShownWhatItsClientCanDo(t *testing.T) {
	share := played("all", spec.ShareAll, childtest.Script{Asks: true})
	specs := []spec.Spec{played("own", spec.ShareSession, childtest.Script{Asks: true}), share}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		for _, declared := range []string{everything, `{}`, `{"sampling":null,"elicitation":{"form":true},"tasks":[],"x":{}}`} {
			c, _ := enter(t, h)
			c.handshake(declared)
			got := jsonrpc.Get([]byte(c.noticed("own", "initialize")[0]), "capabilities")
			want := `{"roots":{"listChanged":true}` + strings.TrimPrefix(declared, `{"roots":{}`)
			switch declared {
			case `{}`:
				want = `{"roots":{"listChanged":true}}`
			case everything:
			default:
				want = `{"roots":{"listChanged":true},"x":{}}`
			}
			if string(got) != want {
				t.Errorf("shown %s, want %s", got, want)
			}
			if got := jsonrpc.Get([]byte(c.noticed("all", "initialize")[0]), "capabilities"); string(got) != `{"roots":{"listChanged":true}}` {
				t.Errorf("a shared child was shown %s", got)
			}
		}
	})
}

func TestQuestionsThatAClientCannotAnswerAreRefused(t *testing.T) {
	shared := played("all", spec.ShareAll, childtest.Script{Asks: true})
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true}), shared}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		for _, test := range []struct{ declared, child, method, params, code string }{
			{`{}`, "kid", "sampling/createMessage", `{}`, "-32601"},
			{`{"sampling":{}}`, "kid", "sampling/createMessage", `{"tools":[]}`, "-32602"},
			{`{}`, "kid", "elicitation/create", `{}`, "-32601"},
			{`{"elicitation":{}}`, "kid", "elicitation/create", `{"mode":"url"}`, "-32602"},
			{`{"elicitation":{"url":{}}}`, "kid", "elicitation/create", `{}`, "-32602"},
			{`{}`, "kid", "odd/question", `{}`, "-32601"},
			{`{}`, "kid", "tasks/list", `{}`, "-32601"},
			{`{"tasks":{}}`, "kid", "tasks/get", `{"taskId":"x"}`, "-32602"},
			{everything, "all", "sampling/createMessage", `{}`, "-32601"},
			{`{"sampling":{}}`, "kid", "sampling/createMessage", `{}`, ""}, // the control
			{`{"elicitation":{}}`, "kid", "elicitation/create", `{}`, ""},
		} {
			c, leave := enter(t, h)
			c.asks = func(context.Context, *testClient, *jsonrpc.Message) jsonrpc.Answer {
				if test.code != "" {
					t.Errorf("%+v: the client was asked", test)
				}
				return jsonrpc.ResultAnswer([]byte(`{"ok":true}`))
			}
			c.handshake(test.declared)
			answer := []byte(answerOf(c.raw("tools/call", asking(test.child, test.method, test.params))))
			if code := string(jsonrpc.Get(jsonrpc.Get(answer, "error"), "code")); code != test.code {
				t.Errorf("%+v: %s", test, answer)
			}
			leave()
		}
	})
}

func TestQuestionsAreCancelledBothWays(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		ended := make(chan error, 1)
		there := make(chan struct{}, 1)
		c.asks = func(ctx context.Context, _ *testClient, _ *jsonrpc.Message) jsonrpc.Answer {
			there <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return jsonrpc.Answer{}
		}
		c.handshake(everything)
		c.raw("tools/list", `{}`)
		reason := func(want string) {
			t.Helper()
			if gone, ok := errors.AsType[*jsonrpc.CancelledError](<-ended); !ok || !strings.Contains(gone.Reason, want) {
				t.Errorf("the client was told %v", gone)
			}
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = c.conn.Call(ctx, "tools/call", []byte(asking("kid", "elicitation/create", `{}`)))
		})
		<-there
		cancel(&jsonrpc.CancelledError{Reason: "never mind"})
		wg.Wait()
		reason("over")
		if got := c.noticed("kid", "notifications/cancelled"); len(got) != 1 || !strings.Contains(got[0], `"reason":"never mind"`) {
			t.Errorf("the child was told %q", got)
		}
		var got []string
		for len(got) == 0 { // it comes after the call's end
			got = c.noticed("kid", "answer")
		}
		if !strings.Contains(got[0], `"error"`) {
			t.Errorf("the child's question was answered with %q", got)
		}
	})
}

func TestProgressOfTheClientReachesTheChildThatAsked(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.asks = func(ctx context.Context, c *testClient, m *jsonrpc.Message) jsonrpc.Answer {
			own := jsonrpc.Get(m.Param("_meta"), "progressToken")
			if string(own) == `"mine"` {
				t.Error("the client was given the child's token")
			}
			for i := range 5 {
				_ = c.conn.Notify(ctx, "notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"z":1.0}`, own, i))
			}
			_ = c.conn.Notify(ctx, "notifications/progress", []byte(`{"progressToken":"mine","progress":9}`))
			return jsonrpc.ResultAnswer([]byte(`{}`))
		}
		c.handshake(everything)
		c.raw("tools/call", asking("kid", "sampling/createMessage", `{"_meta":{"progressToken":"mine"}}`))
		got := c.noticed("kid", "notifications/progress")
		want := []string{}
		for i := range 5 {
			want = append(want, fmt.Sprintf(`{"progressToken":"mine","progress":%d,"z":1.0}`, i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the child was told %q", got)
		}
	})
}
