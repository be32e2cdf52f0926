package approval

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// Both are a person behind the client, who says what is sent to says, and a terminal that also serves the console.
type both struct {
	*session
	term Terminal
	says chan string
	told chan error // why the client's question ended, where it was taken back
}

func askingBoth(t *testing.T, test func(b *both)) {
	inSession(t, func(s *session) {
		b := &both{session: s, says: make(chan string), told: make(chan error, 10)}
		s.asker.says = func(ctx context.Context) string {
			select {
			case answer := <-b.says:
				return answer
			case <-ctx.Done():
				b.told <- context.Cause(ctx)
				return ""
			}
		}
		s.all = AskAll(s.asker, b.term.Asker(Pending{Session: "s"}, Channels{Client: true, Terminal: true, Console: true}, false, zerolog.Nop()))
		test(b)
	})
}

// begin makes a call; done has why it was refused.
func (b *both) begin(c *call) (q Pending, done <-chan string) {
	b.Helper()
	out := make(chan string, 1)
	go func() { out <- c.make(b.Context()) }()
	synctest.Wait()
	list := b.term.Pending()
	if len(list) != 1 || len(b.asker.forms) != 1 {
		b.Fatalf("%d questions at the terminal, %d with the client", len(list), len(b.asker.forms))
	}
	<-b.asker.forms
	return list[0], out
}

func (b *both) console(q Pending, decision string) error {
	return b.term.Answer(PendingAnswer{ID: q.ID, Digest: q.Digest, From: AskedConsole, Decision: decision})
}

func (b *both) wants(done <-chan string, refusal string) {
	b.Helper()
	if got := <-done; refusal == "" && got != "" || !strings.Contains(got, refusal) {
		b.Errorf("refused by %q, want %q", got, refusal)
	}
	if list := b.term.Pending(); len(list) != 0 {
		b.Errorf("%d questions wait", len(list))
	}
}

// lastEvents wants what was recorded, the newest last.
func (b *both) lastEvents(want ...string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var got []string
	for _, e := range b.events {
		got = append(got, e.What+" "+e.By)
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		b.Errorf("recorded %q, want %q", got, want)
	}
	b.events = nil
}

const asksAll = "asked client, terminal, console"

func TestTheFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	askingBoth(t, func(b *both) {
		// A yes of the console: the client is told that its question is over.
		q, done := b.begin(b.call("echo", reading("/data/one/1.txt")))
		if err := b.console(q, choiceFile); err != nil {
			b.Error(err)
		}
		b.wants(done, "")
		if err := <-b.told; !errors.Is(err, errElsewhere) {
			b.Errorf("the client is told %v", err)
		}
		b.lastEvents(asksAll, "allowed console")
		if got := b.q.Report().Grants; len(got) != 1 || got[0].By != AskedConsole || !got[0].File {
			b.Errorf("grants %+v", got)
		}

		// A yes of the client: the terminal is told when it wants to answer.
		q, done = b.begin(b.call("echo", reading("/data/two/2.txt")))
		b.says <- yes
		b.wants(done, "")
		if err := b.console(q, choiceFile); !errors.Is(err, ErrAnswered) {
			b.Errorf("the console is told %v", err)
		}
		if _, err := b.term.Code(q.ID); !errors.Is(err, ErrAnswered) {
			b.Errorf("the terminal is told %v", err)
		}
		b.lastEvents(asksAll, "allowed client")

		// A no of either.
		q, done = b.begin(b.call("echo", writing("/data/one/1.txt")))
		b.says <- no
		b.wants(done, WhyDeclined)
		if err := b.console(q, choiceDeny); !errors.Is(err, ErrAnswered) {
			b.Errorf("the console is told %v", err)
		}
		b.lastEvents(asksAll, "declined client")
		q, done = b.begin(b.call("echo", writing("/data/two/2.txt")))
		if err := b.console(q, choiceDeny); err != nil {
			b.Error(err)
		}
		b.wants(done, WhyDeclined)
		<-b.told
		b.lastEvents(asksAll, "declined console")
	})
}

// Between a yes and the sending, a no of anyone who was asked too counts, and a yes changes nothing.
func TestANoAfterAYes(t *testing.T) {
	t.Parallel()
	t.Run("control", func(t *testing.T) {
		askingBoth(t, func(b *both) {
			_, done := b.begin(b.call("echo", reading("/data/one/1.txt")))
			b.says <- yesFile
			b.wants(done, "")
		})
	})
	t.Run("no of the console", func(t *testing.T) {
		askingBoth(t, func(b *both) {
			c := b.call("echo", reading("/data/one/1.txt"))
			var q Pending
			c.moved = func() {
				if err := b.console(q, choiceDeny); err != nil {
					b.Error(err)
				}
			}
			var done <-chan string
			q, done = b.begin(c)
			b.says <- yes
			b.wants(done, WhyDeclined+afterYes)
			b.lastEvents(asksAll, "allowed client", "declined console")
			if got := b.q.Report().Grants; len(got) != 0 {
				b.Errorf("grants %+v", got)
			}
		})
	})
	t.Run("no of the client", func(t *testing.T) {
		askingBoth(t, func(b *both) {
			c := b.call("echo", reading("/data/one/1.txt"))
			c.moved = func() { b.says <- no }
			q, done := b.begin(c)
			if err := b.console(q, choiceDirectory); err != nil {
				b.Error(err)
			}
			b.wants(done, WhyDeclined+afterYes)
			b.lastEvents(asksAll, "allowed console", "declined client")
			if got := b.q.Report().Grants; len(got) != 0 {
				b.Errorf("grants %+v", got)
			}
		})
	})
	t.Run("no of a terminal after the console", func(t *testing.T) {
		askingBoth(t, func(b *both) {
			c := b.call("echo", reading("/data/one/1.txt"))
			var q Pending
			c.moved = func() {
				if err := b.console(q, choiceDirectory); !errors.Is(err, ErrAnswered) {
					b.Errorf("a second yes: %v", err)
				}
				if _, err := b.term.Code(q.ID); !errors.Is(err, ErrAnswered) {
					b.Errorf("a code to say yes: %v", err)
				}
				if err := b.term.Answer(PendingAnswer{ID: q.ID, Digest: q.Digest, From: AskedTerminal, Decision: choiceDeny}); err != nil {
					b.Errorf("the no: %v", err)
				}
			}
			var done <-chan string
			q, done = b.begin(c)
			if err := b.console(q, choiceFile); err != nil {
				b.Error(err)
			}
			b.wants(done, WhyDeclined+afterYes)
			b.lastEvents(asksAll, "allowed console", "declined terminal")
			if got := b.q.Report().Grants; len(got) != 0 {
				b.Errorf("grants %+v", got)
			}
		})
	})
	t.Run("a second yes", func(t *testing.T) {
		askingBoth(t, func(b *both) {
			c := b.call("echo", reading("/data/one/1.txt"))
			var q Pending
			c.moved = func() {
				if err := b.console(q, choiceDirectory); !errors.Is(err, ErrAnswered) {
					b.Errorf("the second yes: %v", err)
				}
			}
			var done <-chan string
			q, done = b.begin(c)
			b.says <- yesFile
			b.wants(done, "")
			if got := b.q.Report().Grants; len(got) != 1 || !got[0].File || got[0].By != AskedClient {
				b.Errorf("grants %+v", got)
			}
		})
	})
}

// Of two yeses at one moment one counts, and the other is told so; of a yes and a no, the no.
func TestTwoAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		askingBoth(t, func(b *both) {
			q, done := b.begin(b.call("echo", reading("/data/one/1.txt")))
			second := make(chan error, 1)
			go func() { second <- b.console(q, choiceDirectory) }()
			go func() {
				select {
				case b.says <- yesFile:
				case <-b.told:
				}
			}()
			b.wants(done, "")
			err, grants := <-second, b.q.Report().Grants
			switch {
			case len(grants) != 1:
				b.Errorf("grants %+v", grants)
			case err == nil && (grants[0].By != AskedConsole || grants[0].File):
				b.Errorf("the console was told that its yes counts, and it did not: %+v", grants)
			case err != nil && (!errors.Is(err, ErrAnswered) || grants[0].By != AskedClient || !grants[0].File):
				b.Errorf("%v, %+v", err, grants)
			}
		})
	}
}

// After the time no one's answer counts.
func TestAnAnswerAfterTheTime(t *testing.T) {
	t.Parallel()
	askingBoth(t, func(b *both) {
		q, done := b.begin(b.call("echo", reading("/data/one/1.txt")))
		b.wants(done, whyUnanswered+"; a person could have answered at a terminal of the hub's user or on the page of the hub's console")
		for _, decision := range []string{choiceFile, choiceDeny} {
			if err := b.console(q, decision); !errors.Is(err, ErrNoQuestion) {
				b.Errorf("%s: %v", decision, err)
			}
		}
		b.lastEvents(asksAll, "declined nobody")
		if got := b.q.Report().Grants; len(got) != 0 {
			b.Errorf("grants %+v", got)
		}
	})
}

// One of them who cannot be asked keeps no one else from answering.
func TestOneWhoCannotBeAsked(t *testing.T) {
	t.Parallel()
	askingBoth(t, func(b *both) {
		b.all = AskAll(unable{}, b.term.Asker(Pending{}, Channels{Client: true, Terminal: true}, false, zerolog.Nop()))
		done := make(chan string, 1)
		go func() { done <- b.call("echo", reading("/data/one/1.txt")).make(b.Context()) }()
		synctest.Wait()
		id := b.term.Pending()[0].ID
		if err := b.term.Answer(reply(&b.term, id, newCode(b.T, &b.term, id), choiceFile)); err != nil {
			b.Error(err)
		}
		b.wants(done, "")
		b.all = AskAll(unable{}, unable{})
		b.refused(b.call("echo", reading("/data/two/2.txt")), "it cannot ask; it cannot ask")
	})
}

// A client that closes the question leaves it to the others, and has said no if no one else answers. Control: one that declines.
func TestAClientThatCloses(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"cancel", "decline"} {
		askingBoth(t, func(b *both) {
			q, done := b.begin(b.call("echo", reading("/data/one/1.txt")))
			b.says <- `{"action":"` + action + `"}`
			synctest.Wait()
			err := b.console(q, choiceFile)
			if action == "cancel" {
				if err != nil {
					b.Error(err)
				}
				b.wants(done, "")
				return
			}
			if !errors.Is(err, ErrNoQuestion) && !errors.Is(err, ErrAnswered) {
				b.Errorf("after a no: %v", err)
			}
			b.wants(done, WhyDeclined)
		})
	}
	askingBoth(t, func(b *both) {
		_, done := b.begin(b.call("echo", reading("/data/one/1.txt")))
		b.says <- `{"action":"cancel"}`
		b.wants(done, whyUnanswered)
	})
}

// One whose asking panics is one who could not be asked: the hub goes on, and the others answer.
func TestAskingThatPanics(t *testing.T) {
	t.Parallel()
	askingBoth(t, func(b *both) {
		b.all = AskAll(broken{}, b.term.Asker(Pending{}, Channels{Client: true, Terminal: true}, false, zerolog.Nop()))
		done := make(chan string, 1)
		go func() { done <- b.call("echo", reading("/data/one/1.txt")).make(b.Context()) }()
		synctest.Wait()
		id := b.term.Pending()[0].ID
		if err := b.term.Answer(reply(&b.term, id, newCode(b.T, &b.term, id), choiceFile)); err != nil {
			b.Error(err)
		}
		b.wants(done, "")
	})
}

type broken struct{ unable }

func (broken) Ask(context.Context, *Question) Answer { panic("broken") }

type unable struct{}

func (unable) Who() string                           { return AskedClient }
func (unable) Ask(context.Context, *Question) Answer { return NotAsked("it cannot ask") }

// An answer holds for what was shown, and for who may give it.
func TestRepliesThatAllowNothing(t *testing.T) {
	t.Parallel()
	askingBoth(t, func(b *both) {
		q, done := b.begin(b.call("echo", reading("/data/one/1.txt")))
		other := textQuestion().digestAsked()
		for name, c := range map[string]struct {
			reply PendingAnswer
			want  error
		}{
			"swapped":              {PendingAnswer{ID: q.ID, Digest: other, From: AskedConsole, Decision: choiceFile}, ErrQuestionChanged},
			"swapped, no":          {PendingAnswer{ID: q.ID, Digest: other, From: AskedConsole, Decision: choiceDeny}, ErrQuestionChanged},
			"without a digest":     {PendingAnswer{ID: q.ID, From: AskedConsole, Decision: choiceFile}, ErrQuestionChanged},
			"of nobody":            {PendingAnswer{ID: q.ID, Digest: q.Digest, Decision: choiceFile}, ErrNotAsked},
			"of the client":        {PendingAnswer{ID: q.ID, Digest: q.Digest, From: AskedClient, Decision: choiceFile}, ErrNotAsked},
			"what is not offered":  {PendingAnswer{ID: q.ID, Digest: q.Digest, From: AskedConsole, Decision: choiceCall}, ErrNoChoice},
			"without a decision":   {PendingAnswer{ID: q.ID, Digest: q.Digest, From: AskedConsole}, ErrNoChoice},
			"without an id":        {PendingAnswer{Digest: q.Digest, From: AskedConsole, Decision: choiceFile}, ErrNoQuestion},
			"terminal, no code":    {PendingAnswer{ID: q.ID, Digest: q.Digest, From: AskedTerminal, Decision: choiceFile}, ErrWrongCode},
			"the digest as its id": {PendingAnswer{ID: q.Digest, Digest: q.Digest, From: AskedConsole, Decision: choiceFile}, ErrNoQuestion},
		} {
			if err := b.term.Answer(c.reply); !errors.Is(err, c.want) {
				b.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		if len(b.term.Pending()) != 1 {
			b.Error("one of them has answered it")
		}
		if err := b.console(q, choiceFile); err != nil { // the control
			b.Error(err)
		}
		b.wants(done, "")
	})
}

// The same request asked about otherwise has another digest, and a digest does not change while its question waits.
func TestDigestsOfQuestions(t *testing.T) {
	t.Parallel()
	a, b := textQuestion(), textQuestion()
	if a.digestAsked() != b.digestAsked() || len(a.digestAsked()) != 64 {
		t.Errorf("%s, %s", a.digestAsked(), b.digestAsked())
	}
	b.proposal = &proposal{offers: a.proposal.offers[:1]}
	c := textQuestion()
	c.key = DigestOf([]byte("another"))
	if a.digestAsked() == b.digestAsked() || a.digestAsked() == c.digestAsked() {
		t.Error("two questions have one digest")
	}
	synctest.Test(t, func(t *testing.T) {
		var term Terminal
		_, away, _ := term.enterQuestion(Pending{Until: time.Now().Add(time.Hour)}, a)
		defer away(false)
		if got := term.Pending()[0].Digest; got != a.digestAsked() {
			t.Errorf("%s, want %s", got, a.digestAsked())
		}
	})
}

// The desktop is told which server wants to do what, in a text that is no markup, and nothing else of the call.
func TestTheDesktopIsTold(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		inSession(t, func(s *session) {
			var term Terminal
			told := make(chan string, 10)
			term.OnQuestion = func(server, what string, until time.Time) {
				told <- server + " " + what + " " + time.Until(until).String()
			}
			s.all = term.Asker(Pending{}, Channels{Terminal: true}, quiet, zerolog.Nop())
			c := s.call("<b>\u202eecho</b>", reading("/data/one/1.txt"))
			s.refused(c, whyUnanswered)
			close(told)
			var got []string
			for one := range told {
				got = append(got, one)
			}
			if want := `"kid" "\\x3cb>\\u202eecho\\x3c/b>" 1m0s`; quiet && len(got) != 0 || !quiet && (len(got) != 1 || got[0] != strings.ReplaceAll(want, `\\`, `\`)) {
				s.Errorf("quiet %v: told %q", quiet, got)
			}
		})
	}
}
