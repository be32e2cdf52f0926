package process

import (
	"strings"
	"testing"
	"time"
)

func TestCleaner(t *testing.T) {
	var lines []string
	var c cleaner
	for _, part := range []string{"pla", "in\n\n \x1b[31;1mred\x1b[0m\x07\x9b\r\n", "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\n", "t\tb \xff \u202eevil\u202c\n", "\x1bPunfinished", "\nnext"} {
		c.feedBytes([]byte(part), func(s string) { lines = append(lines, s) })
	}
	c.flushLine(func(s string) { lines = append(lines, s) })
	if got := strings.Join(lines, "|"); got != "plain| red\ufffd|ab|t b \ufffd evil|next" {
		t.Errorf("%q", got)
	}
	lines = nil
	c.feedBytes([]byte(strings.Repeat("x", 3*tailLine)+"\n"), func(s string) { lines = append(lines, s) })
	if len(lines) != 1 || len(lines[0]) > tailLine+8 || !strings.HasSuffix(lines[0], "…") {
		t.Errorf("a long line: %d of %d bytes", len(lines), len(lines[0]))
	}
}

func TestBucket(t *testing.T) {
	b := bucket{tokens: logBurst}
	now := time.Unix(1, 0)
	n := 0
	for range 10 * logBurst {
		if b.takeToken(now) {
			n++
		}
	}
	if n != logBurst {
		t.Errorf("%d at once", n)
	}
	if !b.takeToken(now.Add(time.Second/logRate + 1)) {
		t.Error("it does not fill again")
	}
}
