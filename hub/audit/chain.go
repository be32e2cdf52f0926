package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"mcphub/internal/atomicfile"
)

// KindRecovered is the line of chain.jsonl for a log whose process ended
// without closing it.
const KindRecovered = "recovered"

// chainWait bounds the waiting for other processes of the same user.
const chainWait = 10 * time.Second

// chain is chain.jsonl while this process alone may write to it.
type chain struct {
	dir   string
	file  *os.File
	at    link
	stamp stamp
}

// withChain runs f while no other process may use the chain of the folder.
func withChain(dir string, f func(*chain) error) error {
	lock := flock.New(filepath.Join(dir, "chain"+LockEnding), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeoutCause(context.Background(), chainWait, errors.New("another process holds it"))
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil || !ok {
		return fmt.Errorf("%s cannot be locked: %w", lock.Path(), errors.Join(err, context.Cause(ctx)))
	}
	defer func() { _ = lock.Unlock() }()
	file, err := os.OpenFile(filepath.Join(dir, ChainName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	c := &chain{dir: dir, file: file}
	err = c.findEnd()
	if err == nil {
		err = f(c)
	}
	return errors.Join(err, file.Close())
}

// findEnd reads the end of the chain.
func (c *chain) findEnd() error {
	end, err := lastLine(c.file)
	if err != nil {
		return err
	}
	c.at = end.link
	switch {
	case len(end.torn) > 0:
		return c.writeLine(end.closingLine(c.stamp.formatTime(time.Now())), 1)
	case end.unterminated:
		err = appendAll(c.file, []byte{'\n'})
	}
	return err
}

// appendAll writes all of b to the end of a file, or nothing: a disk that is full
// must not leave half a line that no one can close.
func appendAll(f *os.File, b []byte) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err != nil {
		err = errors.Join(err, os.Truncate(f.Name(), fi.Size()))
	}
	return err
}

// addLine writes one line about a log.
func (c *chain) addLine(kind, log string, at uint64, head string) error {
	b := line(nil).startLine(c.at.number+1, &c.at.head, c.stamp.formatTime(time.Now()), kind)
	return c.writeLine(b.addText("log", log).addNumber("at", int64(at)).addText("head", head), 0)
}

// writeLine writes a line whose hash covers it from an offset on.
func (c *chain) writeLine(b line, from int) error {
	head := c.at.head
	if err := appendAll(c.file, b.finishLine(from, &head)); err != nil {
		return err
	}
	c.at = link{c.at.number + 1, head}
	return nil
}

// recoverLogs closes the logs of processes that ended without closing them. Such a
// process leaves a lock that no one holds.
func (c *chain) recoverLogs() error {
	locks, err := fs.Glob(os.DirFS(c.dir), "*"+LockEnding)
	if err != nil {
		return err
	}
	for _, name := range locks {
		id := strings.TrimSuffix(name, LockEnding)
		if _, ok := LogOf(id + LogEnding); !ok {
			continue
		}
		path := filepath.Join(c.dir, name)
		lock := flock.New(path, flock.SetPermissions(0o600))
		if held, err := lock.TryLock(); err != nil || !held {
			continue // it lives
		}
		err := c.closeLog(id)
		err = errors.Join(err, lock.Unlock()) // before it is removed: no system but Unix removes an open file
		if errors.Is(err, errUnreadable) {
			continue // Verify reports it. One spoilt log must not keep others from being written
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return fmt.Errorf("the log %s of a process that is gone cannot be closed: %w", id, err)
		}
	}
	return nil
}

// errUnreadable is the reason why a log cannot be closed.
var errUnreadable = errors.New("its end cannot be read")

// closeLog writes the end of a log whose process is gone. Before that it
// closes a line that was cut off. A log without a whole line is removed: no
// decision rests on it.
func (c *chain) closeLog(id string) error {
	file, err := os.OpenFile(filepath.Join(c.dir, id+LogEnding), os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it ended before its first line
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	end, err := c.logEnd(id, file)
	switch {
	case err != nil:
		return errors.Join(fmt.Errorf("%w: %w", errUnreadable, err), file.Close())
	case end.number == 0:
		return errors.Join(file.Close(), os.Remove(file.Name()))
	case end.unterminated:
		err = appendAll(file, []byte{'\n'})
	case len(end.torn) > 0:
		b := end.closingLine(c.stamp.formatTime(time.Now()))
		end.number++
		err = appendAll(file, b.finishLine(1, &end.head))
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := c.addLine(KindRecovered, id, end.number, string(end.head[:])); err != nil {
		return err
	}
	return c.file.Sync() // the lock goes after it, and not before
}

// logEnd is lastLine for the file that a log was written to last. If that
// holds no whole line, the log ends in one that was rotated out before.
func (c *chain) logEnd(id string, file *os.File) (ending, error) {
	end, err := lastLine(file)
	if err != nil || end.number > 0 {
		return end, err
	}
	all, err := LogFiles(c.dir)
	if err != nil {
		return end, err
	}
	paths := all[id]
	if len(paths) < 2 {
		return end, nil
	}
	before, err := atomicfile.Open(paths[len(paths)-2], 0) // if it holds none, no file before it does: such files come first
	if err != nil {
		return end, err
	}
	e, err := lastLine(before)
	if err = errors.Join(err, before.Close()); err != nil {
		return end, err
	}
	end = ending{link: e.link, torn: append(e.torn, end.torn...)}
	end.completeLine()
	return end, nil
}

// ending is where a file of lines ends.
type ending struct {
	link
	torn         []byte // what stands behind the last line end
	unterminated bool   // the last line lacks nothing but that
}

// completeLine takes the bytes behind the last line end as a line, if only its line end
// is missing.
func (e *ending) completeLine() {
	if entry, err := ReadLine(e.torn); err == nil {
		e.link, e.torn, e.unterminated = link{entry.Number, [64]byte([]byte(entry.Hash))}, nil, true
	}
}

// closingLine returns the line that closes a torn one. It begins with the line end
// that was missing, which its hash does not cover.
func (e *ending) closingLine(at []byte) line {
	sum := sha256.Sum256(e.torn)
	b := line("\n").startLine(e.number+1, &e.head, at, KindTorn)
	return b.addNumber("bytes", int64(len(e.torn))).addText("sha256", hex.EncodeToString(sum[:]))
}

// lastLine finds the end of a file of lines, reading backwards from its end.
func lastLine(f *os.File) (ending, error) {
	fi, err := f.Stat()
	if err != nil {
		return ending{}, err
	}
	e := ending{link: link{head: zeros}}
	for span := int64(64 << 10); ; span *= 4 {
		from := max(fi.Size()-span, 0)
		b := make([]byte, fi.Size()-from)
		if _, err := f.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return e, err
		}
		last := bytes.LastIndexByte(b, '\n')
		if last < 0 && from > 0 {
			continue
		}
		e.torn = b[last+1:]
		if last < 0 {
			e.completeLine()
			return e, nil
		}
		begin := bytes.LastIndexByte(b[:last], '\n')
		if begin < 0 && from > 0 {
			continue
		}
		entry, err := ReadLine(b[begin+1 : last])
		if err != nil {
			return e, fmt.Errorf("the last line of %s: %w", f.Name(), err)
		}
		e.number, e.head = entry.Number, [64]byte([]byte(entry.Hash))
		e.completeLine()
		return e, nil
	}
}
