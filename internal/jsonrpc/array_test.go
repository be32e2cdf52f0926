package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func always() bool { return true }

// together reads one line that must be a batch, and gives what each id got.
func (p *peer) together() map[string]string {
	p.t.Helper()
	line := p.read()
	var all []struct{ ID, Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(line), &all); err != nil {
		p.t.Fatalf("%v: %s", err, line)
	}
	got := map[string]string{}
	for i, a := range all {
		id := string(a.ID)
		if id == "null" {
			id = fmt.Sprintf("null at %d", i)
		}
		if _, twice := got[id]; twice {
			p.t.Errorf("%s is answered twice: %s", id, line)
		}
		got[id] = string(a.Result)
		var e struct{ Code int64 }
		if a.Error != nil && json.Unmarshal(a.Error, &e) == nil {
			got[id] = fmt.Sprint(e.Code)
		}
	}
	return got
}

func TestBatchIsAnsweredTogether(t *testing.T) {
	t.Parallel()
	var told []string
	h := &handler{
		request: func(_ context.Context, m *Message) Answer { return ResultAnswer(m.Params) },
		notify:  func(m *Message) { told = append(told, m.Method) },
	}
	fast := func(*Message, *Responder) bool { t.Error("a request of a batch took the fast path"); return false }
	p := linkOS(t, h, ConnOptions{Strict: true, Batches: always, Fast: fast, OnReadLoop: func(m string) bool { return m == "initialize" }})
	ours := p.call(t.Context(), "ours")
	p.want(`{"jsonrpc":"2.0","id":1,"method":"ours"}`)
	p.send(` [{"jsonrpc":"2.0","id":7,"method":"a","params":{"n":1.0}}, {"jsonrpc":"2.0","method":"note"},` +
		`{"jsonrpc":"2.0","id":"s","method":"b","params":[2]},{"jsonrpc":"2.0","id":1,"result":{"of":"ours"}},` +
		`{"jsonrpc":"2.0","id":8,"method":"initialize"},{"jsonrpc":"2.0","id":9},5,[{"jsonrpc":"2.0","id":10,"method":"a"}],{"id":11,"method":"x"}]`)
	got := p.together()
	want := map[string]string{"7": `{"n":1.0}`, `"s"`: "[2]", "8": "-32600", "9": "-32600", "11": "-32600"}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("%s got %s, want %s", id, got[id], w)
		}
		delete(got, id)
	}
	if len(got) != 2 { // the number, and the batch in the batch
		t.Errorf("left: %v", got)
	}
	if r := <-ours; r.err != nil || string(r.resp.Result) != `{"of":"ours"}` {
		t.Errorf("our own call: %v %v", r.resp, r.err)
	}
	p.nothing()
	if !slices.Equal(told, []string{"note"}) {
		t.Errorf("told: %q", told)
	}
}

func TestBatchWithoutRequestsIsNotAnswered(t *testing.T) {
	t.Parallel()
	told := make(chan string, 2)
	p := linkOS(t, &handler{notify: func(m *Message) { told <- m.Method }}, ConnOptions{Strict: true, Batches: always})
	p.send(`[{"jsonrpc":"2.0","method":"one"},{"jsonrpc":"2.0","method":"two"},{"jsonrpc":"2.0","id":77,"result":{}}]`)
	if one, two := <-told, <-told; one != "one" || two != "two" {
		t.Errorf("%s, %s", one, two)
	}
	p.nothing()
}

// A batch is read only if it has been agreed on, and only within bounds.
func TestBatchIsRefused(t *testing.T) {
	t.Parallel()
	var agreed atomic.Bool
	p := linkOS(t, &handler{}, ConnOptions{Strict: true, FrameLimit: 1 << 20, Batches: agreed.Load})
	const one = `[{"jsonrpc":"2.0","id":7,"method":"x"}]`
	p.send(one)
	p.wantError("null", CodeInvalidRequest)
	agreed.Store(true)
	p.send(one)
	if got := p.together(); got["7"] != "null" {
		t.Errorf("control: %v", got)
	}
	p.send(`[]`)
	p.wantError("null", CodeInvalidRequest)
	p.send(`[` + strings.Repeat(`1,`, MaxBatch) + `1]`)
	p.wantError("null", CodeInvalidRequest)
	p.send(one[:len(one)-1])
	p.wantError("null", CodeParse)
	p.send(`[{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1,"a":2}}]`) // two readings
	if got := p.together(); got["7"] != "-32602" {
		t.Errorf("%v", got)
	}
	p.nothing()
}

// One request of a batch is cancelled: the others are answered, without it. All of
// them: nothing is sent.
func TestRequestOfABatchIsCancelled(t *testing.T) {
	t.Parallel()
	started := make(chan string, 3)
	h := &handler{request: func(ctx context.Context, m *Message) Answer {
		started <- m.Method
		if m.Method == "wait" {
			<-ctx.Done()
			if !errors.As(context.Cause(ctx), new(*CancelledError)) {
				t.Errorf("ended by %v", context.Cause(ctx))
			}
		}
		return ResultAnswer([]byte(`"` + m.Method + `"`))
	}}
	p := linkOS(t, h, ConnOptions{Strict: true, Batches: always})
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	p.send(`[{"jsonrpc":"2.0","id":7,"method":"wait"},{"jsonrpc":"2.0","id":8,"method":"go"}]`)
	<-started
	<-started
	p.send(cancel)
	if got := p.together(); len(got) != 1 || got["8"] != `"go"` {
		t.Errorf("%v", got)
	}
	p.send(`[{"jsonrpc":"2.0","id":7,"method":"wait"}]`)
	<-started
	p.send(cancel)
	p.nothing()
}

// The answers of a batch are held until the last one is there, so they are bounded
// as one message is.
func TestAnswersOfABatchAreBounded(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", 40<<10) + `"`
	h := &handler{request: func(context.Context, *Message) Answer { return ResultAnswer([]byte(long)) }}
	p := linkOS(t, h, ConnOptions{Strict: true, FrameLimit: 64 << 10, Batches: always})
	p.send(`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"a"},{"jsonrpc":"2.0","id":3,"method":"a"}]`)
	whole, refused := 0, 0
	for _, got := range p.together() {
		switch got {
		case long:
			whole++
		case "-32603":
			refused++
		}
	}
	if whole != 1 || refused != 2 {
		t.Errorf("%d whole, %d refused", whole, refused)
	}
}

// A child may send what it has to say in one array.
func TestBatchOfALenientPeer(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	h := &handler{
		request: func(_ context.Context, m *Message) Answer { return ResultAnswer([]byte(`"` + m.Method + `"`)) },
		notify:  func(m *Message) { told <- m.Method },
	}
	p := linkOS(t, h, ConnOptions{Batches: always})
	first := p.call(t.Context(), "first")
	p.read()
	second := p.call(t.Context(), "second")
	p.read()
	p.send(`[{"jsonrpc":"2.0","method":"note"},{"jsonrpc":"2.0","id":2,"result":{"a":1,"a":2}},{"jsonrpc":"2.0","id":"q","method":"roots/list"},7,{"jsonrpc":"2.0","id":1,"result":1,"error":{}}]`)
	if r := <-second; r.err != nil || string(r.resp.Result) != `{"a":1,"a":2}` {
		t.Errorf("%v %v", r.resp, r.err)
	}
	var broken *BrokenError
	if r := <-first; !errors.As(r.err, &broken) {
		t.Errorf("%v %v", r.resp, r.err)
	}
	if got := p.together(); len(got) != 1 || got[`"q"`] != `"roots/list"` {
		t.Errorf("%v", got)
	}
	if got := <-told; got != "note" {
		t.Error(got)
	}
}
