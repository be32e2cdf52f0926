package run_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/offers"
	"mcphub/children/spec"
)

var logs = &offers.RawOffer{Capabilities: []byte(`{"logging":{}}`)}

// The child is told the level that its client wants, once.
func TestLevel(t *testing.T) {
	t.Parallel()
	w := newWire()
	var said []string
	answer, fails := "{}", error(nil)
	w.call = func(_ context.Context, method, params string) (string, error) {
		said = append(said, method+" "+params)
		return answer, fails
	}
	bubble(t, options(spec.Spec{}), onWire(w), func(t *testing.T, k *kid) {
		tell := func(what, level string, o *offers.RawOffer, want string) {
			t.Helper()
			said = nil
			k.wantsLevel(level)
			logged := len(k.log.String())
			k.TellLevel(t.Context(), o)
			if got := strings.Join(said, ", "); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
			if got := k.log.String()[logged:]; (got != "") != (want != "" && (fails != nil || answer != "{}")) {
				t.Errorf("%s: logged %q", what, got)
			}
		}
		const info, debug = `logging/setLevel {"level":"info"}`, `logging/setLevel {"level":"debug"}`
		tell("no level", "", logs, "")
		tell("no log", "info", &offers.RawOffer{Capabilities: []byte(`{}`)}, "")
		tell("without a handshake it is told with each request", "info", &offers.RawOffer{Capabilities: logs.Capabilities, Protocol: "2026-07-28"}, "")
		tell("a level", "info", logs, info)
		tell("the same", "info", logs, "")
		fails = errors.New("not now")
		tell("it is not told", "debug", logs, debug)
		fails, answer = nil, `{"code":-32602,"message":"no such level"}`
		tell("so it is told again", "debug", logs, debug)
		answer = "{}"
		tell("what it has refused is not asked for again", "debug", logs, "")
		tell("another", "info", logs, info)
	})
}

// No caller waits longer than two seconds, for the child or for another caller that sets its level.
func TestLevelTakesNoLonger(t *testing.T) {
	t.Parallel()
	w := newWire()
	var said atomic.Int64
	w.call = func(ctx context.Context, _, _ string) (string, error) {
		said.Add(1)
		<-ctx.Done()
		return "", ctx.Err()
	}
	bubble(t, options(spec.Spec{}), onWire(w), func(t *testing.T, k *kid) {
		k.wantsLevel("info")
		start := time.Now()
		done := make(chan time.Duration, 2)
		for range 2 {
			go func() { k.TellLevel(t.Context(), logs); done <- time.Since(start) }()
		}
		synctest.Wait()
		if n := said.Load(); n != 1 {
			t.Errorf("%d tell it at a time", n)
		}
		for range 2 {
			if took := <-done; took != 2*time.Second && took != 4*time.Second {
				t.Errorf("it took %s", took)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if k.TellLevel(ctx, logs); time.Since(start) > 4*time.Second {
			t.Errorf("it took %s", time.Since(start))
		}
	})
}
