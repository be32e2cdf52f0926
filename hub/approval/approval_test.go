package approval

import (
	"errors"
	"testing"
	"time"
)

// An answer opens what it was asked about once: the same answer again, and a
// late one, open nothing.
func TestAnAnswerIsGoodOnce(t *testing.T) {
	t.Parallel()
	call, other := DigestOf([]byte("a")), DigestOf([]byte("b"))
	now := time.Now()
	a := &Approval{request: call, expires: now.Add(time.Minute)}
	if err := a.Spend(other, now); !errors.Is(err, errOtherCall) {
		t.Errorf("for another call: %v", err)
	}
	if err := a.Spend(call, now); err != nil {
		t.Errorf("the control: %v", err)
	}
	if err := a.Spend(call, now); !errors.Is(err, errSpent) {
		t.Errorf("again: %v", err)
	}
	a = &Approval{request: call, expires: now.Add(-time.Nanosecond)}
	if err := a.Spend(call, now); !errors.Is(err, errExpired) {
		t.Errorf("late: %v", err)
	}
	if err := new(Approval).Spend(call, now); err == nil {
		t.Error("the zero approval is good")
	}
	if DigestOf([]byte("ab"), []byte("c")) == DigestOf([]byte("a"), []byte("bc")) || DigestOf(nil, []byte("a")) == DigestOf([]byte("a"), nil) {
		t.Error("two calls have one digest")
	}
}
