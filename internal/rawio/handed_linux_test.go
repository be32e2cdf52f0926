package rawio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sockets returns a PassedStream and the other end of its pair, both of which block.
func sockets(t testing.TB) (s *PassedStream, other *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err = NewSocket(pair[0], "socket")
	if err != nil {
		t.Fatal(err)
	}
	other = os.NewFile(uintptr(pair[1]), "other")
	t.Cleanup(func() { _, _ = s.Close(), other.Close() })
	return s, other
}

func blocks(t testing.TB, s *PassedStream) bool {
	t.Helper()
	nonblocking := false
	if err := s.raw.Control(func(fd uintptr) { nonblocking, _ = isNonblocking(fd) }); err != nil {
		t.Fatal(err)
	}
	return !nonblocking
}

func isNonblocking(fd uintptr) (bool, error) {
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	return flags&unix.O_NONBLOCK != 0, err
}

// What is sent arrives, in pieces of any size, and the socket blocks for others all the time.
func TestSocketCarriesAll(t *testing.T) {
	t.Parallel()
	s, other := sockets(t)
	want := []byte(strings.Repeat("0123456789", 200_000))
	go func() {
		b := make([]byte, 1000)
		for {
			n, err := other.Read(b)
			if err != nil {
				return
			}
			_, _ = other.Write(b[:n])
		}
	}()
	sent := make(chan error, 1)
	go func() {
		half := len(want) / 2
		_, err := s.Write(want[:half])
		for rest := want[half:]; len(rest) > 0 && err == nil; {
			some := rest[:min(len(rest), 3*short)]
			parts := [][]byte{some[:len(some)/3], some[len(some)/3 : len(some)/2], some[len(some)/2:]}
			if len(rest)%2 == 1 {
				parts = [][]byte{some[:1]}
			}
			n := 0
			err = s.raw.Write(func(fd uintptr) bool {
				var failed error
				if n, failed = s.Send(int(fd), parts); failed != nil && !errors.Is(failed, unix.EAGAIN) {
					t.Error(failed)
				}
				return n > 0
			})
			rest = rest[n:]
		}
		sent <- err
	}()
	got := make([]byte, len(want))
	for at := 0; at < len(got); {
		n, err := s.Read(got[at:min(len(got), at+1+at%(2*short))])
		if err != nil {
			t.Fatal(err)
		}
		at += n
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("something else came back")
	}
	if !blocks(t, s) {
		t.Error("it does not block for others")
	}
}

// A PassedStream ends as a file does: closed and out of time while it waits, at the end of the stream, and broken.
func TestSocketEnds(t *testing.T) {
	t.Parallel()
	s, _ := sockets(t)
	b := make([]byte, 10)
	done := make(chan error, 1)
	go func() { _, err := s.Read(b); done <- err }()
	_ = s.Close()
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Write(b); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}

	s, other := sockets(t)
	if err := s.SetWriteDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(make([]byte, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	_ = other.Close()
	_ = s.SetWriteDeadline(time.Time{})
	if _, err := s.Write(b); !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}

	s, other = sockets(t)
	_ = other.Close()
	if _, err := s.Read(b); err != io.EOF {
		t.Error(err)
	}
}

// One that did not block before does not afterwards.
func TestSocketKeepsItsMode(t *testing.T) {
	t.Parallel()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	s, err := NewSocket(pair[0], "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if blocks(t, s) {
		t.Error("it blocks now")
	}
}

// No call allocates.
func TestSocketAllocatesNothing(t *testing.T) {
	s, other := sockets(t)
	b, parts := make([]byte, 100), [][]byte{[]byte("one"), []byte("two")}
	if n := testing.AllocsPerRun(100, func() {
		_, _ = s.Write(b[:1])
		_ = s.raw.Write(func(fd uintptr) bool { _, _ = s.Send(int(fd), parts); return true })
		_, _ = other.Read(b)
		_, _ = other.Write(b[:10])
		_, _ = s.Read(b)
	}); n > 1 { // the closure of this test
		t.Errorf("%v allocations", n)
	}
}

// A pipe that was opened again is read and written as any, without an allocation, and the one who shares the first
// descriptor keeps its mode.
func TestPipe(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	ends := [2]*PassedStream{}
	for i, flag := range []int{unix.O_RDONLY, unix.O_WRONLY} {
		own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fds[i]), flag|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = NewPipe(own, "pipe")
		defer ends[i].Close()
		if nonblocking, err := isNonblocking(uintptr(fds[i])); err != nil || nonblocking {
			t.Errorf("who shares it finds that it does not block: %v", err)
		}
		if err := unix.Close(fds[i]); err != nil {
			t.Fatal(err)
		}
	}
	in, out := ends[0], ends[1]
	b, parts, last := make([]byte, 100), [][]byte{[]byte("one"), []byte("two")}, []byte("!")
	if n := testing.AllocsPerRun(100, func() {
		_ = out.raw.Write(func(fd uintptr) bool { _, _ = out.Send(int(fd), parts); return true })
		_, _ = out.Write(last)
		if n, err := in.Read(b); err != nil || string(b[:n]) != "onetwo!" {
			t.Fatalf("%q %v", b[:n], err)
		}
	}); n > 1 { // the closure of this test
		t.Errorf("%v allocations", n)
	}
	want := bytes.Repeat([]byte("0123456789"), 200_000) // more than a pipe holds: the writer waits
	sent := make(chan error, 1)
	go func() { _, err := out.Write(want); _ = out.Close(); sent <- err }()
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came: %v", len(got), err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
