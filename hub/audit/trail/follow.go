package trail

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mcphub/hub/audit"
	"mcphub/internal/atomicfile"
)

// followEvery is how often a Follower looks for news.
const followEvery = 200 * time.Millisecond

// Follow hands out what is written to a folder's logs from now on, those of
// hubs that begin later as well, until ctx ends. started is called once, when
// nothing that is written from then on is missed.
func Follow(ctx context.Context, dir string, started func(), each func(Event)) error {
	f := follower{dir: dir, each: each, logs: map[string]*followed{}}
	defer f.closeFiles()
	if err := f.readNews(true); err != nil {
		return err
	}
	started()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := f.readNews(false); err != nil {
				return err
			}
		}
	}
}

type follower struct {
	dir  string
	each func(Event)
	logs map[string]*followed
}

// followed is one log that is being read.
type followed struct {
	file *os.File
	rest []byte // the first part of a line that is not complete yet
}

// readNews reads what is new. The first time it skips what is there already.
func (f *follower) readNews(first bool) error {
	files, err := audit.LogFiles(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a hub may create it later
	}
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		if err := f.readLog(id, files[id], first); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for id, l := range f.logs {
		if files[id] == nil {
			_ = l.file.Close()
			delete(f.logs, id)
		}
	}
	return nil
}

func (f *follower) readLog(id string, files []string, first bool) error {
	path := filepath.Join(f.dir, id+audit.LogEnding)
	l := f.logs[id]
	if l == nil {
		from := path
		if !first { // it may have been rotated already
			from = files[0]
		}
		file, err := atomicfile.Open(from, 0)
		if err != nil {
			return err
		}
		l = &followed{file: file}
		f.logs[id] = l
		if first {
			_, err := file.Seek(0, io.SeekEnd)
			return err
		}
	}
	for {
		now, err := os.Stat(path) // before the rest is read: the next look notices a rotation after it
		if err != nil {
			return err
		}
		if err := l.drainFile(id, f.each); err != nil {
			return err
		}
		had, err := l.file.Stat()
		if err != nil || os.SameFile(had, now) {
			return err
		}
		next, err := f.openNext(id, had) // it was rotated, once or more often
		if err != nil {
			return err
		}
		_ = l.file.Close()
		l.file = next
	}
}

// openNext opens the file that goes on where one ends; if that is not known,
// the one that is written to.
func (f *follower) openNext(id string, had os.FileInfo) (*os.File, error) {
	all, err := audit.LogFiles(f.dir)
	if err != nil {
		return nil, err
	}
	files := all[id]
	for i := range len(files) - 1 {
		if fi, err := os.Stat(files[i]); err == nil && os.SameFile(had, fi) {
			return atomicfile.Open(files[i+1], 0)
		}
	}
	return atomicfile.Open(filepath.Join(f.dir, id+audit.LogEnding), 0)
}

// drainFile reads to the end of a file.
func (l *followed) drainFile(id string, each func(Event)) error {
	b, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	l.rest = append(l.rest, b...)
	for {
		at := bytes.IndexByte(l.rest, '\n')
		if at < 0 {
			return nil
		}
		if e, err := ParseEvent(id, slices.Clone(l.rest[:at])); err == nil {
			each(e)
		}
		l.rest = l.rest[at+1:]
	}
}

func (f *follower) closeFiles() {
	for _, l := range f.logs {
		_ = l.file.Close()
	}
}
