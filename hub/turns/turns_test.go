package turns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lineOf returns the line of a server with these limits.
func lineOf(limits Limits) (*Table, *Line) {
	table := &Table{}
	table.Set(map[string]Limits{"kid": limits})
	return table, table.Line("kid")
}

// takeTurn takes a turn, or puts the request in the line.
func takeTurn(t testing.TB, l *Line, session, name string) *Turn {
	t.Helper()
	turn, _, err := l.TakeTurn(session, name)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// begun reports whether the request of a turn may begin.
func (t *Turn) hasBegun() bool {
	if t.begun == nil {
		return true
	}
	select {
	case <-t.begun:
		return true
	default:
		return false
	}
}

// TestServersWithoutLimits: they have no line, and a hub without limits allocates nothing to find that out.
func TestServersWithoutLimits(t *testing.T) {
	var none *Table
	table := &Table{}
	table.Set(map[string]Limits{"kid": {}, "bounded": {All: Bound{Calls: 1}}})
	if none.Line("kid") != nil || (&Table{}).Line("kid") != nil || table.Line("kid") != nil || table.Line("other") != nil {
		t.Error("a server without limits has a line")
	}
	if table.Line("bounded") == nil {
		t.Error("a server with limits has none")
	}
	if n := testing.AllocsPerRun(100, func() { table.Line("kid") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	(*Turn)(nil).End()
}

// TestAFloodDelaysOthersByOneTurn: one session has a hundred requests in the line before others come.
func TestAFloodDelaysOthersByOneTurn(t *testing.T) {
	t.Parallel()
	_, l := lineOf(Limits{All: Bound{Calls: 1, Queue: 200}})
	holder := takeTurn(t, l, "flood", "a")
	flood := make([]*Turn, 100)
	for i := range flood {
		flood[i] = takeTurn(t, l, "flood", "a")
	}
	one, two := takeTurn(t, l, "one", "a"), takeTurn(t, l, "two", "a")
	if place, of := one.PlaceInLine(); place != 1 || of != 102 {
		t.Errorf("place %d of %d", place, of)
	}
	if place, _ := two.PlaceInLine(); place != 2 {
		t.Errorf("place %d", place)
	}
	if place, _ := flood[1].PlaceInLine(); place != 4 {
		t.Errorf("place %d", place)
	}
	holder.End()
	for _, next := range []*Turn{one, two, flood[0], flood[1]} {
		if !next.hasBegun() {
			t.Fatal("it had to wait for more than one turn of the other session")
		}
		if place, _ := next.PlaceInLine(); place != 0 {
			t.Errorf("place %d of a request that has begun", place)
		}
		next.End()
	}
}

// TestSessionsWithOneRequestAtATime: of three sessions two come back as soon as they have been served. Each gets a third.
func TestSessionsWithOneRequestAtATime(t *testing.T) {
	t.Parallel()
	_, l := lineOf(Limits{All: Bound{Calls: 1, Queue: 1000}})
	waiting := map[string][]*Turn{}
	names := []string{"flood", "one", "two"}
	for range 400 {
		waiting["flood"] = append(waiting["flood"], takeTurn(t, l, "flood", "a"))
	}
	served := map[string]int{}
	for range 300 {
		for _, name := range names[1:] {
			if len(waiting[name]) == 0 {
				waiting[name] = append(waiting[name], takeTurn(t, l, name, "a"))
			}
		}
		for _, name := range names {
			if len(waiting[name]) > 0 && waiting[name][0].hasBegun() {
				served[name]++
				waiting[name][0].End()
				waiting[name] = waiting[name][1:]
				break
			}
		}
	}
	for _, name := range names {
		if n := served[name]; n < 90 || n > 110 {
			t.Errorf("%s was served %d times of 300", name, n)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	_, l := lineOf(Limits{All: Bound{Calls: 1, Queue: 1}, Tools: []ToolBound{{"write_*", Bound{Rate: Rate{1, time.Hour}}}}})
	takeTurn(t, l, "a", "read")
	waits := takeTurn(t, l, "a", "write_one")
	for name, want := range map[string]ExceededError{
		"read":      {Server: "kid", Bound: l.gauges[0].Bound, Again: retryAfter},
		"write_two": {Server: "kid", Bound: l.gauges[0].Bound, Again: retryAfter},
	} {
		_, _, err := l.TakeTurn("b", name)
		if e, ok := errors.AsType[*ExceededError](err); !ok || *e != want {
			t.Errorf("%s: %+v, want %+v", name, err, want)
		}
	}
	waits.End()
	if turn := takeTurn(t, l, "b", "read"); turn.hasBegun() {
		t.Error("two requests at a time")
	}
}

// TestCancelFreesThePlace: who has left the line takes no turn and no room.
func TestCancelFreesThePlace(t *testing.T) {
	t.Parallel()
	_, l := lineOf(Limits{All: Bound{Calls: 1, Queue: 1}})
	holder, waits := takeTurn(t, l, "a", "x"), takeTurn(t, l, "b", "x")
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := waits.AwaitBegin(ctx); !errors.Is(err, enough) {
		t.Errorf("it ended with %v", err)
	}
	next := takeTurn(t, l, "c", "x")
	waits.End()
	holder.End()
	holder.End()
	if err := next.AwaitBegin(t.Context()); err != nil {
		t.Error(err)
	}
	next.End()
	if len(l.sessions) != 0 || len(l.running) != 0 || l.waiting != 0 {
		t.Errorf("left: %+v", l)
	}
}

// TestRateOfAnyPeriod: in no period more begin than the rate allows, and the pause that is proposed is the one after which there is room.
func TestRateOfAnyPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, l := lineOf(Limits{All: Bound{Rate: Rate{3, time.Minute}}})
		began := []time.Time{}
		random := seeds.Rand(t)
		for len(began) < 30 {
			turn, _, err := l.TakeTurn("a", "x")
			if err == nil {
				began = append(began, time.Now())
				turn.End()
				<-time.After(time.Duration(random.IntN(25)) * time.Second)
				continue
			}
			<-time.After(err.(*ExceededError).Again - time.Millisecond)
			if _, _, err := l.TakeTurn("a", "x"); err == nil {
				t.Fatal("there was room before the pause was over")
			}
			<-time.After(time.Millisecond)
			if _, _, err := l.TakeTurn("a", "x"); err != nil {
				t.Fatal("there is no room after the pause")
			}
			began = append(began, time.Now())
		}
		for i := 3; i < len(began); i++ {
			if began[i].Sub(began[i-3]) < time.Minute {
				t.Errorf("four began within %s", began[i].Sub(began[i-3]))
			}
		}
	})
}

// TestLines holds lines to what they promise, whatever sessions do and hub.json becomes.
func TestLines(t *testing.T) {
	t.Parallel()
	names := []string{"read", "write_one", "write_two"}
	bound := rapid.Custom(func(t *rapid.T) Bound {
		return Bound{Calls: rapid.IntRange(0, 3).Draw(t, "calls"), Queue: rapid.IntRange(0, 4).Draw(t, "queue"), Rate: Rate{rapid.IntRange(0, 20).Draw(t, "rate"), time.Hour}}
	})
	limits := rapid.Custom(func(t *rapid.T) Limits {
		return Limits{All: bound.Draw(t, "all"), Tools: []ToolBound{{"write_*", bound.Draw(t, "write")}, {"[", Bound{Calls: 5, Queue: 5}}}}
	})
	seeds.Check(t, func(t *rapid.T) {
		now := limits.Draw(t, "limits")
		table, l := lineOf(now)
		var turns []*Turn
		over := 0 // how many may be under way beyond the limits: those that were when they changed
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				turn, waits, err := l.TakeTurn(fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "session")), rapid.SampledFrom(names).Draw(t, "name"))
				if err != nil {
					return
				}
				if waits == turn.hasBegun() {
					t.Fatal("it does not know whether it waits")
				}
				turns = append(turns, turn)
			},
			"end": func(t *rapid.T) {
				if len(turns) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(turns)-1).Draw(t, "which")
				turns[i].End()
				turns = append(turns[:i], turns[i+1:]...)
			},
			"reload": func(t *rapid.T) {
				now = limits.Draw(t, "limits")
				table.Set(map[string]Limits{"kid": now})
				over = 0
				for _, turn := range turns {
					if turn.hasBegun() {
						over++
					}
				}
			},
			"": func(t *rapid.T) {
				running, waiting := map[string]int{}, 0
				for _, turn := range turns {
					if !turn.hasBegun() {
						waiting++
						if turn.hasRoom() {
							t.Fatal("it waits, and there is room")
						}
						continue
					}
					running[""]++
					if turn.name != "read" {
						running["write"]++
					}
				}
				for _, of := range []struct {
					key string
					Bound
				}{{"", now.All}, {"write", now.Tools[0].Bound}} {
					if of.Calls > 0 && running[of.key] > max(of.Calls, over) {
						t.Fatalf("%d under way, and %d are allowed", running[of.key], of.Calls)
					}
				}
				if int64(waiting) != table.Waiting() && table.Line("kid") != nil {
					t.Fatalf("%d wait, and %d are counted", waiting, table.Waiting())
				}
			},
		})
		table.Set(nil) // no limits any more: nothing is lost
		for _, turn := range turns {
			if !turn.hasBegun() {
				t.Fatal("a request waits for ever")
			}
			turn.End()
		}
		if len(l.sessions) != 0 || len(l.running) != 0 || l.waiting != 0 {
			t.Fatalf("left: %+v", l)
		}
	})
}
