package audit

import (
	"io/fs"
	"os"
	"path/filepath"
)

// cannotRotate reports whether a write has failed because the file has its full size and
// cannot be rotated. Then the file may grow by the same size again: a record in one
// large file is better than none.
func (l *Log) cannotRotate(more int) bool {
	fi, err := os.Lstat(l.path)
	if err != nil || fi.Size()+int64(more) <= l.file.most {
		return false
	}
	l.file.growLimit(l.o.MaxSize)
	return true
}

// isSameFile reports whether fi is the file that lines are written to: the one that
// was seen last, no shorter than then, or one that was started when that was
// rotated out. The caller holds mu and writeMu.
func (l *Log) isSameFile(fi os.FileInfo) bool {
	was := l.lastInfo
	ok := fi.Mode().IsRegular() && (was == nil || os.SameFile(was, fi) && was.Size() <= fi.Size() || !os.SameFile(was, fi) && l.wasRotated(was))
	l.lastInfo = fi
	os.SameFile(fi, fi) // on Windows this looks up the file's identity now, and not at a later comparison
	return ok
}

// wasRotated reports whether a file is one that was rotated out of the log.
func (l *Log) wasRotated(was os.FileInfo) bool {
	names, _ := fs.Glob(os.DirFS(l.o.Dir), l.id+"-*"+LogEnding) // the pattern is valid
	for _, name := range names {
		if fi, err := os.Lstat(filepath.Join(l.o.Dir, name)); err == nil && os.SameFile(was, fi) && was.Size() <= fi.Size() {
			return true
		}
	}
	return false
}
