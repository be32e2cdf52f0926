package jsonrpc

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"mcphub/internal/kept"
)

// linkKept starts a Conn over pipes whose state is kept.
func linkKept(t *testing.T, h *handler, options ConnOptions) *peer {
	t.Helper()
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	files, err := kept.NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	if options.Kept, _, err = kept.Open(files, kept.Limits{Frame: 1 << 20, ID: 64, Requests: 100}, int(w.Fd())); err != nil {
		files.Close()
		t.Fatal(err)
	}
	t.Cleanup(options.Kept.Close)
	return linkOver(t, r, in, out, w, h, options)
}

// TestWhatWasJudgedIsServed: another process changes the memory after a message was judged. The handlers get what was judged.
func TestWhatWasJudgedIsServed(t *testing.T) {
	const judged, other = "judged", "other!"
	for _, size := range []int{10, FastFrame + 1, 100 << 10} {
		fast := 0
		seen := make(chan string, 10)
		h := &handler{
			request: func(_ context.Context, m *Message) Answer {
				seen <- string(m.Frame) + string(m.Params)
				return ResultAnswer(m.Params)
			},
			notify: func(m *Message) { seen <- string(m.Frame) + string(m.Params) },
		}
		options := ConnOptions{Strict: true, FrameLimit: 1 << 20}
		options.Fast = func(m *Message, r *Responder) bool {
			if m.Method != "fast" {
				return false
			}
			fast++
			seen <- string(m.Frame) + string(m.Params)
			r.Answer(ResultAnswer(m.Params))
			return true
		}
		var p *peer
		flipped := 0
		options.Taking = func(*Message) {
			arena := p.conn.options.Kept.Arena()[:256<<10]
			for rest := arena; ; {
				i := strings.Index(string(rest), judged)
				if i < 0 {
					break
				}
				copy(rest[i:], other)
				rest = rest[i:]
				flipped++
			}
		}
		started := make(chan struct{})
		taking := options.Taking
		options.Taking = func(m *Message) { <-started; taking(m) }
		p = linkKept(t, h, options)
		close(started)
		params := `"` + judged + strings.Repeat("x", size) + `"`
		for i, method := range []string{"fast", "slow", "note"} {
			id := `"id":` + strconv.Itoa(i) + `,`
			if method == "note" {
				id = ""
			}
			p.send(`{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":` + params + `}`)
			if got := <-seen; strings.Contains(got, other) || strings.Count(got, judged) != 2 {
				t.Errorf("%s of %d bytes: the handler gets %.80s", method, size, got)
			}
			if id != "" {
				p.want(`{"jsonrpc":"2.0",` + id + `"result":` + params + `}`)
			}
		}
		p.nothing()
		if flipped < 3 || (fast > 0) != (size < FastFrame) {
			t.Errorf("%d places were changed, and %d requests were fast: nothing was shown", flipped, fast)
		}
	}
}

// TestAnAnswerThatFindsNoRoom: an answer for which kept memory never has room is replaced by an error, and the session goes on.
func TestAnAnswerThatFindsNoRoom(t *testing.T) {
	var p *peer
	started := make(chan struct{})
	huge := func() Answer {
		<-started
		return ResultAnswer(bytes.Repeat([]byte{'1'}, p.conn.options.Kept.Longest()))
	}
	h := &handler{request: func(context.Context, *Message) Answer { return huge() }}
	p = linkKept(t, h, ConnOptions{Strict: true, FrameLimit: 1 << 20, OnReadLoop: func(method string) bool { return method == "loop" }, Fast: func(m *Message, r *Responder) bool {
		if m.Method != "fast" {
			return false
		}
		r.Answer(huge())
		return true
	}})
	close(started)
	for i, method := range []string{"fast", "slow", "loop"} {
		id := strconv.Itoa(i)
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`)
		if said := p.wantError(id, CodeInternal); !strings.Contains(said, "may have run") {
			t.Error(said)
		}
	}
	p.nothing()
}
