package inflight

import (
	"context"
	"strconv"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
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
// those of the hub are below zero, -1/1000n for the n-th. That is so little that clients
// which round, or make percents of it, show zero.
type notice struct {
	to    Recipient
	token []byte // the client's, raw
	sent  int    // belongs to the goroutine of the wait
}

type noticeKey struct{}

// WithNotice returns a context of one call whose waiting is told to its client, which gave
// the token. What waits must do so one after the other.
func WithNotice(ctx context.Context, to Recipient, token []byte) context.Context {
	if token == nil {
		return ctx
	}
	return context.WithValue(ctx, noticeKey{}, &notice{to: to, token: token})
}

// Waiting says what the call of ctx waits for, until over is called, after which nothing is
// sent any more.
func Waiting(ctx context.Context, what func() string) (over func()) {
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

func (n *notice) tell(what func() string, stop <-chan struct{}) {
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
		b = strconv.AppendFloat(append(b, `,"progress":`...), -0.001/float64(n.sent), 'g', 6, 64)
		b = jsonrpc.AppendString(append(b, `,"message":`...), what())
		n.to.TryNotify(methods.Progress, append(b, '}'))
		timer.Reset(noticeEvery)
	}
}
