package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/DeRuina/timberjack"
	"github.com/gofrs/flock"
	"github.com/google/uuid"
)

// zero is what the first line of a chain names as the hash before it.
const zero = "0000000000000000000000000000000000000000000000000000000000000000"

// Defaults of Options.
const (
	DefaultMaxSize    = 64 // MiB
	DefaultCheckpoint = time.Minute
)

// maxPending bounds what waits for a file that cannot be written, in bytes.
const maxPending = 8 << 20

// lateness is how long what was left to Run waits to be written.
const lateness = 200 * time.Millisecond

// Options shape a Log.
type Options struct {
	Dir        string        // made if need be, 0700
	MaxSize    int           // MiB of one file before it is rotated; 0: DefaultMaxSize
	Checkpoint time.Duration // between checkpoints while there is news; 0: DefaultCheckpoint
	Program    string        // name and version, for the first line
	// Write, where set, stands in the place of the file: for faults.
	Write func(file io.Writer, b []byte) (int, error)
}

var errBehind = errors.New("audit: the log cannot be written, and too much waits for it already")

// ErrClosed is returned by a Log that has ended.
var ErrClosed = errors.New("the audit log is closed")

// A Log is the record of one process.
type Log struct {
	id   string
	o    Options
	file *timberjack.Logger
	lock *flock.Flock

	mu      sync.Mutex
	tab     logTables
	turn    sync.Mutex // held by who writes; taken before mu, never under it
	news    chan struct{}
	dropped atomic.Uint64 // outcomes that there was no room for
}

// logTables is what Log.mu guards: the chain as far as it was made, which is
// ahead of the file by what is in pending.
type logTables struct {
	number  uint64 // of the last line
	head    string // its hash
	pending []byte // lines that are not in the file yet
	spare   []byte // the buffer that was written last
	waiting []chan error
	closed  bool
	marked  uint64 // number of the last checkpoint
}

// Open begins a log in a folder, after closing what processes that are gone
// have left open there. Nothing runs before Run.
func Open(o Options) (*Log, error) {
	if o.MaxSize <= 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.Checkpoint <= 0 {
		o.Checkpoint = DefaultCheckpoint
	}
	if err := privateDir(o.Dir); err != nil {
		return nil, err
	}
	l := &Log{id: uuid.NewString(), o: o, news: make(chan struct{}, 1)}
	l.lock = flock.New(filepath.Join(o.Dir, l.id+lockEnding), flock.SetPermissions(0o600))
	err := withChain(o.Dir, func(c *chain) error {
		if err := c.recover(); err != nil {
			return err
		}
		if ok, err := l.lock.TryLock(); err != nil || !ok {
			return fmt.Errorf("%s cannot be locked: %w", l.lock.Path(), err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l.file = &timberjack.Logger{Filename: filepath.Join(o.Dir, l.id+logEnding), MaxSize: o.MaxSize, FileMode: 0o600}
	l.tab.head = zero
	err = l.write(context.Background(), KindOpen, func(b line) line { return b.text("program", o.Program).number("pid", uint64(os.Getpid())) })
	if err == nil {
		err = l.mark(KindOpen)
	}
	if err != nil {
		return nil, errors.Join(err, l.file.Close(), l.lock.Unlock(), os.Remove(l.lock.Path()))
	}
	return l, nil
}

// privateDir makes the folder, and refuses one that others may write to.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	fi, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("audit: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("audit: %s is not a directory", dir)
	case othersWrite(fi):
		return fmt.Errorf("audit: others may write to %s; take that right from them (chmod go-w)", dir)
	}
	return nil
}

// ID names the log; its files begin with it.
func (l *Log) ID() string { return l.id }

// Append writes a decision and returns the number of its line. When it returns
// without an error the line is with the operating system. It waits for the
// writes of others, as long as ctx lasts.
func (l *Log) Append(ctx context.Context, r *Record) (uint64, error) {
	return l.append(ctx, KindDecision, r.body)
}

// Question writes that a human was asked about a decision, or what the answer was.
func (l *Log) Question(ctx context.Context, r *Record) (uint64, error) {
	return l.append(ctx, KindQuestion, r.body)
}

// Outcome notes what became of a call. It does not wait: the line is written
// with the next that somebody waits for, or soon.
func (l *Log) Outcome(o *Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tab.closed || len(l.tab.pending) > maxPending {
		l.dropped.Add(1)
		return
	}
	l.add(KindOutcome, o.body)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// add makes a line and its place in the chain. The caller holds mu.
func (l *Log) add(kind string, body func(line) line) {
	from := len(l.tab.pending)
	l.tab.number++
	b := line(l.tab.pending).begin(l.id, l.tab.number, l.tab.head, time.Now(), kind)
	b = body(b)
	for i := from; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' ' // between the tokens of a raw value
		}
	}
	b, l.tab.head = b.seal(from)
	l.tab.pending = b
}

func (l *Log) append(ctx context.Context, kind string, body func(line) line) (uint64, error) {
	l.mu.Lock()
	if l.tab.closed {
		l.mu.Unlock()
		return 0, ErrClosed
	}
	if len(l.tab.pending) > maxPending {
		l.mu.Unlock()
		l.sweep()
		return 0, errBehind
	}
	l.add(kind, body)
	number := l.tab.number
	if l.turn.TryLock() {
		l.mu.Unlock()
		err := l.flush()
		return number, err
	}
	done := make(chan error, 1)
	l.tab.waiting = append(l.tab.waiting, done)
	l.mu.Unlock()
	select {
	case err := <-done:
		return number, err
	case <-ctx.Done():
		return number, context.Cause(ctx)
	}
}

// write is append for lines of the log itself.
func (l *Log) write(ctx context.Context, kind string, body func(line) line) error {
	_, err := l.append(ctx, kind, body)
	return err
}

// flush writes what is pending, round after round, until nothing is, and ends
// the turn: who holds it writes for all who came meanwhile. The error is that
// of the first round, which holds the caller's own line.
func (l *Log) flush() error {
	var own error
	for first := true; ; first = false {
		l.mu.Lock()
		if len(l.tab.pending) == 0 || !first && len(l.tab.waiting) == 0 {
			// Where a write failed, what is left waits for the next to come.
			l.turn.Unlock()
			l.mu.Unlock()
			return own
		}
		l.mu.Unlock()
		if err := l.round(); first {
			own = err
		}
	}
}

// round writes what is pending, and tells who waits for it.
func (l *Log) round() error {
	l.mu.Lock()
	b, waiting := l.tab.pending, l.tab.waiting
	l.tab.pending, l.tab.spare, l.tab.waiting = l.tab.spare[:0], nil, nil
	l.mu.Unlock()
	if len(b) == 0 {
		return nil
	}
	err := l.out(b)
	if cap(b) <= 1<<20 {
		l.mu.Lock()
		l.tab.spare = b[:0]
		l.mu.Unlock()
	}
	for _, w := range waiting {
		w <- err
	}
	return err
}

// out writes lines to the file. Lines that could not be written keep their
// places in the chain, and are written with the next from where the write ended:
// a disk that was full for a while leaves no gap.
func (l *Log) out(b []byte) error {
	n, err := l.o.send(l.file, b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tab.pending = append(append([]byte(nil), b[n:]...), l.tab.pending...)
	return fmt.Errorf("audit: %w", err)
}

func (o *Options) send(file io.Writer, b []byte) (int, error) {
	if o.Write != nil {
		return o.Write(file, b)
	}
	return file.Write(b)
}

// Run writes what was left to it, and checkpoints, until ctx ends; then it
// closes the log. Later Appends fail.
func (l *Log) Run(ctx context.Context) error {
	tick := time.NewTicker(l.o.Checkpoint)
	defer tick.Stop()
	var late <-chan time.Time
	for {
		select {
		case <-l.news:
			if late == nil {
				late = time.After(lateness)
			}
		case <-late:
			late = nil
			l.sweep()
		case <-tick.C:
			l.sweep()
			if err := l.checkpoint(); err != nil {
				// The next one tries again; who appends is told of the file itself.
				continue
			}
		case <-ctx.Done():
			return l.close()
		}
	}
}

// sweep writes what nobody waits for.
func (l *Log) sweep() {
	if l.turn.TryLock() {
		_ = l.flush()
	}
}

// checkpoint notes the state of the log in the folder's chain, where it has
// changed, with everything before on the disk.
func (l *Log) checkpoint() error {
	l.mu.Lock()
	news := l.tab.number != l.tab.marked
	l.mu.Unlock()
	if !news {
		return nil
	}
	return l.mark(KindCheckpoint)
}

// mark writes a line about this log to the folder's chain, after what it tells
// of is on the disk.
func (l *Log) mark(kind string) error {
	l.turn.Lock()
	err := l.round()
	l.mu.Lock()
	number, head := l.tab.number, l.tab.head
	clean := len(l.tab.pending) == 0
	l.mu.Unlock()
	if err == nil && clean && kind != KindOpen {
		err = l.file.Sync() // opening holds up nobody: there is nothing to lose yet
	}
	_ = l.flush() // who came meanwhile waits for it, and it ends the turn
	switch {
	case err != nil:
		return err
	case !clean:
		return nil // busy: the next one
	}
	err = withChain(l.o.Dir, func(c *chain) error {
		err := c.add(kind, l.id, number, head)
		if err == nil && kind != KindOpen {
			err = c.file.Sync()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	l.mu.Lock()
	l.tab.marked = number
	l.mu.Unlock()
	return nil
}

// close writes the last line and lets the file go.
func (l *Log) close() error {
	err := l.write(context.Background(), KindClose, func(b line) line { return b })
	l.turn.Lock()
	l.mu.Lock()
	l.tab.closed = true
	waiting := l.tab.waiting
	l.tab.waiting = nil
	l.mu.Unlock()
	l.turn.Unlock()
	for _, w := range waiting {
		w <- ErrClosed
	}
	if err == nil {
		err = l.mark(KindClose)
	}
	err = errors.Join(err, l.file.Close(), l.lock.Unlock())
	if err == nil {
		err = os.Remove(l.lock.Path())
	}
	return err
}

// Endings of file names in the folder.
const (
	logEnding  = ".jsonl"
	lockEnding = ".lock"
	chainName  = "chain.jsonl"
)

// logOf tells which log a file of the folder belongs to.
func logOf(name string) (id string, ok bool) {
	if !strings.HasSuffix(name, logEnding) || len(name) < 36+len(logEnding) || name == chainName {
		return "", false
	}
	id = name[:36]
	if _, err := uuid.Parse(id); err != nil {
		return "", false
	}
	rest := name[36:]
	return id, rest == logEnding || strings.HasPrefix(rest, "-")
}
