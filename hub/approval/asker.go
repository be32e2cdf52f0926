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
	// Who names whom it asks: AskedClient and so on, several with commas between.
	Who() string
}

// Whom an Asker asks.
const (
	AskedClient   = "client"
	AskedTerminal = "terminal"
	AskedConsole  = "console"
	AskedNobody   = "nobody"
)

// ErrUnanswered is the cause of a context that ends because no one has answered in time.
var ErrUnanswered = errors.New(whyUnanswered)

// Why something was not allowed.
const (
	WhyDeclined   = "the person said no"
	whyClosed     = "the person closed the question without an answer"
	whyNoChoice   = "the question was accepted without one of the answers that it offers"
	whyUnanswered = "nobody has answered in time"
)

// An Answer is what became of a question. The zero value allows nothing.
type Answer struct {
	offer    *answerOffer // that was chosen; nil: it was not allowed
	why      string       // it was not allowed
	by       string       // who answered; "" for all whom the Asker asks
	notAsked bool         // no one could be asked: it tells nothing about what a person wants
	late     bool         // no one has answered in time
	closed   bool         // the question was closed without an answer: a no, unless others are asked too
	others   *remainingAskers
}

// Unanswered returns the answer if no one has answered in time.
func Unanswered() Answer { return Answer{why: whyUnanswered, late: true} }

// NotAsked returns the answer if no one could be asked.
func NotAsked(why string) Answer { return Answer{why: why, notAsked: true} }

// choiceWord returns the answer in a word of the form.
func (answer *Answer) choiceWord() string {
	if answer.offer == nil {
		return choiceDeny
	}
	return answer.offer.choice
}

// grantsOpened returns what the answer opens.
func (answer *Answer) grantsOpened() (list []policy.Grant) {
	if answer.offer != nil {
		for i := range answer.offer.grants {
			list = append(list, answer.offer.grants[i].Grant)
		}
	}
	return list
}

// Nobody is the Asker if no one can be asked.
type Nobody struct {
	From Channels // who may answer
}

// Who implements [Asker].
func (Nobody) Who() string { return AskedNobody }

// Ask returns why no one can be asked.
func (n Nobody) Ask(context.Context, *Question) Answer {
	if !n.From.Client {
		return NotAsked("approval.from in hub.json names nobody who can be asked on this system")
	}
	return NotAsked("the client cannot ask (it declares no elicitation), and approval.from in hub.json names nobody else who can be asked")
}
