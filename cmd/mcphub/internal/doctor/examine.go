package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/hub/status"
	"mcphub/internal/atomicfile"
	"mcphub/internal/printable"
)

// Options describe what to examine.
type Options struct {
	Source  *setup.Source
	Servers []string // to try; none: all servers, and all else too
	Roots   []string // in scope while the servers run; none: hub.json's, else the working directory
	Timeout time.Duration
	Log     zerolog.Logger

	More  []string                                   // the command that gives a slow server more time than Timeout
	Watch func(look func() status.Hub) (over func()) // see trial.Options

	Clients clients.Env
	Own     clients.Hub // how a client starts this program
	Changed []string    // clients that this program has changed before
}

// Examine looks at everything. The error is for what keeps it from looking.
func Examine(ctx context.Context, o Options) (*Report, error) {
	e := examination{Options: o, ctx: ctx, report: &Report{Findings: []Finding{}, Servers: []Server{}, Clients: []InstalledClient{}, Hubs: []Hub{}}}
	e.signing = sync.OnceValue(func() Signing { return SigningOf(ctx, e.found.Hub.Home, o.Log) })
	e.running = sync.OnceValue(e.findHubs)
	r := e.report
	r.Config = o.Source.Path()
	found, err := o.Source.Check(io.Discard)
	e.found = found
	if err != nil {
		e.reportUnreadable(err)
	}
	if found.File != nil {
		for _, name := range o.Servers {
			if found.File.Server(name) == nil {
				return nil, exit.NotFoundErrorf("hub.json has no server %q; mcphub list shows those that there are", name)
			}
		}
	}
	e.examineConfiguration()
	if found.Whole && !e.waitsForPerson() {
		if err := e.tryServers(ctx); err != nil {
			return nil, err
		}
	}
	if len(o.Servers) == 0 {
		e.examineClients()
		e.examineSystem(ctx)
		e.examineHubs()
	}
	r.sortFindings()
	return r, nil
}

// waitsForPerson reports whether some of hub.json waits for a person, and reports what waits. None
// of that is started here either.
func (e *examination) waitsForPerson() bool {
	st, err := e.Source.Accepted(io.Discard, nil)
	waits := err == nil && st.Waiting != ""
	if waits {
		e.addFinding(Configuration, sevError, st.Waiting, "no server is tried before that: look at the change, and accept it if it is yours").Command = "mcphub reload"
	}
	if e.Source.Consent == nil || len(e.Servers) > 0 {
		return waits
	}
	questions, err := e.Source.Consent.Questions()
	if err != nil {
		e.addFinding(System, sevError, "what waits for a person cannot be read: "+err.Error(), "mend the file that is named, or remove it")
	}
	for _, q := range questions {
		if !waits || !st.Asks(q.ID) {
			e.addFinding(System, sevWarning, "waits for a person: "+q.Title, "look at it, and accept it if it is yours").Command = "mcphub reload"
		}
	}
	return waits
}

// An examination is one run of Examine.
type examination struct {
	Options
	ctx    context.Context // of Examine
	found  setup.CheckResult
	report *Report

	signing func() Signing        // what the user's git does
	running func() []admin.Report // of the hubs that run
}

// reportUnreadable is why hub.json could not be read at all.
func (e *examination) reportUnreadable(err error) {
	text, cure, _ := strings.Cut(err.Error(), "; ")
	f := Finding{Group: Configuration, Severity: sevError, Text: text, Cure: cure}
	var le *config.LoadError
	switch {
	case !errors.As(err, &le):
	case errors.Is(le.Err, os.ErrNotExist):
		f.Command = e.commandLine("init")
	case errors.Is(le.Err, os.ErrPermission):
		f.Cure, f.Command = "let your user read it", printable.CommandLine([]string{"chmod", "u+r", le.Path})
	}
	e.report.addFinding(f)
}

// isAbout reports whether a problem is about what is examined.
func (e *examination) isAbout(p config.Problem) bool {
	if len(e.Servers) == 0 {
		return true
	}
	return slices.ContainsFunc(e.Servers, func(name string) bool {
		return e.subjectOf(p) == name
	})
}

// subjectOf returns the server that a problem is about.
func (e *examination) subjectOf(p config.Problem) string {
	if e.found.File == nil {
		return ""
	}
	for i := range e.found.File.Servers {
		s := &e.found.File.Servers[i]
		key := e.found.File.At("mcpServers", s.Name).Key
		if p.Key == key || strings.HasPrefix(p.Key, key+".") || strings.HasPrefix(p.Key, key+"[") {
			return s.Name
		}
	}
	return ""
}

// examineConfiguration adds what validate finds, and who else can change or read hub.json.
func (e *examination) examineConfiguration() {
	for _, p := range e.found.Problems {
		if e.isAbout(p) {
			e.report.addFinding(e.problemFinding(p))
		}
	}
	if len(e.Servers) == 0 {
		e.examineAccess()
	}
}

// problemFinding returns one that validate finds.
func (e *examination) problemFinding(p config.Problem) Finding {
	f := Finding{Group: Configuration, Subject: e.subjectOf(p), Severity: p.Severity.String(), At: formatPlace(p), Text: p.Text, Cure: p.Hint, Command: printable.CommandLine(p.Command)}
	if f.Cure == "" {
		f.Text, f.Cure, _ = strings.Cut(p.Text, "; ")
	}
	f.runChmod("let nobody else read it")
	if f.Subject != "" {
		f.Text = strings.TrimPrefix(strings.TrimPrefix(p.Key, e.found.File.At("mcpServers", f.Subject).Key), ".") + ": " + f.Text
		f.Text = strings.TrimPrefix(f.Text, ": ")
	} else if p.Key != "" {
		f.Text = p.Key + ": " + f.Text
	}
	if strings.HasSuffix(p.Key, ".command") && p.Severity == config.SeverityError {
		e.suggestProgram(&f)
	}
	return f
}

// Lacks returns the errors of one entry for which its server cannot be started.
func Lacks(o Options, found setup.CheckResult, server string) (all []Finding) {
	e := examination{Options: o, found: found}
	for _, p := range found.Problems {
		if p.Severity == config.SeverityError && e.subjectOf(p) == server {
			all = append(all, e.problemFinding(p))
		}
	}
	return all
}

// Failure returns why a server that was tried does not work, and what helps.
func Failure(ctx context.Context, o Options, found setup.CheckResult, run *trial.Attempt) Finding {
	e := examination{Options: o, found: found}
	return e.explainFailure(run.Spec, &run.Status, e.findInterpreter(ctx, run.Spec, run.Status.Command))
}

// commandLine returns a command line of this program, about the hub.json that is examined.
func (e *examination) commandLine(words ...string) string {
	return e.Source.CommandLine(words...)
}

func formatPlace(p config.Problem) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// examineAccess finds who else can change hub.json, which starts programs, or read the
// secrets in it.
func (e *examination) examineAccess() {
	path := e.report.Config
	if path == "" || e.Clients.OS == "windows" {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	abs := e.absoluteConfig()
	text, _ := atomicfile.Read(path) // what cannot be read shows no secret
	mode := info.Mode().Perm()
	switch {
	case mode&0o022 != 0:
		e.addFinding(Configuration, sevError, fmt.Sprintf("others may change %s (mode %04o), and it says which programs run", abs, mode), "let nobody else change it").Command = printable.CommandLine([]string{"chmod", "go-w", abs})
	case mode&0o044 != 0 && clients.HoldsSecrets(text):
		e.addFinding(Configuration, sevWarning, fmt.Sprintf("others may read %s (mode %04o), and it holds what looks like a secret", abs, mode), "let nobody else read it; better, keep the secret with mcphub secret set").Command = printable.CommandLine([]string{"chmod", "600", abs})
	}
}

// suggestProgram looks for a program that PATH does not have where programs usually are.
func (e *examination) suggestProgram(f *Finding) {
	s := e.found.File.Server(f.Subject)
	if s == nil || s.Command == "" {
		return
	}
	name := filepath.Base(s.Command)
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if !strings.ContainsAny(s.Command, `/\`) {
		dirs = usualFolders(e.Clients)
	}
	for _, dir := range dirs {
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 && filepath.IsAbs(p) {
			f.Cure = fmt.Sprintf(`%s is there: write "command": %q`, p, p)
			return
		}
	}
	if where := publishers[name]; where != "" && !strings.ContainsAny(s.Command, `/\`) {
		f.Cure = "install " + where + ", or write the program's absolute path"
	}
}

// publishers report what brings well-known programs.
var publishers = map[string]string{
	"npx": "Node.js (https://nodejs.org)", "node": "Node.js (https://nodejs.org)", "npm": "Node.js (https://nodejs.org)",
	"uvx": "uv (https://docs.astral.sh/uv)", "uv": "uv (https://docs.astral.sh/uv)", "docker": "Docker (https://docs.docker.com/get-docker)",
	"deno": "Deno (https://deno.com)", "bunx": "Bun (https://bun.sh)", "bun": "Bun (https://bun.sh)", "python3": "Python (https://www.python.org)", "python": "Python (https://www.python.org)",
}

// usualFolders returns the folders into which programs are installed that PATH may lack.
func usualFolders(env clients.Env) []string {
	dirs := []string{
		filepath.Join(env.Home, ".local", "bin"), filepath.Join(env.Home, "bin"), filepath.Join(env.Home, ".cargo", "bin"), filepath.Join(env.Home, ".bun", "bin"),
		filepath.Join(env.Home, ".deno", "bin"), filepath.Join(env.Home, "go", "bin"), filepath.Join(env.Home, ".volta", "bin"),
		"/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/snap/bin",
	}
	for _, pattern := range []string{".nvm/versions/node/*/bin", ".local/share/fnm/node-versions/*/installation/bin", ".asdf/shims", ".local/share/mise/shims"} {
		more, _ := filepath.Glob(filepath.Join(env.Home, filepath.FromSlash(pattern))) // the pattern is well formed
		slices.Reverse(more)                                                           // the latest first
		dirs = append(dirs, more...)
	}
	return dirs
}

// trialRoots returns the roots that the servers are tried with.
func (e *examination) trialRoots() []string {
	if len(e.Roots) > 0 {
		return e.Roots
	}
	cfg := &e.found.Hub
	if !cfg.Fallback.IsEmpty() {
		return nil
	}
	return []string{cfg.Dir}
}

// fallbackRoots returns the roots of clients that give none.
func (e *examination) fallbackRoots() []string {
	out := []string{}
	if e.found.Whole && !e.found.Hub.Fallback.IsEmpty() {
		for _, r := range e.found.Hub.Fallback.Snapshot(e.found.Hub.FS, 1, e.found.Hub.Checker.Rules().WritableDirs()).Roots() {
			out = append(out, r.Path)
		}
	}
	return out
}
