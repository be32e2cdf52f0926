package childtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/internal/jsonrpc"
)

// heard is a jsonrpc.Handler that notes what the child sends.
type heard struct {
	mu    sync.Mutex
	notes []string
	asked chan string
}

func (h *heard) ServeRequest(_ context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	select {
	case h.asked <- m.Method:
	default:
	}
	return jsonrpc.ResultAnswer([]byte(`{"roots":[]}`))
}

func (h *heard) ServeNotification(m *jsonrpc.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, m.Method)
}

// Suite is what every Launcher must pass. spec describes, for a script, a
// child that the Launcher can start.
func Suite(t *testing.T, launcher children.Launcher, spec func(s Script) spec.Spec) {
	launch := func(t *testing.T, s Script) (link.ChildConnection, *heard, func() error) {
		t.Helper()
		h := &heard{asked: make(chan string, 16)}
		sp := spec(s)
		var env []string
		for k, v := range sp.Env {
			env = append(env, k+"="+v)
		}
		link, err := launcher.Launch(launch.Launch{Command: sp.Command, Args: sp.Args, Env: env, Dir: t.TempDir()}, sp, h, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- link.Run(ctx) }()
		once := sync.OnceValue(func() error {
			cancel()
			select {
			case err := <-ended:
				return err
			case <-time.After(bounds.Patience):
				return errors.New("Run did not return")
			}
		})
		t.Cleanup(func() { _ = once() })
		return link, h, once
	}
	hello := func(t *testing.T, link link.ChildConnection) {
		t.Helper()
		res, err := link.Call(t.Context(), "initialize", []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"suite","version":"1"}}`))
		if err != nil || res.Err() != nil {
			t.Fatalf("initialize: %v", err)
		}
		if err := link.Notify(t.Context(), "notifications/initialized"); err != nil {
			t.Fatal(err)
		}
	}
	tool := func(link link.ChildConnection, ctx context.Context, name string) (string, error) {
		res, err := link.Call(ctx, "tools/call", []byte(`{"name":"`+name+`","arguments":`), []byte(`{"n":12345678901234567890}`), []byte(`}`))
		if err != nil {
			return "", err
		}
		return string(res.Result), nil
	}
	t.Run("calls pass as bytes", func(t *testing.T) {
		link, _, _ := launch(t, Script{})
		hello(t, link)
		if got, err := tool(link, t.Context(), "echo"); err != nil || !strings.Contains(got, `{"n":12345678901234567890}`) {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("the child's requests and notifications arrive", func(t *testing.T) {
		link, h, _ := launch(t, Script{AskRoots: true, FloodNotes: 3})
		hello(t, link)
		if m := <-h.asked; m != "roots/list" {
			t.Errorf("asked %s", m)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.notes) != 3 {
			t.Errorf("heard %q", h.notes)
		}
	})
	t.Run("the end of a context ends the call and tells the child", func(t *testing.T) {
		link, _, _ := launch(t, Script{})
		hello(t, link)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := tool(link, ctx, "sleep")
			done <- err
		}()
		if _, err := tool(link, t.Context(), "echo"); err != nil {
			t.Error(err)
		}
		cancel(why)
		if err := <-done; !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("error: %v", err)
		}
	})
	t.Run("a child that is asked to stop ends without an error", func(t *testing.T) {
		link, _, stop := launch(t, Script{})
		hello(t, link)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if _, err := tool(link, t.Context(), "echo"); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a call afterwards: %v", err)
		}
	})
	t.Run("a child that dies fails what is pending, and Run says how", func(t *testing.T) {
		link, _, _ := launch(t, Script{Exit: 3})
		if _, err := link.Call(t.Context(), "initialize"); err == nil {
			t.Error("a call to a dead child was answered")
		}
	})
	t.Run("a child that never answers can be stopped", func(t *testing.T) {
		link, _, stop := launch(t, Script{Mute: true})
		done := make(chan error)
		go func() {
			_, err := link.Call(t.Context(), "initialize")
			done <- err
		}()
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := <-done; !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("the pending call: %v", err)
		}
	})
	t.Run("garbage is skipped and counted", func(t *testing.T) {
		link, _, _ := launch(t, Script{Garbage: 5})
		hello(t, link)
		if got, err := tool(link, t.Context(), "echo"); err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if n := link.Facts().Skipped; n < 5 {
			t.Errorf("%d lines skipped", n)
		}
	})
}
