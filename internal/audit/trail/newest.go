package trail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"time"

	"mcphub/internal/atomicfile"
	"mcphub/internal/audit"
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

// Newest hands out decisions, the newest first, until each returns false or ctx ends. It reads
// the files from their ends, so the first ones cost the same however long the record is. reached
// is the time down to which all was looked at; zero if that is the whole record. Outcomes that
// came long after f.Until are left out: ten minutes, or a MiB of the log.
func Newest(ctx context.Context, dir string, f Filter, each func(Decision) bool) (reached time.Time, err error) {
	logs, err := backwardLogs(dir)
	if err != nil {
		return reached, err
	}
	reached = f.Until
	var open []*backward
	defer func() {
		for _, b := range open {
			b.closeFile()
		}
	}()
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
		if !top.handOut(&e, &f, each) {
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
	results map[audit.Place]audit.Outcome
	next    Event
	ended   bool
}

// backwardLogs returns the logs of a folder, that which was changed last first.
func backwardLogs(dir string) (logs []*backward, err error) {
	files, err := audit.LogFiles(dir)
	if err != nil {
		return nil, err
	}
	for id, paths := range files {
		b := &backward{id: id, paths: paths, results: map[audit.Place]audit.Outcome{}}
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

// stepBack goes to the line before that can be read.
func (b *backward) stepBack() error {
	for {
		raw, err := b.readLine()
		if err != nil {
			b.ended = true
			b.closeFile()
			return notEnd(err)
		}
		if e, err := ParseEvent(b.id, slices.Clone(raw)); err == nil {
			b.next = e
			return nil
		}
	}
}

// handOut gives out what a line tells about decisions, its last call first.
func (b *backward) handOut(e *Event, f *Filter, each func(Decision) bool) bool {
	for _, r := range e.AllOutcomes() {
		b.results[r.Place()] = r
	}
	for _, one := range slices.Backward(e.Each()) {
		d := Decision{Event: one}
		if r, ok := b.results[one.Place()]; ok && e.Kind == audit.KindDecision {
			delete(b.results, one.Place())
			d.Outcome = &r
		}
		if f.Matches(&one) && !each(d) {
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
