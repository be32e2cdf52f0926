package hub

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// wire is a client that is nothing but lines: it sends what a test writes, in the order it writes it, right or wrong.
// Time is not waited for anywhere: what follows what on a stream is all that these tests need. What needs a clock is
// tested in a bubble of testing/synctest, in rootsmgr's manager tests.
type wire struct {
	t     *testing.T
	in    *os.File
	lines chan string
	asked int
}

func dial(t *testing.T, h *Hub) *wire {
	t.Helper()
	toHub, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromHub, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, in: in, lines: make(chan string, 1000)}
	var wg sync.WaitGroup
	wg.Go(func() { _ = h.ServeStdio(context.Background(), toHub, fromHub, Surroundings{}); fromHub.Close() })
	wg.Go(func() {
		defer close(w.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			w.lines <- s.Text()
		}
	})
	t.Cleanup(func() {
		in.Close()
		wg.Wait()
		out.Close()
	})
	return w
}

// send writes lines at once.
func (w *wire) send(lines ...string) {
	w.t.Helper()
	if _, err := w.in.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		w.t.Fatal(err)
	}
}

// next reads up to the first line that has a member with this raw value, and fails on a line with one of not.
func (w *wire) next(member, value string, not ...string) string {
	w.t.Helper()
	for line := range w.lines {
		if string(jsonrpc.Get([]byte(line), "method")) == `"roots/list"` {
			w.asked++
		}
		if string(jsonrpc.Get([]byte(line), member)) == value {
			return line
		}
		for _, id := range not {
			if string(jsonrpc.Get([]byte(line), "id")) == id && jsonrpc.Get([]byte(line), "method") == nil {
				w.t.Fatalf("answered too early: %s", line)
			}
		}
	}
	w.t.Fatalf("the stream ended before %s %s", member, value)
	return ""
}

// question reads up to the next roots/list and returns its id.
func (w *wire) question(not ...string) string {
	w.t.Helper()
	return string(jsonrpc.Get([]byte(w.next("method", `"roots/list"`, not...)), "id"))
}

// judged reads up to the answer of a call and reports whether it was denied.
func (w *wire) judged(id string) (denied bool, msg string) {
	w.t.Helper()
	msg, denied = text(string(jsonrpc.Get([]byte(w.next("id", id)), "result")))
	return denied, msg
}

// serve answers every question with these roots until the calls have their answers, and reports which were denied.
func (w *wire) serve(dirs []string, ids ...string) map[string]bool {
	w.t.Helper()
	got := map[string]bool{}
	for line := range w.lines {
		id := string(jsonrpc.Get([]byte(line), "id"))
		if string(jsonrpc.Get([]byte(line), "method")) == `"roots/list"` {
			w.asked++
			w.send(answer(id, dirs...))
			continue
		}
		for _, want := range ids {
			if id == want {
				_, got[id] = text(string(jsonrpc.Get([]byte(line), "result")))
			}
		}
		if len(got) == len(ids) {
			return got
		}
	}
	w.t.Fatal("the stream ended")
	return nil
}

const (
	hello       = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	changed     = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
)

func echo(id, path string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"kid__echo","arguments":{"path":%q}}}`, id, filepath.Join(path, "f"))
}

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func answer(id string, dirs ...string) string {
	var roots []string
	for _, d := range dirs {
		roots = append(roots, fmt.Sprintf(`{"uri":"file://%s"}`, d))
	}
	return answerRaw(id, `"result":{"roots":[`+strings.Join(roots, ",")+`]}`)
}

func answerRaw(id, members string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + members + `}` }

func lifecycle(t *testing.T) (h *Hub, one, two string) {
	return newPlayedHub(t, scripted("kid", childtest.Script{})), t.TempDir(), t.TempDir()
}

// begin returns a session whose roots are known.
func begin(t *testing.T, h *Hub, dirs ...string) *wire {
	t.Helper()
	w := dial(t, h)
	w.send(hello, initialized)
	w.send(answer(w.question(), dirs...))
	w.send(echo("1", dirs[0]))
	if denied, msg := w.judged("1"); denied {
		t.Fatal(msg)
	}
	return w
}

func TestLifecycleCallBeforeInitialized(t *testing.T) {
	h, one, two := lifecycle(t)
	w := dial(t, h)
	w.send(hello, echo("1", one), echo("2", two), ping("3"))
	w.next("id", "3", "1", "2") // served meanwhile
	if w.asked != 0 {
		t.Error("asked before initialized")
	}
	w.send(initialized)
	w.send(answer(w.question("1", "2"), one))
	if got := w.serve([]string{one}, "1", "2"); got["1"] || !got["2"] {
		t.Errorf("denied: %v; want the one outside", got)
	}
}

func TestLifecycleCallBeforeTheAnswer(t *testing.T) {
	h, one, _ := lifecycle(t)
	w := dial(t, h)
	w.send(hello, initialized)
	id := w.question()
	w.send(echo("1", one), ping("2"))
	w.next("id", "2", "1")
	w.send(answer(id, one))
	if denied, msg := w.judged("1"); denied {
		t.Error(msg)
	}
}

// TestLifecycleCallPipelined: everything in one write, and the call before what it waits for.
func TestLifecycleCallPipelined(t *testing.T) {
	h, one, two := lifecycle(t)
	w := dial(t, h)
	w.send(hello, initialized, echo("1", one), ping("2"), changed, echo("3", two))
	if got := w.serve([]string{one}, "1", "3"); got["1"] || !got["3"] {
		t.Errorf("denied: %v; want the one outside", got)
	}
	// And the answer in one write with the next call.
	w = dial(t, h)
	w.send(hello, initialized)
	w.send(answer(w.question(), one), echo("1", one), echo("2", two))
	if denied, msg := w.judged("1"); denied {
		t.Error(msg)
	}
}

// TestLifecycleStaleAnswer: an answer from before a notification does not answer for what came after it, and one that
// comes after a newer one changes nothing.
func TestLifecycleStaleAnswer(t *testing.T) {
	h, one, two := lifecycle(t)
	w := begin(t, h, one, two)
	w.send(changed, echo("2", two))
	first := w.question("2")
	w.send(changed, echo("3", two), ping("4"))
	w.next("id", "4", "2", "3")
	w.send(answer(first, one, two)) // from before the second notification
	second, done := "", false
	for second == "" || !done { // in either order
		line := <-w.lines
		switch id := string(jsonrpc.Get([]byte(line), "id")); {
		case string(jsonrpc.Get([]byte(line), "method")) == `"roots/list"`:
			second = id
		case jsonrpc.Get([]byte(line), "method") != nil:
		case id == "2":
			if msg, denied := text(string(jsonrpc.Get([]byte(line), "result"))); denied {
				t.Error(msg)
			}
			done = true
		default:
			t.Fatalf("answered too early: %s", line)
		}
	}
	w.send(answer(second, one), answer(first, one, two))
	if denied, _ := w.judged("3"); !denied {
		t.Error("narrowing while a call was on its way was lost")
	}
	w.send(answer(first, one, two), echo("5", two))
	if denied, _ := w.judged("5"); !denied {
		t.Error("a stale answer was applied over a newer one")
	}
}

// TestLifecycleRootsPushed: roots in a notification are no one's answer.
func TestLifecycleRootsPushed(t *testing.T) {
	h, one, two := lifecycle(t)
	w := begin(t, h, one)
	w.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"roots":[{"uri":"file:///"},{"uri":"file://`+two+`"}]}}`, echo("2", two))
	w.send(answer(w.question("2"), one))
	if denied, _ := w.judged("2"); !denied {
		t.Error("pushed roots were believed")
	}
	w = dial(t, h)
	w.send(hello, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"roots":[{"uri":"file:///"}]}}`)
	w.send(answer(w.question(), one), echo("2", two))
	if denied, _ := w.judged("2"); !denied {
		t.Error("roots beside initialized were believed")
	}
}
