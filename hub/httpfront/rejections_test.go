package httpfront

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/httpfront/admission"
)

// TestAFloodOfRefusalsIsCountedAndToldWithinBounds: 100,000 requests that are refused are all counted, and 1,000 are told at most; the lines account for all
// of them.
func TestAFloodOfRefusalsIsCountedAndToldWithinBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		counted := 0
		var told []Rejection
		f, err := New(newFakeHub(), FrontOptions{
			Tokens: []admission.Token{{Name: "a", Secret: "s"}},
			Count:  func(status int, reason string) { counted++ }, Tell: func(r Rejection) { told = append(told, r) },
		})
		if err != nil {
			t.Fatal(err)
		}
		const flood = 100_000
		for i := range flood {
			if i%1000 == 0 {
				time.Sleep(time.Second) // 100 s for all of them
				f.rejections.flushHeld()
			}
			r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.RemoteAddr = "192.0.2.1:99"
			if i%2 == 0 {
				r.URL.Path = "/elsewhere"
			}
			f.ServeHTTP(&silent{http.Header{}}, r)
		}
		f.rejections.flushHeld()
		sum := len(told)
		for _, one := range told {
			sum += one.Suppressed
			if one.Address != "192.0.2.1" || one.Reason == "" || one.Status < 400 {
				t.Fatalf("%+v", one)
			}
		}
		if counted != flood || sum != flood {
			t.Errorf("%d were counted, and the lines account for %d of %d", counted, sum, flood)
		}
		if len(told) > 1000 || len(told) < rejectionBurst {
			t.Errorf("%d lines", len(told))
		}
		time.Sleep(rejectionBurst * rejectionEvery)
		told = nil
		f.rejections.flushHeld()
		f.reportRejection(&http.Request{}, http.StatusNotFound, ReasonPath, strings.Repeat("x", 3))
		if len(told) != 1 || told[0].Suppressed != 0 {
			t.Errorf("after a while: %+v", told)
		}
	})
}
