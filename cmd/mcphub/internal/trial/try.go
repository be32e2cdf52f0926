package trial

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/learn"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/hub"
	"mcphub/hub/status"
)

// An Attempt is one start of one server.
type Attempt struct {
	Spec      spec.Spec
	Status    status.Child // at its end
	Tools     []client.Tool
	Prompts   []string
	Resources []string
	Failed    []string // why calls of Options.Calls failed
}

// Ready reports whether the server has answered the handshake and listed its tools.
func (r *Attempt) Ready() bool {
	return r.Status.State == children.Ready.String() && r.Status.Listed
}

// A Result is the outcome of trying one server.
type Result struct {
	Skipped    string            // why it was not started at all; "": it was
	Works      bool              // as it will run it lists all that it lists without the kernel
	Run        Attempt           // as it will run
	Unconfined *Attempt          // without the kernel; nil: it was not started so
	Missing    []string          // what Unconfined alone lists
	Recorded   sandbox.Recorded  // what its entry has, and what Options.Confirm gave to it
	Closed     learn.Recording   // what Run would have opened beyond that
	Refused    []sandbox.Refusal // what the kernel has refused Run, as far as notices and the server tell
}

// Kernel reports whether the kernel is why it does not work.
func (r *Result) Kernel() bool { return !r.Works && r.Unconfined != nil && r.Unconfined.Ready() }

// Try starts one server of a configuration as it will run. If the kernel holds it, it is
// started again without the kernel after it has ended, unless o says otherwise.
func Try(ctx context.Context, cfg hub.Config, name string, o Options) (Result, error) {
	at := slices.IndexFunc(cfg.Children, func(c hub.Child) bool { return c.Spec.Name == name })
	if at < 0 {
		return Result{}, fmt.Errorf("there is no server %q to try", name)
	}
	only := cfg.Children[at]
	if o.Confined {
		if why := unheldReason(&only.Spec); why != "" {
			return Result{Skipped: why}, nil
		}
	}
	run, closed, err := recordRun(ctx, cfg, &only, o)
	if err != nil {
		return Result{}, err
	}
	r := Result{Run: run, Works: run.Ready(), Recorded: only.Spec.Sandbox.Recorded, Closed: closed}
	if held := run.Status.Sandbox; o.Confined || only.Spec.URL != "" || held.Profile == nil && !only.Spec.Sandbox.Confines() {
		r.Refused = kernelRefusals(&run, closed)
		return r, nil
	}
	only.Spec.Sandbox = sandbox.Settings{}
	free, err := startOne(ctx, cfg, only, o)
	if err != nil {
		return r, err
	}
	r.Unconfined, r.Missing = &free, missingOffers(&run, &free)
	if r.Works = r.Works && len(r.Missing) == 0; !r.Works {
		r.Refused = kernelRefusals(&run, closed)
	}
	return r, nil
}

// maxRounds bounds how often a start is repeated with what was confirmed: a server may stop at the first open
// that is refused.
const maxRounds = 4

// recordRun starts a server as it will run and records what it would open beyond its profile. It starts it
// again with what Options.Confirm gives to it, until nothing is new. closed is what the last start was refused.
func recordRun(ctx context.Context, cfg hub.Config, c *hub.Child, o Options) (run Attempt, closed learn.Recording, err error) {
	if o.Confirm == nil || c.Spec.URL != "" || unheldReason(&c.Spec) != "" {
		run, err = startOne(ctx, cfg, *c, o)
		return run, closed, err
	}
	facts := learn.Facts{Withheld: cfg.Checker.ClosedPaths(c.Spec.Name), Home: cfg.Home, Names: c.Spec.Program().OwnNames()}
	for i := range cfg.Children {
		if other := &cfg.Children[i].Spec; other.Name != c.Spec.Name {
			for _, p := range other.Sandbox.Recorded.Paths {
				if p.Use == sandbox.Keeps {
					facts.Others = append(facts.Others, p.Path)
				}
			}
		}
	}
	var tried []sandbox.RecordedPath
	for round := 0; ; round++ {
		cfg.Record = &sandbox.Recorder{}
		if run, err = startOne(ctx, cfg, *c, o); err != nil {
			return run, closed, err
		}
		if cfg.Record.Refused() != nil { // the kernel gives no notices
			cfg.Record = nil
			run, err = startOne(ctx, cfg, *c, o)
			return run, closed, err
		}
		held := run.Status.Sandbox
		if facts.Profile = cfg.Record.Profile(); facts.Profile == nil {
			return run, closed, nil
		}
		facts.Uses, facts.Never, facts.Named = cfg.Record.Uses(), held.Never, nil
		for _, n := range held.Named {
			facts.Named = append(facts.Named, n.Path)
		}
		had := c.Spec.Sandbox.Recorded.Paths
		for _, p := range had {
			if p.Beside {
				facts.Named = append(facts.Named, p.Path)
			}
		}
		facts.Tried = nil
		for _, p := range tried {
			if _, err := os.Lstat(p.Path); err != nil { // no start has made it
				facts.Tried = append(facts.Tried, p.Path)
			}
		}
		closed = learn.Record(facts)
		closed.Own, closed.Shown = pathsBeyond(closed.Own, had), pathsBeyond(closed.Shown, had)
		if round == maxRounds || len(closed.Own)+len(closed.Shown) == 0 {
			return run, closed, nil
		}
		given, err := o.Confirm(c.Spec.Name, closed)
		if err != nil || len(given) == 0 {
			return run, closed, err
		}
		had = slices.DeleteFunc(slices.Clone(had), func(p sandbox.RecordedPath) bool { return isReplaced(p, tried, given) })
		for _, p := range given {
			if p.Use == sandbox.Writes && p.Temporary == "" {
				tried = append(tried, p)
			}
		}
		c.Spec.Sandbox.Recorded = sandbox.Recorded{Of: held.Of, Paths: append(had, given...)}
	}
}

// isReplaced reports whether a path was given in this trial for a name that a pattern stands for now, or by a pattern that was too narrow.
func isReplaced(p sandbox.RecordedPath, tried, given []sandbox.RecordedPath) bool {
	return slices.ContainsFunc(given, func(g sandbox.RecordedPath) bool {
		if g.Temporary == "" || filepath.Dir(g.Path) != filepath.Dir(p.Path) {
			return false
		}
		is, err := path.Match(g.Temporary, filepath.Base(p.Path))
		return g.Path == p.Path || err == nil && is && slices.Contains(tried, p)
	})
}

// pathsBeyond returns the paths that others do not give.
func pathsBeyond(paths, had []sandbox.RecordedPath) []sandbox.RecordedPath {
	return slices.DeleteFunc(paths, func(p sandbox.RecordedPath) bool {
		return slices.ContainsFunc(had, func(o sandbox.RecordedPath) bool { return learn.Covers(o, p) })
	})
}

// unheldReason returns why the kernel would hold no part of a server that is a process here.
func unheldReason(s *spec.Spec) string {
	system := sandbox.CurrentKernel()
	switch {
	case s.URL != "":
		return ""
	case s.Sandbox.Cannot != "":
		return s.Sandbox.Cannot
	case !s.Sandbox.Confines():
		return "the sandbox is off, so the kernel would hold nothing of it"
	case system.ABI == 0:
		return "no kernel enforcement here: " + system.Why
	}
	return ""
}

// startOne starts one server.
func startOne(ctx context.Context, cfg hub.Config, c hub.Child, o Options) (Attempt, error) {
	o.Timeout = o.timeFor(&c.Spec)
	cfg.Children, cfg.Broken, cfg.Disabled = []hub.Child{c}, nil, nil
	seen, err := Start(ctx, cfg, o)
	if err != nil {
		return Attempt{}, err
	}
	r := Attempt{Spec: c.Spec, Tools: seen.Tools[c.Spec.Name], Prompts: seen.Prompts, Resources: seen.Resources, Failed: seen.Failed}
	for i := range seen.Status.Children {
		if st := &seen.Status.Children[i]; st.Server == c.Spec.Name {
			r.Status = *st
		}
	}
	return r, nil
}

// timeFor returns how long one start of a server may take: as long as it may when it is served, or more.
func (o Options) timeFor(s *spec.Spec) time.Duration {
	return max(o.Timeout, s.WithDefaults().StartTimeout)
}

// missingOffers returns what a server offers without the kernel alone. Resources come and
// go by themselves, so of them only the number counts.
func missingOffers(run, free *Attempt) (out []string) {
	for _, t := range free.Tools {
		if !slices.ContainsFunc(run.Tools, func(have client.Tool) bool { return have.ToolName == t.ToolName }) {
			out = append(out, "the tool "+t.ToolName)
		}
	}
	for _, p := range free.Prompts {
		if !slices.Contains(run.Prompts, p) {
			out = append(out, "the prompt "+p)
		}
	}
	if n := len(free.Resources) - len(run.Resources); n > 0 {
		out = append(out, fmt.Sprintf("%d of %d resources", n, len(free.Resources)))
	}
	return out
}

// kernelRefusals returns what the kernel has refused a server: what was noted of that, which is exact, and then
// what the server has said.
func kernelRefusals(r *Attempt, closed learn.Recording) (all []sandbox.Refusal) {
	for _, p := range closed.Shown {
		f := sandbox.Refusal{Path: p.Path, Access: sandbox.Read, By: sandbox.ByServer, Opens: p.Path}
		if p.Use != sandbox.Reads {
			f.Access = sandbox.Write
		}
		all = append(all, f)
	}
	held := r.Status.Sandbox
	reads := hints.Reader{Profile: held.Profile, Named: held.Named, Never: held.Never, Brokers: sandbox.CurrentKernel().Asks()}
	for line := range strings.Lines(r.Status.Stderr) {
		found, ok, first := reads.ReadStderr(line)
		if ok && first && !slices.ContainsFunc(closed.Shown, func(p sandbox.RecordedPath) bool {
			return sandbox.Contains(p.Path, found.Path) || sandbox.Contains(found.Path, p.Path)
		}) {
			all = append(all, found)
		}
	}
	return all
}
