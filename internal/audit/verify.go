package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An Entry is one line, read.
type Entry struct {
	Version int       `json:"v"`
	Log     string    `json:"log"` // of the first line of a log, and of lines of chain.jsonl
	Number  uint64    `json:"n"`
	Prev    string    `json:"prev"`
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Hash    string    `json:"hash"`

	// Of a torn line, and of lines of chain.jsonl.
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256"`
	At     uint64 `json:"at"`
	Head   string `json:"head"`

	Raw []byte `json:"-"` // without its line end
}

const hashMember = `,"hash":"`

// readLine reads a line and checks its own hash.
func readLine(b []byte) (Entry, error) {
	var e Entry
	at := bytes.LastIndex(b, []byte(hashMember))
	if at < 0 || len(b) != at+len(hashMember)+2*sha256.Size+2 {
		return e, errors.New("it is no whole line of an audit log")
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("it is no JSON: %w", err)
	}
	sum := sha256.Sum256(b[:at])
	if e.Hash != hex.EncodeToString(sum[:]) || string(b[at+len(hashMember):len(b)-2]) != e.Hash {
		return e, errors.New("it is not as it was written: its hash does not match")
	}
	if e.Version != Version {
		return e, fmt.Errorf("its format %d is not known", e.Version)
	}
	e.Raw = b
	return e, nil
}

// A Problem is a line that is not as it was written, or not where it was.
type Problem struct {
	File string
	Line int // from 1; 0: the file as a whole
	Text string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// A Report is what Verify found.
type Report struct {
	Logs, Lines int
	Open        int    // logs whose process still runs, or has ended without closing them
	Torn        int    // lines that were cut off and are recognised as such
	Head        string // of chain.jsonl: kept elsewhere, it proves later that nothing was rewritten
	Problems    []Problem
}

// OK reports whether the folder is whole.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Verify checks a folder: every line of every log, and that no log is missing
// or has lost its end. heads are hashes of chain.jsonl that were kept elsewhere
// and must be in it. Logs may be written meanwhile. The error is for a folder
// that cannot be read at all.
func Verify(dir string, heads ...string) (*Report, error) {
	before, err := outline(dir)
	if err != nil {
		return nil, err
	}
	for range 4 {
		r, err := verifyOnce(dir, heads)
		after, e := outline(dir)
		if err == nil && r.OK() || e != nil || before == after {
			return r, errors.Join(err, e)
		}
		before = after // a log was rotated or closed meanwhile: what was read does not belong together
	}
	return verifyOnce(dir, heads)
}

// outline is what changes in a folder when logs begin, end and are rotated.
func outline(dir string) (string, error) {
	all, err := os.ReadDir(dir)
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintln(&b, f.Name())
	}
	if fi, err := os.Stat(filepath.Join(dir, chainName)); err == nil {
		fmt.Fprintln(&b, fi.Size())
	}
	return b.String(), err
}

func verifyOnce(dir string, heads []string) (*Report, error) {
	r := &Report{}
	// The chain first: what is written after it was read is not missed in it.
	marks, seen, err := verifyChain(dir, r)
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if !seen[h] {
			r.Problems = append(r.Problems, Problem{chainName, 0, "there is no line with the hash " + h + ": it was cut off or rewritten"})
		}
	}
	files, err := logFiles(dir)
	if err != nil {
		return nil, err
	}
	for id := range marks {
		if _, ok := files[id]; !ok {
			r.Problems = append(r.Problems, Problem{id + logEnding, 0, "it is missing"})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		if err := verifyLog(dir, id, files[id], marks[id], r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// A mark is what chain.jsonl says of a log.
type mark struct {
	kind string
	at   uint64
	head string
	line int
}

func verifyChain(dir string, r *Report) (map[string][]mark, map[string]bool, error) {
	marks, seen := map[string][]mark{}, map[string]bool{}
	c := checkedChain{file: chainName, head: zero, r: r}
	err := eachLine([]string{filepath.Join(dir, chainName)}, func(_ string, n int, b []byte, whole bool) bool {
		e, ok := c.next(n, b, whole, "")
		if ok && e.Kind != KindTorn {
			marks[e.Log] = append(marks[e.Log], mark{e.Kind, e.At, e.Head, n})
		}
		if ok {
			seen[e.Hash] = true
		}
		return !c.broken
	})
	c.done()
	r.Head = c.head
	return marks, seen, err
}

func verifyLog(dir, id string, files []string, marks []mark, r *Report) error {
	r.Logs++
	if len(marks) == 0 && !held(dir, id) {
		r.Problems = append(r.Problems, Problem{files[0], 0, "chain.jsonl knows nothing of this log: it was put there"})
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = filepath.Join(dir, f)
	}
	c := checkedChain{head: zero, r: r}
	last := Entry{}
	next := 0
	err := eachLine(paths, func(path string, n int, b []byte, whole bool) bool {
		c.file = filepath.Base(path)
		e, ok := c.next(n, b, whole, id)
		if !ok {
			return !c.broken
		}
		r.Lines++
		for ; next < len(marks) && marks[next].at <= e.Number; next++ {
			if m := marks[next]; m.at == e.Number && m.head != e.Hash {
				c.problem(n, fmt.Sprintf("%s:%d says that this line had another hash: it was rewritten", chainName, m.line))
				return false
			}
		}
		last = e
		return true
	})
	if err != nil || c.broken {
		return err
	}
	c.done()
	var final mark
	if len(marks) > 0 {
		final = marks[len(marks)-1]
	}
	ended := final.kind == KindClose || final.kind == KindRecovered
	switch {
	case next < len(marks):
		c.problem(0, fmt.Sprintf("its end is missing: %s:%d knows line %d, the last one here is %d", chainName, marks[next].line, marks[next].at, last.Number))
	case ended && final.at != last.Number:
		c.problem(0, fmt.Sprintf("there are lines behind its end, which was line %d", final.at))
	case last.Kind == KindClose && !ended && !held(dir, id):
		c.problem(0, "it was closed, and chain.jsonl does not say so: a line is missing there")
	case !ended:
		r.Open++
	}
	return nil
}

// held reports whether the lock of a log is there: its process lives, or had
// no time to close it.
func held(dir, id string) bool {
	_, err := os.Lstat(filepath.Join(dir, id+lockEnding))
	return err == nil
}
