package modern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// modelTicket is what the model knows of a call.
type modelTicket struct {
	k     *gateWaiter
	set   string
	ahead int // calls before it when it arrived, those inside counted as one
	sets  int // that were admitted since it arrived
}

// All who are inside together bring the same roots; no call waits that could
// be admitted; no caller waits for more sets than there were calls before it;
// no more than most wait; and when all have left there is no one.
func TestGateIsFair(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(0, 8).Draw(t, "most")
		gate := newRootsGate(most)
		var in, out []*modelTicket // admitted, and waiting in order of arrival
		settle := func(before string, had int) {
			changed := had == 0 || before != gate.set
			var still []*modelTicket
			came := 0
			for _, m := range out {
				if m.k.in {
					in = append(in, m)
					came++
				} else {
					still = append(still, m)
				}
			}
			if came > 0 && changed {
				for _, m := range still {
					m.sets++
				}
			}
			out = still
		}
		check := func() {
			for _, m := range in {
				if m.set != gate.set {
					t.Fatalf("%q is inside with %q", m.set, gate.set)
				}
				select {
				case <-m.k.admitted:
				default:
					t.Fatal("one that is inside was not told")
				}
			}
			if gate.inside != len(in) || len(gate.queue) != len(out) || len(out) > most {
				t.Fatalf("%d inside and %d waiting, the model has %d and %d", gate.inside, len(gate.queue), len(in), len(out))
			}
			if len(out) > 0 && (len(in) == 0 || out[0].set == in[0].set) {
				t.Fatalf("%q waits though it could go in", out[0].set)
			}
			for _, m := range out {
				if m.sets > m.ahead {
					t.Fatalf("%q has waited for %d sets, and %d were before it", m.set, m.sets, m.ahead)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			before, had := gate.set, len(in)
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what <= 1:
				m := &modelTicket{set: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "set"), ahead: len(out) + 1}
				free := len(in) == 0 || in[0].set == m.set && len(out) == 0
				waiter, ok := gate.lineUp(m.set)
				if ok != (free || len(out) < most) {
					t.Fatalf("taken: %v, with %d of %d waiting", ok, len(out), most)
				}
				if !ok {
					break
				}
				if m.k = waiter; waiter.in != free {
					t.Fatalf("let in: %v, free: %v", waiter.in, free)
				}
				if free {
					in = append(in, m)
				} else {
					out = append(out, m)
				}
			case what == 2 && len(in) > 0:
				i := rapid.IntRange(0, len(in)-1).Draw(t, "who")
				in = slices.Delete(in, i, i+1)
				gate.leaveGate()
				settle(before, had-1)
			case what == 3 && len(out) > 0:
				i := rapid.IntRange(0, len(out)-1).Draw(t, "who")
				gone := out[i]
				out = slices.Delete(out, i, i+1)
				gate.quitGate(gone.k)
				settle(before, had)
			}
			check()
		}
		for len(in) > 0 {
			before, had := gate.set, len(in)
			in = in[1:]
			gate.leaveGate()
			settle(before, had-1)
			check()
		}
		if gate.inside != 0 || len(gate.queue) != 0 {
			t.Fatalf("%d inside, %d waiting", gate.inside, len(gate.queue))
		}
	})
}

// Calls of many goroutines, some of which give up: two sets are never inside
// together, and in the end no one is.
func TestGateOfManyGoroutines(t *testing.T) {
	t.Parallel()
	gate := newRootsGate(1 << 20)
	var inside [3]atomic.Int32
	var both, through atomic.Int32
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			set := i % 3
			ctx, cancel := context.WithCancel(context.Background())
			if i%7 == 0 {
				go cancel()
			}
			defer cancel()
			if gate.enterGate(ctx, fmt.Sprint(set), nil, nil) != nil {
				return
			}
			inside[set].Add(1)
			for other := range inside {
				if other != set && inside[other].Load() > 0 {
					both.Add(1)
				}
			}
			through.Add(1)
			inside[set].Add(-1)
			gate.leaveGate()
		})
	}
	wg.Wait()
	if both.Load() > 0 || through.Load() < 200 || gate.inside != 0 || len(gate.queue) != 0 {
		t.Errorf("%d met another set, %d went through, %d are inside, %d wait", both.Load(), through.Load(), gate.inside, len(gate.queue))
	}
}

func TestGateRefusesAndGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := newRootsGate(1)
		var waiting atomic.Int32
		waits := func() { waiting.Add(1) }
		if err := gate.enterGate(t.Context(), "a", waits, nil); err != nil || waiting.Load() > 0 {
			t.Fatalf("%v, told %d times that it waits", err, waiting.Load())
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone, second := make(chan error), make(chan error)
		go func() { gone <- gate.enterGate(ctx, "b", waits, nil) }()
		synctest.Wait()
		if waiting.Load() != 1 {
			t.Fatalf("told %d times that one waits", waiting.Load())
		}
		if err := gate.enterGate(t.Context(), "c", nil, nil); !errors.Is(err, errGateFull) {
			t.Fatalf("beyond the bound: %v", err)
		}
		why := errors.New("no more")
		cancel(why)
		if err := <-gone; !errors.Is(err, why) {
			t.Fatalf("given up: %v", err)
		}
		go func() { second <- gate.enterGate(t.Context(), "c", nil, nil) }()
		synctest.Wait()
		select {
		case err := <-second:
			t.Fatalf("let in beside another set: %v", err)
		default:
		}
		gate.leaveGate()
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		gate.leaveGate()
	})
}

// An admission can change to other roots while no other call is admitted.
func TestGateChanges(t *testing.T) {
	t.Parallel()
	g := newRootsGate(10)
	ctx := t.Context()
	if err := g.enterGate(ctx, "a", nil, nil); err != nil {
		t.Fatal(err)
	}
	b, _ := g.lineUp("b")
	if !g.changeSet("b") || !b.in {
		t.Error("alone, it is to become one of b, and to let others of b in")
	}
	if g.changeSet("c") {
		t.Error("changed under another")
	}
	g.leaveGate()
	if !g.changeSet("c") {
		t.Error("alone again, it is to change")
	}
	g.leaveGate()
	if err := g.enterGate(ctx, "d", nil, nil); err != nil {
		t.Error(err)
	}
}
