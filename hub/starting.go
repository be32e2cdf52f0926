package hub

import (
	"context"
	"errors"
	"strconv"
	"time"

	"mcphub/children"
	"mcphub/hub/configuration"
	"mcphub/internal/jsonrpc"
)

const (
	// noticeAfter is how long a call waits for a server before its client is told.
	noticeAfter = 300 * time.Millisecond
	// noticeEvery is the pause between two notices of one call.
	noticeEvery = 5 * time.Second
)

// A notice tells a client by progress that its call waits for a server to
// start, or for a person, where it gave a token. The values must increase from one notification
// to the next, and the server's own, which begin at zero or above, follow: so
// those of the hub are below zero, -1/n for the n-th.
type notice struct {
	to    peer
	token []byte // the client's, raw
	sent  int    // belongs to the goroutine of the wait
}

type noticeKey struct{}

// withNotice returns a context of one call whose waiting for servers is told
// to the client. What waits must do so one after the other.
func (s *Session) withNotice(ctx context.Context, token []byte) context.Context {
	if token == nil {
		return ctx
	}
	return context.WithValue(ctx, noticeKey{}, &notice{to: s.clientOf(ctx), token: token})
}

// waiting says that the call of ctx waits for a server until over is called,
// after which nothing is sent any more.
func waiting(ctx context.Context, server string) (over func()) {
	return waitingFor(ctx, "starting "+server)
}

// waitingFor is waiting for something else.
func waitingFor(ctx context.Context, what string) (over func()) {
	n, ok := ctx.Value(noticeKey{}).(*notice)
	if !ok {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		n.tell(what, stop)
	}()
	return func() {
		close(stop)
		<-done
	}
}

func (n *notice) tell(what string, stop <-chan struct{}) {
	timer := time.NewTimer(noticeAfter)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		n.sent++
		b := append([]byte(`{"progressToken":`), n.token...)
		b = strconv.AppendFloat(append(b, `,"progress":`...), -1/float64(n.sent), 'g', 6, 64)
		b = jsonrpc.AppendString(append(b, `,"message":`...), what)
		n.to.TryNotify("notifications/progress", append(b, '}'))
		timer.Reset(noticeEvery)
	}
}

// await has the children to which something may belong tell what they offer, the
// quick ways first, until it is found. down says of a child that cannot be asked
// why; "" where none is. ctx tells whether the caller still waits.
func (s *Session) await(ctx context.Context, owners []string, found func() bool) (ok bool, down string) {
	s.AwaitRecalled(ctx)
	if found() {
		return true, ""
	}
	back := s.clientOf(ctx).Lend() // what the children wait for may be the roots
	failures := map[string]int{}
	for _, owner := range owners {
		st, _, _, _ := s.ChildStatus(owner)
		failures[owner] = st.Failures
	}
	s.awaitStart(ctx, owners)
	back()
	if found() {
		return true, ""
	}
	for _, owner := range owners {
		if st, _, _, _ := s.ChildStatus(owner); !st.Listed && st.Failures > failures[owner] {
			return false, s.downText(st) // it has had its time to start
		}
		if down := s.revive(ctx, owner); down != "" || ctx.Err() != nil {
			return false, down
		}
	}
	return found(), ""
}

// awaitStart waits until these children have listed their tools or failed, but
// not longer than the slowest of them may take to start.
func (s *Session) awaitStart(ctx context.Context, names []string) {
	var limit time.Duration
	g := s.hub.now()
	for _, name := range names {
		limit = max(limit, g.StartLimit(name))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if len(names) > 0 {
		defer waiting(ctx, names[0])()
	}
	s.AwaitListed(ctx, names)
}

// revive sees to it that a child which has not listed its tools in this
// session is started, or tried again, now that somebody wants something that is
// not known; down says why that did not help.
func (s *Session) revive(ctx context.Context, name string) (down string) {
	st, _, _, _ := s.ChildStatus(name)
	if st.Listed {
		return ""
	}
	lease, err := s.acquire(ctx, s.hub.now(), name)
	var gone *children.UnavailableError
	switch {
	case err == nil:
		lease.Release()
	case ctx.Err() != nil:
		return ""
	case errors.Is(err, configuration.ErrSuperseded): // the one that takes its place may list it
	case errors.As(err, &gone):
		return gone.Error()
	default:
		return s.downText(st)
	}
	s.awaitStart(ctx, []string{name})
	return ""
}
