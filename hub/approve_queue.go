package hub

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// This file orders the questions of one session: one at a time, equal ones
// joined, and no more than a person can bear.

const (
	mostWaitingEach = 8  // questions of one child that wait for their turn
	mostWaiting     = 32 // of one session
	patienceOfNo    = 3  // answers of no, or none, in a row: then nobody is asked for a while
	firstPause      = time.Minute
	longestPause    = 30 * time.Minute
)

// consent is what a human has allowed in one session, and is being asked.
type consent struct {
	once bool          // each request of the session stands alone, and so does what is allowed for it
	turn chan struct{} // holds the token of whoever asks

	mu  sync.Mutex
	tab consentTables
}

// consentTables is what consent.mu guards.
type consentTables struct {
	grants  []*grant
	version uint64        // of the directories that grants serve
	news    chan struct{} // closed and replaced when version changes
	given   chan struct{} // closed and replaced when a grant is given
	asking  map[fingerprint]*standing
	noes    map[string]*noes // by child
	serial  uint64
}

// A standing question is one that waits for its turn, or for its answer.
type standing struct {
	key   fingerprint
	child string
	name  string // of the tool or method
	calls int    // that wait for it
	asked string // client or terminal
	since time.Time
	done  chan struct{}
	reply *reply // once done is closed; nil: it was withdrawn
}

// noes is how often in a row a human has not allowed what a child wanted.
type noes struct {
	inRow int
	until time.Time // nobody is asked before
}

// A reply is what became of a question. The zero value allows nothing.
type reply struct {
	offer   *offer // that was chosen; nil: it was not allowed
	by      string // who was asked: client or terminal
	why     string // it was not allowed
	silent  bool   // nobody could be asked: it tells nothing of what a person wants
	warrant *warrant
	version uint64 // of the grants that came of it
}

// choice is the answer in a word of the form.
func (r *reply) choice() string {
	if r.offer == nil {
		return choiceDeny
	}
	return r.offer.choice
}

func (c *consent) init() {
	c.turn = make(chan struct{}, 1)
	c.tab = consentTables{news: make(chan struct{}), given: make(chan struct{}), asking: map[fingerprint]*standing{}, noes: map[string]*noes{}}
}

// join enters a question, or one more call that waits for the same one. Equal
// is what has the same digest: of session, child, tool and argument bytes, and
// of all that the question says. So one answer serves calls that are one and
// the same; where each request stands alone, none is. why says that there is no
// room.
func (c *consent) join(q *approvalQuestion, name string) (st *standing, first bool, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := q.key
	if c.once {
		c.tab.serial++
		key = digestOf(key[:], fmt.Append(nil, c.tab.serial))
	}
	if st := c.tab.asking[key]; st != nil {
		if st.calls >= mostWaitingEach {
			return nil, false, "several calls wait for the answer to the same question already"
		}
		st.calls++
		return st, false, ""
	}
	child := q.child.Spec.Name
	each := 0
	for _, other := range c.tab.asking {
		if other.child == child {
			each++
		}
	}
	switch {
	case each >= mostWaitingEach:
		return nil, false, fmt.Sprintf("%d questions about the server %q wait for an answer already", each, child)
	case len(c.tab.asking) >= mostWaiting:
		return nil, false, fmt.Sprintf("%d questions wait for an answer already", len(c.tab.asking))
	}
	st = &standing{key: key, child: child, name: name, calls: 1, done: make(chan struct{})}
	c.tab.asking[key] = st
	return st, true, ""
}

// follow waits for the answer to a question that somebody else has asked; nil
// where it was withdrawn.
func (c *consent) follow(ctx context.Context, st *standing) (*reply, error) {
	defer waitingFor(ctx, whatWaits)()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		st.calls--
	}()
	select {
	case <-st.done:
		return st.reply, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin notes that a question is with a human now.
func (c *consent) begin(st *standing, asked string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st.asked, st.since = asked, now
}

// finish takes a question out and hands its reply to everybody who waits.
func (c *consent) finish(st *standing, r *reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tab.asking, st.key)
	st.reply = r
	close(st.done)
}

// tryTurn takes the turn where no other question of the session is with a human.
func (c *consent) tryTurn() bool {
	select {
	case c.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

// takeTurn waits until no other question of the session is with a human; false
// where something was granted before that, so that it may be needless to ask.
func (c *consent) takeTurn(ctx context.Context) (taken bool, err error) {
	c.mu.Lock()
	given := c.tab.given
	c.mu.Unlock()
	select {
	case c.turn <- struct{}{}:
		return true, nil
	case <-given:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (c *consent) endTurn() { <-c.turn }

// throttled says why a human is not asked about a child at all; "" where they are.
func (c *consent) throttled(child string, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.tab.noes[child]
	if n == nil || !now.Before(n.until) {
		return ""
	}
	return fmt.Sprintf("the last %d questions about the server %q were not answered with yes, so nobody is asked about it for another %s",
		n.inRow, child, n.until.Sub(now).Round(time.Second))
}

// note counts an answer: a yes begins anew, and after several of no the pauses
// get longer.
func (c *consent) note(child string, r *reply, now time.Time) {
	if r.silent {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.offer != nil {
		delete(c.tab.noes, child)
		return
	}
	n := c.tab.noes[child]
	if n == nil {
		n = &noes{}
		c.tab.noes[child] = n
	}
	if n.inRow++; n.inRow >= patienceOfNo {
		pause := firstPause << min(n.inRow-patienceOfNo, 10)
		n.until = now.Add(min(pause, longestPause))
	}
}

// over ends what a warrant has opened where that was for one call.
func (c *consent) over(t *warrant) {
	if t != nil && c.once {
		c.take(t)
	}
}
