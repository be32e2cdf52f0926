package events

import (
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

var numbered = regexp.MustCompile(`id: 7-(\d+)\ndata: (\d+)\n`)

// A client whose connections break, and which goes on where it was, gets every event, in order and none twice.
func TestAStreamGoesOn(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 30).Draw(r, "events before each connection")
		synctest.Test(t, func(t *testing.T) {
			var waiting atomic.Int64
			st := New("7", &waiting)
			put, got := 0, 0
			for i, n := range steps {
				for range n {
					if !st.Put(Event{Parts: [][]byte{fmt.Append(nil, put)}}, FinalAnswer) {
						t.Fatal("it was not taken in")
					}
					put++
				}
				if i == len(steps)-1 {
					st.End()
				}
				ctx, cancel := context.WithCancel(context.Background())
				w := httptest.NewRecorder()
				done := make(chan bool)
				go func() { done <- st.Follow(ctx, w, uint64(got)+1, false, nil) }()
				synctest.Wait()
				cancel()
				if ended := <-done; ended != (i == len(steps)-1) {
					t.Fatalf("connection %d of %d: ended %t", i+1, len(steps), ended)
				}
				for _, e := range numbered.FindAllStringSubmatch(w.Body.String(), -1) {
					if number, data := e[1], e[2]; number != strconv.Itoa(got+1) || data != strconv.Itoa(got) {
						t.Fatalf("event %s is %s after %d", number, data, got)
					}
					got++
				}
				if got != put || waiting.Load() != 0 {
					t.Fatalf("%d of %d came, %d bytes wait", got, put, waiting.Load())
				}
			}
		})
	})
}

// A connection that does not start gets no part of the stream, and follows it no more.
func TestAConnectionThatDoesNotStart(t *testing.T) {
	t.Parallel()
	var waiting atomic.Int64
	st := New("7", &waiting)
	st.Put(Event{Parts: [][]byte{[]byte("1")}}, FinalAnswer)
	st.End()
	for starts, want := range map[bool]string{false: "", true: "id: 7-0\nretry: 1000\ndata: \n\nevent: message\nid: 7-1\ndata: 1\n\n"} {
		w := httptest.NewRecorder()
		if done := st.Follow(context.Background(), w, 1, true, func() bool { return starts }); done != starts || w.Body.String() != want || st.HasFollower() {
			t.Errorf("starts %t: done %t, followed %t, %q", starts, done, st.HasFollower(), w.Body)
		}
	}
}

// Where a client does not read, notifications are dropped first, then questions fail, and answers are kept. Control: one that reads.
func TestWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	large := Event{Parts: [][]byte{make([]byte, MaxWaiting/2)}}
	for _, c := range []struct {
		waits int // events of half of the room
		want  [3]bool
	}{{0, [3]bool{true, true, true}}, {2, [3]bool{false, true, true}}, {5, [3]bool{false, false, true}}} {
		for w := MayDrop; w <= FinalAnswer; w++ {
			var waiting atomic.Int64
			st := New("7", &waiting)
			for range c.waits {
				st.Put(large, FinalAnswer)
			}
			if ok := st.Put(large, w); ok != c.want[w] {
				t.Errorf("%d wait, weight %d: taken in %t", c.waits, w, ok)
			}
		}
	}
}
