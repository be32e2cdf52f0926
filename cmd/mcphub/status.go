package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/doctor"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/audit/trail"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

const maxProblems = 10 // of a file that was not taken, that are shown

func statusCommand() *cobra.Command {
	var asJSON, verbose, again bool
	var pid int
	var only sessionFilter
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"ps", "top"},
		Short:   "Show the hubs that run, their servers and their clients",
		Long: "Shows every hub that this user runs: how its servers are and what they last said, and\n" +
			"which clients it has. Each hub listens on a socket of its own that only its user can\n" +
			"open. Of more than 50 sessions it shows sums by principal, client and server; --principal,\n" +
			"--session and -v show each. The exit status is 9 if no hub runs.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			signs := sync.OnceValue(func() doctor.Signing {
				home, _ := os.UserHomeDir() // git says nothing without
				return doctor.SigningOf(cmd.Context(), home, zerolog.Nop())
			})
			var found statusReport
			var failed error
			page := func(out io.Writer) {
				found = collectStatus(cmd.Context(), pid)
				for i := range found.Hubs {
					only.narrow(&found.Hubs[i])
				}
				if asJSON {
					failed = layout.JSONLine(out, found)
					return
				}
				found.signs, found.each = signs, verbose || only.isSet()
				found.showStatus(out, time.Now(), verbose)
			}
			if again {
				return watchStatus(cmd.Context(), cmd.OutOrStdout(), asJSON, func(out io.Writer) {
					if page(out); !asJSON && len(found.Hubs) == 0 && len(found.Unreachable) == 0 {
						layout.Println(out, noHubError(pid).Error())
					}
				})
			}
			if page(cmd.OutOrStdout()); failed != nil {
				return failed
			}
			return found.outcomeError(pid)
		},
	}
	jsonFlag(cmd, &asJSON)
	flags := cmd.Flags()
	flags.BoolVarP(&verbose, "verbose", "v", false, "how each server was started, its roots, and more of what it last said")
	flags.IntVar(&pid, "pid", 0, "only the hub with this process id")
	flags.StringVar(&only.principal, "principal", "", "only sessions of this principal; * and ? stand for others")
	flags.StringVar(&only.session, "session", "", "only this session; the beginning of its id will do")
	flags.BoolVarP(&again, "watch", "w", false, "show it again every 2 seconds until interrupted: in place on a terminal, else below")
	return cmd
}

// watchStatus shows the page again and again. Pages that stand below each other have an
// empty line between, unless they are for programs.
func watchStatus(ctx context.Context, out io.Writer, asJSON bool, page func(io.Writer)) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	if asJSON {
		return watchPage(ctx, layout.NewRoll(out), tick.C, page)
	}
	s, first := layout.NewScreen(out), true
	return watchPage(ctx, s, tick.C, func(w io.Writer) {
		if !first && !s.InPlace() {
			layout.Println(w)
		}
		first = false
		page(w)
	})
}

func (f statusReport) outcomeError(pid int) error {
	switch {
	case len(f.Hubs) == 0 && len(f.Unreachable) == 0:
		return noHubError(pid)
	case len(f.Unreachable) > 0:
		return fmt.Errorf("%d of %d hubs did not say how they are", len(f.Unreachable), len(f.Unreachable)+len(f.Hubs))
	}
	return nil
}

func (f statusReport) showStatus(w io.Writer, now time.Time, verbose bool) {
	for i, r := range f.Hubs {
		if i > 0 {
			layout.Println(w)
		}
		p := page{w: w, now: now, verbose: verbose, signs: f.signs, brief: len(f.Hubs) > 1 && !verbose, each: f.each}
		if own := (&setup.Source{}).Path(); r.Config.Path != own { // what is found without being named needs no name
			p.source.Config = r.Config.Path
		}
		p.clients = clientsOf(&r)
		p.showHub(r)
	}
	for _, q := range f.Questions {
		layout.Printf(w, "\nwaits for a person: %.500s: mcphub reload\n", q.Title)
	}
	for _, u := range f.Unreachable {
		u.showHub(w)
	}
}

// page writes one hub for people. Every text that the hub did not make up is
// made printable first.
type page struct {
	w       io.Writer
	now     time.Time
	verbose bool
	source  setup.Source          // of the hub
	signs   func() doctor.Signing // may be nil
	brief   bool                  // one of several hubs: many servers that are well are counted only
	clients trail.Clients         // that share the hub
	each    bool                  // many sessions, and many instances, are shown one by one
}

func (p page) printf(format string, args ...any) { layout.Printf(p.w, format, args...) }

func (p page) showHub(r admin.Report) {
	p.printf("hub %d, up %s, version %.40s", r.PID, layout.FormatDuration(p.now.Sub(r.Started)), r.Version)
	if r.Config.Path == "" {
		p.printf(", no hub.json\n")
	} else {
		p.printf("\n%.200s, read %s ago\n", r.Config.Path, p.timeAgo(&r.Config.Loaded))
	}
	if r.Config.Error != "" {
		p.printf("not read again since, %s ago:", p.timeAgo(r.Config.ErrorAt))
		problems := strings.Split(r.Config.Error, "\n")
		for i, line := range problems[:min(len(problems), maxProblems)] {
			p.printf("%s %.500s\n", strings.Repeat(" ", min(i, 1)), line)
		}
		if n := len(problems) - maxProblems; n > 0 {
			p.printf("  and %d more: mcphub validate\n", n)
		}
	}
	if r.Config.Waiting != "" {
		layout.Println(p.w, printable.Escape(r.Config.Waiting, 1000))
	} else if r.Config.Inside != "" {
		p.printf("hub.json lies inside %.300s, where servers of this hub may write it: what changes in it waits for mcphub reload\n", r.Config.Inside)
	}
	for _, key := range r.Config.AfterRestart {
		p.printf("%.100s: takes effect after a restart\n", key)
	}
	if r.HTTP != nil {
		layout.Line(p.w, "", "serves "+printable.Escape(r.HTTP.URL, 200)+layout.When(r.HTTP.Auth == admin.AuthNone, "; "+setup.OpenText))
		if wrong := r.HTTP.Certificate; wrong != "" {
			layout.Line(p.w, "", "the certificate of http.tls was not renewed, and the former one is shown: "+printable.Escape(wrong, 500))
		}
	}
	if r.Shared {
		layout.Line(p.w, "", "shared: clients that start mcphub serve attach to it")
	}
	if r.Alone != "" {
		layout.Line(p.w, "", "serves one client alone, although hub.json says attach: "+printable.Escape(r.Alone, 1000))
	}
	p.showAudit(r.Audit)
	p.showPolicy(r.Policy)
	p.showChildren(r)
	for _, c := range p.detailed(r.Children) {
		p.showDetails(c)
	}
	p.showApart(r.Children)
	for _, n := range r.NotServed {
		p.printf("\n%.60s is not served: %.500s\n", n.Server, n.Reason)
	}
	for _, d := range r.Redefined {
		p.printf("\n%.60s: the tool %.100s is defined otherwise than when it was offered before (%s), seen %s ago\n",
			d.Server, d.Tool, strings.Join(d.Parts, ", "), p.timeAgo(&d.At))
	}
	p.showSessions(r.Sessions)
}

// showAudit reports where decisions are recorded, and loudly if they cannot be.
func (p page) showAudit(a status.Audit) {
	switch {
	case a.Dir == "":
		layout.Println(p.w, "audit: off")
	case a.Error != "":
		what := "calls go on without a record"
		if a.Required {
			what = "calls are denied until it can"
		}
		p.printf("AUDIT: %.200s CANNOT BE WRITTEN for %s: %.300s; %s\n", a.Dir, p.timeAgo(a.Since), a.Error, what)
	default:
		p.printf("audit: %.200s%s\n", a.Dir, layout.When(a.Required, ", required"))
	}
	if a.Unrecorded > 0 {
		p.printf("audit: %d decisions were not recorded when they were made\n", a.Unrecorded)
	}
}

// showPolicy shows the rules in force, one to a line where more is asked for.
func (p page) showPolicy(r *status.Policy) {
	if r == nil {
		return
	}
	p.printf("policy: %d rules%s\n", len(r.Rules), layout.WithPrefix(", sandbox ", printable.Escape(r.Sandbox, 200)))
	if !p.verbose {
		return
	}
	for _, rule := range r.Rules {
		p.printf("  %.60s: %s %.300s%s%s\n", rule.Name, rule.Then, rule.If, layout.WithPrefix(" -- ", rule.Note), layout.WithPrefix("  ", printable.Escape(rule.At, 200)))
	}
}

func (p page) showChildren(r admin.Report) {
	if len(r.Children) == 0 {
		p.printf("\nno servers\n")
		return
	}
	several := len(r.Sessions) > 1
	layout.Println(p.w)
	if len(r.Children) > maxListed && !p.each {
		p.sumChildren(r.Children)
		return
	}
	shown := p.countWell(r)
	if len(shown) == 0 {
		return
	}
	t := layout.NewTable(p.w)
	t.Head("SERVER", "STATE", "FOR", "PID", "RESTARTS", "TOOLS", "ROOTS", layout.When(several, "FOR SESSION"))
	for _, c := range shown {
		state := c.State
		if c.CircuitOpen && state != "ready" {
			state = "circuit open"
		}
		if c.Era == "modern" && state == "ready" {
			state += ", modern" // two instances may differ by nothing else
		}
		t.Row(printable.Escape(c.Server, 22), printable.Escape(state, 14), p.timeAgo(c.Since), numberOrDash(c.PID), strconv.Itoa(c.Restarts), strconv.Itoa(c.Tools),
			countServed(c), layout.When(several, servesWhom(c)))
	}
	_ = t.Flush() // as any other write here: no one to tell
}

// servesWhom names the sessions that an instance serves.
func servesWhom(c status.Child) string {
	ids := make([]string, len(c.Sessions))
	for i, id := range c.Sessions {
		ids[i] = shortID(id)
	}
	return cmp.Or(joinFirst(ids), shortID(c.Instance), "all")
}

// countWell returns how many servers are well, where each would only make the page
// longer, and returns the others.
func (p page) countWell(r admin.Report) (rest []status.Child) {
	var names []string
	tools := 0
	for _, c := range r.Children {
		if well := !isUnwell(c) && c.Restarts == 0 && (c.State == "ready" && c.RootsApplied || c.State == "cold"); !well {
			rest = append(rest, c)
			continue
		}
		names, tools = append(names, printable.Escape(c.Server, 60)), tools+c.Tools
	}
	if !p.brief || len(names) <= maxNamed {
		return r.Children
	}
	layout.Line(p.w, "", fmt.Sprintf("%d servers are well, with %d tools: %s (mcphub status --pid %d shows each)", len(names), tools, joinFirst(names), r.PID))
	return rest
}

// countServed returns how many roots a server works with; "!" if it is not known
// to have applied the present roots.
func countServed(c status.Child) string {
	if c.State != "ready" {
		return "-"
	}
	return strconv.Itoa(len(c.RootsServed)) + layout.When(!c.RootsApplied, "!")
}

const stderrLines = 5

// detailed returns the instances whose details are shown: of many, the first ones that are not well.
func (p page) detailed(all []status.Child) []status.Child {
	if p.each || len(all) <= maxListed {
		return all
	}
	unwell := slices.DeleteFunc(slices.Clone(all), func(c status.Child) bool { return !isUnwell(c) })
	return unwell[:min(len(unwell), maxProblems)]
}

// isUnwell reports whether there is more to tell about a server than the table has.
func isUnwell(c status.Child) bool {
	return c.Error != "" && c.State != "stopped" || c.CircuitOpen || c.Refused > 0 || len(c.NotOffered) > 0
}

// showOmissions shows definitions that clients do not get, or get in another form: all of them, or the first ones and which command shows the rest.
func showOmissions(of []status.Omission, rest string, show func(text string)) {
	for i, o := range of {
		if i == maxProblems && rest != "" {
			show(fmt.Sprintf("and %d more: %s", len(of)-i, rest))
			return
		}
		show(printable.Escape(o.Tool, 100) + ": " + printable.Escape(o.Reason, 1000))
	}
}

// showDetails shows the details of a server that is not well, or of any if that is asked for.
func (p page) showDetails(c status.Child) {
	if !isUnwell(c) && !p.verbose {
		return
	}
	layout.Println(p.w)
	layout.Line(p.w, "", printable.Escape(c.Server, 60)+": "+cmp.Or(printable.Escape(c.Error, 500), printable.Escape(c.State, 20)))
	line := func(name, format string, args ...any) {
		layout.Line(p.w, fmt.Sprintf("  %-12s ", name), layout.Sprintf(format, args...))
	}
	for _, id := range c.Sessions {
		line("for", "%s, %s", shortID(id), clientText(p.clients[id]))
	}
	if c.StartedBy != "" {
		line("next start", "%s", nextStart(c, p.now))
	}
	if c.LastFailure != "" && (p.verbose || !strings.Contains(c.Error, c.LastFailure)) {
		line("last failure", "%s ago: %.500s", p.timeAgo(c.FailedAt), c.LastFailure)
	}
	if p.verbose {
		line("command", "%.2000s", strings.Join(append([]string{c.Command}, c.Args...), " "))
		if p := c.Package; p != nil {
			line("package", "%.300s, installed %s%s", p.Name+"@"+p.Version, p.Installed.Local().Format(time.DateTime), layout.WithPrefix("; ", printable.Escape(p.Error, 1000)))
		}
		line("directory", "%.500s", cmp.Or(c.Cwd, "-"))
		line("environment", "%.4000s", strings.Join(c.Environment, " "))
		line("roots", "%.2000s", cmp.Or(strings.Join(c.RootsServed, " "), "-"))
		if c.Kernel != "" || c.PID > 0 { // of one that does not run nothing is known
			line("kernel", "%s", kernelText(c.Kernel, c.Lacks))
		}
		if c.Limits != nil {
			line("limits", "%.1000s", c.Limits.Text())
		}
		if len(c.Gives) > 0 {
			line("profile", "%.2000s", strings.Join(c.Gives, "; "))
		}
		if p.signs != nil {
			if text, cure := p.signs().Fails(c.Command, c.Args, c.Kernel); text != "" {
				line("signing", "%s; %s", text, cure)
			}
		}
		if c.Opens != nil {
			line("opens", "%.4000s", c.Opens.Text())
		}
		line("share", "%.20s%.500s", c.Share, layout.WithPrefix(": ", c.ShareWhy))
		line("era", "%.20s", cmp.Or(c.Era, "-"))
		if c.Skipped > 0 {
			line("skipped", "%d lines on stdout that were no message", c.Skipped)
		}
		if c.TextIDs > 0 {
			line("ids", "%d answers repeat the number of their request as a string; the hub takes them, other programs may not", c.TextIDs)
		}
		if c.Muted > 0 {
			line("dropped", "%d log and progress messages: there were too many at a time", c.Muted)
		}
	}
	rest := "mcphub status -v"
	if p.verbose {
		rest = ""
	}
	showOmissions(c.NotOffered, rest, func(text string) { line("not offered", "%s", text) })
	if p.verbose {
		showOmissions(c.Mended, rest, func(text string) { line("mended", "%s", text) })
	}
	for _, closed := range c.Closed {
		line("closed", "%.2000s", closed)
	}
	if c.Refused > 0 {
		line("refused", "by the kernel, as far as what it says tells: %s%s", refusedText(c.Refused, c.LastRefused), layout.When(c.Mend != nil, "; "+printable.Escape(c.Mend.Told(), 1000)))
		if c.Mend != nil && c.Mend.Run != nil {
			line("run", "%s", p.source.CommandLine(c.Mend.Run...))
		}
	}
	if c.Log != "" {
		line("log", "%.500s", c.Log)
	}
	said := strings.Split(strings.TrimSpace(c.Stderr), "\n")
	if !p.verbose {
		said = said[max(0, len(said)-stderrLines):]
	}
	for _, s := range said {
		if s != "" {
			layout.Line(p.w, "  | ", printable.Escape(s, 300))
		}
	}
}

// showApart reports why a server that sessions could share runs more than once.
func (p page) showApart(all []status.Child) {
	said := map[string]bool{}
	for _, c := range all {
		if len(c.Apart) == 0 {
			continue
		}
		line := fmt.Sprintf("\n%s runs once for each value of %s that clients have\n", printable.Escape(c.Server, 60), printable.Escape(joinFirst(c.Apart), 500))
		if !said[line] {
			p.printf("%s", line)
		}
		said[line] = true
	}
}

// nextStart returns when a server that failed is started again, and what has
// to happen for it.
func nextStart(c status.Child, now time.Time) string {
	wait := time.Duration(0)
	if c.NextStart != nil {
		wait = c.NextStart.Sub(now)
	}
	text := "with the next call"
	switch {
	case c.StartedBy == "hub" && wait >= time.Second:
		text = "in " + layout.FormatDuration(wait)
	case c.StartedBy == "hub":
		text = "now"
	case wait >= time.Second:
		text += ", not before " + layout.FormatDuration(wait)
	}
	if c.Failures > 1 {
		text += fmt.Sprintf("; %d failures in a row", c.Failures)
	}
	return text
}

func (p page) showSessions(all []status.Session) {
	if len(all) == 0 {
		p.printf("\nno clients\n")
		return
	}
	if len(all) > maxListed && !p.each {
		p.showSums(all)
		return
	}
	layout.Println(p.w)
	t := layout.NewTable(p.w)
	t.Head("SESSION", "CLIENT", "FOR", "PROTOCOL", "ROOTS", "FROM", "CALLS")
	for _, s := range all {
		t.Row(shortID(s.ID), cmp.Or(printable.Escape(s.Client, 24), "-"), p.timeAgo(&s.Since), cmp.Or(printable.Escape(s.Protocol, 12), "-"),
			fmt.Sprintf("%d %s", s.RootsCount, printable.Escape(s.RootsState, 12)), fmt.Sprintf("%s, #%d", printable.Escape(s.RootsOrigin, 12), s.Generation), countCalls(s.Passed, s.Calls))
	}
	_ = t.Flush()
	for _, s := range all {
		id := shortID(s.ID)
		if who := principalText(s.Principal); who != "" {
			p.printf("%s: of %s\n", id, who)
		}
		if len(s.Toolsets) > 0 {
			p.printf("%s: sees the toolsets %s\n", id, strings.Join(s.Toolsets, ", "))
		}
		if s.RootsSkipped > 0 {
			p.printf("%s: %d roots cannot be used; get-roots says why\n", id, s.RootsSkipped)
		}
		for _, g := range s.Grants {
			p.printf("%s: a person let %.60s %s %.300s%s, for this %.10s, %s ago\n", id, g.Server, strings.Join(g.Roles, " and "),
				g.URI, layout.When(g.File, " alone"), g.Lifetime, p.timeAgo(&g.Since))
		}
		for _, q := range s.Questions {
			p.printf("%s: %.60s of %.60s waits for a person (%.40s), for %s\n", id, q.What, q.Server, q.Asked, p.timeAgo(&q.Since))
		}
		if s.Folder != "" || s.Process != 0 {
			p.printf("%s: in %s, for process %s\n", id, cmp.Or(printable.Escape(s.Folder, 300), "-"), numberOrDash(s.Process))
		}
		for _, n := range s.NotServed {
			p.printf("%s: %.60s is not served: %.500s\n", id, n.Server, n.Reason)
		}
		if s.RootsError != "" {
			p.printf("%s: the client did not give its roots: %.300s\n", id, s.RootsError)
		}
	}
}

// countCalls returns the calls that went on to servers, and those under way.
func countCalls(passed uint64, now int) string {
	return strconv.FormatUint(passed, 10) + layout.When(now > 0, fmt.Sprintf(" (%d now)", now))
}

func (p page) timeAgo(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return layout.FormatDuration(p.now.Sub(*t))
}
