package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestACopyIsWhatTheFileHolds: byte for byte, also where writes to the file are short or fail.
func TestACopyIsWhatTheFileHolds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var copied bytes.Buffer
	stream := NewCopy(&copied, func(n int) { t.Errorf("%d lines were left out", n) })
	turn := 0
	r := NewRecorder(Options{Dir: dir, Copy: stream, retry: time.Nanosecond, Write: func(file io.Writer, b []byte) (int, error) {
		switch turn++; {
		case turn > 60: // all is well at the end
		case turn%7 == 3:
			return 0, errors.New("no room")
		case turn%5 == 2:
			n, err := file.Write(b[:len(b)/2])
			return n, errors.Join(err, errors.New("half of it"))
		}
		return file.Write(b)
	}}, nil)
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	recorded, streamed := make(chan error, 1), make(chan struct{})
	streaming, stop := context.WithCancel(t.Context())
	go func() { recorded <- r.Run(ctx) }()
	go func() { stream.Run(streaming); close(streamed) }()
	for i := range 200 {
		if ticket, err := r.Append(t.Context(), &Record{Session: "s", DecisionFields: DecisionFields{Child: "kid", Decision: "allow"}}); err == nil && i%3 == 0 {
			ticket.RecordOutcome(ResultOK)
		}
	}
	cancel()
	if err := <-recorded; err != nil {
		t.Error(err)
	}
	stop()
	<-streamed
	files, err := filepath.Glob(filepath.Join(dir, "*-*"+LogEnding))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if whole := raw[:bytes.LastIndexByte(raw, '\n')+1]; !bytes.Equal(whole, copied.Bytes()) || len(whole) < 1000 {
		t.Errorf("the file has %d bytes of whole lines, the stream %d others", len(whole), copied.Len())
	}
}

// A stuck stream takes nothing until it is let go.
type stuck struct {
	letGo chan struct{}
	got   bytes.Buffer
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.letGo
	return s.got.Write(b)
}

// TestAStuckStreamHoldsUpNobody: lines are left out whole, and told about.
func TestAStuckStreamHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{letGo: make(chan struct{})}
		left := 0
		c := NewCopy(s, func(n int) { left += n })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		line := strings.Repeat("x", 1<<20-1) + "\n"
		start := time.Now()
		for range 20 {
			c.takeBytes([]byte(line[:100]))
			c.takeBytes([]byte(line[100:]))
			synctest.Wait()
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("whoever recorded waited %s", took)
		}
		close(s.letGo)
		synctest.Wait()
		cancel()
		<-done
		whole := s.got.Len() / len(line)
		if s.got.Len()%len(line) != 0 || whole+left != 20 || left == 0 || whole < 8 {
			t.Errorf("%d bytes came through and %d lines were left out, of 20", s.got.Len(), left)
		}
	})
}

// TestAStreamThatStaysStuckEndsAfterASecond.
func TestAStreamThatStaysStuckEndsAfterASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{letGo: make(chan struct{})}
		c := NewCopy(s, nil)
		c.takeBytes([]byte("a line\n"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		c.Run(ctx)
		if took := time.Since(start); took != lastCopies {
			t.Errorf("Run ended after %s, want %s", took, lastCopies)
		}
		close(s.letGo)
	})
}

// A stream that fails in the middle loses the lines that it did not take to their end, and each of them is counted once.
func TestLinesOfAFailedStreamAreCounted(t *testing.T) {
	t.Parallel()
	for taken, want := range map[int]int{0: 3, 3: 2, 4: 2, 9: 0} {
		left := 0
		c := NewCopy(failing(taken), func(n int) { left += n })
		c.takeBytes([]byte("a1\nb2\nc3\n"))
		if c.writeLines(); left != want {
			t.Errorf("after %d bytes %d lines are left out, want %d", taken, left, want)
		}
		if c.writeLines(); left != want {
			t.Errorf("after %d bytes: they are counted again: %d", taken, left)
		}
	}
	left := 0
	c := NewCopy(failing(0), func(n int) { left += n })
	c.left = 2 // before
	c.takeBytes([]byte("a\n"))
	if c.writeLines(); left != 3 {
		t.Errorf("%d lines are left out in all", left)
	}
}

// failing takes so many bytes of each write.
type failing int

func (f failing) Write(b []byte) (int, error) {
	return min(int(f), len(b)), errors.New("the stream is gone")
}

// Lines are left out only if they are more than the bound with all that waits before them.
func TestWhatWaitsForAStreamIsBounded(t *testing.T) {
	t.Parallel()
	for room, want := range map[int]int{6: 0, 5: 1} {
		left := 0
		c := NewCopy(io.Discard, func(n int) { left += n })
		c.pending = make([]byte, maxCopied-room)
		c.takeBytes([]byte("abc"))
		c.takeBytes([]byte("de\n"))
		if c.writeLines(); left != want {
			t.Errorf("with room for %d bytes %d lines of 6 are left out, want %d", room, left, want)
		}
	}
}

// If no line waits, nothing is written.
func TestAStreamGetsNoEmptyWrite(t *testing.T) {
	t.Parallel()
	var n writes
	c := NewCopy(&n, nil)
	c.takeBytes([]byte("the begin of a line"))
	c.takeBytes([]byte(" and more of it"))
	if c.writeLines(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// writes counts the writes that it takes.
type writes int

func (w *writes) Write(b []byte) (int, error) {
	*w++
	return len(b), nil
}
