package e2e

import (
	"context"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tokens are those of the hubs that serve HTTP now, by host and port: what their clients were given.
var tokens sync.Map

// knowToken asks for the token of a hub as its user does, if the hub makes one.
func (w *world) knowToken(cmd *exec.Cmd, at string) {
	w.t.Helper()
	if !slices.Contains(cmd.Args, "serve") || slices.Contains(cmd.Args, "--no-auth") {
		return
	}
	args := []string{"token"}
	if i := slices.Index(cmd.Args, "--config"); i > 0 {
		args = append(args, "--config", cmd.Args[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	ask := exec.CommandContext(ctx, cmd.Path, args...)
	ask.Env, ask.Dir = cmd.Env, cmd.Dir
	if out, err := ask.Output(); err == nil { // else hub.json names tokens
		tokens.Store(hostOf(w.t, at), strings.TrimSpace(string(out)))
	}
}

// tokens is the folder of the tokens that hubs make.
func (w *world) tokens() string {
	w.t.Helper()
	dir, err := w.consent().Folder()
	must(w.t, err)
	return filepath.Join(dir, "http")
}

func hostOf(t testing.TB, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	must(t, err)
	return u.Host
}

// tokenOf is the token of the hub at an address; "" where it makes none.
func tokenOf(t testing.TB, at string) string {
	t.Helper()
	token, _ := tokens.Load(hostOf(t, at))
	text, _ := token.(string)
	return text
}

// bearingHeaders are the headers of a client of the hub at an address.
func bearingHeaders(t testing.TB, at string) obj {
	t.Helper()
	return obj{"Authorization": "Bearer " + tokenOf(t, at)}
}

// given is the transport of a client that was given the tokens of the hubs.
type given struct{ *http.Transport }

func (g given) RoundTrip(r *http.Request) (*http.Response, error) {
	if token, ok := tokens.Load(r.URL.Host); ok && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token.(string))
	}
	return g.Transport.RoundTrip(r)
}
