package trail

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"mcphub/hub/audit"
)

// A Problem is a line that is not as it was written, or not if it was.
type Problem struct {
	File string
	Line int // from 1; 0: the file as a whole
	Text string
}

func (problem Problem) String() string {
	if problem.Line == 0 {
		return problem.File + ": " + problem.Text
	}
	return fmt.Sprintf("%s:%d: %s", problem.File, problem.Line, problem.Text)
}

// A Report is what Verify found.
type Report struct {
	Logs, Lines int
	Open        int    // logs whose process still runs, or has ended without closing them
	Torn        int    // lines that were cut off and are recognised as such
	Removed     uint64 // lines that were removed, as chain.jsonl states
	Head        string // of chain.jsonl: kept elsewhere, it proves later that nothing was rewritten
	Problems    []Problem
}

// IsWhole reports whether the folder is whole.
func (report *Report) IsWhole() bool { return len(report.Problems) == 0 }

// Verify checks a folder: every line of every log, and that no log is missing
// or has lost its end. heads are hashes of chain.jsonl that were kept elsewhere
// and must be in it. Logs may be written meanwhile. The error is for a folder
// that cannot be read at all.
func Verify(dir string, heads ...string) (*Report, error) {
	r := &Report{}
	// The chain is read first: the logs may be longer than it says, never shorter.
	missing := map[string]bool{}
	for _, h := range heads {
		missing[h] = true
	}
	marks, err := verifyChain(dir, r, missing)
	if errors.Is(err, fs.ErrNotExist) {
		return r.reportChainless(dir, err)
	}
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if missing[h] {
			r.Problems = append(r.Problems, Problem{audit.ChainName, 0, "there is no line with the hash " + h + ": it was cut off or rewritten"})
		}
	}
	files, err := audit.LogFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(marks)) {
		r.addRemoved(marks[id])
		if _, ok := files[id]; !ok && !isGone(dir, id, marks[id]) {
			r.Problems = append(r.Problems, Problem{id + audit.LogEnding, 0, "it is missing"})
		}
	}
	if _, err := r.findIrregular(dir); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		if err := verifyStable(dir, id, logState{files[id], marks[id], audit.HasLock(dir, id)}, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// reportChainless returns the report on a folder without chain.jsonl. If it has no logs
// either, nothing was recorded in it, and the error is err.
func (report *Report) reportChainless(dir string, err error) (*Report, error) {
	files, e := audit.LogFiles(dir)
	if e != nil {
		return nil, e
	}
	all, e := report.findIrregular(dir)
	if e != nil {
		return nil, e
	}
	locked := slices.ContainsFunc(all, func(f os.DirEntry) bool { return strings.HasSuffix(f.Name(), audit.LockEnding) })
	if len(files)+len(report.Problems) == 0 && !locked {
		return nil, err
	}
	report.Logs = len(files)
	text := "it is missing: without it nothing shows that no log was removed, cut off or made again"
	report.Problems = append([]Problem{{audit.ChainName, 0, text}}, report.Problems...)
	return report, nil
}

// findIrregular finds entries with the name of a log that are no regular files. It returns all entries.
func (report *Report) findIrregular(dir string) (all []os.DirEntry, err error) {
	all, err = os.ReadDir(dir)
	for _, f := range all {
		if _, ok := audit.LogOf(f.Name()); ok && !f.Type().IsRegular() {
			report.Problems = append(report.Problems, Problem{f.Name(), 0, "it is no file: a log is never a link, a folder or a pipe"})
		}
	}
	return all, err
}

// logState is what a log is checked by, beside its lines.
type logState struct {
	files []string
	marks []mark
	held  bool
}

// verifyStable checks a log. If something is wrong, but the log was started, ended
// or rotated meanwhile, it checks again: then the parts were read at different states.
func verifyStable(dir, id string, st logState, r *Report) error {
	for range 20 {
		own := &Report{}
		err := verifyLog(id, st, own)
		if err == nil && own.IsWhole() {
			r.addReport(own)
			return nil
		}
		marks, e := verifyChain(dir, &Report{}, nil)
		files, e2 := audit.LogFiles(dir)
		now := logState{files[id], marks[id], audit.HasLock(dir, id)}
		if e == nil && e2 == nil && len(now.files) == 0 && newCheckedLog(id, now, &Report{}).isGone() {
			return nil // its last file was removed meanwhile
		}
		if errors.Join(e, e2) != nil || len(now.files) == 0 || reflect.DeepEqual(st, now) {
			r.addReport(own)
			return err
		}
		st = now
	}
	return verifyLog(id, st, r)
}

// isGone reports whether all of a log was removed, as chain.jsonl states or by now does.
func isGone(dir, id string, marks []mark) bool {
	gone := func(marks []mark) bool {
		return newCheckedLog(id, logState{nil, marks, audit.HasLock(dir, id)}, &Report{}).isGone()
	}
	if gone(marks) {
		return true
	}
	now, err := verifyChain(dir, &Report{}, nil)
	return err == nil && gone(now[id])
}

// addRemoved counts the lines of a log that were removed.
func (report *Report) addRemoved(marks []mark) {
	for _, m := range marks {
		if m.kind == audit.KindRemoved && m.at >= m.from {
			report.Removed += m.at - m.from + 1
		}
	}
}

func (report *Report) addReport(o *Report) {
	report.Logs += o.Logs
	report.Lines += o.Lines
	report.Open += o.Open
	report.Torn += o.Torn
	report.Problems = append(report.Problems, o.Problems...)
}
