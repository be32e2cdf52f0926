package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"mcphub/internal/atomicfile"
	"mcphub/internal/ownership"
)

// Open begins a log in a folder, or goes on with one (Options.Continue), after
// closing what processes that are gone have left open there. Nothing runs
// before Run.
func Open(o Options) (*Log, error) {
	if o.MaxSize <= 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.Checkpoint <= 0 {
		o.Checkpoint = DefaultCheckpoint
	}
	o.retry, o.look = cmp.Or(o.retry, retryAfter), cmp.Or(o.look, lookEvery)
	if err := privateDir(o.Dir); err != nil {
		return nil, err
	}
	l := &Log{o: o, gone: make(chan struct{}), news: make(chan struct{}, 1)}
	err := withChain(o.Dir, func(c *chain) error {
		if err := c.recoverLogs(); err != nil {
			return err
		}
		return l.claimLock(c)
	})
	if err != nil {
		return nil, err
	}
	l.file = newLogFile(l.path, o.MaxSize)
	err = l.putOwn(KindOpen, func(b line) line {
		return b.addText("log", l.id).addText("program", o.Program).addNumber("pid", int64(os.Getpid()))
	})
	if err == nil {
		l.checkedAt = time.Now()
		err = l.syncAndMark(KindOpen, nil)
	}
	if err != nil {
		// The lock stays, so that the next process to open a log closes this one.
		return nil, errors.Join(err, l.releaseLog())
	}
	return l, nil
}

// maxShared bounds how many logs short processes keep: as many as run at the same
// time, and the ones that cannot be continued.
const maxShared = 256

// sharedName names the logs of short runs. They are the same in every folder, so
// that no one has to look for one.
func sharedName(i int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("mcphub:audit:shared:"+strconv.Itoa(i))).String()
}

// claimLock takes the lock of a log: of a new one, or of the first that may be continued.
// Locks are taken and removed only while the chain is locked.
func (l *Log) claimLock(c *chain) error {
	if l.o.Continue {
		for i := range maxShared {
			left := HasLock(l.o.Dir, sharedName(i))
			if err := l.holdLock(sharedName(i)); err != nil {
				continue // another short run has it
			}
			if at, ok := c.findResumable(l.id); ok {
				l.made, l.written, l.marked = at, at, at.number
				return nil
			}
			err := l.lock.Unlock()
			if !left { // otherwise the log could not be closed
				err = errors.Join(err, os.Remove(l.lock.Path()))
			}
			if err != nil {
				return err
			}
		}
	}
	l.made.head, l.written.head = zeros, zeros
	return l.holdLock(uuid.NewString())
}

func (l *Log) holdLock(id string) error {
	l.id, l.path = id, filepath.Join(l.o.Dir, id+LogEnding)
	l.lock = flock.New(filepath.Join(l.o.Dir, id+LockEnding), flock.SetPermissions(0o600))
	ok, err := l.lock.TryLock()
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot be locked: %w", l.lock.Path(), err)
	case !ok:
		return fmt.Errorf("%s is locked by another process", l.lock.Path())
	}
	return nil
}

// findResumable reports whether a log may be continued, and where it ends. Either it does
// not exist yet, or it ends where chain.jsonl says. A log that was tampered with is
// left as it is, for Verify.
func (c *chain) findResumable(id string) (link, bool) {
	known, err := c.lastOf(id)
	if err != nil {
		return link{}, false
	}
	file, err := atomicfile.Open(filepath.Join(c.dir, id+LogEnding), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return link{head: zeros}, known == nil
	}
	if err != nil {
		return link{}, false
	}
	end, err := c.logEnd(id, file)
	err = errors.Join(err, file.Close())
	return end.link, err == nil && known != nil && (known.Kind == KindClose || known.Kind == KindRecovered) &&
		known.At == end.number && known.Head == string(end.head[:]) && len(end.torn) == 0 && !end.unterminated
}

// lastOf finds the last line about the end of a log, or nil.
func (c *chain) lastOf(id string) (*Entry, error) {
	fi, err := c.file.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, fi.Size())
	if _, err := c.file.ReadAt(b, 0); err != nil {
		return nil, err
	}
	for {
		at := bytes.LastIndex(b, []byte(`,"log":"`+id+`"`))
		if at < 0 {
			return nil, nil
		}
		begin := bytes.LastIndexByte(b[:at], '\n') + 1
		text, _, _ := bytes.Cut(b[begin:], []byte{'\n'})
		if e, err := ReadLine(text); err != nil || e.Kind != KindRemoved {
			return &e, err
		}
		b = b[:begin]
	}
}

// privateDir makes the folder, and refuses one that others may write to.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fi, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case ownership.OthersWrite(fi):
		return fmt.Errorf("others may write to %s; take that right from them (chmod go-w)", dir)
	}
	return nil
}
