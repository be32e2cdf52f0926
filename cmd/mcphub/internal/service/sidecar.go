package service

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/childlog"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/delivery"
	"mcphub/cmd/mcphub/internal/desktop"
	"mcphub/cmd/mcphub/internal/guardian"
	"mcphub/cmd/mcphub/internal/otlp"
	"mcphub/cmd/mcphub/internal/retention"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/caller"
)

// A sidecar is what serve keeps beside the Hub: the audit log, the children's
// logs and the socket of mcphub status. The Hub runs as well without the last two.
type sidecar struct {
	log     zerolog.Logger
	version string                       // of this program
	record  func(context.Context) error  // keeps the audit log
	metrics metrics                      // reports what the Hub counts
	traces  *otlp.Tracing                // nil: none are exported
	book    *childlog.Book               // nil: no logs are kept
	reload  *reloader                    // set before start
	clients func() []caller.Process      // that are served over stdio; nil: none
	shared  bool                         // sessions attach to it
	http    atomic.Pointer[httpSettings] // nil: it is not served
	wg      sync.WaitGroup

	undelivered atomic.Uint64 // lines of the record that a collector will not get
	cancel      context.CancelFunc
}

// openSidecar opens the audit log and the children's logs where they are to be, and has the Hub
// report what is to go there. Each line of the audit log goes to copied as well; nil: nowhere.
func openSidecar(made *setup.Result, copied io.Writer) *sidecar {
	cfg := &made.Hub
	a := &sidecar{log: cfg.Log, version: cfg.Version}
	var err error
	var opening sync.WaitGroup // beside the record: each waits for the disk
	if made.Logs != "" {
		opening.Go(func() { a.book, err = childlog.Open(made.Logs, a.log) })
	}
	to := recordTo{copied: copied, lost: func(lines uint64) { a.undelivered.Add(lines) }}
	if made.Syslog.Address != "" {
		to.collectors = append(to.collectors, delivery.Syslog(made.Syslog))
	}
	if c := findLogCollector(cfg.Version, cfg.Log); c != nil {
		to.collectors = append(to.collectors, c)
	}
	a.record = keepRecord(cfg, made.Audit, false, retention.Bounds(made.Keep), to)
	switch opening.Wait(); {
	case err != nil:
		a.log.Warn().Err(err).Msg("what the servers write to stderr is kept in no file")
		a.book = nil
	case a.book != nil:
		cfg.OnStderrLine = func(k spec.Key, pid int, line string) { a.book.Say(k.Child, k.Instance, pid, line) }
	}
	return a
}

// startAll runs all of it until stop is called.
func (a *sidecar) startAll(h *hub.Hub) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.wg.Go(func() {
		if err := a.record(ctx); err != nil {
			a.log.Error().Err(err).Msg("the audit log was not closed as it should be; the next hub does that")
		}
	})
	if a.book != nil {
		a.wg.Go(func() { _ = a.book.Run(ctx) })
	}
	a.wg.Go(func() {
		if err := a.metrics.serveMetrics(ctx, a.log); err != nil {
			a.log.Error().Err(err).Msg("metrics are not served any more")
		}
	})
	notifier := desktop.New(os.Getenv)
	h.Terminal().OnQuestion = func(server, what string, until time.Time) {
		notifier.Tell(desktop.Notice{Title: "mcphub: a call waits for your answer", Text: "The server " + server + " wants to run " + what + ". A terminal or the console takes the answer.", Until: until})
	}
	a.wg.Go(func() {
		notifier.Run(ctx, func(err error) { a.log.Debug().Err(err).Msg("the desktop was not told of a question") })
	})
	cfg := admin.Config{
		Folders: rundir.Sockets(os.Getenv), Version: a.version, Log: a.log,
		Status: func() status.Hub { return a.hubStatus(h) }, Tools: h.Tools, Loaded: func() admin.ConfigReport { return configReport(h.ConfigState(), h.FindRootOf) }, Restart: h.RestartServer, EndSessions: h.EndSessions, HTTP: func() *admin.HTTPReport { return a.http.Load().reportHTTP() },
		Approvals: h.Terminal(), Clients: a.clients, Shared: a.shared, Alone: guardian.AloneReason(), Reload: a.reload.Reload, Plan: a.reload.Plan,
	}
	server := admin.New(cfg)
	a.wg.Go(func() {
		if err := server.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			a.log.Warn().Err(err).Msg("mcphub status will not see this hub")
		}
	})
}

// stopAll ends all of it. It is called once the Hub has ended: the last words of the
// children are kept too.
func (a *sidecar) stopAll() {
	defer a.closeTraces()
	if a.cancel == nil { // it never came to a Hub: the place among the logs is given back
		a.metrics.closeListener()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = a.record(ctx)
		if a.book != nil {
			_ = a.book.Run(ctx)
		}
		return
	}
	a.cancel()
	a.wg.Wait()
}

func (a *sidecar) hubStatus(h *hub.Hub) status.Hub {
	st := h.Status()
	for i := range st.Children {
		if a.book != nil {
			st.Children[i].Log = a.book.File(st.Children[i].Server)
		}
	}
	return st
}

// configReport returns how the Hub stands to its hub.json, as status tells it. inside
// reports where servers may write.
func configReport(c *status.Config, inside func(paths ...string) (string, bool)) admin.ConfigReport {
	if c == nil {
		return admin.ConfigReport{}
	}
	r := admin.ConfigReport{Path: c.File, Loaded: c.LoadedAt, Error: c.LastError, ErrorAt: c.ErrorAt, Waiting: c.Waiting, AfterRestart: c.Restart}
	if c.File != "" {
		if trail, err := hubfile.Follow(c.File); err == nil {
			if root, is := inside(trail.All()...); is {
				r.Inside = cmp.Or(root, "a directory that cannot be told")
			}
		}
	}
	return r
}
