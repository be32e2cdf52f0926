package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

// listen opens a stream; end cancels it, and ended gives what it was answered.
func (c *modernClient) listen(filter string) (end context.CancelCauseFunc, ended chan string) {
	ctx, end := context.WithCancelCause(context.Background())
	ended = make(chan string, 1)
	go func() {
		resp, err := c.conn.Call(ctx, "subscriptions/listen", []byte(with(`{"notifications":`+filter+`}`, c.meta())))
		switch {
		case err != nil:
			ended <- err.Error()
		case resp.Err() != nil:
			ended <- resp.Err().Error()
		default:
			ended <- string(resp.Result)
		}
	}()
	return end, ended
}

// said takes all notifications that have come by now.
func (c *modernClient) said() (all []string) {
	synctest.Wait()
	for {
		select {
		case n := <-c.notes:
			all = append(all, n)
		default:
			return all
		}
	}
}

func TestListenTellsOfLists(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{}`)
		c.raw("tools/list", `{}`)
		end, ended := c.listen(`{"toolsListChanged":true,"promptsListChanged":false,"x":1}`)
		all := c.said()
		if len(all) != 1 || !strings.HasPrefix(all[0], "notifications/subscriptions/acknowledged") || !strings.Contains(all[0], `"notifications":{"toolsListChanged":true}`) {
			t.Fatalf("said %q", all)
		}
		id := member(member(strings.SplitN(all[0], " ", 2)[1], "_meta"), modern.MetaSubscription)
		c.raw("tools/call", toolCall("kid__change", `{"name":"fresh"}`))
		time.Sleep(time.Second)
		if all = c.said(); len(all) != 1 || !strings.HasPrefix(all[0], "notifications/tools/list_changed") || !strings.Contains(all[0], `"`+modern.MetaSubscription+`":`+id) {
			t.Errorf("said %q", all)
		}
		other, _ := c.listen(`{"promptsListChanged":true}`)
		c.said()
		c.raw("tools/call", toolCall("kid__change", `{"name":"fresher"}`))
		time.Sleep(time.Second)
		if all = c.said(); len(all) != 1 {
			t.Errorf("two streams, one of them of tools: %q", all)
		}
		end(errors.New("enough"))
		if got := <-ended; got != "enough" {
			t.Errorf("a stream that was cancelled was answered %s", got)
		}
		c.said()
		c.raw("tools/call", toolCall("kid__change", `{"name":"freshest"}`))
		time.Sleep(time.Second)
		if all = c.said(); len(all) != 0 {
			t.Errorf("after the end: %q", all)
		}
		other(nil)
	})
}

func TestListenTellsOfResources(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true, Asks: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		in, out := t.TempDir(), t.TempDir()
		c, _ := enterModern(t, h, rootsCaps, in)
		c.full("tools/call", toolCall("get-roots", `{}`), nil)
		inside, outside := platform.Host().FormatURI(in+"/x"), platform.Host().FormatURI(out+"/x")
		end, ended := c.listen(fmt.Sprintf(`{"resourceSubscriptions":["note://1",%q,%q]}`, inside, outside))
		// The child tells about a change before it has said that it will.
		all := c.said()
		if len(all) != 3 || !strings.HasPrefix(all[0], "notifications/subscriptions/acknowledged") || strings.Contains(all[0], out) || !strings.Contains(all[0], inside) || !strings.Contains(all[0], "note://1") {
			t.Fatalf("said %q", all)
		}
		for _, n := range all[1:] {
			if !strings.HasPrefix(n, "notifications/resources/updated") || !strings.Contains(n, `"v":1.0`) || strings.Contains(n, out) {
				t.Errorf("said %q", n)
			}
		}
		if got := c.noticed("kid", "resources/subscribe"); len(got) != 2 {
			t.Logf("subscribed %q", got) // the library answers before it notes
		}
		end(errors.New("enough"))
		<-ended
		synctest.Wait()
		if n := h.subs.Len(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

func TestListenIsRefused(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, _ *stage) {
		c, leave := enterModern(t, h, `{}`)
		for _, params := range []string{`{}`, `{"notifications":[]}`, `{"notifications":{"toolsListChanged":1}}`, `{"notifications":{"resourceSubscriptions":"x"}}`, `{"notifications":{"resourceSubscriptions":[1]}}`} {
			if e := c.refused("subscriptions/listen", params); e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s: %v", params, e)
			}
		}
		var open []chan string
		for range maxStreams {
			_, ended := c.listen(`{"toolsListChanged":true}`)
			open = append(open, ended)
		}
		c.said()
		if e := c.refused("subscriptions/listen", `{"notifications":{}}`); !strings.Contains(e.Message, "busy") {
			t.Errorf("one more: %v", e)
		}
		began := time.Now()
		leave()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("streams held up the end of the session for %v", took)
		}
		for _, ended := range open {
			<-ended
		}
	})
}

func TestModernClientHearsWhatItAskedFor(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{}`)
		say := func(method, params string) []string {
			c.raw("tools/call", toolCall("kid__say", fmt.Sprintf(`{"method":%q,"params":%s,"times":1}`, method, params)))
			return c.said()
		}
		const warn, debug = `{"level":"warning","data":1}`, `{"level":"debug","data":1}`
		if all := say("notifications/message", warn); len(all) != 0 {
			t.Errorf("without a level: %q", all)
		}
		c.extra = `,"io.modelcontextprotocol/logLevel":"warning"`
		if all := say("notifications/message", warn); len(all) != 1 {
			t.Errorf("at its level: %q", all)
		}
		if all := say("notifications/message", debug); len(all) != 0 {
			t.Errorf("below its level: %q", all)
		}
		if got := c.noticed("kid", "logging/setLevel"); len(got) != 1 || got[0] != `{"level":"warning"}` {
			t.Errorf("the child was told %q", got)
		}
		for _, method := range []string{"notifications/elicitation/complete", "notifications/tasks/status", "notifications/tools/list_changed", "notifications/x"} {
			if all := say(method, `{"taskId":"x","elicitationId":"x"}`); len(all) != 0 {
				t.Errorf("%s: %q", method, all)
			}
		}
		c.extra = `,"progressToken":"mine"`
		c.raw("tools/call", toolCall("kid__progress", `{"steps":3}`))
		if all := c.said(); len(all) != 3 || !strings.Contains(all[0], `"progressToken":"mine"`) {
			t.Errorf("progress: %q", all)
		}
		c.extra = ``
		c.raw("tools/call", toolCall("kid__progress", `{"steps":3}`))
		if all := c.said(); len(all) != 0 {
			t.Errorf("progress without a token: %q", all)
		}
	})
}
