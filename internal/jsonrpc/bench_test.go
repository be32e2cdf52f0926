package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"
)

// blob returns a frame of about n bytes as a tool answers with: text with an
// escape now and then.
func blob(n int) []byte {
	b := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
	for len(b) < n {
		b = append(b, `the quick brown fox jumps over the lazy dog and comes back for one more of these\n`...)
	}
	return append(b, `"}]}}`...)
}

var blobSizes = map[string]int{"64KiB": 64 << 10, "1MiB": 1 << 20, "10MiB": 10 << 20}

func BenchmarkSplit(b *testing.B) {
	small := []byte(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"c0__echo","arguments":{"text":"hello world hello world"},"_meta":{"progressToken":12}}}`)
	for _, bb := range []struct {
		name string
		line []byte
	}{{"small", small}, {"1MiB", blob(1 << 20)}, {"10MiB", blob(10 << 20)}} {
		for _, strict := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/strict=%v", bb.name, strict), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(bb.line)))
				var m Message
				for b.Loop() {
					if err := Split(bb.line, strict, &m); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// benchConn starts a Conn over pipes of the system.
func benchConn(b *testing.B, r io.ReadCloser, w io.WriteCloser, h Handler) *Conn {
	c := NewConn(r, w, h, ConnOptions{})
	ctx, stop := context.WithCancel(context.Background())
	go func() { _ = c.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		<-c.Done()
	})
	return c
}

func benchPipe(b *testing.B) (*os.File, *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	return r, w
}

// relay is what a hub does: it serves one Conn by calling another.
type relay struct {
	*handler
	to *Conn
}

func (r *relay) ServeRequest(ctx context.Context, m *Message) Answer {
	resp, err := r.to.Call(ctx, m.Method, m.Params)
	if err != nil {
		return ErrorAnswer(CodeInternal, err.Error())
	}
	return Answer{Result: resp.Result, Error: resp.Error, Release: resp.Release}
}

// chain starts a client and a child with a relay in between, and returns the
// client.
func chain(b *testing.B, child Handler) *Conn {
	childR, toChild := benchPipe(b)
	fromChild, childW := benchPipe(b)
	benchConn(b, childR, childW, child)
	down := benchConn(b, fromChild, toChild, &handler{})
	hubR, toHub := benchPipe(b)
	fromHub, hubW := benchPipe(b)
	benchConn(b, hubR, hubW, &relay{to: down})
	return benchConn(b, fromHub, toHub, &handler{})
}

func direct(b *testing.B, child Handler) *Conn {
	childR, toChild := benchPipe(b)
	fromChild, childW := benchPipe(b)
	benchConn(b, childR, childW, child)
	return benchConn(b, fromChild, toChild, &handler{})
}

var topologies = []struct {
	name  string
	start func(*testing.B, Handler) *Conn
}{{"direct", direct}, {"relay", chain}}

func BenchmarkEcho(b *testing.B) {
	echo := &handler{request: func(_ context.Context, m *Message) Answer { return ResultAnswer(m.Params) }}
	params := []byte(`{"name":"echo","arguments":{"text":"0123456789012345678901234567890123456789"}}`)
	for _, top := range topologies {
		for _, callers := range []int{1, 64} {
			b.Run(top.name+"/"+strconv.Itoa(callers), func(b *testing.B) {
				c := top.start(b, echo)
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						for range (b.N + i) / callers {
							r, err := c.Call(context.Background(), "tools/call", params)
							if err != nil || len(r.Result) != len(params) {
								b.Error(err)
								return
							}
							r.Release()
						}
					})
				}
				wg.Wait()
				b.StopTimer()
			})
		}
	}
}

func BenchmarkLargeAnswer(b *testing.B) {
	for _, name := range []string{"64KiB", "1MiB", "10MiB"} {
		frame := blob(blobSizes[name])
		var m Message
		if err := Split(frame, true, &m); err != nil {
			b.Fatal(err)
		}
		child := &handler{request: func(context.Context, *Message) Answer { return ResultAnswer(m.Result) }}
		for _, top := range topologies {
			b.Run(name+"/"+top.name, func(b *testing.B) {
				c := top.start(b, child)
				b.ReportAllocs()
				b.SetBytes(int64(len(m.Result)))
				for b.Loop() {
					r, err := c.Call(context.Background(), "x")
					if err != nil || len(r.Result) != len(m.Result) {
						b.Fatal(err)
					}
					r.Release()
				}
			})
		}
	}
}

func BenchmarkLargeArguments(b *testing.B) {
	params := bytes.Repeat([]byte("x"), 1<<20)
	params[0], params[len(params)-1] = '"', '"'
	for _, top := range topologies {
		b.Run("1MiB/"+top.name, func(b *testing.B) {
			c := top.start(b, &handler{})
			b.ReportAllocs()
			b.SetBytes(int64(len(params)))
			for b.Loop() {
				if _, err := c.Call(context.Background(), "x", params); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
