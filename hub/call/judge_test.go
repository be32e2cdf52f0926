package call_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/e2e/childtest"
	"mcphub/e2e/rootstest"
	"mcphub/hub/configuration"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/policy"
)

// denying denies each path within a directory.
func denying(dir string) policy.Rule {
	return policy.Rule{Name: "no more", Then: policy.Deny, Paths: &policy.PathRule{Within: dir}}
}

// A call that a reload overtakes while it waits for its child is judged again, by the rules of the reload. Control: rules that
// allow it as well.
func TestACallThatAReloadOvertakes(t *testing.T) {
	t.Parallel()
	for _, denies := range []bool{true, false} {
		onStage(t, oneChild(childtest.Script{}), func(s *stage) {
			s.instances.busy = 2
			s.instances.acquire = func() error {
				s.instances.acquire = nil
				dir := s.outside
				if denies {
					dir = s.root
				}
				follow := s.reload(nil, denying(dir))
				go func() { // sessions see it a moment later
					time.Sleep(time.Second)
					follow()
				}()
				return nil
			}
			start := time.Now()
			got := s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt"))))
			if denies {
				s.wantParts(got, "no more", `"isError":true`)
				s.wantReached("tools/call", 0)
			} else {
				s.wantParts(got, "a.txt", "!isError")
				s.wantReached("tools/call", 1)
			}
			if waited := time.Since(start); waited < time.Second {
				t.Errorf("it was judged after %s by rules that are not in force yet", waited)
			}
			s.wantReleased()
		})
	}
}

// A call that its client gives up does not wait until a reload is in force.
func TestACallThatIsGivenUpDoesNotAwaitAReload(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		ctx, giveUp := context.WithTimeout(s.Context(), time.Second)
		defer giveUp()
		s.instances.busy = 2
		var follow func()
		s.instances.acquire = func() error { follow = s.reload(nil, denying(s.outside)); return nil }
		s.wantParts(answerText(s.ServeTool(ctx, request(t, "tools/call", echoParams(readArgs(s.root))))), "error")
		s.wantReached("tools/call", 0)
		follow()
		s.wantReleased()
	})
}

// A reload that replaces the child has the call made again by the new one.
func TestAReloadThatReplacesTheChild(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.instances.busy = 2
		s.instances.acquire = func() error {
			s.instances.acquire = nil
			s.reload(func(set *configuration.Settings) { set.Children[0].Spec.Args = []string{"new"} })()
			return nil
		}
		s.wantParts(s.callWaiting(echoParams(`{"a":1}`)), `{"a":1}`)
		s.wantReached("tools/call", 1)
		s.wantReleased()
	})
}

// Nothing is started for a call that would be denied by how its child would run; what is allowed waits for it.
func TestNothingIsStartedForWhatIsDenied(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		waited := 0
		s.instances.acquire = func() error { waited++; return nil }
		s.instances.plan = func(*rootsmgr.RootsView) ([]string, bool) { return []string{s.root}, true }
		s.instances.busy = 1
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt")))), "is outside the allowed roots boundaries")
		if waited != 0 {
			t.Error("it waited for a child on account of a denied call")
		}
		s.instances.busy = 2
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))), "!isError")
		s.instances.busy = 2
		s.wantParts(s.callWaiting(echoParams(`{}`)), "!isError")
		if waited != 2 {
			t.Errorf("it waited %d times for the calls that are allowed", waited)
		}
		// Where it works, a relative path leads.
		s.instances.busy = 1
		s.wantParts(s.callWaiting(echoParams(readArgs("../outside/a.txt"))), "is outside the allowed roots boundaries")
		s.wantReached("tools/call", 2)
		s.wantReleased()
	})
}

// A call of a child that the rules deny altogether is answered with the rule, and no process is asked for.
func TestADeniedChildIsNotStarted(t *testing.T) {
	t.Parallel()
	with := oneChild(childtest.Script{})
	with.rules, with.unknown = []policy.Rule{{Name: "none", Then: policy.Deny, Servers: []string{"kid"}}}, true
	onStage(t, with, func(s *stage) {
		s.instances.tried = func() { t.Error("a process is looked for") }
		s.instances.acquire = func() error { t.Error("a process is waited for"); return nil }
		s.wantParts(s.callWaiting(echoParams(`{}`)), `the rule \"none\"`, `"isError":true`)
		if got, ok := s.tryFast(echoParams(`{}`)); ok {
			t.Errorf("on the fast path: %s", got)
		}
		s.wantReached("tools/call", 0)
	})
}

// What the client says about its roots ends a call at each place where it is asked, and nothing is sent.
func TestAnErrorAboutRootsEndsACallUnsent(t *testing.T) {
	t.Parallel()
	why := errors.New("roots are needed first")
	for name, set := range map[string]func(s *stage){
		"before": func(s *stage) { s.client.before = why },
		"before, with other roots": func(s *stage) {
			s.client.otherRoots, s.client.before = true, why
			s.instances.plan = func(*rootsmgr.RootsView) ([]string, bool) { return []string{s.root}, true }
		},
		"after":   func(s *stage) { s.client.after = why },
		"verdict": func(s *stage) { s.client.verdict = why },
		"acquire": func(s *stage) { s.instances.busy, s.instances.acquire = 2, func() error { return why } },
		"unstarted": func(s *stage) {
			s.client.otherRoots, s.client.verdict = true, why
			s.instances.plan = func(*rootsmgr.RootsView) ([]string, bool) { return nil, true }
			s.instances.tried = func() { s.Error("a lease is taken") }
		},
		"reconsider": func(s *stage) {
			s.roots.Always()
			s.RootsManager.NoteChange()
			s.client.reconsiders = func() (rootsmgr.RootsView, bool, error) { return rootsmgr.RootsView{}, false, why }
		},
	} {
		t.Run(name, func(t *testing.T) {
			with := oneChild(childtest.Script{})
			with.recorded = true
			onStage(t, with, func(s *stage) {
				set(s)
				s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))), "roots are needed first")
				s.wantReached("tools/call", 0)
				s.wantRecorded("kid echo refuse not judged")
				s.wantReleased()
			})
		})
	}
}

// A child that is served other roots with the request is judged by those, before it is called.
func TestOtherRootsWithTheRequest(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.client.otherRoots = true
		var seen *rootsmgr.RootsView
		s.instances.plan = func(rootsView *rootsmgr.RootsView) ([]string, bool) { seen = rootsView; return []string{s.root}, true }
		taken := false
		s.instances.tried = func() { taken = true }
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt")))), "is outside")
		if taken || seen == nil {
			t.Errorf("a lease was taken (%t) for what its own roots deny (%v)", taken, seen)
		}
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))), "!isError")
		s.wantParts(s.callWaiting(echoParams(`{}`)), "!isError")
		s.wantReached("tools/call", 2)
		s.wantReleased()
	})
}

// Before a call is denied on account of its roots, the client is asked for them again, and the call is judged by that answer. Control: it says
// the same.
func TestOlderRootsDenyNothing(t *testing.T) {
	t.Parallel()
	for _, more := range []bool{true, false} {
		for _, running := range []bool{true, false} {
			with := oneChild(childtest.Script{})
			with.silent = true
			onStage(t, with, func(s *stage) {
				s.wantParts(s.callWaiting(echoParams(readArgs(s.root))), "!isError") // they are known
				time.Sleep(time.Minute)
				if more {
					s.roots.Always(platform.Host().FormatURI(s.root), platform.Host().FormatURI(s.outside))
				}
				given := s.instances.given.Load()
				if !running {
					s.instances.busy = 1
					s.instances.plan = func(*rootsmgr.RootsView) ([]string, bool) { return nil, true }
				}
				asked := s.roots.Asked()
				got := s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt"))))
				if s.roots.Asked() == asked {
					t.Error("the client was not asked once more")
				}
				if more {
					s.wantParts(got, "!isError")
					if running && s.instances.given.Load() != given+2 {
						t.Errorf("%d leases: the child has to apply the new roots first", s.instances.given.Load()-given)
					}
				} else {
					s.wantParts(got, "is outside")
				}
				s.wantReleased()
			})
		}
	}
}

// If the session moves to another process while the client is asked for its roots, the call starts again with that process. Control: the
// session stays.
func TestTheSessionMovesWhileRootsAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, moves := range []bool{true, false} {
		with := oneChild(childtest.Script{})
		with.silent = true
		onStage(t, with, func(s *stage) {
			s.wantParts(s.callWaiting(echoParams(readArgs(s.root))), "!isError") // the roots are known
			time.Sleep(time.Minute)
			s.roots.Script(func(string) (rootsmgr.Page, error) {
				if moves {
					s.instances.other = "-other"
					s.instances.Start()
				}
				s.client.after = errors.New("its own roots are needed first")
				return rootstest.Page(platform.Host().FormatURI(s.root), platform.Host().FormatURI(s.outside)), nil
			})
			got := s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt"))))
			if moves {
				s.wantParts(got, "its own roots are needed first")
				s.wantReached("tools/call", 1)
			} else {
				s.wantParts(got, "!isError")
				s.wantReached("tools/call", 2)
			}
			s.wantReleased()
		})
	}
}

// A relative path starts from the roots that are directories, and not from one that is a file: its call is let through, and waits for its child.
func TestARelativePathStartsFromNoFile(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		file := filepath.Join(s.outside, "a.txt")
		s.roots.Always(platform.Host().FormatURI(s.root), platform.Host().FormatURI(file))
		s.RootsManager.NoteChange()
		s.instances.plan = func(*rootsmgr.RootsView) ([]string, bool) { return []string{s.root, file}, true }
		s.instances.busy, s.instances.acquire = 2, func() error { return errors.New("it does not start") }
		s.wantParts(s.callWaiting(echoParams(readArgs("new.txt"))), "it does not start")
		s.wantReleased()
	})
}

// A root that comes into being makes a call pass that would have been denied.
func TestARootThatIsMadeLaterLetsACallPass(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		late := filepath.Join(filepath.Dir(s.root), "late")
		s.roots.Always(platform.Host().FormatURI(s.root), platform.Host().FormatURI(late))
		s.RootsManager.NoteChange()
		s.wantParts(s.callWaiting(echoParams(readArgs(s.root))), "!isError")
		s.wantParts(s.callWaiting(echoParams(readArgs(late))), "isError")
		if err := os.Mkdir(late, 0o700); err != nil {
			t.Fatal(err)
		}
		s.wantParts(s.callWaiting(echoParams(readArgs(late))), "!isError")
		s.wantReleased()
	})
}

// Roots that change while a call waits for its child decide: it is judged again by them.
func TestRootsThatChangeWhileACallWaits(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.wantParts(s.callWaiting(echoParams(readArgs(s.root))), "!isError")
		change := func() error {
			s.instances.acquire = nil
			s.roots.Always(platform.Host().FormatURI(s.outside))
			updates := s.RootsManager.Updates()
			s.RootsManager.NoteChange()
			<-updates
			time.Sleep(time.Second)
			return nil
		}
		s.instances.busy, s.instances.acquire = 2, change
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))), "is outside")
		s.wantReached("tools/call", 1)
		// A call that has not waited goes by what it knows, and one without a path is not judged by roots at all.
		s.instances.busy, s.instances.acquire = 2, func() error { s.RootsManager.NoteChange(); return nil }
		s.wantParts(s.callWaiting(echoParams(`{}`)), "!isError")
		s.wantReleased()
	})
}

// Where the roots decide which process serves a session, a call waits for them, and finds its tool as that process has it.
func TestRootsThatChooseTheProcess(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.instances.byRoots = true
		asked := s.roots.Asked()
		s.RootsManager.NoteChange()
		s.wantParts(s.callWaiting(echoParams(`{}`)), "!isError")
		if s.roots.Asked() == asked {
			t.Error("the roots were not waited for")
		}
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))), "!isError")
		s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.outside, "a.txt")))), "is outside")
		s.wantReached("tools/call", 2)
		if got, ok := s.tryFast(echoParams(`{}`)); ok {
			t.Errorf("the fast path waits for roots: %s", got)
		}
		moved := "kid"
		s.instances.moved.Store(&moved) // until it has listed its tools
		start := time.Now()
		go func() { time.Sleep(time.Second); s.instances.moved.Store(nil) }()
		s.callWaiting(echoParams(`{}`))
		if time.Since(start) == 0 {
			t.Error("it does not wait for the list of the process that serves it now")
		}
		ctx, end := context.WithCancelCause(s.Context())
		s.instances.moved.Store(&moved)
		end(&jsonrpc.CancelledError{Reason: "enough"})
		s.ServeTool(ctx, request(t, "tools/call", echoParams(`{}`)))
		s.instances.moved.Store(nil)
		s.wantReached("tools/call", 3)
		s.wantReleased()
	})
}

// A call without a path waits for no roots if the kernel does not hold its child to them.
func TestACallWithoutAPathWaitsForNoRoots(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.wantParts(s.callWaiting(echoParams(readArgs(s.root))), "!isError") // the first are known
		s.roots.Script(nil)
		s.RootsManager.NoteChange()
		start := time.Now()
		s.wantParts(s.callWaiting(echoParams(`{}`)), "!isError")
		if waited := time.Since(start); waited != 0 {
			t.Errorf("it waited for %s", waited)
		}
		s.wantReleased()
	})
}

// A client whose roots cannot be known has a call refused that needs them.
func TestTheSessionEndsWhileRootsAreWaitedFor(t *testing.T) {
	t.Parallel()
	for _, byRoots := range []bool{true, false} {
		onStage(t, oneChild(childtest.Script{}), func(s *stage) {
			s.instances.byRoots = byRoots
			s.roots.Script(nil)
			s.RootsManager.NoteChange()
			ctx, giveUp := context.WithTimeout(s.Context(), time.Second)
			defer giveUp()
			s.wantParts(answerText(s.ServeTool(ctx, request(t, "tools/call", echoParams(readArgs(s.root))))), "error")
			s.wantReached("tools/call", 0)
			s.wantReleased()
		})
	}
}

// defining is a stage whose child reads the definitions of its tools from a file. define changes them, and has the child
// tell about that; the catalogue stays as it was.
func defining(t *testing.T, test func(s *stage, define func(echo string))) {
	t.Helper()
	t.Parallel()
	file := filepath.Join(t.TempDir(), "defs")
	lists := 0
	write := func(echo string) {
		lists++
		all := []string{`{"name":"change","inputSchema":{"type":"object"}}`, fmt.Sprintf(`{"name":"other%d","inputSchema":{"type":"object"}}`, lists)}
		if echo != "" {
			all = append(all, `{"name":"echo","inputSchema":`+echo+`}`)
		}
		if err := os.WriteFile(file, []byte(strings.Join(all, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"type":"object","properties":{"mode":{"type":"string"}}}`)
	with := oneChild(childtest.Script{Defs: file})
	onStage(t, with, func(s *stage) {
		test(s, func(echo string) {
			s.ignoresOffers.Store(true)
			write(echo)
			lease := s.instances.TryAcquire(s.inForce.InForce(), "kid")
			defer lease.Release()
			if _, err := lease.Call(s.Context(), "tools/call", []byte(`{"name":"change","arguments":{"name":"x"}}`)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		})
	})
}

// A call is judged by the definition that its child has now, whatever is listed. Control: one that lets it pass.
func TestTheDefinitionOfTheChildCounts(t *testing.T) {
	defining(t, func(s *stage, define func(string)) {
		call := echoParams(`{"mode":"wild"}`)
		s.wantParts(s.callWaiting(call), "wild", "!isError")
		define(`{"type":"object","properties":{"mode":{"type":"string"}}}`) // the same one, in another list
		if got, ok := s.tryFast(call); ok {
			t.Errorf("on the fast path, without having been read: %s", got)
		}
		s.wantParts(s.callWaiting(call), "wild", "!isError")
		define(`{"type":"object","properties":{"mode":{"enum":["safe"]}}}`)
		before := len(s.children.messagesSent("tools/call"))
		s.wantParts(s.callWaiting(call), "isError", "safe")
		s.wantParts(s.callWaiting(echoParams(`{"mode":"safe"}`)), "!isError")
		s.wantReached("tools/call", before+1)
		define("")
		s.wantParts(s.callWaiting(call), "isError", "echo")
		s.wantReached("tools/call", before+2) // with the call of define
		s.wantReleased()
	})
}

// A tool whose definition cannot be read any more is not called, and the reason is told.
func TestAToolWhoseDefinitionBreaksIsNotCalled(t *testing.T) {
	defining(t, func(s *stage, define func(string)) {
		define(`"nonsense"`)
		before := len(s.children.messagesSent("tools/call"))
		s.wantParts(s.callWaiting(echoParams(`{}`)), "isError", "its member /inputSchema is no object")
		s.wantReached("tools/call", before)
		s.wantReleased()
	})
}

// A child that defines a tool otherwise each time it is looked at is given up, after a few attempts.
func TestADefinitionThatChangesAgainAndAgain(t *testing.T) {
	defining(t, func(s *stage, define func(string)) {
		n := 0
		inside := false
		s.instances.tried = func() {
			if inside || n > 20 {
				return
			}
			inside = true
			n++
			define(`{"type":"object","properties":{"mode":{"type":"string"},"n` + strings.Repeat("x", n) + `":{}}}`)
			inside = false
		}
		s.wantParts(s.callWaiting(echoParams(`{"mode":"wild"}`)), "isError", "again")
		if n != 4 {
			t.Errorf("%d attempts", n)
		}
		for _, got := range s.children.messagesSent("tools/call") {
			if strings.Contains(got, "wild") {
				t.Error("it was sent")
			}
		}
		s.instances.tried = nil
		s.wantReleased()
	})
}

// A call that the schema of an earlier time refuses is judged by the schema of now, while the child has not listed its tools in this session. Control:
// the schema is the same.
func TestACallIsJudgedByTheSchemaOfNow(t *testing.T) {
	defining(t, func(s *stage, define func(string)) {
		const wide, narrow = `{"type":"object","properties":{"mode":{"type":"string"}}}`, `{"type":"object","properties":{"mode":{"enum":["safe"]}}}`
		define(narrow)
		s.relist()
		st, remembered := s.offering.StatusAndOffer("kid")
		st.Listed = false
		s.offering.Take(&st, remembered)
		call := echoParams(`{"mode":"wild"}`)
		before := len(s.children.messagesSent("tools/call"))
		s.wantParts(s.callWaiting(call), "isError", "safe")
		if got, ok := s.tryFast(call); ok {
			t.Errorf("on the fast path: %s", got)
		}
		s.wantReached("tools/call", before)
		s.instances.busy, s.instances.acquire = 1, func() error { return errors.New("it is not there") }
		s.wantParts(s.callWaiting(call), "isError", "safe") // the refusal that there is
		s.instances.busy, s.instances.acquire = 1, func() error {
			s.instances.acquire = nil
			s.reload(nil, denying(s.root))()
			return configuration.ErrSuperseded
		}
		s.wantParts(s.callWaiting(call), "isError", "safe")
		define(wide)
		s.wantParts(s.callWaiting(call), "wild", "!isError")
		s.wantReleased()
	})
}
