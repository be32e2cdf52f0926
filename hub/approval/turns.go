package approval

import (
	"context"
	"fmt"
	"time"
)

// This file orders the questions of one session: one at a time, equal ones
// joined, and no more than a person can bear.

const (
	maxWaitingEach = 8  // questions of one child, and requests of one question, that wait
	maxWaiting     = 32 // questions of one session
	maxNoes        = 3  // answers of no, or none, in a row: then no one is asked for a while
	firstPause     = time.Minute
	longestPause   = 30 * time.Minute
)

// A queuedQuestion is a question that waits for the person, or for its answer. Queue.mu
// guards what changes.
type queuedQuestion struct {
	key      Digest
	child    string
	name     string // of the tool or method
	requests int    // that wait for it
	by       string // who is asked
	since    time.Time
	done     chan struct{}
	out      *questionOutcome // once done is closed; nil: the question was withdrawn
}

// A refusalStreak counts how often in a row a person has not allowed what a child wanted.
type refusalStreak struct {
	inRow int
	until time.Time // no one is asked before
}

// joinQuestion enters a question, or one more request that waits for the same one.
// Questions are equal that have the same key, so one answer serves requests that are
// one and the same. In a queue of SetPerCall none are. why reports that there is no
// room.
func (q *Queue) joinQuestion(question *Question) (queued *queuedQuestion, first bool, why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := question.key
	if q.perCall {
		q.serial++
		key = DigestOf(key[:], fmt.Append(nil, q.serial))
	}
	if queued := q.waiting[key]; queued != nil {
		if queued.requests >= maxWaitingEach {
			return nil, false, "several calls wait for the answer to the same question already"
		}
		queued.requests++
		return queued, false, ""
	}
	child, each := question.child.Name, 0
	for _, other := range q.waiting {
		if other.child == child {
			each++
		}
	}
	switch {
	case each >= maxWaitingEach:
		return nil, false, fmt.Sprintf("%d questions about the server %q wait for an answer already", each, child)
	case len(q.waiting) >= maxWaiting:
		return nil, false, fmt.Sprintf("%d questions wait for an answer already", len(q.waiting))
	}
	queued = &queuedQuestion{key: key, child: child, name: question.name, requests: 1, done: make(chan struct{})}
	q.waiting[key] = queued
	return queued, true, ""
}

// awaitOutcome waits for the answer to a question that another request has asked; nil
// if it was withdrawn.
func (q *Queue) awaitOutcome(ctx context.Context, queued *queuedQuestion, owner RequestOwner) (*questionOutcome, error) {
	defer owner.Waiting(ctx, waitsFor)()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		queued.requests--
	}()
	select {
	case <-queued.done:
		return queued.out, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// noteAsked remembers that a question is with a person now.
func (q *Queue) noteAsked(queued *queuedQuestion, by string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued.by, queued.since = by, now
}

// finishQuestion takes a question out and hands its outcome to all who wait.
func (q *Queue) finishQuestion(queued *queuedQuestion, out *questionOutcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, queued.key)
	queued.out = out
	close(queued.done)
}

// tryLockPerson takes the lock if no other question of the session is with a person.
func (q *Queue) tryLockPerson() bool {
	select {
	case q.personLock <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockPerson waits until no other question of the session is with a person; false
// where something was granted before that, so that it may be needless to ask.
func (q *Queue) lockPerson(ctx context.Context) (locked bool, err error) {
	q.mu.Lock()
	granted := q.granted
	q.mu.Unlock()
	select {
	case q.personLock <- struct{}{}:
		return true, nil
	case <-granted:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (q *Queue) unlockPerson() { <-q.personLock }

// pauseReason returns why a person is not asked about a child at all; "" if they are.
func (q *Queue) pauseReason(child string, now time.Time) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.refusals[child]
	if n == nil || !now.Before(n.until) {
		return ""
	}
	return fmt.Sprintf("the last %d questions about the server %q were not answered with yes, so nobody is asked about it for another %s",
		n.inRow, child, n.until.Sub(now).Round(time.Second))
}

// countAnswer counts an answer about a child. A yes forgets the noes. After several noes the
// pauses get longer.
func (q *Queue) countAnswer(child string, a *Answer, now time.Time) {
	if a.notAsked {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.offer != nil {
		delete(q.refusals, child)
		return
	}
	n := q.refusals[child]
	if n == nil {
		n = &refusalStreak{}
		q.refusals[child] = n
	}
	if n.inRow++; n.inRow >= maxNoes {
		pause := firstPause << min(n.inRow-maxNoes, 10)
		n.until = now.Add(min(pause, longestPause))
	}
}
