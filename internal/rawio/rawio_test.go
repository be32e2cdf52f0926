package rawio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// TestReaderReadsWhatComes: short pieces and long ones, then the end.
func TestReaderReadsWhatComes(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	want := []byte(strings.Repeat("0123456789", 100_000))
	go func() {
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+len(rest)%777)
			_, _ = w.Write(rest[:n])
			rest = rest[n:]
		}
		_ = w.Close()
	}()
	q := Reader(r)
	var got []byte
	for i := 0; ; i++ {
		b := make([]byte, 1+(i*i)%(2*short))
		n, err := q.Read(b)
		got = append(got, b[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes came of %d, or others", len(got), len(want))
	}
}

func TestReaderOfAnotherKind(t *testing.T) {
	t.Parallel()
	s := strings.NewReader("x")
	if Reader(s) != io.Reader(s) {
		t.Error("a string is no descriptor")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if Reader(f) != io.Reader(f) {
		t.Error("a file may block")
	}
	r, _ := pipe(t)
	if q := Reader(r); (q == io.Reader(r)) != (runtime.GOOS != "linux") {
		t.Errorf("%T", q)
	}
}

// TestReaderEnds: closed, or out of time, while it waits and before.
func TestReaderEnds(t *testing.T) {
	t.Parallel()
	r, _ := pipe(t)
	q := Reader(r)
	if err := r.SetReadDeadline(time.Now().Add(time.Millisecond)); runtime.GOOS != "windows" && err != nil {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	b := make([]byte, 10)
	for range 2 {
		if _, err := q.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	}
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := q.Read(b); done <- err }()
	_ = r.Close()
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if _, err := q.Read(b); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func appender(t testing.TB, path string) *Appender {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	a := NewAppender(f)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestAppenderWritesAllOfIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	a := appender(t, path)
	var want []byte
	for _, n := range []int{1, 0, 300, short, short + 1, 5} {
		for _, slow := range []int{0, 1, strikes} {
			b := bytes.Repeat([]byte{byte('a' + n%26)}, n)
			a.slow, a.since = slow, time.Now()
			if got, err := a.Write(b); got != n || err != nil {
				t.Fatal(got, err)
			}
			want = append(want, b...)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	a.since = time.Now().Add(-heavy)
	if _, err := a.Write([]byte("x")); err != nil || a.slow >= strikes && a.raw != nil {
		t.Error(a.slow, err)
	}
}

func TestAppenderTellsOfAFullDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /dev/full")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	a := NewAppender(f)
	if n, err := a.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Error(n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	r, w := pipe(t)
	q, a := Reader(r), appender(t, filepath.Join(t.TempDir(), "f"))
	b := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		_, err1 := w.Write(b)
		_, err2 := q.Read(b)
		_, err3 := a.Write(b)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func connected(t testing.TB) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	theirs, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if ours, err = Listener(ln).Accept(); err != nil {
		t.Fatal(err)
	}
	if _, ok := ours.(*conn); ok != (runtime.GOOS == "linux") {
		t.Fatalf("%T", ours)
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return ours, theirs
}

// TestConnWritesWhole: several at once, each more than the peer takes at a time,
// and none comes between two halves of another.
func TestConnWritesWhole(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	const writers, times, length = 4, 60, short
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for range times {
				if n, err := ours.Write(bytes.Repeat([]byte{byte('a' + i)}, length)); n != length || err != nil {
					t.Error(n, err)
				}
			}
		})
	}
	b := make([]byte, length)
	for range writers * times {
		if _, err := io.ReadFull(theirs, b); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, b[:1]); n != length {
			t.Fatalf("only %d bytes of %d are one writer's", n, length)
		}
	}
	wg.Wait()
}

// TestConnEnds: out of time, at the end of the peer, closed while it waits.
func TestConnEnds(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	b := make([]byte, 10)
	if err := ours.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	_, readErr := ours.Read(b)
	_, writeErr := ours.Write(b)
	for _, err := range []error{readErr, writeErr} {
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Error(err)
		}
	}
	if err := ours.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Write([]byte("xyz")); err != nil {
		t.Fatal(err)
	}
	_ = theirs.(*net.TCPConn).CloseWrite()
	if n, err := ours.Read(b); n != 3 || err != nil {
		t.Error(n, err)
	}
	if n, err := ours.Read(b); n != 0 || !errors.Is(err, io.EOF) {
		t.Error(n, err)
	}
	other, _ := connected(t)
	done := make(chan error, 2)
	go func() { _, err := other.Read(b); done <- err }()
	go func() { _, err := io.Copy(struct{ io.Writer }{other}, endless{}); done <- err }()
	_ = other.Close()
	for range 2 {
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
