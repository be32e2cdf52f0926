package children_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
)

// supplies is a Launcher that runs the program for the headers of a server.
type supplies struct{ got chan map[string]string }

func (s supplies) Launch(_ launch.Launch, spec spec.Spec, _ jsonrpc.Handler, _ zerolog.Logger) (link.ChildConnection, error) {
	if spec.Supply.Headers == nil {
		return nil, errors.New("no headers")
	}
	got, err := spec.Supply.Headers(context.Background())
	if err != nil {
		return nil, err
	}
	s.got <- got
	return nil, errors.New("nothing is there")
}

// The program that prints the headers of a server is run unless it lies where servers may write: in a root of the session, or in what is
// on record.
func TestHeadersOfAProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script of Unix")
	}
	folder := func(name string) string {
		real, err := filepath.EvalSymlinks(t.TempDir())
		if err == nil {
			err = os.WriteFile(filepath.Join(real, name), []byte("#!/bin/sh\nprintf '{\"A\": \"%s\"}' \"$CLAUDE_CODE_MCP_SERVER_NAME\"\n"), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(real, name)
	}
	own, project, noted := folder("own"), folder("project"), folder("noted")
	of := func(name, program string) spec.Spec {
		return spec.Spec{Name: name, URL: "https://mcp.example.com/mcp", HeadersFrom: spec.HeaderProgram{Command: program, TTL: time.Hour, At: "hub.json:" + name}}
	}
	see := supplies{make(chan map[string]string, 10)}
	s := children.NewSupervisor(newWatcher().watches(children.SupervisorOptions{
		Specs:    []spec.Spec{of("own", own), of("project", project), of("noted", noted), {Name: "none", URL: "https://mcp.example.com/mcp"}},
		Launcher: see, Log: zerolog.Nop(), Environ: []string{"PATH=/usr/bin:/bin"},
		Written: func(paths ...string) (string, bool) {
			for _, path := range paths {
				if strings.HasPrefix(path, filepath.Dir(noted)) {
					return filepath.Dir(noted), true
				}
			}
			return "", false
		},
	}))
	runSupervisor(t, s)
	for name, want := range map[string]string{"own": "nothing is there", "project": filepath.Dir(project) + ", where servers may write", "noted": filepath.Dir(noted) + ", where servers may write", "none": "no headers"} {
		k := spec.Key{Child: name, Instance: "s"}
		s.Ensure(k, []guard.Root{{Path: filepath.Dir(project), URI: "file://" + filepath.Dir(project)}})
		l, err := s.Acquire(t.Context(), k)
		if err == nil {
			l.Release()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	close(see.got)
	n := 0
	for got := range see.got {
		if n++; got["A"] != "own" {
			t.Errorf("the headers are %v", got)
		}
	}
	if n == 0 {
		t.Error("no program was run")
	}
}
