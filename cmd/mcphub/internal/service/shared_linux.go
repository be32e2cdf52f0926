package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/cmd/mcphub/internal/attach/door"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/guardian"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/internal/caller"
	"mcphub/internal/kept"
	"mcphub/internal/proctree"
	"mcphub/internal/stdio"
)

// readyLine is what a shared hub says on standard output once sessions can attach.
const readyLine = "ready\n"

// ServeShared serves the sessions that attach, until ctx ends or none has been attached for
// attach.idle. It says on standard output when they can.
func ServeShared(ctx context.Context, src *setup.Source, log zerolog.Logger, logger Logger) error {
	endpoint, dir, err := sharedEndpoint(src)
	if err != nil {
		return exit.Errorf(exit.Failure, "%w", err)
	}
	if err := proctree.Mark(); err != nil { // before anything is started
		return exit.Errorf(exit.Failure, "no hub can be shared here: its servers cannot be marked, so that they could attach once it is killed: %w", err)
	}
	src.Shares = true
	var said bytes.Buffer
	return serveHub(ctx, src, log, io.MultiWriter(os.Stderr, &said), front{
		clients: (*hub.Hub).ClientProcesses, shared: true,
		open: func(s *serving) (func(context.Context) error, func(), error) {
			s.reload.warnings.Store(said.String())
			return openDoor(s, src, door.Config{Endpoint: endpoint, Dir: dir}, logger)
		},
	})
}

// sharedEndpoint returns the endpoint of the hub that this user's clients share, and its folder. The
// error reports why this process can neither be that hub nor start it.
func sharedEndpoint(src *setup.Source) (endpoint attach.Endpoint, dir string, err error) {
	if err := caller.Self(caller.Want{}); err != nil {
		return endpoint, "", err
	}
	if endpoint, err = attach.EndpointOf(attach.CommandLine{Config: src.Config, Set: src.Set}, os.Environ()); err == nil {
		dir, err = endpoint.Folder()
	}
	return endpoint, dir, err
}

// openDoor opens the door of a hub. It makes the rest of the Config.
func openDoor(s *serving, src *setup.Source, cfg door.Config, logger Logger) (run func(context.Context) error, done func(), err error) {
	cfg.Idle, cfg.Log, cfg.Open = s.made.File.Attach.Idle, s.log, s.reload.shared.Load
	cfg.Prepare = func(ctx context.Context, g *door.Guest) (door.ServeFunc, error) {
		return prepareSession(ctx, s.hub, src, g, s.log, logger, withoutEntries(s.reload.configMessages()))
	}
	cfg.HangUp = func() {
		select {
		case s.hangUps <- syscall.SIGHUP:
		default: // it is about to read it anyway
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, exit.Errorf(exit.Failure, "%w", err)
	}
	guardian.AwaitName() // an adapter that connects before would take this process for a server, and serve its client alone
	_ = proctree.Rename(proctree.HubName)
	d, err := door.New(cfg)
	if err != nil {
		return nil, nil, errors.Join(exit.Errorf(exit.Failure, "%w", err), null.Close())
	}
	return func(ctx context.Context) error {
		_, _ = os.Stdout.WriteString(readyLine) // to whom has started it, and may have given up
		_ = unix.Dup3(int(null.Fd()), 1, 0)
		d.Run(ctx)
		return nil
	}, func() { _ = null.Close() }, nil
}

// openKept opens the memory of a session's state; nil: it has none.
func openKept(h *hub.Hub, g *door.Guest) (*kept.Memory, error) {
	if g.Kept == nil {
		return nil, nil
	}
	m, restored, err := kept.Open(*g.Kept, h.KeptLimits(), g.Out)
	if err != nil {
		g.Kept.Close()
		return nil, err
	}
	if restored && !g.Again {
		m.Close()
		return nil, errors.New("a session begins with the state of another")
	}
	return m, nil
}

// withoutEntries leaves out what is wrong with entries in the environment of the hub: no session is served by it. status
// reports what is wrong in the one of a session.
func withoutEntries(said string) string {
	var kept strings.Builder
	for line := range strings.Lines(said) {
		if !strings.Contains(line, ": error: mcpServers.") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// prepareSession makes ready to serve a session that attaches, or reports why it cannot be served
// here. It is told on its standard error what there is to say about hub.json, as by a hub of its
// own.
func prepareSession(ctx context.Context, h *hub.Hub, src *setup.Source, g *door.Guest, hubLog zerolog.Logger, logger Logger, ofConfig string) (door.ServeFunc, error) {
	lines := &lineWriter{lines: make(chan []byte, maxLines)}
	if ofConfig != "" {
		_, _ = lines.Write([]byte(ofConfig)) // there is room
	}
	log, err := logger(lines, g.LogLevel)
	if err != nil {
		return nil, err
	}
	if state := h.ConfigState(); state == nil || state.Waiting == "" { // else no one knows yet what hub.json has
		if err := setup.CheckToolsets(h.Toolsets().Names(), g.Toolsets); err != nil {
			return nil, err
		}
	}
	session, err := h.PrepareAttachment(ctx, hub.Surroundings{
		Environ: g.Environ, Dir: g.Dir, Roots: g.Roots, RootsGiven: g.RootsGiven, Toolsets: g.Toolsets,
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
		keeps, err := openKept(h, g)
		if err != nil {
			log.Error().Err(err).Msg("the session has ended")
		} else if keeps != nil {
			defer keeps.Close()
			session.KeepSession(keeps)
		}
		in := stdio.Handed(g.In, "standard input", os.O_RDONLY)
		out := stdio.Handed(g.Out, "standard output", os.O_WRONLY)
		said := stdio.Handed(g.Err, "standard error", os.O_WRONLY)
		var telling sync.WaitGroup
		telling.Go(func() { lines.runWriter(said) })
		defer telling.Wait()
		defer lines.closeWriter(said)
		hubLog.Info().Int("adapter", g.Adapter.PID).Int("client", g.Client.PID).Msg("a session has attached")
		if err == nil {
			err = session.ServeStdio(ctx, in, out)
		} else {
			_, _ = in.Close(), out.Close()
		}
		hubLog.Info().Int("adapter", g.Adapter.PID).Msg("an attached session has ended")
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), door.ErrLeft) {
			if keeps != nil && err != nil && !errors.Is(err, hub.ErrSurroundings) {
				return door.Left
			}
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
