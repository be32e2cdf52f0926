package hub

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/validate"
)

func atATerminal(c *Config, _ *validate.Config) { c.Approval.Terminal = true }

// pending waits for the questions at the terminal.
func (a *askedHub) pending(n int) []PendingApproval {
	a.Helper()
	synctest.Wait()
	list := a.h.PendingApprovals()
	if len(list) != n {
		a.Fatalf("%d questions wait at the terminal, want %d", len(list), n)
	}
	return list
}

func (a *askedHub) code(id string) string {
	a.Helper()
	code, err := a.h.ApprovalCode(id)
	if err != nil {
		a.Fatal(err)
	}
	return code
}

func TestAPersonAtATerminalAnswers(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		c, _ := a.client(nil)
		one := reading(a.at("data", "one", "1.txt"))
		answer := a.begin(a.Context(), c, "kid__echo", tagged("tty", one))
		q := a.pending(1)[0]
		if !strings.Contains(q.Text, a.at("data", "one")) || q.Client != "test 1" || q.Until.Sub(q.Since) != time.Minute {
			a.Errorf("asked %+v", q)
		}
		code := a.code(q.ID)
		// What a client can see tells neither.
		seen := c.raw("tools/call", call("get-roots", `{}`)) + c.raw("tools/call", call("list-tools", `{}`))
		status := a.h.Status()
		for _, s := range status.Sessions {
			for _, r := range s.Questions {
				seen += r.What + r.Server + r.Asked
			}
		}
		if strings.Contains(seen, q.ID) || strings.Contains(seen, code) {
			a.Errorf("a client is shown the id or the code: %s", seen)
		}
		if err := a.h.AnswerApproval(q.ID, strings.ToLower(" "+code+" "), choiceDirectory); err != nil {
			a.Error(err)
		}
		if got := <-answer; got != "ok" || strings.Contains(got, code) {
			a.Errorf("answered %s", got)
		}
		if got := c.grants(a.T); len(got) != 1 {
			a.Errorf("grants: %+v", got)
		}
		// Once.
		if err := a.h.AnswerApproval(q.ID, code, choiceDirectory); !errors.Is(err, ErrNoQuestion) {
			a.Errorf("the code again: %v", err)
		}
		a.pending(0)
	}, atATerminal)
}

// One that can be asked is asked, and no terminal in its place.
func TestATerminalIsNotForClientsThatCanAsk(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		p, letGo := silent()
		c, _ := a.client(p)
		answer := a.begin(a.Context(), c, "kid__echo", reading(a.at("data", "one", "1.txt")))
		<-p.seen
		a.pending(0)
		letGo(no)
		<-answer
	}, atATerminal)
}

func TestCodesOfATerminal(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		c, _ := a.client(nil)
		ask := func(name string) (<-chan string, string) {
			write(a, a.at("data", name, "x"))
			answer := a.begin(a.Context(), c, "kid__echo", reading(a.at("data", name, "x")))
			return answer, a.pending(1)[0].ID
		}
		over := func(answer <-chan string, want string) {
			a.Helper()
			if got := <-answer; !strings.Contains(got, want) {
				a.Errorf("answered %q, want %q", got, want)
			}
			a.pending(0)
		}
		// Without a code, with an empty one, and with another question's.
		answer, id := ask("a")
		for _, code := range []string{"", "AAAAAAAA"} {
			if err := a.h.AnswerApproval(id, code, choiceDirectory); !errors.Is(err, ErrWrongCode) {
				a.Errorf("%q: %v", code, err)
			}
		}
		if err := a.h.AnswerApproval("", "", choiceDirectory); !errors.Is(err, ErrNoQuestion) {
			a.Errorf("no question: %v", err)
		}
		if err := a.h.AnswerApproval(id, "", choiceDirectory); !errors.Is(err, ErrTooMany) {
			a.Errorf("a third time: %v", err)
		}
		over(answer, "wrong codes")
		// A code is void once another was made, once one was typed wrong, and after its time.
		answer, id = ask("b")
		old := a.code(id)
		now := a.code(id)
		if err := a.h.AnswerApproval(id, old, choiceDirectory); !errors.Is(err, ErrWrongCode) {
			a.Errorf("the former code: %v", err)
		}
		if err := a.h.AnswerApproval(id, now, choiceDirectory); !errors.Is(err, ErrWrongCode) {
			a.Errorf("after a wrong one: %v", err)
		}
		if err := a.h.AnswerApproval(id, a.code(id), choiceDirectory); err != nil {
			a.Errorf("the control: %v", err)
		}
		over(answer, "ok")
		// A no needs none.
		answer, id = ask("c")
		if err := a.h.AnswerApproval(id, "", choiceDeny); err != nil {
			a.Error(err)
		}
		over(answer, "the person said no")
		// Only so many codes.
		answer, id = ask("d")
		for range mostCodes {
			a.code(id)
		}
		if _, err := a.h.ApprovalCode(id); !errors.Is(err, ErrTooMany) {
			a.Errorf("one more code: %v", err)
		}
		over(answer, "too many codes")
		// In time.
		answer, id = ask("e")
		code := a.code(id)
		over(answer, "nobody has answered in time at a terminal")
		if err := a.h.AnswerApproval(id, code, choiceDirectory); !errors.Is(err, ErrNoQuestion) {
			a.Errorf("late: %v", err)
		}
	}, atATerminal)
}

// All questions together are given only so many codes.
func TestCodesAreRateLimited(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		n := 0
		for range mostInTime {
			_, away, _ := a.h.desk.put(PendingApproval{Until: time.Now().Add(time.Hour)}, nil)
			id := a.h.PendingApprovals()[0].ID
			if _, err := a.h.ApprovalCode(id); err != nil {
				a.Fatal(err)
			}
			n++
			away()
		}
		_, away, _ := a.h.desk.put(PendingApproval{Until: time.Now().Add(time.Hour)}, nil)
		defer away()
		id := a.h.PendingApprovals()[0].ID
		if _, err := a.h.ApprovalCode(id); !errors.Is(err, ErrTooManyAsks) {
			a.Errorf("after %d codes: %v", n, err)
		}
		time.Sleep(codesWindow)
		if _, err := a.h.ApprovalCode(id); err != nil {
			a.Errorf("a minute later: %v", err)
		}
	})
}

func TestRandomCodes(t *testing.T) {
	seen, letters := map[string]bool{}, map[rune]int{}
	const n = 2000
	for range n {
		code := randomCode()
		if len(code) != codeLength || seen[code] {
			t.Fatalf("%q", code)
		}
		seen[code] = true
		for _, r := range code {
			letters[r]++
		}
	}
	if len(letters) != len(codeLetters) {
		t.Errorf("%d letters", len(letters))
	}
	for r, k := range letters {
		if mean := n * codeLength / len(codeLetters); k < mean/2 || k > 2*mean {
			t.Errorf("%c: %d times, %d expected", r, k, mean)
		}
	}
}

// One client that asks and asks does not fill the list of what a person looks over.
func TestATerminalIsNotFlooded(t *testing.T) {
	var d desk
	until := time.Now().Add(time.Hour)
	put := func(token string) bool {
		_, _, ok := d.put(PendingApproval{Token: token, Until: until}, nil)
		return ok
	}
	for range mostOfToken {
		if !put("a") {
			t.Fatal("the control: refused before there were many")
		}
	}
	if put("a") {
		t.Error("more than one token may have")
	}
	for i := range mostAtDesk - mostOfToken {
		if !put(fmt.Sprint(i)) {
			t.Fatal("another token is kept out")
		}
	}
	if put("b") {
		t.Error("more than there may be")
	}
	_, away, _ := (&d).put(PendingApproval{}, nil)
	if away != nil {
		t.Error("without a token more than there may be")
	}
}
