package httpfront

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/headers"
)

// lostWriter is a response whose connection breaks as its header is sent.
type lostWriter struct {
	*httptest.ResponseRecorder
	flushed int
}

func (w *lostWriter) FlushError() error {
	if w.flushed++; w.flushed == 1 {
		return errors.New("the connection is gone")
	}
	return nil
}

// A question that waits for a way to the client goes on as soon as the client has opened its stream, but not on a stream whose header does not
// arrive: that one ends at once.
func TestAQuestionWaitsForTheStreamOfItsClient(t *testing.T) {
	t.Parallel()
	for _, arrives := range []bool{true, false} {
		hostile(t, FrontOptions{}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
			c := w.initialize(`{"sampling":{}}`).initialized()
			synctest.Wait()
			session := h.open()[0]
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			ready := make(chan error, 1)
			go func() { ready <- session.AwaitReady(ctx) }()
			synctest.Wait()
			if arrives {
				c.do("GET", "", headers.Session, c.session, headers.Protocol, "2025-11-25")
			} else {
				start, lost := time.Now(), &lostWriter{ResponseRecorder: httptest.NewRecorder()}
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
				r.Header.Set("Accept", "text/event-stream")
				r.Header.Set(headers.Session, c.session)
				h.front.Load().serveGet(lost, r, session.caller)
				if time.Since(start) > 0 || lost.Body.Len() > 0 || lost.flushed != 1 {
					t.Errorf("it has gone on for %s: flushed %d times, wrote %q", time.Since(start), lost.flushed, lost.Body)
				}
			}
			if err := <-ready; (err == nil) != arrives {
				t.Errorf("arrives %t: %v", arrives, err)
			}
		})
	}
}
