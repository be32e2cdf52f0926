package run_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mcphub/children/run"
	"mcphub/children/spec"
)

// The end of stderr is quoted to the one session whose child it is, unless the reason holds it.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	stderr := strings.Repeat("early\n", 5) + strings.Repeat("late\n", 9) + "last"
	cause := errors.New("cause")
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareRoots, spec.ShareAll} {
		e := run.NewUnavailable(spec.Spec{Name: "kid", Share: share}, "it is gone", stderr, cause)
		if e.Child != "kid" || e.Stderr != stderr || !errors.Is(e, cause) {
			t.Errorf("%+v", e)
		}
		text := `server "kid" is not available: it is gone`
		if share == spec.ShareSession {
			text += "; the end of its stderr:\n" + strings.Repeat("late\n", 9) + "last"
		}
		if e.Error() != text {
			t.Errorf("%s: %q", share, e)
		}
	}
	for stderr, quoted := range map[string]bool{"": false, " \n": false, "gone": false, "gone\n": false, "why": true} {
		if got := run.NewUnavailable(spec.Spec{}, "it is gone", stderr, nil).Error(); strings.Contains(got, "the end of its stderr") != quoted {
			t.Errorf("%q: %q", stderr, got)
		}
	}
	e := run.NewUnavailable(spec.Spec{Name: "kid"}, "no", "", nil)
	e.RetryAfter = 1234 * time.Millisecond
	if got := e.Error(); got != `server "kid" is not available: no; it is not started again for 1.2s, a call after that starts it` {
		t.Errorf("%q", got)
	}
	late := &run.TimeoutError{Child: "kid", Method: "tools/call", After: time.Minute}
	contains(t, "timeout", late.Error(), `"kid" did not answer tools/call within 1m0s`, `"timeout": {"call": ...}`)
}
