package approval

import (
	"crypto/subtle"
	"errors"
	"sync"
	"time"
)

// An Approval is one answer of a person to one request. The answer makes it, and
// sending the request uses it up. The zero value is good for nothing.
type Approval struct {
	request Digest
	rule    string // that escalated the request itself and is lifted for it; "" for none
	rules   []string
	by      string // who was asked
	expires time.Time

	mu    sync.Mutex
	spent bool
}

var (
	errOtherCall = errors.New("the approval was given for another call")
	errSpent     = errors.New("the approval was used already")
	errExpired   = errors.New("the approval came too long ago")
)

// Spend uses the approval up for the request of this digest, which is sent next.
func (a *Approval) Spend(request Digest, now time.Time) error {
	if subtle.ConstantTimeCompare(a.request[:], request[:]) != 1 {
		return errOtherCall
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.spent:
		return errSpent
	case now.After(a.expires):
		return errExpired
	}
	a.spent = true
	return nil
}

// Rule returns the rule that is lifted for the request; "" for none, as of nil.
func (a *Approval) Rule() string {
	if a == nil {
		return ""
	}
	return a.rule
}

// By returns who was asked: see [Asker].
func (a *Approval) By() string { return a.by }
