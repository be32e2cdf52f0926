package pipe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

func pipeOf(t *testing.T) (string, *Listener) {
	t.Helper()
	name := fmt.Sprintf(`\\.\pipe\mcphub-test-%d-%s`, os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
	l, err := Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, l
}

// TestPipe: bytes go both ways, all of them arrive before the end, and the kernel says who has opened the pipe.
func TestPipe(t *testing.T) {
	name, l := pipeOf(t)
	defer l.Close()
	for range 3 {
		done := make(chan error, 1)
		go func() {
			c, err := Dial(t.Context(), name)
			if err != nil {
				done <- err
				return
			}
			defer c.Close()
			_, err = c.Write([]byte("asked\n"))
			said, err2 := io.ReadAll(c)
			if string(said) != strings.Repeat("answered ", 1000) {
				err = fmt.Errorf("%d bytes came", len(said))
			}
			done <- errors.Join(err, err2)
		}()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if pid, opened, err := c.(*Conn).Client(); err != nil || int(pid) != os.Getpid() || opened.IsZero() {
			t.Errorf("process %d, %v", pid, err)
		}
		got := make([]byte, 6)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "asked\n" {
			t.Errorf("%q %v", got, err)
		}
		if _, err := io.WriteString(c, strings.Repeat("answered ", 1000)); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestDeadline: a read that waits ends at its deadline, and when the other end closes.
func TestDeadline(t *testing.T) {
	name, l := pipeOf(t)
	defer l.Close()
	other, err := Dial(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := make(chan error, 1)
	go func() { _, err := c.Read(make([]byte, 1)); read <- err }()
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go func() { _, err := c.Read(make([]byte, 1)); read <- err }()
	_ = other.Close()
	if err := <-read; err != io.EOF {
		t.Errorf("%v", err)
	}
}

// TestCloseEndsAccept, and then nothing listens.
func TestCloseEndsAccept(t *testing.T) {
	name, l := pipeOf(t)
	ended := make(chan error, 1)
	go func() { _, err := l.Accept(); ended <- err }()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := Dial(t.Context(), name); !errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
		t.Errorf("%v", err)
	}
}
