package service

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/guardian"
	"mcphub/cmd/mcphub/internal/loginpage"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/internal/caller"
	"mcphub/internal/stdio"
)

// A Logger makes the log of one session: level is what its --log-level said, "" if nothing.
type Logger func(w io.Writer, level string) (zerolog.Logger, error)

// Serve serves one client over standard input and output or, with an address,
// any number over HTTP, until ctx ends.
func Serve(ctx context.Context, src *setup.Source, log zerolog.Logger, address string) error {
	if address != "" {
		src.Desk = new(loginpage.Desk) // it outlasts each reading of hub.json
		return serveHub(ctx, src, log, os.Stderr, front{ends: true, open: func(s *serving) (func(context.Context) error, func(), error) {
			return serveHTTP(ctx, s, address, src)
		}})
	}
	client := guardian.ClientPID() // what it starts may not approve calls in its place
	return serveHub(ctx, src, log, os.Stderr, front{
		client:  processOf(client),
		clients: func(*hub.Hub) []caller.Process { return []caller.Process{{PID: client}} },
		open: func(s *serving) (func(context.Context) error, func(), error) {
			in, out, restore := stdio.Open()
			return func(ctx context.Context) error {
				return s.hub.ServeStdio(ctx, in, out, hub.Surroundings{Toolsets: src.Toolsets})
			}, restore, nil
		},
	})
}

// A front connects clients with a hub.
type front struct {
	client  consent.ClientProcess             // whom it serves alone
	clients func(h *hub.Hub) []caller.Process // that are served; nil: they come over HTTP
	shared  bool                              // sessions attach
	ends    bool                              // it takes the time that it needs to end, and no more
	// open opens the front of a hub that is about to run. run serves until its ctx ends; done is called after it has ended.
	open func(s *serving) (run func(context.Context) error, done func(), err error)
}

// serving is a hub with what serve keeps beside it.
type serving struct {
	hub     *hub.Hub
	made    *setup.Result
	log     zerolog.Logger
	side    *sidecar
	reload  *reloader
	hangUps chan os.Signal
}

// serveHub makes a hub of what src reads and serves it by a front. What is wrong with hub.json goes to warnings. What is
// opened first is closed last: the record and the logs outlive the hub, and the hub its front.
func serveHub(ctx context.Context, src *setup.Source, log zerolog.Logger, warnings io.Writer, f front) error {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // before anybody can mean this hub: it would end by one
	defer signal.Stop(hangUps)
	made, err := src.Read(warnings, log)
	if err != nil {
		return err
	}
	defer made.WaitForLogins()
	overHTTP := f.clients == nil
	var copied io.Writer // over stdio standard output is the client's
	if overHTTP && made.File.Audit.Stdout {
		copied = os.Stdout
	}
	// The record, the logs and the file of where servers may write are opened beside each other: each waits for the disk.
	var keeping sync.WaitGroup
	letGo := func() {}
	keeping.Go(func() { letGo = src.Keep(f.client, log) })
	defer func() {
		keeping.Wait()
		letGo()
	}()
	side := openSidecar(&made, copied)
	defer side.stopAll()
	if err := side.openTelemetry(ctx, &made, overHTTP); err != nil {
		return err
	}
	h, err := hub.New(made.Hub)
	if err != nil {
		return exit.ConfigErrorf("%w", err)
	}
	s := &serving{hub: h, made: &made, log: log, side: side, reload: newReloader(*src, &made, h, hangUps, log), hangUps: hangUps}
	side.reload, side.shared = s.reload, f.shared
	if f.clients != nil {
		side.clients = func() []caller.Process { return f.clients(h) }
	}
	keeping.Wait() // before a server starts
	side.startAll(h)
	defer giveBack()()
	run, done, err := f.open(s)
	if err != nil {
		return err
	}
	defer done()
	if f.ends {
		return runUntilEnd(ctx, h, log, s.reload.runDuring(run))
	}
	return Run(ctx, h, log, s.reload.runDuring(run))
}

// processOf names a process, if there is one.
func processOf(pid int) consent.ClientProcess {
	if pid <= 1 {
		return consent.ClientProcess{}
	}
	return consent.ClientProcess{PID: pid, Start: caller.Started(pid)}
}

// listenConfigured is the value of --http that means http.listen. It is no address.
const listenConfigured = "config"
