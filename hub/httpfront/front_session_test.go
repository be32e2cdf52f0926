package httpfront

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
)

// TestAClientThatHasGoneIsNotWaitedForForEver: one that has a connection is.
func TestAClientThatHasGoneIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		session := newFrontSession("id", admission.Caller{}, 1, &slowExchanges{})
		defer session.closeSession()
		answer := make(chan *jsonrpc.Response, 1)
		began := time.Now()
		if _, err := session.answerTo(context.Background(), answer); !errors.Is(err, errAway) || time.Since(began) != awayTime {
			t.Errorf("a client without a connection: %v after %s", err, time.Since(began))
		}
		stream := session.newRequestStream()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			stream.Follow(ctx, httptest.NewRecorder(), 1, false, nil)
		}()
		time.AfterFunc(time.Hour, func() { answer <- &jsonrpc.Response{Result: []byte(`1`)} })
		if r, err := session.answerTo(context.Background(), answer); err != nil || string(r.Result) != "1" {
			t.Errorf("a client with one: %v", err)
		}
		cancel()
		<-done
	})
}

// heard is a response whose header a client takes as the beginning of its stream.
type heard struct {
	http.ResponseWriter
	begins func(status int)
}

func (h heard) WriteHeader(status int) {
	h.begins(status)
	h.ResponseWriter.WriteHeader(status)
}

// TestAStreamIsConnectedBeforeItsHeader: a client calls as soon as it has the header of its stream, and what is told to it
// belongs there from then on.
func TestAStreamIsConnectedBeforeItsHeader(t *testing.T) {
	t.Parallel()
	h := newFakeHub()
	c := serveWeb(t, h, FrontOptions{Hosts: []string{"hub.test"}}).initialize(`{}`).initialized()
	for len(h.open()) == 0 { // the session begins beside the answer
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://hub.test/mcp", nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set(headers.Session, c.session)
	r.Header.Set(headers.Protocol, "2025-11-25")
	began, rec := false, httptest.NewRecorder()
	h.front.Load().ServeHTTP(heard{rec, func(status int) {
		began = status == http.StatusOK
		if !h.open()[0].Connected() {
			t.Error("the client has the header of a stream that is not connected")
		}
		cancel()
	}}, r)
	if !began {
		t.Errorf("the hub did not begin a stream: %d %s", rec.Code, rec.Body)
	}
}
