package hub

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// recordedWeb is a session over HTTP whose calls are recorded in a folder that a
// test can fill up, or hold.
type recordedWeb struct {
	*webClient
	h    *Hub
	rec  *audit.Recorder
	dir  string
	full atomic.Bool
	gate sync.RWMutex  // held: nothing can be written
	seen chan struct{} // a decision is about to be written
	stop func()

	decisions atomic.Int32 // writes with decisions in them
}

func newRecordedWeb(t *testing.T, cfg Audit) *recordedWeb {
	t.Helper()
	r := &recordedWeb{dir: filepath.Join(t.TempDir(), "audit"), seen: make(chan struct{}, 1000)}
	cfg.Recorder = audit.NewRecorder(audit.Options{Dir: r.dir, Write: func(f io.Writer, b []byte) (int, error) {
		decides := bytes.Contains(b, []byte(`"kind":"decision"`))
		if decides { // outcomes come by themselves
			select {
			case r.seen <- struct{}{}:
			default:
			}
		}
		r.gate.RLock()
		defer r.gate.RUnlock()
		if decides {
			r.decisions.Add(1)
		}
		if r.full.Load() {
			n, _ := f.Write(b[:len(b)/2])
			return n, syscall.ENOSPC
		}
		return f.Write(b)
	}}, nil)
	r.rec = cfg.Recorder
	r.stop = runRecorder(t, cfg.Recorder)
	child := scripted("kid", childtest.Script{})
	child.Share = spec.ShareAll
	hub := testConfig(t, child)
	hub.Audit = cfg
	r.h = runHub(t, hub)
	w := serveWeb(t, r.h, HTTPOptions{})
	w.c.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	r.webClient = w.initialize(`{}`).initialized()
	r.frames(r.request("tools/call", toolCall("kid__echo", `{"n":"first"}`)), nil)
	return r
}

// results ends the record and counts what became of the calls.
func (r *recordedWeb) results(t *testing.T) map[string]int {
	t.Helper()
	r.stop()
	if report, err := trail.Verify(r.dir); err != nil || !report.IsWhole() {
		t.Errorf("%+v, %v", report, err)
	}
	all, err := trail.Decisions(r.dir, trail.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	count, once := map[string]int{}, map[string]bool{}
	for _, d := range all {
		if d.Outcome == nil || once[d.Session+string(d.Request)] {
			t.Errorf("no outcome, or twice: %s", d.Raw)
			continue
		}
		once[d.Session+string(d.Request)] = true
		count[d.Outcome.Result]++
	}
	return count
}

// held waits until so many calls wait for the record.
func (r *recordedWeb) held(t *testing.T, n int) {
	t.Helper()
	if !bounds.Within(bounds.Patience, func() bool { return r.h.recordGroup.Waiting() == n }) {
		t.Fatalf("%d calls wait, want %d", r.h.recordGroup.Waiting(), n)
	}
}

// Many calls over HTTP share lines and writes, and each is in the file before
// it is answered.
func TestAGroupIsRecordedFirst(t *testing.T) {
	const callers, times = 64, 8
	r := newRecordedWeb(t, Audit{Required: true, Arguments: true})
	path := filepath.Join(r.dir, r.rec.State().Log+".jsonl")
	for len(r.seen) > 0 {
		<-r.seen
	}
	r.gate.Lock() // the first line waits, so that the others come together
	var wg sync.WaitGroup
	call := func(i int) {
		wg.Go(func() {
			for k := range times {
				mark := fmt.Sprintf("(%d.%d)", i, k)
				got := body(t, r.request("tools/call", toolCall("kid__echo", `{"n":"`+mark+`"}`)))
				b, err := os.ReadFile(path)
				if err != nil || !strings.Contains(got, mark) || !strings.Contains(string(b), mark) {
					t.Errorf("%s: %v: %s", mark, err, got)
				}
			}
		})
	}
	call(0)
	<-r.seen
	for i := range callers - 1 {
		call(i + 1)
	}
	r.held(t, callers-1)
	r.gate.Unlock()
	wg.Wait()
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), `"calls":[`) {
		t.Errorf("no calls share a line: %v", err)
	}
	if got := r.results(t); got[audit.ResultOK] != callers*times+1 {
		t.Errorf("%v", got)
	}
}

// Calls of many sessions that come together share writes: a hub with a hundred clients
// pays for one write, and not for a hundred.
func TestSessionsAreRecordedTogether(t *testing.T) {
	const sessions = 32
	r := newRecordedWeb(t, Audit{Required: true})
	var all []*webClient
	for range sessions {
		c := r.web.initialize(`{}`).initialized()
		c.frames(c.request("tools/call", toolCall("kid__echo", `{"n":"first"}`)), nil)
		all = append(all, c)
	}
	for len(r.seen) > 0 {
		<-r.seen
	}
	r.gate.Lock() // the first line waits, so that the others come together
	var wg sync.WaitGroup
	call := func(c *webClient) {
		wg.Go(func() {
			if got := body(t, c.request("tools/call", toolCall("kid__echo", `{"n":"mark"}`))); !strings.Contains(got, "mark") {
				t.Error(got)
			}
		})
	}
	call(r.webClient)
	<-r.seen
	for _, c := range all {
		call(c)
	}
	r.held(t, sessions)
	decided := r.decisions.Load()
	r.gate.Unlock()
	wg.Wait()
	if n := r.decisions.Load() - decided; n != 2 { // the first line, and all others
		t.Errorf("%d sessions that came together cost %d writes, want 1", sessions, n-1)
	}
	if got := r.results(t); got[audit.ResultOK] != 1+1+2*sessions {
		t.Errorf("%v", got)
	}
}

// A call that is cancelled while it waits for the record is not sent; the ones
// that came with it are.
func TestCancelledInAGroup(t *testing.T) {
	r := newRecordedWeb(t, Audit{Required: true})
	for len(r.seen) > 0 {
		<-r.seen
	}
	r.gate.Lock()
	answers := make(chan string, 3)
	send := func(id, tool string) {
		answers <- body(t, r.send(`{"jsonrpc":"2.0","id":"`+id+`","method":"tools/call","params":`+toolCall("kid__"+tool, `{"n":"`+id+`"}`)+`}`))
	}
	go send("leader", "echo")
	<-r.seen // it is being written
	go send("unwanted", "sleep")
	r.held(t, 1)
	go send("other", "echo")
	r.held(t, 2)
	if resp := r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unwanted"}}`); resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp.StatusCode)
	}
	r.gate.Unlock()
	all := <-answers + <-answers + <-answers
	if !strings.Contains(all, `"id":"leader"`) || !strings.Contains(all, `"id":"other"`) || strings.Contains(all, `"id":"unwanted","result"`) {
		t.Error(all)
	}
	if noticed := body(t, r.request("tools/call", toolCall("kid__noticed", `{}`))); strings.Contains(noticed, "sleeping") {
		t.Errorf("the child was sent it: %s", noticed)
	}
	if got, want := r.results(t), (map[string]int{audit.ResultOK: 4, audit.ResultCancelled: 1}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// closing tells about its end.
type closing struct {
	io.ReadCloser
	closed chan struct{}
	once   sync.Once
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.ReadCloser.Close()
}

// A call of a client that has gone while the line about it was written is not sent.
// One that is still there is the control.
func TestGoneWhileItIsRecorded(t *testing.T) {
	for _, gone := range []bool{false, true} {
		r := newRecordedWeb(t, Audit{Required: true})
		for len(r.seen) > 0 {
			<-r.seen
		}
		toHub, fromClient := io.Pipe()
		toClient, fromHub := io.Pipe()
		in := &closing{ReadCloser: toHub, closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { _ = r.h.ServeStdio(ctx, in, fromHub, Surroundings{}) })
		answered := make(chan struct{})
		all.Go(func() {
			lines := bufio.NewScanner(toClient)
			for lines.Scan() {
				if strings.Contains(lines.Text(), `"id":2,`) {
					close(answered)
				}
			}
		})
		write := func(frame string) {
			if _, err := io.WriteString(fromClient, frame+"\n"); err != nil {
				t.Error(err)
			}
		}
		write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`)
		write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + toolCall("kid__echo", `{}`) + `}`)
		<-answered // so that its line holds up nothing
		r.gate.Lock()
		for len(r.seen) > 0 {
			<-r.seen
		}
		write(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":` + toolCall("kid__sleep", `{}`) + `}`)
		<-r.seen // the line is being written
		if gone {
			cancel()
			<-in.closed
		}
		r.gate.Unlock()
		if gone {
			all.Wait()
		}
		noticed := func() bool {
			return strings.Contains(body(t, r.request("tools/call", toolCall("kid__noticed", `{}`))), "sleeping")
		}
		if gone && noticed() {
			t.Error("the child was sent it")
		}
		for !gone && !noticed() {
			if t.Context().Err() != nil {
				t.Fatal("the control was not sent")
			}
		}
		cancel()
		_ = fromClient.Close()
		all.Wait()
	}
}
