package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/progress"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/hub"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
	"mcphub/rootsmgr/guard"
)

func warmCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	var roots []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "warm [NAME...]",
		Short: "Install and start servers once, so that later starts and lists need not wait",
		Long: "Starts every server of hub.json, or those that are named, once, keeps what it offers in\n" +
			"the cache and stops it again. From then on tools/list is answered at once, and a server\n" +
			"is started when it is first called (unless hub.json says \"start\": \"eager\"). What a\n" +
			"server with a sandbox runs by npx, uvx and the like is installed before, and looked up\n" +
			"again if its version is not written out. Prints for each server how many tools it\n" +
			"has, how long it took, and the package; or why it does not start: then the exit status\n" +
			"is 1.",
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := logs.newLogger(os.Stderr)
			if err != nil {
				return err
			}
			useDisabled(src, cmd.ErrOrStderr(), args...)
			made, err := src.Read(stderr, log)
			if err != nil {
				return err
			}
			defer made.WaitForLogins()
			given, err := warmRoots(made.Hub, roots)
			if err != nil {
				return err
			}
			if err := keepNamed(&made.Hub, args); err != nil {
				return err
			}
			return warmServers(cmd.Context(), cmd.OutOrStdout(), made.Hub, given, asJSON)
		},
	}
	cmd.Flags().StringArrayVar(&roots, "root", nil, "a directory in scope while they start; may be repeated. Without one the fallbacks count")
	jsonFlag(cmd, &asJSON)
	configFlags(cmd, src)
	logs.registerFlags(cmd, "error")
	return cmd
}

// warmRoots returns the roots that servers are started with.
func warmRoots(cfg hub.Config, given []string) ([]guard.Root, error) {
	if len(given) == 0 {
		return cfg.Fallback.Snapshot(cfg.FS, 1, cfg.Checker.Rules().WritableDirs()).Roots(), nil
	}
	paths, err := existingRoots(given)
	return askedRoots(paths).Roots(), err
}

// warmServers starts every child once and reports what became of it.
func warmServers(ctx context.Context, out io.Writer, cfg hub.Config, roots []guard.Root, asJSON bool) error {
	became, started, err := startOnce(ctx, &cfg, roots)
	if err != nil {
		return err
	}
	return newWarmReport(&cfg, became, started).printWarm(out, asJSON)
}

// startOnce starts every child, waits until it has listed what it offers or has failed, and ends it. It returns what became of each.
func startOnce(ctx context.Context, cfg *hub.Config, roots []guard.Root) (became map[string]children.Status, started *startTimes, err error) {
	defer service.Adopt(cfg.Log)()
	started = &startTimes{took: map[string]time.Duration{}, since: map[string]time.Time{}, offers: map[string]*offers.RawOffer{}}
	options := children.SupervisorOptions{
		Changed: started.noteChange, Request: refuseRequest, Log: cfg.Log, Version: cfg.Version, MaxStarting: cfg.Limits.Starting,
		Environ: cfg.Environ, Home: cfg.Home, Dir: cfg.Dir, Cache: cfg.Cache, Secret: cfg.Secret, Login: cfg.Login, Renew: true,
	}
	for i := range cfg.Children {
		child := cfg.Children[i].Spec
		child.Start = spec.StartEager
		child.Share = spec.ShareSession // what it offers is the same, no matter for whom
		options.Specs = append(options.Specs, child)
	}
	sup := children.NewSupervisor(options)
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- sup.Run(runCtx) }()
	key := func(name string) spec.Key { return spec.Key{Child: name, Instance: "warm"} }
	within := sup.WithBoundary(sandbox.Boundary{})
	for i := range cfg.Children {
		its := within
		if cfg.Children[i].Spec.Share != spec.ShareAll { // a server that all users share is listed once for all
			its = within.ForPrincipal(principal.User().RightsKey())
		}
		its.EnsureInstance(key(cfg.Children[i].Spec.Name), roots)
	}
	over := running.Watch(func() (steps []progress.Step) {
		for _, st := range sup.Status() {
			if phase := phaseOf(st.State.String(), printable.Clean(st.Err), st.Stderr, st.PID); phase != "" {
				steps = append(steps, progress.Step{Name: st.Child, Phase: phase})
			}
		}
		return steps
	})
	defer over()
	for _, spec := range options.Specs {
		select {
		case <-sup.Settled(key(spec.Name)):
		case <-ctx.Done():
		}
	}
	over()
	became = map[string]children.Status{}
	for _, st := range sup.Status() {
		became[st.Child] = st
	}
	stop()
	if err := <-done; err != nil {
		return nil, nil, err
	}
	return became, started, ctx.Err()
}

// warmReport is the result of warm; the shape of --json.
type warmReport struct {
	Servers []warmedServer `json:"servers"` // in the order of hub.json, the ones that cannot be started last
}

type warmedServer struct {
	Name         string `json:"name"`
	Tools        int    `json:"tools"`
	Milliseconds int64  `json:"milliseconds"`      // from its turn to being ready, an install included
	Package      string `json:"package,omitempty"` // that runs instead of a launcher, with its version
	Became       string `json:"became,omitempty"`  // installed, current or updated
	Problem      string `json:"problem,omitempty"` // why it was not looked for a newer version
	Error        string `json:"error,omitempty"`   // why it did not start
}

// newWarmReport returns what became of each server of hub.json.
func newWarmReport(cfg *hub.Config, became map[string]children.Status, started *startTimes) warmReport {
	w := warmReport{Servers: []warmedServer{}}
	for i := range cfg.Children {
		s := warmedServer{Name: printable.Clean(cfg.Children[i].Spec.Name)}
		if st := became[cfg.Children[i].Spec.Name]; st.Listed {
			s.Tools, s.Milliseconds = st.Tools, started.startTime(st.Child).Round(time.Millisecond).Milliseconds()
			if p := st.Package; p.Name != "" {
				s.Package, s.Became, s.Problem = printable.Clean(p.Name+layout.WithPrefix("@", p.Version)), p.Change, oneLine(p.Problem)
			}
		} else {
			s.Error = warmReason(st)
		}
		w.Servers = append(w.Servers, s)
	}
	for _, b := range cfg.Broken {
		w.Servers = append(w.Servers, warmedServer{Name: printable.Clean(b.Name), Error: oneLine(b.Reason)})
	}
	return w
}

// printWarm writes it, and is an error if a server did not start.
func (w warmReport) printWarm(out io.Writer, asJSON bool) error {
	failed := 0
	t := layout.NewTable(out)
	for _, s := range w.Servers {
		if s.Error != "" {
			failed++
			t.Row(s.Name, "failed", "", "", s.Error)
			continue
		}
		t.Row(s.Name, fmt.Sprintf("%d tools", s.Tools), (time.Duration(s.Milliseconds) * time.Millisecond).String(), s.Package, s.Became+layout.WithPrefix("; no newer version was found: ", s.Problem))
	}
	var err error
	if asJSON {
		err = layout.JSON(out, w)
	} else {
		err = t.Flush()
	}
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d servers did not start", failed, len(w.Servers))
	}
	return nil
}

// warmReason returns why a child did not start, with the last line that it
// wrote if that is not the reason itself.
func warmReason(st children.Status) string {
	reason := oneLine(cmp.Or(st.LastFailure, st.Err)) // it may be waiting for another try by now
	tail := strings.TrimSpace(st.Stderr)
	if last := tail[strings.LastIndexByte(tail, '\n')+1:]; last != "" && !strings.Contains(reason, oneLine(last)) {
		reason += "; it last wrote: " + printable.Clean(last)
	}
	return reason
}

// startTimes notes how long each child took from its turn to being ready, and what it offered last.
type startTimes struct {
	mu     sync.Mutex
	since  map[string]time.Time
	took   map[string]time.Duration
	offers map[string]*offers.RawOffer
}

func (s *startTimes) noteChange(st children.Status, offer *offers.RawOffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if offer != nil && st.State == children.Ready {
		s.offers[st.Child] = offer
	}
	switch st.State {
	case children.Starting:
		s.since[st.Child] = st.Since
	case children.Ready:
		if _, known := s.took[st.Child]; !known {
			s.took[st.Child] = st.Since.Sub(s.since[st.Child])
		}
	}
}

func (s *startTimes) startTime(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took[name]
}

// lastOffer returns what a child offered; nil if it has not listed it.
func (s *startTimes) lastOffer(name string) *offers.RawOffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offers[name]
}

// refuseRequest is for what children ask: no one serves that.
func refuseRequest(_ context.Context, _ spec.Key, m *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.RefuseMethod(m.Method + " is not served while warming up")
}
