package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// This file puts one question to several at once.

// errElsewhere is why a question is taken back that someone else has answered.
var errElsewhere = errors.New("the question was answered elsewhere")

// AskAll asks all of them at once. The first yes counts, and so does a no of any, also one that comes
// after a yes and before the request is sent. One who closes the question without an answer leaves it
// to the others: some clients do so by themselves. The one who has not answered by then is told: their
// question is taken back. It needs at least one.
func AskAll(askers ...Asker) Asker {
	if len(askers) == 1 {
		return askers[0]
	}
	return askerGroup(askers)
}

type askerGroup []Asker

// Who names all of them.
func (s askerGroup) Who() string {
	names := make([]string, len(s))
	for i, a := range s {
		names[i] = a.Who()
	}
	return strings.Join(names, ", ")
}

// Ask returns with the first yes or no. After a yes the others are still asked: see [remainingAskers].
func (s askerGroup) Ask(ctx context.Context, q *Question) Answer {
	asking, takeBack := context.WithCancelCause(ctx)
	answers := make(chan Answer, len(s))
	o := &remainingAskers{takeBack: takeBack, answers: answers, left: len(s)}
	for _, a := range s {
		go func() {
			given := askGuarded(asking, a, q)
			given.by = cmp.Or(given.by, a.Who())
			answers <- given
		}()
	}
	var last Answer
	var unasked []string
	for o.left > 0 {
		given := o.nextAnswer()
		switch {
		case given.offer != nil && q.claimBy(given.by):
			o.same, given.others = given.others, o
			return given
		case given.isNo():
			o.closeQuestion()
			return given
		case given.notAsked:
			unasked = append(unasked, given.why)
		case given.late, given.closed:
			last = given
		default: // a yes that came second
			given.others.closeQuestion()
		}
	}
	o.closeQuestion()
	if !last.late && !last.closed && len(unasked) > 0 {
		slices.Sort(unasked)
		return NotAsked(strings.Join(unasked, "; "))
	}
	return last
}

// askGuarded works like Ask of one of them. A panic there is of a goroutine of its own, and would end the hub.
func askGuarded(ctx context.Context, a Asker, q *Question) (given Answer) {
	defer func() {
		if p := recover(); p != nil {
			given = NotAsked(fmt.Sprintf("%s could not be asked: %v", a.Who(), p))
		}
	}()
	return a.Ask(ctx, q)
}

// isNo reports whether a person has not allowed it.
func (answer *Answer) isNo() bool {
	return answer.offer == nil && !answer.notAsked && !answer.late && !answer.closed
}

// remainingAskers are those who can still answer when one has said yes. A no of theirs counts until
// close. nil: no one can.
type remainingAskers struct {
	takeBack context.CancelCauseFunc
	answers  <-chan Answer    // one of each
	same     *remainingAskers // who can be asked still of those who have said yes themselves

	mu   sync.Mutex
	left int // answers that have not come
	no   *Answer
	end  func() // of the time that the question stands
}

// keepQuestion has the question stand until close, which calls end; false if no one else was asked.
func (remaining *remainingAskers) keepQuestion(end func()) bool {
	if remaining == nil {
		return false
	}
	remaining.end = end
	return true
}

func (remaining *remainingAskers) nextAnswer() Answer {
	given := <-remaining.answers
	remaining.left--
	return given
}

// closeQuestion takes the question back from who has not answered it, and returns when all of them
// have it no more. no is the answer of who has said no before that; nil: no one has.
func (remaining *remainingAskers) closeQuestion() (no *Answer) {
	if remaining == nil {
		return nil
	}
	remaining.takeBack(errElsewhere)
	remaining.mu.Lock()
	defer remaining.mu.Unlock()
	if remaining.end != nil {
		remaining.end()
	}
	for remaining.left > 0 {
		given := remaining.nextAnswer()
		if given.isNo() && remaining.no == nil {
			remaining.no = &given
		}
		given.others.closeQuestion() // of a yes that came second
	}
	remaining.no = cmp.Or(remaining.no, remaining.same.closeQuestion())
	return remaining.no
}
