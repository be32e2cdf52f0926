package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

func (w *Writer) waits() (queued int, sent, accepted uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size[copied], w.sent, w.accepted
}

// What a Batch holds is written with one flush, in order, and at the latest
// when somebody else sends or waits for the end of the queue.
func TestBatchHoldsAndSends(t *testing.T) {
	ends := map[string]func(b *Batch, w *Writer) error{
		"flush":         func(b *Batch, _ *Writer) error { b.flush(); return nil },
		"another frame": func(_ *Batch, w *Writer) error { return w.Send(context.Background(), []byte("3")) },
		"a last frame": func(b *Batch, w *Writer) error {
			b.on = false
			if !b.send(w, [][]byte{[]byte("3")}) {
				return errors.New("not taken")
			}
			return nil
		},
		"Flush": func(_ *Batch, w *Writer) error { return w.Flush(context.Background()) },
		"a large frame": func(_ *Batch, w *Writer) error {
			s, ok := w.offer([][]byte{[]byte(strings.Repeat("3", borrowed+1))})
			if !ok || s != nil {
				return fmt.Errorf("taken %v, pending %v", ok, s)
			}
			return nil
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			r, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			w := NewWriter(out, 0)
			b := &Batch{on: true}
			for _, frame := range []string{"1", "2"} {
				if !b.send(w, [][]byte{[]byte(frame)}) {
					t.Fatal("not taken")
				}
			}
			if queued, sent, _ := w.waits(); queued != 4 || sent != 0 {
				t.Fatalf("%d bytes are held, %d sent", queued, sent)
			}
			if err := end(b, w); err != nil {
				t.Fatal(err)
			}
			if queued, sent, accepted := w.waits(); queued != 0 || sent != accepted {
				t.Fatalf("%d bytes are held, %d of %d sent", queued, sent, accepted)
			}
			_ = out.Close()
			if got, _ := io.ReadAll(r); !strings.HasPrefix(string(got), "1\n2\n") {
				t.Fatalf("got %.20q", got)
			}
			b.flush() // nothing is left to do
		})
	}
}

// A batch ends by itself, and holds no more than the queue may.
func TestBatchIsBounded(t *testing.T) {
	_, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(out, 1000)
	b := &Batch{on: true}
	taken := 0
	for range batchFrames {
		if b.send(w, [][]byte{[]byte(strings.Repeat("x", 99))}) {
			taken++
		}
	}
	if queued, _, _ := w.waits(); queued > 1000 || taken < 10 {
		t.Errorf("%d frames taken, %d bytes held", taken, queued)
	}
	if !b.full() && taken == batchFrames {
		t.Error("it could go on")
	}
	big := &Batch{on: true}
	for range batchBytes / 1000 * 2 {
		big.send(NewWriter(out, 0), [][]byte{make([]byte, 1000)})
	}
	if !big.full() {
		t.Error("no bound on bytes")
	}
	w.Close(nil)
	if b.send(w, [][]byte{[]byte("x")}) {
		t.Error("taken after the end")
	}
	b.flush()
}

// What the fast path has sent leaves before anything that may take its time:
// a request behind it that is served the slow path, and never answered.
func TestBatchWaitsForNobody(t *testing.T) {
	toHop, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromFar, farOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	farIn, toFar, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromHop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	far := NewConn(farIn, farOut, &farEnd{}, Options{})
	down := NewConn(fromFar, toFar, &farEnd{}, Options{})
	r := &hop{to: down, short: true}
	stuck := make(chan struct{})
	up := NewConn(toHop, fromHop, &handler{request: func(ctx context.Context, _ *Message) Answer {
		close(stuck)
		<-ctx.Done()
		return Answer{}
	}}, Options{Strict: true, Fast: func(m *Message, reply *Reply) bool { return m.Method == "echo" && r.take(m, reply) }})
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []*Conn{far, down, up} {
		go func() { _ = c.Run(ctx) }()
	}
	defer func() {
		cancel()
		for _, c := range []*Conn{far, down, up} {
			<-c.Done()
		}
		_ = in.Close()
		_ = out.Close()
	}()
	var lines strings.Builder
	for i := range 5 {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"n":%d}}`+"\n", i, i)
	}
	lines.WriteString(`{"jsonrpc":"2.0","id":"slow","method":"slow"}` + "\n" + `{"jsonrpc":"2.0","id":"half`)
	if _, err := io.WriteString(in, lines.String()); err != nil {
		t.Fatal(err)
	}
	rd := NewReader(out, 0)
	seen := map[string]bool{} // the far end answers in any order
	for range 5 {
		line, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		seen[string(line)] = true
	}
	for i := range 5 {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}`, i, i); !seen[want] {
			t.Errorf("no %s in %v", want, seen)
		}
	}
	<-stuck
}
