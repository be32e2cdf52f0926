package guard

import (
	"testing"
	"time"
)

// TestAStampAges: a stamp settles nothing as long as a change could have the same time, also on a filesystem that keeps whole seconds.
func TestAStampAges(t *testing.T) {
	t.Parallel()
	second := time.Unix(1_900_000_000, 0)
	for _, c := range []struct {
		changed time.Time
		age     time.Duration
		want    bool
	}{
		{second.Add(time.Nanosecond), 50 * time.Millisecond, false},
		{second.Add(time.Nanosecond), 200 * time.Millisecond, true},
		{second, 200 * time.Millisecond, false}, // a change in the rest of the second would have the same stamp
		{second, 999 * time.Millisecond, false},
		{second, 1200 * time.Millisecond, true},
		{second, -time.Hour, false}, // the clock was set back
	} {
		if got := (DirStamp{Changed: c.changed.UnixNano()}).hasAged(c.changed.Add(c.age)); got != c.want {
			t.Errorf("%s after %s: %t", c.age, c.changed, got)
		}
	}
}
