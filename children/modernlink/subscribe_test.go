package modernlink

import (
	"testing"

	"mcphub/children/link"
)

// TestFinalError: a stream that the server refuses is not opened again. One that was not asked for, because there was no token, is.
func TestFinalError(t *testing.T) {
	t.Parallel()
	for unsent, final := range map[bool]bool{false: true, true: false} {
		err := &link.StatusError{Code: 401, Advice: "why", Unsent: unsent}
		if got := (&listener{}).finalError(nil, err); (got != nil) != final {
			t.Errorf("unsent %t: %v", unsent, got)
		}
	}
}
