package trail

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"

	"mcphub/internal/atomicfile"
)

const (
	// forwardBlock is how many bytes a cursor reads at a time.
	forwardBlock = 64 << 10
	// longestLine is the most bytes of a line that is read; a record's own are far shorter.
	longestLine = 4 << 20
)

// A place is where a line begins: in which file of a log, and at which offset.
type place struct {
	file   int
	offset int64
}

// isFarFrom reports whether it costs less to go to a place than to read on to it from another.
func (p place) isFarFrom(o place) bool { return p.file != o.file || p.offset > o.offset+forwardBlock }

// A cursor reads the files of one log forward, as one. It keeps one block and one line.
type cursor struct {
	paths []string
	at    place // of the line that next returns
	took  func(bytes int)

	now  place // where reading goes on
	file *os.File
	in   *bufio.Reader
	line []byte // one that is longer than the block, or goes on in the next file
	far  bool   // it is longer than any line: it is passed over
}

func newCursor(paths []string, from place, took func(int)) *cursor {
	return &cursor{paths: paths, at: from, now: from, took: took}
}

// Read reads from the open file, and counts what it takes.
func (c *cursor) Read(b []byte) (int, error) {
	n, err := c.file.Read(b)
	c.took(n)
	return n, err
}

// next returns the next whole line without its end, until it is called again. The error is io.EOF if there
// is none.
func (c *cursor) next() ([]byte, error) {
	c.line, c.far = c.line[:0], false
	for c.at = c.now; ; {
		if c.file == nil {
			if c.now.file >= len(c.paths) {
				return nil, io.EOF // what stands behind the last line end is no line yet
			}
			if err := c.openFile(); err != nil {
				return nil, err
			}
			continue
		}
		b, err := c.in.ReadSlice('\n')
		c.now.offset += int64(len(b))
		switch {
		case err == nil && c.far:
			c.line, c.far, c.at = c.line[:0], false, c.now
		case err == nil && len(c.line) == 0:
			return b[:len(b)-1], nil
		case err == nil:
			c.line = append(c.line, b...)
			return c.line[:len(c.line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			c.keepPart(b)
		case errors.Is(err, io.EOF):
			c.keepPart(b)
			c.closeFile()
			c.now = place{c.now.file + 1, 0}
		default:
			return nil, err
		}
	}
}

// keepPart keeps the first part of a line.
func (c *cursor) keepPart(b []byte) {
	if c.far = c.far || len(c.line)+len(b) > longestLine; c.far {
		c.line = nil
		return
	}
	c.line = append(c.line, b...)
}

// openFile opens the file that reading goes on in. One that is gone by now is passed over.
func (c *cursor) openFile() error {
	file, err := atomicfile.Open(c.paths[c.now.file], 0)
	if errors.Is(err, fs.ErrNotExist) {
		c.now = place{c.now.file + 1, 0}
		return nil
	}
	if err == nil && c.now.offset > 0 {
		_, err = file.Seek(c.now.offset, io.SeekStart)
	}
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return err
	}
	if c.file = file; c.in == nil {
		c.in = bufio.NewReaderSize(c, forwardBlock)
	} else {
		c.in.Reset(c)
	}
	return nil
}

// goTo has the cursor go on at another place of the same log.
func (c *cursor) goTo(p place) {
	c.closeFile()
	c.now = p
}

func (c *cursor) closeFile() {
	if c.file != nil {
		_ = c.file.Close()
		c.file = nil
	}
}

// placeBack returns the place so many bytes before another.
func placeBack(paths []string, p place, most int64) place {
	for {
		if p.offset >= most {
			return place{p.file, p.offset - most}
		}
		most -= p.offset
		if p.file == 0 {
			return place{}
		}
		fi, err := os.Stat(paths[p.file-1])
		if err != nil {
			return place{p.file, 0}
		}
		p = place{p.file - 1, fi.Size()}
	}
}
