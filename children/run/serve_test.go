package run_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/confinement"
	"mcphub/children/hints"
	"mcphub/children/launch"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
)

func message(t *testing.T, method, params string) *jsonrpc.Message {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","method":"`+method+`","params":`+params+`}`), false, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func answered(answer jsonrpc.Answer) string {
	defer answer.Free()
	return string(answer.Result) + string(answer.Error)
}

// The run answers ping and roots/list itself. Whatever else the child asks is the Instance's.
func TestQuestionsOfTheChild(t *testing.T) {
	t.Parallel()
	roots := servedroots.WantedRoots{Roots: []guard.Root{{URI: "file:///r", Path: "/r", Name: "R"}}, Gen: 3, Known: true}
	for _, mode := range []spec.RootsMode{spec.RootsList, spec.RootsNone} {
		bubble(t, options(spec.Spec{Roots: mode}), onWire(newWire()), func(t *testing.T, k *kid) {
			k.why = "nobody has opened a folder"
			ask := func(method string) string { return answered(k.ServeRequest(t.Context(), message(t, method, `{}`))) }
			if got := ask("ping"); got != `{}` {
				t.Errorf("ping: %s", got)
			}
			contains(t, "another question", ask("sampling/createMessage"), "nobody is asked sampling/createMessage")
			raw, served := k.ListRoots()
			if served != (mode == spec.RootsList) {
				t.Errorf("roots are served: %t", served)
			}
			if mode == spec.RootsNone {
				contains(t, "roots/list", ask("roots/list"), "roots are not served to this server", "-32601")
				if raw != nil || k.Roots.WasAsked() {
					t.Errorf("it was given %s", raw)
				}
				return
			}
			contains(t, "no roots", string(raw), `"roots":[]`, "nobody has opened a folder")
			k.mu.Lock()
			k.wanted = roots
			k.mu.Unlock()
			want := `{"roots":[{"uri":"file:///r","name":"R"}]}`
			if raw, _ := k.ListRoots(); string(raw) != want {
				t.Errorf("%s", raw)
			}
			if got := ask("roots/list"); got != want {
				t.Errorf("%s", got)
			}
		})
	}
}

// An answer to roots/list counts when it has been written, and not before.
func TestRootsCountWhenTheyAreWritten(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{Roots: spec.RootsList}), onWire(newWire()), func(t *testing.T, k *kid) {
		answer := k.ServeRequest(t.Context(), message(t, "roots/list", `{}`))
		if k.Roots.WasAsked() {
			t.Error("it counts before it is written")
		}
		if answer.Free(); !k.Roots.WasAsked() {
			t.Error("it does not count")
		}
	})
}

// The child asks for its roots during each of 120 parallel calls.
func TestRootsDuringCalls(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{Roots: spec.RootsList}), openPipe(childtest.Script{}), func(t *testing.T, k *kid) {
		k.wanted = servedroots.WantedRoots{Roots: []guard.Root{{URI: "file:///", Path: "/", Name: "a b"}}, Known: true}
		var wg sync.WaitGroup
		for range 120 {
			wg.Go(func() {
				got, err := k.tool(t.Context(), "roots", "{}")
				if err != nil || !strings.Contains(got, `{\"roots\":[{\"uri\":\"file:///\",\"name\":\"a b\"}]}`) {
					t.Errorf("%s, %v", got, err)
				}
			})
		}
		wg.Wait()
		if !k.Roots.WasAsked() {
			t.Error("it has not asked")
		}
	})
}

// While the child waits for an answer of ours, its calls use up none of their time.
func TestCallsWaitForWhatTheChildAsks(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"roots/list", "elicitation/create"} {
		bubble(t, options(spec.Spec{Roots: spec.RootsList, CallTimeout: 2 * time.Second}), openPipe(childtest.Script{Asks: true}), func(t *testing.T, k *kid) {
			k.fetch = func(context.Context) { time.Sleep(time.Hour) }
			k.asked = func(context.Context, *jsonrpc.Message) jsonrpc.Answer {
				time.Sleep(time.Hour)
				return jsonrpc.ResultAnswer([]byte(`{}`))
			}
			start := time.Now()
			if _, err := k.tool(t.Context(), "ask", `{"method":"`+method+`"}`); err != nil || time.Since(start) < time.Hour {
				t.Errorf("%s: %v after %s", method, err, time.Since(start))
			}
			var late *run.TimeoutError
			if _, err := k.tool(t.Context(), "sleep", `{}`); !errors.As(err, &late) { // the control
				t.Errorf("%s: the clock stands still: %v", method, err)
			}
		})
	}
}

// Tell reaches the child that has asked, and no context is of two.
func TestTell(t *testing.T) {
	t.Parallel()
	w := newWire()
	var got []string
	w.notify = func(method string) error { got = append(got, method); return nil }
	bubble(t, options(spec.Spec{}), onWire(w), func(t *testing.T, k *kid) {
		k.asked = func(ctx context.Context, _ *jsonrpc.Message) jsonrpc.Answer {
			if err := run.Tell(ctx, "notifications/elicitation/complete"); err != nil {
				t.Error(err)
			}
			return jsonrpc.ResultAnswer([]byte(`{}`))
		}
		k.ServeRequest(t.Context(), message(t, "elicitation/create", `{}`)).Free()
		if strings.Join(got, " ") != "notifications/elicitation/complete" {
			t.Errorf("%q", got)
		}
		if err := run.Tell(t.Context(), "notifications/x"); err == nil {
			t.Error("the context of no request")
		}
	})
}

// Notifications are handed on in order, except notifications of changed lists: the run follows these itself.
func TestNotificationsOfTheChild(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{}), onWire(newWire()), func(t *testing.T, k *kid) {
		k.ServeNotification(message(t, "notifications/a", `{}`))
		k.ServeNotificationOn(t.Context(), message(t, "notifications/b", `{}`))
		for _, method := range []string{"tools", "prompts", "resources"} {
			k.ServeNotification(message(t, "notifications/"+method+"/list_changed", `{}`))
		}
		k.ServeNotification(message(t, "notifications/resources/updated", `{"uri":"x"}`))
		if got := strings.Join(k.noted(), ", "); got != `notifications/a {}, notifications/b {}, notifications/resources/updated {"uri":"x"}` {
			t.Errorf("%s", got)
		}
		if k.known[0] || !k.known[1] || k.known[2] {
			t.Errorf("their calls are known: %v", k.known)
		}
	})
}

// TestLogOfAConfinedChild: what a message of its log tells about a refusal is told once, and the message is handed on all the same.
func TestLogOfAConfinedChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	denied := `{"level":"error","data":{"err":"EACCES: permission denied, open '` + dir + `/x'"}}`
	for name, tc := range map[string]struct {
		held *confinement.Confinement
		data string
		want string
	}{
		"a refusal":     {&confinement.Confinement{Words: hints.Reader{Profile: &sandbox.Profile{}}}, denied, dir + "/x"},
		"nothing":       {&confinement.Confinement{Words: hints.Reader{Profile: &sandbox.Profile{}}}, `{"data":"all is well"}`, ""},
		"not held":      {&confinement.Confinement{}, denied, ""},
		"not confined":  {nil, denied, ""},
		"no parameters": {&confinement.Confinement{Words: hints.Reader{Profile: &sandbox.Profile{}}}, `"EACCES"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			l := launch.Launch{Sandbox: tc.held, Refused: func(f sandbox.Refusal) { told = append(told, f.Path) }}
			bubble(t, run.RunOptions{Launch: l}, onWire(newWire()), func(t *testing.T, k *kid) {
				for range 2 {
					k.ServeNotification(message(t, "notifications/message", tc.data))
					synctest.Wait()
				}
				if got := strings.Join(told, ", "); got != tc.want || len(k.noted()) != 2 {
					t.Errorf("told %q, want %q; handed on %d", got, tc.want, len(k.noted()))
				}
			})
		})
	}
}

// Of what a child tells beside its answers so much is handed on as a person could read. The rest is counted.
func TestTooManyNotifications(t *testing.T) {
	t.Parallel()
	bubble(t, options(spec.Spec{}), onWire(newWire()), func(t *testing.T, k *kid) {
		send := func(method string, n int) (passed int, muted uint64) {
			before, was := len(k.noted()), k.Muted()
			m := message(t, method, `{"progressToken":"t"}`)
			for range n {
				k.ServeNotification(m)
			}
			return len(k.noted()) - before, k.Muted() - was
		}
		for _, method := range []string{"notifications/message", "notifications/progress"} {
			if passed, muted := send(method, 10_003); passed != 10_000 || muted != 3 {
				t.Errorf("%s: %d passed, %d muted", method, passed, muted)
			}
		}
		time.Sleep(time.Second)
		for _, method := range []string{"notifications/message", "notifications/progress"} {
			if passed, muted := send(method, 1_001); passed != 1_000 || muted != 1 {
				t.Errorf("%s, a second later: %d passed, %d muted", method, passed, muted)
			}
		}
		if passed, muted := send("notifications/other", 20_000); passed != 20_000 || muted != 0 {
			t.Errorf("others: %d passed, %d muted", passed, muted)
		}
	})
}

// modernWire returns a child without a handshake that says about itself what it is told to.
func modernWire(answer string) *wire {
	w := newWire()
	w.call = func(_ context.Context, method, _ string) (string, error) {
		switch method {
		case "server/discover":
			return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`, nil
		case "tools/list":
			return `{"resultType":"complete","tools":[]}`, nil
		}
		return answer, nil
	}
	return w
}

// A child without a handshake asks nothing by itself. If it no longer serves its version, the run ends, once it is the one
// that may be called.
func TestWithoutAHandshake(t *testing.T) {
	t.Parallel()
	for _, current := range []bool{true, false} {
		w := modernWire(`{"code":-32022,"message":"unsupported"}`)
		bubble(t, options(spec.Spec{Era: spec.EraModern}), onWire(w), func(t *testing.T, k *kid) {
			if _, err := k.Connect(t.Context(), run.Try{ModernFirst: true}, func() {}); err != nil {
				t.Fatal(err)
			}
			contains(t, "a question", answered(k.ServeRequest(t.Context(), message(t, "ping", `{}`))), "asks nothing by itself")
			k.current = current
			_, err := k.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`))
			synctest.Wait()
			if err != nil || k.HasEnded() != current {
				t.Errorf("%v; it is called %t, and has ended: %t", err, current, k.HasEnded())
			}
			if current {
				contains(t, "the reason", w.cause.Error(), "no longer serves the protocol version")
			}
		})
	}
}
