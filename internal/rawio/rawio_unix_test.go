//go:build unix

package rawio

import (
	"bytes"
	"runtime"
	"syscall"
	"testing"

	"mcphub/e2e/bounds"
)

// TestReaderOfAPipeThatSomebodyMadeBlock: the one who shares a descriptor may turn
// its flag off. Nothing waits then but the goroutine that reads.
func TestReaderOfAPipeThatSomebodyMadeBlock(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	q := Reader(r)
	if runtime.GOOS != "linux" {
		t.Skip("there is nothing to be seen here")
	}
	shared, err := r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Control(func(fd uintptr) { err = syscall.SetNonblock(int(fd), false) }); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		b := make([]byte, 10)
		n, err := q.Read(b)
		if string(b[:n]) != "late" {
			t.Errorf("%q", b[:n])
		}
		done <- err
	}()
	// A call that blocks unannounced would hold this up for ever, as it would the collector.
	stacks := make([]byte, 1<<20)
	if !bounds.Within(bounds.Patience, func() bool {
		return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("[IO wait]:\ninternal/poll"))
	}) {
		t.Fatal("it waits for nothing")
	}
	runtime.GC()
	if _, err := w.WriteString("late"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
