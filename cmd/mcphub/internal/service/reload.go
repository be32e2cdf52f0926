package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/notify"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

// reloader brings changes of hub.json to a Hub that runs: a change of the
// file or a signal leads to load, check, wire, Hub.Apply. Run's goroutine owns
// all of it; other goroutines may call Reload only.
type reloader struct {
	src     setup.Source
	hub     *hub.Hub
	web     *httpServer // nil over standard input; set before Run
	log     zerolog.Logger
	signals <-chan os.Signal // each has the file looked at
	asks    chan func(context.Context)
	ended   chan struct{} // closed when Run has returned

	started *config.File // what cannot change while the hub runs is as in it
	loaded  *config.File // what is in force
	state   status.Config
	watched *fileWatch

	shared   atomic.Bool  // what is in force says attach
	warnings atomic.Value // string: what was said of hub.json when it was read last
}

// newReloader makes the reloader of a Hub that was made of what was read. It starts
// nothing.
func newReloader(src setup.Source, made *setup.Result, h *hub.Hub, signals <-chan os.Signal, log zerolog.Logger) *reloader {
	r := &reloader{src: src, hub: h, log: log, signals: signals, asks: make(chan func(context.Context)), ended: make(chan struct{}), started: made.File, loaded: made.File}
	r.state = status.Config{File: made.File.Path, LoadedAt: time.Now(), Waiting: made.Waiting}
	r.shared.Store(made.File.Attach.Mode == keys.AttachAuto)
	r.warnings.Store("")
	h.SetConfigState(r.state)
	return r
}

// Run reloads until ctx ends.
func (r *reloader) Run(ctx context.Context) {
	defer close(r.ended)
	defer func() { r.watched.stopWatch() }()
	for {
		r.watchFile(ctx)
		select {
		case <-ctx.Done():
			return
		case c := <-r.watched.changesOf():
			r.followChange(ctx, c)
		case <-r.signals:
			_ = r.tryReload(ctx) // told by log and status
		case do := <-r.asks:
			do(ctx)
		}
	}
}

// runDuring has Run run for as long as a front does.
func (r *reloader) runDuring(front func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer func() {
			cancel()
			<-r.ended
		}()
		go r.Run(ctx)
		return front(ctx)
	}
}

var errReloaderEnded = errors.New("the hub is stopping")

// askRun has Run's goroutine do something, and waits for it. If the error is not nil, do
// may still be at work.
func (r *reloader) askRun(ctx context.Context, do func(context.Context)) error {
	done := make(chan struct{})
	select {
	case r.asks <- func(ctx context.Context) { do(ctx); close(done) }:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ended:
		return errReloaderEnded
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Reload reads hub.json again and waits until that has happened. The error
// reports why the former configuration goes on, or what of the file waits for a
// person.
func (r *reloader) Reload(ctx context.Context) error {
	var failed error
	if err := r.askRun(ctx, func(ctx context.Context) { failed = r.tryReload(ctx) }); err != nil {
		return err
	}
	return failed
}

// followChange follows what the watcher saw.
func (r *reloader) followChange(ctx context.Context, c hubfile.Change) {
	if c.Err == nil && c.Sum == r.loaded.Sum && c.Trail.RealPath() == r.loaded.Trail.RealPath() && r.state.Waiting == "" {
		// It is again what it was, or was read already.
		r.changeState(func(s *status.Config) { s.LastError, s.ErrorAt = "", nil })
		return
	}
	_ = r.tryReload(ctx) // told by log and status
}

// tryReload returns one attempt. What it cannot do it says in the log, in the
// state, and by the error; then everything is as it was.
func (r *reloader) tryReload(ctx context.Context) error {
	notify.Tell(notify.Reloading()...)
	defer notify.Tell("READY=1")
	accepted, applied, err := r.attemptReload(ctx)
	if err != nil {
		return r.refuseReload(err)
	}
	file, waiting := accepted.File, accepted.Waiting
	if waiting != "" && waiting != r.state.Waiting {
		r.log.Warn().Str("file", file.Path).Msg(waiting)
	}
	if applied == nil { // what is in force is that already
		r.changeState(func(s *status.Config) { s.LastError, s.ErrorAt, s.Waiting = "", nil, waiting })
		return waitingError(waiting)
	}
	r.loaded = file
	r.shared.Store(file.Attach.Mode == keys.AttachAuto)
	event := r.log.Info().Str("file", file.Path).Uint64("generation", applied.Generation)
	for i, list := range [][]string{applied.Added, applied.Replaced, applied.Removed} {
		if len(list) > 0 {
			event = event.Strs([]string{"added", "replaced", "removed"}[i], list)
		}
	}
	event.Msg("configuration reloaded")
	state := status.Config{File: file.Path, LoadedAt: time.Now(), Waiting: waiting}
	for _, p := range file.AfterRestart(r.started) {
		r.log.Warn().Msg(p.String())
		state.Restart = append(state.Restart, p.Key)
	}
	r.changeState(func(s *status.Config) { *s = state })
	return waitingError(waiting)
}

// waitingError returns the error of what waits for a person; nil if nothing does.
func waitingError(waiting string) error {
	if waiting == "" {
		return nil
	}
	return errors.New(waiting)
}

// attemptReload loads, checks, wires and applies. applied is nil where what may be in force
// is in force.
func (r *reloader) attemptReload(ctx context.Context) (setup.AcceptedConfig, *hub.ReloadReport, error) {
	if fi, err := os.Stat(r.loaded.Path); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		return setup.AcceptedConfig{}, nil, fmt.Errorf("configuration %s is no regular file; what was read from it at the start stays in force", r.loaded.Path)
	}
	if r.loaded.Path != "" {
		// The same file, also if it is gone: without one there would be another
		// configuration, and a file that is lost must not make the other one hold.
		r.src.Config = r.loaded.Path
	}
	var said bytes.Buffer
	warnings := io.MultiWriter(lineLog{r.log}, &said)
	accepted, err := r.src.Accepted(warnings, r.hub.FindRootOf)
	if err != nil {
		return accepted, nil, err
	}
	defer func() {
		if accepted.Waiting != "" {
			fmt.Fprintln(&said, "mcphub: "+printable.Clean(accepted.Waiting))
		}
		r.warnings.Store(said.String())
	}()
	follow, err := r.web.prepareSettings(ctx, accepted.File)
	if err != nil {
		return accepted, nil, err
	}
	if accepted.Waiting != "" && r.loaded.Equivalent(accepted.File) {
		follow() // the files that it names may be others
		return accepted, nil, nil
	}
	made, err := r.src.Build(accepted.File, warnings, r.log)
	if err == nil {
		err = r.src.CheckToolsets(&accepted, made.Hub.Toolsets)
	}
	if err != nil {
		return accepted, nil, err
	}
	applied, err := r.hub.Apply(ctx, made.Hub)
	if err == nil {
		follow()
	}
	return accepted, &applied, err
}

// configMessages returns the messages about hub.json that a session gets when it attaches.
func (r *reloader) configMessages() string {
	text := r.warnings.Load().(string)
	if wrong := r.hub.ConfigState().LastError; wrong != "" {
		for line := range strings.Lines(wrong) {
			text += "mcphub: hub.json is not taken as it is now: " + printable.Clean(line) + "\n"
		}
	}
	return text
}

// planReload returns what a reload would do, by its own steps up to the last. text is the file
// that is read instead of hub.json; "": hub.json itself.
func (r *reloader) planReload(text string) (admin.Plan, error) {
	src := r.src
	if r.loaded.Path != "" {
		src.Config = r.loaded.Path
	}
	src.Text = text
	var made setup.Result
	file, err := src.Load(io.Discard)
	if err == nil {
		made, err = src.Build(file, io.Discard, zerolog.Nop())
	}
	if err != nil {
		return admin.Plan{}, errors.New(strings.Join(config.ErrorLines(err), "\n"))
	}
	plan := admin.Plan{}
	for _, p := range made.File.AfterRestart(r.started) {
		plan.AfterRestart = append(plan.AfterRestart, p.Key)
	}
	plan.Servers, err = r.hub.PlanReload(made.Hub)
	return plan, err
}

// Plan returns what a reload would do if hub.json read as another file does; "": as
// it does now.
func (r *reloader) Plan(ctx context.Context, text string) (admin.Plan, error) {
	var plan admin.Plan
	var failed error
	if err := r.askRun(ctx, func(context.Context) { plan, failed = r.planReload(text) }); err != nil {
		return admin.Plan{}, err
	}
	return plan, failed
}

// refuseReload reports that the former configuration goes on, and all that is wrong.
func (r *reloader) refuseReload(err error) error {
	lines := config.ErrorLines(err)
	for _, line := range lines {
		r.log.Error().Str("error", line).Msg("hub.json was not taken; the former configuration stays in force")
	}
	now, text := time.Now(), strings.Join(lines, "\n")
	r.changeState(func(s *status.Config) { s.LastError, s.ErrorAt, s.Waiting = text, &now, "" })
	return errors.New(text)
}

func (r *reloader) changeState(change func(s *status.Config)) {
	change(&r.state)
	r.hub.SetConfigState(r.state)
}

// lineLog makes each line that is written a warning of the log.
type lineLog struct{ log zerolog.Logger }

func (l lineLog) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		l.log.Warn().Msg(string(bytes.TrimRight(line, "\n")))
	}
	return len(b), nil
}
