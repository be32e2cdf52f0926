package call_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/link"
	"mcphub/children/run"
	"mcphub/e2e/childtest"
	"mcphub/e2e/rootstest"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/handshake"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// A child's question goes to the client of the request that it belongs to, or to the client of the session if it belongs to none.
func TestAQuestionGoesToTheClientOfItsRequest(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(fastKid), func(s *stage) {
		s.client.form = true
		s.answering(`{"action":"accept"}`)
		other := &scriptedClient{form: true}
		other.messenger.answers = func(string, string) string { return `{"action":"decline"}` }
		other.Client = handshake.NewMain(&other.messenger, &host{s, s.RootsManager})
		ask := request(t, "elicitation/create", `{"message":"?"}`)
		key := s.instances.key("kid")
		s.wantParts(answerText(s.AskClient(s.Context(), key, ask)), "accept") // of none
		ctx := client.NewContext(s.Context(), client.RequestContext{Client: other})
		call := `{"name":"kid__ask","arguments":{"method":"elicitation/create","params":{"message":"?"}}}`
		s.wantParts(answerText(s.ServeTool(ctx, request(t, "tools/call", call))), "decline")
		if got := len(s.client.messenger.questions()); got != 1 {
			t.Errorf("the client of the session was asked %d times", got)
		}
		other.form = false
		s.wantParts(answerText(s.ServeTool(ctx, request(t, "tools/call", call))), "did not declare elicitation")
		s.wantParts(answerText(s.AskClient(s.Context(), key, request(t, "odd/question", `{}`))), "error")
		// One that ends for another reason.
		other.form = true
		other.messenger.answers = nil
		s.wantParts(answerText(s.ServeTool(ctx, request(t, "tools/call", call))), "The client has gone")
		ended, end := context.WithCancelCause(s.Context())
		end(cancelled)
		s.client.messenger.answers = func(string, string) string { return "" }
		s.wantParts(answerText(s.AskClient(ended, key, ask)), "enough", "!was not asked")
		late, stop := context.WithTimeout(s.Context(), time.Second)
		defer stop()
		s.wantParts(answerText(s.AskClient(late, key, ask)), "The client was not asked, or did not answer")
		s.wantReleased()
	})
}

// A child that asks too much at a time is told so.
func TestAChildThatAsksTooMuch(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(fastKid), func(s *stage) {
		s.client.form = true
		s.client.messenger.answers = func(string, string) string { return "" }
		ctx, end := context.WithCancel(s.Context())
		for range 64 {
			go s.AskClient(ctx, s.instances.key("kid"), request(t, "elicitation/create", `{"message":"?"}`))
		}
		synctest.Wait()
		s.wantParts(answerText(s.AskClient(ctx, s.instances.key("kid"), request(t, "elicitation/create", `{"message":"?"}`))), "busy", "!was not asked")
		end()
		synctest.Wait()
		s.wantReleased()
	})
}

// fetching is a stage with a call under way whose client brings roots with its requests, and has brought none yet.
func fetching(t *testing.T, test func(s *stage, answer <-chan string)) {
	t.Helper()
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.client.sendsRoots, s.client.canFetch = true, true
		s.instances.rootsGiven = func() bool { return !s.client.canFetch }
		answer := make(chan string, 1)
		ctx, giveUp := context.WithCancel(s.Context())
		go func() {
			answer <- answerText(s.ServeTool(ctx, request(t, "tools/call", `{"name":"kid__sleep","arguments":{}}`)))
		}()
		synctest.Wait()
		test(s, answer)
		giveUp()
		<-answer
		s.wantReleased()
	})
}

// A child that asks for roots waits for the roots of the call that it belongs to. What they would deny ends the call.
func TestRootsThatAChildAsksFor(t *testing.T) {
	fetching(t, func(s *stage, _ <-chan string) {
		key := s.instances.key("kid")
		wait := s.FetchRoots(s.Context(), key)
		if wait == nil {
			t.Fatal("there is nothing to wait for")
		}
		asked := 0
		s.client.fetched = func(judge func(rootsmgr.RootsView) error) {
			asked++
			if err := judge(rootsmgr.RootsView{}); err != nil {
				t.Errorf("a call without a path is judged: %v", err)
			}
		}
		wait(s.Context())
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		if s.FetchRoots(s.Context(), key) != nil {
			t.Error("there is still something to wait for")
		}
		s.instances.rootsGiven = func() bool { return true }
		s.client.canFetch, s.client.gaveRoots = true, true
		if s.FetchRoots(s.Context(), key) != nil {
			t.Error("the client is asked although its roots came with the call")
		}
		if s.client.gaveRoots = false; s.FetchRoots(s.Context(), key) == nil {
			t.Error("control: the client is not asked for roots that did not come with the call")
		}
		s.client.sendsRoots, s.client.canFetch = false, true // one that could not bring any
		if s.FetchRoots(s.Context(), key) != nil {
			t.Error("another client is waited for")
		}
		if s.FetchRoots(s.Context(), s.instances.key("none")) != nil {
			t.Error("a child without a call waits")
		}
	})
}

// Roots that are being given by another call are waited for too.
func TestRootsOfAnotherCallAreAwaited(t *testing.T) {
	fetching(t, func(s *stage, _ <-chan string) {
		s.client.canFetch = false
		s.instances.rootsGiven = func() bool { return false }
		if s.FetchRoots(s.Context(), s.instances.key("kid")) == nil {
			t.Error("nothing is waited for")
		}
		s.instances.rootsGiven = func() bool { return true }
		if s.FetchRoots(s.Context(), s.instances.key("kid")) != nil {
			t.Error("what was given already is waited for")
		}
	})
}

// The wait for roots ends after twice their time, whichever client is asked.
func TestTheWaitForRootsEnds(t *testing.T) {
	fetching(t, func(s *stage, _ <-chan string) {
		wait := s.FetchRoots(s.Context(), s.instances.key("kid"))
		start := time.Now()
		s.client.fetched = func(func(rootsmgr.RootsView) error) {
			s.client.canFetch = true // it goes on being asked
			time.Sleep(3 * time.Second)
		}
		wait(s.Context())
		if waited := time.Since(start); waited != 21*time.Second { // no client is asked after 20
			t.Errorf("it waited %s", waited)
		}
	})
}

// A call with a path that is with its child is judged by the roots that come then: what they do not contain ends it.
func TestACallIsJudgedByRootsThatComeLater(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		view := func(dir string) rootsmgr.RootsView {
			m := rootsmgr.NewManager(rootsOf(dir), rootsmgr.Fallback{}, rootsmgr.DefaultSettings(), guard.OS{}, s.settings.Log)
			m.NoteHandshake(true, true)
			s.run(m.Run)
			v, err := m.Await(s.Context())
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		in, out := view(s.root), view(s.outside)
		s.client.sendsRoots, s.client.canFetch = true, true
		ctx, giveUp := context.WithCancel(s.Context())
		callDone := make(chan struct{})
		go func() {
			defer close(callDone)
			s.ServeTool(ctx, request(t, "tools/call", `{"name":"kid__sleep","arguments":`+readArgs(filepath.Join(s.root, "a.txt"))+`}`))
		}()
		synctest.Wait()
		for _, tc := range []struct {
			rootsView rootsmgr.RootsView
			fails     bool
		}{{in, false}, {out, true}} {
			s.client.canFetch = true
			judged := false
			s.client.fetched = func(judge func(rootsmgr.RootsView) error) {
				judged = true
				err := judge(tc.rootsView)
				if (err != nil) != tc.fails {
					t.Errorf("fails %t: %v", tc.fails, err)
				}
			}
			s.FetchRoots(s.Context(), s.instances.key("kid"))(s.Context())
			if !judged {
				t.Error("it was not judged")
			}
		}
		giveUp()
		<-callDone
		s.wantReleased()
	})
}

// A request about what the session has already is passed on without being judged, under the hub's token.
func TestARequestAboutATaskIsPassedOnUnjudged(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(fastKid), func(s *stage) {
		lease := s.instances.TryAcquire(s.inForce.InForce(), "kid")
		defer s.wantReleased()
		defer lease.Release()
		for _, meta := range []string{``, `,"_meta":{"progressToken":"mine"}`} {
			m := request(t, "tasks/get", `{"taskId":"hub's"`+meta+`}`)
			answer, err := s.RelayAboutTask(s.Context(), lease, m, []jsonrpc.Edit{{Old: m.Param("taskId"), With: []byte(`"own"`)}})
			if err != nil {
				t.Fatal(err)
			}
			s.wantParts(answerText(answer), `"taskId":"own"`)
			got := s.children.messagesSent("tasks/get")
			if last := got[len(got)-1]; strings.Contains(last, "mine") || strings.Contains(last, "progressToken") != (meta != "") {
				t.Errorf("sent %s", last)
			}
			if s.progress.Routes() != 0 {
				t.Error("the route stays open")
			}
		}
		ctx, giveUp := context.WithCancel(s.Context())
		giveUp()
		if answer, err := s.RelayAboutTask(ctx, lease, request(t, "tasks/get", `{}`), nil); err == nil || answer.Error == nil {
			t.Errorf("given up: %s, %v", answerText(answer), err)
		}
	})
}

// refusing returns why a child is not there whose server asks for a login.
func refusing(after time.Duration) error {
	return &run.UnavailableError{Child: "kid", Reason: "it asks for a login", RetryAfter: after, Err: &link.StatusError{LogIn: true}}
}

// A server that asks for a login has one offered to a client that can show an address, once, and the call goes on when there is one.
func TestALoginIsOffered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		url, begun bool
		answer     string
		fails      error
		want       string
		asked      int
	}{
		"made":         {true, true, `{"action":"accept"}`, nil, `{"a":1}`, 1},
		"declined":     {true, true, `{"action":"decline"}`, nil, "it asks for a login", 1},
		"failed":       {true, true, `{"action":"accept"}`, errors.New("no network"), "it asks for a login", 1},
		"not shown":    {false, true, `{"action":"accept"}`, nil, "it asks for a login", 0},
		"not a person": {true, false, `{"action":"accept"}`, nil, "it asks for a login", 0},
	} {
		t.Run(name, func(t *testing.T) {
			with := oneChild(childtest.Script{})
			var logged []string
			with.options = func(set *configuration.Settings) {
				set.StartLogin = func(_ context.Context, child string, _ principal.Principal, page func(address, code string) error) error {
					if err := page("https://login.example/", ""); err != nil {
						return err
					}
					logged = append(logged, child)
					return tc.fails
				}
			}
			onStage(t, with, func(s *stage) {
				s.client.url = tc.url
				s.answering(tc.answer)
				if tc.begun {
					s.Logins.Start(s.Context())
					defer s.Logins.Stop()
				}
				start := time.Now()
				s.instances.busy = 2
				s.instances.acquire = func() error {
					if len(logged) > 0 && tc.fails == nil {
						return nil
					}
					return refusing(3 * time.Second)
				}
				s.wantParts(s.callWaiting(echoParams(`{"a":1}`)), tc.want)
				if got := s.client.messenger.questions(); len(got) != tc.asked {
					t.Errorf("asked %q", got)
				}
				if made := tc.asked == 1 && tc.want == `{"a":1}`; made && time.Since(start) != 3*time.Second {
					t.Errorf("it was tried again after %s", time.Since(start))
				}
				s.wantReleased()
			})
		})
	}
}

// A caller over HTTP whose client cannot show an address is given the address of the page, if the hub has such pages. The call that comes
// after the login waits until the server is tried again.
func TestALinkToALogin(t *testing.T) {
	t.Parallel()
	for _, pages := range []bool{true, false} {
		with := oneChild(childtest.Script{})
		come := make(chan struct{})
		with.options = func(set *configuration.Settings) {
			set.LoginPages = pages
			set.StartLogin = func(_ context.Context, _ string, _ principal.Principal, page func(address, code string) error) error {
				if err := page("https://hub.example/login/A", ""); err != nil {
					return err
				}
				<-come
				return nil
			}
		}
		onStage(t, with, func(s *stage) {
			come = make(chan struct{})
			s.Logins.ByPage = true
			s.Logins.Start(s.Context())
			defer s.Logins.Stop()
			made := false
			s.instances.busy = 6
			s.instances.acquire = func() error {
				if made {
					made = false
					return refusing(3 * time.Second) // it was not asked since
				}
				if s.Logins.IsFresh("kid") {
					return nil
				}
				return refusing(0)
			}
			if !pages {
				close(come)
				s.wantParts(s.callWaiting(echoParams(`{"a":1}`)), "it asks for a login")
				s.wantReleased()
				return
			}
			for range 2 {
				s.wantParts(s.callWaiting(echoParams(`{"a":1}`)), `The server \"kid\" asks for a login. Open https://hub.example/login/A in a browser`)
			}
			close(come)
			synctest.Wait()
			made = true
			start := time.Now()
			s.wantParts(s.callWaiting(echoParams(`{"a":1}`)), `{"a":1}`)
			if waited := time.Since(start); waited != 3*time.Second {
				t.Errorf("it was tried again after %s", waited)
			}
			if got := s.client.messenger.questions(); len(got) != 0 {
				t.Errorf("asked %q", got)
			}
			s.wantReleased()
		})
	}
}

// A call that is given up while a person logs in is not made afterwards.
func TestGivenUpWhileAPersonLogsIn(t *testing.T) {
	t.Parallel()
	with := oneChild(childtest.Script{})
	with.options = func(set *configuration.Settings) {
		set.StartLogin = func(ctx context.Context, _ string, _ principal.Principal, page func(address, code string) error) error {
			if err := page("https://login.example/", ""); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}
	}
	onStage(t, with, func(s *stage) {
		s.client.url = true
		s.answering(`{"action":"accept"}`)
		s.Logins.Start(s.Context())
		s.instances.busy = 2
		s.instances.acquire = func() error { return refusing(0) }
		ctx, giveUp := context.WithTimeout(s.Context(), time.Minute)
		defer giveUp()
		s.wantParts(answerText(s.ServeTool(ctx, request(t, "tools/call", echoParams(`{}`, `"_meta":{"progressToken":1}`)))), "deadline exceeded")
		if got := strings.Join(s.client.messenger.notes(), ""); !strings.Contains(got, "waiting for the login at kid") {
			t.Errorf("told %s", got)
		}
		s.wantReached("tools/call", 0)
		s.Logins.Stop()
		s.wantReleased()
	})
}

// rootsOf returns a client that gives one root.
func rootsOf(dir string) rootsmgr.RootsSource {
	c := rootstest.NewClient()
	c.Always(platform.Host().FormatURI(dir))
	return c
}

// A request of the other era whose roots come while its child waits for input is judged by them before the next round.
func TestARoundIsJudgedByTheRootsOfThen(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		with := oneChild(modernKid)
		with.recorded = true
		onStage(t, with, func(s *stage) {
			s.client.form = true
			s.client.messenger.answers = func(string, string) string {
				if gone {
					s.roots.Always(platform.Host().FormatURI(s.outside))
					s.RootsManager.NoteChange()
				}
				return `{"action":"accept","content":{}}`
			}
			got := s.callWaiting(`{"name":"kid__input","arguments":{"path":` + string(jsonrpc.AppendString(nil, s.root)) + `,"ask":{"q":{"method":"elicitation/create","params":{"message":"?"}}}}}`)
			if gone {
				s.wantParts(got, "is outside", "isError")
				s.wantReached("tools/call", 1)
				s.wantRecorded("kid input allow error", "kid input deny outside")
			} else {
				s.wantParts(got, "accept")
				s.wantReached("tools/call", 2)
			}
			s.wantReleased()
		})
	}
}

// A request whose child is replaced while it waits for input goes on at the one that has taken its place, if that is the same server.
func TestARoundAfterTheChildWasReplaced(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replace func(s *stage)
		want    string
	}{
		"by itself": {func(s *stage) { s.children.crash("kid") }, "accept"},
		"a reload that retires it": {func(s *stage) {
			s.reload(func(set *configuration.Settings) { set.Children[0].Spec.Args = []string{"new"} })()
		}, "accept"},
		"a reload, and it has ended": {func(s *stage) {
			s.children.crash("kid")
			s.reload(func(set *configuration.Settings) { set.Children[0].Spec.Args = []string{"new"} })()
		}, "it was replaced by another while it waited for input"},
		"it does not come up": {func(s *stage) {
			s.children.crash("kid")
			s.instances.acquire = func() error { return errors.New("it is gone for good") }
		}, "it is gone for good"},
	} {
		for _, fast := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, fast path %v", name, fast), func(t *testing.T) {
				onStage(t, oneChild(modernKid), func(s *stage) {
					s.client.form = true
					s.client.messenger.answers = func(string, string) string {
						tc.replace(s)
						time.Sleep(time.Second)
						return `{"action":"accept","content":{}}`
					}
					const params = `{"name":"kid__input","arguments":{"ask":{"q":{"method":"elicitation/create","params":{"message":"?"}}}}}`
					if fast {
						l := s.try(params)
						time.Sleep(10 * time.Second)
						s.wantParts(l.only(t), tc.want)
					} else {
						s.wantParts(s.callWaiting(params), tc.want)
					}
					s.instances.acquire = nil
					s.wantReleased()
				})
			})
		}
	}
}
