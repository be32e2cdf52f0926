package audit

import (
	"context"
	"errors"
	"os"
	"time"
)

// Run writes outcomes and checkpoints until ctx ends. Then it closes the log, and
// later Appends fail. It returns ErrGone before that if the file was taken away.
func (l *Log) Run(ctx context.Context) error {
	tick := time.NewTicker(l.o.Checkpoint)
	defer tick.Stop()
	var late <-chan time.Time
	for {
		select {
		case <-l.news:
			late = time.After(lateness)
		case <-late:
			late = nil
			l.mu.Lock()
			l.writeScheduled, l.overdue = false, true
			l.mu.Unlock()
			l.sweepPending()
		case <-tick.C:
			l.mu.Lock()
			l.overdue = true
			l.mu.Unlock()
			l.sweepPending()
			// If it fails, the next one tries again. The one who appends learns of the file itself.
			_ = l.writeCheckpoint()
		case <-l.gone:
			_ = l.noteGone() // the folder may be gone as well
			return errors.Join(l.lostError(), l.releaseLog())
		case <-ctx.Done():
			return l.closeLog()
		}
	}
}

// sweepPending writes lines that no caller waits for.
func (l *Log) sweepPending() {
	if l.writeMu.TryLock() {
		_ = l.flushPending()
	}
}

// writeCheckpoint writes the state of the log into the folder's chain, if it
// has changed, with everything before on the disk.
func (l *Log) writeCheckpoint() error {
	l.mu.Lock()
	news := l.written.number != l.marked
	l.mu.Unlock()
	if !news {
		return nil
	}
	return l.syncAndMark(KindCheckpoint, nil)
}

// noteGone writes into the folder's chain how far a log went whose file was
// taken away, if that chain still knows the log.
func (l *Log) noteGone() error {
	l.mu.Lock()
	at := l.written
	l.mu.Unlock()
	if _, err := os.Lstat(l.o.Dir); err != nil {
		return err
	}
	return withChain(l.o.Dir, func(c *chain) error {
		if known, err := c.lastOf(l.id); known == nil || err != nil {
			return err
		}
		return c.addLine(KindCheckpoint, l.id, at.number, string(at.head[:]))
	})
}

// syncAndMark syncs the log to the disk, and then writes a line about it to the folder's
// chain. then, if not nil, is called while the chain is still locked.
func (l *Log) syncAndMark(kind string, then func() error) error {
	l.mu.Lock()
	at := l.written
	l.mu.Unlock()
	if kind != KindOpen { // a log that is just opened has nothing to lose yet
		if err := syncFile(l.path); err != nil {
			return err
		}
	}
	err := withChain(l.o.Dir, func(c *chain) error {
		err := c.addLine(kind, l.id, at.number, string(at.head[:]))
		if err == nil && kind != KindOpen {
			err = c.file.Sync()
		}
		if err == nil && then != nil {
			err = then()
		}
		return err
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.marked = at.number
	l.mu.Unlock()
	return nil
}

// syncFile syncs a file by a descriptor of its own, so that no write waits for it.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// closeLog writes the last line and lets the file go.
func (l *Log) closeLog() error {
	l.mu.Lock()
	l.failedAt = time.Time{} // it is the last attempt, whenever the one before was
	l.mu.Unlock()
	err := l.putOwn(KindClose, func(b line) line { return b })
	l.endLog(ErrClosed)
	if err == nil {
		released := false
		err = l.syncAndMark(KindClose, func() error {
			released = true
			return errors.Join(l.releaseLog(), os.Remove(l.lock.Path()))
		})
		if released {
			return err
		}
	}
	return errors.Join(err, l.releaseLog()) // the lock stays, so that the next hub closes it
}

// endLog refuses further appends, and wakes those who wait.
func (l *Log) endLog(why error) {
	l.writeMu.Lock()
	l.mu.Lock()
	l.ended = why
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	l.writeMu.Unlock()
	_ = wakeAll(waiting, why)
}

// releaseLog closes the file and unlocks the log.
func (l *Log) releaseLog() error { return errors.Join(l.file.Close(), l.lock.Unlock()) }
