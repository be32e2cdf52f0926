package children

import (
	"context"
	"errors"
	"time"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// This file is about what a child asks, whatever the transport.

type askerKey struct{}

// Tell sends a notification to the child whose request ctx is of: the one that
// ChildRequest was given.
func Tell(ctx context.Context, method string, params ...[]byte) error {
	asker, ok := ctx.Value(askerKey{}).(link.Link)
	if !ok {
		return errors.New("children: the context is of no child's request")
	}
	return asker.Notify(ctx, method, params...)
}

// levelTime bounds how long a child may take to answer logging/setLevel.
const levelTime = 2 * time.Second

// leveller keeps a run's log at the level that its client wants.
type leveller struct {
	turn chan struct{} // holds a token while nobody tells
	told string        // belongs to who has the token
}

// tell sets the level where it is another than the run was told last. It reads
// what is wanted once it has its turn, so the last to come sets the newest.
func (l *leveller) tell(ctx context.Context, c *child, conn link.Link, o *offers.Offer) {
	if !offers.Declares(o.Capabilities, "logging") || o.Modern() { // which is told with each request
		return
	}
	ctx, cancel := context.WithTimeout(ctx, levelTime)
	defer cancel()
	if !l.take(ctx) {
		return
	}
	defer func() { l.turn <- struct{}{} }()
	level := c.common.client(c.key).Level
	if level == "" || level == l.told {
		return
	}
	res, err := conn.Call(ctx, "logging/setLevel", append(jsonrpc.AppendString([]byte(`{"level":`), level), '}'))
	if err != nil {
		c.log.Debug().Err(err).Msg("the level of the log could not be set")
		return
	}
	l.told = level
	if e := res.Err(); e != nil {
		c.log.Debug().Err(e).Msg("the child refused the level of its log")
	}
	res.Release()
}

// tellAgain is tell for a child that has forgotten what it was told.
func (l *leveller) tellAgain(ctx context.Context, c *child, conn link.Link, o *offers.Offer) {
	if !l.take(ctx) {
		return
	}
	l.told = ""
	l.turn <- struct{}{}
	l.tell(ctx, c, conn, o)
}

func (l *leveller) take(ctx context.Context) bool {
	select {
	case <-l.turn:
		return true
	case <-ctx.Done():
		return false
	}
}

// TellLevel sees to it that the child knows the level of the log that
// Options.Client tells, if it has one. It returns within two seconds.
func (l *Lease) TellLevel(ctx context.Context) { l.r.level.tell(ctx, l.r.c, l.r.way(), l.v.offer) }
