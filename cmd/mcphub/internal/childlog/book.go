package childlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/DeRuina/timberjack"
	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"mcphub/internal/ownership"
)

const (
	fileMegabytes = 2    // before a file is set aside
	setAside      = 3    // files of the past kept
	lineRate      = 100  // lines of one child a second
	lineBurst     = 500  // and at once
	queued        = 2048 // lines that wait for the disk
	places        = 64   // hubs that write at the same time
	lineMost      = 8 << 10
)

// A Book writes the lines of one hub's children. See the package comment.
type Book struct {
	dir   string
	place int // from 1
	lock  *flock.Flock
	log   zerolog.Logger
	lines chan line

	mu    sync.Mutex
	paces map[string]*pace // by file
}

type line struct {
	at              time.Time
	child, instance string
	pid             int
	text            string
	dropped         int // lines of this child that were dropped before
}

// pace bounds what one child says.
type pace struct {
	tokens  float64
	last    time.Time
	dropped int
}

// Open makes the folder if it does not exist and takes a place in it.
func Open(dir string, log zerolog.Logger) (*Book, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("the folder for the children's logs must be an absolute path, not %q", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for the children's logs cannot be made: %w", err)
	}
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the folder for the children's logs: %w", err)
	case !fi.IsDir():
		return nil, fmt.Errorf("%s is not a folder, so the children's logs cannot be kept there", dir)
	case ownership.OthersWrite(fi):
		return nil, fmt.Errorf("%s may be written to by others (mode %v), so the children's logs are not kept there; chmod 700 %s", dir, fi.Mode().Perm(), dir)
	}
	for place := 1; place <= places; place++ {
		lock := flock.New(filepath.Join(dir, fmt.Sprintf(".place-%d", place)), flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow), flock.SetPermissions(0o600))
		free, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("the folder for the children's logs cannot be written: %w", err)
		}
		if !free {
			_ = lock.Close()
			continue
		}
		return &Book{dir: dir, place: place, lock: lock, log: log, lines: make(chan line, queued), paces: map[string]*pace{}}, nil
	}
	return nil, fmt.Errorf("%d hubs keep logs in %s already", places, dir)
}

// Path returns where a child's lines go. Names that differ in case alone
// share a file, as they would on some file systems anyhow.
func (b *Book) Path(child string) string {
	name := strings.ToLower(child)
	if b.place > 1 {
		name = fmt.Sprintf("%s@%d", name, b.place)
	}
	return filepath.Join(b.dir, name+".log")
}

// File works like Path, but returns "" if there is no such file: a child that has
// written nothing has none.
func (b *Book) File(child string) string {
	path := b.Path(child)
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	return path
}

// Say takes one line of plain text. It never blocks; what is too much is
// dropped and counted.
func (b *Book) Say(child, instance string, pid int, text string) {
	now := time.Now()
	if len(text) > lineMost {
		text = strings.ToValidUTF8(text[:lineMost], "") + "…"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := strings.ToLower(child)
	p := b.paces[key]
	if p == nil {
		p = &pace{tokens: lineBurst, last: now}
		b.paces[key] = p
	}
	if !p.takeToken(now) {
		p.dropped++
		return
	}
	select {
	case b.lines <- line{now, child, instance, pid, text, p.dropped}:
		p.dropped = 0
	default:
		p.dropped++
	}
}

func (p *pace) takeToken(now time.Time) bool {
	p.tokens = min(lineBurst, p.tokens+now.Sub(p.last).Seconds()*lineRate)
	p.last = now
	if p.tokens < 1 {
		return false
	}
	p.tokens--
	return true
}

// Run writes until ctx ends and what was said by then is written.
func (b *Book) Run(ctx context.Context) error {
	w := writer{b: b, files: map[string]*file{}}
	defer func() {
		w.closeFiles()
		_ = b.lock.Close() // frees the place
	}()
	for {
		select {
		case l := <-b.lines:
			w.writeLine(l)
		case <-ctx.Done():
			for {
				select {
				case l := <-b.lines:
					w.writeLine(l)
					continue
				default:
				}
				w.writeDropped(b.leftUntold())
				return nil
			}
		}
	}
}

// leftUntold returns how many lines of each child were dropped and not yet told about.
func (b *Book) leftUntold() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]int{}
	for child, p := range b.paces {
		if p.dropped > 0 {
			out[child], p.dropped = p.dropped, 0
		}
	}
	return out
}

// writer is Run's: the open files.
type writer struct {
	b     *Book
	files map[string]*file
}

type file struct {
	io.WriteCloser
	broken bool // the last write failed, which was logged
}

func (w *writer) writeLine(l line) {
	if l.dropped > 0 {
		w.appendLine(l.child, fmt.Sprintf("%s %s[%d] %s* %s\n", formatTime(l.at), l.child, l.pid, shortenInstance(l.instance), tooMany(l.dropped)))
	}
	w.appendLine(l.child, fmt.Sprintf("%s %s[%d] %s: %s\n", formatTime(l.at), l.child, l.pid, shortenInstance(l.instance), l.text))
}

func (w *writer) writeDropped(all map[string]int) {
	for child, n := range all {
		w.appendLine(child, fmt.Sprintf("%s %s* %s\n", formatTime(time.Now()), child, tooMany(n)))
	}
}

func tooMany(n int) string { return fmt.Sprintf("%d lines came too fast and were left out", n) }

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func shortenInstance(instance string) string { return cmp.Or(instance[:min(8, len(instance))], "-") }

func (w *writer) appendLine(child, text string) {
	path := w.b.Path(child)
	f := w.files[path]
	if f == nil {
		f = &file{WriteCloser: closed{}}
		if err := plainFile(path); err != nil {
			w.b.log.Warn().Err(err).Str("child", child).Msg("the child's log is not kept")
			f.broken = true
		} else {
			f.WriteCloser = &timberjack.Logger{Filename: path, MaxSize: fileMegabytes, MaxBackups: setAside, FileMode: 0o600, Compression: "none"}
		}
		w.files[path] = f
	}
	_, err := io.WriteString(f, text)
	if err != nil && !f.broken {
		w.b.log.Warn().Err(err).Str("child", child).Str("file", path).Msg("the child's log cannot be written")
	}
	f.broken = err != nil
}

// plainFile refuses to write through a link, and closes a file to others that
// is open to them.
func plainFile(path string) error {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; take it away", path)
	case fi.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, 0o600)
	}
	return nil
}

func (w *writer) closeFiles() {
	for path, f := range w.files {
		if err := f.Close(); err != nil {
			w.b.log.Warn().Err(err).Str("file", path).Msg("the child's log was not closed in good order")
		}
	}
}

// closed stands for a file that must not be written.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, os.ErrInvalid }
func (closed) Close() error              { return nil }
