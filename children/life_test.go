package children

import (
	"testing"
	"time"
)

// Whether a child is hung is decided by what was seen of it, and by nothing else.
func TestPulseDecides(t *testing.T) {
	p := newPulse(usualPace, 10*time.Minute)
	defer p.stop()
	for _, c := range []struct {
		name string
		sign sign
		want pulseAction
	}{
		{"nothing waits", sign{quiet: time.Hour}, pulseRest},
		{"a call waits, not for long", sign{waited: 29 * time.Second, quiet: time.Hour}, pulseRest},
		{"a call waits, the child talks", sign{waited: time.Hour, quiet: 29 * time.Second}, pulseRest},
		{"a call waits and nothing is heard", sign{waited: 30 * time.Second, quiet: 30 * time.Second}, pulseAsk},
		{"a call has ended in vain", sign{inVain: true}, pulseAsk},
		{"asked just now", sign{waited: time.Hour, quiet: time.Hour, asked: true, unanswered: 15*time.Second - 1}, pulseRest},
		{"asked, no answer", sign{waited: time.Hour, quiet: time.Hour, asked: true, unanswered: 15 * time.Second}, pulseShow},
		{"asked, nothing waits any more", sign{asked: true, unanswered: p.answer - 1}, pulseShow},
		{"asked in vain", sign{asked: true, unanswered: p.answer}, pulseHung},
	} {
		if got := p.decide(c.sign); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	for limit, want := range map[time.Duration]time.Duration{
		10 * time.Minute: 150 * time.Second, time.Second: 15 * time.Second, 4 * time.Minute: time.Minute, time.Hour: 5 * time.Minute,
	} {
		if p := newPulse(usualPace, limit); p.answer != want {
			t.Errorf("with calls of %s it has %s to answer, want %s", limit, p.answer, want)
		}
	}
}
