package lines

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
	return w.size[copied], w.sentBytes, w.acceptedBytes
}

// What a Batch holds is written with one flush, in order, and at the latest
// when someone else sends or waits for the end of the queue.
func TestBatchHoldsAndSends(t *testing.T) {
	t.Parallel()
	ends := map[string]func(b *Batch, w *Writer) error{
		"flush":         func(b *Batch, _ *Writer) error { b.Flush(); return nil },
		"another frame": func(_ *Batch, w *Writer) error { return send(context.Background(), w, []byte("3")) },
		"a last frame": func(b *Batch, w *Writer) error {
			b.holding = false
			if !b.Send(w, [][]byte{[]byte("3")}) {
				return errors.New("not taken")
			}
			return nil
		},
		"Flush": func(_ *Batch, w *Writer) error { return w.Flush(context.Background()) },
		"a large frame": func(_ *Batch, w *Writer) error {
			s, ok := w.Offer([][]byte{[]byte(strings.Repeat("3", CopyLimit+1))})
			if !ok || s != nil {
				return fmt.Errorf("taken %v, completion %v", ok, s)
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
			b := &Batch{holding: true}
			for _, frame := range []string{"1", "2"} {
				if !b.Send(w, [][]byte{[]byte(frame)}) {
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
			b.Flush() // nothing is left to do
		})
	}
}

// A batch ends by itself, and holds no more than the queue may.
func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	_, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(out, 1000)
	b := &Batch{holding: true}
	taken := 0
	for range batchFrames {
		if b.Send(w, [][]byte{[]byte(strings.Repeat("x", 99))}) {
			taken++
		}
	}
	if queued, _, _ := w.waits(); queued > 1000 || taken < 10 {
		t.Errorf("%d frames taken, %d bytes held", taken, queued)
	}
	if !b.isFull() && taken == batchFrames {
		t.Error("it could go on")
	}
	big := &Batch{holding: true}
	for range batchBytes / 1000 * 2 {
		big.Send(NewWriter(out, 0), [][]byte{make([]byte, 1000)})
	}
	if !big.isFull() {
		t.Error("no bound on bytes")
	}
	w.Close(io.ErrClosedPipe)
	if b.Send(w, [][]byte{[]byte("x")}) {
		t.Error("taken after the end")
	}
	b.Flush()
}
