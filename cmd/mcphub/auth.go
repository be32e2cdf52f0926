package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/browser"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/cmd/mcphub/internal/oauth/logins"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
)

// loginTime is how long a person has to log in.
const loginTime = 10 * time.Minute

func authCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Log in at the servers that ask for it",
		Long: "Logs in at servers that ask for OAuth, and keeps the logins among the secrets: in the\n" +
			"keyring of the system, or if there is none in a file encrypted by age. The hubs that\n" +
			"run use them at once, and renew them.",
	}
	cmd.AddCommand(authLoginCommand(), authListCommand(), authStatusCommand(), authLogoutCommand())
	return cmd
}

// accounts holds the configuration that the auth commands work on, and for whom.
type accounts struct {
	setup.Result
	principal string
}

func readAccounts(src *setup.Source, principal string) (*accounts, error) {
	made, err := src.Read(io.Discard, zerolog.Nop()) // what else is wrong with it, validate says
	if err != nil {
		return nil, err
	}
	if of, known := setup.Principal(made.File, principal); principal != "" && (!known || of.Local) {
		return nil, exit.UsageErrorf("--principal: no token of \"http\" in hub.json is called %q, nor is that NAME@ISSUER of one of its issuers", principal)
	}
	return &accounts{made, principal}, nil
}

func principalFlag(cmd *cobra.Command, principal *string) {
	cmd.Flags().StringVar(principal, "principal", "", "the token of \"http\" whose client the login is for: its name, or NAME@ISSUER (default: the client on standard input)")
}

// login is the shape of --json.
type login struct {
	Name      string    `json:"name,omitempty"` // of the server in hub.json; none: it is there no more
	Server    string    `json:"server"`
	Principal string    `json:"principal,omitempty"`
	State     string    `json:"state"` // good, expired, over, none
	Why       string    `json:"why,omitempty"`
	Advice    string    `json:"advice,omitempty"`
	Issuer    string    `json:"issuer,omitempty"`
	Resource  string    `json:"resource,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`
	Missing   []string  `json:"missing,omitempty"` // scopes that the server asked for
	Made      time.Time `json:"made,omitzero"`
	Renewed   time.Time `json:"renewed,omitzero"`
	Expires   time.Time `json:"expires,omitzero"` // the token; it is renewed if Renewable
	Renewable bool      `json:"renewable"`
}

// shownLogin returns what is shown of a login, without its token.
func shownLogin(name string, l *logins.Login, cutOff bool) login {
	out := login{
		Name: name, Server: redact.URL(l.Server), Principal: l.Principal, State: "good", Issuer: l.Issuer, Resource: redact.URL(l.Resource), Scopes: l.Scopes, Missing: l.Wanted,
		Made: l.Made, Renewed: l.Renewed, Expires: l.Expiry, Renewable: l.Refresh != "" && l.Lost == "",
	}
	help := logins.Command(name, l.Principal)
	switch {
	case l.Lost != "":
		out.State, out.Why, out.Advice = "over", l.Lost, help
	case !l.Expiry.IsZero() && time.Now().After(l.Expiry) && l.Refresh == "":
		out.State, out.Why, out.Advice = "over", "it has ended, and nothing was given to renew it with", help
	case cutOff:
		out.Why, out.Advice = "a renewal was cut off before its answer was read: the next call tries once more, and says if the login is over", help
	case !l.Began.IsZero():
		out.Why = "it is being renewed"
	case len(l.Wanted) > 0:
		out.Why, out.Advice = "the server asked for more scopes: "+strings.Join(l.Wanted, " "), help
	case !l.Expiry.IsZero() && time.Now().After(l.Expiry):
		out.State, out.Why = "expired", "it is renewed with the next call"
	}
	if name == "" {
		out.Advice = ""
	}
	return out
}

func authLoginCommand() *cobra.Command {
	src := newSource()
	var principal string
	var scopes []string
	var device, noBrowser, asJSON bool
	var port int
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in at a server",
		Long: "Finds out where the server has its logins, opens that page in the browser, and keeps what\n" +
			"comes back. With --device a code is shown, to be entered on any device. A server with\n" +
			"\"auth\": {\"flow\": \"client\"} needs no person: this tries it, and keeps nothing.",
		Example: "  mcphub auth login linear\n  mcphub auth login linear --no-browser --port 8976   # over ssh -L 8976:127.0.0.1:8976",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := readAccounts(src, principal)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), loginTime)
			defer cancel()
			say := cmd.OutOrStdout()
			if asJSON {
				say = stderr
			}
			p := person{out: say, opens: !noBrowser}
			l, err := all.LogIn(ctx, args[0], principal, setup.LoginMethod{Device: device, Request: oauth.Request{Scopes: scopes, Port: port}, Page: p.openPage, Code: p.showCode})
			switch {
			case errors.As(err, new(*exit.Error)):
				return err
			case err != nil && cmd.Context().Err() != nil: // a person who was shown no way on ends it, and reads what was sent
				return exit.Errorf(exit.Interrupt, "%s: no login: %w", args[0], err)
			case err != nil:
				return exit.Errorf(exit.Failure, "%s: no login: %w", args[0], err)
			case asJSON:
				return layout.JSON(cmd.OutOrStdout(), shownLogin(args[0], l, false))
			case l.Server == "":
				layout.Printf(say, "%s takes the client of hub.json. Nothing is kept.\n", args[0])
			default:
				layout.Printf(say, "Logged in at %s%s.\n", args[0], printable.Clean(layout.WithPrefix(" with the scopes ", strings.Join(l.Scopes, " "))))
			}
			return nil
		},
	}
	configFlags(cmd, src)
	principalFlag(cmd, &principal)
	flags := cmd.Flags()
	flags.StringSliceVar(&scopes, "scope", nil, "ask for this scope too; repeatable")
	flags.BoolVar(&device, "device", false, "show a code, to be entered on any device")
	flags.BoolVar(&noBrowser, "no-browser", false, "print the address and open no browser")
	flags.IntVar(&port, "port", 0, "the port of this machine to which the browser comes back (default: any)")
	flags.BoolVar(&asJSON, "json", false, "print the login as JSON, and all else to standard error")
	return cmd
}

// person is the one who logs in, at a terminal.
type person struct {
	out   io.Writer
	opens bool // the browser may be opened
}

func (p person) openPage(address string) error {
	if p.opens {
		err := browser.Open(address)
		if err == nil {
			layout.Printf(p.out, "The login is open in your browser. If it is not, open this page there:\n%s\n", address)
			return nil
		}
		layout.Printf(p.out, "No browser was opened: %v.\n", err)
	}
	layout.Printf(p.out, "Open this page in a browser on this machine:\n%s\n", address)
	return nil
}

func (p person) showCode(d oauth.DevicePrompt) {
	layout.Printf(p.out, "Open this page on any device, and enter the code %s:\n%s\n", d.Code, d.Address)
	if d.Full != "" {
		layout.Printf(p.out, "Or open this one, which has it already:\n%s\n", d.Full)
	}
}

// listLogins lists the logins that are kept. One has a name if hub.json has its server.
func (a *accounts) listLogins(ctx context.Context) ([]login, error) {
	names := map[string]string{}
	for i := range a.Hub.Children {
		if account, err := a.Account(ctx, a.Hub.Children[i].Spec.Name); err == nil {
			names[account.URL] = account.Name
		}
	}
	kept, why, err := a.Logins.List(ctx)
	if err != nil {
		return nil, err
	}
	if why != "" {
		layout.Println(stderr, printable.Clean("the encrypted file alone is read: "+why))
	}
	out := []login{}
	for i := range kept {
		out = append(out, shownLogin(names[kept[i].Server], &kept[i], a.Logins.CutOff(ctx, &kept[i])))
	}
	return out, nil
}

func authListCommand() *cobra.Command {
	src := newSource()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the logins that are kept",
		Long:  "Lists the logins that are kept, also those of servers that hub.json names no more. Asks nobody.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := readAccounts(src, "")
			if err != nil {
				return err
			}
			all, err := a.listLogins(cmd.Context())
			if err != nil {
				return err
			}
			return showLogins(cmd.OutOrStdout(), all, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	configFlags(cmd, src)
	return cmd
}

func showLogins(out io.Writer, all []login, asJSON bool) error {
	if asJSON {
		return layout.JSON(out, all)
	}
	if len(all) == 0 {
		layout.Println(stderr, "no login is kept; mcphub auth login NAME logs in at a server")
	}
	t := layout.NewTable(out)
	for _, l := range all {
		why := l.Why
		if l.Advice != "" {
			why += "; run: " + l.Advice
		}
		t.Row(cmp.Or(l.Name, l.Server), printable.Escape(l.Principal, 100), l.State, l.Issuer, strings.TrimPrefix(why, "; "))
	}
	return t.Flush()
}

func authStatusCommand() *cobra.Command {
	src := newSource()
	var asJSON bool
	var principal string
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show which servers have a login, and what to do about those that have none",
		Long: "Shows the servers of hub.json that say \"auth\" or have a login. Asks nobody. With a name the\n" +
			"exit status is 5 if the server has no login, and 1 if its login is over.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := readAccounts(src, principal)
			if err != nil {
				return err
			}
			only := ""
			if len(args) == 1 {
				only = args[0]
				if _, err := a.Account(cmd.Context(), only); err != nil {
					return err
				}
			}
			all, err := a.listServers(cmd.Context(), only)
			if err != nil {
				return err
			}
			if err := showLogins(cmd.OutOrStdout(), all, asJSON); err != nil || only == "" {
				return err
			}
			switch all[0].State {
			case "none":
				return &exit.Error{Code: exit.NotFound}
			case "over":
				return &exit.Error{Code: exit.Failure}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	configFlags(cmd, src)
	principalFlag(cmd, &principal)
	return cmd
}

// listServers lists the servers of hub.json that ask for a login or have one; with a name that
// server alone.
func (a *accounts) listServers(ctx context.Context, only string) ([]login, error) {
	kept, err := a.listLogins(ctx)
	if err != nil {
		return nil, err
	}
	out := []login{}
	for i := range a.Hub.Children {
		spec := &a.Hub.Children[i].Spec
		if spec.URL == "" || only != "" && spec.Name != only {
			continue
		}
		found := false
		for _, l := range kept {
			if l.Name == spec.Name && l.Principal == a.principal {
				out, found = append(out, l), true
			}
		}
		switch {
		case found:
		case spec.Auth.Machine:
			out = append(out, login{Name: spec.Name, Server: redact.URL(spec.URL), State: "good", Why: "the client of hub.json logs in itself"})
		case spec.Auth.Exchange:
			out = append(out, login{Name: spec.Name, Server: redact.URL(spec.URL), State: "good", Why: "each caller over HTTP has a token in exchange for its own"})
		case spec.Auth.Asked || only != "":
			out = append(out, login{Name: spec.Name, Server: redact.URL(spec.URL), Principal: a.principal, State: "none", Advice: logins.Command(spec.Name, a.principal)})
		}
	}
	return out, nil
}

func authLogoutCommand() *cobra.Command {
	src := newSource()
	var principal string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "logout NAME",
		Short: "Give a login back and forget it",
		Long: "Tells the authorization server that the login is not needed any more, if it takes such\n" +
			"requests, and forgets it. NAME may be the address of a server that hub.json names no more,\n" +
			"as auth list shows it.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := readAccounts(src, principal)
			if err != nil {
				return err
			}
			return a.logOut(cmd.Context(), cmd.OutOrStdout(), args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	configFlags(cmd, src)
	principalFlag(cmd, &principal)
	return cmd
}

func (a *accounts) logOut(ctx context.Context, out io.Writer, name string, asJSON bool) error {
	server, set := name, oauth.Settings{Server: name, Name: name}
	if !strings.Contains(name, "://") {
		account, err := a.Account(ctx, name)
		if err != nil {
			return err
		}
		server, set = account.URL, setup.LoginSettings(&account.Spec)
	}
	l, err := a.Logins.Forget(ctx, server, a.principal)
	switch {
	case errors.Is(err, logins.ErrNone):
		return exit.NotFoundErrorf("%s has no login", name)
	case err != nil:
		return err
	}
	told, done := "the authorization server was not told: it takes no such requests", false
	if l != nil {
		c, err := oauth.New(set)
		if err == nil {
			done, err = c.Revoke(ctx, &l.TokenSet)
		}
		switch {
		case err != nil:
			told = "the authorization server was not told: " + err.Error()
		case done:
			told = "the authorization server has ended it"
		}
	}
	if asJSON {
		return layout.JSON(out, map[string]any{"name": name, "server": redact.URL(server), "revoked": done, "text": printable.Clean(told)})
	}
	layout.Printf(out, "The login of %s is forgotten; %s.\n", name, printable.Clean(told))
	return nil
}
