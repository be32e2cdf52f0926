package rawio

import (
	"io"
	"os"
	"runtime"
	"time"
)

// short is the longest transfer that is not announced, in bytes: copying it
// takes some ten microseconds.
const short = 64 << 10

// Reader returns a reader of the same stream, one that does not announce short
// reads if the stream is a descriptor that does not block; else r itself. What
// it returns is no Closer.
func Reader(r io.Reader) io.Reader {
	if q := newReader(r); q != nil {
		return q
	}
	return r
}

const (
	slow    = 10 * time.Millisecond // a write that took so long waited, for the disk or for a processor
	strikes = 3                     // so many slow writes, each within lull of the last, are the disk's doing
	lull    = time.Second
	heavy   = 10 * time.Second // how long writes are announced then
)

// An Appender writes to a file that was opened for appending.
type Appender struct {
	f     *os.File
	raw   *writer // nil: all writes are announced
	slow  int     // writes in a row, the last at since
	since time.Time
}

// NewAppender returns an Appender that owns f.
func NewAppender(f *os.File) *Appender {
	a := &Appender{f: f}
	if runtime.GOMAXPROCS(0) > 1 { // else nothing at all would run meanwhile
		a.raw = newFileWriter(f)
	}
	return a
}

// Write returns the file's Write.
func (a *Appender) Write(b []byte) (int, error) {
	if a.raw == nil || len(b) == 0 || len(b) > short {
		return a.f.Write(b)
	}
	started := time.Now()
	if a.slow >= strikes {
		if past := started.Sub(a.since); past >= 0 && past < heavy {
			return a.f.Write(b)
		}
		a.slow = 0
	}
	n, ok := a.raw.writeNow(b)
	if end := time.Now(); end.Sub(started) >= slow {
		if end.Sub(a.since) >= lull {
			a.slow = 0
		}
		a.since, a.slow = end, a.slow+1
	}
	if ok && n == len(b) {
		return n, nil
	}
	more, err := a.f.Write(b[n:]) // reports why, or goes on
	return n + more, err
}

// Close closes the file.
func (a *Appender) Close() error { return a.f.Close() }
