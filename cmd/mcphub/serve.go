package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/hub"
	"mcphub/internal/exit"
	"mcphub/internal/guardian"
	"mcphub/internal/setup"
	"mcphub/internal/stdio"
)

func serveCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	var address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over standard input and output, or over HTTP",
		Long: "Serves one MCP client over standard input and output. Register this command in an\n" +
			"IDE or agent. Without a configuration the embedded filesystem server is offered.\n" +
			"With --http it serves any number of clients over Streamable HTTP at /mcp instead.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), src, &logs, address) },
	}
	configFlags(cmd, src)
	logs.register(cmd, "info")
	cmd.Flags().StringVar(&address, "http", "", "serve Streamable HTTP on this address (host:port; config: that of http.listen in hub.json)")
	return cmd
}

// listenConfigured is the value of --http that means http.listen. It is no address.
const listenConfigured = "config"

func serve(ctx context.Context, src *setup.Source, logs *logFlags, address string) error {
	log, err := logs.logger(os.Stderr)
	if err != nil {
		return err
	}
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // before anybody can mean this hub: it would end by one
	defer signal.Stop(hangUps)
	made, err := src.Read(os.Stderr, log)
	if err != nil {
		return err
	}
	beside := attend(&made)
	defer beside.stop()
	h, err := hub.New(made.Hub)
	if err != nil {
		return exit.Errorf(exit.Config, "%w", err)
	}
	reload := newReloader(*src, made.File, h, hangUps, log)
	beside.reload = reload.Reload
	if address == "" {
		beside.client = guardian.Client() // what it starts may not approve calls in its place
	}
	beside.start(h)
	defer tuneCollector()()
	if address != "" {
		return serveHTTP(ctx, h, made.File, log, address, reload)
	}
	in, out, restore := stdio.Open()
	defer restore()
	return runHub(ctx, h, log, reload.during(func(ctx context.Context) error { return h.ServeStdio(ctx, in, out) }))
}

// A program with few children has started them by startSoon, one with many by
// startLate: what reading their schemas took is garbage then.
const (
	startSoon = 500 * time.Millisecond
	startLate = 3 * time.Second
)

// tuneCollector lets garbage grow to a few times the heap before it is
// collected: the heap of a relay is small, so by the default the collector would
// run every few hundred calls, which costs a third of a call. What the start
// took is given back when that is over. Who sets GOGC is obeyed.
func tuneCollector() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(400)
	soon := time.AfterFunc(startSoon, debug.FreeOSMemory)
	late := time.AfterFunc(startLate, debug.FreeOSMemory)
	return func() {
		soon.Stop()
		late.Stop()
	}
}

// stopWait is how long a front may take to notice that it shall end. One that
// reads from a terminal never does: then the process ends around it.
const stopWait = time.Second

// runHub runs a Hub for as long as front does: children are up before the
// front is served, and stopped after it has ended.
func runHub(ctx context.Context, h *hub.Hub, log zerolog.Logger, front func(context.Context) error) error {
	defer adopt(log)()
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
