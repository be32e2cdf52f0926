package inflight

import (
	"context"
	"errors"
	"testing"

	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

// someone is a client that can be told something early, or not.
type someone struct {
	name    string
	reached bool
}

func (s someone) Reaches() bool { return s.reached }

// TestWhoseWordsTheyAre: what a child says belongs to the request that it came on,
// or to the only one that is with the child, or to none.
func TestWhoseWordsTheyAre(t *testing.T) {
	t.Parallel()
	var rs OpenRequests[someone]
	kid, other := spec.Key{Child: "kid"}, spec.Key{Child: "other"}
	deaf := &OpenRequest[someone]{Key: &kid, Client: someone{"deaf", false}}
	near := &OpenRequest[someone]{Key: &kid, Client: someone{"near", true}}
	far := &OpenRequest[someone]{Key: &other, Client: someone{"far", true}}
	check := func(came, on *OpenRequest[someone], to string, ok bool) {
		t.Helper()
		gotOn, gotTo, gotOK := rs.Find(kid, came)
		if gotOn != on || gotTo.name != to || gotOK != ok {
			t.Errorf("it belongs to %v, %q, %v", gotOn, gotTo.name, gotOK)
		}
	}
	rs.Start(far)
	check(nil, nil, "", false)
	check(far, nil, "", false) // which is with another child
	rs.Start(deaf)
	check(nil, deaf, "deaf", true)
	rs.Start(near)
	check(nil, nil, "near", true)
	check(deaf, deaf, "deaf", true)
	if got := rs.Candidates(kid, nil); len(got) != 2 || got[0] != near || got[1] != deaf {
		t.Errorf("candidates: %v", got)
	}
	rs.End(near, false)
	check(near, deaf, "deaf", true) // it is over
	rs.End(deaf, false)
	check(nil, nil, "", false)
	if rs.Started() != 3 {
		t.Errorf("%d were started", rs.Started())
	}
}

// TestQuestionsEndWithTheirRequest: if the request was given up. The question of a
// request that was answered goes on.
func TestQuestionsEndWithTheirRequest(t *testing.T) {
	t.Parallel()
	for _, givenUp := range []bool{true, false} {
		var rs OpenRequests[someone]
		r := &OpenRequest[someone]{Key: &spec.Key{Child: "kid"}, Client: someone{"near", true}}
		rs.Start(r)
		there, end := make(chan struct{}), make(chan struct{})
		ended := make(chan error)
		go func() {
			_, err := rs.Ask(t.Context(), *r.Key, r, &jsonrpc.Message{Method: "ask"}, func(ctx context.Context, to someone, ok bool, _ []byte) (*jsonrpc.Response, error) {
				if !ok || to.name != "near" {
					t.Errorf("it goes to %q", to.name)
				}
				close(there)
				select {
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-end:
					return nil, nil
				}
			})
			ended <- err
		}()
		<-there
		told := rs.End(r, givenUp)
		if givenUp {
			if err := <-ended; !errors.Is(err, errRequestOver) || len(told) != 1 {
				t.Errorf("it ended with %v", err)
			}
			<-told[0]
			continue
		}
		close(end)
		if err := <-ended; err != nil || len(told) != 0 {
			t.Errorf("it ended with %v", err)
		}
	}
}

// TestQuestionsAreBounded: of one child and of all; what is over makes room.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	var rs OpenRequests[someone]
	var all []*question[someone]
	enter := func(child string) error {
		q := &question[someone]{key: spec.Key{Child: child}, over: make(chan struct{})}
		_, _, err := rs.enterQuestion(q, nil)
		if err == nil {
			all = append(all, q)
		}
		return err
	}
	for i, c := range []struct {
		child string
		n     int
	}{{"a", maxAskedEach}, {"b", maxAsked - maxAskedEach}} {
		for range c.n {
			if err := enter(c.child); err != nil {
				t.Fatal(i, err)
			}
		}
		var busy *BusyError
		if err := enter(c.child); !errors.As(err, &busy) {
			t.Errorf("%s asks without end: %v", c.child, err)
		}
	}
	if enter("c") == nil {
		t.Error("all together ask without end")
	}
	rs.leaveQuestion(all[0])
	if err := enter("c"); err != nil {
		t.Errorf("what is over makes no room: %s", err)
	}
}
