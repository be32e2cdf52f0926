package children

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/jsonrpc"
)

// This file is about what a child asks, whatever the transport.

const methodCancelled = "notifications/cancelled"

type askerKey struct{}

// Tell sends a notification to the child whose request ctx is of: the one that
// ChildRequest was given.
func Tell(ctx context.Context, method string, params ...[]byte) error {
	link, ok := ctx.Value(askerKey{}).(Link)
	if !ok {
		return errors.New("children: the context is of no child's request")
	}
	return link.Notify(ctx, method, params...)
}

// carried ends as the first context does, and has the values of both. So what
// comes on the answer to a call can be told to belong to it, although the
// connection does not end with the call.
type carried struct {
	context.Context
	call context.Context
}

func (c carried) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.call.Value(key)
}

// asked are the requests of a child over HTTP that are being served, by raw id.
type asked struct {
	mu sync.Mutex
	by map[string]*served
}

// served is one of them.
type served struct {
	cancel   context.CancelCauseFunc
	unwanted atomic.Bool // the child has cancelled it
}

// enter registers a request; false where its id is in use.
func (a *asked) enter(id string, s *served) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by[id] != nil {
		return false
	}
	if a.by == nil {
		a.by = map[string]*served{}
	}
	a.by[id] = s
	return true
}

func (a *asked) leave(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.by, id)
}

// cancel ends a request that the child does not want any more.
func (a *asked) cancel(m *jsonrpc.Message) {
	reason, _ := jsonrpc.String(m.Param("reason"))
	a.mu.Lock()
	s := a.by[string(m.Param("requestId"))]
	a.mu.Unlock()
	if s != nil {
		s.unwanted.Store(true)
		s.cancel(&jsonrpc.CancelledError{Reason: reason})
	}
}

// answer serves a request of the child; ok false: it has cancelled it, and
// expects no answer.
func (w *wire) answer(ctx context.Context, m *jsonrpc.Message, s *served) (a jsonrpc.Answer, ok bool) {
	defer w.asked.leave(string(m.ID))
	defer s.cancel(nil)
	a = w.h.ServeRequest(ctx, m)
	return a, !s.unwanted.Load()
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
func (l *leveller) tell(ctx context.Context, c *child, link Link, o *Offer) {
	if !declares(o.Capabilities, "logging") {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, levelTime)
	defer cancel()
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-ctx.Done():
		return
	}
	level := c.host.client(c.key).Level
	if level == "" || level == l.told {
		return
	}
	res, err := link.Call(ctx, "logging/setLevel", append(jsonrpc.AppendString([]byte(`{"level":`), level), '}'))
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

// TellLevel sees to it that the child knows the level of the log that
// Options.Client tells, if it has one. It returns within two seconds.
func (l *Lease) TellLevel(ctx context.Context) { l.r.level.tell(ctx, l.r.c, l.r.link, l.v.offer) }
