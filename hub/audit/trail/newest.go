package trail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sort"
	"time"

	"mcphub/hub/audit"
	"mcphub/internal/atomicfile"
)

const (
	// backBlock is how many bytes are read at a time, from the end of a file to its beginning.
	backBlock = 64 << 10
	// longestBack is the most bytes of a line that is read so; a record's own are far shorter.
	longestBack = 4 << 20
	// lateOutcome and lateBytes are how far behind Filter.Until an outcome is still looked for.
	lateOutcome = 10 * time.Minute
	lateBytes   = 1 << 20
)

// Newest hands out decisions, the newest first, until each returns false or ctx ends. f picks by nothing that stands in the line of
// a session alone. It reads
// the files from their ends, so the first ones cost the same however long the record is. reached
// is the time down to which all was looked at; zero if that is the whole record. Outcomes that
// came long after f.Until are left out: ten minutes, or a MiB of the log.
func Newest(ctx context.Context, dir string, f Filter, each func(Decision) bool) (reached time.Time, err error) {
	var open []*backward
	defer func() { closeAll(open) }()
	return newFolder(dir).readBack(ctx, &f, &open, each)
}

func closeAll(open []*backward) {
	for _, b := range open {
		b.closeFile()
	}
}

// Last returns the last decisions that a filter picks, so many at most, by time. It reads as Newest does. The client of
// a session that began more than 8 MiB before is not looked for.
func Last(ctx context.Context, dir string, f Filter, most int) ([]Decision, error) {
	return newFolder(dir).lastDecisions(ctx, f, most)
}

func (d *folder) lastDecisions(ctx context.Context, f Filter, most int) (all []Decision, err error) {
	if most <= 0 {
		return nil, nil
	}
	if f.asksSession() { // which stands before what it is the session of
		err := d.eachDecision(f, func(one *Decision) bool {
			if all = append(all, *one); len(all) >= 2*most {
				all = append(all[:0], all[len(all)-most:]...)
			}
			return ctx.Err() == nil
		})
		return all[max(0, len(all)-most):], err
	}
	var open []*backward
	defer func() { closeAll(open) }()
	_, err = d.readBack(ctx, &f, &open, func(one Decision) bool {
		all = append(all, one)
		return len(all) < most
	})
	slices.Reverse(all)
	clients := Clients{}
	for _, b := range open {
		if err == nil {
			err = b.findClients(d.lookback)
		}
		maps.Copy(clients, b.clients)
	}
	for i := range all {
		completeClient(&all[i].Event, clients[all[i].Session])
	}
	return all, err
}

// findClients reads on for the lines of the sessions whose decisions were handed out.
func (b *backward) findClients(lookback int) error {
	b.noteSession(b.next.Raw)
	for left := lookback; left > 0 && len(b.wanted) > 0 && !b.ended; {
		raw, err := b.readLine()
		if err != nil {
			return notEnd(err)
		}
		left -= len(raw) + 1
		b.noteSession(raw)
	}
	return nil
}

// noteSession notes the client if the line is the one of a session that is wanted.
func (b *backward) noteSession(raw []byte) {
	if len(b.wanted) == 0 || !isSessionLine(raw) {
		return
	}
	if e, err := ParseEvent(b.id, slices.Clone(raw)); err == nil && b.wanted[e.Session] {
		b.clients.Note(&e)
		delete(b.wanted, e.Session)
	}
}

// readBack is Newest. It leaves open what it has opened.
func (d *folder) readBack(ctx context.Context, f *Filter, opened *[]*backward, each func(Decision) bool) (reached time.Time, err error) {
	logs, err := d.backwardLogs(f)
	if err != nil {
		return reached, err
	}
	reached = f.Until
	var open []*backward
	defer func() { *opened = open }()
	for over, n := false, 0; ; n++ {
		over = over || n%64 == 0 && ctx.Err() != nil
		top := latestLog(open)
		// A file holds nothing that is newer than its last change.
		for len(logs) > 0 && (top == nil || !logs[0].changed.Before(top.next.Time)) {
			b := logs[0]
			logs = logs[1:]
			if err := b.openBefore(f.Until); err != nil {
				return reached, err
			}
			if open = append(open, b); !b.ended {
				top = latestLog(open)
			}
		}
		if top == nil {
			return time.Time{}, nil
		}
		e := top.next
		if over && !e.Time.Equal(reached) { // all of one moment, so that the next look begins behind it
			return cmp.Or(reached, e.Time.Add(time.Nanosecond)), nil
		}
		if f.Until.IsZero() || e.Time.Before(f.Until) {
			reached = e.Time
		}
		if !f.Since.IsZero() && e.Time.Before(f.Since) {
			return time.Time{}, nil
		}
		if !top.handOut(&e, f, each) {
			return reached, nil
		}
		if err := top.stepBack(); err != nil {
			return reached, err
		}
	}
}

// latestLog returns the log whose next line is the newest; nil where all have ended.
func latestLog(open []*backward) (top *backward) {
	for _, b := range open {
		if !b.ended && (top == nil || b.next.Time.After(top.next.Time)) {
			top = b
		}
	}
	return top
}

// backward reads the files of one log, as one, from the end.
type backward struct {
	id      string
	paths   []string // not opened yet, in the order written
	changed time.Time
	file    *os.File
	at      int64  // what lies before it in file has not been read yet
	buf     []byte // what has been read and not handed out; it ended with a line end, which is gone
	results map[audit.CallPosition]audit.Outcome
	next    Event
	ended   bool
	sieve   *sieve
	took    func(int)
	wanted  map[string]bool // sessions of decisions that were handed out, whose line has not come yet
	clients Clients
}

// backwardLogs returns the logs of a folder, that which was changed last first.
func (d *folder) backwardLogs(f *Filter) (logs []*backward, err error) {
	files, err := audit.LogFiles(d.dir)
	if err != nil {
		return nil, err
	}
	for id, paths := range files {
		b := &backward{id: id, paths: paths, results: map[audit.CallPosition]audit.Outcome{}, sieve: newSieve(f), took: d.took, wanted: map[string]bool{}, clients: Clients{}}
		fi, err := os.Stat(paths[len(paths)-1])
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		b.changed = fi.ModTime()
		logs = append(logs, b)
	}
	slices.SortFunc(logs, func(a, b *backward) int { return cmp.Or(b.changed.Compare(a.changed), cmp.Compare(a.id, b.id)) })
	return logs, nil
}

// openBefore goes to the last line before a moment, or to the last one.
func (b *backward) openBefore(until time.Time) error {
	more, err := b.openOlder()
	if !until.IsZero() {
		for more && err == nil {
			if b.at, err = startNear(b.file, b.at, until); b.at > 0 || err != nil {
				break
			}
			more, err = b.openOlder()
		}
	}
	if err != nil {
		return err
	}
	if _, err := b.readLine(); err != nil { // what stands behind the last line end is no line
		b.ended = true
		return notEnd(err)
	}
	return b.stepBack()
}

// startNear returns where to begin for the lines before a moment: behind outcomes that are a little later.
func startNear(file *os.File, size int64, moment time.Time) (int64, error) {
	late, err := offsetBefore(file, size, moment.Add(lateOutcome))
	if err != nil {
		return 0, err
	}
	start, err := offsetBefore(file, late, moment)
	return min(late, start+lateBytes), err
}

// offsetBefore returns the offset of the first line of a file that is not before a moment. Lines of
// a log are written in the order of their times, unless the clock was set back.
func offsetBefore(file *os.File, size int64, moment time.Time) (int64, error) {
	buf := make([]byte, 4<<10)
	if _, at, ok := timeAt(file, 0, buf); ok && !at.Before(moment) {
		return 0, nil
	}
	var failed error
	from := sort.Search(int(size), func(offset int) bool {
		start, at, err := lineFrom(file, int64(offset), buf)
		if err != nil {
			failed = err
		}
		return start < 0 || !at.Before(moment)
	})
	start, _, err := lineFrom(file, int64(from), buf)
	if start < 0 || start > size {
		start = size
	}
	return start, errors.Join(failed, err)
}

// lineFrom finds the first line that begins behind an offset, and its time; -1 where none does.
func lineFrom(file *os.File, from int64, buf []byte) (start int64, at time.Time, err error) {
	for {
		n, err := file.ReadAt(buf, from)
		i := bytes.IndexByte(buf[:n], '\n')
		if i >= 0 {
			start, at, ok := timeAt(file, from+int64(i)+1, make([]byte, longestHead))
			if ok {
				return start, at, nil
			}
			from = start // what is no line is passed over
			if start >= 0 {
				continue
			}
			return -1, at, nil
		}
		if err != nil {
			return -1, at, notEnd(err)
		}
		from += int64(n)
	}
}

// timeAt reads the time of the line at an offset; start is -1 if the file ends there.
func timeAt(file *os.File, offset int64, buf []byte) (start int64, at time.Time, ok bool) {
	n, _ := file.ReadAt(buf, offset)
	if n == 0 {
		return -1, at, false
	}
	text, _, ok := timeOf(buf[:n])
	if !ok {
		return offset, at, false
	}
	at, err := time.Parse(audit.TimeFormat, string(text))
	return offset, at, err == nil
}

// openOlder opens the next older file; false if there is none.
func (b *backward) openOlder() (bool, error) {
	b.closeFile()
	if len(b.paths) == 0 {
		return false, nil
	}
	file, err := atomicfile.Open(b.paths[len(b.paths)-1], 0)
	if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile, and so were those before it
		b.paths, b.at = nil, 0
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b.paths, b.file = b.paths[:len(b.paths)-1], file
	fi, err := file.Stat()
	if err != nil {
		return false, err
	}
	b.at = fi.Size()
	return true, nil
}

// readLine reads the line before. The error is io.EOF if there is none.
func (b *backward) readLine() ([]byte, error) {
	for {
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 {
			line := b.buf[i+1:]
			b.buf = b.buf[:i]
			return line, nil
		}
		if b.at == 0 {
			more, err := b.openOlder()
			if err != nil {
				return nil, err
			}
			if !more {
				line := b.buf
				b.buf = nil
				if len(line) == 0 {
					return nil, io.EOF
				}
				return line, nil
			}
			continue
		}
		n := min(b.at, backBlock)
		b.took(int(n))
		block := make([]byte, n, n+int64(len(b.buf)))
		if _, err := b.file.ReadAt(block, b.at-n); err != nil {
			return nil, err
		}
		b.at -= n
		if b.buf = append(block, b.buf...); len(b.buf) > longestBack {
			return nil, io.EOF // it is no record: Verify tells about it
		}
	}
}

// maxPassed is how many lines are passed over at a time: one that is read in between shows how far it is, and whether
// someone still waits.
const maxPassed = 256

// maxResults is how many outcomes are kept until those are removed that no decision to come has.
const maxResults = 8192

// stepBack goes to the line before that can be read, and may be picked.
func (b *backward) stepBack() error {
	for passed := 0; ; passed++ {
		raw, err := b.readLine()
		if err != nil {
			b.ended = true
			b.closeFile()
			return notEnd(err)
		}
		b.noteSession(raw)
		if h, ok := headOf(raw); passed < maxPassed && !b.mayCount(&h, ok, raw) {
			continue
		}
		if e, err := ParseEvent(b.id, slices.Clone(raw)); err == nil {
			b.next = e
			return nil
		}
	}
}

// mayCount reports whether a line may be picked, or tell about the outcome of one that may.
func (b *backward) mayCount(h *head, ok bool, raw []byte) bool {
	if len(b.results) > maxResults && ok {
		for p := range b.results {
			if p.Line > h.number { // its decision has been passed
				delete(b.results, p)
			}
		}
	}
	return ok && (h.kind == audit.KindOutcome && !b.sieve.f.Denied || b.sieve.letsPass(h.kind, raw))
}

// handOut gives out what a line tells about decisions, its last call first.
func (b *backward) handOut(e *Event, f *Filter, each func(Decision) bool) bool {
	for _, r := range e.AllOutcomes() {
		b.results[r.DecisionPosition()] = r
	}
	for _, one := range slices.Backward(e.Each()) {
		d := Decision{Event: one}
		if r, ok := b.results[one.Position()]; ok && e.Kind == audit.KindDecision {
			delete(b.results, one.Position())
			d.Outcome = &r
		}
		if !f.Matches(&one) {
			continue
		}
		if b.clients[one.Session] == (audit.ClientInfo{}) {
			b.wanted[one.Session] = true
		}
		if !each(d) {
			return false
		}
	}
	return true
}

func (b *backward) closeFile() {
	if b.file != nil {
		_ = b.file.Close()
		b.file = nil
	}
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
