package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"sync"
)

// DefaultFrameLimit bounds one frame, in bytes, unless Options say otherwise.
const DefaultFrameLimit = 64 << 20

const (
	readSize    = 64 << 10
	largeFrame  = 32 << 10 // frames above are handed over with their buffer, not copied
	minPooled   = 17       // 128 KiB
	maxPooled   = 24       // 16 MiB
	growQuickly = 2        // a buffer grows by this power of two
)

// A buffer is a large piece of memory that is used again.
type buffer struct{ b []byte }

var pools [maxPooled + 1]sync.Pool

// newBuffer returns a buffer of at least n bytes.
func newBuffer(n int) *buffer {
	class := max(bits.Len(uint(n-1)), minPooled)
	if class > maxPooled {
		return &buffer{make([]byte, n)}
	}
	if b, ok := pools[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 1<<class)}
}

func (b *buffer) release() {
	class := bits.Len(uint(len(b.b) - 1))
	if class >= minPooled && class <= maxPooled && len(b.b) == 1<<class {
		pools[class].Put(b)
	}
}

// A TooLongError reports a line over the frame limit. The line has been
// skipped; IDs are what may be the ids of the calls it answered.
type TooLongError struct {
	Limit int
	Size  int64
	IDs   []string
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("a line of %d bytes is over the limit of %d", e.Size, e.Limit)
}

// A Reader cuts a stream into lines. It is used by one goroutine.
type Reader struct {
	r     io.Reader
	limit int
	buf   []byte
	owner *buffer // of buf when it came from the pool
	start int     // of what has not been returned yet
	end   int
	line  []byte // returned last
	grown int    // size that the last long line needed
	err   error
}

// NewReader returns a Reader of lines of at most limit bytes (0: the default).
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultFrameLimit
	}
	return &Reader{r: r, limit: limit, buf: make([]byte, readSize)}
}

// Next returns the next line without its line end, valid until Next or Take
// is called. A last line without a line end is returned too. A *TooLongError
// skips one line, and the next call goes on; any other error is final.
func (r *Reader) Next() ([]byte, error) {
	r.line = nil
	from := r.start
	for {
		if i := bytes.IndexByte(r.buf[from:r.end], '\n'); i >= 0 {
			line := r.buf[r.start : from+i]
			r.start = from + i + 1
			return r.give(line)
		}
		from = r.end
		if r.end-r.start > r.limit {
			return nil, r.skip()
		}
		if r.err != nil {
			line := r.buf[r.start:r.end]
			r.start = r.end
			if len(line) > 0 {
				return r.give(line)
			}
			return nil, r.err
		}
		from -= r.makeRoom()
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		r.err = err
	}
}

func (r *Reader) give(line []byte) ([]byte, error) {
	if len(line) > r.limit {
		var s idScanner
		s.feed(line)
		return nil, &TooLongError{Limit: r.limit, Size: int64(len(line)), IDs: s.found()}
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	r.line = line
	return line, nil
}

// makeRoom makes space behind r.end, and returns by how much what is there
// has moved towards the front.
func (r *Reader) makeRoom() int {
	if r.start == r.end {
		moved := r.start
		r.start, r.end = 0, 0
		return moved
	}
	if r.end < len(r.buf) {
		return 0
	}
	moved := r.start
	if r.start > len(r.buf)/2 {
		copy(r.buf, r.buf[r.start:r.end])
	} else {
		size := max(len(r.buf)<<growQuickly, r.grown)
		next := newBuffer(min(size, max(r.limit+readSize, len(r.buf)+readSize)))
		copy(next.b, r.buf[r.start:r.end])
		if r.owner != nil {
			r.owner.release()
		}
		r.buf, r.owner = next.b, next
	}
	r.start, r.end = 0, r.end-moved
	return moved
}

// Take returns the last line as memory that nothing else uses: a large one
// with its buffer, which the caller may release, a small one as a copy.
func (r *Reader) Take() ([]byte, *buffer) {
	line := r.line
	r.line = nil
	if len(line) < largeFrame || r.owner == nil {
		c := make([]byte, len(line))
		copy(c, line)
		r.shrink()
		return c, nil
	}
	r.grown = len(line) + readSize
	owner := r.owner
	rest := r.buf[r.start:r.end]
	r.owner = nil
	if len(rest) <= readSize {
		r.buf = make([]byte, readSize)
	} else {
		r.owner = newBuffer(len(rest))
		r.buf = r.owner.b
	}
	r.start, r.end = 0, copy(r.buf, rest)
	return line, owner
}

// shrink goes back to a small buffer once a large one is no longer needed.
func (r *Reader) shrink() {
	if r.owner == nil || r.end-r.start > readSize/2 {
		return
	}
	small := make([]byte, readSize)
	n := copy(small, r.buf[r.start:r.end])
	r.owner.release()
	r.buf, r.owner, r.start, r.end = small, nil, 0, n
}

// skip drops the rest of a line that is too long.
func (r *Reader) skip() error {
	var s idScanner
	size := int64(0)
	for {
		part := r.buf[r.start:r.end]
		i := bytes.IndexByte(part, '\n')
		if i >= 0 {
			part = part[:i]
		}
		s.feed(part)
		size += int64(len(part))
		if i >= 0 {
			r.start += i + 1
			r.shrink()
			return &TooLongError{Limit: r.limit, Size: size, IDs: s.found()}
		}
		r.start, r.end = 0, 0
		if r.err != nil {
			return &TooLongError{Limit: r.limit, Size: size, IDs: s.found()}
		}
		r.end, r.err = r.r.Read(r.buf)
	}
}
