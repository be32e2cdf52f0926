package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queueOf returns the queue of a server with these limits.
func queueOf(limits Limits) (*Table, *ServerQueue) {
	table := &Table{}
	table.Set(map[string]Limits{"kid": limits})
	return table, table.QueueOf("kid")
}

// takeTurn takes a turn, or puts the request in the queue.
func takeTurn(t testing.TB, l *ServerQueue, session, name string) *ServerTurn {
	t.Helper()
	serverTurn, _, err := l.TakeTurn(TurnOwner{Session: session}, name)
	if err != nil {
		t.Fatal(err)
	}
	return serverTurn
}

// hasBegun reports whether the request of a turn may begin.
func (t *ServerTurn) hasBegun() bool {
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

// TestServersWithoutLimits: they have no queue, and a hub without limits allocates nothing to find that out.
func TestServersWithoutLimits(t *testing.T) {
	var none *Table
	table := &Table{}
	table.Set(map[string]Limits{"kid": {}, "bounded": {All: Bound{Calls: 1}}})
	if none.QueueOf("kid") != nil || (&Table{}).QueueOf("kid") != nil || table.QueueOf("kid") != nil || table.QueueOf("other") != nil {
		t.Error("a server without limits has a queue")
	}
	if table.QueueOf("bounded") == nil {
		t.Error("a server with limits has none")
	}
	if n := testing.AllocsPerRun(100, func() { table.QueueOf("kid") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	(*ServerTurn)(nil).End()
}

// TestAFloodDelaysOthersByOneTurn: one session has a hundred requests in the queue before others come.
func TestAFloodDelaysOthersByOneTurn(t *testing.T) {
	t.Parallel()
	_, l := queueOf(Limits{All: Bound{Calls: 1, Queue: 200}})
	holder := takeTurn(t, l, "flood", "a")
	flood := make([]*ServerTurn, 100)
	for i := range flood {
		flood[i] = takeTurn(t, l, "flood", "a")
	}
	one, two := takeTurn(t, l, "one", "a"), takeTurn(t, l, "two", "a")
	if place, of := one.PlaceInQueue(); place != 1 || of != 102 {
		t.Errorf("place %d of %d", place, of)
	}
	if place, _ := two.PlaceInQueue(); place != 2 {
		t.Errorf("place %d", place)
	}
	if place, _ := flood[1].PlaceInQueue(); place != 4 {
		t.Errorf("place %d", place)
	}
	holder.End()
	for _, next := range []*ServerTurn{one, two, flood[0], flood[1]} {
		if !next.hasBegun() {
			t.Fatal("it had to wait for more than one turn of the other session")
		}
		if place, _ := next.PlaceInQueue(); place != 0 {
			t.Errorf("place %d of a request that has begun", place)
		}
		next.End()
	}
}

// TestSessionsWithOneRequestAtATime: of three sessions two come back as soon as they have been served. Each gets a third.
func TestSessionsWithOneRequestAtATime(t *testing.T) {
	t.Parallel()
	_, l := queueOf(Limits{All: Bound{Calls: 1, Queue: 1000}})
	waiting := map[string][]*ServerTurn{}
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
	_, l := queueOf(Limits{All: Bound{Calls: 1, Queue: 1}, Tools: []ToolBound{{"write_*", Bound{Rate: Rate{1, time.Hour}}}}})
	takeTurn(t, l, "a", "read")
	waits := takeTurn(t, l, "a", "write_one")
	for name, want := range map[string]ExceededError{
		"read":      {Server: "kid", Bound: l.gauges[0].Bound, Again: retryAfter},
		"write_two": {Server: "kid", Bound: l.gauges[0].Bound, Again: retryAfter},
	} {
		_, _, err := l.TakeTurn(TurnOwner{Session: "a"}, name)
		if e, ok := errors.AsType[*ExceededError](err); !ok || *e != want {
			t.Errorf("%s: %+v, want %+v", name, err, want)
		}
	}
	waits.End()
	if serverTurn := takeTurn(t, l, "b", "read"); serverTurn.hasBegun() {
		t.Error("two requests at a time")
	}
}

// TestAFullQueueRefusesNoOtherSession: one session fills the queue, and another one that has no requests is admitted all the same, with one.
// Control: the one that fills it is refused, and the other one with a second request.
func TestAFullQueueRefusesNoOtherSession(t *testing.T) {
	t.Parallel()
	_, l := queueOf(Limits{All: Bound{Calls: 1, Queue: 2}})
	holder := takeTurn(t, l, "flood", "a")
	for range 2 {
		takeTurn(t, l, "flood", "a")
	}
	other := takeTurn(t, l, "other", "a")
	for _, session := range []string{"flood", "other"} {
		if _, _, err := l.TakeTurn(TurnOwner{Session: session}, "a"); err == nil {
			t.Errorf("%s is admitted to a full queue", session)
		}
	}
	holder.End()
	if !other.hasBegun() {
		t.Error("the other session is not the next")
	}
	_, none := queueOf(Limits{All: Bound{Calls: 1}})
	takeTurn(t, none, "flood", "a")
	if _, _, err := none.TakeTurn(TurnOwner{Session: "other"}, "a"); err == nil {
		t.Error("a request waits, and there is no queue")
	}
}

// TestAQueueIsOfWhatHasNoRoom: what waits because of the bound of its tool takes no place from what waits because of another bound. Control:
// it takes one in the queue of its own bound.
func TestAQueueIsOfWhatHasNoRoom(t *testing.T) {
	t.Parallel()
	_, l := queueOf(Limits{All: Bound{Calls: 2, Queue: 1}, Tools: []ToolBound{{"write_*", Bound{Calls: 1, Queue: 3}}}})
	takeTurn(t, l, "a", "write_one")
	for range 3 {
		takeTurn(t, l, "a", "write_one")
	}
	if _, _, err := l.TakeTurn(TurnOwner{Session: "a"}, "write_one"); err == nil {
		t.Error("the queue of the tool is full, and one more is admitted")
	}
	if serverTurn := takeTurn(t, l, "a", "read"); !serverTurn.hasBegun() {
		t.Error("it waits, and there is room")
	}
	takeTurn(t, l, "a", "read") // in the queue of all
	if _, _, err := l.TakeTurn(TurnOwner{Session: "a"}, "read"); err == nil {
		t.Error("the queue of all is full, and one more is admitted")
	}
}

// TestManySessionsOfOnePrincipal: a principal with ten sessions gets as many turns as one with a single session, and its sessions as many as
// each other. Control: sessions that stand for themselves get the same number each.
func TestManySessionsOfOnePrincipal(t *testing.T) {
	t.Parallel()
	for principal, most := range map[string]int{"flood": 50, "": 10} {
		_, l := queueOf(Limits{All: Bound{Calls: 1, Queue: 2000}})
		holder := takeTurn(t, l, "holder", "a")
		var waiting []*ServerTurn
		take := func(of TurnOwner) {
			serverTurn, waits, err := l.TakeTurn(of, "a")
			if err != nil || !waits {
				t.Fatal(waits, err)
			}
			waiting = append(waiting, serverTurn)
		}
		for range 100 {
			for session := range 10 {
				take(TurnOwner{principal, fmt.Sprint(session)})
			}
		}
		for range 100 {
			take(TurnOwner{"one", "its own"})
		}
		if place, _ := waiting[1000].PlaceInQueue(); principal != "" && place != 2 || principal == "" && place != 11 {
			t.Errorf("place %d", place)
		}
		served := map[TurnOwner]int{}
		holder.End()
		for range 110 {
			for _, serverTurn := range waiting {
				if serverTurn.hasBegun() && !serverTurn.over {
					served[serverTurn.owner]++
					serverTurn.End()
					break
				}
			}
		}
		for of, n := range served {
			want := most
			if of.Principal != "one" && principal != "" {
				want = most / 10
			}
			if n < want || n > want+want/5+1 {
				t.Errorf("%v was served %d times of 110, want %d or a few more", of, n, want)
			}
		}
		if len(served) != 11 {
			t.Errorf("%d sessions were served", len(served))
		}
	}
}

// TestCancelFreesThePlace: who has left the queue takes no turn and no room.
func TestCancelFreesThePlace(t *testing.T) {
	t.Parallel()
	_, l := queueOf(Limits{All: Bound{Calls: 1, Queue: 1}})
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
	if len(l.sessions) != 0 || len(l.principals) != 0 || len(l.running) != 0 || l.waiting != 0 {
		t.Errorf("left: %+v", l)
	}
}

// TestRateOfAnyPeriod: in no period more begin than the rate allows, and the pause that is proposed is the one after which there is room.
func TestRateOfAnyPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, l := queueOf(Limits{All: Bound{Rate: Rate{3, time.Minute}}})
		began := []time.Time{}
		random := seeds.Rand(t)
		for len(began) < 30 {
			serverTurn, _, err := l.TakeTurn(TurnOwner{Session: "a"}, "x")
			if err == nil {
				began = append(began, time.Now())
				serverTurn.End()
				<-time.After(time.Duration(random.IntN(25)) * time.Second)
				continue
			}
			<-time.After(err.(*ExceededError).Again - time.Millisecond)
			if _, _, err := l.TakeTurn(TurnOwner{Session: "a"}, "x"); err == nil {
				t.Fatal("there was room before the pause was over")
			}
			<-time.After(time.Millisecond)
			if _, _, err := l.TakeTurn(TurnOwner{Session: "a"}, "x"); err != nil {
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

// TestLines holds queues to what they promise, whatever sessions do and hub.json becomes.
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
		table, l := queueOf(now)
		var turns []*ServerTurn
		over := 0 // how many may be under way beyond the limits: those that were when they changed
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				of := TurnOwner{rapid.SampledFrom([]string{"", "team"}).Draw(t, "principal"), fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "session"))}
				isNew := !slices.ContainsFunc(turns, func(t *ServerTurn) bool { return t.owner == of })
				serverTurn, waits, err := l.TakeTurn(of, rapid.SampledFrom(names).Draw(t, "name"))
				if err != nil {
					if e := err.(*ExceededError); isNew && !e.OfRate && e.Bound.Queue > 0 {
						t.Fatal("a session without requests is refused")
					}
					return
				}
				if waits == serverTurn.hasBegun() {
					t.Fatal("it does not know whether it waits")
				}
				turns = append(turns, serverTurn)
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
				for _, serverTurn := range turns {
					if serverTurn.hasBegun() {
						over++
					}
				}
			},
			"": func(t *rapid.T) {
				running, waiting := map[string]int{}, 0
				for _, serverTurn := range turns {
					if !serverTurn.hasBegun() {
						waiting++
						if serverTurn.hasRoom() {
							t.Fatal("it waits, and there is room")
						}
						continue
					}
					running[""]++
					if serverTurn.name != "read" {
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
				for _, g := range l.gauges {
					var fit, queued int
					for _, serverTurn := range turns {
						if !serverTurn.hasBegun() && slices.Contains(serverTurn.gauges, g) {
							fit++
						}
						if !serverTurn.hasBegun() && slices.Contains(serverTurn.fullGauges, g) {
							queued++
						}
					}
					if g.waiting != fit || g.queued != queued {
						t.Fatalf("%d of %d wait in a queue, and %d of %d are counted", queued, fit, g.queued, g.waiting)
					}
				}
				if int64(waiting) != table.Waiting() && table.QueueOf("kid") != nil {
					t.Fatalf("%d wait, and %d are counted", waiting, table.Waiting())
				}
			},
		})
		table.Set(nil) // no limits any more: nothing is lost
		for _, serverTurn := range turns {
			if !serverTurn.hasBegun() {
				t.Fatal("a request waits for ever")
			}
			serverTurn.End()
		}
		if len(l.sessions) != 0 || len(l.principals) != 0 || len(l.running) != 0 || l.waiting != 0 {
			t.Fatalf("left: %+v", l)
		}
	})
}
