package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"mcphub/hub/audit"
	"mcphub/internal/atomicfile"
	"mcphub/internal/worker"
)

// A Collector takes the lines of the record.
type Collector interface {
	Name() string        // part of the names of a Sender's files, and of its messages
	Destination() string // where lines are sent to: a collector with another Destination gets all lines
	// Connect begins to deliver. Without an error the Link must be closed.
	Connect(ctx context.Context) (Link, error)
}

// A Link is one connection to a Collector.
type Link interface {
	// Put takes a line, and may send it at once.
	Put(log string, e *audit.Entry, line []byte) error
	// Flush sends what was put.
	Flush(ctx context.Context) (Receipt, error)
	// Ended gets the error by which the collector ends the Link; a nil channel: it never does so by itself.
	Ended() <-chan error
	// Finish informs the collector that no more comes, and reports whether it has confirmed all.
	Finish() (confirmed bool)
	Close()
}

// A Receipt is what a collector answers to what was sent.
type Receipt struct {
	Confirmed bool   // it has what it has not refused
	Refused   uint64 // lines that it will never take
	Why       string // it has refused them
}

// A Sender sends the logs of a folder.
type Sender struct {
	Dir  string
	To   Collector
	Lost func(lines uint64) // is given the number of lines that the collector will not get; nil: no one is
	Log  zerolog.Logger

	wait   time.Duration     // after the first failure; 0: firstWait
	sure   map[string]uint64 // what counts as delivered: of each log the number of a line
	goesOn bool              // the collector was sent lines before, so what is missing is lost
	told   string            // the last error
}

// Times and sizes of a Sender.
const (
	lookEvery   = 500 * time.Millisecond // for new lines
	settleAfter = 3 * time.Second        // a line that no one confirms counts as delivered if the connection has lasted so long after it
	sendTime    = 10 * time.Second       // for a connection, and for a write
	firstWait   = time.Second            // after a failure
	mostWait    = time.Minute
	lockWait    = 10 * time.Second // until the lock of another hub is tried again
	endTime     = time.Second      // for the collector to take the last lines
	batchLines  = 512              // that are sent at a time
	batchBytes  = 1 << 20
)

// IsNotable reports whether a line of a kind is of more than ordinary weight.
func IsNotable(kind string) bool {
	return kind == audit.KindRefusal || kind == audit.KindRejection || kind == audit.KindLost
}

func (s *Sender) stateFile() string { return filepath.Join(s.Dir, s.To.Name()+".json") }

// Run sends what there is and what comes until ctx ends, and then what is left, as far as there is time.
func (s *Sender) Run(ctx context.Context) {
	lock := flock.New(filepath.Join(s.Dir, s.To.Name()+audit.LockEnding), flock.SetPermissions(0o600))
	defer lock.Close()
	s.wait = cmp.Or(s.wait, firstWait)
	for wait := s.wait; ; {
		if ok, err := lock.TryLock(); !ok {
			s.noteFailure(err)
			if !worker.Sleep(ctx, lockWait) {
				return
			}
			continue
		}
		began := time.Now()
		err := s.deliver(ctx)
		if err == nil {
			return
		}
		s.noteFailure(err)
		if time.Since(began) > mostWait {
			wait = s.wait
		}
		if !worker.Sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, mostWait)
	}
}

func (s *Sender) noteFailure(err error) {
	if err == nil || err.Error() == s.told {
		return
	}
	s.told = err.Error()
	s.Log.Error().Err(err).Str("collector", s.To.Name()).Str("address", s.To.Destination()).Msg("the audit log is not sent to the collector; it is tried again, and nothing is lost: the file has it")
}

func (s *Sender) noteSuccess() {
	if s.told == "" {
		return
	}
	s.told = ""
	s.Log.Warn().Str("collector", s.To.Name()).Str("address", s.To.Destination()).Msg("the audit log is sent to the collector again")
}

// noteLost counts lines that the collector will not get.
func (s *Sender) noteLost(lines uint64, why string) {
	if lines == 0 {
		return
	}
	if s.Lost != nil {
		s.Lost(lines)
	}
	s.Log.Error().Uint64("lines", lines).Str("why", why).Str("collector", s.To.Name()).Str("address", s.To.Destination()).Msg("lines of the audit log are missing at the collector")
}

// sent is how far the logs were sent at a moment.
type sent struct {
	at   time.Time
	upTo map[string]uint64
}

// deliver sends on one connection until that breaks. nil: ctx has ended, and all was sent for which there was time.
func (s *Sender) deliver(ctx context.Context) error {
	if err := s.readState(); err != nil {
		return err
	}
	link, err := s.To.Connect(ctx)
	if err != nil {
		return err
	}
	defer link.Close()
	b := &batch{s: s, link: link, logs: map[string]*logReader{}}
	defer b.closeLogs()
	sending, stop := lingering(ctx)
	defer stop()
	for {
		last := ctx.Err() != nil
		more, err := b.sendNews(sending)
		if err == nil {
			err = b.settle()
		}
		switch {
		case err != nil:
			return err
		case more && sending.Err() == nil:
			continue
		case last && !more && link.Finish():
			return s.writeState(numbersOf(b.logs))
		case last:
			return nil
		}
		select {
		case <-time.After(lookEvery):
		case err := <-link.Ended():
			return fmt.Errorf("the collector has closed the connection: %w", errors.Join(err, io.EOF))
		case <-ctx.Done():
		}
	}
}

// lingering returns a context that ends a moment after another one: what is left is still sent.
func lingering(ctx context.Context) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(endTime):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}

func numbersOf(logs map[string]*logReader) map[string]uint64 {
	all := map[string]uint64{}
	for id, l := range logs {
		all[id] = l.number
	}
	return all
}

// A batch is what is sent at a time on one connection.
type batch struct {
	s       *Sender
	link    Link
	logs    map[string]*logReader
	waiting []sent // that no one has confirmed
	lines   int
	bytes   int
	missing uint64 // lines of the logs that were not there to be put
}

func (b *batch) closeLogs() {
	for _, l := range b.logs {
		l.closeFile()
	}
}

// sendNews sends lines that have come, as many as a batch has room for. more: there may be others.
func (b *batch) sendNews(ctx context.Context) (more bool, err error) {
	files, err := audit.LogFiles(b.s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // a hub makes it again
	}
	if err != nil {
		return false, err
	}
	for id, l := range b.logs {
		if files[id] == nil {
			l.closeFile()
			delete(b.logs, id)
		}
	}
	b.lines, b.bytes, b.missing = 0, 0, 0
	for _, id := range slices.Sorted(maps.Keys(files)) {
		if more, err = b.putLines(id); more || err != nil {
			break
		}
	}
	if err != nil || b.lines == 0 {
		return false, err
	}
	receipt, err := b.link.Flush(ctx)
	if err != nil {
		return false, err
	}
	b.s.noteSuccess()
	b.s.noteLost(b.missing, "they were removed before they were sent, or are not as they were written")
	b.s.noteLost(receipt.Refused, receipt.Why)
	if receipt.Confirmed {
		return more, b.s.writeState(numbersOf(b.logs))
	}
	b.waiting = append(b.waiting, sent{time.Now(), numbersOf(b.logs)})
	return more, nil
}

// putLines puts lines of a log until there are no more, or no room for more.
func (b *batch) putLines(id string) (full bool, err error) {
	l := b.logs[id]
	if l == nil {
		l = &logReader{dir: b.s.Dir, id: id, number: b.s.sure[id]}
		b.logs[id] = l
	}
	for b.lines < batchLines && b.bytes < batchBytes {
		before := l.number
		line, e, err := l.next()
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if before > 0 || b.s.goesOn {
			b.missing += e.Number - before - 1
		}
		if err := b.link.Put(id, &e, line); err != nil {
			return false, err
		}
		b.lines++
		b.bytes += len(line)
	}
	return true, nil
}

// settle keeps what counts as delivered by now, although no one has confirmed it.
func (b *batch) settle() error {
	n := 0
	for n < len(b.waiting) && time.Since(b.waiting[n].at) >= settleAfter {
		n++
	}
	if n == 0 {
		return nil
	}
	upTo := b.waiting[n-1].upTo
	b.waiting = b.waiting[n:]
	return b.s.writeState(upTo)
}

// state is the file that keeps how far each log was delivered.
type state struct {
	Address string            `json:"address"`
	Logs    map[string]uint64 `json:"logs"`
}

// readState reads it. Another collector gets all.
func (s *Sender) readState() error {
	s.sure, s.goesOn = map[string]uint64{}, false
	raw, err := os.ReadFile(s.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var st state
	if err == nil {
		err = json.Unmarshal(raw, &st)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; remove it, and all is sent again", filepath.Base(s.stateFile()), err)
	}
	if st.Address == s.To.Destination() && st.Logs != nil {
		s.sure, s.goesOn = st.Logs, true
	}
	return nil
}

func (s *Sender) writeState(upTo map[string]uint64) error {
	if maps.Equal(upTo, s.sure) {
		return nil
	}
	raw, err := json.Marshal(state{s.To.Destination(), upTo})
	if err == nil {
		err = atomicfile.WriteHint(s.stateFile(), raw, 0o600)
	}
	if err == nil {
		s.sure, s.goesOn = upTo, true
	}
	return err
}
