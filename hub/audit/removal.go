package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

// A Removal is the oldest file of a log, and which lines it holds.
type Removal struct {
	Log, Path string
	From, To  uint64 // numbers of its first and its last line
	First     string // hash of the first
	Last      string // hash of the last
	Stated    bool   // chain.jsonl has a line about it, so it remains to remove it
}

// errRuns means that a log is about to be written to again.
var errRuns = errors.New("a process has gone on with the log meanwhile")

// RemoveFile removes a file of a log, the one that is written to last only if the log has ended. Before that it writes into
// chain.jsonl which lines go, so that Verify proves the rest. The caller has read the file: nothing proves it afterwards.
func RemoveFile(dir string, r *Removal) error {
	return withChain(dir, func(c *chain) error {
		if _, err := os.Lstat(r.Path); errors.Is(err, fs.ErrNotExist) {
			return nil // another hub was faster
		}
		if r.Path == filepath.Join(dir, r.Log+LogEnding) {
			known, err := c.lastOf(r.Log)
			if err != nil {
				return err
			}
			if known == nil || known.Kind != KindClose && known.Kind != KindRecovered || known.At != r.To || HasLock(dir, r.Log) {
				return fmt.Errorf("%s: %w", r.Path, errRuns)
			}
		}
		if !r.Stated {
			b := line(nil).startLine(c.at.number+1, &c.at.head, c.stamp.formatTime(time.Now()), KindRemoved)
			b = b.addText("log", r.Log).addNumber("at", int64(r.To)).addText("head", r.Last).addNumber("from", int64(r.From)).addText("first", r.First)
			if err := c.writeLine(b, 0); err != nil {
				return err
			}
			if err := c.file.Sync(); err != nil {
				return err
			}
		}
		return os.Remove(r.Path)
	})
}

// Removable returns how many of the files of a log may be removed, from the oldest on. While a process has the log, the file that it writes
// to stays, and the one before, which it may have been writing to a moment ago. The last file of a log that short runs
// share stays: the next of them goes on with it.
func Removable(dir, id string, files int) int {
	switch {
	case HasLock(dir, id):
		return max(0, files-2)
	case isShared(id):
		return files - 1
	}
	return files
}

// isShared reports whether short runs share a log: by the version of its name, which is made of no chance.
func isShared(id string) bool {
	parsed, err := uuid.Parse(id)
	return err != nil || parsed.Version() != 4
}
