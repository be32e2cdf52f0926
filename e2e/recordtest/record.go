package recordtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/hub/audit"
)

// ID names the log that Write writes.
const ID = "11111111-1111-4111-8111-111111111111"

// A Shape is what a record is to look like.
type Shape struct {
	Lines, PerFile       int
	Began                time.Time     // of the first line
	Every                time.Duration // between two lines
	Principals, Sessions int
	Late                 int // of so many decisions the outcome of one comes at the end; 0: of none
}

// Write writes a record into a folder, and returns its files in the order written. Of four lines two are decisions with a path, of which one
// in 25 is to deny; one has two calls; one has their outcomes. A session begins with a line.
func Write(tb testing.TB, dir string, s Shape) (files []string) {
	tb.Helper()
	w := writer{tb: tb, dir: dir, shape: s, prev: audit.NoHash}
	w.add("open", `,"log":"%s","program":"test","pid":1`, ID)
	first := w.prev
	for w.number < s.Lines-2 {
		w.addOne()
	}
	w.addOutcomes(w.late)
	w.add("close", "")
	w.endFile(ID + audit.LogEnding)
	chain := writer{tb: tb, dir: dir, shape: s, prev: audit.NoHash}
	chain.add("open", `,"log":"%s","at":1,"head":"%s"`, ID, first)
	chain.add("close", `,"log":"%s","at":%d,"head":"%s"`, ID, w.number, w.prev)
	chain.endFile(audit.ChainName)
	return w.files
}

type writer struct {
	tb     testing.TB
	dir    string
	shape  Shape
	number int
	prev   string
	buf    bytes.Buffer
	files  []string

	met           map[int]bool
	allowed, late []string // their outcomes
}

// addOne adds the next line.
func (w *writer) addOne() {
	i := w.number
	session := i / 64 % w.shape.Sessions
	who := session % w.shape.Principals
	if w.met == nil {
		w.met = map[int]bool{}
	}
	head := fmt.Sprintf(`,"session":"%08d-0000-4000-8000-000000000000","principal":"p%d"`, session, who)
	if !w.met[session] {
		w.met[session] = true
		w.add("session", `%s,"client":"client-%d 1.0","address":"10.0.0.%d"`, head, who, who%250)
		return
	}
	switch i % 4 {
	case 0, 1:
		decided := `"decision":"allow","rule":"inside"`
		if i%100 == 1 || i%100 == 52 {
			decided = `"decision":"deny","rule":"boundary","code":"outside"`
		}
		w.add("decision", `%s,"request":%d,"child":"files","tool":"read_text_file",%s,"roots":"client","generation":1,"findings":[{"at":"/path","role":"read","path":"/home/p%d/project/file%d.txt","inside":true}]`,
			head, i, decided, who, i)
		if strings.Contains(decided, "allow") {
			w.putOutcome(fmt.Sprintf(`{"of":%d,"result":"ok","us":%d}`, w.number, i))
		}
	case 2:
		w.add("decision", `%s,"child":"git","tool":"log","decision":"allow","rule":"no path","calls":[{"request":%d},{"request":%d}]`, head, i, i+1)
		w.putOutcome(fmt.Sprintf(`{"of":%d,"call":1,"result":"ok","us":%d}`, w.number, i))
		w.putOutcome(fmt.Sprintf(`{"of":%d,"call":2,"result":"ok","us":%d}`, w.number, i))
	default:
		w.addOutcomes(w.allowed)
		w.allowed = w.allowed[:0]
	}
}

func (w *writer) putOutcome(o string) {
	if w.shape.Late > 0 && w.number%w.shape.Late == 0 {
		w.late = append(w.late, o)
		return
	}
	w.allowed = append(w.allowed, o)
}

func (w *writer) addOutcomes(all []string) {
	w.add("outcome", `,"outcomes":[%s]`, strings.Join(append(all, `{"of":1,"result":"ok","us":1}`), ","))
}

// add adds a line. The members are a format.
func (w *writer) add(kind, members string, of ...any) {
	at := w.shape.Began.Add(time.Duration(w.number) * w.shape.Every)
	w.number++
	line := fmt.Appendf(nil, `{"v":1,"n":%d,"prev":"%s","time":"%s","kind":"%s"`, w.number, w.prev, at.UTC().Format(audit.TimeFormat), kind)
	line = fmt.Appendf(line, members, of...)
	sum := sha256.Sum256(line)
	w.prev = hex.EncodeToString(sum[:])
	w.buf.Write(fmt.Appendf(line, `,"hash":"%s"}`+"\n", w.prev))
	if w.shape.PerFile > 0 && w.number%w.shape.PerFile == 0 && len(w.files) < w.shape.Lines/w.shape.PerFile-1 {
		w.endFile(fmt.Sprintf("%s-%s-size%s", ID, at.UTC().Format("2006-01-02T15-04-05.000"), audit.LogEnding))
	}
}

// endFile writes what was added to a file.
func (w *writer) endFile(name string) {
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, w.buf.Bytes(), 0o600); err != nil {
		w.tb.Fatal(err)
	}
	w.buf.Reset()
	w.files = append(w.files, path)
}
