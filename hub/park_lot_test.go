package hub

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"mcphub/internal/jsonrpc"
)

// TestLotRunsAllWork: whatever was taken in is done, by goroutines that rest in
// between, and none is left when the lot has closed.
func TestLotRunsAllWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lot
		var mu sync.Mutex
		taken, done := 0, 0
		enter := func(wait <-chan struct{}) bool {
			return l.enter(&parley{cancel: func(error) {}}, func() {
				if wait != nil {
					<-wait
				}
				mu.Lock()
				done++
				mu.Unlock()
			})
		}
		gate := make(chan struct{})
		for range 3 * mostResting {
			if !enter(gate) {
				t.Fatal("not taken")
			}
			taken++
		}
		close(gate)
		synctest.Wait()
		if l.crew.resting != mostResting {
			t.Errorf("%d rest, want %d", l.crew.resting, mostResting)
		}
		for range mostResting + 3 { // as many as rest, and more
			if enter(nil) {
				taken++
			}
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if enter(nil) {
					mu.Lock()
					taken++
					mu.Unlock()
				}
			})
		}
		l.close()
		all.Wait()
		if enter(nil) {
			t.Error("taken after the end")
		}
		if l.all.Wait(); taken != done {
			t.Errorf("%d taken, %d done", taken, done)
		}
	})
}

// TestPanicOfOneModernRequest: it is the end of that request alone.
func TestPanicOfOneModernRequest(t *testing.T) {
	h := newTestHub(t)
	s := h.newSession()
	work := func(serve func() jsonrpc.Answer) jsonrpc.Answer {
		p := &parley{s: s, request: &jsonrpc.Message{Method: "x"}, done: make(chan jsonrpc.Answer, 1), asked: make(chan struct{}, 1), cancel: func(error) {}}
		if !p.work(serve) {
			t.Fatal("not taken")
		}
		return p.attend(t.Context())
	}
	if a := work(func() jsonrpc.Answer { panic(errors.New("broken")) }); !strings.Contains(string(a.Error), "internal error") {
		t.Errorf("%s %s", a.Result, a.Error)
	}
	if a := work(func() jsonrpc.Answer { return jsonrpc.ResultAnswer([]byte(`{}`)) }); a.Result == nil {
		t.Errorf("%s", a.Error)
	}
	s.modern.lot.close()
}
