package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
)

// atTheTerminal runs a test in a time of its own. ask puts a question for a minute
// and returns its id; over wants no question to wait, and what the last one came to.
func atTheTerminal(t *testing.T, test func(t *testing.T, term *Terminal, ask func() string, over func(choice, why string))) {
	synctest.Test(t, func(t *testing.T) {
		var term Terminal
		answers := make(chan Answer, 1)
		ask := func() string {
			q := textQuestion()
			go func() {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, ErrUnanswered)
				defer cancel()
				answers <- term.Asker(Pending{}, Channels{Terminal: true}, false, zerolog.Nop()).Ask(ctx, q)
			}()
			synctest.Wait()
			return term.Pending()[0].ID
		}
		test(t, &term, ask, func(choice, why string) {
			t.Helper()
			a := <-answers
			if a.choiceWord() != choice || !strings.Contains(a.why, why) {
				t.Errorf("%s, %q, want %s, %q", a.choiceWord(), a.why, choice, why)
			}
			a.others.closeQuestion()
			if list := term.Pending(); len(list) != 0 {
				t.Errorf("%d questions wait", len(list))
			}
		})
	})
}

func textQuestion() *Question {
	return &Question{
		child: &spec.Spec{Name: "kid"}, text: "the text", allowed: new(atomic.Pointer[string]),
		proposal: &proposal{offers: []answerOffer{{choice: choiceFile}, {choice: choiceDirectory}}},
	}
}

// reply answers from a terminal what was shown last of a question.
func reply(term *Terminal, id, code, decision string) PendingAnswer {
	r := PendingAnswer{ID: id, Code: code, Decision: decision, From: AskedTerminal}
	for _, p := range term.Pending() {
		if p.ID == id {
			r.Digest = p.Digest
		}
	}
	return r
}

func newCode(t *testing.T, term *Terminal, id string) string {
	t.Helper()
	code, err := term.Code(id)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestCodesOfATerminal(t *testing.T) {
	t.Parallel()
	atTheTerminal(t, func(t *testing.T, term *Terminal, ask func() string, over func(choice, why string)) {
		// Without a code, with an empty one, and with another question's.
		id := ask()
		for _, code := range []string{"", "AAAAAAAA"} {
			if err := term.Answer(reply(term, id, code, choiceDirectory)); !errors.Is(err, ErrWrongCode) {
				t.Errorf("%q: %v", code, err)
			}
		}
		if err := term.Answer(reply(term, "", "", choiceDirectory)); !errors.Is(err, ErrNoQuestion) {
			t.Errorf("no question: %v", err)
		}
		if err := term.Answer(reply(term, id, "", choiceDirectory)); !errors.Is(err, ErrTooMany) {
			t.Errorf("a third time: %v", err)
		}
		over(choiceDeny, "wrong codes")
		// A code is void once another was made, once one was typed wrong, and after its time.
		id = ask()
		old, now := newCode(t, term, id), newCode(t, term, id)
		if err := term.Answer(reply(term, id, old, choiceDirectory)); !errors.Is(err, ErrWrongCode) {
			t.Errorf("the former code: %v", err)
		}
		if err := term.Answer(reply(term, id, now, choiceDirectory)); !errors.Is(err, ErrWrongCode) {
			t.Errorf("after a wrong one: %v", err)
		}
		if err := term.Answer(reply(term, id, newCode(t, term, id), "call")); !errors.Is(err, ErrNoChoice) {
			t.Errorf("what is not offered: %v", err)
		}
		if err := term.Answer(reply(term, id, newCode(t, term, id), choiceFile)); err != nil {
			t.Errorf("the control: %v", err)
		}
		over(choiceFile, "")
		// A no needs none.
		id = ask()
		if err := term.Answer(reply(term, id, "", choiceDeny)); err != nil {
			t.Error(err)
		}
		over(choiceDeny, WhyDeclined)
		// Only so many codes.
		id = ask()
		for range maxCodes {
			newCode(t, term, id)
		}
		if _, err := term.Code(id); !errors.Is(err, ErrTooMany) {
			t.Errorf("one more code: %v", err)
		}
		over(choiceDeny, "too many codes")
		// In time.
		id = ask()
		code := newCode(t, term, id)
		over(choiceDeny, "nobody has answered in time")
		if err := term.Answer(reply(term, id, code, choiceDirectory)); !errors.Is(err, ErrNoQuestion) {
			t.Errorf("late: %v", err)
		}
	})
}

// All questions together are given only so many codes.
func TestCodesAreRateLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var term Terminal
		put := func() (id string, away func(bool)) {
			_, away, _ = term.enterQuestion(Pending{From: []string{AskedTerminal}, Until: time.Now().Add(time.Hour)}, textQuestion())
			return term.Pending()[0].ID, away
		}
		for range maxInTime {
			id, away := put()
			newCode(t, &term, id)
			away(false)
		}
		id, away := put()
		defer away(false)
		if _, err := term.Code(id); !errors.Is(err, ErrTooManyCodes) {
			t.Errorf("after %d codes: %v", maxInTime, err)
		}
		time.Sleep(codesWindow)
		newCode(t, &term, id)
	})
}

func TestRandomCodes(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	var d Terminal
	until := time.Now().Add(time.Hour)
	put := func(token string) bool {
		_, _, ok := d.enterQuestion(Pending{Token: token, Until: until}, textQuestion())
		return ok
	}
	for range maxOfToken {
		if !put("a") {
			t.Fatal("the control: refused before there were many")
		}
	}
	if put("a") {
		t.Error("more than one token may have")
	}
	for i := range maxPending - maxOfToken {
		if !put(fmt.Sprint(i)) {
			t.Fatal("another token is kept out")
		}
	}
	if put("b") {
		t.Error("more than there may be")
	}
	_, away, _ := d.enterQuestion(Pending{}, textQuestion())
	if away != nil {
		t.Error("without a token more than there may be")
	}
}
