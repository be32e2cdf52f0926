package process

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/internal/printable"
)

const (
	tailBytes = 8 << 10 // of stderr kept
	tailLine  = 4 << 10 // of one line of it
	logRate   = 20      // lines of a child's stderr logged, a second
	logBurst  = 100     // and at once
)

// tail keeps the last words of a child and copies them to the log, and to said
// where that is set. What it keeps and copies is clean text.
type tail struct {
	log  zerolog.Logger
	said func(pid int, line string) // bounds what it takes by itself
	pid  int                        // set before readFrom

	mu   sync.Mutex
	kept []byte
}

func newTail(log zerolog.Logger, said func(pid int, line string)) *tail {
	return &tail{log: log, said: said}
}

// readFrom reads r to its end.
func (t *tail) readFrom(r io.Reader) {
	buf := make([]byte, 4<<10)
	var c cleaner
	b := bucket{tokens: logBurst}
	dropped := 0
	line := func(text string) {
		t.keepLine(text)
		if t.said != nil {
			t.said(t.pid, text)
		}
		if !b.takeToken(time.Now()) {
			dropped++
			return
		}
		if dropped > 0 {
			t.log.Warn().Int("lines", dropped).Msg("stderr came too fast: lines were not logged")
			dropped = 0
		}
		t.log.Info().Str("stream", "stderr").Msg(text)
	}
	for {
		n, err := r.Read(buf)
		c.feedBytes(buf[:n], line)
		if err != nil {
			c.flushLine(line)
			if dropped > 0 {
				t.log.Warn().Int("lines", dropped).Msg("stderr came too fast: lines were not logged")
			}
			return
		}
	}
}

func (t *tail) keepLine(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(append(t.kept, line...), '\n')
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
}

// String returns what is kept, whole lines where possible.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.kept)
	if len(t.kept) == tailBytes {
		if i := strings.IndexByte(s, '\n'); i >= 0 && i+1 < len(s) {
			s = s[i+1:]
		}
	}
	return strings.TrimRight(strings.ToValidUTF8(s, ""), "\n")
}

// cleaner cuts a stream of bytes into lines of plain text.
type cleaner struct {
	line []byte
	long bool
}

func (c *cleaner) feedBytes(b []byte, line func(string)) {
	for len(b) > 0 {
		rest, whole := b, false
		if end := bytes.IndexByte(b, '\n'); end >= 0 {
			rest, whole = b[:end], true
			b = b[end+1:]
		} else {
			b = nil
		}
		left := max(tailLine-len(c.line), 0)
		c.long = c.long || len(rest) > left
		c.line = append(c.line, rest[:min(left, len(rest))]...)
		if whole {
			c.flushLine(line)
		}
	}
}

// flushLine gives a line that is not empty.
func (c *cleaner) flushLine(line func(string)) {
	text := strings.ReplaceAll(printable.Clean(string(c.line)), "\t", " ")
	if c.long {
		text += "…"
	}
	c.line, c.long = c.line[:0], false
	if strings.TrimSpace(text) != "" {
		line(text)
	}
}

// bucket lets logRate lines a second pass, and logBurst at once.
type bucket struct {
	tokens float64
	last   time.Time
}

func (b *bucket) takeToken(now time.Time) bool {
	if !b.last.IsZero() {
		b.tokens = min(logBurst, b.tokens+now.Sub(b.last).Seconds()*logRate)
	}
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
