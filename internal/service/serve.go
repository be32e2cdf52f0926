package service

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/internal/caller"
	"mcphub/internal/consent"
	"mcphub/internal/exit"
	"mcphub/internal/guardian"
	"mcphub/internal/setup"
	"mcphub/internal/stdio"
)

// A Logger makes the log of one session: level is what its --log-level said, "" if nothing.
type Logger func(w io.Writer, level string) (zerolog.Logger, error)

// Serve serves one client over standard input and output or, with an address,
// any number over HTTP, until ctx ends.
func Serve(ctx context.Context, src *setup.Source, log zerolog.Logger, address string) error {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // before anybody can mean this hub: it would end by one
	defer signal.Stop(hangUps)
	made, err := src.Read(os.Stderr, log)
	if err != nil {
		return err
	}
	defer made.WaitForLogins()
	side := openSidecar(&made)
	defer side.stop()
	h, err := hub.New(made.Hub)
	if err != nil {
		return exit.Errorf(exit.Config, "%w", err)
	}
	reload := newReloader(*src, &made, h, hangUps, log)
	side.reload = reload
	client := 0
	if address == "" {
		client = guardian.Client() // what it starts may not approve calls in its place
		side.clients = func() []caller.Process { return []caller.Process{{PID: client}} }
	}
	defer src.Keep(processOf(client), log)()
	side.start(h)
	defer giveBack()()
	if address != "" {
		return serveHTTP(ctx, h, made.File, log, address, reload, side.http.Store)
	}
	in, out, restore := stdio.Open()
	defer restore()
	return Run(ctx, h, log, reload.during(func(ctx context.Context) error { return h.ServeStdio(ctx, in, out, hub.Surroundings{}) }))
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
