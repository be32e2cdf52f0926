package call_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/e2e/childtest"
	"mcphub/hub/call"
	"mcphub/hub/catalog"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/validate/policy"
)

// fastKid is a child with the tools that a call on the fast path may need.
var fastKid = childtest.Script{Asks: true}

// A call that waits for nothing but its answer is made on the fast path, with what the waiting path would send and record. Then
// nothing is held for it.
func TestTheFastPathSendsAndRecordsAsTheWaitingPath(t *testing.T) {
	t.Parallel()
	with := oneChild(fastKid)
	with.recorded = true
	onStage(t, with, func(s *stage) {
		for _, call := range []string{
			echoParams(`{"a":1}`), echoParams(readArgs(filepath.Join(s.root, "a.txt"))), `{"name":"kid__echo"}`,
			echoParams(`{"a":1}`, `"_meta":{"progressToken":"mine"}`),
		} {
			got, ok := s.callFast(call)
			if slow := s.callWaiting(call); !ok || got != slow {
				t.Errorf("%s: %t %s, else %s", call, ok, got, slow)
			}
		}
		s.wantReached("fast", 4)
		s.wantRecorded("kid echo allow ok", "kid echo allow ok", "kid echo allow ok", "kid echo allow ok", "kid echo allow ok", "kid echo allow ok", "kid echo allow ok", "kid echo allow ok")
		s.wantReleased()
	})
}

// However a call ends, it ends in the same words on both paths: in its answer and in the record.
func TestBothPathsEndAlike(t *testing.T) {
	t.Parallel()
	sleep := `{"name":"kid__sleep","arguments":{}}`
	for name, tc := range map[string]struct {
		call   string
		during func(s *stage, end func(error)) // while it is with its child; end gives it up
		want   string
		record string
	}{
		"given up": {sleep, func(_ *stage, end func(error)) { end(cancelled) }, "enough", "cancelled"},
		"timeout":  {sleep, func(*stage, func(error)) { time.Sleep(2 * time.Minute) }, "1m0s", "timeout"},
		"crash":    {sleep, func(s *stage, _ func(error)) { s.children.crash("kid") }, "hung up", "unavailable"},
		"broken":   {`{"name":"kid__broken","arguments":{}}`, nil, "-32603", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[bool]string{}
			for _, fast := range []bool{true, false} {
				with := oneChild(fastKid)
				with.recorded = true
				onStage(t, with, func(s *stage) {
					ctx, end := context.WithCancelCause(s.Context())
					defer end(nil)
					giveUp, l := end, &listener{}
					if fast {
						l = s.try(tc.call)
						giveUp = l.end
					} else {
						go func() { l.Answer(s.ServeTool(ctx, request(t, "tools/call", tc.call))) }()
						synctest.Wait()
					}
					if tc.during != nil {
						tc.during(s, giveUp)
					}
					synctest.Wait()
					answers[fast] = l.only(t)
					s.wantParts(answers[fast], tc.want)
					tool, _, _ := strings.Cut(strings.TrimPrefix(tc.call, `{"name":"kid__`), `"`)
					s.wantRecorded("kid " + tool + " allow " + tc.record)
					s.wantReleased()
				})
			}
			if answers[true] != answers[false] {
				t.Errorf("fast %s\nelse %s", answers[true], answers[false])
			}
		})
	}
}

// What would have to wait, or takes more than the fast path has, is left to the waiting path: nothing is sent or held.
func TestWhatWouldWaitIsLeftToTheWaitingPath(t *testing.T) {
	t.Parallel()
	plain := echoParams(`{"a":1}`)
	within := func(s *stage) string { return echoParams(readArgs(filepath.Join(s.root, "a.txt"))) }
	for name, tc := range map[string]struct {
		set  func(s *stage)
		call func(s *stage) string
		with func(*staging)
	}{
		"an escaped name":                             {call: func(*stage) string { return strings.Replace(plain, "kid", `\u006bid`, 1) }},
		"an unknown name":                             {call: func(*stage) string { return `{"name":"kid__nothing"}` }},
		"an empty name":                               {call: func(*stage) string { return `{"name":""}` }},
		"a name of one byte":                          {call: func(*stage) string { return `{"name":5}` }},
		"a name of another kind":                      {call: func(*stage) string { return `{"name":["kid__echo"]}` }},
		"params that are none":                        {call: func(*stage) string { return `[1]` }},
		"no name":                                     {call: func(*stage) string { return `{}` }},
		"a task":                                      {call: func(*stage) string { return echoParams(`{}`, `"task":{}`) }},
		"a long frame":                                {call: func(*stage) string { return echoParams(`{"a":"` + strings.Repeat("x", jsonrpc.FastFrame) + `"}`) }},
		"arguments that do not fit":                   {call: func(*stage) string { return echoParams(`[]`) }},
		"arguments by another name":                   {call: func(*stage) string { return `{"name":"kid__echo","Arguments":{}}` }},
		"a path to nothing":                           {call: func(s *stage) string { return echoParams(readArgs(filepath.Join(s.root, "new.txt"))) }},
		"a path that is outside":                      {call: func(s *stage) string { return echoParams(readArgs(filepath.Join(s.outside, "a.txt"))) }},
		"the client, at first":                        {set: func(s *stage) { s.client.refuseFast = 1 }},
		"the client, then":                            {set: func(s *stage) { s.client.refuseFast = 2 }},
		"a child that does not run":                   {set: func(s *stage) { s.instances.busy = 1 }},
		"roots decide the process":                    {set: func(s *stage) { s.instances.byRoots = true }},
		"other roots are announced":                   {set: func(s *stage) { s.roots.Script(nil); s.RootsManager.NoteChange() }, call: within},
		"children have other roots":                   {set: func(s *stage) { s.instances.stale = true }, call: within},
		"roots come with requests":                    {set: func(s *stage) { s.client.sendsRoots = true }, call: within},
		"before a reload is followed":                 {set: func(s *stage) { s.Cleanup(s.reload(nil, denying(farDirectory))) }, call: within},
		"a link without it":                           {with: func(with *staging) { with.scripts[0].slow = true }},
		"a record that is required, and none is kept": {with: func(with *staging) { with.required = true }},
		"a person is asked": {with: func(with *staging) {
			with.rules = []policy.Rule{{Name: "ask", Then: policy.Escalate, Tools: []string{"echo"}}}
		}},
		"a tool of the hub itself": {with: func(with *staging) {
			with.own = []catalog.HubTool{{Name: "own", Def: []byte(`{"name":"own","inputSchema":{"type":"object"}}`)}}
		}, call: func(*stage) string { return `{"name":"own"}` }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := oneChild(fastKid)
			if tc.with != nil {
				tc.with(&with)
			}
			onStage(t, with, func(s *stage) {
				if tc.set != nil {
					tc.set(s)
				}
				params := plain
				if tc.call != nil {
					params = tc.call(s)
				}
				if got, ok := s.tryFast(params); ok {
					t.Errorf("it was made: %s", got)
				}
				s.wantReached("fast", 0)
				s.wantReleased()
			})
		})
	}
	t.Run("another method", func(t *testing.T) {
		onStage(t, oneChild(fastKid), func(s *stage) {
			if s.TryCallTool(request(t, "prompts/get", plain), s.client, &listener{}, false) {
				t.Error("it was made")
			}
		})
	})
}

// A tool whose schema takes time to check is not called on a read loop. Control: it is called there if no other request waits.
func TestACostlyToolIsNotCalledOnAReadLoop(t *testing.T) {
	defining(t, func(s *stage, define func(string)) {
		define(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}`)
		s.relist()
		for onReadLoop, want := range map[bool]bool{true: false, false: true} {
			if s.TryCallTool(request(s.T, "tools/call", echoParams(`{"a":"a"}`)), s.client, &listener{}, onReadLoop) != want {
				t.Errorf("on a read loop %t: not %t", onReadLoop, want)
			}
		}
		synctest.Wait()
		s.wantReleased()
	})
}

// A listener takes the answer to a call, and can end it.
type listener struct {
	mu      sync.Mutex
	cause   error
	told    jsonrpc.Stopper
	answers []string
}

func (l *listener) Answer(answer jsonrpc.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, answerText(answer))
}

func (l *listener) Cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

func (l *listener) OnCancel(s jsonrpc.Stopper) {
	l.mu.Lock()
	cause := l.cause
	l.told = s
	l.mu.Unlock()
	if cause != nil {
		s.Abandon(cause)
	}
}

func (l *listener) Batch() *lines.Batch { return nil }

// end gives the call up.
func (l *listener) end(cause error) {
	l.mu.Lock()
	l.cause = cause
	told := l.told
	l.mu.Unlock()
	if told != nil {
		told.Abandon(cause)
	}
}

// only returns the one answer that has come.
func (l *listener) only(t *testing.T) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.answers) != 1 {
		t.Fatalf("%d answers: %q", len(l.answers), l.answers)
	}
	return l.answers[0]
}

// try makes a call on the fast path, and returns who waits for it.
func (s *stage) try(params string) *listener {
	s.Helper()
	l := &listener{}
	tries := 0
	for !s.TryCallTool(request(s.T, "tools/call", params), s.client, l, false) {
		if tries++; tries == fastTries {
			s.Fatal("it was left to the waiting path")
		}
		s.warmUpPaths()
	}
	synctest.Wait()
	return l
}

var cancelled = &jsonrpc.CancelledError{Reason: "enough"}

// A call that its client gives up ends at its child too, and everything that it held is given back. It is recorded.
func TestACallIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", `,"_meta":{"progressToken":7}`} {
		with := oneChild(fastKid)
		with.recorded = true
		onStage(t, with, func(s *stage) {
			l := s.try(`{"name":"kid__sleep","arguments":{}` + token + `}`)
			if len(l.answers) > 0 {
				t.Fatal("it was answered: ", l.answers)
			}
			l.end(cancelled)
			synctest.Wait()
			s.wantParts(l.only(t), "enough")
			s.wantParts(s.callWaiting(`{"name":"kid__noticed","arguments":{}}`), "sleeping", "cancelled")
			s.wantRecorded("kid sleep allow cancelled", "kid noticed allow ok")
			s.wantReleased()
		})
	}
}

// A call whose client has gone before it is sent reaches no child.
func TestACallThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	with := oneChild(fastKid)
	with.recorded = true
	onStage(t, with, func(s *stage) {
		l := &listener{cause: cancelled}
		if !s.TryCallTool(request(t, "tools/call", echoParams(`{}`)), s.client, l, false) {
			t.Fatal("it was left to the waiting path")
		}
		synctest.Wait()
		s.wantParts(l.only(t), "enough", "!may have run")
		s.wantReached("fast", 0)
		s.wantRecorded("kid echo allow cancelled")
		s.wantReleased()
	})
}

// A call that cannot be recorded is not sent if the record is required. Control: it is sent if the record is not required.
func TestACallThatCannotBeRecordedIsNotSent(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{true, false} {
		with := oneChild(fastKid)
		with.recorded, with.required = true, required
		onStage(t, with, func(s *stage) {
			s.recordFull.Store(true)
			sent := map[bool]int{true: 0, false: 1}[required]
			for method, got := range map[string]string{"fast": s.try(echoParams(`{}`)).only(t), "tools/call": s.callWaiting(echoParams(`{}`))} {
				if strings.Contains(got, "cannot be recorded") != required {
					t.Errorf("required %t, %s: %s", required, method, got)
				}
				s.wantReached(method, sent)
			}
			s.recordFull.Store(false)
			time.Sleep(time.Minute)
			s.wantParts(s.try(echoParams(`{}`)).only(t), "!isError")
			s.wantReleased()
		})
	}
}

// What the child asks for on account of a call reaches the client, and ends with the call: the client sees that end first.
func TestQuestionsEndWithACall(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(fastKid), func(s *stage) {
		s.client.form = true
		s.client.messenger.answers = func(string, string) string { return "" }
		l := s.try(`{"name":"kid__ask","arguments":{"method":"elicitation/create","params":{"message":"?"}}}`)
		if got := s.client.messenger.questions(); len(got) != 1 || !strings.HasPrefix(got[0], "elicitation/create") {
			t.Fatalf("%q", got)
		}
		l.end(cancelled)
		synctest.Wait()
		s.wantParts(l.only(t), "enough")
		s.wantParts(s.callWaiting(`{"name":"kid__noticed","arguments":{}}`), "answer")
		s.client.messenger.answers = func(string, string) string { return `{"action":"accept"}` }
		s.wantParts(s.try(`{"name":"kid__ask","arguments":{"method":"elicitation/create","params":{"message":"?"}}}`).only(t), `{"answer":{"action":"accept"}}`)
		s.wantReleased()
	})
}

// An error of the child is passed on as it is. One that its client answers with is told to the child.
func TestErrorsOfAChildArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(fastKid), func(s *stage) {
		s.client.form = true
		s.client.messenger.answers = func(string, string) string { return "!odd" }
		call := `{"name":"kid__ask","arguments":{"method":"elicitation/create","params":{"message":"?"}}}`
		s.wantParts(s.try(call).only(t), `"message":"odd"`)
		s.client.messenger.answers = nil // it has gone
		s.wantParts(s.try(call).only(t), "The client has gone")
		s.client.form = false
		s.wantParts(s.try(call).only(t), "did not declare elicitation")
		s.wantReleased()
	})
}

// The progress of a call comes under the token of its client, and only as long as the call is under way.
func TestProgressIsRouted(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{true, false} {
		onStage(t, oneChild(fastKid), func(s *stage) {
			call := `{"name":"kid__progress","arguments":{"Steps":2},"_meta":{"progressToken":"mine"}}`
			if fast {
				s.wantParts(s.try(call).only(t), "done")
			} else {
				s.wantParts(s.callWaiting(call), "done")
			}
			got := s.client.messenger.notes()
			if len(got) != 2 || !strings.Contains(got[0], `"progressToken":"mine"`) {
				t.Errorf("%q", got)
			}
			if s.progress.Routes() != 0 {
				t.Error("the route is open after the answer")
			}
			s.wantParts(s.callWaiting(`{"name":"kid__progress","arguments":{"Steps":1}}`), "done") // without a token
			if len(s.client.messenger.notes()) != 2 {
				t.Error("progress that nobody wants")
			}
			s.wantReleased()
		})
	}
}

// modernKid is a child of the era without a handshake.
var modernKid = childtest.Script{Era: "modern", Library: true, Tasks: true}

// A child without a handshake may ask for more by its result: the call goes on, on either path, and the child is shown what its
// client can do. What a client may not send is left to the waiting path, which refuses it.
func TestAChildThatAsksByItsResult(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{true, false} {
		with := oneChild(modernKid)
		with.recorded = true
		onStage(t, with, func(s *stage) {
			s.client.form = true
			s.client.profile.Capabilities = []byte(`{"elicitation":{},"mine":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
			s.answering(`{"action":"accept","content":{"n":1.0}}`)
			call := func(params string) string {
				s.Helper()
				if fast {
					return s.try(params).only(t)
				}
				return s.callWaiting(params)
			}
			s.wantParts(call(`{"name":"kid__input","arguments":{"ask":{"q":{"method":"elicitation/create","params":{"message":"?"}}},"state":"s"},"_meta":{"progressToken":1}}`),
				`"given":{"q":{"action":"accept","content":{"n":1.0}}}`, `"mine":{}`, "!resultType")
			s.wantParts(call(`{"name":"kid__meta","arguments":{}}`), `"mine":{}`, "!resultType")
			s.client.messenger.answers = func(string, string) string { return "!odd" }
			s.wantParts(call(`{"name":"kid__input","arguments":{"ask":{"q":{"method":"elicitation/create","params":{"message":"?"}}}}}`), "odd", "isError")
			s.wantParts(call(`{"name":"kid__kind","arguments":{"type":"\"task\""}}`), `"adopted":"kind"`)
			for _, member := range []string{`"inputResponses":{}`, `"requestState":"x"`} {
				params := `{"name":"kid__meta","arguments":{},` + member + `}`
				if got, ok := s.tryFast(params); ok {
					t.Errorf("%s: made on the fast path: %s", member, got)
				}
				s.wantParts(s.callWaiting(params), "leave it out")
			}
			if got, ok := s.tryFast(`{"name":"kid__meta","arguments":` + readArgs(s.root) + `}`); ok {
				t.Errorf("a call that may have to be judged once more: %s", got)
			}
			s.wantReleased()
		})
	}
}

// TestProgressOfATask: a task that a call has made keeps the call's token until the task ends, on either path.
func TestProgressOfATask(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{true, false} {
		onStage(t, oneChild(modernKid), func(s *stage) {
			s.client.profile.Capabilities = []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
			var taskEnds func()
			s.AdoptTask = func(_ context.Context, _ *children.Lease, _ string, answer jsonrpc.Answer, drop func()) jsonrpc.Answer {
				taskEnds = drop
				return answer
			}
			params := `{"name":"kid__kind","arguments":{"type":"\"task\""},"_meta":{"progressToken":1}}`
			if fast {
				s.try(params).only(t)
			} else {
				s.callWaiting(params)
			}
			if n := s.progress.Routes(); n != 1 {
				t.Errorf("fast path %v: %d routes of progress are open while the task runs", fast, n)
			}
			taskEnds()
			s.wantReleased()
		})
	}
}

// A call of a child without a handshake that is given up while its client is asked ends there.
func TestGivenUpWhileItsClientIsAsked(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(modernKid), func(s *stage) {
		s.client.form = true
		s.client.messenger.answers = func(string, string) string { return "" }
		l := s.try(`{"name":"kid__input","arguments":{"ask":{"q":{"method":"elicitation/create","params":{"message":"?"}}}}}`)
		if len(l.answers) > 0 {
			t.Fatal("it was answered: ", l.answers)
		}
		l.end(cancelled)
		synctest.Wait()
		s.wantParts(l.only(t), "enough")
		s.wantReleased()
	})
}

// Many calls at a time use the same few buffers, one after the other: each gets its own answer.
func TestBuffersAreUsedAgain(t *testing.T) {
	t.Parallel()
	with := oneChild(fastKid)
	with.recorded = true
	onStage(t, with, func(s *stage) {
		var all sync.WaitGroup
		for n := range 40 {
			args := fmt.Sprintf(`{"n":%d,"x":%q}`, n, strings.Repeat("x", 300*n))
			all.Go(func() {
				if got, ok := s.callFast(echoParams(args)); !ok || !strings.Contains(got, args) {
					t.Errorf("%d: %t %.100s", n, ok, got)
				}
			})
		}
		all.Wait()
		s.wantReleased()
	})
}

// A call of which nothing is known is not answered twice.
func TestAnAwaitedAnswerIsTakenOnce(t *testing.T) {
	t.Parallel()
	onStage(t, oneChild(fastKid), func(s *stage) {
		awaited := &call.AwaitedAnswer{Cancellation: &jsonrpc.Cancellation{}}
		answer, ok := s.TryCallToolAndWait(s.client, awaited, request(t, "tools/call", echoParams(`{"a":1}`)))
		if !ok || !strings.Contains(answerText(answer), `{"a":1}`) {
			t.Fatalf("%t %s", ok, answerText(answer))
		}
		awaited.Answer(jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "late"))
		if awaited.Batch() != nil || !strings.Contains(answerText(answer), `{"a":1}`) {
			t.Error(answerText(answer))
		}
	})
}
