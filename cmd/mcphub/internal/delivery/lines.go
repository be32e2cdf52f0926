package delivery

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"mcphub/hub/audit"
	"mcphub/internal/atomicfile"
)

// logReader reads the lines of one log, as it grows and is rotated.
type logReader struct {
	dir, id string
	number  uint64 // of the line that was read last
	file    *os.File
	in      *bufio.Reader
	rest    []byte // the begin of a line that is not whole yet
}

// next returns the next line without its end. The error is io.EOF if there is none yet.
func (r *logReader) next() (line []byte, e audit.Entry, err error) {
	for reopened := false; ; {
		if r.file == nil {
			if err := r.open(); err != nil {
				return nil, e, err
			}
		}
		b, err := r.in.ReadBytes('\n')
		if r.rest = append(r.rest, b...); err == nil {
			line, r.rest = r.rest[:len(r.rest)-1], nil
			if e, err := audit.WholeLine(line); err == nil && e.Number > r.number {
				r.number = e.Number
				return line, e, nil
			}
			continue
		}
		if !errors.Is(err, io.EOF) || reopened || !r.isRotated() {
			return nil, e, err
		}
		reopened = true
		r.closeFile()
	}
}

// isRotated reports whether the log is written to another file by now.
func (r *logReader) isRotated() bool {
	now, err := os.Stat(filepath.Join(r.dir, r.id+audit.LogEnding))
	if err != nil {
		return false
	}
	had, err := r.file.Stat()
	return err == nil && !os.SameFile(had, now)
}

// open opens the file that has the next line: the last one that begins with it or before it, else the first.
func (r *logReader) open() error {
	files, err := audit.LogFiles(r.dir)
	if err != nil {
		return err
	}
	for i, path := range files[r.id] {
		file, err := atomicfile.Open(path, 0)
		if err != nil {
			return err
		}
		in := bufio.NewReader(file)
		head, _ := in.Peek(headSize)
		if number, ok := audit.HeadNumber(head); i > 0 && (!ok || number > r.number+1) {
			return file.Close()
		}
		r.closeFile()
		r.file, r.in = file, in
	}
	if r.file == nil {
		return io.EOF
	}
	return nil
}

// headSize is how far into a line its number stands, in bytes.
const headSize = 32

func (r *logReader) closeFile() {
	if r.file != nil {
		_ = r.file.Close()
		r.file, r.in, r.rest = nil, nil, nil
	}
}
