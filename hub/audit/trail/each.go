package trail

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"mcphub/hub/audit"
	"mcphub/internal/atomicfile"
)

const (
	// nearOutcome is how many lines behind a decision its outcome is looked for first. Those that come later are
	// found by one look through the rest of the log.
	nearOutcome = 4096
	// maxNear bounds the outcomes that are kept for decisions to come.
	maxNear = 4 * nearOutcome
	// lookback is how many bytes before the first line of a reading the lines of sessions are looked for.
	lookback = 8 << 20
)

// folder is a folder of logs for one reading of it.
type folder struct {
	dir      string
	took     func(bytes int) // learns how much was read
	lookback int
}

func newFolder(dir string) *folder { return &folder{dir, func(int) {}, lookback} }

// Each hands out the decisions of a folder, with their outcomes and clients, by time, until each returns false.
// The decisions of one log come in the order in which they were written. What it keeps in memory does not grow with the
// record: a block and the outcomes that lie a little ahead, for each log that was written at the time.
func Each(dir string, f Filter, each func(*Decision) bool) error {
	return newFolder(dir).eachDecision(f, each)
}

func (d *folder) eachDecision(f Filter, each func(*Decision) bool) error {
	waiting, err := d.forwardLogs(&f)
	if err != nil {
		return err
	}
	var open []*forward
	defer func() {
		for _, l := range open {
			l.closeFiles()
		}
	}()
	for {
		var first *forward
		for _, l := range open {
			if !l.ended && (first == nil || l.queue[0].Time.Before(first.queue[0].Time)) {
				first = l
			}
		}
		if len(waiting) > 0 && (first == nil || !first.queue[0].Time.Before(waiting[0].begins)) {
			l := waiting[0]
			waiting, open = waiting[1:], append(slices.DeleteFunc(open, func(l *forward) bool { return l.ended }), l)
			if err := l.begin(d.lookback); err != nil {
				return err
			}
			continue
		}
		if first == nil {
			return nil
		}
		one := Decision{Event: first.queue[0]}
		if one.Outcome, err = first.outcomeOf(&one.Event); err != nil || !each(&one) {
			return err
		}
		if err := first.step(); err != nil {
			return err
		}
	}
}

// forward reads one log from some place to its end.
type forward struct {
	id     string
	f      *Filter
	sieve  *sieve
	until  []byte // the time of lines at which reading ends; empty: at the end of the log
	took   func(int)
	from   place
	begins time.Time // of the line at from

	in       *cursor
	sessions recentClients
	queue    []Event // decisions of the line at hand; not empty unless ended
	ended    bool

	ahead      *cursor // reads outcomes
	aheadLine  uint64  // the last that it has read
	aheadEnded bool
	near, late map[audit.CallPosition]audit.Outcome
	allLate    bool // late has all
}

// forwardLogs returns the logs that may hold decisions which the filter picks, by the time at which they begin.
func (d *folder) forwardLogs(f *Filter) (all []*forward, err error) {
	files, err := audit.LogFiles(d.dir)
	if err != nil {
		return nil, err
	}
	s := newSieve(f)
	for id, paths := range files {
		l := &forward{id: id, f: f, sieve: s, took: d.took}
		if !f.Until.IsZero() {
			l.until = []byte(f.Until.Add(lateOutcome).UTC().Format(audit.TimeFormat))
		}
		begins, found, err := l.findStart(paths)
		if err != nil {
			return nil, err
		}
		if found && (f.Until.IsZero() || begins.Before(f.Until)) {
			l.in, l.begins = newCursor(paths, l.from, d.took), begins
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *forward) int { return cmp.Or(a.begins.Compare(b.begins), cmp.Compare(a.id, b.id)) })
	return all, nil
}

// findStart finds the first line that is not before the time that is asked for; false if there is none.
func (l *forward) findStart(paths []string) (begins time.Time, found bool, err error) {
	for i := range paths {
		begins, found, err = l.startIn(paths[i], i)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // it was removed meanwhile
		}
		if found || err != nil {
			return begins, found, err
		}
	}
	return begins, false, nil
}

func (l *forward) startIn(path string, i int) (begins time.Time, found bool, err error) {
	file, err := atomicfile.Open(path, 0)
	if err != nil {
		return begins, false, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil || fi.Size() == 0 || fi.ModTime().Before(l.f.Since) { // a file holds nothing that is newer than its last change
		return begins, false, err
	}
	start := int64(0)
	if !l.f.Since.IsZero() {
		if start, err = offsetBefore(file, fi.Size(), l.f.Since); err != nil || start >= fi.Size() {
			return begins, false, err
		}
	}
	l.from = place{i, start}
	buf := make([]byte, longestHead)
	n, err := file.ReadAt(buf, start)
	l.took(n)
	if h, ok := headOf(buf[:n]); ok {
		begins, err = time.Parse(audit.TimeFormat, string(h.at))
	}
	return begins, true, notEnd(err) // of a line that is none the time is zero: the log is opened at once
}

// begin reads the clients of sessions that began before, and goes to the first decision.
func (l *forward) begin(lookback int) error {
	if before := placeBack(l.in.paths, l.from, int64(lookback)); before != l.from {
		l.in.goTo(before)
		for {
			line, err := l.in.next()
			if err != nil {
				return l.end(err)
			}
			if at := l.in.at; at.file > l.from.file || at.file == l.from.file && at.offset >= l.from.offset {
				break
			}
			l.noteSession(line)
		}
		l.in.goTo(l.from)
	}
	return l.step()
}

func (l *forward) end(err error) error {
	l.ended = true
	l.closeFiles()
	return notEnd(err)
}

// noteSession remembers the client if the line is that of a session.
func (l *forward) noteSession(line []byte) {
	if !isSessionLine(line) {
		return
	}
	if e, err := ParseEvent(l.id, bytes.Clone(line)); err == nil {
		l.sessions.noteClient(e.Session, e.ClientInfo)
	}
}

// step goes to the next decision that the filter picks.
func (l *forward) step() error {
	if len(l.queue) > 0 {
		l.queue = l.queue[1:]
	}
	for len(l.queue) == 0 {
		line, err := l.in.next()
		if err != nil {
			return l.end(err)
		}
		h, ok := headOf(line)
		switch {
		case !ok:
		case len(l.until) > 0 && bytes.Compare(h.at, l.until) >= 0:
			return l.end(nil)
		case h.kind == audit.KindSession:
			l.noteSession(line)
		case l.sieve.letsPass(h.kind, line):
			if e, err := ParseEvent(l.id, bytes.Clone(line)); err == nil {
				completeClient(&e, l.sessions.clientOf(e.Session))
				l.queue = slices.DeleteFunc(e.Each(), func(one Event) bool { return !l.f.Matches(&one) })
			}
		}
	}
	return nil
}

// outcomeOf returns the outcome of the decision at hand; nil if none is recorded.
func (l *forward) outcomeOf(e *Event) (*audit.Outcome, error) {
	if e.Kind != audit.KindDecision || e.Decision != "allow" {
		return nil, nil
	}
	if l.ahead == nil || l.aheadLine < e.Number && l.in.now.isFarFrom(l.ahead.now) {
		l.readAheadFromHere(e.Number)
	}
	for !l.aheadEnded {
		if r, ok := l.near[e.Position()]; ok {
			delete(l.near, e.Position())
			return &r, nil
		}
		if l.aheadLine >= e.Number+nearOutcome {
			break
		}
		if err := l.readAhead(e.Number); err != nil {
			return nil, err
		}
	}
	if r, ok := l.near[e.Position()]; ok {
		return &r, nil
	}
	if !l.aheadEnded && !l.allLate {
		if err := l.readLate(e.Number); err != nil {
			return nil, err
		}
	}
	if r, ok := l.late[e.Position()]; ok {
		return &r, nil
	}
	return nil, nil
}

// readAheadFromHere has outcomes read from the line at hand on.
func (l *forward) readAheadFromHere(number uint64) {
	if l.ahead == nil {
		l.ahead = newCursor(l.in.paths, l.in.now, l.took)
	} else {
		l.ahead.goTo(l.in.now)
	}
	l.aheadLine, l.aheadEnded, l.near = number, false, map[audit.CallPosition]audit.Outcome{}
}

// readAhead reads one more line for the outcomes of decisions from a line on.
func (l *forward) readAhead(number uint64) error {
	line, err := l.ahead.next()
	if err != nil {
		l.aheadEnded = true
		return notEnd(err)
	}
	h, ok := headOf(line)
	if !ok {
		return nil
	}
	l.aheadLine = h.number
	if h.kind != audit.KindOutcome {
		return nil
	}
	if len(l.near) > maxNear {
		for p := range l.near {
			if p.Line < number {
				delete(l.near, p)
			}
		}
	}
	l.eachOutcome(line, func(r audit.Outcome) {
		if r.DecisionLine >= number {
			l.near[r.DecisionPosition()] = r
		}
	})
	return nil
}

// readLate reads the rest of the log for the outcomes that come late: those of calls that took long.
func (l *forward) readLate(number uint64) error {
	l.allLate, l.late = true, map[audit.CallPosition]audit.Outcome{}
	rest := newCursor(l.in.paths, l.ahead.now, l.took)
	defer rest.closeFile()
	for {
		line, err := rest.next()
		if err != nil {
			return notEnd(err)
		}
		h, ok := headOf(line)
		switch {
		case !ok:
		case len(l.until) > 0 && bytes.Compare(h.at, l.until) >= 0:
			return nil
		case h.kind == audit.KindOutcome:
			l.eachOutcome(line, func(r audit.Outcome) {
				if r.DecisionLine >= number && h.number > r.DecisionLine+nearOutcome {
					l.late[r.DecisionPosition()] = r
				}
			})
		}
	}
}

// eachOutcome hands out the outcomes of a line. One that cannot be read has none.
func (l *forward) eachOutcome(line []byte, each func(audit.Outcome)) {
	e, err := ParseEvent(l.id, bytes.Clone(line))
	if err != nil {
		return
	}
	for _, r := range e.AllOutcomes() {
		each(r)
	}
}

func (l *forward) closeFiles() {
	for _, c := range []*cursor{l.in, l.ahead} {
		if c != nil {
			c.closeFile()
		}
	}
}
