package children

import (
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
)

const (
	tailBytes = 8 << 10 // of stderr kept
	tailLine  = 4 << 10 // of one line of it
	logRate   = 20      // lines of a child's stderr logged, a second
	logBurst  = 100     // and at once
)

// tail keeps the last words of a child and copies them to the log, and to said
// where that is set. What it keeps and copies is text: control characters and
// escape sequences are removed before.
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
		t.keep(text)
		if t.said != nil {
			t.said(t.pid, text)
		}
		if !b.take(time.Now()) {
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
		c.feed(buf[:n], line)
		if err != nil {
			c.flush(line)
			if dropped > 0 {
				t.log.Warn().Int("lines", dropped).Msg("stderr came too fast: lines were not logged")
			}
			return
		}
	}
}

func (t *tail) keep(line string) {
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
	line  []byte
	state escape
	long  bool
}

// escape is where in a terminal escape sequence the stream is.
type escape uint8

const (
	plain     escape = iota
	afterEsc         // ESC seen
	inCSI            // ESC [ ... a letter ends it
	inString         // ESC ] P X ^ _ ... BEL or ESC \ ends it
	stringEsc        // ESC inside a string
)

func (c *cleaner) feed(b []byte, line func(string)) {
	for _, x := range b {
		c.step(x, line)
	}
}

func (c *cleaner) step(x byte, line func(string)) {
	if x == '\n' {
		c.flush(line)
		c.state = plain
		return
	}
	switch c.state {
	case afterEsc:
		switch x {
		case '[':
			c.state = inCSI
		case ']', 'P', 'X', '^', '_':
			c.state = inString
		default:
			c.state = plain
		}
		return
	case inCSI:
		if x >= 0x40 && x <= 0x7e {
			c.state = plain
		}
		return
	case inString:
		if x == 0x07 {
			c.state = plain
		} else if x == 0x1b {
			c.state = stringEsc
		}
		return
	case stringEsc:
		c.state = plain
		return
	}
	switch {
	case x == 0x1b:
		c.state = afterEsc
	case x == '\t':
		c.add(' ')
	case x < 0x20, x == 0x7f:
	default:
		c.add(x)
	}
}

func (c *cleaner) add(x byte) {
	if len(c.line) >= tailLine {
		c.long = true
		return
	}
	c.line = append(c.line, x)
}

// flush gives a line that is not empty, without what a terminal or a reader
// could take for something else.
func (c *cleaner) flush(line func(string)) {
	text := Plain(string(c.line))
	if c.long {
		text += "…"
	}
	c.line, c.long = c.line[:0], false
	if strings.TrimSpace(text) != "" {
		line(text)
	}
}

// Plain returns s without control characters (C0, C1), bidirectional
// overrides and invalid UTF-8, which becomes U+FFFD.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// bucket lets logRate lines a second pass, and logBurst at once.
type bucket struct {
	tokens float64
	last   time.Time
}

func (b *bucket) take(now time.Time) bool {
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
