package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	codeLetters = "ABCDEFGHJKMNPQRSTVWXYZ23456789" // none that looks like another
	codeLength  = 8
	mostTries   = 3               // wrong codes, then the question is answered with no
	mostCodes   = 5               // codes for one question, then too
	codeLife    = 2 * time.Minute // of one code
	codesWindow = time.Minute     // for all questions together
	mostInTime  = 30              // codes in that time

	mostPending = 256 // questions that wait for a terminal, of all sessions
	mostOfToken = 32  // of one token, or of all clients without one
)

// A Pending is a question that waits for a terminal. Its ID is for
// [Terminal.Answer] and must not be shown to a client.
type Pending struct {
	ID      string    `json:"id"`
	Session string    `json:"session"`          // the beginning of its id
	Client  string    `json:"client,omitempty"` // as it calls itself
	Folder  string    `json:"folder,omitempty"` // working directory of a client that shares the hub with others
	Process int       `json:"process,omitempty"`
	Token   string    `json:"token,omitempty"` // name of the token it came with
	Text    string    `json:"text"`            // safe to show
	Choices []string  `json:"choices"`         // that allow the call, the narrower first
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
}

// Errors of the terminal's side.
var (
	ErrNoQuestion  = errors.New("that question does not wait any more: it was answered, withdrawn, or its time is over")
	ErrWrongCode   = errors.New("that is not the code; ask for a new one")
	ErrNoChoice    = errors.New("that is none of the answers that the question offers")
	ErrTooMany     = errors.New("too many wrong codes: the call is denied")
	ErrTooManyAsks = errors.New("too many codes were asked for; wait a minute")
)

// A Terminal holds the questions that wait for a person at a terminal of the
// hub's user, of all sessions: for clients that cannot ask (approval.local in
// hub.json). Whoever shows the questions (mcphub approve) gets a code for one of
// them, shows it on the terminal, and hands in what was typed. Neither the id of a
// question nor a code goes anywhere else: not to a client, a log or a status.
//
// The zero value is ready. Its methods may be called by several goroutines.
type Terminal struct {
	mu     sync.Mutex
	open   map[string]*pendingEntry
	issued []time.Time // codes, of late
}

// A pendingEntry is one question. Terminal.mu guards what changes.
type pendingEntry struct {
	Pending
	offers []offer
	code   string // "" when none is good
	coded  time.Time
	codes  int
	tries  int
	answer chan Answer // takes one
}

// put enters a question until away is called; ok is false where there is no
// room. Nobody looks over more, and whoever asks so much is not to keep out
// others.
func (t *Terminal) put(p Pending, offers []offer) (answer <-chan Answer, away func(), ok bool) {
	p.ID, p.Choices = randomID(), []string{}
	for _, o := range offers {
		p.Choices = append(p.Choices, o.choice)
	}
	e := &pendingEntry{Pending: p, offers: offers, answer: make(chan Answer, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*pendingEntry{}
	}
	same := 0
	for _, other := range t.open {
		if other.Token == p.Token {
			same++
		}
	}
	if same >= mostOfToken || len(t.open) >= mostPending {
		return nil, nil, false
	}
	t.open[p.ID] = e
	return e.answer, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, p.ID)
	}, true
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// randomCode is codeLength letters, each as likely as any other.
func randomCode() string {
	code := make([]byte, 0, codeLength)
	for len(code) < codeLength {
		var b [1]byte
		_, _ = rand.Read(b[:])
		if most := 256 - 256%len(codeLetters); int(b[0]) < most {
			code = append(code, codeLetters[int(b[0])%len(codeLetters)])
		}
	}
	return string(code)
}

// Pending lists the questions that wait, the oldest first.
func (t *Terminal) Pending() []Pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Pending, 0, len(t.open))
	for _, e := range t.open {
		list = append(list, e.Pending)
	}
	slices.SortFunc(list, func(a, b Pending) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Code makes a code for a question, to be shown on a terminal only; the one before
// it is void.
func (t *Terminal) Code(id string) (string, error) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil {
		return "", ErrNoQuestion
	}
	t.issued = slices.DeleteFunc(t.issued, func(at time.Time) bool { return now.Sub(at) >= codesWindow })
	switch {
	case len(t.issued) >= mostInTime:
		return "", ErrTooManyAsks
	case e.codes >= mostCodes:
		t.close(e, Answer{why: "too many codes were asked for at the terminal"})
		return "", ErrTooMany
	}
	t.issued = append(t.issued, now)
	e.code, e.coded = randomCode(), now
	e.codes++
	return e.code, nil
}

// Answer answers a question with "deny" or one of its Choices. To allow takes its
// code, which is used up either way.
func (t *Terminal) Answer(id, code, choice string) error {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil || now.After(e.Until) {
		return ErrNoQuestion
	}
	chosen, why := choose(choice, e.offers)
	switch {
	case choice == choiceDeny:
		t.close(e, Answer{why: why})
		return nil
	case chosen == nil:
		return ErrNoChoice
	}
	good := e.code != "" && now.Sub(e.coded) < codeLife &&
		subtle.ConstantTimeCompare([]byte(strings.ToUpper(strings.TrimSpace(code))), []byte(e.code)) == 1
	e.code = ""
	if good {
		t.close(e, Answer{offer: chosen})
		return nil
	}
	if e.tries++; e.tries >= mostTries {
		t.close(e, Answer{why: "wrong codes were typed at the terminal"})
		return ErrTooMany
	}
	return ErrWrongCode
}

// close gives a question its answer, the only one. t.mu is held.
func (t *Terminal) close(e *pendingEntry, a Answer) {
	delete(t.open, e.ID)
	e.answer <- a
}

// Asker asks at the terminal. from says who asks: Session, Client and Token. A
// person has to look for the question, so log tells that there is one.
func (t *Terminal) Asker(from Pending, log zerolog.Logger) Asker { return atTerminal{t, from, log} }

type atTerminal struct {
	t    *Terminal
	from Pending
	log  zerolog.Logger
}

func (atTerminal) Who() string { return AskedTerminal }

func (a atTerminal) Ask(ctx context.Context, q *Question) Answer {
	p := a.from
	p.Text, p.Since = q.text, time.Now()
	p.Until, _ = ctx.Deadline()
	answer, away, ok := a.t.put(p, q.proposal.offers)
	if !ok {
		return NotAsked("too many questions wait for an answer at a terminal already")
	}
	defer away()
	a.log.Warn().Str("child", q.child.Name).Time("until", p.Until).Msg("a call waits for the approval of a person at a terminal: run mcphub approve there")
	select {
	case given := <-answer:
		return given
	case <-ctx.Done():
		return Answer{why: whyUnanswered + " at a terminal"}
	}
}
