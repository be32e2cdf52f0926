package lines

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"

	"mcphub/internal/jsonrpc/broken"
	"mcphub/internal/kept"
	"mcphub/internal/rawio"
)

// DefaultLimit bounds one line, in bytes, if nothing else is said.
const DefaultLimit = 64 << 20

const (
	readSize   = 64 << 10
	largeFrame = 32 << 10 // frames above are handed over with their buffer, not copied
	growBy     = 4        // a buffer grows by this factor
	loose      = 4        // a buffer this much larger than its frame is not handed over
	noProgress = 100      // reads in a row that bring nothing
	shortLine  = 16 << 10 // kept lines up to here are copied to memory that is used again
)

// A TooLongError reports a line over the limit, which has been skipped.
type TooLongError struct {
	Limit int
	Size  int64
	Found broken.Guess // what the line may have been
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("a line of %d bytes is over the limit of %d", e.Size, e.Limit)
}

func tooLong(s *broken.Scanner, limit int, size int64) *TooLongError {
	return &TooLongError{Limit: limit, Size: size, Found: s.Finish()}
}

// A Reader cuts a stream into lines. It is used by one goroutine.
type Reader struct {
	r     io.Reader
	from  io.Reader // r, to read from
	limit int
	small []byte // read into as long as lines are short; of kept input, a copy of a short line
	buf   []byte
	owner *Buffer // of buf, if that is not small
	start int     // of what has not been returned yet
	seen  int     // bytes behind start that hold no line end
	end   int
	line  []byte // returned last
	grown int    // size that the last long line needed
	wide  bool   // r has been widened
	skips bool   // a line that is too long was read in part
	begun bool   // a line was returned: a byte order mark can come no more
	err   error
	kept  *kept.Memory // buf is in it; nil: the input is not kept
	clone bool         // line is a copy that nothing else uses
	taken bool         // what was returned last was committed as taken, if it is kept

	Heard *atomic.Uint64 // counts reads that brought something; nil: no one counts
}

// NewReader returns a Reader of lines of at most limit bytes (0: the default),
// not counting the line end.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	small := make([]byte, readSize)
	return &Reader{r: r, from: rawio.Reader(r), limit: limit, small: small, buf: small}
}

// NewKeptReader works like NewReader for a stream whose bytes are kept until Commit, in memory that may hold some of another reader.
func NewKeptReader(r io.Reader, limit int, k *kept.Memory) *Reader {
	rd := &Reader{r: r, from: rawio.Reader(r), limit: limit, kept: k, small: make([]byte, shortLine), buf: k.Arena(), taken: true}
	if rd.limit <= 0 {
		rd.limit = DefaultLimit
	}
	rd.limit = min(rd.limit, k.Frame)
	rd.start, rd.end, rd.skips = k.Pending()
	rd.begun = k.Begun()
	return rd
}

// Commit keeps the next hub from serving the line that was returned last.
func (r *Reader) Commit() {
	if r.kept == nil || r.taken {
		return
	}
	r.taken = true
	r.kept.Take(r.start, r.end)
}

// Next returns the next line without its line end (LF or CRLF), valid until
// Next or Take is called. A last line without a line end is returned too. A
// *TooLongError skips one line, and the next call goes on; any other error is
// final.
func (r *Reader) Next() ([]byte, error) {
	r.line = nil
	if r.kept == nil {
		r.shrinkBuffer()
	} else if r.Commit(); r.skips {
		return nil, r.skipLine()
	}
	for {
		if r.More() {
			line := r.buf[r.start : r.start+r.seen]
			r.start += r.seen + 1
			r.seen = 0
			return r.giveLine(line)
		}
		if r.seen > r.limit+1 { // one more may be a CR
			return nil, r.skipLine()
		}
		if r.err != nil {
			line := r.buf[r.start:r.end]
			r.start, r.seen = r.end, 0
			if len(line) > 0 {
				return r.giveLine(line)
			}
			return nil, r.err
		}
		r.makeRoom()
		r.readOnce()
	}
}

// More reports whether another line, with its end, has been read already: then
// Next returns without reading.
func (r *Reader) More() bool {
	i := bytes.IndexByte(r.buf[r.start+r.seen:r.end], '\n')
	if i < 0 {
		r.seen = r.end - r.start
		return false
	}
	r.seen += i
	return true
}

// readOnce reads once, and sees to it that a stream that brings neither bytes nor
// an error is not asked for ever.
func (r *Reader) readOnce() {
	for range noProgress {
		into := r.buf[r.end:]
		if r.kept != nil {
			into = into[:readSize]
			if r.end-r.start > readSize {
				into = r.buf[r.end:][:kept.MostRead]
			}
			r.kept.Reading(r.start, r.end, len(into))
		}
		n, err := r.from.Read(into)
		r.end += n
		r.err = err
		if r.kept != nil {
			r.kept.Read(r.start, r.end)
		}
		if n > 0 && r.Heard != nil {
			r.Heard.Add(1)
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// byteOrderMark is the byte order mark of UTF-8, which some programs on Windows begin a stream with.
var byteOrderMark = []byte("\xef\xbb\xbf")

func (r *Reader) giveLine(line []byte) ([]byte, error) {
	r.taken = false
	if r.kept != nil {
		line = r.copyPrivate(line)
	}
	if !r.begun {
		r.begun, line = true, bytes.TrimPrefix(line, byteOrderMark)
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(line) > r.limit {
		var s broken.Scanner
		s.Feed(line)
		return nil, tooLong(&s, r.limit, int64(len(line)))
	}
	r.line = line
	return line, nil
}

// copyPrivate copies a kept line before it is judged: another process may change kept memory at any time. The line ends at the
// first line end of the copy.
func (r *Reader) copyPrivate(line []byte) []byte {
	if r.clone = len(line) > len(r.small); r.clone {
		line = bytes.Clone(line)
	} else {
		line = r.small[:copy(r.small, line)]
	}
	line, _, _ = bytes.Cut(line, newline)
	return line
}

// makeRoom makes space behind r.end.
func (r *Reader) makeRoom() {
	switch {
	case r.start == r.end:
	case r.kept != nil:
		r.makeKeptRoom()
		return
	case r.end < len(r.buf):
		return
	case r.start > len(r.buf)/2:
		copy(r.buf, r.buf[r.start:r.end])
	default:
		if !r.wide {
			r.wide = true
			widenPipe(r.r)
		}
		size := max(len(r.buf)*growBy, r.grown)
		// A line of just the limit needs room for its line end, but no more.
		next := newBuffer(max(min(size, r.limit+2), len(r.buf)+readSize))
		copy(next.b, r.buf[r.start:r.end])
		if r.owner != nil {
			r.owner.Release()
		}
		r.buf, r.owner = next.b, next
	}
	r.start, r.end = 0, r.end-r.start
}

// makeKeptRoom is makeRoom in kept memory. The memory has room behind any line that lies before its middle, so what is moved
// never overlaps with its new place.
func (r *Reader) makeKeptRoom() {
	n := r.end - r.start
	if n > r.start || r.start < readSize || n > readSize && r.end+kept.MostRead <= len(r.buf) {
		if !r.wide && n > readSize {
			r.wide = true
			widenPipe(r.r)
		}
		return
	}
	r.kept.Move(r.start, n)
	r.start, r.end = 0, n
}

// Take returns the last line as memory that nothing else uses: a large one
// with its buffer, which the caller may release, a small one as a copy.
func (r *Reader) Take() ([]byte, *Buffer) {
	line := r.line
	r.line = nil
	if r.clone {
		return line, nil
	}
	if r.owner == nil || len(line) < largeFrame {
		return bytes.Clone(line), nil
	}
	r.grown = len(line) + readSize
	if len(r.buf) > minBuffer && len(line) < len(r.buf)/loose {
		own := newBuffer(len(line))
		return own.b[:copy(own.b, line)], own
	}
	owner, rest := r.owner, r.buf[r.start:r.end]
	r.buf, r.owner = r.small, nil
	if len(rest) > len(r.small) {
		r.owner = newBuffer(len(rest))
		r.buf = r.owner.b
	}
	r.start, r.end = 0, copy(r.buf, rest)
	return line, owner
}

const minBuffer = 1 << minPooled

// shrinkBuffer goes back to the small buffer once a large one is no longer needed:
// a peer that sent one large line does not cost its memory for ever.
func (r *Reader) shrinkBuffer() {
	if r.owner == nil || r.end-r.start > len(r.small)/2 {
		return
	}
	n := copy(r.small, r.buf[r.start:r.end])
	r.owner.Release()
	r.buf, r.owner, r.start, r.end = r.small, nil, 0, n
}

// skipLine drops the rest of a line that is too long. A CR before its end is not
// counted, as in give.
func (r *Reader) skipLine() error {
	var s broken.Scanner
	size, cr := int64(0), int64(0)
	r.seen, r.skips = 0, false
	for {
		part := r.buf[r.start:r.end]
		i := bytes.IndexByte(part, '\n')
		if i >= 0 {
			part = part[:i]
		}
		s.Feed(part)
		size += int64(len(part))
		if n := len(part); n > 0 {
			cr = 0
			if part[n-1] == '\r' {
				cr = 1
			}
		}
		if i >= 0 {
			r.start += i + 1
			r.taken = false
			return tooLong(&s, r.limit, size-cr)
		}
		r.start, r.end = 0, 0
		if r.kept != nil {
			r.kept.Skip()
		}
		if r.err != nil {
			r.taken = false
			return tooLong(&s, r.limit, size-cr)
		}
		r.readOnce()
	}
}
