package approval

import (
	"context"
	"errors"

	"mcphub/validate/policy"
)

// An Asker puts a question to a person. It returns when there is an answer, or
// when ctx ends, and then takes the question back.
type Asker interface {
	Ask(ctx context.Context, q *Question) Answer
	// Who names whom it asks: AskedClient, AskedTerminal or AskedNobody.
	Who() string
}

// Whom an Asker asks.
const (
	AskedClient   = "client"
	AskedTerminal = "terminal"
	AskedNobody   = "nobody"
)

// ErrUnanswered is the cause of a context that ends because nobody has answered in time.
var ErrUnanswered = errors.New(whyUnanswered)

// Why something was not allowed.
const (
	WhyDeclined   = "the person said no"
	whyNoChoice   = "the question was accepted without one of the answers that it offers"
	whyUnanswered = "nobody has answered in time"
)

// An Answer is what became of a question. The zero value allows nothing.
type Answer struct {
	offer  *offer // that was chosen; nil: it was not allowed
	why    string // it was not allowed
	silent bool   // nobody could be asked: it tells nothing of what a person wants
}

// Unanswered is the answer where nobody has answered in time.
func Unanswered() Answer { return Answer{why: whyUnanswered} }

// NotAsked is the answer where nobody could be asked.
func NotAsked(why string) Answer { return Answer{why: why, silent: true} }

// choice is the answer in a word of the form.
func (a *Answer) choice() string {
	if a.offer == nil {
		return choiceDeny
	}
	return a.offer.choice
}

// granted is what the answer opens.
func (a *Answer) granted() (list []policy.Grant) {
	if a.offer != nil {
		for i := range a.offer.grants {
			list = append(list, a.offer.grants[i].Grant)
		}
	}
	return list
}

// Nobody is the Asker where nobody can be asked.
type Nobody struct{}

// Who implements [Asker].
func (Nobody) Who() string { return AskedNobody }

// Ask says why nobody can be asked.
func (Nobody) Ask(context.Context, *Question) Answer {
	return NotAsked(`the client cannot ask (it declares no elicitation), and approval.local in hub.json does not say that a terminal may`)
}
