package hub

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
)

// This file lets a human answer on a terminal of the hub's user, for clients
// that cannot ask (approval.local in hub.json). Whoever shows the questions
// (mcphub approve) gets a code for one of them, shows it on the terminal, and
// hands in what was typed. Neither the id of a question nor a code goes anywhere
// else: not to a client, a log or Status.

const (
	codeLetters = "ABCDEFGHJKMNPQRSTVWXYZ23456789" // none that looks like another
	codeLength  = 8
	mostTries   = 3               // wrong codes, then the question is answered with no
	mostCodes   = 5               // codes for one question, then too
	codeLife    = 2 * time.Minute // of one code
	codesWindow = time.Minute     // for all questions together
	mostInTime  = 30              // codes in that time

	mostAtDesk  = 256 // questions that wait for a terminal, of all sessions
	mostOfToken = 32  // of one token, or of all clients without one
)

// A PendingApproval is a question that waits for a terminal. Its ID is for
// AnswerApproval and must not be shown to a client.
type PendingApproval struct {
	ID      string    `json:"id"`
	Session string    `json:"session"`          // the beginning of its id
	Client  string    `json:"client,omitempty"` // as it calls itself
	Token   string    `json:"token,omitempty"`  // name of the token it came with
	Text    string    `json:"text"`             // safe to show
	Choices []string  `json:"choices"`          // that allow the call, the narrower first
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

// desk holds the questions that wait for a terminal, of all sessions.
type desk struct {
	mu     sync.Mutex
	open   map[string]*deskEntry
	issued []time.Time
}

type deskEntry struct {
	PendingApproval
	offers []offer
	code   string // "" when none is good
	coded  time.Time
	codes  int
	tries  int
	answer chan reply // takes one
}

// put lays a question down until away is called; ok is false where there is no
// room: nobody looks over more, and whoever asks so much is not to keep out
// others.
func (d *desk) put(p PendingApproval, offers []offer) (answer <-chan reply, away func(), ok bool) {
	p.ID, p.Choices = randomID(), []string{}
	for _, o := range offers {
		p.Choices = append(p.Choices, o.choice)
	}
	e := &deskEntry{PendingApproval: p, offers: offers, answer: make(chan reply, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[string]*deskEntry{}
	}
	same := 0
	for _, other := range d.open {
		if other.Token == p.Token {
			same++
		}
	}
	if same >= mostOfToken || len(d.open) >= mostAtDesk {
		return nil, nil, false
	}
	d.open[p.ID] = e
	return e.answer, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.open, p.ID)
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

// PendingApprovals lists the questions that wait for a terminal, the oldest
// first.
func (h *Hub) PendingApprovals() []PendingApproval {
	d := &h.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]PendingApproval, 0, len(d.open))
	for _, e := range d.open {
		list = append(list, e.PendingApproval)
	}
	slices.SortFunc(list, func(a, b PendingApproval) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return list
}

// ApprovalCode makes a code for a question, to be shown on a terminal only; the
// one before it is void.
func (h *Hub) ApprovalCode(id string) (string, error) {
	d, now := &h.desk, time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	if e == nil {
		return "", ErrNoQuestion
	}
	d.issued = slices.DeleteFunc(d.issued, func(t time.Time) bool { return now.Sub(t) >= codesWindow })
	switch {
	case len(d.issued) >= mostInTime:
		return "", ErrTooManyAsks
	case e.codes >= mostCodes:
		d.close(e, reply{by: askedTerminal, why: "too many codes were asked for at the terminal"})
		return "", ErrTooMany
	}
	d.issued = append(d.issued, now)
	e.code, e.coded = randomCode(), now
	e.codes++
	return e.code, nil
}

// AnswerApproval answers a question with "deny" or one of its Choices. To allow
// takes its code, which is used up either way.
func (h *Hub) AnswerApproval(id, code, choice string) error {
	d, now := &h.desk, time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	if e == nil || now.After(e.Until) {
		return ErrNoQuestion
	}
	chosen, why := choose(choice, e.offers)
	switch {
	case choice == choiceDeny:
		d.close(e, reply{by: askedTerminal, why: why})
		return nil
	case chosen == nil:
		return ErrNoChoice
	}
	good := e.code != "" && now.Sub(e.coded) < codeLife &&
		subtle.ConstantTimeCompare([]byte(strings.ToUpper(strings.TrimSpace(code))), []byte(e.code)) == 1
	e.code = ""
	if good {
		d.close(e, reply{by: askedTerminal, offer: chosen})
		return nil
	}
	if e.tries++; e.tries >= mostTries {
		d.close(e, reply{by: askedTerminal, why: "wrong codes were typed at the terminal"})
		return ErrTooMany
	}
	return ErrWrongCode
}

// close gives a question its answer, the only one. d.mu is held.
func (d *desk) close(e *deskEntry, r reply) {
	delete(d.open, e.ID)
	e.answer <- r
}

// atTerminal asks on a terminal of the hub's user.
type atTerminal struct{ s *Session }

func (atTerminal) who() string { return askedTerminal }

func (a atTerminal) ask(ctx context.Context, q *approvalQuestion) reply {
	caps, now := a.s.capabilities(), time.Now()
	until, _ := ctx.Deadline()
	answer, away, ok := a.s.hub.desk.put(PendingApproval{
		Session: a.s.id[:8], Client: shown(strings.TrimSpace(caps.Name+" "+caps.Version), 60), Token: a.s.principal, Text: q.text, Since: now, Until: until,
	}, q.proposal.offers)
	if !ok {
		return reply{by: askedTerminal, silent: true, why: "too many questions wait for an answer at a terminal already"}
	}
	defer away()
	a.s.log.Warn().Str("child", q.child.Spec.Name).Time("until", until).Msg("a call waits for the approval of a person at a terminal: run mcphub approve there")
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		return reply{by: askedTerminal, why: whyUnanswered + " at a terminal"}
	}
}
