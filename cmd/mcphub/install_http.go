package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
)

// This file is about the address and the token of a hub that serves HTTP.

// addressFound is the value of --http that means: look where the hub is.
const addressFound = "config"

// shownToken stands for the token where an entry is printed.
const shownToken = "TOKEN"

// overHTTP finds out how clients reach the hub. With show the token is left out.
func (w *clientWork) overHTTP(address string, roots []string, show bool) error {
	if len(roots) > 0 {
		return exit.UsageErrorf("--roots is for a hub that the client starts; over HTTP write the folders into hub.json: roots.fallback")
	}
	file, err := (&setup.Source{Config: w.config}).Load(os.Stderr)
	if err != nil {
		return err
	}
	w.web = &clients.Web{}
	auth := file.HTTP.Auth
	if address == addressFound {
		if w.web.URL, auth, err = w.foundAddress(file); err != nil {
			return err
		}
	} else if w.web.URL, err = localURL(address); err != nil {
		return err
	}
	switch {
	case auth == keys.AuthNone:
		return nil
	case show:
		w.web.Token = shownToken
	case file.HTTP.NamesTokens():
		return exit.UsageErrorf("hub.json says whose tokens count, and which is this client's only you know: mcphub install CLIENT --http --print shows the entry; put the client's own token into it")
	}
	place, err := setup.TokenPlace(file, os.Getenv)
	if err != nil {
		return err
	}
	w.web.File = place.File()
	if !show {
		w.web.Token, err = place.Make(w.ctx) // the hub that starts next finds it
	}
	return err
}

// foundAddress returns the address at which the hub of this hub.json serves, else the address at which it would.
func (w *clientWork) foundAddress(file *config.File) (url, auth string, err error) {
	var all []*admin.HTTPReport
	for _, h := range reportsOn(w.ctx, file.Path) {
		if h.HTTP != nil && !slices.ContainsFunc(all, func(r *admin.HTTPReport) bool { return *r == *h.HTTP }) {
			all = append(all, h.HTTP)
		}
	}
	switch _, port, _ := net.SplitHostPort(file.HTTP.Listen); {
	case len(all) == 1:
		scheme, host, _ := strings.Cut(strings.TrimSuffix(all[0].URL, "/mcp"), "://")
		url, err = localURL(host)
		return strings.Replace(url, "http", scheme, 1), all[0].Auth, err
	case len(all) > 1:
		urls := make([]string, len(all))
		for i := range all {
			urls[i] = all[i].URL
		}
		return "", "", exit.UsageErrorf("several hubs of this hub.json serve HTTP: %s; say which: --http=HOST:PORT", strings.Join(urls, ", "))
	case port == "0" || port == "":
		return "", "", exit.Errorf(exit.NoHub, "no hub of this hub.json serves HTTP, and http.listen names no port; start one (mcphub serve --http 127.0.0.1:8080), or say where it will be: --http=127.0.0.1:8080")
	}
	url, err = localURL(file.HTTP.Listen)
	if file.HTTP.TLS != nil {
		url = strings.Replace(url, "http", "https", 1)
	}
	return url, file.HTTP.Auth, err
}

// localURL returns the endpoint at an address of this machine. The token of the hub
// goes nowhere else, and never in the clear over a network.
func localURL(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || port == "0" {
		return "", exit.UsageErrorf("%q is no address: --http=HOST:PORT, such as --http=127.0.0.1:8080", address)
	}
	if host != "localhost" && !setup.IsLocalAddress(address) {
		return "", exit.UsageErrorf("%s is not an address of this machine alone: give clients of other machines tokens of their own (http.tokens in hub.json), and put a proxy with TLS before the hub", address)
	}
	return "http://" + net.JoinHostPort(host, port) + "/mcp", nil
}

// registeredHub returns how clients start the hub, or reach it.
func (w *clientWork) registeredHub() (clients.Hub, error) {
	h, err := w.hubCommand(false)
	if w.web != nil {
		h = clients.Hub{Web: w.web}
	}
	return h, err
}

// webNote returns what a person has still to do, or should know.
func (w *clientWork) webNote(c *clients.Profile) string {
	var notes []string
	switch refers, _ := c.Refers(); {
	case w.web.Token == "":
	case refers == clients.ByVariable:
		notes = append(notes, fmt.Sprintf(`it reads the token from %s: start it where that is set: export %s="$(%s)"`, clients.TokenVariable, clients.TokenVariable, w.commandLine("token")))
	case refers == clients.ByFile:
		notes = append(notes, "it reads the token from "+w.shortPath(w.web.File))
	default:
		notes = append(notes, "the token stands in that file, which only you can read now")
	}
	if c.Roots != clients.GivesRoots {
		notes = append(notes, c.Title+" does not tell which folders are open: over HTTP those of roots.fallback in hub.json count")
	}
	return strings.Join(notes, "; ")
}

// commandLine returns a command line of this program that is about the same hub.json.
func (w *clientWork) commandLine(words ...string) string {
	return (&setup.Source{Config: w.config}).CommandLine(words...)
}

func tokenCommand() *cobra.Command {
	src := &setup.Source{}
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print the token that clients show to a hub over HTTP",
		Long: "Prints the token that the hub of this hub.json makes for the clients of its user, and\n" +
			"makes it if there is none. It is for a client that reads it from a variable:\n\n" +
			"  export MCPHUB_TOKEN=\"$(mcphub token)\"\n\n" +
			"Whoever has it can call every server of that hub, with roots of its own choice. Where\n" +
			"hub.json has http.tokens or http.issuers, or http.auth is none, there is no such token.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := src.Load(os.Stderr)
			if err != nil {
				return err
			}
			switch {
			case file.HTTP.NamesTokens():
				return exit.UsageErrorf("the hub makes no token: http.tokens and http.issuers of hub.json say whose count")
			case !file.HTTP.MakesToken():
				return exit.UsageErrorf("the hub asks for no token: http.auth is none")
			}
			place, err := setup.TokenPlace(file, os.Getenv)
			if err != nil {
				return err
			}
			token, err := place.Make(cmd.Context())
			if err != nil {
				return err
			}
			layout.Println(cmd.OutOrStdout(), token)
			return nil
		},
	}
	cmd.Flags().StringVarP(&src.Config, "config", "c", "", "hub.json of the hub (default: as for serve)")
	return cmd
}
