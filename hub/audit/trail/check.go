package trail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"mcphub/hub/audit"
)

// checkedChain checks lines one after the other.
type checkedChain struct {
	file    string
	number  uint64
	head    string
	torn    []byte // a line that cannot be read; the next line must account for it
	tornAt  int
	cut     bool // it is the last of the file, and has no line end
	broken  bool
	unended bool              // the last line was read, and lacks its line end
	starts  map[uint64]string // if lines before were removed: at which numbers the rest may begin, and the hash before each
	r       *Report
}

func (c *checkedChain) addProblem(line int, text string) {
	c.broken = true
	c.r.Problems = append(c.r.Problems, Problem{c.file, line, text})
}

// checkNext checks one line. ok is false if it cannot be read. After the first problem
// the following lines cannot be checked.
func (c *checkedChain) checkNext(n int, b []byte, whole bool, log string) (audit.Entry, bool) {
	e, err := audit.ReadLine(b)
	switch {
	case err != nil && c.torn == nil:
		// It may have been cut off. The next line tells, or that there is none.
		c.torn, c.tornAt, c.cut = slices.Clone(b), n, !whole
		if c.torn == nil {
			c.torn = []byte{}
		}
		return e, false
	case err != nil:
		c.addProblem(c.tornAt, "it is not as it was written")
		return e, false
	case c.torn != nil:
		sum := sha256.Sum256(c.torn)
		if e.Kind != audit.KindTorn || e.Bytes != uint64(len(c.torn)) || e.SHA256 != hex.EncodeToString(sum[:]) {
			_, why := audit.ReadLine(c.torn)
			c.addProblem(c.tornAt, why.Error())
			return e, false
		}
		c.torn = nil
		c.r.Torn++
	case e.Kind == audit.KindTorn:
		c.addProblem(n, "it says that a line before it was cut off, and there is none")
		return e, false
	}
	if h, ok := c.starts[e.Number]; ok && c.number == 0 {
		c.number, c.head = e.Number-1, h
	}
	switch {
	case log != "" && (e.Kind == audit.KindOpen && e.Log != log || e.Number == 1 && e.Kind != audit.KindOpen):
		c.addProblem(n, "it belongs to another log")
	case e.Number != c.number+1:
		c.addProblem(n, fmt.Sprintf("it is number %d where %d is expected: lines were removed, inserted or swapped", e.Number, c.number+1))
	case e.Prev != c.head:
		c.addProblem(n, "it does not follow from the line before")
	default:
		c.number, c.head = e.Number, e.Hash
		return e, true
	}
	return e, false
}

// finishFile is called at the end of the file. A last line without a line end was cut off
// by a crash, or is being written.
func (c *checkedChain) finishFile() {
	switch {
	case c.torn == nil || c.broken:
	case c.cut:
		c.r.Torn++
	default:
		_, why := audit.ReadLine(c.torn)
		c.addProblem(c.tornAt, why.Error())
	}
}
