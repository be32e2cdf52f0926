package setup

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
)

// A program for headers is refused if a server of any hub of this user may write, also after that hub has ended, and if a link of its
// path lies.
func TestHeadersFromWhereServersWrite(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	store := consent.New(t.TempDir())
	dir := func() string {
		real, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return real
	}
	own, project, beside := dir(), dir(), dir()
	link := filepath.Join(beside, "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	s := Source{Consent: store}
	f := file(t, `{"mcpServers": {"a": {"url": "https://mcp.example.com/mcp",
		"headersFrom": {"command": "bin/token", "args": ["a"]}}}}`)
	built, err := s.Build(f, io.Discard, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	h := built.Hub.Children[0].Spec.HeadersFrom
	if h.Command != filepath.Join(f.Dir(), "bin/token") || h.TTL != 10*time.Minute || !strings.HasSuffix(h.At, "hub.json:2") {
		t.Errorf("%+v", h)
	}
	could := func(want bool, path ...string) {
		t.Helper()
		if dir, got := built.Hub.Written(path...); got != want {
			t.Errorf("%s: %t, by %s", path, got, dir)
		}
	}
	could(false, filepath.Join(project, "x"), filepath.Join(link, "x"))
	r := store.Reach()
	if err := r.Add(project, beside); err != nil {
		t.Fatal(err)
	}
	could(false, filepath.Join(own, "x"))
	could(true, filepath.Join(project, "x"))
	could(true, filepath.Join(own, "y"), filepath.Join(link, "x"))
	r.Close()
	could(true, filepath.Join(project, "x"))
}

// What is wrong with the program is found without a connection.
func TestHeadersFromIsChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{
		"a": {"url": "https://mcp.example.com/mcp", "headersFrom": {"command": "./none"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Source{Config: path}
	c, err := s.Check(io.Discard)
	if err != nil || !c.Bad["a"] || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].String(), path+":2:") || !strings.Contains(c.Problems[0].String(), "mcpServers.a.headersFrom: there is no program "+filepath.Dir(path)) {
		t.Errorf("%v, %v", c.Problems, err)
	}
}

// The login at a server that only takes requests with the headers of a program brings these. One whose program prints the credentials
// themselves needs no login.
func TestLoginBringsHeaders(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script of Unix")
	}
	var seen atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			seen.Store(r.Header.Get("X-Gate"))
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	for name, header := range map[string]string{"gate": "X-Gate", "token": "authorization"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nprintf '{\""+header+"\": \"c4n4ry\"}'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	src := Source{}
	built, err := src.Build(file(t, `{"mcpServers": {
		"gate": {"url": "`+s.URL+`/mcp", "headersFrom": {"command": "`+dir+`/gate"}},
		"token": {"url": "`+s.URL+`/mcp", "headersFrom": {"command": "`+dir+`/token"}}}}`), io.Discard, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := built.LogIn(t.Context(), "gate", "", LoginMethod{}); err == nil || seen.Load() != "c4n4ry" {
		t.Errorf("%v, sent %q", err, seen.Load())
	}
	if _, err := built.LogIn(t.Context(), "token", "", LoginMethod{}); err == nil || !strings.Contains(err.Error(), "headersFrom") || strings.Contains(err.Error(), "c4n4ry") {
		t.Error(err)
	}
}
