package service

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/internal/exit"
)

// stopWait is how long a front may take to notice that it shall end. One that
// reads from a terminal never does: then the process ends around it.
const stopWait = time.Second

// Run runs a Hub for as long as front does: children are up before the
// front is served, and stopped after it has ended.
func Run(ctx context.Context, h *hub.Hub, log zerolog.Logger, front func(context.Context) error) error {
	defer Adopt(log)()
	hubCtx, stopHub := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHub()
	hubDone := make(chan error, 1)
	go func() { hubDone <- h.Run(hubCtx) }()
	frontDone := make(chan error, 1)
	go func() { frontDone <- front(ctx) }()

	var err error
	select {
	case err = <-frontDone:
	case <-ctx.Done():
		select {
		case err = <-frontDone:
		case <-time.After(stopWait):
			log.Debug().Msg("the front did not end in time")
		}
	}
	stopHub()
	if e := <-hubDone; e != nil && !errors.Is(e, context.Canceled) {
		err = errors.Join(err, e)
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err != nil {
		return &exit.Error{Code: exit.Failure, Err: err}
	}
	return nil
}
