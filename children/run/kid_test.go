package run_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/process"
	"mcphub/children/run"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// kid is a run and what it belongs to: its Instance.
type kid struct {
	*run.Run
	t   *testing.T
	log lockedLog

	mu      sync.Mutex
	wanted  servedroots.WantedRoots
	why     string // there are no roots
	fetch   func(ctx context.Context)
	profile link.ClientProfile
	current bool
	asked   func(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer
	notes   []string
	warned  []offers.Lists
	known   []bool // of each note: the call that it belongs to is known
}

func (k *kid) WantedRoots() servedroots.WantedRoots {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wanted
}
func (k *kid) NoRoots() string                   { return k.why }
func (k *kid) ClientProfile() link.ClientProfile { k.mu.Lock(); defer k.mu.Unlock(); return k.profile }
func (k *kid) Current(*run.Run) bool             { k.mu.Lock(); defer k.mu.Unlock(); return k.current }

func (k *kid) FetchRoots(context.Context) func(ctx context.Context) { return k.fetch }

func (k *kid) Request(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if k.asked == nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "nobody is asked "+m.Method)
	}
	return k.asked(ctx, m)
}

func (k *kid) ListsChanged(which offers.Lists) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.warned = append(k.warned, which)
}

func (k *kid) Notification(ctx context.Context, m *jsonrpc.Message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes, k.known = append(k.notes, m.Method+" "+string(m.Params)), append(k.known, run.CallKnown(ctx))
}

func (k *kid) noted() []string { k.mu.Lock(); defer k.mu.Unlock(); return k.notes }

// wantsLevel has the client want a level of the log.
func (k *kid) wantsLevel(level string) { k.mu.Lock(); defer k.mu.Unlock(); k.profile.Level = level }

// lockedLog is a log that may be read while it is written.
type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}
func (l *lockedLog) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.buf.String() }

// wire is a ChildConnection whose other end is the test.
type wire struct {
	call   func(ctx context.Context, method, params string) (string, error)
	notify func(method string) error
	facts  link.ConnectionFacts
	ended  chan error // what Run returns, as the child ends
	holds  bool       // Run does not return before hold is closed
	hold   chan struct{}
	cause  error // of the end
}

func newWire() *wire { return &wire{} }

func (w *wire) Run(ctx context.Context) error {
	if w.holds {
		defer func() { <-w.hold }()
	}
	select {
	case err := <-w.ended:
		return err
	case <-ctx.Done():
		w.cause = context.Cause(ctx)
		return nil
	}
}

func (w *wire) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	result, err := w.call(ctx, method, string(bytes.Join(params, nil)))
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(result, `{"code"`) {
		return &jsonrpc.Response{Error: []byte(result)}, nil
	}
	return &jsonrpc.Response{Result: []byte(result)}, nil
}

func (w *wire) Notify(_ context.Context, method string, _ ...[]byte) error {
	if w.notify == nil {
		return nil
	}
	return w.notify(method)
}

func (w *wire) Facts() link.ConnectionFacts { return w.facts }

// pipe is a ChildConnection to a scripted child, over which calls can be started without waiting.
type pipe struct {
	*jsonrpc.Conn
	in          io.Closer
	end         func()
	scriptEnded chan struct{}
}

func openPipe(script childtest.Script) func(h jsonrpc.Handler) (link.ChildConnection, error) {
	return func(h jsonrpc.Handler) (link.ChildConnection, error) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		p := &pipe{Conn: jsonrpc.NewConn(outR, inW, h, jsonrpc.ConnOptions{}), in: inW, scriptEnded: make(chan struct{})}
		p.end = func() {
			_ = inR.CloseWithError(io.ErrClosedPipe)
			_ = outW.Close()
		}
		go func() {
			defer close(p.scriptEnded)
			script.Serve(inR, outW, io.Discard, nil)
			p.end()
		}()
		return p, nil
	}
}

func (p *pipe) Run(ctx context.Context) error {
	err := p.Conn.Run(ctx)
	p.end()
	<-p.scriptEnded
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	return &process.ExitError{Text: "exited with status 7", Code: 7}
}

func (p *pipe) Facts() link.ConnectionFacts {
	return link.ConnectionFacts{Heard: p.Stats().Heard, Skipped: p.Stats().Skipped}
}

// bubble runs a child in time of its own, until test has ended.
func bubble(t *testing.T, options run.RunOptions, open func(h jsonrpc.Handler) (link.ChildConnection, error), test func(t *testing.T, k *kid)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &kid{t: t, current: true}
		options.Spec = options.Spec.WithDefaults()
		options.Spec.Name = "kid"
		options.Log = zerolog.New(&k.log)
		options.Look = time.Minute
		var err error
		if k.Run, err = run.Start(options, k, open); err != nil {
			t.Fatal(err)
		}
		defer k.Stop(errStopped)
		test(t, k)
	})
}

var errStopped = errors.New("the test is over")

func onWire(w *wire) func(jsonrpc.Handler) (link.ChildConnection, error) {
	return func(jsonrpc.Handler) (link.ChildConnection, error) {
		w.ended, w.hold = make(chan error, 1), make(chan struct{}) // in the bubble
		return w, nil
	}
}

func options(s spec.Spec) run.RunOptions { return run.RunOptions{Spec: s, Launch: launch.Launch{}} }

// said returns the result of a call, or its error.
func said(res *jsonrpc.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if e := res.Err(); e != nil {
		return "", e
	}
	return string(res.Result), nil
}

func (k *kid) tool(ctx context.Context, name, args string) (string, error) {
	return said(k.Call(ctx, "tools/call", []byte(`{"name":"`+name+`","arguments":`), []byte(args), []byte(`}`)))
}

// contains fails the test if a text lacks what it should hold.
func contains(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q lacks %q", what, text, w)
		}
	}
}
