package trail

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"mcphub/hub/audit"
	"mcphub/internal/atomicfile"
)

// A Chain is what chain.jsonl says, for the one who removes old files.
type Chain struct {
	dir   string
	marks map[string][]mark
}

// ReadChain reads chain.jsonl. The error is of one that is not whole as well: what it says about logs proves nothing.
func ReadChain(dir string) (*Chain, error) {
	r := &Report{}
	marks, err := verifyChain(dir, r, nil)
	if err == nil && !r.IsWhole() {
		err = errors.New(r.Problems[0].String())
	}
	return &Chain{dir, marks}, err
}

// ErrUntold means that chain.jsonl does not know all lines of a file yet.
var ErrUntold = errors.New("chain.jsonl does not know its last line yet")

// CheckOldest checks the oldest file of a log as Verify does, since nothing proves it once it is removed.
func (c *Chain) CheckOldest(id, path string) (*audit.Removal, error) {
	r := &Report{}
	l := newCheckedLog(id, logState{[]string{path}, c.marks[id], audit.HasLock(c.dir, id)}, r)
	out := &audit.Removal{Log: id, Path: path}
	err := eachLine([]string{path}, func(_ string, n int, b []byte, whole bool) bool {
		l.checkLine(n, b, whole)
		if out.From == 0 {
			out.From, out.First = l.last.Number, l.last.Hash
		}
		return !l.broken
	})
	if err != nil {
		return nil, err
	}
	if l.finishFile(); !r.IsWhole() {
		return nil, errors.New(r.Problems[0].String())
	}
	if l.cut || l.unended || l.last.Number == 0 {
		return nil, fmt.Errorf("%s: it does not end with a line", path)
	}
	out.To, out.Last = l.last.Number, l.last.Hash
	told := uint64(0)
	for _, m := range l.marks {
		told = max(told, m.at)
	}
	if out.Stated = l.removed != nil && out.To <= l.removed.at; !out.Stated && out.To > told {
		return nil, fmt.Errorf("%s: %w", path, ErrUntold)
	}
	return out, nil
}

// NoteRemoved has the chain know of a removal.
func (c *Chain) NoteRemoved(r *audit.Removal) {
	if !r.Stated {
		c.marks[r.Log] = append(c.marks[r.Log], mark{kind: audit.KindRemoved, at: r.To, head: r.Last, from: r.From, first: r.First})
	}
}

// EndOf returns the size of a file of a log and the time of its last line; of a file without one, the time of its last change.
func EndOf(path string) (size int64, end time.Time, err error) {
	file, err := atomicfile.Open(path, 0)
	if err != nil {
		return 0, end, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return 0, end, err
	}
	return fi.Size(), lastTime(file, fi), nil
}

func lastTime(file *os.File, fi os.FileInfo) time.Time {
	buf := make([]byte, min(fi.Size(), backBlock))
	n, _ := file.ReadAt(buf, fi.Size()-int64(len(buf)))
	buf = bytes.TrimSuffix(buf[:n], []byte{'\n'})
	if h, ok := headOf(buf[bytes.LastIndexByte(buf, '\n')+1:]); ok {
		if at, err := time.Parse(audit.TimeFormat, string(h.at)); err == nil {
			return at
		}
	}
	return fi.ModTime()
}
