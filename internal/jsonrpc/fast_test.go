package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// hop is a handler that sends every request on, by the fast path where it
// can, and counts which way was taken.
type hop struct {
	to    *Conn
	short bool

	mu         sync.Mutex
	fast, slow int
}

func (r *hop) take(m *Message, reply *Responder) bool {
	if !r.short {
		return false
	}
	s := new(PreparedCall)
	r.to.Prepare(s, passOn{reply})
	if !s.Start(reply.Batch(), m.Method, m.Params) {
		return false
	}
	reply.OnCancel(s)
	r.mu.Lock()
	r.fast++
	r.mu.Unlock()
	return true
}

// passOn answers a request with what another was answered.
type passOn struct{ reply *Responder }

func (p passOn) OnResponse(res *Response, err error) {
	if err != nil {
		p.reply.Answer(ErrorAnswer(CodeInternal, err.Error()))
		return
	}
	p.reply.Answer(res.Answer())
}

func (r *hop) ServeRequest(ctx context.Context, m *Message) Answer {
	r.mu.Lock()
	r.slow++
	r.mu.Unlock()
	res, err := r.to.Call(ctx, m.Method, m.Params)
	if err != nil {
		return ErrorAnswer(CodeInternal, err.Error())
	}
	return Answer{Result: res.Result, Error: res.Error, Release: res.Release}
}

func (r *hop) ServeNotification(*Message) {}

// farEnd is the far end: it echoes params, or waits until it is cancelled.
type farEnd struct {
	started, cancelled chan string
}

func (f *farEnd) ServeRequest(ctx context.Context, m *Message) Answer {
	if m.Method == "wait" {
		f.started <- m.Method
		<-ctx.Done()
		f.cancelled <- context.Cause(ctx).Error()
		return Answer{}
	}
	return ResultAnswer(m.Params)
}

func (f *farEnd) ServeNotification(*Message) {}

// pipeConns joins two Conns by pipes and runs both until the test ends.
func pipeConns(t *testing.T, a Handler, ao ConnOptions, b Handler, bo ConnOptions) (*Conn, *Conn, func()) {
	t.Helper()
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	ca, cb := NewConn(ar, aw, a, ao), NewConn(br, bw, b, bo)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = ca.Run(ctx) })
	wg.Go(func() { _ = cb.Run(ctx) })
	end := sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(end)
	return ca, cb, end
}

// hops connects a client, a hop and the far end.
func hops(t *testing.T, r *hop) (client *Conn, far *farEnd, endUp, endDown func()) {
	t.Helper()
	far = &farEnd{started: make(chan string, 10), cancelled: make(chan string, 10)}
	var down *Conn
	down, _, endDown = pipeConns(t, &farEnd{}, ConnOptions{}, far, ConnOptions{})
	r.to = down
	client, _, endUp = pipeConns(t, &farEnd{}, ConnOptions{}, r, ConnOptions{Strict: true, Fast: r.take})
	return client, far, endUp, endDown
}

func TestFastPathAnswers(t *testing.T) {
	t.Parallel()
	r := &hop{short: true}
	client, _, _, _ := hops(t, r)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"n":%d,"big":9007199254740993}`, i)
			res, err := client.Call(context.Background(), "echo", []byte(want))
			if err != nil || string(res.Result) != want {
				t.Errorf("%v %v", res, err)
			}
		})
	}
	wg.Wait()
	// Too long for the fast path, and an answer too long to be sent without waiting.
	long := `{"x":"` + strings.Repeat("y", FastFrame) + `"}`
	res, err := client.Call(context.Background(), "echo", []byte(long))
	if err != nil || string(res.Result) != long {
		t.Errorf("long: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fast == 0 || r.slow == 0 {
		t.Errorf("%d by the fast path, %d by the slow one", r.fast, r.slow)
	}
}

func TestFastPathCancels(t *testing.T) {
	t.Parallel()
	for _, short := range []bool{true, false} {
		client, far, _, _ := hops(t, &hop{short: short})
		ctx, cancel := context.WithCancelCause(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := client.Call(ctx, "wait")
			done <- err
		}()
		<-far.started
		stop := errors.New("enough")
		cancel(stop)
		if err := <-done; !errors.Is(err, stop) {
			t.Errorf("short %v: %v", short, err)
		}
		if why := <-far.cancelled; !strings.Contains(why, "enough") {
			t.Errorf("short %v: the far end was told %q", short, why)
		}
		// The hop has nothing left to answer: the next call is the next answer.
		if res, err := client.Call(context.Background(), "echo", []byte(`{}`)); err != nil || string(res.Result) != `{}` {
			t.Errorf("short %v: %v", short, err)
		}
	}
}

func TestFastPathEnds(t *testing.T) {
	t.Parallel()
	for _, up := range []bool{true, false} {
		client, far, endUp, endDown := hops(t, &hop{short: true})
		done := make(chan error, 1)
		go func() {
			res, err := client.Call(context.Background(), "wait")
			if err == nil && res.Err() != nil {
				err = res.Err()
			}
			done <- err
		}()
		<-far.started
		if up {
			endUp() // the client vanishes: the far end is told, and nothing is left
			<-far.cancelled
		} else {
			endDown() // the far end vanishes: the client hears of it
		}
		if err := <-done; err == nil {
			t.Errorf("up %v: the call was answered", up)
		}
	}
}

func TestFastPathThatPanicsIsAnswered(t *testing.T) {
	t.Parallel()
	client, _, _ := pipeConns(t, &farEnd{}, ConnOptions{}, &farEnd{}, ConnOptions{Fast: func(m *Message, r *Responder) bool {
		if m.Method == "panic" {
			panic("on purpose")
		}
		if m.Method == "twice" {
			r.Answer(ResultAnswer([]byte(`1`)))
			r.Answer(ResultAnswer([]byte(`2`)))
			return true
		}
		return false
	}})
	if res, err := client.Call(context.Background(), "panic"); err != nil || res.Err() == nil || res.Err().Code != CodeInternal {
		t.Errorf("%v %v", res, err)
	}
	if res, err := client.Call(context.Background(), "twice"); err != nil || string(res.Result) != `1` {
		t.Errorf("%v %v", res, err)
	}
	if res, err := client.Call(context.Background(), "echo", []byte(`{}`)); err != nil || string(res.Result) != `{}` {
		t.Errorf("%v %v", res, err)
	}
}
