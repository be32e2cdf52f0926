package lines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/e2e/seeds"
)

// pipes makes the streams that a Writer is tried on: a pipe that takes some
// without waiting, one that has no room of its own, and a socket.
var pipes = map[string]func(t *testing.T) (io.ReadCloser, io.WriteCloser){
	"os.Pipe": func(t *testing.T) (io.ReadCloser, io.WriteCloser) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	},
	"net.Pipe": func(*testing.T) (io.ReadCloser, io.WriteCloser) {
		r, w := net.Pipe()
		return r, w
	},
	"tcp": func(t *testing.T) (io.ReadCloser, io.WriteCloser) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		w, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	},
}

// Frames of many senders arrive whole and in the order of each sender, however
// large they are, in however many parts, and the one who gives up in between.
// A sender may write to its parts as soon as Send has returned without an
// error.
func TestWriterKeepsFramesWhole(t *testing.T) {
	for name, pipe := range pipes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, out := pipe(t)
			w := NewWriter(out, 256<<10)
			const senders, each = 8, 80
			var sent, came [senders][each]bool // sent: frames that must arrive
			var wg sync.WaitGroup
			for s := range senders {
				wg.Go(func() {
					rng := seeds.Rand(t, s)
					for n := range each {
						sent[s][n] = sendFrame(t, w, rng, s, n)
					}
				})
			}
			go func() {
				wg.Wait()
				if err := w.Flush(context.Background()); err != nil {
					t.Error(err)
				}
				_ = out.Close()
			}()
			last := make([]int, senders)
			for s := range last {
				last[s] = -1
			}
			br := bufio.NewReaderSize(r, 16)
			for {
				line, err := br.ReadBytes('\n')
				if err != nil {
					if len(line) > 0 {
						t.Errorf("the stream ends with a torn frame of %d bytes", len(line))
					}
					break
				}
				var s, n, size int
				if _, err := fmt.Sscanf(string(line[:min(len(line), 40)]), "%d %d %d", &s, &n, &size); err != nil || s >= senders || n >= each {
					t.Fatalf("torn frame %.60q", line)
				}
				body := line[bytes.IndexByte(line, '|')+1 : len(line)-1]
				if len(body) != size || len(bytes.Trim(body, string(rune('a'+n%26)))) != 0 {
					t.Fatalf("frame %d of sender %d is damaged", n, s)
				}
				if n <= last[s] {
					t.Fatalf("sender %d: frame %d after %d", s, n, last[s])
				}
				last[s] = n
				came[s][n] = true
			}
			wg.Wait()
			for s := range senders {
				for n := range each {
					if sent[s][n] && !came[s][n] {
						t.Fatalf("sender %d: frame %d was lost", s, n)
					}
				}
			}
			w.Close(io.ErrClosedPipe)
			w.Wait()
			_ = r.Close()
			if w.size != [2]int{} || len(w.queue) != 0 || w.sentBytes != w.acceptedBytes || w.writing {
				t.Fatalf("left over: %v bytes, %d chunks, %d of %d sent", w.size, len(w.queue), w.sentBytes, w.acceptedBytes)
			}
		})
	}
}

// send works like Send for who does not ask whether a frame that failed was queued.
func send(ctx context.Context, w *Writer, parts ...[]byte) error {
	_, err := w.Send(ctx, parts)
	return err
}

// sendFrame sends one frame of random shape, and tells whether it must arrive.
func sendFrame(t *testing.T, w *Writer, rng *rand.Rand, s, n int) bool {
	size := 1 + rng.IntN(200)
	switch rng.IntN(10) {
	case 0:
		size = rng.IntN(600 << 10)
	case 1, 2:
		size = rng.IntN(70 << 10)
	}
	body := bytes.Repeat([]byte{byte('a' + n%26)}, size)
	parts := [][]byte{[]byte(fmt.Sprintf("%d %d %d |", s, n, size))}
	for len(body) > 0 {
		k := min(len(body), 1+rng.IntN(len(body)))
		if rng.IntN(3) == 0 {
			k = len(body)
		}
		parts, body = append(parts, body[:k]), body[k:]
	}
	ctx := context.Background()
	switch rng.IntN(6) {
	case 0:
		return w.TrySend(0, parts) && scribble(parts)
	case 1:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(300))*time.Microsecond)
		defer cancel()
	}
	err := send(ctx, w, parts...)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	return err == nil && scribble(parts)
}

// scribble writes over parts that the Writer must have let go of.
func scribble(parts [][]byte) bool {
	for _, p := range parts {
		for i := range p {
			p[i] = '#'
		}
	}
	return true
}

// A large frame that waits for its turn is not starved by small ones, and does
// not cost them theirs.
func TestWriterClasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, out := net.Pipe()
		w := NewWriter(out, 64<<10)
		large := bytes.Repeat([]byte("L"), 60<<10)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := send(t.Context(), w, large); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // one is being written, two wait
		for i := range 1000 {
			if !w.TrySend(0, [][]byte{[]byte("small")}) {
				t.Fatalf("a small frame was refused after %d", i)
			}
		}
		lines := make(chan int, 1)
		go func() {
			all, _ := io.ReadAll(r)
			lines <- bytes.Count(all, []byte("\n"))
		}()
		wg.Wait()
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = out.Close()
		if n := <-lines; n != 1003 {
			t.Fatalf("%d lines", n)
		}
	})
}

// Who waits for room gets it in the order of coming; who gives up makes way.
func TestWriterWaitsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, out := net.Pipe()
		w := NewWriter(out, 10)
		if err := send(t.Context(), w, []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 5 {
			c := t.Context()
			if i == 2 {
				c = ctx
			}
			wg.Go(func() {
				if err := send(c, w, []byte(strings.Repeat(fmt.Sprint(i), 8))); (err != nil) != (i == 2) {
					t.Errorf("%d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		if w.TrySend(0, [][]byte{[]byte("9")}) {
			t.Error("TrySend went ahead of those who wait")
		}
		if !w.TrySend(1<<20, [][]byte{[]byte("!")}) {
			t.Error("a refusal has no room")
		}
		cancel()
		synctest.Wait()
		go func() {
			wg.Wait()
			_ = w.Flush(context.Background())
			_ = out.Close()
		}()
		all, err := io.ReadAll(r)
		if want := "0123456789\n!\n00000000\n11111111\n33333333\n44444444\n"; err != nil || string(all) != want {
			t.Fatalf("%q, %v", all, err)
		}
	})
}

// Close tells everybody, and waits for no one; what is being written stays in
// use until the stream is closed.
func TestWriterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, out := net.Pipe()
		w := NewWriter(out, 64<<10)
		why := errors.New("enough")
		var wg sync.WaitGroup
		returned := make([]bool, 4)
		for i, size := range []int{50 << 10, 40 << 10, 10, 64 << 10} {
			wg.Go(func() {
				err := send(context.Background(), w, bytes.Repeat([]byte("x"), size))
				returned[i] = true
				if i == 2 && err != nil { // had its place at once
					t.Error(err)
				} else if i != 2 && err == nil {
					t.Errorf("%d was sent", i)
				}
			})
			synctest.Wait()
		}
		wg.Go(func() {
			if err := w.Flush(context.Background()); !errors.Is(err, why) {
				t.Errorf("Flush: %v", err)
			}
		})
		synctest.Wait()
		w.Close(why)
		synctest.Wait()
		if returned[0] || !returned[1] || !returned[3] {
			t.Fatalf("returned: %v; the first is still being written", returned)
		}
		if err := send(context.Background(), w, []byte("x")); !errors.Is(err, why) {
			t.Fatal(err)
		}
		if w.TrySend(0, [][]byte{[]byte("x")}) || !errors.Is(w.Flush(t.Context()), why) {
			t.Fatal("closed, and yet")
		}
		_ = out.Close()
		wg.Wait()
		w.Wait()
		if !errors.Is(w.Broken(), why) { // the stream broke, after it had been closed
			if w.Broken() != nil {
				t.Fatal(w.Broken())
			}
		}
		_ = r.Close()
	})
}

func TestFlushHonoursItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, out := net.Pipe()
		w := NewWriter(out, 0)
		_ = send(t.Context(), w, []byte("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		var buf [2]byte
		go func() { _, _ = io.ReadFull(r, buf[:]) }()
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = send(t.Context(), w, []byte("b"))
		_ = out.Close()
		if err := w.Flush(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
			t.Fatal(err)
		}
		if w.Broken() == nil {
			t.Fatal("not broken")
		}
	})
}

// A frame that fits into the pipe is written by its sender, and one that does
// not is started by it.
func TestWriterWritesInline(t *testing.T) {
	t.Parallel()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	w := NewWriter(out, 0)
	if w.raw == nil {
		if runtime.GOOS == "linux" {
			t.Fatal("it writes to no pipe without blocking")
		}
		t.Skip("no writing without blocking here")
	}
	for _, size := range []int{100, 9 << 10, 40 << 10} {
		if err := send(t.Context(), w, []byte("head "), bytes.Repeat([]byte("x"), size), []byte(" tail")); err != nil {
			t.Fatal(err)
		}
		if w.writing || w.sentBytes != w.acceptedBytes {
			t.Fatalf("%d bytes were left to somebody else", size)
		}
	}
	if !w.TrySend(0, [][]byte{bytes.Repeat([]byte("y"), 100<<10)}) {
		t.Fatal("refused")
	}
	go func() {
		_ = w.Flush(context.Background())
		_ = out.Close()
	}()
	all, err := io.ReadAll(r)
	if err != nil || len(all) != 100+9<<10+40<<10+100<<10+3*len("head  tail\n")+1 {
		t.Fatalf("%d bytes, %v", len(all), err)
	}
	w.Wait()
}
