package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
	"mcphub/internal/reference"
)

const (
	// longestName is how long the name of a tool may be: clients put their own prefix
	// before it and cut at 60 to 64.
	longestName = 50
	longestOwn  = 128 // of a tool, as its server may call it (2025-11-25)
	// maxDetails is how many lines are shown of what a server wrote.
	maxDetails = 5
)

// tryServers starts the ones that are to be tried, and reports what became of them.
func (e *examination) tryServers(ctx context.Context) error {
	cfg := e.found.Hub
	cfg.Children = slices.DeleteFunc(slices.Clone(cfg.Children), func(c hub.Child) bool { return !e.isExamined(c.Spec.Name) || e.found.Bad[c.Spec.Name] })
	o := trial.Options{Name: "mcphub-doctor", Roots: e.trialRoots(), Timeout: e.Timeout, Audit: e.found.Audit, Log: e.Log, Watch: e.Watch}
	if len(e.Servers) > 0 {
		o.Audit = ""
	}
	defer e.found.WaitForLogins()
	seen, err := trial.Start(ctx, cfg, o)
	if err != nil {
		return err
	}
	e.reportServers(ctx, &cfg, seen)
	return nil
}

func (e *examination) isExamined(name string) bool {
	return len(e.Servers) == 0 || slices.Contains(e.Servers, name)
}

// reportServers reports what became of each server, in the order of hub.json.
func (e *examination) reportServers(ctx context.Context, cfg *hub.Config, t *trial.Observation) {
	total := 0
	for i := range e.found.File.Servers {
		s := &e.found.File.Servers[i]
		if !e.isExamined(s.Name) {
			continue
		}
		out := Server{Name: s.Name, State: "unusable", Command: s.Command, URL: showURL(s.URL), Environment: []string{}, Roots: []string{}}
		if s.Disabled {
			out.State = "disabled"
		}
		k := slices.IndexFunc(cfg.Children, func(c hub.Child) bool { return c.Spec.Name == s.Name })
		if k >= 0 {
			for j := range t.Status.Children {
				if st := &t.Status.Children[j]; st.Server == s.Name {
					e.reportServer(ctx, &out, &cfg.Children[k], st, t.Tools[s.Name])
				}
			}
		}
		total += out.Tokens
		e.report.Servers = append(e.report.Servers, out)
	}
	if st := t.Status.Audit; st.Dir != "" && st.Error != "" {
		e.reportFolder("the audit log", st.Dir, st.Error)
	}
	if expose := e.found.File.Expose; expose.Mode == "direct" && total > expose.Tokens {
		e.addFinding(Servers, sevNote, fmt.Sprintf("the definitions of all tools take about %d tokens of a model's context", total), `write "expose": "auto", and clients find tools by searching; or hold tools back with "tools": {"exclude": [...]}`).At = formatPlace(e.found.File.At("expose"))
	}
}

// reportServer reports what became of one.
func (e *examination) reportServer(ctx context.Context, out *Server, c *hub.Child, st *status.Child, tools []client.Tool) {
	out.Environment, out.Roots, out.Era, out.State = st.Environment, st.RootsServed, st.Era, st.State
	out.Kernel, out.Lacks = st.Kernel, st.Lacks
	for _, closed := range st.Closed {
		e.addFinding(Servers, sevWarning, c.Spec.Name+": "+printable.Escape(closed, 2000), "")
	}
	out.Command = cmp.Or(st.Command, out.Command)
	for _, t := range tools {
		out.Tokens += t.Tokens
	}
	out.Tools = len(tools)
	out.Interpreter = e.findInterpreter(ctx, c.Spec, st.Command)
	if c.Spec.Auth.Exchange { // nothing that is called from here has a caller
		out.State = "untried"
		e.report.addFinding(Finding{Group: Servers, Subject: c.Spec.Name, Severity: sevNote, At: e.entryPlace(c.Spec.Name),
			Text: "it is not tried: the hub calls it with a token in exchange for an HTTP caller's own", Cure: `call it by a client over HTTP that has a token of one of "http.issuers"`})
		return
	}
	if st.State != children.Ready.String() {
		out.State = "failed"
		e.report.addFinding(e.explainFailure(c.Spec, st, out.Interpreter))
		return
	}
	at := e.entryPlace(c.Spec.Name)
	warn := func(severity, text, cure string) {
		e.report.addFinding(Finding{Group: Servers, Subject: c.Spec.Name, Severity: severity, At: at, Text: text, Cure: cure})
	}
	if f, wrong := e.checkInterpreter(c.Spec, out.Interpreter); wrong {
		f.Severity = sevWarning
		e.report.addFinding(f)
	}
	if st.Error != "" {
		warn(sevWarning, st.Error, "it runs all the same; what it wrote, "+e.commandLine(printable.BuildCommand("logs", nil, c.Spec.Name)...)+" shows")
	}
	if st.Skipped > 0 {
		warn(sevWarning, fmt.Sprintf("it wrote %d lines to stdout that are no messages; the hub passes over them, other programs may not", st.Skipped),
			"have it log to stderr: only messages belong on stdout")
	}
	for _, left := range st.NotOffered {
		cure := "have its maker mend the definition"
		if !strings.Contains(left.Tool, " ") { // it is a tool; before the name of anything else stands what it is
			cure += fmt.Sprintf(`, or leave the tool out: "tools": {"exclude": [%q]}`, left.Tool)
		}
		warn(sevWarning, fmt.Sprintf("%q of it is not offered: %s", left.Tool, left.Reason), cure)
	}
	for _, mended := range st.Mended {
		warn(sevWarning, fmt.Sprintf("%q of it is mended, since clients would refuse it: %s", mended.Tool, mended.Reason), "have its maker mend the definition")
	}
	for _, t := range st.Unchecked {
		warn(sevWarning, fmt.Sprintf("its tool %q is offered, but %s", t.Tool, t.Reason), "have its maker mend the schema; until then a wrong argument is for the server to refuse")
	}
	if text, cure := e.signing().Fails(st.Command, st.Args, st.Kernel); text != "" {
		warn(sevWarning, text, cure)
	}
	if st.Mend != nil {
		f := Finding{Group: Servers, Subject: c.Spec.Name, Severity: sevWarning, At: at}
		e.addMend(&f, st)
		e.report.addFinding(f)
	}
	e.checkNames(c, tools, warn)
}

// addMend reports what the kernel has refused a server, and what opens it.
func (e *examination) addMend(f *Finding, st *status.Child) {
	if f.Text != "" {
		f.Text += "; "
	}
	f.Text += "the kernel holds it, and " + printable.Escape(st.LastRefused, 300) + " is closed to it"
	if st.Mend.Named != "" {
		f.Text += ": " + st.Mend.Named
	}
	f.Cure = st.Mend.Text
	if st.Mend.Run != nil {
		f.Command = e.commandLine(st.Mend.Run...)
	}
}

// checkNames finds tools whose names are cut by the hub, or would be by a client.
func (e *examination) checkNames(c *hub.Child, tools []client.Tool, warn func(severity, text, cure string)) {
	var long, cut []string
	for _, t := range tools {
		switch {
		case len(t.Name) > longestName:
			long = append(long, t.Name)
		case t.Name != c.Prefix+t.ToolName:
			cut = append(cut, t.Name)
		}
	}
	if len(long) > 0 {
		e.report.addFinding(Finding{Group: Servers, Subject: c.Spec.Name, Severity: sevWarning, At: formatPlace(e.found.File.At("names", "max")),
			Text: fmt.Sprintf("the names of %d tools are longer than %d bytes, such as %s: clients put a prefix before them and cut or refuse them", len(long), longestName, long[0]),
			Cure: fmt.Sprintf(`write "max": %d under "names", and the hub shortens them in a way that stays`, longestName)})
	}
	if len(cut) > 0 {
		cure := `give the server a shorter "prefix" if the names should be readable`
		if c.Prefix == "" {
			cure = fmt.Sprintf(`write "max": %d under "names" if your client takes names of that length`, longestOwn)
		}
		warn(sevNote, fmt.Sprintf("the names of %d tools are shortened, such as %s", len(cut), cut[0]), cure)
	}
}

// entryPlace returns the place of a server's entry.
func (e *examination) entryPlace(name string) string {
	return formatPlace(e.found.File.At("mcpServers", name))
}

// explainFailure returns why a server did not start, and what helps.
func (e *examination) explainFailure(s spec.Spec, st *status.Child, in *Interpreter) Finding {
	text := printable.Clean(cmp.Or(st.LastFailure, st.Error))
	f := Finding{Group: Servers, Subject: s.Name, Severity: sevError, At: e.entryPlace(s.Name), Text: firstLine(reference.Show(text))}
	f.Details = lastWords(st.Stderr, f.Text)
	switch old, wrong := e.checkInterpreter(s, in); {
	case text == "", st.State == children.Starting.String(), st.State == children.Waiting.String():
		f.Text = fmt.Sprintf("it is not ready after %s: %s", e.Timeout, cmp.Or(text, "it is "+st.State))
		f.Cure, f.Command = "give it more time", e.commandLine(e.More...)
	case st.Mend != nil:
		f.Text, _, _ = strings.Cut(f.Text, "; "+hints.TextPrefix)
		e.addMend(&f, st)
	case wrong:
		f.Text, f.Cure = f.Text+"; "+old.Text, old.Cure
	default:
		diagnoseFailure(&f, s, st, e)
	}
	return f
}

var anError = lazyregexp.New(`(?i)\b(?:\w*error|exception|fatal|panic)\b`)

// lastWords returns the last lines that a server wrote, but for what is said
// already. Where an error stands before them, that comes first: a trace may
// follow it.
func lastWords(stderr, said string) []string {
	var all []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(printable.Clean(line)); line != "" && line != said {
			all = append(all, printable.Clip(line, 300))
		}
	}
	if len(all) <= maxDetails {
		return all
	}
	last := all[len(all)-maxDetails:]
	if first := slices.IndexFunc(all, anError.MatchString); first >= 0 && first < len(all)-maxDetails {
		return append([]string{all[first]}, last[1:]...)
	}
	return last
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// An ailment is a known failure: how its text is recognised, and what helps.
type ailment struct {
	said *lazyregexp.Regexp // in why it failed, or in what it wrote
	cure func(f *Finding, s spec.Spec, said []string, e *examination)
}

var ailments = []ailment{
	{lazyregexp.New(`(?i)already running|another instance|\blocked by\b|\bis locked\b|\block(?:file| file)\b|EADDRINUSE|address already in use|terminated by other`), func(f *Finding, _ spec.Spec, _ []string, _ *examination) {
		f.Cure = "it seems to run already, and not twice at once: quit the client that runs it, or end that process, and try again"
	}},
	{lazyregexp.New(`did not start within (\S+):`), func(f *Finding, s spec.Spec, said []string, _ *examination) {
		start := s.WithDefaults().StartTimeout
		f.Text, _, _ = strings.Cut(f.Text, "; raise ")
		f.Cure = fmt.Sprintf(`give it more time if it is slow: write "timeout": {"start": %q} into its entry; else see what it wrote, and correct its command line`, (2 * start).String())
	}},
	{lazyregexp.New(`the secret "([A-Za-z0-9_][A-Za-z0-9_./-]*)" is not set`), func(f *Finding, _ spec.Spec, said []string, e *examination) {
		f.Text, _, _ = strings.Cut(f.Text, "; mcphub secret set")
		f.Cure, f.Command = "set it", e.commandLine("secret", "set", said[1])
	}},
	{lazyregexp.New(`; run: mcphub auth login |\b401\b|(?i:unauthorized)`), func(f *Finding, s spec.Spec, _ []string, e *examination) {
		e.explainUnauthorized(f, s)
	}},
	{lazyregexp.New(`npm (?:error|ERR!) (?:code )?(?:E?NOTCACHED|ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b|(?i:failed to fetch|network connectivity is disabled)`), func(f *Finding, _ spec.Spec, _ []string, e *examination) {
		f.Cure, f.Command = "its package is not on this machine and could not be downloaded: connect to the network once, and run this, which fetches it", e.commandLine("warm")
	}},
	{lazyregexp.New(`npm (?:error|ERR!) (?:code )?E404|(?i:was not found in the package registry|no matching distribution found)`), func(f *Finding, _ spec.Spec, _ []string, _ *examination) {
		f.Cure = `there is no package of that name: correct it in "args"`
	}},
	{lazyregexp.New(`Cannot find (?:module|package) '([^']+)'|No module named '?([A-Za-z0-9_.]+)'?`), func(f *Finding, s spec.Spec, said []string, _ *examination) {
		name := cmp.Or(said[1], said[2])
		if filepath.IsAbs(name) {
			f.Cure = "there is no file " + name + ": correct the path in its entry"
			return
		}
		f.Cure = fmt.Sprintf("install %s where the server is", name)
		// The package.json of its package reports what is installed, not the server.
		if file, _ := wantedByScript(s.Args, "package.json"); file != "" && said[1] != "" {
			f.Command = printable.CommandLine([]string{"npm", "install", "--prefix", filepath.Dir(file)})
		}
	}},
	{lazyregexp.New(`connection refused|no such host|dial tcp`), func(f *Finding, s spec.Spec, _ []string, _ *examination) {
		f.Cure = `nothing answers at its address: start that server, or correct "url"`
	}},
	{lazyregexp.New(`(?i)\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b[^\n]{0,60}\b(?:required|not set|missing|must be set|undefined|not provided|not found|is empty)|(?:missing|required|set|provide|KeyError:)[^\n]{0,40}?\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b`), func(f *Finding, s spec.Spec, said []string, e *examination) {
		name := cmp.Or(said[1], said[2])
		if os.Getenv(name) != "" {
			f.Cure = fmt.Sprintf(`it wants the variable %s, which the hub has and does not pass on: write "inherit": [%q] into its entry`, name, name)
			return
		}
		f.Cure = fmt.Sprintf(`it wants the variable %s: write "env": {%q: "..."} into its entry; a secret as "${keyring:%s}", and set that with mcphub secret set %s`, name, name, name, name)
	}},
}

// noVariable is what the name of a variable does not have.
var noVariable = lazyregexp.New(`[^A-Za-z0-9]+`)

// explainUnauthorized reports what to do about a server that wants to know who
// calls. It is the one place for that.
func (e *examination) explainUnauthorized(f *Finding, s spec.Spec) {
	if text, login, _ := strings.Cut(f.Text, "; run: "); strings.HasPrefix(login, "mcphub auth login ") {
		f.Text, f.Cure, f.Command = text, "log in at it", e.commandLine(printable.BuildCommand("auth login", nil, s.Name)...)
		return
	}
	if strings.Contains(f.Text, "it refuses the token of the login") {
		f.Cure, f.Command = "log in with an account that may use it", e.commandLine(printable.BuildCommand("auth login", nil, s.Name)...)
		return
	}
	name := strings.ToUpper(noVariable.ReplaceAllString(s.Name, "_")) + "_TOKEN"
	f.Cure = fmt.Sprintf(`it wants a token: write "headers": {"Authorization": "Bearer ${keyring:%s}"} into its entry, and set it`, name)
	f.Command = e.commandLine("secret", "set", name)
}

// diagnoseFailure finds what helps against a failure.
func diagnoseFailure(f *Finding, s spec.Spec, st *status.Child, e *examination) {
	text := f.Text + "\n" + st.Error + "\n" + st.Stderr
	for _, a := range ailments {
		if said := a.said.FindStringSubmatch(text); said != nil {
			a.cure(f, s, said, e)
			return
		}
	}
	f.Cure = "correct its entry by what it says; until then, leave it out"
	f.Command = e.commandLine(printable.BuildCommand("disable", nil, s.Name)...)
}

// showURL returns an address without what may be a secret.
func showURL(text string) string {
	u, err := url.Parse(reference.Blank(text, "SECRET"))
	if text == "" || err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
