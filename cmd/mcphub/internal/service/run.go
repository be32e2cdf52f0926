package service

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/hub"
)

// stopWait is how long a front over standard input may take to notice that it shall end.
// One that reads from a terminal never does: then the process ends around it.
const stopWait = time.Second

// Run runs a Hub for as long as front does: the Hub runs before the front is served, and its
// children are stopped after the front has ended.
func Run(ctx context.Context, h *hub.Hub, log zerolog.Logger, front func(context.Context) error) error {
	return runUntilEnd(ctx, h, log, func(ctx context.Context) error {
		done := make(chan error, 1)
		go func() { done <- front(ctx) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
		}
		select {
		case err := <-done:
			return err
		case <-time.After(stopWait):
			log.Debug().Msg("the front did not end in time")
			return nil
		}
	})
}

// runUntilEnd works like Run for a front that ends by itself when ctx has.
func runUntilEnd(ctx context.Context, h *hub.Hub, log zerolog.Logger, front func(context.Context) error) error {
	defer Adopt(log)()
	hubCtx, stopHub := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHub()
	hubDone := make(chan error, 1)
	go func() { hubDone <- h.Run(hubCtx) }()
	err := front(ctx)
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
