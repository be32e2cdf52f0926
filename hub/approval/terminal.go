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

	"mcphub/internal/printable"
)

const (
	codeLetters = "ABCDEFGHJKMNPQRSTVWXYZ23456789" // none that looks like another
	codeLength  = 8
	maxTries    = 3               // wrong codes, then the question is answered with no
	maxCodes    = 5               // codes for one question, then too
	codeLife    = 2 * time.Minute // of one code
	codesWindow = time.Minute     // for all questions together
	maxInTime   = 30              // codes in that time

	maxPending = 256 // questions that wait for a terminal, of all sessions
	maxOfToken = 32  // of one token, or of all clients without one
	maxGone    = 256 // questions that were answered, that are remembered
)

// A Pending is a question that waits at a Terminal. Its ID is for [Terminal.Answer] and
// must not be shown to a client. All its texts are safe to show.
type Pending struct {
	ID      string   `json:"id,omitempty"`
	Digest  string   `json:"digest,omitempty"` // of what is asked and offered; an answer brings it along
	From    []string `json:"from"`             // who may answer: client, terminal, console
	Session string   `json:"session"`          // the beginning of its id
	Client  string   `json:"client,omitempty"` // as it calls itself
	Folder  string   `json:"folder,omitempty"` // working directory of a client that shares the hub with others
	Process int      `json:"process,omitempty"`
	Token   string   `json:"token,omitempty"` // name of the token it came with

	Server  string        `json:"server"`
	What    string        `json:"what"`    // the tool or the method
	Rules   []string      `json:"rules"`   // that ask
	Paths   []PendingPath `json:"paths"`   // all that the call names
	Text    string        `json:"text"`    // the whole question
	Choices []string      `json:"choices"` // that allow the call, the narrower first
	Since   time.Time     `json:"since"`
	Until   time.Time     `json:"until"`
}

// A PendingPath is one path of a call that waits.
type PendingPath struct {
	Path string `json:"path"`           // its target
	Sent string `json:"sent,omitempty"` // as the call names it, if that is otherwise
	Role string `json:"role"`           // read, write or delete
	Asks bool   `json:"asks"`           // it is asked about; else it is open already
}

// A PendingAnswer is what a person answers to a Pending.
type PendingAnswer struct {
	ID       string `json:"id"`
	Digest   string `json:"digest"`         // of the Pending that they were shown
	From     string `json:"from"`           // terminal or console
	Code     string `json:"code,omitempty"` // to allow from a terminal
	Decision string `json:"decision"`       // deny, or one of its Choices
}

// Errors of a person's side.
var (
	ErrNoQuestion      = errors.New("that question does not wait any more: it was withdrawn, or its time is over")
	ErrAnswered        = errors.New("that question was answered already")
	ErrQuestionChanged = errors.New("that question is not what was shown; look at it again")
	ErrNotAsked        = errors.New("approval.from in hub.json does not say that such questions may be allowed from there")
	ErrWrongCode       = errors.New("that is not the code; ask for a new one")
	ErrNoChoice        = errors.New("that is none of the answers that the question offers")
	ErrTooMany         = errors.New("too many wrong codes: the call is denied")
	ErrTooManyCodes    = errors.New("too many codes were asked for; wait a minute")
)

// A Terminal holds the questions that wait for a person at a terminal of the hub's
// user, or on the console's page, of all sessions (approval.from in hub.json). mcphub
// approve gets a code for one of them, shows it on the terminal, and hands in what was
// typed. The console needs none. Neither the id of a question nor a code goes anywhere
// else: not to a client, a log or a status.
//
// The zero value is ready. Its methods may be called by several goroutines.
type Terminal struct {
	// OnQuestion, where set, is told about each question that begins to wait, but of the ones of an
	// Asker that is quiet: its server, what it wants to do, both safe to show also where markup is
	// read, and how long it waits. It must not wait, and is set before the first Asker.
	OnQuestion func(server, what string, until time.Time)

	mu     sync.Mutex
	open   map[string]*pendingQuestion
	issued []time.Time // codes, of late
	gone   []string    // ids of questions that were answered, the oldest first
}

// A pendingQuestion is one question. Terminal.mu guards what changes.
type pendingQuestion struct {
	Pending
	asked   *Question
	code    string // "" when none is good
	coded   time.Time
	codes   int
	tries   int
	allowed bool        // it was answered with yes, and waits for a no until it is taken away
	answer  chan Answer // takes two: after a yes also what has come by the time it is taken away
}

// enterQuestion enters a question until away is called; ok is false if there is no
// room. No one looks over more, and the one who asks so much is not to keep out
// others.
func (t *Terminal) enterQuestion(p Pending, question *Question) (answer <-chan Answer, away func(answered bool), ok bool) {
	p.ID, p.Digest = randomID(), question.digestAsked()
	question.describeAsked(&p)
	e := &pendingQuestion{Pending: p, asked: question, answer: make(chan Answer, 2)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*pendingQuestion{}
	}
	same := 0
	for _, other := range t.open {
		if other.Token == p.Token {
			same++
		}
	}
	if same >= maxOfToken || len(t.open) >= maxPending {
		return nil, nil, false
	}
	t.open[p.ID] = e
	return e.answer, func(answered bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch {
		case t.open[p.ID] == nil:
		case e.allowed:
			t.closeQuestion(e, Unanswered())
		case answered:
			t.removeQuestion(e)
		default:
			delete(t.open, p.ID)
		}
	}, true
}

// describeAsked fills in what is asked, so that it is safe to show.
func (question *Question) describeAsked(p *Pending) {
	p.Server, p.What, p.Text = printable.Escape(question.child.Name, 100), printable.Escape(question.name, 100), question.text
	p.Rules, p.Choices, p.Paths = []string{}, []string{}, []PendingPath{}
	for _, r := range question.proposal.rules {
		p.Rules = append(p.Rules, printable.Escape(r, 100))
	}
	for _, o := range question.proposal.offers {
		p.Choices = append(p.Choices, o.choice)
	}
	add := func(list []askedPath, asks bool) {
		for _, path := range list {
			shown := PendingPath{Path: quoteLegible(clipText(path.leads, 2*longestAsked)), Role: path.role.String(), Asks: asks}
			if path.sent != path.leads {
				shown.Sent = quoteLegible(clipText(path.sent, 200))
			}
			p.Paths = append(p.Paths, shown)
		}
	}
	add(question.proposal.paths, true)
	add(question.proposal.others, false)
}

// findQuestion finds a question that waits. t.mu is held.
func (t *Terminal) findQuestion(id string) (*pendingQuestion, error) {
	switch e := t.open[id]; {
	case e != nil:
		return e, nil
	case slices.Contains(t.gone, id):
		return nil, ErrAnswered
	}
	return nil, ErrNoQuestion
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
	e, err := t.findQuestion(id)
	switch {
	case err != nil:
		return "", err
	case !slices.Contains(e.From, AskedTerminal):
		return "", ErrNotAsked
	case e.allowed:
		return "", ErrAnswered
	}
	t.issued = slices.DeleteFunc(t.issued, func(at time.Time) bool { return now.Sub(at) >= codesWindow })
	switch {
	case len(t.issued) >= maxInTime:
		return "", ErrTooManyCodes
	case e.codes >= maxCodes:
		t.closeQuestion(e, Answer{why: "too many codes were asked for at the terminal", by: AskedTerminal})
		return "", ErrTooMany
	}
	t.issued = append(t.issued, now)
	e.code, e.coded = randomCode(), now
	e.codes++
	return e.code, nil
}

// Answer answers a question. To allow it from a terminal takes its code, which is used up
// either way. A no takes none, and counts also where someone else has said yes already, as
// long as the question waits.
func (t *Terminal) Answer(r PendingAnswer) error {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.findQuestion(r.ID)
	switch {
	case err != nil:
		return err
	case now.After(e.Until):
		return ErrNoQuestion
	case subtle.ConstantTimeCompare([]byte(r.Digest), []byte(e.Digest)) != 1:
		return ErrQuestionChanged
	case r.From != AskedTerminal && r.From != AskedConsole:
		return ErrNotAsked
	}
	chosen, why := chooseOffer(r.Decision, e.asked.proposal.offers)
	switch {
	case r.Decision == choiceDeny:
		t.closeQuestion(e, Answer{why: why, by: r.From})
		return nil
	case !slices.Contains(e.From, r.From):
		return ErrNotAsked
	case e.allowed:
		return ErrAnswered
	case chosen == nil:
		return ErrNoChoice
	}
	if r.From == AskedTerminal {
		if err := t.spendCode(e, r.Code, now); err != nil {
			return err
		}
	}
	if !e.asked.claimBy(r.From) {
		return ErrAnswered
	}
	e.allowed = true
	e.answer <- Answer{offer: chosen, by: r.From}
	return nil
}

// spendCode uses up the code of a question. t.mu is held.
func (t *Terminal) spendCode(e *pendingQuestion, code string, now time.Time) error {
	good := e.code != "" && now.Sub(e.coded) < codeLife &&
		subtle.ConstantTimeCompare([]byte(strings.ToUpper(strings.TrimSpace(code))), []byte(e.code)) == 1
	e.code = ""
	if good {
		return nil
	}
	if e.tries++; e.tries >= maxTries {
		t.closeQuestion(e, Answer{why: "wrong codes were typed at the terminal", by: AskedTerminal})
		return ErrTooMany
	}
	return ErrWrongCode
}

// closeQuestion gives a question its last answer. t.mu is held.
func (t *Terminal) closeQuestion(e *pendingQuestion, a Answer) {
	t.removeQuestion(e)
	e.answer <- a
}

// removeQuestion takes a question out that was answered. t.mu is held.
func (t *Terminal) removeQuestion(e *pendingQuestion) {
	delete(t.open, e.ID)
	t.gone = append(t.gone[max(0, len(t.gone)-maxGone+1):], e.ID)
}

// Asker asks there. from says who asks, by Session, Client and Token, and who may answer:
// may. A person has to look for the question, so log reports that there is one.
func (t *Terminal) Asker(from Pending, may Channels, quiet bool, log zerolog.Logger) Asker {
	from.From = may.channelNames()
	return atTerminal{t, from, may.Local().String(), quiet, log}
}

type atTerminal struct {
	t     *Terminal
	from  Pending
	who   string
	quiet bool
	log   zerolog.Logger
}

func (terminal atTerminal) Who() string { return terminal.who }

func (terminal atTerminal) Ask(ctx context.Context, q *Question) Answer {
	p := terminal.from
	p.Since = time.Now()
	p.Until, _ = ctx.Deadline()
	answer, away, ok := terminal.t.enterQuestion(p, q)
	if !ok {
		return NotAsked("too many questions wait for an answer at a terminal already")
	}
	_, commands := answerPlaces(terminal.who)
	terminal.log.Warn().Str("child", q.child.Name).Time("until", p.Until).Msg("a call waits for the approval of a person: run " + commands + " at a terminal")
	if told := terminal.t.OnQuestion; told != nil && !terminal.quiet {
		told(quoteLegible(clipText(q.child.Name, 60)), quoteLegible(clipText(q.name, 100)), p.Until)
	}
	given := Unanswered()
	select {
	case given = <-answer:
	case <-ctx.Done():
		away(errors.Is(context.Cause(ctx), errElsewhere))
		select {
		case given = <-answer: // it came before that
		default:
		}
	}
	if given.offer != nil { // a no that comes here before the request is sent counts too
		given.others = &remainingAskers{takeBack: func(error) { away(true) }, answers: answer, left: 1}
	}
	return given
}
