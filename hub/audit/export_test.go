package audit

import (
	"context"
	"math"
	"os"
	"time"
)

// What tests in package audit_test reach of the inside. They need package trail, which
// imports this one.

const (
	MaxDepth    = maxDepth
	MaxTogether = maxGrouped
)

var ErrTooDeep = errTooDeep

// RetryAtOnce has a log try again at once to write a file that could not be written.
func RetryAtOnce(o Options) Options { o.retry = 1; return o }

// RetryNever has a log leave a file alone that could not be written, until it is closed.
func RetryNever(o Options) Options { o.retry = math.MaxInt64; return o }

// LookAtOnce has each write look first whether the file is there.
func LookAtOnce(o Options) Options { o.look = 1; return o }

// PutWhole writes all of b to the end of a file, or nothing.
func PutWhole(f *os.File, b []byte) error { return appendAll(f, b) }

// Append writes a decision and returns the number of its line.
func (l *Log) Append(ctx context.Context, r *Record) (uint64, error) {
	n, err := l.Put(KindDecision, r, nil, time.Now())
	if err == nil {
		err = l.Commit(ctx)
	}
	return n, err
}

func (l *Log) Release() error    { return l.releaseLog() }
func (l *Log) CloseNow() error   { return l.closeLog() }
func (l *Log) Checkpoint() error { return l.writeCheckpoint() }
func (l *Log) Sweep()            { l.sweepPending() }
func (l *Log) Path() string      { return l.path }
func (r *Recorder) Log() *Log    { return r.log.Load() }

// See has the log look at its file now.
func (l *Log) See() error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	return l.checkFile(time.Now())
}

// Overlook makes it time to look at the file again.
func (l *Log) Overlook() {
	l.mu.Lock()
	l.checkedAt = time.Unix(1, 0)
	l.mu.Unlock()
}

// Line returns a Record as it is written.
func (record *Record) Line() []byte { return record.appendMembers(nil, nil) }
