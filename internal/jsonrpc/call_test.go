package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallTellsThePeerThatNobodyWaits(t *testing.T) {
	t.Parallel()
	p := linkOS(t, &handler{}, ConnOptions{})
	ctx, cancel := context.WithCancelCause(t.Context())
	got := p.call(ctx, "x")
	p.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	p.conn.TryNotify("n", nil, []byte{}) // no params, however many parts it has
	p.want(`{"jsonrpc":"2.0","method":"n"}`)
	why := errors.New(`"no" time`)
	cancel(why)
	if r := <-got; !errors.Is(r.err, why) {
		t.Fatalf("got %v", r.err)
	}
	p.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"\"no\" time"}}`)

	ctx, cancel = context.WithCancelCause(t.Context())
	got = p.call(ctx, "x")
	p.read()
	cancel(&CancelledError{}) // the client's own, without a reason
	<-got
	p.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)

	ctx, cancel = context.WithCancelCause(t.Context())
	got = p.call(ctx, "initialize")
	p.read()
	cancel(why)
	<-got
	if _, err := p.conn.Call(ctx, "x"); !errors.Is(err, why) {
		t.Fatalf("got %v", err)
	}
	p.nothing()
	if s := p.conn.Stats(); s.Cancelled != 3 {
		t.Fatalf("%+v", s)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":"late"}`)
	p.nothing()
}

// A request that never left needs no cancellation.
func TestCallThatNeverLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := link(t, &handler{}, ConnOptions{QueueBytes: 100})
		if !p.conn.TryNotify("fill", []byte(`"`+strings.Repeat("x", 100)+`"`)) {
			t.Fatal("no room for the first")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.conn.Call(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		p.read() // fill
		p.nothing()
	})
}

func TestRelease(t *testing.T) {
	t.Parallel()
	var released atomic.Int32
	release := func() { released.Add(1) }
	started := make(chan struct{})
	big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	p := linkOS(t, &handler{request: func(ctx context.Context, m *Message) Answer {
		switch m.Method {
		case "big":
			return Answer{Result: big, Release: release}
		case "cancelled":
			close(started)
			<-ctx.Done()
			return Answer{Result: big, Release: release}
		case "panic":
			panic("at the disco")
		case "zero":
			return Answer{Release: release}
		}
		return Answer{Error: []byte(`{"code":1,"message":"e"}`), Release: release}
	}}, ConnOptions{})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"big"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":` + string(big) + `}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"cancelled"}`)
	<-started
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	p.send(`{"jsonrpc":"2.0","id":3,"method":"error"}`)
	p.want(`{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"e"}}`)
	p.send(`{"jsonrpc":"2.0","id":4,"method":"zero"}`)
	p.wantError("4", CodeInternal)
	p.send(`{"jsonrpc":"2.0","id":5,"method":"panic"}`)
	p.wantError("5", CodeInternal)
	_ = p.in.Close()
	<-p.conn.Done()
	if n := released.Load(); n != 4 {
		t.Fatalf("released %d answers of 4", n)
	}
}

func TestNotificationPanic(t *testing.T) {
	t.Parallel()
	p := link(t, &handler{notify: func(*Message) { panic("at the disco") }}, ConnOptions{})
	p.send(`{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":5,"method":"x"}`)
	p.want(`{"jsonrpc":"2.0","id":5,"result":null}`)
}

// A request on the read loop is over before the next message is looked at, even where
// its answer cannot leave.
func TestOnReadLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		p := link(t, &handler{request: func(_ context.Context, m *Message) Answer {
			order = append(order, m.Method)
			return ResultAnswer([]byte(`"` + strings.Repeat("x", 1<<20) + `"`))
		}, notify: func(m *Message) { order = append(order, m.Method) }}, ConnOptions{QueueBytes: 1, OnReadLoop: func(m string) bool { return m == "initialize" }})
		for range 4 {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `{"jsonrpc":"2.0","method":"initialized"}`)
		}
		synctest.Wait()
		if got := strings.Join(order, " "); got != strings.TrimSpace(strings.Repeat("initialize initialized ", 4)) {
			t.Fatal(got)
		}
		for range 4 {
			if got := p.read(); len(got) < 1<<20 {
				t.Fatal(got)
			}
		}
	})
}

// The parts of a request stay what they were while later lines are read over
// the buffer that they came in, and those of an answer until it is released.
func TestPartsAreNotOverwritten(t *testing.T) {
	t.Parallel()
	const rounds = 40
	sizes := []int{10, 40 << 10, 70 << 10, 300 << 10, 2 << 20}
	fill := func(i int) []byte {
		return append(append([]byte{'"'}, bytes.Repeat([]byte{byte('a' + i%26)}, sizes[i%len(sizes)])...), '"')
	}
	hold := make(chan struct{})
	p := linkOS(t, &handler{request: func(_ context.Context, m *Message) Answer {
		<-hold
		return ResultAnswer(m.Params)
	}}, ConnOptions{})
	go func() {
		for i := range rounds {
			line := append(append([]byte(`{"jsonrpc":"2.0","id":`), byte('0'+i/10), '.', byte('0'+i%10)), `,"method":"x","params":`...)
			p.send(string(append(append(line, fill(i)...), '}')))
		}
		close(hold)
	}()
	for range rounds {
		var m Message
		if err := Split([]byte(p.read()), true, &m); err != nil {
			t.Fatal(err)
		}
		i := int(m.ID[0]-'0')*10 + int(m.ID[2]-'0')
		if !bytes.Equal(m.Result, fill(i)) {
			t.Fatalf("request %d was answered with %.20s…", i, m.Result)
		}
	}
	var held []*Response
	for i := range rounds {
		got := p.call(t.Context(), "x")
		p.read()
		p.send(`{"jsonrpc":"2.0","id":` + string(p.lastID()) + `,"result":` + string(fill(i)) + `}`)
		r := <-got
		if r.err != nil {
			t.Fatal(r.err)
		}
		held = append(held, r.resp)
	}
	for i, r := range held {
		if !bytes.Equal(r.Result, fill(i)) {
			t.Fatalf("answer %d has become %.20s…", i, r.Result)
		}
		r.Release()
		r.Release()
	}
}
