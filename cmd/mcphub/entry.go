package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/registry"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/internal/printable"
	"mcphub/validate/policy"
)

// entryWork holds what add, remove, enable and disable work on. They change one entry of
// hub.json and leave the rest as it is.
type entryWork struct {
	config string
	asJSON bool
	noTry  bool
	ctx    context.Context
	out    io.Writer
	say    io.Writer // warnings
}

// entryReport is the result in JSON; its shape is stable.
type entryReport struct {
	Config   string   `json:"config"`
	Server   string   `json:"server"`
	Tool     string   `json:"tool,omitempty"` // that was enabled or disabled alone
	State    string   `json:"state"`          // added, removed, enabled, disabled
	Changed  bool     `json:"changed"`
	Warnings []string `json:"warnings,omitempty"`

	Trial *tryReport `json:"trial,omitempty"` // of add
}

func (w *entryWork) registerFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&w.config, "config", "c", "", "hub.json to change (default: $MCPHUB_CONFIG, then mcphub/hub.json in the user's configuration folder)")
	cmd.Flags().BoolVar(&w.asJSON, "json", false, "print JSON")
}

func (w *entryWork) startWork(cmd *cobra.Command) {
	w.ctx, w.out, w.say = cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
}

// addFlags are the flags of add.
type addFlags struct {
	url          string
	env, headers []string
	disabled     bool
}

func addCommand() *cobra.Command {
	var w entryWork
	var g addFlags
	var r registryFlags
	cmd := &cobra.Command{
		Use:   "add NAME (-- COMMAND [ARG]... | --url URL)",
		Short: "Add a server to hub.json",
		Long: "Adds one server to hub.json and leaves every other byte of it as it is. If there is\n" +
			"no hub.json it is made, with the embedded filesystem server in it. Hubs that run take\n" +
			"the server at once. What stands behind -- is the server's command line.\n\n" +
			"Before that the server is started once, if the kernel holds it, to see that it works.\n" +
			"It is added in any case; a warning says why it does not work, and what mends it.\n\n" +
			"A name such as io.github.user/weather, alone, is looked up in a registry of servers. What its\n" +
			"entry comes to in hub.json is shown whole: what is run, and what is asked for. Nothing is run or\n" +
			"written before you agree. --yes agrees to what is written, and the server is disabled until\n" +
			"you have looked at it.",
		Example: "  mcphub add git -- uvx mcp-server-git\n" +
			"  mcphub add github --url https://example.com/mcp --header 'Authorization=Bearer ${keyring:github}'\n" +
			"  mcphub add db --env PGHOST=localhost --disabled -- npx -y some-server\n" +
			"  mcphub add io.github.user/weather --set UNITS=metric",
		RunE: func(cmd *cobra.Command, args []string) error {
			w.startWork(cmd)
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return exit.UsageErrorf("name the server: mcphub add NAME -- COMMAND")
			}
			if len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
				return exit.UsageErrorf("the command stands behind --: mcphub add %s -- %s", args[0], strings.Join(args[1:], " "))
			}
			if len(args) == 1 && g.url == "" && registry.IsName(args[0]) && strings.Contains(args[0], ".") {
				if len(g.env) > 0 || len(g.headers) > 0 {
					return exit.UsageErrorf("--env and --header are for a server that you describe yourself; one of a registry takes --set NAME=VALUE")
				}
				return r.addServer(cmd, &w, args[0], g.disabled)
			}
			if flag := r.givenFlag(cmd); flag != "" {
				return exit.UsageErrorf("--%s is for a server of a registry, which is named alone: mcphub add io.github.user/weather", flag)
			}
			entry, err := g.makeEntry(args[0], args[1:])
			if err != nil {
				return err
			}
			p, err := w.planAdd(args[0], entry)
			if err != nil {
				return err
			}
			if disabled, _ := entry.Get("disabled").(bool); !disabled && !w.noTry {
				if err := w.tryServer(p); err != nil {
					return err
				}
			}
			return w.writePlan(p)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&g.url, "url", "", "the address of a server that runs elsewhere")
	flags.StringArrayVar(&g.env, "env", nil, "NAME=VALUE: a variable of the server's environment; repeatable")
	flags.StringArrayVar(&g.headers, "header", nil, "NAME=VALUE or 'NAME: VALUE': a header of every request to --url; repeatable")
	flags.BoolVar(&g.disabled, "disabled", false, "add it, but do not serve or try it yet")
	flags.BoolVar(&w.noTry, "no-try", false, "do not start it")
	r.registerFlags(cmd)
	w.registerFlags(cmd)
	return cmd
}

// makeEntry returns what add writes.
func (g *addFlags) makeEntry(name string, command []string) (edit.Table, error) {
	var t edit.Table
	switch {
	case g.url == "" && len(command) == 0:
		return nil, exit.UsageErrorf("say what the server is: mcphub add %s -- COMMAND, or --url URL", name)
	case g.url != "" && len(command) > 0:
		return nil, exit.UsageErrorf("a server has a command or --url, not both")
	case g.url != "" && len(g.env) > 0:
		return nil, exit.UsageErrorf("--env is for a server with a command; one with --url takes --header")
	case g.url == "" && len(g.headers) > 0:
		return nil, exit.UsageErrorf("--header is for a server with --url; one with a command takes --env")
	case g.url != "":
		t = t.With("url", g.url)
	default:
		program, err := typedPath(command[0])
		if err != nil {
			return nil, err
		}
		t = t.With("command", program)
		if len(command) > 1 {
			var args []any
			for _, a := range command[1:] {
				args = append(args, a)
			}
			t = t.With("args", args)
		}
	}
	for _, box := range []struct {
		key, flag, signs string
		pairs            []string
	}{{"env", "--env", "=", g.env}, {"headers", "--header", "=:", g.headers}} {
		in, err := parsePairs(box.flag, box.signs, box.pairs)
		if err != nil {
			return nil, err
		}
		if len(in) > 0 {
			t = t.With(box.key, in)
		}
	}
	if g.disabled {
		t = t.With("disabled", true)
	}
	return t, nil
}

// typedPath makes a program absolute that is named by a relative path: it is
// typed in the working directory, and hub.json counts from its own folder.
func typedPath(program string) (string, error) {
	if !strings.ContainsAny(program, `/`+string(filepath.Separator)) || filepath.IsAbs(program) || strings.HasPrefix(program, "~") || strings.HasPrefix(program, "${") {
		return program, nil
	}
	return filepath.Abs(program)
}

// parsePairs reads NAME=VALUE. The first of signs ends the name.
func parsePairs(flag, signs string, all []string) (edit.Table, error) {
	var t edit.Table
	for _, pair := range all {
		at := strings.IndexAny(pair, signs)
		if at < 1 {
			return nil, exit.UsageErrorf("%s: want NAME=VALUE", flag) // the text may be a secret
		}
		name, value := strings.TrimSpace(pair[:at]), pair[at+1:]
		if signs != "=" {
			value = strings.TrimSpace(value)
			if http.CanonicalHeaderKey(name) == "" || strings.ContainsAny(name+value, "\r\n") {
				return nil, exit.UsageErrorf("%s: %q is no header", flag, name)
			}
		}
		if t.Has(name) {
			return nil, exit.UsageErrorf("%s: %q is given twice", flag, name)
		}
		t = t.With(name, value)
	}
	return t, nil
}

// An entryPlan is a change of one entry of hub.json that is not written yet.
type entryPlan struct {
	path          string
	before, after []byte // of hub.json; before is nil if there is none
	private       bool   // it holds a secret as plain text
	report        entryReport
}

// planAdd plans what add writes.
func (w *entryWork) planAdd(name string, entry edit.Table) (*entryPlan, error) {
	path, text, file, err := hubConfig(w.config)
	if err != nil {
		return nil, err
	}
	if slices.Contains(fileServerNames(file), name) {
		return nil, fmt.Errorf("%s has a server %q already; take it out first: %s", path, name, commandText("remove", name))
	}
	if env, err := clientEnv(); err == nil {
		entry = locateProgram(env, entry)
	}
	after, err := clients.AddToHub(path, text, name, entry)
	if err != nil {
		return nil, exit.ConfigErrorf("%w; nothing was changed", err)
	}
	p := &entryPlan{path: path, before: text, after: after, report: entryReport{Config: path, Server: name, State: "added"}}
	for _, s := range clients.PlainSecrets(name, entry) {
		p.private = true
		p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("%s looks like a secret and stands in hub.json as plain text: keep it by 'mcphub secret set %s' and write ${keyring:%s} in its place", s.Key, s.Name, s.Name))
	}
	return p, nil
}

// tryServer starts the server that is to be added.
func (w *entryWork) tryServer(p *entryPlan) error {
	env, err := clientEnv()
	if err != nil {
		return err
	}
	t := trier{config: w.config, path: p.path, text: p.after, env: env, confined: true, limit: tryAllTime, say: io.Discard, try: trial.Try}
	if !w.asJSON {
		t.confirm = confirmAtTerminal
	}
	tried, err := t.tryServers(w.ctx, []string{p.report.Server})
	if err != nil {
		return err
	}
	p.report.Trial = tried[p.report.Server]
	if p.report.Trial.State == tryFails {
		p.report.Warnings = append(p.report.Warnings, p.report.Trial.warningText())
	}
	return nil
}

func removeCommand() *cobra.Command {
	return entryCommand("remove NAME", "Take a server out of hub.json",
		"Takes one server out of hub.json and leaves the rest as it is. Hubs that run stop it at\nonce. `mcphub disable` keeps its entry.", "removed",
		func(path string, text []byte, name, _ string) ([]byte, error) {
			return clients.RemoveFromHub(path, text, name)
		}, "rm", "delete")
}

func enableCommand() *cobra.Command {
	return entryCommand("enable NAME [TOOL]", "Serve a server of hub.json, or a tool of it, that was disabled",
		"Sets \"disabled\" of a server in hub.json to false and leaves the rest as it is. With TOOL, as the\n"+
			"server calls it, the tool is taken out of \"tools\": {\"exclude\"}. Hubs that run serve it at once.", "enabled",
		setsDisabled(false))
}

func disableCommand() *cobra.Command {
	return entryCommand("disable NAME [TOOL]", "Keep a server in hub.json, but do not serve it, or a tool of it",
		"Sets \"disabled\" of a server in hub.json and leaves the rest as it is. With TOOL, as the server\n"+
			"calls it, the tool is added to \"tools\": {\"exclude\"}. Hubs that run stop it at once.", "disabled",
		setsDisabled(true))
}

// A hubChange changes the entry of a server in the text of hub.json. tool is "" unless a tool is named.
type hubChange func(path string, text []byte, name, tool string) ([]byte, error)

func setsDisabled(disabled bool) hubChange {
	return func(path string, text []byte, name, tool string) ([]byte, error) {
		if tool != "" {
			return switchTool(path, text, name, tool, disabled)
		}
		return clients.DisableInHub(path, text, name, disabled)
	}
}

// switchTool holds a tool back, or offers it, and refuses if a pattern of hub.json decides that otherwise.
func switchTool(path string, text []byte, name, tool string, off bool) ([]byte, error) {
	after, err := clients.SwitchToolInHub(path, text, name, tool, off)
	if err != nil || off {
		return after, err
	}
	file, _, err := config.Parse(path, after, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	s := file.Named(name)
	for i, pattern := range s.Tools.Exclude {
		if matches, err := policy.MatchName(pattern, tool); matches || err != nil {
			at := file.At("mcpServers", s.Name, "tools", "exclude", strconv.Itoa(i))
			return nil, fmt.Errorf("%s:%d: the pattern %q of tools.exclude holds back %s; change the pattern by hand", at.File, at.Line, pattern, printable.Quote(tool))
		}
	}
	return after, nil
}

// planChange plans a change of an entry that is there.
func (w *entryWork) planChange(state string, change hubChange, name, tool string) (*entryPlan, error) {
	path, text, file, err := hubConfig(w.config)
	if err != nil {
		return nil, err
	}
	if err := checkServerName(path, name, fileServerNames(file)); err != nil {
		return nil, err
	}
	after, err := change(path, text, name, tool)
	if err != nil {
		return nil, exit.ConfigErrorf("%w; nothing was changed", err)
	}
	return &entryPlan{path: path, before: text, after: after, report: entryReport{Config: path, Server: name, Tool: tool, State: state}}, nil
}

// entryCommand returns a command that changes an entry which is there.
func entryCommand(use, short, long, state string, change hubChange, aliases ...string) *cobra.Command {
	var w entryWork
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Aliases: aliases,
		Args: cobra.RangeArgs(1, len(strings.Fields(use))-1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.startWork(cmd)
			p, err := w.planChange(state, change, args[0], strings.Join(args[1:], ""))
			if err != nil {
				return err
			}
			return w.writePlan(p)
		},
	}
	w.registerFlags(cmd)
	return cmd
}

// writePlan replaces hub.json and says in one line what is new, with the warnings.
func (w *entryWork) writePlan(p *entryPlan) error {
	if err := p.putFile(); err != nil {
		return err
	}
	r := &p.report
	for _, text := range r.Warnings {
		layout.Println(w.say, "warning: "+text)
	}
	switch {
	case w.asJSON:
		return layout.JSON(w.out, r)
	case !r.Changed:
		layout.Printf(w.out, "%s is %s in %s already\n", r.changedSubject(), r.State, r.Config)
	default:
		layout.Printf(w.out, "%s %s in %s\n", r.changedSubject(), r.State, r.Config)
		if r.Trial != nil && r.Trial.State != tryFails {
			r.Trial.showTrial(w.out, r.Server, false)
		}
	}
	return nil
}

// hasChanges reports whether hub.json has to be written; before is nil if there is none.
func hasChanges(before, after []byte) bool { return before == nil || !bytes.Equal(before, after) }

// putFile replaces hub.json, and notes what the file is warned of now and was not before.
func (p *entryPlan) putFile() error {
	p.report.Changed = hasChanges(p.before, p.after)
	if !p.report.Changed {
		return nil
	}
	if err := p.report.Trial.keepConfirmed(); err != nil { // first: a hub reads hub.json as soon as it is written
		return err
	}
	if err := writeHub(p.path, p.before, p.after, p.private); err != nil {
		return err
	}
	if p.report.State == "removed" {
		if err := forgetRecorded(p.path, p.report.Server); err != nil {
			return err
		}
	}
	p.report.Warnings = append(p.report.Warnings, newProblems(p.path, p.before, p.after)...)
	return nil
}

// changedSubject names what was changed.
func (r *entryReport) changedSubject() string {
	if r.Tool != "" {
		return "the tool " + printable.Escape(r.Tool, 200) + " of " + r.Server
	}
	return r.Server
}

func newProblems(path string, before, after []byte) []string {
	var known, out []string
	if before != nil {
		_, problems, _ := config.Parse(path, before, os.LookupEnv)
		for _, p := range problems {
			known = append(known, p.Text)
		}
	}
	_, problems, _ := config.Parse(path, after, os.LookupEnv) // it was read before it was written
	for _, p := range problems {
		if p.Severity != config.SeverityNote && !slices.Contains(known, p.Text) {
			out = append(out, p.Text+layout.WithPrefix("; ", p.Hint))
		}
	}
	return out
}
