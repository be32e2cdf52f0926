package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"mcphub/internal/worker"
)

// NoHash is what the first line of a chain names as the hash before it.
const NoHash = "0000000000000000000000000000000000000000000000000000000000000000"

var zeros = [64]byte([]byte(NoHash))

// Defaults of Options.
const (
	DefaultMaxSize    = 64 // MiB
	DefaultCheckpoint = time.Minute
)

// maxPending bounds what waits for a file that cannot be written, in bytes.
const maxPending = 8 << 20

// lateness is how long outcomes wait at most until Run writes them.
const lateness = 200 * time.Millisecond

// retryAfter is how long a file that could not be written is left alone.
const retryAfter = 100 * time.Millisecond

// Options shape a Log.
type Options struct {
	Dir        string        // made if need be, 0700
	MaxSize    int           // MiB of one file before it is rotated; 0: DefaultMaxSize
	Checkpoint time.Duration // between checkpoints while there is news; 0: DefaultCheckpoint
	Program    string        // name and version, for the first line
	Continue   bool          // continue a log that such a process has ended: for short processes, of which there are many
	Copy       *Copy         // gets what the file has; nil: no one does
	// Write, where set, writes to the file: for tests of faults.
	Write func(file io.Writer, b []byte) (int, error)

	retry time.Duration // between attempts to write a file that cannot be; 0: retryAfter
	look  time.Duration // between two looks whether the file is still there; 0: lookEvery
}

// ErrClosed is returned by a Log that has ended, ErrGone by one whose file was
// taken away.
var (
	ErrClosed = errors.New("the audit log is closed")
	ErrGone   = errors.New("the audit log's file is gone: it, or its folder, was removed, moved, replaced or cut short")
)

// A Log is the record of one process.
type Log struct {
	id   string
	o    Options
	path string
	file *logFile
	lock *flock.Flock
	gone chan struct{} // closed when the file was found to be gone
	news chan struct{}

	writeMu sync.Mutex // held by the writer; taken before mu, under mu only by TryLock

	mu             sync.Mutex // guards what follows: the chain as far as it was made, which is ahead of the file by what is in pending
	stamp          stamp
	made           link   // the last line
	written        link   // the last that the file holds
	pending        []byte // lines that are not in the file yet
	spare          []byte // the buffer that was written last
	waiting        []chan error
	outcomes       []Outcome // that no line holds yet
	writeScheduled bool      // Run knows that there are some
	overdue        bool      // they have waited for long enough
	dropped        uint64    // lines dropped because too many waited
	checkedAt      time.Time // when the file was seen to be there; zero: the first line, which makes the file, was not written yet
	lastInfo       os.FileInfo
	failure        error // of the last write; nil: it went well
	failedAt       time.Time
	ended          error  // why nothing can be appended any more
	marked         uint64 // number of the last checkpoint
}

// A link of the chain: a line's number and its hash.
type link struct {
	number uint64
	head   [64]byte
}

// ID names the log; its files begin with it.
func (l *Log) ID() string { return l.id }

// putSoon makes a line that is written soon, without waiting for it.
func (l *Log) putSoon(kind string, r *Record) error {
	if err := l.lockForLine(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	l.addLine(kind, time.Now(), func(b line) line { return r.appendMembers(b, nil) })
	l.scheduleWrite()
	return nil
}

// PutCalls works like Put for calls of one session that were decided together:
// one line tells about all of them, unless there is but one. It does not keep
// calls.
func (l *Log) PutCalls(calls []CallRecord, now time.Time) (uint64, error) {
	if len(calls) == 1 {
		c := &calls[0]
		return l.Put(KindDecision, &Record{Session: c.Session, Principal: c.Principal, Client: c.Client, Request: c.Request, Trace: c.Trace, Arguments: c.Arguments}, c.Encoded, now)
	}
	if err := l.lockForLine(); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	l.addLine(KindDecision, now, func(b line) line { return membersOfCalls(b, calls) })
	return l.made.number, nil
}

// Put makes a line of what happens at now, and returns its number. Commit writes it, with
// others in one write.
func (l *Log) Put(kind string, r *Record, form EncodedDecision, now time.Time) (uint64, error) {
	if err := l.lockForLine(); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	l.addLine(kind, now, func(b line) line { return r.appendMembers(b, form) })
	return l.made.number, nil
}

// lockForLine takes mu if there is room for a line of a decision.
func (l *Log) lockForLine() error {
	l.mu.Lock()
	err := l.makeRoom()
	if err == nil {
		return nil
	}
	behind := l.ended == nil
	l.mu.Unlock()
	if behind {
		l.sweepPending() // there may be room on the disk again
	}
	return err
}

// makeRoom sees whether another line may be made. Where too much waits it counts the line as dropped, and returns why. Once there is
// room again it first makes the line that reports how many were. The caller holds mu.
func (l *Log) makeRoom() error {
	switch {
	case l.ended != nil:
		return l.ended
	case len(l.pending) > maxPending:
		l.dropped++
		return fmt.Errorf("too much waits for %s already, which cannot be written: %w", l.path, l.failure)
	case l.dropped > 0:
		lost := l.dropped
		l.dropped = 0
		l.addLine(KindLost, time.Now(), func(b line) line { return b.addNumber("lines", int64(lost)) })
	}
	return nil
}

// addLine adds a line to pending, of which body writes the members. The caller holds mu.
func (l *Log) addLine(kind string, now time.Time, body func(line) line) {
	from := len(l.pending)
	l.made.number++
	b := line(l.pending).startLine(l.made.number, &l.made.head, l.stamp.formatTime(now), kind)
	l.pending = body(b).finishLine(from, &l.made.head)
}

// Outcome records what became of a request. It does not wait: the outcome is written
// soon, with others in one line.
func (l *Log) Outcome(o Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return
	}
	if len(l.pending) > maxPending {
		l.dropped++
		return
	}
	l.outcomes = append(l.outcomes, o)
	if len(l.outcomes) >= maxOutcomes {
		l.putOutcomes()
	}
	l.scheduleWrite()
}

// scheduleWrite has Run write what is pending soon. The caller holds mu.
func (l *Log) scheduleWrite() {
	if l.writeScheduled {
		return
	}
	l.writeScheduled = true
	worker.Signal(l.news)
}

// maxOutcomes is how many outcomes are in one line.
const maxOutcomes = 128

// putOutcomes makes the line of the outcomes that wait. The caller holds mu.
func (l *Log) putOutcomes() {
	if len(l.outcomes) == 0 {
		return
	}
	l.addLine(KindOutcome, time.Now(), func(b line) line { return appendOutcomes(b, l.outcomes) })
	l.outcomes, l.overdue = l.outcomes[:0], false
}

// Commit returns when every line that was put before is with the operating system,
// or could not be written. Lines that could not are written with the next that can.
func (l *Log) Commit(ctx context.Context) error {
	l.mu.Lock()
	if l.written.number == l.made.number && !l.overdue {
		err := l.ended
		l.mu.Unlock()
		return err
	}
	if l.writeMu.TryLock() {
		l.mu.Unlock()
		return l.flushPending()
	}
	if err := l.ended; err != nil {
		l.mu.Unlock()
		return err
	}
	done := make(chan error, 1)
	l.waiting = append(l.waiting, done)
	l.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// putOwn adds a line of the log itself.
func (l *Log) putOwn(kind string, body func(line) line) error {
	l.mu.Lock()
	if err := l.makeRoom(); err != nil {
		l.mu.Unlock()
		return err
	}
	l.putOutcomes()
	l.addLine(kind, time.Now(), body)
	l.mu.Unlock()
	return l.Commit(context.Background())
}

// flushPending writes what is pending until no one waits, and unlocks writeMu, whose holder
// writes for all who came meanwhile. The error is the error of the first write, which has
// the caller's own line.
func (l *Log) flushPending() error {
	own := l.writePending()
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.writeMu.Unlock()
			l.mu.Unlock()
			return own
		}
		l.mu.Unlock()
		_ = l.writePending() // those who wait learn of an error
	}
}

// lookEvery is the least time between two looks whether the file is still there. What
// is written to a removed file is lost.
const lookEvery = 250 * time.Millisecond

// writePending writes what is pending, and wakes those who wait for it. While the
// file cannot be written, it tries only every retry.
func (l *Log) writePending() error {
	now := time.Now()
	l.mu.Lock()
	waiting := l.waiting
	l.waiting = nil
	err := l.ended
	if err == nil && l.failure != nil && now.Sub(l.failedAt) < l.o.retry {
		err = l.failure
	}
	if err != nil {
		l.mu.Unlock()
		return wakeAll(waiting, err)
	}
	if l.overdue {
		l.putOutcomes()
	}
	b, made := l.pending, l.made
	l.pending, l.spare = l.spare[:0], nil
	look := !l.checkedAt.IsZero() && now.Sub(l.checkedAt) >= l.o.look
	l.mu.Unlock()
	n := 0
	if look {
		err = l.checkFile(now)
	}
	if err == nil && len(b) > 0 {
		n, err = l.writeFile(b)
	}
	l.mu.Lock()
	l.failure = err
	if err != nil {
		// These lines keep their places in the chain, and are written with the next
		// from where the write ended: a disk that was full for a while leaves no gap.
		l.pending = append(append([]byte(nil), b[n:]...), l.pending...)
		l.failedAt = now
	} else {
		l.written = made
		if cap(b) <= 1<<20 {
			l.spare = b[:0]
		}
	}
	l.mu.Unlock()
	return wakeAll(waiting, err)
}

func wakeAll(waiting []chan error, err error) error {
	for _, w := range waiting {
		w <- err
	}
	return err
}

func (l *Log) writeFile(b []byte) (int, error) {
	n, err := l.o.sendBytes(l.file, b)
	if err != nil && n == 0 && l.cannotRotate(len(b)) {
		n, err = l.o.sendBytes(l.file, b)
	}
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	l.o.Copy.takeBytes(b[:n])
	return n, err
}

// checkFile checks that the file is in its place, and is the same file. The caller holds writeMu.
func (l *Log) checkFile(now time.Time) error {
	fi, err := os.Lstat(l.path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.isSameFile(fi) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.checkedAt = now
		return nil
	}
	l.ended = l.lostError()
	close(l.gone)
	return l.ended
}

// lostError reports that the file was taken away, and which.
func (l *Log) lostError() error { return fmt.Errorf("%w: %s", ErrGone, l.path) }

func (options *Options) sendBytes(file io.Writer, b []byte) (int, error) {
	if options.Write != nil {
		return options.Write(file, b)
	}
	return file.Write(b)
}

// Endings of file names in the folder.
const (
	LogEnding  = ".jsonl"
	LockEnding = ".lock"
	ChainName  = "chain.jsonl"
)

// LogOf returns which log a file of the folder belongs to.
func LogOf(name string) (id string, ok bool) {
	if !strings.HasSuffix(name, LogEnding) || len(name) < 36+len(LogEnding) || name == ChainName {
		return "", false
	}
	id = name[:36]
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id {
		return "", false
	}
	rest := name[36:]
	return id, rest == LogEnding || strings.HasPrefix(rest, "-")
}
