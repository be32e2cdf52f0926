package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/client"
)

// An Attempt is one start of one server.
type Attempt struct {
	Spec      spec.Spec
	Status    status.Child // at its end
	Tools     []client.Tool
	Prompts   []string
	Resources []string
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
	Refused    []sandbox.Refusal // what the kernel has refused Run, as far as the server tells
}

// Kernel reports whether the kernel is why it does not work.
func (r *Result) Kernel() bool { return !r.Works && r.Unconfined != nil && r.Unconfined.Ready() }

// Try starts one server of a configuration as it will run. Where the kernel holds it, it
// is started once more without the kernel after it has ended, unless o says otherwise.
func Try(ctx context.Context, cfg hub.Config, name string, o Options) (Result, error) {
	at := slices.IndexFunc(cfg.Children, func(c hub.Child) bool { return c.Spec.Name == name })
	if at < 0 {
		return Result{}, fmt.Errorf("there is no server %q to try", name)
	}
	only := cfg.Children[at]
	if o.Confined {
		if why := unheld(&only.Spec); why != "" {
			return Result{Skipped: why}, nil
		}
	}
	run, err := one(ctx, cfg, only, o)
	if err != nil {
		return Result{}, err
	}
	r := Result{Run: run, Works: run.Ready()}
	if held := run.Status.Sandbox; o.Confined || only.Spec.URL != "" || held.Profile == nil && !only.Spec.Sandbox.Confines() {
		r.Refused = refused(&run)
		return r, nil
	}
	only.Spec.Sandbox = sandbox.Settings{}
	free, err := one(ctx, cfg, only, o)
	if err != nil {
		return r, err
	}
	r.Unconfined, r.Missing = &free, missing(&run, &free)
	if r.Works = r.Works && len(r.Missing) == 0; !r.Works {
		r.Refused = refused(&run)
	}
	return r, nil
}

// unheld says why the kernel would hold nothing of a server that is a process here.
func unheld(s *spec.Spec) string {
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

// one starts one server.
func one(ctx context.Context, cfg hub.Config, c hub.Child, o Options) (Attempt, error) {
	cfg.Children, cfg.Broken, cfg.Disabled = []hub.Child{c}, nil, nil
	seen, err := Start(ctx, cfg, o)
	if err != nil {
		return Attempt{}, err
	}
	r := Attempt{Spec: c.Spec, Tools: seen.Tools[c.Spec.Name], Prompts: seen.Prompts, Resources: seen.Resources}
	for i := range seen.Status.Children {
		if st := &seen.Status.Children[i]; st.Server == c.Spec.Name {
			r.Status = *st
		}
	}
	return r, nil
}

// missing is what a server offers without the kernel alone. Resources come and go by
// themselves, so of them only the number counts.
func missing(run, free *Attempt) (out []string) {
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

// refused reads what a server has said of what the kernel has refused it.
func refused(r *Attempt) (all []sandbox.Refusal) {
	held := r.Status.Sandbox
	reads := hints.Reader{Profile: held.Profile, Named: held.Named, Never: held.Never}
	for line := range strings.Lines(r.Status.Stderr) {
		if found, ok, first := reads.ReadStderr(line); ok && first {
			all = append(all, found)
		}
	}
	return all
}
