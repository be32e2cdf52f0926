package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/validate"
	"mcphub/validate/access"
)

func whyCommand() *cobra.Command {
	src := newSource()
	w := whyQuery{src: src}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why [SERVER]",
		Short: "Show what was refused last in this folder, and what mends it",
		Long: "Shows the last refusals of sessions whose directories hold the working directory, or lie\n" +
			"in it: by the monitor, which judges calls, and by the kernel, which holds servers, as far\n" +
			"as these tell. Leaves out what has been opened since. Says of each what mends it, as a\n" +
			"command if there is one, and changes nothing. It reads the record of decisions; if\n" +
			"none is kept, it asks the hubs that run.",
		Example: "  mcphub why\n  mcphub why memory --all\n  mcphub why --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && w.server != "" {
				return exit.UsageErrorf("name the server once: as an argument, or by --server")
			}
			if len(args) == 1 {
				w.server, w.checks = args[0], true
			}
			found, err := w.findRefusals(cmd.Context())
			if err != nil {
				return err
			}
			return writeResult(cmd.OutOrStdout(), asJSON, found, func(out io.Writer) { w.showRefusals(out, found, time.Now()) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&w.all, "all", "a", false, "of all folders")
	flags.StringVar(&w.server, "server", "", "only this server")
	flags.IntVarP(&w.last, "last", "n", 10, "only so many, the newest")
	flags.BoolVar(&asJSON, "json", false, "one JSON array; its shape is stable")
	configFlags(cmd, src)
	cmd.ValidArgsFunction = completeServer
	_ = cmd.RegisterFlagCompletionFunc("server", completeServer)
	return cmd
}

// A whyQuery is one run of the command.
type whyQuery struct {
	src    *setup.Source
	all    bool
	server string
	checks bool // server has to be one of hub.json
	last   int
	dir    string // whose refusals are shown; "" for all
}

// A reason is a refusal and what mends it; the shape of --json.
type reason struct {
	audit.Refusal
	audit.ClientInfo        // whose session it is of, where several share a hub; absent if that is not known
	Times            int    `json:"times"` // that the same was refused; Time is of the last
	Named            string `json:"named,omitempty"`
	Mend             string `json:"mend,omitempty"`
	Command          string `json:"command,omitempty"` // that mends it

	run []string // Command, without what reports which hub.json it is about
}

// findRefusals lists what was refused, the oldest first.
func (w *whyQuery) findRefusals(ctx context.Context) ([]reason, error) {
	if !w.all {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("%w; --all shows what was refused elsewhere", err)
		}
		w.dir = sandbox.RealPath(dir)
	}
	file, err := w.src.Load(stderr)
	if err != nil {
		return nil, err
	}
	if w.checks {
		if err := checkServerName(cmp.Or(w.src.Path(), "the configuration"), w.server, fileServerNames(file)); err != nil {
			return nil, err
		}
	}
	now := openedNow(w.src, file)
	known := distinctReasons{}
	if err := eachRefusal(ctx, setup.AuditFolder(file), func(r *audit.Refusal, client audit.ClientInfo) {
		if (w.server == "" || r.Server == w.server) && w.isHere(r.Within, client.Folder) && !now.opensNow(r) {
			known.add(r, client, max(w.last, maxReasons))
		}
	}); err != nil {
		return nil, err
	}
	found := known.newest(w.last)
	for i := range found {
		w.mendReason(&found[i], file.Server(found[i].Server) != nil, now)
	}
	return found, nil
}

// maxReasons is how many reasons are counted at least, so that a record with any number of them needs no more memory.
const maxReasons = 4096

// distinctReasons are reasons by what has to be equal for two refusals to be the same.
type distinctReasons map[reasonKey]*reason

type reasonKey struct {
	client                             audit.ClientInfo
	by, server, path, role, code, atOf string
}

// add counts a refusal. If there are twice as many reasons as asked for, it drops the reasons that were met least recently.
func (d distinctReasons) add(r *audit.Refusal, client audit.ClientInfo, most int) {
	key := reasonKey{client, r.By, r.Server, r.Path, r.Role, r.Code, ""}
	if r.Code == audit.CodeSockets {
		key.atOf = r.At
	}
	times := 1
	if same := d[key]; same != nil {
		times += same.Times
	}
	d[key] = &reason{Refusal: *r, ClientInfo: client, Times: times}
	if len(d) < 2*most {
		return
	}
	oldest := d.newest(most)[0].Time
	maps.DeleteFunc(d, func(_ reasonKey, one *reason) bool { return one.Time.Before(oldest) })
}

// newest returns so many reasons, the oldest first.
func (d distinctReasons) newest(most int) []reason {
	all := make([]reason, 0, len(d))
	for _, one := range d {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b reason) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Session, b.Session))
	})
	return all[max(0, len(all)-most):]
}

// eachRefusal hands out the refusals that are known, each with the client of its session. A record gives them by time.
func eachRefusal(ctx context.Context, dir string, each func(*audit.Refusal, audit.ClientInfo)) error {
	if dir == "" {
		hubs, silent := askHubs(ctx, stderr, 0)
		for _, u := range silent {
			return fmt.Errorf("no record of decisions is kept, and the hub at %s does not say what it refused: %s", u.Socket, u.Error)
		}
		for _, h := range hubs {
			by := clientsOf(&h.report)
			for i := range h.report.Refusals {
				each(&h.report.Refusals[i], by[h.report.Refusals[i].Session])
			}
		}
		return nil
	}
	debug.SetGCPercent(40) // as reading a record for audit does
	err := trail.Each(dir, trail.Filter{Denied: true}, func(d *trail.Decision) bool {
		if r, ok := d.Refusal(); ok {
			each(&r, sharedClient(&d.Event))
		}
		return ctx.Err() == nil
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isHere reports whether one of the directories contains w.dir or lies in it. A session without
// directories counts by the folder of its client. If that is unknown too, it is always included.
func (w *whyQuery) isHere(within []string, folder string) bool {
	if len(within) == 0 && folder != "" {
		within = []string{folder}
	}
	return w.dir == "" || len(within) == 0 || slices.ContainsFunc(within, func(dir string) bool {
		return sandbox.Contains(dir, w.dir) || sandbox.Contains(w.dir, dir)
	})
}

// mendReason reports what mends a refusal.
func (w *whyQuery) mendReason(r *reason, served bool, now *opened) {
	var m hints.Remedy
	if r.By == audit.ByKernel {
		m = hints.RemedyFor(r.Server, refusedByKernel(&r.Refusal), r.Within)
	} else {
		m = mendOfMonitor(&r.Refusal, now.namedFolder(&r.Refusal))
	}
	r.Named, r.Mend = m.Named, m.Text
	switch {
	case m.Run == nil:
	case !served:
		r.Mend += fmt.Sprintf("; %s has no such server: name the hub.json that has, with --config", cmp.Or(w.src.Path(), "the configuration"))
	case slices.ContainsFunc(m.Run, func(word string) bool { return strings.Contains(word, redact.Mark) }):
	default:
		r.Command, r.run = w.src.CommandLine(m.Run...), m.Run
	}
}

// refusedByKernel returns a refusal by the kernel as it was before it was recorded.
func refusedByKernel(r *audit.Refusal) sandbox.Refusal {
	f := sandbox.Refusal{
		Path: r.Path, By: sandbox.Namer(r.NamedBy), At: r.At, Opens: r.Opens, Why: r.Why, Access: sandbox.Read,
		Sockets: r.Code == audit.CodeSockets, KeepsRunning: r.Code == audit.CodeStays,
		Unexplained: r.Code == audit.CodeUnexplained, Tool: r.Tool,
	}
	if r.Role == access.Write.String() {
		f.Access = sandbox.Write
	}
	if f.Sockets {
		f.Variable = strings.TrimPrefix(f.At, "/env/")
	}
	return f
}

// mendOfMonitor returns what mends a denial. named is the folder that the entry of the server names and the path lies in; "" for none.
func mendOfMonitor(r *audit.Refusal, named string) (m hints.Remedy) {
	wanted := sandbox.Read
	if r.Role != access.Read.String() {
		wanted = sandbox.Write
	}
	in := "no directory is open"
	if len(r.Within) > 0 {
		in = "open are " + strings.Join(r.Within, ", ")
	}
	switch r.Code {
	case validate.CodeProtected, validate.CodeProtectedBelow:
		m.Text = "the hub protects it, or policy.protected in hub.json does: nothing opens it"
	case validate.CodeRuleDeny:
		m.Text = fmt.Sprintf("the rule %q of hub.json denies it: change that, or put a rule before it that allows it", strings.TrimPrefix(r.Rule, "rule "))
	case validate.CodeRuleEscalate, "approval":
		m.Text = fmt.Sprintf("the rule %q of hub.json has a person asked, and no person has agreed; mcphub approve shows what waits for an answer, if approval.from in hub.json has the terminal", strings.TrimPrefix(r.Rule, "rule "))
	case validate.CodeRootsUnsupported, validate.CodeRootsEmpty, validate.CodeRootsFailed:
		m.Text = "the client gave no folder: open one there, or name folders with --roots or roots.fallback in hub.json"
	case validate.CodeOutside, validate.CodeOutsideLink, validate.CodeCeiling:
		if why := sandbox.WhySecret(r.Path); why != "" {
			m.Text = in + "; " + why + ", so no command opens it: a rule in hub.json would (docs/policy.md)"
			break
		}
		m.Text = in + ": open its folder in the client, or let the server have it always"
		if named != "" {
			m.Named = "its entry names " + printable.Escape(named, 300)
		}
		if path := cmp.Or(named, r.Path); path != "" {
			m.Run = hints.Allow(r.Server, wanted, path)
		}
	default:
		m.Text = "docs/findings.md says what " + cmp.Or(r.Code, "this") + " means, and what to do"
	}
	return m
}

// showRefusals writes refusals for people.
func (w *whyQuery) showRefusals(out io.Writer, found []reason, now time.Time) {
	if len(found) == 0 {
		where := "anywhere"
		if w.dir != "" {
			where = "in " + printable.Escape(w.dir, 300) + " (--all: anywhere)"
		}
		layout.Printf(out, "nothing was refused %s, as far as is known\n", where)
		return
	}
	for i := range found {
		r := &found[i]
		what := r.Path
		switch {
		case r.Code == audit.CodeSockets:
			what = refusedByKernel(&r.Refusal).Text()
		case what == "":
			what = "the call"
		}
		role := ""
		if r.Path != "" && r.Role != "" {
			role = ", to " + r.Role
		}
		whose := printable.Escape(r.Server, 60) + layout.WithPrefix(", ", printable.Escape(cmp.Or(r.Tool, r.Method), 100))
		happened := fmt.Sprintf("by the %s: %s was refused %s%s", r.By, whose, printable.Escape(what, 500), role)
		if r.Code == audit.CodeUnexplained {
			happened = whose + " ran a program that failed without a reason; the kernel may have refused it something"
		}
		layout.Line(out, "", layout.FormatDuration(now.Sub(r.Time))+" ago, "+happened+layout.When(r.Times > 1, fmt.Sprintf(", %d times", r.Times)))
		if of := clientText(r.ClientInfo); of != "" {
			layout.Line(out, "    ", "session "+shortID(r.Session)+" of "+of)
		}
		if r.Named != "" {
			layout.Line(out, "    ", r.Named)
		}
		if r.Mend != "" {
			layout.Line(out, "    ", r.Mend)
		}
		if r.Command != "" { // whole, to be copied
			layout.Printf(out, "    run: %s\n", r.Command)
		}
	}
}
