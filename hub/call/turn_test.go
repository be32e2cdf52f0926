package call_test

import (
	"cmp"
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/link"
	"mcphub/e2e/childtest"
	"mcphub/hub/configuration"
	"mcphub/hub/turns"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

// takeTurn takes a turn at kid for another session.
func (s *stage) takeTurn() (t *turns.ServerTurn, waits bool) {
	s.Helper()
	t, waits, err := s.Turns.QueueOf("kid").TakeTurn(turns.TurnOwner{Session: "another"}, "echo")
	if err != nil {
		s.Fatal(err)
	}
	return t, waits
}

// letOneCall has kid have one call at a time.
func (s *stage) letOneCall() {
	s.Turns = &turns.Table{}
	s.Turns.Set(map[string]turns.Limits{"kid": {All: turns.Bound{Calls: 1, Queue: 5}}})
}

// TestACallThatWaitsAgainGivesItsTurnBack: a call whose turn has come, and that then waits for its client, a person or a process, does not keep others
// from the server, and takes another turn afterwards. Control: a call that is with its server keeps the others waiting.
func TestACallThatWaitsAgainGivesItsTurnBack(t *testing.T) {
	t.Parallel()
	const logInTo = "https://login.example/"
	var goOn chan struct{} // of the test that runs: closed when what is waited for comes
	with := oneChild(childtest.Script{})
	with.options = func(set *configuration.Settings) {
		set.StartLogin = func(_ context.Context, _ string, _ principal.Principal, page func(address, code string) error) error {
			if err := page(logInTo, ""); err != nil {
				return err
			}
			<-goOn
			return nil
		}
	}
	for _, tc := range []struct {
		name   string
		change func(s *stage) // while the call waits for its turn
		want   string         // of its answer; "": its argument, since it is made
		holds  bool
	}{
		{name: "with its server", holds: true, change: func(s *stage) {
			s.children.refuse = func(string) error { <-goOn; return nil }
		}},
		{name: "its roots", change: func(s *stage) {
			s.roots.Script(nil)
			s.RootsManager.NoteChange()
			go func() {
				<-goOn
				(<-s.roots.Next()).Roots(platform.Host().FormatURI(s.root))
			}()
		}},
		{name: "other roots", want: "is outside", change: func(s *stage) {
			s.roots.Always(platform.Host().FormatURI(s.outside))
			s.RootsManager.NoteChange()
			time.Sleep(time.Minute)
			s.client.reconsiders = func() (rootsmgr.RootsView, bool, error) { <-goOn; return rootsmgr.RootsView{}, false, nil }
		}},
		{name: "its process", change: func(s *stage) {
			s.instances.busy, s.instances.acquire = 2, func() error { <-goOn; return nil }
		}},
		{name: "a login before", change: func(s *stage) {
			s.instances.busy, s.instances.acquire = 2, func() error {
				select {
				case <-goOn:
					return nil
				default:
					return refusing(0)
				}
			}
		}},
		{name: "a login after", change: func(s *stage) {
			s.children.refuse = func(string) error {
				s.children.refuse = nil
				return &link.StatusError{LogIn: true}
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onStage(t, with, func(s *stage) {
				goOn = make(chan struct{})
				s.letOneCall()
				s.Logins.Start(s.Context())
				defer s.Logins.Stop()
				s.client.url = true
				s.answering(`{"action":"accept"}`)
				first, _ := s.takeTurn()
				answer := make(chan string)
				go func() { answer <- s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))) }()
				synctest.Wait()
				if n := s.Turns.Waiting(); n != 1 {
					t.Fatalf("%d calls wait for their turn", n)
				}
				tc.change(s)
				first.End()
				synctest.Wait()
				other, waits := s.takeTurn()
				if waits != tc.holds {
					t.Errorf("another call waits: %v", waits)
				}
				select {
				case got := <-answer:
					t.Fatalf("it did not wait: %s", got)
				default:
				}
				other.End()
				close(goOn)
				s.wantParts(<-answer, cmp.Or(tc.want, `a.txt"}`))
				s.wantReleased()
			})
		})
	}
}

// TestACallThatWaitsEachTimeKeepsItsTurnInTheEnd: a call that has to wait each time its turn has come keeps its turn in the end.
func TestACallThatWaitsEachTimeKeepsItsTurnInTheEnd(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.letOneCall()
		held, _ := s.takeTurn()
		answer := make(chan string)
		go func() { answer <- s.callWaiting(echoParams(`{"a":1}`)) }()
		synctest.Wait()
		s.instances.busy, s.instances.acquire = 1000, func() error { time.Sleep(time.Second); return nil }
		yielded := 0
		for ; yielded < 10; yielded++ {
			held.End()
			synctest.Wait()
			var waits bool
			if held, waits = s.takeTurn(); waits {
				break
			}
			time.Sleep(time.Minute) // the call is in the line again
		}
		if yielded != 3 {
			t.Errorf("it gave its turn back %d times", yielded)
		}
		s.wantParts(<-answer, `{"a":1}`)
		held.End()
		s.instances.busy, s.instances.acquire = 0, nil
		s.wantReleased()
	})
}

// TestTurnsOfOnePrincipal: a call waits for another principal if another session of its own principal was served before. Control: a session
// of the local user does not, because it stands for itself.
func TestTurnsOfOnePrincipal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		of, same principal.Principal
		first    bool
	}{
		{principal.Principal{Name: "team"}, principal.Principal{Name: "team"}, false},
		{principal.Principal{}, principal.Principal{}, false},
		{principal.Principal{Name: "team", Issuer: "https://one.example"}, principal.Principal{Name: "team"}, true},
		{principal.User(), principal.User(), true},
	} {
		onStage(t, oneChild(childtest.Script{}), func(s *stage) {
			s.letOneCall()
			s.Principal = tc.of
			take := func(principal, session string) *turns.ServerTurn {
				serverTurn, _, err := s.Turns.QueueOf("kid").TakeTurn(turns.TurnOwner{Principal: principal, Session: session}, "echo")
				if err != nil {
					t.Fatal(err)
				}
				return serverTurn
			}
			holder, same := take("holder", ""), take(tc.same.String(), "another")
			answer := make(chan string, 1)
			go func() { answer <- s.callWaiting(echoParams(`{"a":1}`)) }()
			synctest.Wait()
			other := take("other", "")
			holder.End()
			if place, _ := same.PlaceInQueue(); place != 0 {
				t.Fatalf("place %d", place)
			}
			same.End()
			synctest.Wait()
			if first := len(answer) == 1; first != tc.first {
				t.Errorf("a call of %s is made before one of another principal: %v", tc.of, first)
			}
			other.End()
			s.wantParts(<-answer, `{"a":1}`)
			s.wantReleased()
		})
	}
}
