package world

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

// tokens are the tokens of the hubs that serve HTTP now, by host and port: what their clients were given.
var tokens sync.Map

// KnowToken asks for the token of a hub as its user does, if the hub makes one.
func (w *World) KnowToken(cmd *exec.Cmd, at string) {
	w.T.Helper()
	if !slices.Contains(cmd.Args, "serve") || slices.Contains(cmd.Args, "--no-auth") {
		return
	}
	args := []string{"token"}
	if i := slices.Index(cmd.Args, "--config"); i > 0 {
		args = append(args, "--config", cmd.Args[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	ask := exec.CommandContext(ctx, cmd.Path, args...)
	ask.Env, ask.Dir = cmd.Env, cmd.Dir
	if out, err := ask.Output(); err == nil { // else hub.json names tokens
		tokens.Store(HostOf(w.T, at), strings.TrimSpace(string(out)))
	}
}

// Tokens returns the folder of the tokens that hubs make.
func (w *World) Tokens() string {
	w.T.Helper()
	dir, err := w.Consent().Folder()
	Must(w.T, err)
	return filepath.Join(dir, "http")
}

// HostOf returns the host and port of an address.
func HostOf(t testing.TB, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	Must(t, err)
	return u.Host
}

// TokenOf returns the token of the hub at an address; "" if it makes none.
func TokenOf(t testing.TB, at string) string {
	t.Helper()
	token, _ := tokens.Load(HostOf(t, at))
	text, _ := token.(string)
	return text
}

// BearingHeaders returns the headers of a client of the hub at an address.
func BearingHeaders(t testing.TB, at string) obj {
	t.Helper()
	return obj{"Authorization": "Bearer " + TokenOf(t, at)}
}

// Given is the transport of a client that was given the tokens of the hubs.
type Given struct{ *http.Transport }

// RoundTrip shows the token of the hub that is asked.
func (g Given) RoundTrip(r *http.Request) (*http.Response, error) {
	if token, ok := tokens.Load(r.URL.Host); ok && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token.(string))
	}
	return g.Transport.RoundTrip(r)
}
