package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/confinement"
	"mcphub/children/hints"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/process"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// What a child offers is known once it has answered the handshake and its lists.
func TestConnect(t *testing.T) {
	t.Parallel()
	for name, era := range map[string]spec.Era{"legacy": spec.EraLegacy, "modern": spec.EraModern} {
		script := childtest.Script{Pages: 2, FailPage: 3}
		if era == spec.EraModern {
			script.Era = name
		}
		bubble(t, options(spec.Spec{Era: era}), openPipe(script), func(t *testing.T, k *kid) {
			greeted := 0
			o, err := k.Connect(t.Context(), run.Try{ModernFirst: era == spec.EraModern}, func() { greeted++ })
			if err != nil || o.ServerName != "scripted" || !o.HasTool("echo") || greeted != 1 || k.IsModern() != (era == spec.EraModern) {
				t.Errorf("%s: %+v, %v; greeted %d times", name, o, err, greeted)
			}
			contains(t, "the log", k.log.String(), "page 3 of tools/list failed")
		})
	}
}

// greets returns a child that answers the handshake, and then as it is told.
func greets(next func(ctx context.Context, method, params string) (string, error)) *wire {
	return greetsWith(`{"tools":{}}`, next)
}

// greetsWith is greets for a child with these capabilities.
func greetsWith(capabilities string, next func(ctx context.Context, method, params string) (string, error)) *wire {
	w := newWire()
	w.call = func(ctx context.Context, method, params string) (string, error) {
		if method == "initialize" {
			return `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"n","version":"1"}}`, nil
		}
		return next(ctx, method, params)
	}
	return w
}

func untilEnd(ctx context.Context, _, _ string) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// Why a child did not start says how far it had come, and how it ended.
func TestWhyItDidNotStart(t *testing.T) {
	t.Parallel()
	exit := &process.ExitError{Text: "exited with status 3", Code: 3}
	silent := newWire()
	silent.call = untilEnd
	for name, tc := range map[string]struct {
		wire    *wire
		url     string
		skipped uint64
		dies    error
		ends    bool  // by itself, without an error
		cause   error // instead of what Connect says
		want    []string
		never   string
	}{
		"no handshake":    {wire: silent, want: []string{"did not start within 5s: it has not answered the handshake; raise "}},
		"no list":         {wire: greets(untilEnd), want: []string{"did not start within 5s: it has answered the handshake but not listed what it offers; raise "}},
		"a log on stdout": {wire: silent, skipped: 3, want: []string{"the handshake; 3 lines on its stdout were no messages"}},
		"over HTTP":       {wire: silent, url: "http://x", skipped: 3, want: []string{"did not start within 5s"}, never: "stdout"},
		"it exits":        {wire: silent, dies: exit, cause: &jsonrpc.ClosedError{Reason: errors.New("end of file")}, want: []string{"exited with status 3 while starting"}},
		"it ends":         {wire: silent, ends: true, cause: errors.New("no answer"), want: []string{"no answer"}, never: "while starting"},
		"it is stopped":   {wire: silent, cause: &jsonrpc.ClosedError{Reason: errors.New("end of file")}, want: []string{"end of file"}, never: "while starting"},
		"another reason":  {wire: silent, cause: errors.New("no place"), want: []string{"no place"}, never: "within"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire()
			w.call, w.facts = tc.wire.call, link.ConnectionFacts{Skipped: tc.skipped, Stderr: "its words"}
			bubble(t, options(spec.Spec{Era: spec.EraLegacy, StartTimeout: 5 * time.Second, URL: tc.url}), onWire(w), func(t *testing.T, k *kid) {
				err := tc.cause
				if err == nil {
					start := time.Now()
					if _, err = k.Connect(t.Context(), run.Try{}, func() {}); err == nil || time.Since(start) != 5*time.Second {
						t.Fatalf("%v after %s", err, time.Since(start))
					}
				}
				if tc.dies != nil || tc.ends {
					w.ended <- tc.dies
					synctest.Wait()
				}
				down := k.Abort(err)
				contains(t, "reason", down.Reason, tc.want...)
				if tc.never != "" && strings.Contains(down.Reason, tc.never) || down.Stderr != "its words" || !k.HasEnded() {
					t.Errorf("%+v", down)
				}
				if tc.dies != nil && !errors.Is(down, tc.dies) || tc.dies == nil && !errors.Is(down, err) {
					t.Errorf("the cause is %v", down.Err)
				}
			})
		})
	}
}

// A run that is ended while it is listed gives no offer, since that may lack a part.
func TestEndedWhileItStarts(t *testing.T) {
	t.Parallel()
	why := errors.New("the session has ended")
	life, end := context.WithCancelCause(t.Context())
	w := greets(func(context.Context, string, string) (string, error) { end(why); return `{"tools":[]}`, nil })
	bubble(t, options(spec.Spec{Era: spec.EraLegacy}), onWire(w), func(t *testing.T, k *kid) {
		if o, err := k.Connect(life, run.Try{}, func() {}); err != why || o != nil {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// A child with a tool that shows its directories starts when they are the roots. If they are not in time, that is said.
func TestRootsAreShownFirst(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "r")
	for name, tc := range map[string]struct {
		tool   string
		mode   spec.RootsMode
		shows  string
		fails  error
		asked  bool
		warned bool
	}{
		"they are":          {tool: "dirs", shows: own, asked: true},
		"they are not":      {tool: "dirs", shows: "/other", asked: true, warned: true},
		"it ends":           {tool: "dirs", fails: jsonrpc.ErrClosed, asked: true},
		"it fails":          {tool: "dirs", fails: errors.New("no"), asked: true, warned: true},
		"no tool":           {shows: "/other"},
		"not such a tool":   {tool: "other", shows: "/other"},
		"roots are not its": {tool: "dirs", mode: spec.RootsNone, shows: "/other"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			w := greets(func(_ context.Context, method, params string) (string, error) {
				if method == "tools/list" {
					return `{"tools":[{"name":"dirs"}]}`, nil
				}
				asked = asked || method == "tools/call" && strings.Contains(params, `"dirs"`)
				return `{"content":[{"type":"text","text":` + string(jsonrpc.AppendString(nil, "Allowed:\n"+tc.shows)) + `}]}`, tc.fails
			})
			set := options(spec.Spec{Era: spec.EraLegacy, Probe: tc.tool, Roots: tc.mode})
			set.WantedRoots = servedroots.WantedRoots{Roots: []guard.Root{{URI: platform.Host().FormatURI(own), Path: own}}, Known: true}
			bubble(t, set, onWire(w), func(t *testing.T, k *kid) {
				offer, err := k.Connect(t.Context(), run.Try{}, func() {})
				if ended := errors.Is(tc.fails, jsonrpc.ErrClosed); (err != nil) != ended || (offer == nil) != ended {
					t.Errorf("%v", err)
				}
				if warned := strings.Contains(k.log.String(), "does not show the roots"); asked != tc.asked || warned != tc.warned {
					t.Errorf("asked %t, warned %t", asked, warned)
				}
			})
		})
	}
}

// What the kernel has refused a run that is over is part of why it is, unless several sessions share it.
func TestRefusedByTheKernel(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	denied := "cat: " + secret + ": Permission denied\n"
	for name, tc := range map[string]struct {
		stderr  string
		earlier string // read before
		shared  bool
		none    bool // it is not confined
		said    bool
		told    int
	}{
		"not confined":       {stderr: denied, none: true},
		"nothing":            {stderr: "all is well\n"},
		"a refusal":          {stderr: denied, said: true, told: 1},
		"it is known":        {stderr: denied, earlier: denied, said: true},
		"in an earlier line": {stderr: "bye\n", earlier: denied, said: true},
		"of a shared run":    {stderr: denied, shared: true, told: 1},
	} {
		t.Run(name, func(t *testing.T) {
			told := 0
			l := launch.Launch{Refused: func(sandbox.Refusal) { told++ }}
			if !tc.none {
				l.Sandbox = &confinement.Confinement{Words: hints.Reader{Profile: &sandbox.Profile{}, Shared: tc.shared, Never: func(string) string { return "" }}}
				l.Sandbox.Words.ReadStderr(tc.earlier)
			}
			w := newWire()
			w.facts.Stderr = tc.stderr
			bubble(t, run.RunOptions{Launch: l}, onWire(w), func(t *testing.T, k *kid) {
				down := k.Abort(errors.New("it ended"))
				if said := strings.Contains(down.Reason, secret); said != tc.said || told != tc.told || !strings.HasPrefix(down.Reason, "it ended") || !said && down.Reason != "it ended" {
					t.Errorf("%q; told %d times", down.Reason, told)
				}
			})
		})
	}
}

// A run that cannot be opened is none.
func TestStartThatFails(t *testing.T) {
	t.Parallel()
	why := errors.New("not found in PATH")
	r, err := run.Start(options(spec.Spec{}), &kid{}, func(jsonrpc.Handler) (link.ChildConnection, error) { return nil, why })
	if r != nil || err != why {
		t.Errorf("%v, %v", r, err)
	}
}

// Stop returns when no part of the run is left. The child learns the reason.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWire()
	w.holds = true
	bubble(t, options(spec.Spec{}), onWire(w), func(t *testing.T, k *kid) {
		go func() {
			time.Sleep(time.Minute)
			close(w.hold)
		}()
		select {
		case <-k.Ended():
			t.Error("it has ended")
		default:
		}
		start := time.Now()
		if k.Stop(errStopped); time.Since(start) != time.Minute || w.cause != errStopped || k.Err() != nil || !k.HasEnded() {
			t.Errorf("after %s: %v, %v", time.Since(start), w.cause, k.Err())
		}
		<-k.Ended()
	})
}
