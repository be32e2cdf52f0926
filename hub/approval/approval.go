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
func (approval *Approval) Spend(request Digest, now time.Time) error {
	if subtle.ConstantTimeCompare(approval.request[:], request[:]) != 1 {
		return errOtherCall
	}
	approval.mu.Lock()
	defer approval.mu.Unlock()
	switch {
	case approval.spent:
		return errSpent
	case now.After(approval.expires):
		return errExpired
	}
	approval.spent = true
	return nil
}

// Rule returns the rule that is lifted for the request; "" for none, as of nil.
func (approval *Approval) Rule() string {
	if approval == nil {
		return ""
	}
	return approval.rule
}

// By returns who was asked: see [Asker].
func (approval *Approval) By() string { return approval.by }
