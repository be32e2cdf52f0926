package childtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
)

// audience keeps what a Supervisor tells.
type audience struct {
	mu     sync.Mutex
	tools  int
	notes  []string
	change chan struct{}
}

func (a *audience) tellWaiters(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.change)
	a.change = make(chan struct{})
}

func (a *audience) noteChange(_ children.Status, o *offers.RawOffer) {
	if o != nil {
		a.tellWaiters(func() { a.tools = len(o.Entries[offers.Tools]) })
	}
}

func (a *audience) noteNotification(_ context.Context, _ spec.Key, m *jsonrpc.Message) {
	note := m.Method + " " + string(m.Params)
	a.tellWaiters(func() { a.notes = append(a.notes, note) })
}

func refuseRequest(_ context.Context, _ spec.Key, m *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, m.Method)
}

func (a *audience) waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(bounds.Patience)
	for {
		a.mu.Lock()
		done, change := ok(), a.change
		a.mu.Unlock()
		if done {
			return
		}
		select {
		case <-change:
		case <-late:
			a.mu.Lock()
			defer a.mu.Unlock()
			t.Fatalf("waited in vain until %s: %q", what, a.notes)
		}
	}
}

// Eras is what every Launcher must pass with children of either era, seen from
// where calls are made: what the eras say differently comes out the same. spec
// describes, for a script, a child that the Launcher can start.
func Eras(t *testing.T, launcher children.Launcher, child func(t *testing.T, s Script) spec.Spec) {
	for _, side := range []struct {
		name, era string
		client    spec.Era
		modern    bool // what is spoken
	}{
		{"legacy", "", spec.EraAuto, false},
		{"dual", "dual", spec.EraAuto, false},
		{"dual, for a client without a handshake", "dual", spec.EraModern, true},
		{"modern", "modern", spec.EraAuto, true},
	} {
		t.Run(side.name, func(t *testing.T) {
			eraSuite(t, side.modern, func(t *testing.T, s Script, roots ...guard.Root) (*children.Lease, *audience) {
				s.Era, s.Library = side.era, true
				return runChild(t, launcher, child(t, s), side.client, roots)
			})
		})
	}
}

// runChild runs a Supervisor with one child, and returns the right to call it.
func runChild(t *testing.T, launcher children.Launcher, child spec.Spec, client spec.Era, roots []guard.Root) (*children.Lease, *audience) {
	t.Helper()
	a := &audience{change: make(chan struct{})}
	sup := children.NewSupervisor(children.SupervisorOptions{
		Specs: []spec.Spec{child}, Changed: a.noteChange, Notification: a.noteNotification, Request: refuseRequest, Log: zerolog.Nop(), Version: "suite", Launcher: launcher,
		ClientProfile: func(spec.Key) link.ClientProfile {
			return link.ClientProfile{Capabilities: []byte(`{"elicitation":{}}`), Level: "warning"}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- sup.Run(ctx) }()
	key := spec.Key{Child: child.Name, Instance: "s", Era: client}
	sup.WithBoundary(sandbox.Boundary{}).EnsureInstance(key, roots)
	soon, stop := context.WithTimeout(t.Context(), bounds.Patience)
	defer stop()
	l, err := sup.Acquire(soon, key)
	t.Cleanup(func() {
		if l != nil {
			l.Release()
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, a
}

// callRaw makes a call of a tool and returns the raw result.
func callRaw(ctx context.Context, l *children.Lease, tool, args string) (string, error) {
	if args == "" {
		args = `{}`
	}
	res, err := l.Call(ctx, "tools/call", []byte(`{"name":"`+tool+`","arguments":`), []byte(args), []byte(`,"_meta":{"progressToken":7}}`))
	if err != nil {
		return "", err
	}
	if e := res.Err(); e != nil {
		return "", e
	}
	return string(res.Result), nil
}

func eraSuite(t *testing.T, modern bool, start func(t *testing.T, s Script, roots ...guard.Root) (*children.Lease, *audience)) {
	must := func(t *testing.T, l *children.Lease, tool, args string) string {
		t.Helper()
		got, err := callRaw(t.Context(), l, tool, args)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return got
	}
	t.Run("it is spoken to in its era, and lists what it has", func(t *testing.T) {
		l, _ := start(t, Script{Pages: 3})
		o := l.Offer()
		if l.IsModern() != modern || o.IsModern() != modern || o.ServerName != "scripted" || o.Instructions != "Be kind." || len(o.Entries[offers.Resources]) == 0 || len(o.Entries[offers.Prompts]) == 0 || len(o.Entries[offers.Templates]) == 0 {
			t.Errorf("modern %t, offer %s %q, %d resources", l.IsModern(), o.Protocol, o.ServerName, len(o.Entries[offers.Resources]))
		}
		if n := len(o.Entries[offers.Tools]); n < 19 {
			t.Errorf("%d tools", n)
		}
	})
	t.Run("calls pass as bytes", func(t *testing.T) {
		l, _ := start(t, Script{})
		if got := must(t, l, "echo", `{"n":12345678901234567890,"z":1.0,"a":[]}`); !strings.Contains(got, `{"n":12345678901234567890,"z":1.0,"a":[]}`) {
			t.Error(got)
		}
	})
	t.Run("progress comes before the answer", func(t *testing.T) {
		l, a := start(t, Script{})
		must(t, l, "progress", `{"Steps":3}`)
		a.mu.Lock()
		defer a.mu.Unlock()
		if got := strings.Join(a.notes, "\n"); strings.Count(got, `notifications/progress {"progressToken":7,`) != 3 {
			t.Errorf("heard %s", got)
		}
	})
	t.Run("the end of a context ends the call and tells the child", func(t *testing.T) {
		l, _ := start(t, Script{})
		ctx, cancel := context.WithCancelCause(t.Context())
		why, ended := errors.New("enough"), make(chan error)
		go func() {
			_, err := callRaw(ctx, l, "sleep", "")
			ended <- err
		}()
		notes := func(want string) {
			if !bounds.Within(bounds.Patience, func() bool { return strings.Contains(must(t, l, "noticed", ""), want) }) {
				t.Fatalf("the child never noticed: %s", want)
			}
		}
		notes("sleeping")
		cancel(why)
		if err := <-ended; !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		want := "c" // cancelled, or closed
		notes(want)
	})
	t.Run("a changed list comes as a new offer", func(t *testing.T) {
		l, a := start(t, Script{})
		n := len(l.Offer().Entries[offers.Tools])
		must(t, l, "change", `{"Name":"later"}`)
		a.waitUntil(t, "there is one more", func() bool { return a.tools == n+1 })
	})
	t.Run("a resource that changes is told of", func(t *testing.T) {
		l, a := start(t, Script{})
		for _, uri := range []string{"note://1", "note://2"} {
			res, err := l.Call(t.Context(), "resources/subscribe", []byte(`{"uri":"`+uri+`"}`))
			if err != nil || res.Err() != nil || string(res.Result) != `{}` {
				t.Fatalf("%v %v", res, err)
			}
			if modern {
				must(t, l, "touch", `{"URI":"`+uri+`"}`)
			}
			a.waitUntil(t, "the update is there", func() bool {
				return strings.Contains(strings.Join(a.notes, "\n"), `notifications/resources/updated {"uri":"`+uri+`",`)
			})
		}
		if res, err := l.Call(t.Context(), "resources/unsubscribe", []byte(`{"uri":"note://1"}`)); err != nil || res.Err() != nil {
			t.Errorf("%v", err)
		}
	})
	t.Run("it gets the roots that are served", func(t *testing.T) {
		l, _ := start(t, Script{}, guard.Root{URI: "file:///a", Name: "a", Path: "/a"})
		const want = `{"roots":[{"uri":"file:///a","name":"a"}]}`
		if modern {
			if got, ok := l.Roots(); !ok || string(got) != want {
				t.Errorf("%s", got)
			}
			return
		}
		if got := must(t, l, "roots", ""); !strings.Contains(got, `file:///a`) {
			t.Errorf("%s", got)
		}
	})
	t.Run("it is shown whom it serves", func(t *testing.T) {
		if !modern {
			return // initialize shows it: see the tests of that
		}
		l, _ := start(t, Script{})
		got := must(t, l, "meta", "")
		const want = `"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcphub","version":"suite"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{}},"io.modelcontextprotocol/logLevel":"warning"}`
		if !strings.Contains(got, want) {
			t.Errorf("%s", got)
		}
		other := link.WithClient(t.Context(), link.ClientProfile{Capabilities: []byte(`{"sampling":{},"tasks":{},"roots":{"listChanged":true}}`)})
		if got, err := callRaw(other, l, "meta", ""); err != nil || !strings.Contains(got, `"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{}}}`) {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a result that asks for input comes as it is", func(t *testing.T) {
		if !modern {
			return
		}
		l, _ := start(t, Script{})
		got := must(t, l, "input", `{"ask":{"r":{"method":"roots/list"}},"state":"s"}`)
		if got != `{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":"s+"}` {
			t.Errorf("%s", got)
		}
		var broken *jsonrpc.BrokenError
		if _, err := callRaw(t.Context(), l, "kind", `{"Type":"\"odd\""}`); !errors.As(err, &broken) {
			t.Errorf("a resultType that is unknown: %v", err)
		}
	})
	t.Run("garbage is skipped and many calls go on", func(t *testing.T) {
		l, _ := start(t, Script{Garbage: 3})
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if got, err := callRaw(t.Context(), l, "echo", fmt.Sprintf(`{"i":%d}`, i)); err != nil || !strings.Contains(got, fmt.Sprintf(`{"i":%d}`, i)) {
					t.Errorf("%s, %v", got, err)
				}
			})
		}
		all.Wait()
	})
}
