package desktop

import (
	"context"
	"time"
)

// A Notice is what a person is shown. Its texts are shown as they are by desktops that
// know no markup, so they hold none.
type Notice struct {
	Title, Text string
	Until       time.Time // when it goes away
}

const (
	maxWaiting = 8               // notices that the desktop has not taken; more are left out
	longest    = 5 * time.Second // that the desktop may take for one
)

// A Notifier shows notices.
type Notifier struct {
	notices chan Notice
	env     func(string) string
	last    uint32 // the desktop's number of the notice that it shows; Run's own
}

// New returns a Notifier for the desktop of these variables. It starts nothing.
func New(env func(string) string) *Notifier {
	return &Notifier{notices: make(chan Notice, maxWaiting), env: env}
}

// Tell has a notice shown. It does not wait.
func (n *Notifier) Tell(notice Notice) {
	select {
	case n.notices <- notice:
	default:
	}
}

// Run shows what is told, each instead of the one before it, until ctx ends. told is
// called if one could not be shown.
func (n *Notifier) Run(ctx context.Context, told func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case notice := <-n.notices:
			if err := n.showNotice(ctx, notice); err != nil && ctx.Err() == nil {
				told(err)
			}
		}
	}
}
