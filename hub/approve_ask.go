package hub

import (
	"context"
	"errors"
	"fmt"
)

// An asker puts a question to a human. It returns when there is an answer, or
// ctx ends, and then takes the question back. The zero reply allows nothing.
type asker interface {
	ask(ctx context.Context, q *approvalQuestion) reply
	// who names whom it asks: client, terminal or nobody.
	who() string
}

const (
	askedClient   = "client"
	askedTerminal = "terminal"
	askedNobody   = "nobody"
)

var errUnanswered = errors.New("nobody has answered in time")

// askerFor chooses by what the client can do: one that can show a form is asked
// and nobody else.
func (s *Session) askerFor(ctx context.Context) asker {
	c := s.clientOf(ctx)
	switch {
	case c.Claims().Can.Form:
		return pushedAsker{c}
	case s.hub.now().cfg.Approval.Terminal:
		return atTerminal{s}
	}
	return unasked{}
}

// pushedAsker asks through the client, by an elicitation on the way of the call.
type pushedAsker struct{ to peer }

func (p pushedAsker) who() string { return askedClient }

func (p pushedAsker) ask(ctx context.Context, q *approvalQuestion) reply {
	resp, err := p.to.Call(ctx, methodElicit, inquiryForm(q.text, q.proposal.offers))
	switch {
	case errors.Is(err, errUnanswered), errors.Is(context.Cause(ctx), errUnanswered):
		return reply{by: askedClient, why: whyUnanswered}
	case err != nil:
		return reply{by: askedClient, silent: true, why: "the client could not be asked: " + shown(err.Error(), 200)}
	}
	defer resp.Release()
	if e := resp.Err(); e != nil {
		return reply{by: askedClient, silent: true, why: fmt.Sprintf("the client did not ask: %s", shown(e.Message, 200))}
	}
	chosen, why := readChoice(resp.Result, q.proposal.offers)
	return reply{by: askedClient, offer: chosen, why: why}
}

const whyUnanswered = "nobody has answered in time"

// unasked is where nobody can be asked.
type unasked struct{}

func (unasked) who() string { return askedNobody }

func (unasked) ask(context.Context, *approvalQuestion) reply {
	return reply{by: askedNobody, silent: true, why: `the client cannot ask (it declares no elicitation), and approval.local in hub.json does not say that a terminal may`}
}
