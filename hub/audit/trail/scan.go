package trail

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcphub/hub/audit"
)

// scanBlock is how many bytes of lines a worker of Scan gets at a time.
const scanBlock = 256 << 10

// block is whole lines, one behind the other.
type block struct {
	log   string
	bytes []byte
	ends  []int // of the lines
}

// Scan hands every decision of a folder's logs since a moment to workers, in no
// order. worker is called for each of them and returns what takes its decisions; that
// owns the event until it returns. Lines that are none are left out, as by Read.
func Scan(dir string, since time.Time, worker func() func(*Event)) error {
	files, err := audit.LogFiles(dir)
	if err != nil {
		return err
	}
	blocks := make(chan block, runtime.GOMAXPROCS(0))
	spare := sync.Pool{New: func() any { return new(block) }}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		take := worker()
		workers.Go(func() {
			for b := range blocks {
				b.scanBlock(since, take)
				spare.Put(&block{bytes: b.bytes[:0], ends: b.ends[:0]})
			}
		})
	}
	defer workers.Wait()
	defer close(blocks)
	for id, paths := range files {
		b := spare.Get().(*block)
		err := eachLine(writtenSince(paths, since), func(_ string, _ int, line []byte, _ bool) bool {
			b.bytes = append(b.bytes, line...)
			b.ends = append(b.ends, len(b.bytes))
			if len(b.bytes) >= scanBlock {
				b.log = id
				blocks <- *b
				b = spare.Get().(*block)
			}
			return true
		})
		b.log = id
		blocks <- *b
		if err != nil {
			return err
		}
	}
	return nil
}

// writtenSince returns those files that were written to since a moment.
func writtenSince(paths []string, since time.Time) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		fi, err := os.Stat(path)
		return err == nil && fi.ModTime().Before(since)
	})
}

// scanned is what Scan reads of a line: what a decision was about. The rest of an
// Event is passed over.
type scanned struct {
	Session   string `json:"session"`
	Principal string `json:"principal"`
	Method    string `json:"method"`
	audit.DecisionFields
	Calls []audit.CallRecord `json:"calls"`
}

func (b *block) scanBlock(since time.Time, take func(*Event)) {
	at, after := 0, []byte(since.UTC().Format(audit.TimeFormat))
	for _, end := range b.ends {
		line := b.bytes[at:end]
		at = end
		// What a line is about is looked at before its hash is: most are not asked for.
		if !mayDecide(line, after) {
			continue
		}
		entry, err := audit.WholeLine(line)
		if err != nil || entry.Kind != audit.KindDecision || entry.Time.Before(since) || !utf8.Valid(line) {
			continue
		}
		var s scanned
		if json.Unmarshal(line, &s, jsontext.AllowInvalidUTF8(true)) != nil {
			continue
		}
		e := Event{Entry: entry, LogID: b.log, Record: audit.Record{Session: s.Session, Principal: s.Principal, Method: s.Method, DecisionFields: s.DecisionFields}, Calls: s.Calls}
		if len(s.Calls) == 0 {
			take(&e)
			continue
		}
		for _, one := range e.Each() {
			take(&one)
		}
	}
}

// mayDecide reports whether a line may be a decision since a moment, by its head alone. The caller
// reads the rest to be sure.
func mayDecide(line, after []byte) bool {
	at, rest, ok := timeOf(line[:min(len(line), longestHead)])
	return ok && bytes.HasPrefix(rest, []byte(`","kind":"`+audit.KindDecision+`"`)) && bytes.Compare(at, after) >= 0
}

// longestHead is how far into a line its time stands, in bytes, with what follows it.
const longestHead = 200

// timeOf finds the time of a line in its head, and what follows that.
func timeOf(head []byte) (at, rest []byte, ok bool) {
	_, rest, ok = bytes.Cut(head, []byte(`","time":"`))
	if !ok || len(rest) < len(audit.TimeFormat) {
		return nil, nil, false
	}
	return rest[:len(audit.TimeFormat)], rest[len(audit.TimeFormat):], true
}
