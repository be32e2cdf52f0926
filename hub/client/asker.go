package client

import (
	"context"
	"errors"
	"fmt"

	"mcphub/hub/approval"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// An Asker asks a person through the client, by an elicitation on the way of the call.
type Asker struct{ To Messenger }

// Who implements [approval.Asker].
func (Asker) Who() string { return approval.AskedClient }

// Ask implements [approval.Asker].
func (a Asker) Ask(ctx context.Context, q *approval.Question) approval.Answer {
	resp, err := a.To.Call(ctx, methods.Elicit, q.Form())
	switch {
	case errors.Is(err, approval.ErrUnanswered), errors.Is(context.Cause(ctx), approval.ErrUnanswered):
		return approval.Unanswered()
	case err != nil:
		return approval.NotAsked("the client could not be asked: " + printable.Escape(err.Error(), 200))
	}
	defer resp.Release()
	if e := resp.Err(); e != nil {
		return approval.NotAsked(fmt.Sprintf("the client did not ask: %s", printable.Escape(e.Message, 200)))
	}
	return q.Read(resp.Result)
}
