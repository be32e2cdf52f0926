package health

import (
	"testing"
	"time"
)

// Whether a child is hung is decided by what was seen of it, and by nothing else.
func TestPulseDecides(t *testing.T) {
	t.Parallel()
	p := NewPulse(UsualPace, 10*time.Minute)
	defer p.Stop()
	for _, c := range []struct {
		name string
		sign sign
		want Action
	}{
		{"nothing waits", sign{quiet: time.Hour}, Rest},
		{"a call waits, not for long", sign{waited: 29 * time.Second, quiet: time.Hour}, Rest},
		{"a call waits, the child talks", sign{waited: time.Hour, quiet: 29 * time.Second}, Rest},
		{"a call waits and nothing is heard", sign{waited: 30 * time.Second, quiet: 30 * time.Second}, Ask},
		{"a call has ended in vain", sign{inVain: true}, Ask},
		{"asked just now", sign{waited: time.Hour, quiet: time.Hour, asked: true, unanswered: 15*time.Second - 1}, Rest},
		{"asked, no answer", sign{waited: time.Hour, quiet: time.Hour, asked: true, unanswered: 15 * time.Second}, Show},
		{"asked, nothing waits any more", sign{asked: true, unanswered: p.answer - 1}, Show},
		{"asked in vain", sign{asked: true, unanswered: p.answer}, Hung},
	} {
		if got := p.decideAction(c.sign); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	for limit, want := range map[time.Duration]time.Duration{
		10 * time.Minute: 150 * time.Second, time.Second: 15 * time.Second, 4 * time.Minute: time.Minute, time.Hour: 5 * time.Minute,
	} {
		if p := NewPulse(UsualPace, limit); p.answer != want {
			t.Errorf("with calls of %s it has %s to answer, want %s", limit, p.answer, want)
		}
	}
}
