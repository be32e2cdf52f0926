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
	"strings"

	"github.com/spf13/cobra"

	"mcphub/internal/clients"
	"mcphub/internal/clients/edit"
	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/registry"
	"mcphub/internal/trial"
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
	State    string   `json:"state"` // added, removed, enabled, disabled
	Changed  bool     `json:"changed"`
	Warnings []string `json:"warnings,omitempty"`

	Trial *tryReport `json:"trial,omitempty"` // of add
}

func (w *entryWork) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&w.config, "config", "c", "", "hub.json to change (default: $MCPHUB_CONFIG, then mcphub/hub.json in the user's configuration folder)")
	cmd.Flags().BoolVar(&w.asJSON, "json", false, "print JSON")
}

func (w *entryWork) start(cmd *cobra.Command) {
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
		Long: "Adds one server to hub.json and leaves every other byte of it as it is. Where there is\n" +
			"no hub.json it is made, with the embedded filesystem server in it. Hubs that run take\n" +
			"the server at once. What stands behind -- is the server's command line.\n\n" +
			"Before that the server is started once, where the kernel holds it, to see that it works.\n" +
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
			w.start(cmd)
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return exit.Errorf(exit.Usage, "name the server: mcphub add NAME -- COMMAND")
			}
			if len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
				return exit.Errorf(exit.Usage, "the command stands behind --: mcphub add %s -- %s", args[0], strings.Join(args[1:], " "))
			}
			if len(args) == 1 && g.url == "" && registry.IsName(args[0]) && strings.Contains(args[0], ".") {
				if len(g.env) > 0 || len(g.headers) > 0 {
					return exit.Errorf(exit.Usage, "--env and --header are for a server that you describe yourself; one of a registry takes --set NAME=VALUE")
				}
				return r.add(cmd, &w, args[0], g.disabled)
			}
			if flag := r.given(cmd); flag != "" {
				return exit.Errorf(exit.Usage, "--%s is for a server of a registry, which is named alone: mcphub add io.github.user/weather", flag)
			}
			entry, err := g.entry(args[0], args[1:])
			if err != nil {
				return err
			}
			return w.add(args[0], entry)
		},
	}
	cmd.Flags().StringVar(&g.url, "url", "", "the address of a server that runs elsewhere")
	cmd.Flags().StringArrayVar(&g.env, "env", nil, "NAME=VALUE: a variable of the server's environment; repeatable")
	cmd.Flags().StringArrayVar(&g.headers, "header", nil, "NAME=VALUE or 'NAME: VALUE': a header of every request to --url; repeatable")
	cmd.Flags().BoolVar(&g.disabled, "disabled", false, "add it, but do not serve or try it yet")
	cmd.Flags().BoolVar(&w.noTry, "no-try", false, "do not start it")
	r.flags(cmd)
	w.flags(cmd)
	return cmd
}

// entry is what add writes.
func (g *addFlags) entry(name string, command []string) (edit.Table, error) {
	var t edit.Table
	switch {
	case g.url == "" && len(command) == 0:
		return nil, exit.Errorf(exit.Usage, "say what the server is: mcphub add %s -- COMMAND, or --url URL", name)
	case g.url != "" && len(command) > 0:
		return nil, exit.Errorf(exit.Usage, "a server has a command or --url, not both")
	case g.url != "" && len(g.env) > 0:
		return nil, exit.Errorf(exit.Usage, "--env is for a server with a command; one with --url takes --header")
	case g.url == "" && len(g.headers) > 0:
		return nil, exit.Errorf(exit.Usage, "--header is for a server with --url; one with a command takes --env")
	case g.url != "":
		t = append(t, edit.Member{Name: "url", Value: g.url})
	default:
		program, err := typedPath(command[0])
		if err != nil {
			return nil, err
		}
		t = append(t, edit.Member{Name: "command", Value: program})
		if len(command) > 1 {
			var args []any
			for _, a := range command[1:] {
				args = append(args, a)
			}
			t = append(t, edit.Member{Name: "args", Value: args})
		}
	}
	for _, box := range []struct {
		key, flag, signs string
		pairs            []string
	}{{"env", "--env", "=", g.env}, {"headers", "--header", "=:", g.headers}} {
		in, err := pairs(box.flag, box.signs, box.pairs)
		if err != nil {
			return nil, err
		}
		if len(in) > 0 {
			t = append(t, edit.Member{Name: box.key, Value: in})
		}
	}
	if g.disabled {
		t = append(t, edit.Member{Name: "disabled", Value: true})
	}
	return t, nil
}

// typedPath makes a program absolute that is named by a relative path: it is
// typed in the working directory, and hub.json counts from its own folder.
func typedPath(program string) (string, error) {
	if !strings.ContainsAny(program, `/`+string(filepath.Separator)) || filepath.IsAbs(program) || strings.HasPrefix(program, "~") || strings.HasPrefix(program, "${") {
		return program, nil
	}
	path, err := filepath.Abs(program)
	return path, exit.Failed(err)
}

// pairs reads NAME=VALUE. The first of signs ends the name.
func pairs(flag, signs string, all []string) (edit.Table, error) {
	var t edit.Table
	for _, pair := range all {
		at := strings.IndexAny(pair, signs)
		if at < 1 {
			return nil, exit.Errorf(exit.Usage, "%s: want NAME=VALUE", flag) // the text may be a secret
		}
		name, value := strings.TrimSpace(pair[:at]), pair[at+1:]
		if signs != "=" {
			value = strings.TrimSpace(value)
			if http.CanonicalHeaderKey(name) == "" || strings.ContainsAny(name+value, "\r\n") {
				return nil, exit.Errorf(exit.Usage, "%s: %q is no header", flag, name)
			}
		}
		if t.Has(name) {
			return nil, exit.Errorf(exit.Usage, "%s: %q is given twice", flag, name)
		}
		t = append(t, edit.Member{Name: name, Value: value})
	}
	return t, nil
}

func (w *entryWork) add(name string, entry edit.Table) error {
	path, text, file, err := hubConfig(w.config)
	if err != nil {
		return err
	}
	if slices.Contains(fileServerNames(file), name) {
		return exit.Errorf(exit.Failure, "%s has a server %q already; take it out first: mcphub remove %s", path, name, name)
	}
	if env, err := clientEnv(); err == nil {
		entry = located(env, entry)
	}
	after, err := clients.AddToHub(path, text, name, entry)
	if err != nil {
		return exit.Errorf(exit.Config, "%w; nothing was changed", err)
	}
	report := entryReport{Config: path, Server: name, State: "added"}
	plain := clients.PlainSecrets(name, entry)
	for _, s := range plain {
		report.Warnings = append(report.Warnings, fmt.Sprintf("%s looks like a secret and stands in hub.json as plain text: keep it by 'mcphub secret set %s' and write ${keyring:%s} in its place", s.Key, s.Name, s.Name))
	}
	if disabled, _ := entry.Get("disabled").(bool); !disabled && !w.noTry {
		if err := w.try(path, after, name, &report); err != nil {
			return err
		}
	}
	return w.write(path, text, after, len(plain) > 0, report)
}

// try starts the server that is to be added.
func (w *entryWork) try(path string, text []byte, name string, report *entryReport) error {
	env, err := clientEnv()
	if err != nil {
		return err
	}
	t := trier{config: w.config, path: path, text: text, env: env, confined: true, limit: tryAllTime, say: io.Discard, try: trial.Try}
	if !w.asJSON {
		t.confirm = confirmAtTerminal
	}
	tried, err := t.run(w.ctx, []string{name})
	if err != nil {
		return err
	}
	report.Trial = tried[name]
	if report.Trial.State == tryFails {
		report.Warnings = append(report.Warnings, report.Trial.warning())
	}
	return nil
}

func removeCommand() *cobra.Command {
	return entryCommand("remove NAME", "Take a server out of hub.json",
		"Takes one server out of hub.json and leaves the rest as it is. Hubs that run stop it at\nonce. `mcphub disable` keeps its entry.", "removed",
		clients.RemoveFromHub, "rm", "delete")
}

func enableCommand() *cobra.Command {
	return entryCommand("enable NAME", "Serve a server of hub.json that was disabled",
		"Sets \"disabled\" of a server in hub.json to false and leaves the rest as it is. Hubs that\nrun serve it at once.", "enabled",
		setsDisabled(false))
}

func disableCommand() *cobra.Command {
	return entryCommand("disable NAME", "Keep a server in hub.json, but do not serve it",
		"Sets \"disabled\" of a server in hub.json and leaves the rest as it is. Hubs that run stop\nit at once.", "disabled",
		setsDisabled(true))
}

// A hubChange changes the entry of a server in the text of hub.json.
type hubChange func(path string, text []byte, name string) ([]byte, error)

func setsDisabled(disabled bool) hubChange {
	return func(path string, text []byte, name string) ([]byte, error) {
		return clients.DisableInHub(path, text, name, disabled)
	}
}

// entryCommand is a command that changes an entry which is there.
func entryCommand(use, short, long, state string, change hubChange, aliases ...string) *cobra.Command {
	var w entryWork
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Aliases: aliases,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.start(cmd)
			path, text, file, err := hubConfig(w.config)
			if err != nil {
				return err
			}
			if err := checkServerName(path, args[0], fileServerNames(file)); err != nil {
				return err
			}
			after, err := change(path, text, args[0])
			if err != nil {
				return exit.Errorf(exit.Config, "%w; nothing was changed", err)
			}
			return w.write(path, text, after, false, entryReport{Config: path, Server: args[0], State: state})
		},
	}
	w.flags(cmd)
	return cmd
}

// write replaces hub.json and says in one line what is new, with what the file is
// warned of now and was not before.
func (w *entryWork) write(path string, before, after []byte, private bool, r entryReport) error {
	r.Changed = !bytes.Equal(before, after) || before == nil
	if r.Changed {
		if err := r.Trial.keep(); err != nil {
			return err
		}
		if r.State == "removed" {
			if err := forgetRecorded(path, r.Server); err != nil {
				return err
			}
		}
		if err := writeHub(path, before, after, private); err != nil {
			return err
		}
		r.Warnings = append(r.Warnings, newProblems(path, before, after)...)
	}
	for _, text := range r.Warnings {
		layout.Println(w.say, "warning: "+text)
	}
	switch {
	case w.asJSON:
		return exit.Failed(layout.JSON(w.out, r))
	case !r.Changed:
		layout.Printf(w.out, "%s is %s in %s already\n", r.Server, r.State, path)
	default:
		layout.Printf(w.out, "%s %s in %s\n", r.Server, r.State, path)
		if r.Trial != nil && r.Trial.State != tryFails {
			layout.Printf(w.out, "  %s: ", r.Server)
			r.Trial.show(w.out)
		}
	}
	return nil
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
