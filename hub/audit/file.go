package audit

import (
	"errors"
	"os"

	"github.com/DeRuina/timberjack"

	"mcphub/internal/rawio"
)

// A logFile is the file of a log. It is made and rotated by timberjack, and
// written by a descriptor of its own. One goroutine uses it at a time.
type logFile struct {
	path string
	most int64 // bytes, then it is rotated
	jack *timberjack.Logger
	now  *rawio.Appender // nil: to be opened
	size int64
}

func newLogFile(path string, megabytes int) *logFile {
	return &logFile{
		path: path, most: int64(megabytes) << 20,
		jack: &timberjack.Logger{Filename: path, MaxSize: megabytes, FileMode: 0o600},
	}
}

// Write writes to the end of the file, or of the next one where this one would
// become too large.
func (f *logFile) Write(b []byte) (int, error) {
	if f.now != nil && f.size > 0 && f.size+int64(len(b)) > f.most {
		if err := errors.Join(f.letGo(), f.jack.Rotate()); err != nil {
			return 0, err
		}
	}
	if f.now == nil {
		if err := f.openFile(); err != nil {
			return 0, err
		}
	}
	n, err := f.now.Write(b)
	f.size += int64(n)
	return n, err
}

// openFile opens the file, made if it is not there.
func (f *logFile) openFile() error {
	if _, err := f.jack.Write(nil); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	fi, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.now, f.size = rawio.NewAppender(file), fi.Size()
	return nil
}

// growLimit lets the file become larger by so many MiB before it is rotated.
func (f *logFile) growLimit(megabytes int) {
	f.jack.MaxSize += megabytes
	f.most = int64(f.jack.MaxSize) << 20
}

// letGo closes the descriptor: a file that is open cannot be renamed everywhere.
func (f *logFile) letGo() error {
	if f.now == nil {
		return nil
	}
	now := f.now
	f.now = nil
	return now.Close()
}

func (f *logFile) Close() error { return errors.Join(f.letGo(), f.jack.Close()) }
