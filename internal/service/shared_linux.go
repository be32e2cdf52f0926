package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"mcphub/hub"
	"mcphub/internal/attach"
	"mcphub/internal/attach/door"
	"mcphub/internal/caller"
	"mcphub/internal/consent"
	"mcphub/internal/exit"
	"mcphub/internal/setup"
	"mcphub/internal/stdio"
)

// readyLine is what a shared hub says on standard output once sessions can attach.
const readyLine = "ready\n"

// ServeShared serves the sessions that attach, until ctx ends or none has been attached for
// attach.idle. It says on standard output when they can.
func ServeShared(ctx context.Context, src *setup.Source, log zerolog.Logger, logger Logger) error {
	if err := caller.Self(caller.Want{}); err != nil {
		return exit.Errorf(exit.Failure, "%w", err)
	}
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	place, err := attach.PlaceOf(attach.Line{Config: src.Config, Set: src.Set}, os.Environ())
	if err != nil {
		return exit.Errorf(exit.Failure, "%w", err)
	}
	dir, err := place.Folder()
	if err != nil {
		return exit.Errorf(exit.Failure, "%w", err)
	}
	src.Shares = true
	var said bytes.Buffer
	made, err := src.Read(io.MultiWriter(os.Stderr, &said), log)
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
	reload.warnings.Store(said.String())
	side.reload = reload
	side.clients, side.shared = h.Clients, true
	defer src.Keep(consent.ClientProcess{}, log)()
	d, err := door.New(door.Config{
		Place: place, Dir: dir, Idle: made.File.Attach.Idle, Log: log, Open: reload.shared.Load,
		Prepare: func(ctx context.Context, g *door.Guest) (door.Serve, error) {
			return prepare(ctx, h, src, g, log, logger, withoutEntries(reload.said()))
		},
		HangUp: func() {
			select {
			case hangUps <- syscall.SIGHUP:
			default: // it is about to read it anyway
			}
		},
	})
	if err != nil {
		return exit.Errorf(exit.Failure, "%w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return exit.Errorf(exit.Failure, "%w", err)
	}
	defer null.Close()
	side.start(h)
	defer giveBack()()
	return Run(ctx, h, log, reload.during(func(ctx context.Context) error {
		_, _ = os.Stdout.WriteString(readyLine) // to whom has started it, and may have given up
		_ = unix.Dup3(int(null.Fd()), 1, 0)
		return d.Run(ctx)
	}))
}

// withoutEntries leaves out what is wrong with entries in the environment of the hub: no session is served by it. status
// says what is wrong in that of a session.
func withoutEntries(said string) string {
	var kept strings.Builder
	for line := range strings.Lines(said) {
		if !strings.Contains(line, ": error: mcpServers.") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// prepare makes ready to serve a session that attaches, or says why it cannot be served here.
// It is told on its standard error what there is to say of hub.json, as by a hub of its own.
func prepare(ctx context.Context, h *hub.Hub, src *setup.Source, g *door.Guest, hubLog zerolog.Logger, logger Logger, ofConfig string) (door.Serve, error) {
	lines := newLineWriter()
	if ofConfig != "" {
		_, _ = lines.Write([]byte(ofConfig)) // there is room
	}
	log, err := logger(lines, g.Line.LogLevel)
	if err != nil {
		return nil, err
	}
	session, err := h.Prepare(ctx, hub.Surroundings{
		Environ: g.Environ, Dir: g.Dir, Roots: g.Line.Roots, RootsGiven: g.Line.RootsGiven,
		Client: g.Client, Adapter: g.Adapter, Log: &log,
	})
	if err != nil {
		return nil, err
	}
	if src.Reach != nil {
		if err := src.Reach.Serves(consent.ClientProcess{PID: g.Client.PID, Start: g.Client.Start}); err != nil {
			return nil, fmt.Errorf("it cannot be put on record for other hubs who is served: %w", err)
		}
	}
	return func(ctx context.Context) int {
		in := stdio.Handed(g.In, "standard input", os.O_RDONLY)
		out := stdio.Handed(g.Out, "standard output", os.O_WRONLY)
		said := stdio.Handed(g.Err, "standard error", os.O_WRONLY)
		var telling sync.WaitGroup
		telling.Go(func() { lines.run(said) })
		defer telling.Wait()
		defer lines.close(said)
		hubLog.Info().Int("adapter", g.Adapter.PID).Int("client", g.Client.PID).Msg("a session has attached")
		err := session.ServeStdio(ctx, in, out)
		hubLog.Info().Int("adapter", g.Adapter.PID).Msg("an attached session has ended")
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), door.ErrLeft) {
			log.Error().Msg("the shared hub that served this client has ended; start the client's session again")
			return exit.Failure
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			log.Error().Err(err).Msg("the session has ended")
			return exit.Failure
		}
		return exit.OK
	}, nil
}
