package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An Entry is one line, read.
type Entry struct {
	Version int       `json:"v"`
	Log     string    `json:"log"`
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
	ids := make([]string, 0, len(files))
	for id := range files {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
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

// checkedChain checks lines one after the other.
type checkedChain struct {
	file   string
	number uint64
	head   string
	torn   []byte // a line that is none, and has to be accounted for by the next
	tornAt int
	cut    bool // it is the last of the file
	broken bool
	r      *Report
}

func (c *checkedChain) problem(line int, text string) {
	c.broken = true
	c.r.Problems = append(c.r.Problems, Problem{c.file, line, text})
}

// next checks one line. ok is false for one that is no entry; after the first
// problem nothing that follows can be told.
func (c *checkedChain) next(n int, b []byte, whole bool, log string) (Entry, bool) {
	e, err := readLine(b)
	switch {
	case err != nil && c.torn == nil:
		// Cut off, perhaps: the next line, or that there is none, tells.
		c.torn, c.tornAt, c.cut = slices.Clone(b), n, !whole
		if c.torn == nil {
			c.torn = []byte{}
		}
		return e, false
	case err != nil:
		c.problem(c.tornAt, "it is not as it was written")
		return e, false
	case c.torn != nil:
		sum := sha256.Sum256(c.torn)
		if e.Kind != KindTorn || e.Bytes != uint64(len(c.torn)) || e.SHA256 != hex.EncodeToString(sum[:]) {
			_, why := readLine(c.torn)
			c.problem(c.tornAt, why.Error())
			return e, false
		}
		c.torn = nil
		c.r.Torn++
	case e.Kind == KindTorn:
		c.problem(n, "it says that a line before it was cut off, and there is none")
		return e, false
	}
	switch {
	case log != "" && e.Log != log:
		c.problem(n, "it belongs to another log")
	case e.Number != c.number+1:
		c.problem(n, fmt.Sprintf("it is number %d where %d is expected: lines were removed, inserted or swapped", e.Number, c.number+1))
	case e.Prev != c.head:
		c.problem(n, "it does not follow from the line before")
	default:
		c.number, c.head = e.Number, e.Hash
		return e, true
	}
	return e, false
}

// done checks what the end of the file leaves open: a last line without its
// line end was cut off by a crash, or is being written.
func (c *checkedChain) done() {
	switch {
	case c.torn == nil || c.broken:
	case c.cut:
		c.r.Torn++
	default:
		_, why := readLine(c.torn)
		c.problem(c.tornAt, why.Error())
	}
}

// logFiles lists the files of each log, in the order written.
func logFiles(dir string) (map[string][]string, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]string{}
	for _, n := range names {
		if id, ok := logOf(n.Name()); ok {
			files[id] = append(files[id], n.Name())
		}
	}
	for id, list := range files {
		slices.SortFunc(list, func(a, b string) int {
			// The one that is written to has no time in its name, and comes last.
			now := id + logEnding
			return cmp.Or(cmp.Compare(boolInt(a == now), boolInt(b == now)), strings.Compare(a, b))
		})
	}
	return files, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// eachLine hands out the lines of files as if they were one: a line that a
// rotation fell into goes on in the next file. whole is false for what stands
// behind the last line end.
func eachLine(paths []string, each func(path string, n int, b []byte, whole bool) bool) error {
	var rest []byte
	for i, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		r := bufio.NewReaderSize(f, 256<<10)
		for n := 1; ; n++ {
			b, err := r.ReadBytes('\n')
			if rest != nil {
				b, rest = append(rest, b...), nil
			}
			if errors.Is(err, io.EOF) {
				if len(b) > 0 && i+1 < len(paths) {
					rest = b
				} else if len(b) > 0 {
					each(path, n, b, false)
				}
				break
			}
			if err != nil {
				_ = f.Close()
				return err
			}
			if !each(path, n, b[:len(b)-1], true) {
				return f.Close()
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
