package run

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"mcphub/children/spec"
)

// ErrHung is why a child was stopped that answers nothing.
var ErrHung = errors.New("hung: it answered neither its calls nor the question whether it is there, and was stopped")

// An UnavailableError reports why a child cannot be called, or did not
// answer: what happened, the end of its stderr, and when to try again.
type UnavailableError struct {
	Child      string
	Reason     string        // "exited with status 1", "did not start within 60s", ...
	Stderr     string        // tail of its stderr, plain text, may be ""; for the operator
	RetryAfter time.Duration // 0: the next call starts it again
	Err        error         // the cause, if there is one
	Unsent     bool          // it ended before the call was written to it

	own bool // it is one session's own child: Error quotes Stderr
}

func (e *UnavailableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %q is not available: %s", e.Child, e.Reason)
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; it is not started again for %s, a call after that starts it", e.RetryAfter.Round(time.Second/10))
	}
	// The reason may hold this text already.
	if said := strings.TrimSpace(e.Stderr); e.own && said != "" && !strings.Contains(e.Reason, said) {
		fmt.Fprintf(&b, "; the end of its stderr:\n%s", lastLines(e.Stderr, 10))
	}
	return b.String()
}

// NewUnavailable returns why a child cannot be called. Its stderr is quoted only if the
// child belongs to one session.
func NewUnavailable(s spec.Spec, reason, stderr string, cause error) *UnavailableError {
	return &UnavailableError{Child: s.Name, Reason: reason, Stderr: stderr, Err: cause, own: s.Share == spec.ShareSession}
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// A TimeoutError ends a call for which nothing was heard of the child for too long.
type TimeoutError struct {
	Child  string
	Method string
	After  time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("server %q did not answer %s within %s, nor report progress; raise \"timeout\": {\"call\": ...} of this server where that is too short", e.Child, e.Method, e.After)
}

// Timeout marks e as a timeout.
func (e *TimeoutError) Timeout() bool { return true }

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
