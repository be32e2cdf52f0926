package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/approval"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// The flows of the policy, and for how long what was allowed is open: over
// stdio for the process, over HTTP for the call (P4).
func TestModernApproval(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		c.unasked(reading(a.at("open", "o.txt")), "")
		c.unasked(writing(a.at("open", "o.txt")), "rule-deny")
		c.says(one, no, "the person said no")
		a.holds(0, 0)
		params, tag := echoing(one)
		q := c.question(params)
		lifetime := "until this session ends"
		if c.once {
			lifetime = "for this one call"
		}
		if !strings.Contains(q.text(), "If you answer \"file\", this server may "+lifetime+":\n- read the file "+strconv.Quote(a.at("data", "one", "1.txt"))+", and nothing beside it\n") ||
			!strings.Contains(q.text(), "If you answer \"directory\", this server may "+lifetime+":\n- read everything in the directory "+strconv.Quote(a.at("data", "one"))) {
			a.Errorf("asked %s", q.text())
		}
		a.holds(0, 1)
		msg, denied := c.answer(q, params, yes)
		c.outcome(one, msg, denied, tag, "")
		if c.once {
			a.holds(0, 0)
			c.says(one, no, "the person said no")
		} else {
			a.holds(1, 0)
			c.unasked(one, "")
		}
		c.says(reading(a.at("data", "two", "2.txt")), no, "the person said no")
		d := c.another()
		d.says(one, no, "the person said no")
		c.leave()
		if !c.once {
			a.holds(0, 0) // it ended with its process
			c = c.another()
			c.says(one, no, "the person said no")
		}
	})
}

// A question that no one comes back with counts as no once its time is over; a
// yes after that is too late.
func TestModernQuestionThatNobodyAnswers(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		params, tag := echoing(one)
		q := c.question(params)
		time.Sleep(time.Minute + time.Second)
		a.holds(0, 0)
		msg, denied := c.answer(q, params, yes)
		c.outcome(one, msg, denied, tag, "nobody has answered in time")
		// One that never comes again holds nothing for good.
		c.question(params)
		time.Sleep(modern.StateTime + time.Second)
		a.holds(0, 0)
		if n := a.h.suspended.Load(); n != 0 {
			a.Errorf("%d requests are held", n)
		}
		c.says(one, yes, "") // the control
	})
}

// The client goes while a person is asked: the process ends, or the same
// request is never made again.
func TestModernClientThatGoesWhileItIsAsked(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		params, tag := echoing(one)
		q := c.question(params)
		d := c.another()
		c.leave()
		if !c.once {
			a.holds(0, 0)
			if n := a.h.suspended.Load(); n != 0 {
				a.Errorf("%d requests are held", n)
			}
		}
		// No one else can answer in its place, no matter who has the requestState.
		if msg, denied := d.answer(q, params, yes); !denied || !strings.HasPrefix(msg, "!") {
			a.Errorf("somebody else has answered: %s", msg)
		}
		if a.s.who(tag) != nil {
			a.Error("the child got the call")
		}
		d.says(one, yes, "") // and is not affected
		if c.once {
			msg, denied := c.answer(q, params, yes) // the control: whose question it is
			c.outcome(one, msg, denied, tag, "")
		}
	})
}

// A call that is cancelled while its retry is under way, or while it waits for a
// person at a terminal, opens nothing and is never made.
func TestModernCallThatIsCancelled(t *testing.T) {
	modernWays(t, `{"roots":{}}`, func(_ *testing.T, a *askedHub, c *modernWay) {
		one := reading(a.at("data", "one", "1.txt"))
		params, tag := echoing(one)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan string, 1)
		go func() {
			_, result, _ := c.until(ctx, params)
			ended <- result
		}()
		q := a.pending(1)[0]
		code := a.code(q.ID)
		cancel()
		if got := <-ended; !strings.HasPrefix(got, "!") {
			a.Errorf("answered %s", got)
		}
		a.pending(0)
		if err := a.answer(q, code, "directory"); !errors.Is(err, approval.ErrNoQuestion) {
			a.Errorf("the question is answered all the same: %v", err)
		}
		a.holds(0, 0)
		if a.s.who(tag) != nil {
			a.Error("the child got the call")
		}
		// The control: one that is not cancelled.
		params, tag = echoing(one)
		go func() {
			_, result, _ := c.until(context.Background(), params)
			ended <- result
		}()
		q = a.pending(1)[0]
		if err := a.answer(q, a.code(q.ID), "directory"); err != nil {
			a.Error(err)
		}
		msg, denied := text(<-ended)
		c.outcome(one, msg, denied, tag, "")
	}, atATerminal)
}

// Equal calls of one process share an answer, and others wait for their turn;
// over HTTP each request stands alone, and neither waits for the other.
func TestModernEqualQuestions(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		params, tag := echoing(reading(a.at("data", "one", "1.txt")))
		q := c.question(params)
		if c.once {
			other := c.question(params)
			a.holds(0, 2)
			msg, denied := c.answer(other, params, no)
			c.outcome(params, msg, denied, tag, "the person said no")
			msg, denied = c.answer(q, params, yes)
			c.outcome(params, msg, denied, tag, "")
			a.holds(0, 0)
			return
		}
		type end struct {
			q      asked
			result string
			asked  bool
		}
		begin := func(ctx context.Context, params string) <-chan end {
			ch := make(chan end, 1)
			go func() {
				q, result, asked := c.until(ctx, params)
				ch <- end{q, result, asked}
			}()
			synctest.Wait()
			return ch
		}
		same := begin(context.Background(), params)
		two, tagTwo := echoing(reading(a.at("data", "two", "2.txt")))
		later := begin(context.Background(), two)
		given, cancel := context.WithCancel(context.Background())
		third, tagThird := echoing(reading(a.at("home", "h.txt")))
		dropped := begin(given, third)
		a.holds(0, 1)
		if st := a.h.Status().Sessions[0].Questions[0]; st.Calls != 2 || st.Asked != approval.AskedClient {
			a.Errorf("status shows %+v", st)
		}
		cancel() // what waits for its turn can be cancelled too
		if e := <-dropped; e.asked || !strings.HasPrefix(e.result, "!") {
			a.Errorf("cancelled: %+v", e)
		}
		msg, denied := c.answer(q, params, yes)
		c.outcome(params, msg, denied, tag, "")
		if e := <-same; e.asked || strings.HasPrefix(e.result, "!") {
			a.Errorf("the equal call: %+v", e)
		} else if msg, denied := text(e.result); denied {
			a.Errorf("the equal call was denied: %s", msg)
		}
		e := <-later
		if !e.asked {
			a.Fatalf("the other call was not asked about: %s", e.result)
		}
		msg, denied = c.answer(e.q, two, no)
		c.outcome(two, msg, denied, tagTwo, "the person said no")
		if a.s.who(tagThird) != nil {
			a.Error("the child got the call that was cancelled")
		}
	})
}

// An answer is good for the call that asked, once.
func TestModernAnswersAreOfTheirCall(t *testing.T) {
	modernWays(t, modernCaps, func(_ *testing.T, a *askedHub, c *modernWay) {
		params, tag := echoing(reading(a.at("data", "one", "1.txt")))
		q := c.question(params)
		for name, other := range map[string]string{
			"other argument": strings.Replace(params, "1.txt", "2.txt", 1),
			"one more":       strings.Replace(params, `"path"`, `"also":"/etc/passwd","path"`, 1),
			"other tool":     strings.Replace(params, "kid__echo", "kid__env", 1),
		} {
			if msg, denied := c.answer(q, other, yes); !denied || !strings.HasPrefix(msg, "!") {
				a.Errorf("%s: %s", name, msg)
			}
		}
		// The same call without the hub's state, or as a fresh one, is asked about like any.
		given := map[string]string{}
		for key := range q.methods {
			given[key] = yes
		}
		bare := with(params, fmt.Sprintf(`"inputResponses":{%q:%s}`, q.keys[0], yes))
		if c.once { // over stdio it would be joined to the question that stands
			if result, err := c.send(context.Background(), bare); err != nil || string(jsonrpc.Get([]byte(result), "resultType")) != `"input_required"` {
				a.Errorf("answers that nobody asked for: %s %v", result, err)
			}
		}
		if a.s.who(tag) != nil {
			a.Error("the child got the call")
		}
		msg, denied := c.answer(q, params, yes)
		c.outcome(params, msg, denied, tag, "")
		result, err := c.send(context.Background(), q.retry(params, given))
		if err == nil || !strings.Contains(err.Error(), "already") {
			a.Errorf("replayed: %s %v", result, err)
		}
	})
}

// What a grant does not open, in either transport: what is protected, what a
// rule denies, and what stands beside a file in the home folder.
func TestModernGrantsAreNoWiderThanSaid(t *testing.T) {
	modernWays(t, modernCaps, func(t *testing.T, a *askedHub, c *modernWay) {
		if err := os.Symlink(a.at("kept", "k.txt"), a.at("data", "one", "link")); err != nil {
			t.Fatal(err)
		}
		c.says(reading(a.at("data", "one", "1.txt")), yes, "")
		c.unasked(reading(a.at("data", "one", "link")), "protects")
		c.unasked(reading(a.at("kept", "k.txt")), "protects")
		c.unasked(reading(a.at("never", "n.txt")), "never")
		c.unasked(fmt.Sprintf(`{"path":%q,"also":%q}`, a.at("data", "one", "1.txt"), a.at("kept", "k.txt")), "protects")
		if !c.once {
			c.unasked(reading(a.at("data", "one", "1.txt")), "") // the control: it is open
		}
		params, tag := echoing(reading(a.at("home", "h.txt")))
		q := c.question(params)
		if !strings.Contains(q.text(), "- read the file "+strconv.Quote(a.at("home", "h.txt"))+", and nothing beside it") {
			t.Errorf("asked %s", q.text())
		}
		msg, denied := c.answer(q, params, yesFile)
		c.outcome(params, msg, denied, tag, "")
		write(t, a.at("home", "beside.txt"))
		c.says(reading(a.at("home", "beside.txt")), no, "the person said no")
		if !c.once {
			c.unasked(reading(a.at("home", "h.txt")), "")
		}
		c.unasked(deleting(a.at("home")), "is too wide")
	})
}

// Between question and answer a link is planted, or the rules change: the call
// is judged afresh, and nothing stays open.
func TestModernWhatChangesBetweenQuestionAndAnswer(t *testing.T) {
	for name, plant := range map[string]func(a *askedHub) error{
		"protected":     func(a *askedHub) error { return os.Symlink(a.at("kept", "k.txt"), a.at("data", "one", "x")) },
		"elsewhere":     func(a *askedHub) error { return os.Symlink(a.at("data", "two", "2.txt"), a.at("data", "one", "x")) },
		"as it was":     nil, // the control
		"denied by now": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var judged validate.Config
			modernWays(t, modernCaps, func(t *testing.T, a *askedHub, c *modernWay) {
				path := a.at("data", "one", "x")
				write(t, path)
				params, tag := echoing(reading(path))
				q := c.question(params)
				want := ""
				switch {
				case plant != nil:
					want = "Access denied"
					if err := os.Rename(path, a.at("moved")); err != nil {
						t.Fatal(err)
					}
					if err := plant(a); err != nil {
						t.Fatal(err)
					}
				case name == "denied by now":
					want = "is refused by the rule"
					cfg := a.h.currentConfiguration().Settings
					judged.Policy.Rules = slices.Insert(slices.Clone(judged.Policy.Rules), 0, policy.Rule{Name: "new", Then: policy.Deny, Paths: &policy.PathRule{Within: a.at("data")}})
					var err error
					if cfg.Checker, err = validate.NewChecker(judged); err != nil {
						t.Fatal(err)
					}
					apply(t, a.h, cfg)
				}
				msg, denied := c.answer(q, params, yes)
				c.outcome(params, msg, denied, tag, want)
				if want != "" {
					a.holds(0, 0)
				}
			}, func(_ *Config, v *validate.Config) { judged = *v })
		})
	}
}

// Over HTTP clients of one token share a child, and each call brings its roots.
// One that waits for a person does not keep the others from it.
func TestModernQuestionsDoNotHoldTheChild(t *testing.T) {
	modernWays(t, modernCaps, func(t *testing.T, a *askedHub, c *modernWay) {
		if !c.once {
			return // there the roots are the roots of the process
		}
		params, tag := echoing(reading(a.at("data", "one", "1.txt")))
		q := c.question(params)
		other := filepath.Join(t.TempDir(), "other")
		write(t, filepath.Join(other, "x"))
		d := c.elsewhere(other)
		began := time.Now()
		d.unasked(reading(filepath.Join(other, "x")), "")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a call with other roots took %s while a person was asked about another one", took)
		}
		msg, denied := c.answer(q, params, yes)
		c.outcome(params, msg, denied, tag, "")
	})
}

// A client that declares no elicitation with a request is not asked by it, and
// what a former request has declared does not count.
func TestModernClientThatCannotAsk(t *testing.T) {
	modernWays(t, `{"roots":{}}`, func(_ *testing.T, a *askedHub, c *modernWay) {
		c.unasked(reading(a.at("data", "one", "1.txt")), "cannot ask")
		a.holds(0, 0)
	})
	modernWays(t, `{"roots":{},"elicitation":{"url":{}}}`, func(_ *testing.T, a *askedHub, c *modernWay) {
		c.unasked(reading(a.at("data", "one", "1.txt")), "cannot ask")
	})
}
