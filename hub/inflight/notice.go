package inflight

import (
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

// A Notice tells a client by progress that its call waits for a server to start, or for a
// person, if it gave a token. The values must increase from one notification to the next, and
// the server's own, which begin at zero or above, follow: so those of the hub are below zero,
// -1/1000n for the n-th. That is so little that clients which round, or make percents of it,
// show zero.
type Notice struct {
	to    Recipient
	token []byte // the client's, raw
	sent  int    // belongs to the goroutine of the wait
}

// NewNotice makes the Notice of one call, whose client gave the token; nil if it gave none. What waits must do so one after the
// other.
func NewNotice(to Recipient, token []byte) *Notice {
	if token == nil {
		return nil
	}
	return &Notice{to: to, token: token}
}

// Waiting returns what the call waits for, until over is called, after which nothing
// is sent any more. A nil Notice tells nothing.
func (n *Notice) Waiting(what func() string) (over func()) {
	if n == nil {
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

func (n *Notice) tell(what func() string, stop <-chan struct{}) {
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
