package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children/hints"
	"mcphub/children/learn"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

type learnFlags struct {
	callFlags
	calls    []string
	span     time.Duration
	serve    string
	confined bool
	confirm  bool
	asJSON   bool
}

func learnCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	var f learnFlags
	cmd := &cobra.Command{
		Use:   "learn NAME",
		Short: "Find out what a server opens, and print the smallest sandbox entry for it",
		Long: "Runs one server and notes what it opens beside its roots and what every program needs,\n" +
			"then prints the smallest \"sandbox\" of its entry in hub.json with which it does the same.\n" +
			"Nothing is written. Meanwhile it runs WITHOUT a sandbox, unless --confined is given.\n\n" +
			"The server is started and its tools are listed; nothing is called. What it opens for a\n" +
			"call is seen if it is called: by --call, or by a client with --serve. What was opened\n" +
			"and cannot be allowed by itself is said with the reason: keys, the home folder, what\n" +
			"the policy protects. In the end the server is started once more under the proposal.\n\n" +
			"With --confirm the server runs in its sandbox, and you are asked about what it would open\n" +
			"beyond it. It is started again after each yes, and the calls are made again. What you\n" +
			"confirm belongs to this entry, its program and the version of its package, and is kept\n" +
			"outside of hub.json; mcphub allow --list shows it, and mcphub revoke takes a path back.",
		Example: "  mcphub learn files --root .\n" +
			"  mcphub learn notes --root . --call 'notes__search {\"text\":\"x\"}' --call notes__list\n" +
			"  mcphub learn notes --confirm --root . --call notes__list\n" +
			"  mcphub learn files --serve learned.json     as the command of a server in a client",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.learnServer(cmd, src, &logs, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.calls, "call", nil, "a tool to call meanwhile, and its arguments: 'TOOL {\"key\":\"value\"}'; repeatable, made in order")
	flags.DurationVar(&f.span, "for", 0, "go on for so long, or until it is interrupted")
	flags.StringVar(&f.serve, "serve", "", "serve a client on standard input and output meanwhile, and write the result to this file")
	flags.BoolVar(&f.confined, "confined", false, "run it in its sandbox, again and again, and go by its own errors: slower, and finds less")
	flags.BoolVar(&f.confirm, "confirm", false, "run it in its sandbox, show what it would open beyond that, and keep what you confirm at a terminal")
	jsonFlag(cmd, &f.asJSON)
	for _, other := range []string{"serve", "for", "confined", "json"} {
		cmd.MarkFlagsMutuallyExclusive("confirm", other)
	}
	cmd.MarkFlagsMutuallyExclusive("serve", "call")
	cmd.MarkFlagsMutuallyExclusive("serve", "for")
	cmd.MarkFlagsMutuallyExclusive("serve", "confined")
	f.registerFlags(cmd)
	configFlags(cmd, src)
	logs.registerFlags(cmd, "error")
	return cmd
}

// A learnRun is one run of learn.
type learnRun struct {
	*learnFlags
	cmd   *cobra.Command
	src   *setup.Source
	made  *setup.Result
	log   zerolog.Logger
	roots []string
	say   io.Writer

	name string
	own  sandbox.Settings // of the entry; what it says about the mode is left aside
	rec  sandbox.Recorder
	seen status.Child // how the server was at the end of the last run
	said []string     // errors of calls, of the last run
}

func (f *learnFlags) learnServer(cmd *cobra.Command, src *setup.Source, logs *logFlags, name string) error {
	log, err := logs.newLogger(os.Stderr)
	if err != nil {
		return err
	}
	roots, err := existingRoots(f.roots)
	if err != nil {
		return err
	}
	var calls []trial.Call
	for _, call := range f.calls {
		tool, args := callOf(call)
		if !json.Valid([]byte(args)) {
			return exit.UsageErrorf("--call %q: after the name of the tool comes one JSON object", call)
		}
		calls = append(calls, trial.Call{Tool: tool, Args: []byte(args)})
	}
	if f.confirm {
		return confirmRecorded(cmd, src, name, roots, calls)
	}
	useDisabled(src, cmd.ErrOrStderr(), name)
	made, err := src.Read(stderr, log)
	if err != nil {
		return err
	}
	defer made.WaitForLogins()
	l := &learnRun{learnFlags: f, rec: sandbox.Recorder{Free: true}, cmd: cmd, src: src, made: &made, log: log, roots: roots, say: cmd.ErrOrStderr(), name: name}
	if err := l.keepOnly(); err != nil {
		return err
	}
	result, err := l.runLearning()
	if err != nil {
		return err
	}
	return l.printReport(result)
}

// keepOnly leaves one server in the configuration.
func (l *learnRun) keepOnly() error {
	cfg := &l.made.Hub
	if err := keepNamed(cfg, []string{l.name}); err != nil {
		return err
	}
	for _, b := range cfg.Broken {
		return exit.ConfigErrorf("%s: %s", l.name, b.Reason)
	}
	child := &cfg.Children[0].Spec
	if child.URL != "" {
		return exit.UsageErrorf("%s runs elsewhere: nothing here could hold it", l.name)
	}
	child.Start, child.Share = spec.StartEager, spec.ShareSession
	cfg.Broken, cfg.Cache = nil, "" // what it offered before would be listed without it
	cfg.Limits.ListWait = l.timeout
	l.own = child.Sandbox
	return nil
}

// setSandbox sets how the kernel holds the server in the next run.
func (l *learnRun) setSandbox(s sandbox.Settings, mode sandbox.Mode, rec *sandbox.Recorder) {
	s.Mode, s.Default = mode, false // it is asked for here
	l.made.Hub.Children[0].Spec.Sandbox, l.made.Hub.Record = s, rec
}

func (l *learnRun) runLearning() (*learnReport, error) {
	if !l.confined {
		layout.Printf(l.say, "mcphub: runs %s without a sandbox, and notes what it opens\n", l.name)
		l.setSandbox(l.own, sandbox.Auto, &l.rec)
		err := l.recordRun()
		if err == nil {
			return l.makeReport(recordedOnce)
		}
		if l.rec.Refused() == nil {
			return nil, err
		}
		layout.Printf(l.say, "mcphub: nothing can be recorded here: %v\n", l.rec.Refused())
		if l.serve != "" {
			return nil, err
		}
	}
	if err := l.repeatRuns(); err != nil {
		return nil, err
	}
	return l.makeReport(repeated)
}

// recordRun runs the server once.
func (l *learnRun) recordRun() error {
	if l.serve != "" {
		err := l.serveClient()
		if p := l.rec.Profile(); err == nil && (p == nil || p.Unbounded) {
			err = fmt.Errorf("%s was not started for directories that a sandbox could hold it to: its client gave none", l.name)
		}
		return err
	}
	err := l.runOnce(true)
	if l.cmd.Context().Err() != nil && l.rec.Profile() != nil {
		return nil // interrupted: what was noted counts
	}
	if err == nil {
		err = l.unheldError()
	}
	return err
}

// unheldError returns an error if no sandbox would confine the files of the server.
func (l *learnRun) unheldError() error {
	switch o := l.seen.Opens; {
	case l.seen.Server == "":
		return nil
	case o == nil || o.All:
		why := strings.Join(l.seen.Lacks, "; ")
		if len(l.roots) == 0 {
			why += "; name the directories in scope with --root"
		}
		return fmt.Errorf("no sandbox would hold the files of %s: %s", l.name, why)
	}
	return nil
}

// runOnce starts the server, has its tools listed, and with calls makes these.
func (l *learnRun) runOnce(calls bool) error {
	l.said = nil
	f := l.callFlags
	f.timeout += l.span
	return f.runWith(l.cmd, l.made, l.roots, l.log, func(ctx context.Context, c *client.Session) error {
		defer func() { l.noteStatus(c.Status()) }()
		if _, err := c.Request(ctx, "tools/list"); err != nil || !calls {
			return err
		}
		switch l.noteStatus(c.Status()); {
		case l.seen.State == "ready":
		case l.made.Hub.Record == nil:
			return nil // it has said what it lacks
		default:
			return fmt.Errorf("%s does not start without a sandbox either: %s", l.name, l.notReadyReason())
		}
		for _, call := range l.calls {
			if err := l.makeCall(ctx, c, call); err != nil {
				return err
			}
		}
		l.rec.WaitQuiet(ctx, l.span)
		return nil
	})
}

// noteStatus remembers the status of the server.
func (l *learnRun) noteStatus(s status.Hub) {
	for _, c := range s.Children {
		if c.Server == l.name {
			l.seen = c
		}
	}
}

func callOf(call string) (tool, args string) {
	tool, args, _ = strings.Cut(strings.TrimSpace(call), " ")
	return tool, cmp.Or(strings.TrimSpace(args), "{}")
}

func (l *learnRun) makeCall(ctx context.Context, c *client.Session, call string) error {
	tool, args := callOf(call)
	result, err := c.CallTool(ctx, tool, []byte(args))
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		l.said = append(l.said, refused.Message)
	case err != nil:
		return err
	case resultIsError(result):
		text, _ := resultText(result)
		l.said = append(l.said, text)
	default:
		return nil
	}
	if l.made.Hub.Record != nil { // else it is run again for what it says
		layout.Printf(l.say, "mcphub: %s: %s\n", tool, l.said[len(l.said)-1])
	}
	return nil
}

// serveClient serves a client on standard input and output until it goes.
func (l *learnRun) serveClient() error {
	cfg := &l.made.Hub
	return service.WithRecord(cfg, l.made.Audit, func() error {
		h, err := hub.New(*cfg)
		if err != nil {
			return exit.ConfigErrorf("%w", err)
		}
		return service.Run(l.cmd.Context(), h, l.log, func(ctx context.Context) error {
			return h.ServeStdio(ctx, os.Stdin, os.Stdout, hub.Surroundings{})
		})
	})
}

// maxRepeated bounds how often a server is run for what its errors say.
const maxRepeated = 40

// repeatRuns runs the server in its sandbox until its errors name nothing more.
func (l *learnRun) repeatRuns() error {
	layout.Printf(l.say, "mcphub: runs %s in its sandbox, until it names nothing more that it lacks\n", l.name)
	for range maxRepeated {
		l.setSandbox(l.proposeRules().Settings, sandbox.Auto, nil)
		if err := l.runOnce(true); err != nil {
			return err
		}
		if err := l.unheldError(); err != nil {
			return err
		}
		before := l.rec.Uses()
		l.recordLacks()
		if slices.Equal(l.rec.Uses(), before) || l.cmd.Context().Err() != nil {
			break
		}
	}
	for _, text := range l.said {
		layout.Printf(l.say, "mcphub: %s\n", text)
	}
	return nil
}

// recordLacks records the paths that the errors of the last run name.
func (l *learnRun) recordLacks() {
	held := &sandbox.Profile{Rules: sandbox.BaseRules(l.made.Hub.Home)}
	for _, path := range l.seen.Opens.Read {
		held.Rules = append(held.Rules, sandbox.Rule{Path: path, Access: sandbox.Read | sandbox.Execute})
	}
	for _, path := range l.seen.Opens.Write {
		held.Rules = append(held.Rules, sandbox.Rule{Path: path, Access: sandbox.Read | sandbox.Write | sandbox.Execute})
	}
	reads := hints.Reader{Profile: held}
	texts := append([]string{l.seen.Stderr, l.seen.Error, l.seen.LastFailure}, l.said...)
	for _, line := range strings.Split(strings.Join(texts, "\n"), "\n") {
		r, ok := reads.ReadResponse(line, nil, true)
		if !ok || r.Path == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(r.Path)
		if err != nil {
			real = r.Path
		}
		l.rec.Add(sandbox.Use{Path: real, Access: r.Access, Made: err != nil && r.Access&sandbox.Write != 0})
	}
}

func (l *learnRun) proposeRules() learn.Proposal {
	return learn.Propose(learn.Facts{
		Settings: l.own, Profile: l.rec.Profile(), Withheld: l.made.Hub.Checker.ClosedPaths(l.name), Home: l.made.Hub.Home,
		Uses: l.rec.Uses(), Sockets: l.rec.Sockets(), Ports: l.rec.Ports(),
	})
}

// How it was learned.
const (
	recordedOnce = "recorded"
	repeated     = "repeated"
)

// learnReport is the result of learn; the shape of --json.
type learnReport struct {
	Server  string          `json:"server"`
	At      string          `json:"at"`      // file:line of what there is now
	How     string          `json:"how"`     // recorded, or repeated
	Sandbox learnedEntry    `json:"sandbox"` // as it goes into hub.json
	Left    []learnedLeft   `json:"notProposed"`
	Sockets []learnedSocket `json:"sockets"`
	Ports   []uint16        `json:"ports"`
	Checked bool            `json:"checked"` // it has started and listed its tools under it
	Problem string          `json:"problem,omitempty"`

	called bool     // something was called, or a client may have
	allow  []string // commands that write what is proposed
}

type learnedEntry struct {
	Mode    string   `json:"mode"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Network any      `json:"network,omitempty"`
	Sockets string   `json:"sockets,omitempty"`
	Widen   string   `json:"widen,omitempty"`
}

type learnedLeft struct {
	Path   string `json:"path"`
	Access string `json:"access"`
	Why    string `json:"why"`
}

type learnedSocket struct {
	Path  string `json:"path"`
	Bound bool   `json:"bound"` // by the server itself
}

func (l *learnRun) makeReport(how string) (*learnReport, error) {
	p := l.proposeRules()
	s, mode := p.Settings, "required"
	at := l.made.File.At("mcpServers", l.name, "sandbox")
	out := &learnReport{Server: l.name, At: fmt.Sprintf("%s:%d", at.File, at.Line), How: how, Left: []learnedLeft{}, Sockets: []learnedSocket{}, Ports: l.rec.Ports()}
	if out.Ports == nil {
		out.Ports = []uint16{}
	}
	for _, left := range p.Left {
		out.Left = append(out.Left, learnedLeft{left.Path, left.Access.String(), left.Why})
	}
	for _, k := range l.rec.Sockets() {
		out.Sockets = append(out.Sockets, learnedSocket{k.Path, k.Bound})
	}
	if l.serve == "" && l.cmd.Context().Err() == nil {
		layout.Printf(l.say, "mcphub: starts %s under the proposal\n", l.name)
		if out.Problem = l.checkProposal(s, sandbox.Required); out.Problem == "" {
			out.Checked = true
		} else if l.checkProposal(s, sandbox.Auto) == "" {
			out.Checked, mode = true, "auto"
		}
	}
	out.called = len(l.calls) > 0 || l.serve != ""
	out.allow = l.allowCommands(s)
	out.Sandbox = learnedEntry{Mode: mode, Read: l.writtenPaths(s.Read), Write: l.writtenPaths(s.Write)}
	switch {
	case s.Network.On:
	case len(s.Network.Ports) == 0:
		out.Sandbox.Network = "off"
	default:
		out.Sandbox.Network = s.Network.Ports
	}
	out.Sandbox.Sockets = map[sandbox.Choice]string{sandbox.No: "off", sandbox.Yes: "on"}[s.Sockets]
	out.Sandbox.Widen = map[sandbox.Choice]string{sandbox.No: "restart", sandbox.Yes: "refuse"}[s.KeepRunning]
	return out, nil
}

// allowCommands write into hub.json what is proposed and does not stand there.
func (l *learnRun) allowCommands(s sandbox.Settings) (all []string) {
	for i, paths := range [][]string{s.Read, s.Write} {
		own, access := l.own.Read, sandbox.Read
		if i == 1 {
			own, access = l.own.Write, sandbox.Write
		}
		if paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return slices.Contains(own, path) }); len(paths) > 0 {
			all = append(all, l.src.CommandLine(hints.Allow(l.name, access, paths...)...))
		}
	}
	return all
}

// checkProposal starts the server under the proposal, and reports why it does not.
func (l *learnRun) checkProposal(s sandbox.Settings, mode sandbox.Mode) string {
	l.setSandbox(s, mode, nil)
	if err := l.runOnce(false); err != nil {
		return err.Error()
	}
	if l.seen.State != "ready" {
		return l.notReadyReason()
	}
	return ""
}

// notReadyReason returns why the server is not ready.
func (l *learnRun) notReadyReason() string {
	return cmp.Or(l.seen.LastFailure, l.seen.Error, l.seen.State)
}

// writtenPaths returns paths as they are written in hub.json.
func (l *learnRun) writtenPaths(paths []string) (out []string) {
	for _, path := range paths {
		out = append(out, encodeHubPath(l.made.Hub.Home, path))
	}
	return out
}

func (l *learnRun) printReport(r *learnReport) error {
	if l.serve != "" {
		f, err := os.Create(l.serve)
		if err != nil {
			return err
		}
		return errors.Join(layout.JSON(f, r), f.Close())
	}
	out := l.cmd.OutOrStdout()
	if l.asJSON {
		return layout.JSON(out, r)
	}
	return r.showEntry(out)
}

// showEntry prints the entry as it goes into hub.json, and what is to be known of it as
// comments.
func (r *learnReport) showEntry(w io.Writer) error {
	var value any = r.Sandbox
	if e := r.Sandbox; e.Read == nil && e.Write == nil && e.Network == nil && e.Sockets == "" && e.Widen == "" {
		value = e.Mode // what is short for it
	}
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	layout.Printf(w, "\"sandbox\": %s\n", layout.Lines{Text: string(printable.JSON(raw))})
	if r.At != "" {
		layout.Printf(w, "// for %s, %s\n", r.Server, r.At)
	}
	if r.Sandbox.Sockets == "on" {
		layout.Println(w, "// sockets: with these on it can reach D-Bus, docker and ssh-agent, and through them everything")
	}
	if len(r.Left) > 0 {
		layout.Println(w, "// was opened, is not proposed:")
	}
	for _, left := range r.Left {
		layout.Printf(w, "//   %s (%s): %s\n", left.Path, left.Access, left.Why)
	}
	for _, k := range r.Sockets {
		if k.Bound {
			layout.Printf(w, "// it listens on the unix socket %s\n", k.Path)
		} else {
			layout.Printf(w, "// it was connected to the unix socket %s\n", k.Path)
		}
	}
	if len(r.Ports) > 0 {
		layout.Printf(w, "// it was connected to the ports %s\n", strings.Trim(fmt.Sprint(r.Ports), "[]"))
	} else if r.Sandbox.Network == nil && r.How == recordedOnce && r.called {
		layout.Println(w, "// it did not use the network; \"network\": \"off\" holds it to that")
	}
	for _, command := range r.allow {
		layout.Printf(w, "// to write that into hub.json run: %s\n", command)
	}
	switch {
	case r.Problem != "" && r.Checked:
		layout.Printf(w, "// \"required\" cannot be had: %s\n", oneLine(r.Problem))
	case r.Problem != "":
		layout.Printf(w, "// IT DOES NOT START with this: %s\n", oneLine(r.Problem))
	case !r.Checked:
		layout.Println(w, "// it was not started with this")
	}
	return nil
}
