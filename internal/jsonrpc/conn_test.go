package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallAndAnswer(t *testing.T) {
	t.Parallel()
	p := link(t, &handler{}, ConnOptions{})
	got := p.call(t.Context(), "tools/call", []byte(`{"a":`), []byte(`9007199254740993}`))
	p.want(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":9007199254740993}}`)
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"x" : 1e400}}`)
	if r := <-got; r.err != nil || string(r.resp.Result) != `{"x" : 1e400}` || r.resp.Err() != nil {
		t.Fatalf("got %+v", r)
	}

	got = p.call(t.Context(), "ping")
	p.want(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	p.send(`{"error":{"code":-32050,"message":"quota","data":[1]},"id":2,"jsonrpc":"2.0"}`)
	r := <-got
	if r.err != nil || r.resp.Result != nil {
		t.Fatalf("got %+v", r)
	}
	if e := r.resp.Err(); e.Code != -32050 || e.Message != "quota" || string(e.Data) != "[1]" {
		t.Fatalf("got %+v", e)
	}
}

func TestSecondAndUnaskedAnswers(t *testing.T) {
	t.Parallel()
	var skipped []string
	p := link(t, &handler{}, ConnOptions{OnSkip: func(reason string, line []byte) { skipped = append(skipped, reason+": "+string(line)) }})
	got := p.call(t.Context(), "x")
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"result":"first"}`, `{"jsonrpc":"2.0","id":1,"result":"second"}`, `{"jsonrpc":"2.0","id":18446744073709551617,"result":1}`)
	if r := <-got; r.err != nil || string(r.resp.Result) != `"first"` {
		t.Fatalf("%+v", r)
	}
	next := p.call(t.Context(), "x")
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"result":2}`)
	if r := <-next; r.err != nil || string(r.resp.Result) != `2` {
		t.Fatalf("%+v", r)
	}
	_ = p.in.Close()
	<-p.conn.Done()
	if len(skipped) != 2 || p.conn.Stats().Skipped != 2 {
		t.Fatalf("skipped %q, %+v", skipped, p.conn.Stats())
	}
}

// Ids are what they are as text: a number is not the string of it, and no
// digit is lost.
func TestIDsOfThePeer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := linkOS(t, &handler{request: func(_ context.Context, m *Message) Answer {
		<-release
		return ResultAnswer(m.Params)
	}}, ConnOptions{})
	ids := []string{`1`, `"1"`, `9007199254740993`, `9007199254740992`, `1.0`, `123456789012345678901234567890`, `-0`, `"\u0061"`, `"a"`, `""`}
	want := map[string]bool{}
	for i, id := range ids {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"x","params":%d}`, id, i))
		want[fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%d}`, id, i)] = true
	}
	for _, id := range ids { // each of them is taken
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"x"}`, id))
		p.wantError(id, CodeInvalidRequest)
	}
	close(release)
	for range ids {
		line := p.read()
		if !want[line] {
			t.Fatalf("unexpected %s", line)
		}
		delete(want, line)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"x","params":"again"}`) // free once it was answered
	p.want(`{"jsonrpc":"2.0","id":1,"result":"again"}`)
}

// B03: a cancellation right behind its request finds it, whether it runs or
// waits for its turn; the request is not answered, and one that waited never
// runs.
func TestCancellationBehindItsRequest(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	causes := make(chan error, 1)
	p := linkOS(t, &handler{request: func(ctx context.Context, m *Message) Answer {
		ran.Add(1)
		if string(m.ID) != "1" {
			return ResultAnswer([]byte("1"))
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ResultAnswer([]byte(`"too late"`))
	}}, ConnOptions{MaxRequests: 1})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	for ran.Load() == 0 {
		// Number 1 has its turn, and keeps it.
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"x"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`, // no one
		`{"jsonrpc":"2.0","id":3,"method":"x"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`)
	p.want(`{"jsonrpc":"2.0","id":3,"result":1}`)
	var gone *CancelledError
	if err := <-causes; !errors.As(err, &gone) || gone.Reason != "enough" {
		t.Fatalf("cause %v", err)
	}
	p.nothing()
	if n := ran.Load(); n != 2 {
		t.Fatalf("%d requests ran, want 1 and 3", n)
	}
}

// B02: requests that call back are served while as many as may come are under
// way.
func TestParallelRequestsThatCallBack(t *testing.T) {
	t.Parallel()
	const n = 120
	var p *peer
	ready := make(chan struct{})
	h := &handler{request: func(ctx context.Context, m *Message) Answer {
		<-ready
		r, err := p.conn.Call(ctx, "roots/list")
		if err != nil {
			return ErrorAnswer(CodeInternal, err.Error())
		}
		return ResultAnswer(r.Result)
	}}
	p = linkOS(t, h, ConnOptions{Strict: true})
	close(ready)
	go func() {
		for i := range n {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, i))
		}
	}()
	answered := 0
	for answered < n {
		var m Message
		if err := Split([]byte(p.read()), true, &m); err != nil {
			t.Fatal(err)
		}
		if m.IsRequest() {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"r"}`, m.ID))
			continue
		}
		if string(m.Result) != `"r"` {
			t.Fatalf("got %s", m.Frame)
		}
		answered++
	}
}

// B04, B05: what is told during a call arrives before its answer, all of it.
func TestNotificationsComeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	const calls, told = 8, 500
	var p *peer
	ready := make(chan struct{})
	p = linkOS(t, &handler{request: func(ctx context.Context, m *Message) Answer {
		<-ready
		for i := range told {
			if err := p.conn.Notify(ctx, "progress", []byte(fmt.Sprintf(`{"call":%s,"n":%d}`, m.ID, i))); err != nil {
				t.Error(err)
			}
		}
		return ResultAnswer(m.ID)
	}}, ConnOptions{QueueBytes: 4 << 10})
	close(ready)
	for i := range calls {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, i))
	}
	next := make([]int, calls)
	for done := 0; done < calls; {
		var m Message
		if err := Split([]byte(p.read()), true, &m); err != nil {
			t.Fatal(err)
		}
		var call, n int
		if m.IsResponse() {
			_, _ = fmt.Sscan(string(m.ID), &call)
			if next[call] != told {
				t.Fatalf("call %d was answered after %d of %d notifications", call, next[call], told)
			}
			done++
			continue
		}
		_, _ = fmt.Sscanf(string(m.Params), `{"call":%d,"n":%d}`, &call, &n)
		if n != next[call] {
			t.Fatalf("call %d: notification %d after %d", call, n, next[call]-1)
		}
		next[call]++
	}
}

// B16: a notification handler may use the Conn; it runs in order.
func TestNotificationsInOrder(t *testing.T) {
	t.Parallel()
	var seen []string
	var p *peer
	ready := make(chan struct{})
	p = link(t, &handler{notify: func(m *Message) {
		<-ready
		seen = append(seen, m.Method)
		p.conn.TryNotify("saw/" + m.Method)
	}}, ConnOptions{})
	close(ready)
	p.send(`{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b","params":{}}`, `{"jsonrpc":"2.0","method":"c"}`)
	for _, m := range []string{"a", "b", "c"} {
		p.want(`{"jsonrpc":"2.0","method":"saw/` + m + `"}`)
	}
	_ = p.in.Close()
	<-p.conn.Done()
	if strings.Join(seen, "") != "abc" {
		t.Fatal(seen)
	}
}

// B14: a peer that does not read holds no one beyond his context, and what
// waits for it is bounded.
func TestPeerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const queue = 64 << 10
		p := link(t, &handler{}, ConnOptions{QueueBytes: queue})
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				params := []byte(`"` + strings.Repeat("x", 1<<10*(1+i%80)) + `"`)
				before := time.Now()
				if i%3 == 0 {
					err := p.conn.Notify(ctx, "n", params)
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Notify: %v", err)
					}
				} else if _, err := p.conn.Call(ctx, "c", params); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Call: %v", err)
				}
				if d := time.Since(before); d > time.Second {
					t.Errorf("held for %v", d)
				}
			})
		}
		wg.Wait()
		for p.conn.TryNotify("n", []byte("1")) {
		}
		copies, borrows, senders := p.conn.writer.Waiting()
		if copies > queue+controlGap || borrows > queue+96<<10 || senders != 0 {
			t.Fatalf("%d and %d bytes wait in the queue, %d senders for room", copies, borrows, senders)
		}
		if s := p.conn.Stats(); s.Dropped == 0 || len(p.conn.tables.pending) != 0 {
			t.Fatalf("%+v, %d pending", s, len(p.conn.tables.pending))
		}
	})
}

// A peer that asks without end and does not read is refused in the end.
func TestPeerThatOnlyAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := link(t, &handler{request: func(context.Context, *Message) Answer {
			return ResultAnswer([]byte(`"` + strings.Repeat("x", 1<<10) + `"`))
		}}, ConnOptions{MaxRequests: 4, QueueBytes: 4 << 10, FrameLimit: 1 << 10})
		for i := range 20000 {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":"%100d"}`, i, i))
		}
		synctest.Wait()
		c := p.conn
		c.mu.Lock()
		active, held, serving := c.tables.active, c.tables.heldBytes, len(c.tables.serving)
		c.mu.Unlock()
		if active > 4*(1+waitingRequests) || held > heldFrames<<10 || serving > active {
			t.Fatalf("%d requests are active, their frames hold %d bytes", active, held)
		}
		if copies, _, _ := c.writer.Waiting(); copies > 4<<10+controlGap {
			t.Fatalf("%d bytes wait to be written", copies)
		}
		if c.Stats().Dropped == 0 {
			t.Fatal("no refusal was dropped")
		}
	})
}

func TestWriteFailureEndsTheConn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := link(t, &handler{}, ConnOptions{})
		first := p.call(t.Context(), "one")
		p.read()
		second := p.call(t.Context(), "two")
		p.read()
		_ = p.out.Close() // it reads no more
		third := p.call(t.Context(), "three")
		synctest.Wait()
		if _, err := p.conn.Call(t.Context(), "four"); !errors.Is(err, ErrClosed) {
			t.Fatalf("a call after the failure: %v", err)
		}
		p.send(`{"jsonrpc":"2.0","id":1,"result":"last words"}`)
		if r := <-first; r.err != nil {
			t.Fatalf("an answer already given was lost: %v", r.err)
		}
		for _, ch := range []<-chan result{second, third} {
			if r := <-ch; !errors.Is(r.err, ErrClosed) {
				t.Fatalf("got %+v, want ErrClosed", r)
			}
		}
		if err := <-p.err; !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("Run returned %v", err)
		}
	})
}

func TestEndOfInput(t *testing.T) {
	t.Parallel()
	p := link(t, &handler{}, ConnOptions{})
	got := p.call(t.Context(), "x")
	p.read()
	_ = p.in.Close()
	unsent := func(err error) bool {
		closed, ok := errors.AsType[*ClosedError](err)
		return ok && closed.Unsent
	}
	if r := <-got; !errors.Is(r.err, ErrClosed) || unsent(r.err) {
		t.Fatalf("got %+v", r)
	}
	if err := <-p.err; err != nil {
		t.Fatalf("Run returned %v at the end of the input", err)
	}
	if _, err := p.conn.Call(t.Context(), "x"); !errors.Is(err, ErrClosed) || !unsent(err) {
		t.Fatalf("got %v", err)
	}
	if err := p.conn.Notify(t.Context(), "x"); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if p.conn.TryNotify("x") {
		t.Fatal("TryNotify said yes")
	}
	_ = p.conn.Flush(t.Context())
}

func TestContextOfRun(t *testing.T) {
	t.Parallel()
	for _, os := range []bool{false, true} {
		h := &handler{request: func(ctx context.Context, _ *Message) Answer {
			<-ctx.Done()
			return Answer{}
		}}
		p := link(t, h, ConnOptions{Grace: time.Hour})
		if os {
			p = linkOS(t, h, ConnOptions{Grace: time.Hour})
		}
		got := p.call(t.Context(), "x")
		p.read()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		p.stop()
		if r := <-got; !errors.Is(r.err, ErrClosed) {
			t.Fatalf("got %+v", r)
		}
		if err := <-p.err; !errors.Is(err, context.Canceled) {
			t.Fatalf("Run returned %v", err)
		}
	}
}

// A request that still waits for its turn when the Conn ends is answered, and the answer says that nothing was done.
func TestARequestThatWasNotServedIsAnswered(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	p := link(t, &handler{request: func(ctx context.Context, _ *Message) Answer {
		close(begun) // a second time would panic
		<-ctx.Done()
		return ResultAnswer([]byte("1"))
	}}, ConnOptions{MaxRequests: 1})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	<-begun
	p.send(`{"jsonrpc":"2.0","id":2,"method":"x"}`, `{"jsonrpc":"2.0","id":2,"method":"x"}`)
	p.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"a request with this id is still being served"}}`) // the first one waits
	p.conn.cancelServed(errors.New("terminated signal received"))                                                       // as at the end of Run, while the peer still reads
	answers := []string{p.read(), p.read()}
	slices.Sort(answers)
	if want := `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"terminated signal received. The request was not served, so nothing was done"}}`; answers[1] != want {
		t.Fatalf("got %q", answers)
	}
}

// Requests already read are answered after the end of the input, for as long
// as the grace lasts.
func TestGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := link(t, &handler{request: func(ctx context.Context, m *Message) Answer {
			wait := 500 * time.Millisecond
			if m.Method == "slow" {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			return ResultAnswer([]byte(`"` + m.Method + `"`))
		}}, ConnOptions{Grace: time.Second})
		started := time.Now()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`, `{"jsonrpc":"2.0","id":2,"method":"quick"}`)
		_ = p.in.Close()
		p.want(`{"jsonrpc":"2.0","id":2,"result":"quick"}`)
		if err := <-p.err; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(started); d != time.Second {
			t.Fatalf("Run ended after %v", d)
		}
	})
}
