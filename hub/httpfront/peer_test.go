package httpfront

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/internal/jsonrpc"
)

// TestAClientThatHasGoneIsNotWaitedForForEver: one that has a connection is.
func TestAClientThatHasGoneIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPeer("id", admission.Caller{}, 1, &slowReplies{})
		defer c.close()
		answer := make(chan *jsonrpc.Response, 1)
		began := time.Now()
		if _, err := c.answerTo(context.Background(), answer); !errors.Is(err, errAway) || time.Since(began) != awayTime {
			t.Errorf("a client without a connection: %v after %s", err, time.Since(began))
		}
		st := c.newRequestStream()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			st.Follow(ctx, httptest.NewRecorder(), 1, false, nil)
		}()
		time.AfterFunc(time.Hour, func() { answer <- &jsonrpc.Response{Result: []byte(`1`)} })
		if r, err := c.answerTo(context.Background(), answer); err != nil || string(r.Result) != "1" {
			t.Errorf("a client with one: %v", err)
		}
		cancel()
		<-done
	})
}
