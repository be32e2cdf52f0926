package trail

import (
	"fmt"
	"path/filepath"

	"mcphub/hub/audit"
)

// A mark is what chain.jsonl says about a log.
type mark struct {
	kind string
	at   uint64
	head string
	line int

	from  uint64 // this and the next: of lines that were removed, of which at and head are the last
	first string
}

func (m *mark) isEnd() bool { return m.kind == audit.KindClose || m.kind == audit.KindRecovered }

// verifyChain checks chain.jsonl, and returns what it says about each log. It takes the hashes that it meets out of heads.
func verifyChain(dir string, r *Report, heads map[string]bool) (map[string][]mark, error) {
	marks := map[string][]mark{}
	c := checkedChain{file: audit.ChainName, head: audit.NoHash, r: r}
	err := eachLine([]string{filepath.Join(dir, audit.ChainName)}, func(_ string, n int, b []byte, whole bool) bool {
		e, ok := c.checkNext(n, b, whole, "")
		switch {
		case ok && e.Kind != audit.KindTorn && (e.Log == "" || e.At == 0):
			c.addProblem(n, "it tells of no log")
		case ok && e.Kind != audit.KindTorn:
			marks[e.Log] = append(marks[e.Log], mark{e.Kind, e.At, e.Head, n, e.From, e.First})
		}
		if ok {
			delete(heads, e.Hash)
		}
		return !c.broken
	})
	c.finishFile()
	r.Head = c.head
	return marks, err
}

// checkedLog is one log that is being checked.
type checkedLog struct {
	checkedChain
	id    string
	held  bool // its lock is there: its process lives, or had no time to close it
	marks []mark
	at    map[uint64][]mark
	last  audit.Entry

	removed *mark // the last statement that lines were removed
}

func verifyLog(id string, st logState, r *Report) error {
	r.Logs++
	c := newCheckedLog(id, st, r)
	if len(c.marks) == 0 && !c.held {
		c.addProblem(0, "chain.jsonl knows nothing of this log: it was put there")
	}
	if c.broken {
		return nil
	}
	err := eachLine(st.files, func(path string, n int, b []byte, whole bool) bool {
		c.file = filepath.Base(path)
		c.checkLine(n, b, whole)
		return !c.broken
	})
	if err != nil || c.broken {
		return err
	}
	c.finishFile()
	if !c.broken {
		c.checkEnd()
	}
	return nil
}

func newCheckedLog(id string, st logState, r *Report) *checkedLog {
	c := &checkedLog{checkedChain: checkedChain{file: id + audit.LogEnding, head: audit.NoHash, r: r}, id: id, held: st.held, at: map[uint64][]mark{}}
	if len(st.files) > 0 {
		c.file = filepath.Base(st.files[0])
	}
	for _, m := range st.marks {
		c.at[m.at] = append(c.at[m.at], m)
		if m.kind == audit.KindRemoved {
			c.noteRemoval(&m)
			c.at[m.from] = append(c.at[m.from], mark{kind: m.kind, at: m.from, head: m.first, line: m.line})
		} else {
			c.marks = append(c.marks, m)
		}
	}
	return c
}

// noteRemoval checks a statement that lines were removed: they follow those that were removed before, and chain.jsonl knew
// them by then.
func (c *checkedLog) noteRemoval(m *mark) {
	from, told := uint64(1), uint64(0)
	if c.removed != nil {
		from = c.removed.at + 1
	}
	for i := range c.marks {
		told = max(told, c.marks[i].at)
		if c.marks[i].at == m.at && c.marks[i].head != m.head {
			told = 0
			break
		}
	}
	if !c.broken && (m.from != from || m.at < m.from || m.at > told) {
		c.addProblem(0, fmt.Sprintf("%s:%d says that its lines %d to %d were removed, which cannot be as it stands there", audit.ChainName, m.line, m.from, m.at))
	}
	if c.starts == nil {
		c.starts = map[uint64]string{}
	}
	c.starts[m.at+1], c.removed = m.head, m
}

// isGone reports whether all lines of a log were removed, up to its end.
func (c *checkedLog) isGone() bool {
	if c.broken || c.held || c.removed == nil || len(c.marks) == 0 {
		return false
	}
	final := &c.marks[len(c.marks)-1]
	return final.isEnd() && final.at == c.removed.at && final.head == c.removed.head
}

func (c *checkedLog) checkLine(n int, b []byte, whole bool) {
	e, ok := c.checkNext(n, b, whole, c.id)
	if !ok {
		return
	}
	c.r.Lines++
	c.last, c.unended = e, !whole
	for _, m := range c.at[e.Number] {
		if m.head != e.Hash {
			c.addProblem(n, fmt.Sprintf("%s:%d says that this line had another hash: it was rewritten", audit.ChainName, m.line))
			return
		}
	}
}

// checkEnd compares the end of the log with what chain.jsonl knows of it.
func (c *checkedLog) checkEnd() {
	for _, m := range c.marks {
		if m.at > c.last.Number {
			c.addProblem(0, fmt.Sprintf("its end is missing: %s:%d knows line %d, the last one here is %d", audit.ChainName, m.line, m.at, c.last.Number))
			return
		}
	}
	var final mark
	if len(c.marks) > 0 {
		final = c.marks[len(c.marks)-1]
	}
	// A process that starts or continues a log notes that in chain.jsonl after its
	// first line and before its second.
	beginning := c.held && c.last.Number == final.at+1 && c.last.Kind == audit.KindOpen
	switch {
	case beginning, len(c.marks) == 0 && c.last.Number == 0:
		c.r.Open++
	case len(c.marks) == 0:
		c.addProblem(0, "chain.jsonl knows nothing of this log: it was put there")
	case !final.isEnd() && !c.held && c.last.Kind == audit.KindClose:
		c.addProblem(0, "it was closed, and chain.jsonl does not say so: a line is missing there")
	case !final.isEnd() && !c.held:
		c.addProblem(0, fmt.Sprintf("its process has not ended it, and its lock (%s) is gone: the end of chain.jsonl is missing, or the lock was taken away", c.id+audit.LockEnding))
	case !final.isEnd():
		c.r.Open++
	case final.at != c.last.Number:
		c.addProblem(0, fmt.Sprintf("there are lines behind its end, which was line %d", final.at))
	case c.cut && c.held: // of a process that goes on with the log, and writes its first line
		c.r.Open++
	case c.cut:
		c.addProblem(c.tornAt, fmt.Sprintf("there is something behind its end, which was line %d", final.at))
	case c.unended:
		c.addProblem(0, "the line end of its last line was cut off")
	}
}
