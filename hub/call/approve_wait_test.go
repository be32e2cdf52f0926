package call_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/configuration"
	"mcphub/validate"
	"mcphub/validate/policy"
)

func TestAQuestionThatNobodyAnswersCountsAsNo(t *testing.T) {
	approving(t, func(a *askedCall) {
		p, letGo := silent()
		var withdrawn sync.WaitGroup
		withdrawn.Add(1)
		inner := p.says
		p.says = func(ctx context.Context) string {
			answer := inner(ctx)
			if ctx.Err() != nil {
				withdrawn.Done()
			}
			return answer
		}
		a.isAsked(p)
		began := time.Now()
		a.refused("kid__echo", readArgs(a.at("data", "one", "1.txt")), "nobody has answered in time")
		if d := time.Since(began); d < time.Minute || d > time.Minute+time.Second {
			t.Errorf("it took %s", d)
		}
		withdrawn.Wait() // the client was told that the question is over
		if got := a.grants(); len(got) != 0 {
			t.Errorf("grants: %+v", got)
		}
		p.says = inner
		letGo(yesDirectory) // the control
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt")))
	})
}

func TestACallThatIsCancelledWithdrawsItsQuestion(t *testing.T) {
	approving(t, func(a *askedCall) {
		p, letGo := silent()
		questionEnded := make(chan struct{}, 10)
		inner := p.says
		p.says = func(ctx context.Context) string {
			defer func() { questionEnded <- struct{}{} }()
			return inner(ctx)
		}
		a.isAsked(p)
		ctx, cancel := context.WithCancel(a.Context())
		answer := a.begin(ctx, "kid__echo", tagged("cancelled", readArgs(a.at("data", "one", "1.txt"))))
		<-p.seen
		cancel()
		<-questionEnded
		<-answer
		synctest.Wait()
		if len(a.children.messagesSent("tools/call")) > 0 || len(a.grants()) != 0 {
			t.Error("a cancelled call was made, or has opened something")
		}
		letGo(yesDirectory) // the control; and a question that was withdrawn leaves the way free
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt")))
		a.asks(p, 2)
	})
}

// Calls that are one and the same wait for one answer; others ask in turn, and
// what was granted meanwhile is not asked about.
func TestEqualQuestionsAreJoinedAndOthersQueued(t *testing.T) {
	approving(t, func(a *askedCall) {
		p, letGo := silent()
		a.isAsked(p)
		one := readArgs(a.at("data", "one", "1.txt"))
		equal := []<-chan string{a.begin(a.Context(), "kid__echo", one), a.begin(a.Context(), "kid__echo", one), a.begin(a.Context(), "kid__echo", one)}
		<-p.seen
		synctest.Wait()
		beside := a.begin(a.Context(), "kid__echo", tagged("beside", one)) // other bytes
		two := a.begin(a.Context(), "kid__echo", readArgs(a.at("data", "two", "2.txt")))
		synctest.Wait()
		a.asks(p, 1)
		if st := a.Approvals.Report(); len(st.Questions) != 1 || st.Questions[0].Calls != 3 || st.Questions[0].Asked != approval.AskedClient {
			t.Errorf("status shows %+v", st.Questions)
		}
		letGo(yesDirectory)
		for _, answer := range append(equal, beside) {
			if got := <-answer; got != "ok" {
				t.Errorf("answered %s", got)
			}
		}
		<-p.seen // the second question comes when the first has its answer
		a.asks(p, 2)
		letGo(no)
		if got := <-two; !strings.Contains(got, "the person said no") {
			t.Errorf("answered %s", got)
		}
		if !strings.Contains(strings.Join(a.children.messagesSent("tools/call"), ""), `"beside"`) {
			t.Error("a call in what was granted did not reach the child")
		}
	})
}

func TestANoServesEqualCallsAndOthersAreAsked(t *testing.T) {
	approving(t, func(a *askedCall) {
		p, letGo := silent()
		a.isAsked(p)
		one := readArgs(a.at("data", "one", "1.txt"))
		first, same := a.begin(a.Context(), "kid__echo", one), a.begin(a.Context(), "kid__echo", one)
		<-p.seen
		other := a.begin(a.Context(), "kid__echo", tagged("other", one))
		synctest.Wait()
		letGo(no)
		for _, answer := range []<-chan string{first, same} {
			if got := <-answer; !strings.Contains(got, "the person said no") {
				t.Errorf("answered %s", got)
			}
		}
		<-p.seen
		letGo(yesDirectory)
		if got := <-other; got != "ok" {
			t.Errorf("answered %s", got)
		}
	})
}

// The one that asked for several goes: the next of them asks.
func TestWhoWaitsAsksWhereTheFirstHasGone(t *testing.T) {
	approving(t, func(a *askedCall) {
		p, letGo := silent()
		a.isAsked(p)
		one := readArgs(a.at("data", "one", "1.txt"))
		ctx, cancel := context.WithCancel(a.Context())
		first := a.begin(ctx, "kid__echo", one)
		<-p.seen
		second := a.begin(a.Context(), "kid__echo", one)
		synctest.Wait()
		cancel()
		<-first
		<-p.seen
		letGo(yesDirectory)
		if got := <-second; got != "ok" {
			t.Errorf("answered %s", got)
		}
		a.asks(p, 2)
	})
}

// A child is not asked about again and again by who only wants a yes.
func TestASharedChildTakesNoGrants(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yesDirectory)
		a.isAsked(p)
		a.refused("all__echo", readArgs(a.at("data", "one", "1.txt")), `\"share\": \"session\"`)
		a.refused("same__echo", readArgs(a.at("data", "one", "1.txt")), `\"share\": \"session\"`)
		a.asks(p, 0)
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt"))) // the control
		// What was granted to one child is not another's.
		a.refused("same__echo", readArgs(a.at("data", "one", "1.txt")), `\"share\": \"session\"`)
	}, func(with *staging, _ *validate.Config) {
		with.scripts = append(with.scripts, scriptedChild{name: "all", share: spec.ShareAll}, scriptedChild{name: "same", share: spec.ShareRoots})
	})
}

// While a person takes their time a client with a token hears of it.
func TestProgressWhileAPersonIsAsked(t *testing.T) {
	approving(t, func(a *askedCall) {
		p, letGo := silent()
		a.isAsked(p)
		answer := make(chan string, 1)
		go func() {
			answer <- a.callWaiting(echoParams(readArgs(a.at("data", "one", "1.txt")), `"_meta":{"progressToken":"tok"}`))
		}()
		time.Sleep(12 * time.Second)
		all := a.client.messenger.notes()
		if len(all) != 3 {
			t.Errorf("told %q", all)
		}
		for _, got := range all {
			if !strings.Contains(got, "waiting for approval") || !strings.Contains(got, `"tok"`) {
				t.Errorf("progress %s", got)
			}
		}
		letGo(yes)
		a.wantParts(<-answer, "!isError")
	})
}

// Where each request stands alone, so does what is allowed: the grant ends with
// its call, and equal questions are not joined.
func TestAGrantForOneCall(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yesDirectory)
		a.isAsked(p)
		a.Approvals.SetPerCall()
		for n := range 3 {
			a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt")))
			a.asks(p, n+1)
			if got := a.grants(); len(got) != 0 {
				t.Errorf("grants: %+v", got)
			}
		}
		if !strings.Contains(p.asked()[0], "this server may for this one call:") {
			t.Errorf("asked %s", p.asked()[0])
		}
		q, letGo := silent()
		p.says = q.says
		one := a.begin(a.Context(), "kid__echo", readArgs(a.at("data", "one", "1.txt")))
		two := a.begin(a.Context(), "kid__echo", readArgs(a.at("data", "one", "1.txt")))
		synctest.Wait()
		letGo(yesDirectory)
		letGo(yesDirectory)
		if got := <-one + <-two; got != "okok" {
			t.Errorf("answered %s", got)
		}
		a.asks(p, 5)
	})
}

// A reload that replaces the child's program takes back what the former one
// was allowed; one that changes something else does not.
func TestAReloadOfTheChildEndsItsGrants(t *testing.T) {
	approving(t, func(a *askedCall) {
		p := saying(yesDirectory)
		a.isAsked(p)
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt")))
		reload := func(change func(*configuration.Settings)) {
			a.reload(change)()
			a.Approvals.Prune(a.inForce.InForce().ApprovalRules())
		}
		reload(func(set *configuration.Settings) { set.Approval.Timeout = 2 * time.Minute })
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt")))
		a.asks(p, 1)
		reload(func(set *configuration.Settings) { set.Children[0].Spec.Args = []string{"x"} })
		a.passes("kid__echo", readArgs(a.at("data", "one", "1.txt")))
		a.asks(p, 2)
		if got := a.grants(); len(got) != 1 {
			t.Errorf("grants: %+v", got)
		}
	})
}

// While a person is asked the policy is replaced: the one in force when they have answered decides, whatever was asked
// about. The control is a reload that leaves the rules as they are.
func TestAReloadBetweenQuestionAndAnswer(t *testing.T) {
	for name, then := range map[string]policy.Decision{"denied by now": policy.Deny, "as before": policy.Escalate} {
		for tool, allow := range map[string]string{"kid__echo": yesDirectory, "kid__env": yesCall} {
			t.Run(name+" "+tool, func(t *testing.T) {
				approving(t, func(a *askedCall) {
					args := `{}`
					if tool == "kid__echo" {
						args = readArgs(a.at("data", "one", "1.txt"))
					}
					q, letGo := silent()
					a.isAsked(q)
					answer := a.begin(a.Context(), tool, args)
					synctest.Wait()
					a.rules = slices.Clone(a.rules)
					a.rules[3].Then, a.rules[4].Then = then, then
					a.reload(nil)()
					letGo(allow)
					questions := 1
					if then == policy.Escalate && tool == "kid__env" {
						questions = 2 // an approval of the call itself is of one policy
						letGo(allow)
					}
					got := <-answer
					a.asks(q, questions)
					if denied := strings.Contains(got, "is refused by the rule"); denied != (then == policy.Deny) || !denied && got != "ok" {
						t.Errorf("answered %s", got)
					}
				})
			})
		}
	}
}
