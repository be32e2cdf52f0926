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
// reads where the stream is a descriptor that does not block; else r itself.
// What it returns is no Closer.
func Reader(r io.Reader) io.Reader {
	if q := newReader(r); q != nil {
		return q
	}
	return r
}

const (
	slow  = 10 * time.Millisecond // a write that took so long was made to wait
	heavy = time.Second           // how long writes are announced after one
)

// An Appender writes to a file that was opened for appending.
type Appender struct {
	f     *os.File
	raw   *writer // nil: all writes are announced
	since time.Time
	busy  bool // the disk made one wait, at since
}

// NewAppender returns an Appender that owns f.
func NewAppender(f *os.File) *Appender {
	a := &Appender{f: f}
	if runtime.GOMAXPROCS(0) > 1 { // else nothing at all would run meanwhile
		a.raw = newFileWriter(f)
	}
	return a
}

// Write is the file's Write.
func (a *Appender) Write(b []byte) (int, error) {
	if a.raw == nil || len(b) == 0 || len(b) > short {
		return a.f.Write(b)
	}
	began := time.Now()
	if a.busy {
		if past := began.Sub(a.since); past >= 0 && past < heavy {
			return a.f.Write(b)
		}
		a.busy = false
	}
	n, ok := a.raw.write(b)
	if end := time.Now(); end.Sub(began) >= slow {
		a.since, a.busy = end, true
	}
	if ok && n == len(b) {
		return n, nil
	}
	more, err := a.f.Write(b[n:]) // tells why, or goes on
	return n + more, err
}

// Close closes the file.
func (a *Appender) Close() error { return a.f.Close() }
