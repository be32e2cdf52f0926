package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// turnstile is a stage whose children hold each call until the test lets one of them go on.
type turnstile struct {
	*stage
	let chan struct{}

	mu       sync.Mutex
	with     int // calls with the children
	most     int // of them at a time, since it was set to zero
	answered map[string]int
}

type turnstileLink struct {
	link.ChildConnection
	turnstile *turnstile
}

func (s *turnstile) Launch(l launch.Launch, spec spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	inner, err := s.stage.Launch(l, spec, h, log)
	return &turnstileLink{inner, s}, err
}

func (l *turnstileLink) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if method != "tools/call" {
		return l.ChildConnection.Call(ctx, method, params...)
	}
	s := l.turnstile
	s.count(1)
	defer s.count(-1)
	select {
	case <-s.let:
	case <-ctx.Done():
	}
	return l.ChildConnection.Call(ctx, method, params...)
}

func (s *turnstile) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.with += n
	s.most = max(s.most, s.with)
}

// letGo lets so many calls be answered, one after the other, and what follows begin.
func (s *turnstile) letGo(calls int) {
	for range calls {
		synctest.Wait()
		s.let <- struct{}{}
	}
	synctest.Wait()
}

// mostNow returns how many calls the children had at a time since it was called last.
func (s *turnstile) mostNow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most
	s.most = s.with
	return most
}

// limited returns the settings of a hub with one server that all share and that has these limits.
func (s *turnstile) limited(t *testing.T, l turns.Limits) Config {
	cfg := testConfig(t, played("kid", spec.ShareAll, childtest.Script{}))
	cfg.Launcher, cfg.Children[0].Calls = s, l
	return cfg
}

// limiting runs a hub with limits in a time of its own.
func limiting(t *testing.T, l turns.Limits, test func(t *testing.T, h *Hub, s *turnstile)) {
	synctest.Test(t, func(t *testing.T) {
		s := &turnstile{stage: newStage(), let: make(chan struct{}), answered: map[string]int{}}
		test(t, runHub(t, s.limited(t, l)), s)
	})
}

func callLimits(n, queue int) turns.Limits {
	return turns.Limits{All: turns.Bound{Calls: n, Queue: queue}}
}

// TestSixteenCallersOfFour: sixteen sessions call a server that may have four calls, and their limits change meanwhile.
// Control: without limits the server has as many as there are callers.
func TestSixteenCallersOfFour(t *testing.T) {
	const callers, each = 16, 60
	limiting(t, callLimits(4, 32), func(t *testing.T, h *Hub, s *turnstile) {
		var wg sync.WaitGroup
		for i := range callers {
			c, _ := enter(t, h, t.TempDir())
			c.handshake(`{"roots":{}}`)
			c.raw("tools/list", `{}`)
			wg.Go(func() {
				for n := range each {
					args := fmt.Sprintf(`{"n":%d}`, n)
					got := c.raw("tools/call", toolCall("kid__echo", args))
					if said := string(jsonrpc.Get([]byte(got), "structuredContent")); said != args {
						t.Errorf("caller %d, call %d was lost: %s", i, n, got)
					}
					s.mu.Lock()
					s.answered[fmt.Sprint(i)]++
					s.mu.Unlock()
				}
			})
		}
		s.letGo(callers * each / 2)
		if most := s.mostNow(); most != 4 {
			t.Errorf("the server had %d calls at a time, want 4", most)
		}
		s.mu.Lock()
		for caller, n := range s.answered {
			if n < each/2-3 || n > each/2+3 {
				t.Errorf("caller %s has had %d answers, and %d on average: more than 10 %% off", caller, n, each/2)
			}
		}
		s.mu.Unlock()
		apply(t, h, s.limited(t, callLimits(2, 32)))
		s.letGo(4) // those that had begun
		s.mostNow()
		s.letGo(40)
		if most := s.mostNow(); most != 2 {
			t.Errorf("after the reload the server had %d calls at a time, want 2", most)
		}
		apply(t, h, s.limited(t, turns.Limits{}))
		s.letGo(callers*each/2 - 44)
		wg.Wait()
		if most := s.mostNow(); most != callers {
			t.Errorf("without limits the server had %d calls at a time, want %d", most, callers)
		}
	})
}

// TestALimitedCall: who waits is told its place, one that has no room is refused with the limit and a time, and one that is
// cancelled leaves its place to another.
func TestALimitedCall(t *testing.T) {
	l := callLimits(1, 1)
	l.Tools = []turns.ToolBound{{Pattern: "notic*", Bound: turns.Bound{Rate: turns.Rate{N: 1, Per: time.Minute}}}}
	limiting(t, l, func(t *testing.T, h *Hub, s *turnstile) {
		c, _ := enter(t, h, t.TempDir())
		c.handshake(`{"roots":{}}`)
		c.raw("tools/list", `{}`)
		var wg sync.WaitGroup
		echo := func(ctx context.Context) (err error) {
			_, err = c.conn.Call(ctx, "tools/call", []byte(`{"name":"kid__echo","arguments":{},"_meta":{"progressToken":"mine"}}`))
			return err
		}
		wg.Go(func() { _ = echo(context.Background()) })
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(context.Background())
		enough, ended := errors.New("enough"), make(chan error, 1)
		go func() { ended <- echo(ctx) }()
		if told := <-c.progress; !strings.Contains(told, `"message":"waiting for a turn at kid: place 1 of 1"`) || !strings.Contains(told, `"progressToken":"mine"`) {
			t.Errorf("the one who waits is told %s", told)
		}
		got := c.raw("tools/call", toolCall("kid__echo", `{}`))
		for _, want := range []string{`"isError":true`, `\"kid\" has as many calls under way as limits.calls in hub.json allows (1), and no place in its queue (limits.queue, 1)`, `"_meta":{"mcphub/retryAfterMs":1000}`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %s", got, want)
			}
		}
		if e := c.refused("prompts/get", `{"name":"kid__greet"}`); strings.Contains(e.Message, "limits") {
			t.Errorf("a prompt that the server does not have is refused with %v", e)
		}
		cancel(enough)
		if err := <-ended; !errors.Is(err, enough) {
			t.Errorf("the call that was cancelled ended with %v", err)
		}
		synctest.Wait()
		wg.Go(func() { c.raw("tools/call", toolCall("kid__noticed", `{}`)) }) // there is room again
		s.letGo(2)
		wg.Wait()
		got = c.raw("tools/call", toolCall("kid__noticed", `{}`))
		for _, want := range []string{`"isError":true`, `has had as many calls as limits.tools[\"notic*\"].rate in hub.json allows (1/min)`, `"mcphub/retryAfterMs":`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %s", got, want)
			}
		}
	})
}

// TestLimitsOfOtherRequests: a request that is no call of a tool is bounded by its method, and refused with an error.
func TestLimitsOfOtherRequests(t *testing.T) {
	l := turns.Limits{Tools: []turns.ToolBound{{Pattern: "prompts/*", Bound: turns.Bound{Rate: turns.Rate{N: 1, Per: time.Hour}}}}}
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, played("kid", spec.ShareAll, childtest.Script{Library: true}))
		cfg.Launcher, cfg.Children[0].Calls = newStage(), l
		c, _ := enter(t, runHub(t, cfg), t.TempDir())
		c.handshake(`{"roots":{}}`)
		c.raw("prompts/list", `{}`)
		c.raw("prompts/get", `{"name":"kid__greet"}`)
		e := c.refused("prompts/get", `{"name":"kid__greet"}`)
		if !strings.Contains(e.Message, `limits.tools["prompts/*"].rate`) || !strings.Contains(string(e.Data), `{"retryAfterMs":`) {
			t.Errorf("it is refused with %v %s", e, e.Data)
		}
		for range 3 {
			c.raw("resources/read", `{"uri":"note://1"}`)
		}
	})
}

// TestAnApprovedCallWaitsForItsTurn: while a person is asked about a call the call has no turn, and what the person has allowed is not
// asked again when its turn has come.
func TestAnApprovedCallWaitsForItsTurn(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		p, answer := saying(yes), make(chan struct{})
		p.says = func(context.Context, *jsonrpc.Message) string {
			<-answer
			return yes
		}
		c, _ := a.client(p)
		var wg sync.WaitGroup
		wg.Go(func() { a.passes(c, "kid__echo", reading(a.at("data", "one", "1.txt"))) })
		<-p.seen
		other, _ := a.client(nil)
		a.passes(other, "kid__echo", `{"x":1}`) // beside the question
		ctx, cancel := context.WithCancel(context.Background())
		wg.Go(func() { _, _ = other.conn.Call(ctx, "tools/call", []byte(toolCall("kid__sleep", `{}`))) })
		synctest.Wait()
		close(answer)
		synctest.Wait()
		if n := a.h.turns.Waiting(); n != 1 {
			t.Errorf("%d calls wait for a turn, want the one that was allowed", n)
		}
		cancel()
		wg.Wait()
		a.asks(p, 1)
	}, func(cfg *Config, _ *validate.Config) { cfg.Children[0].Calls = callLimits(1, 1) })
}

// TestALimitedCallOfAModernClient: a client of 2026-07-28 gets the time as well, in a result that the specification allows.
func TestALimitedCallOfAModernClient(t *testing.T) {
	limiting(t, turns.Limits{All: turns.Bound{Rate: turns.Rate{N: 1, Per: time.Minute}}}, func(t *testing.T, h *Hub, s *turnstile) {
		m, _ := enterModern(t, h, `{}`)
		var wg sync.WaitGroup
		wg.Go(func() {
			if msg, bad := text(m.raw("tools/call", toolCall("kid__noticed", `{}`))); bad {
				t.Error(msg)
			}
		})
		s.letGo(1)
		wg.Wait()
		got := m.raw("tools/call", toolCall("kid__noticed", `{}`))
		if msg, bad := text(got); !bad || !strings.Contains(msg, "limits.rate") || !strings.Contains(got, `"mcphub/retryAfterMs":60000`) {
			t.Errorf("it gets %s", got)
		}
	})
}

// TestAModernCallThatWaitsForRootsHasNoTurn: a call of 2026-07-28 on a connection whose handshake has declared roots waits for these if they have
// changed while it waited for its turn. It does not keep others from the server meanwhile, and takes another turn afterwards.
func TestAModernCallThatWaitsForRootsHasNoTurn(t *testing.T) {
	limiting(t, callLimits(1, 5), func(t *testing.T, h *Hub, s *turnstile) {
		project := t.TempDir()
		var mu sync.Mutex
		var answered []string
		var wg sync.WaitGroup
		call := func(name string, c *testClient, params string) {
			wg.Go(func() {
				if msg, bad := text(c.raw("tools/call", params)); bad {
					t.Errorf("%s: %s", name, msg)
				}
				mu.Lock()
				defer mu.Unlock()
				answered = append(answered, name)
			})
			synctest.Wait()
		}
		open := func() *testClient {
			c, _ := enter(t, h, project)
			c.handshake(`{"roots":{"listChanged":true}}`)
			c.raw("tools/list", `{}`)
			return c
		}
		first, waits, third := open(), open(), open()
		call("first", first, toolCall("kid__echo", `{}`))
		of := strings.TrimSuffix(toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, project)), "}")
		call("waits", waits, of+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)
		waits.late = 5 * time.Second
		waits.change(project)
		time.Sleep(time.Second) // the hub has asked for the roots
		call("third", third, toolCall("kid__echo", `{}`))
		s.letGo(2)
		mu.Lock()
		if got := strings.Join(answered, " "); got != "first third" {
			t.Errorf("while one waits for roots, these are answered: %s", got)
		}
		mu.Unlock()
		s.letGo(1)
		wg.Wait()
		if most := s.mostNow(); most > 1 {
			t.Errorf("%d calls were with the server at a time", most)
		}
	})
}
