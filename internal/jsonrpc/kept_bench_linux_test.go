package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/internal/kept"
	"mcphub/internal/stdio"
)

// BenchmarkKept measures the time that processors spend on a small request and its answer, over streams that an adapter has handed over: with
// and without the state of the session. Other programs only ever add, so it reports the least of many rounds.
func BenchmarkKept(b *testing.B) {
	for _, sockets := range []bool{false, true} {
		for _, keeps := range []bool{false, true} {
			for _, together := range []int{1, 8} {
				b.Run(fmt.Sprintf("sockets=%v/keeps=%v/%d", sockets, keeps, together), func(b *testing.B) {
					benchKept(b, sockets, keeps, together)
				})
			}
		}
	}
}

func benchKept(b *testing.B, sockets, keeps bool, together int) {
	const round = 400
	toIn, in := benchStream(b, sockets, true)
	fromOut, out := benchStream(b, sockets, false)
	options := ConnOptions{Strict: true, FrameLimit: 1 << 20, Fast: func(m *Message, r *Responder) bool {
		r.Answer(Answer{Result: m.Params, batch: r.Batch()})
		return true
	}}
	if keeps {
		files, err := kept.NewFiles()
		if err == nil {
			options.Kept, _, err = kept.Open(files, kept.Limits{Frame: 1 << 20, ID: 1 << 10, Requests: 4000}, out)
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(options.Kept.Close)
	}
	c := NewConn(stdio.Handed(in, "in", os.O_RDONLY), stdio.Handed(out, "out", os.O_WRONLY), &handler{}, options)
	ctx, stop := context.WithCancel(context.Background())
	go func() { _ = c.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		<-c.Done()
	})
	var all []byte
	for i := range together {
		all = fmt.Appendf(all, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"0123456789012345678901234567890123456789"}}}`+"\n", 1000+i)
	}
	got := make([]byte, 64<<10)
	ask := func() {
		if _, err := toIn.Write(all); err != nil {
			b.Fatal(err)
		}
		for answers := 0; answers < together; {
			n, err := fromOut.Read(got)
			if err != nil {
				b.Fatal(err)
			}
			answers += bytes.Count(got[:n], []byte{'\n'})
		}
	}
	ask()
	least := int64(1) << 62
	b.ReportAllocs()
	for b.Loop() {
		began := processTime()
		for range round / together {
			ask()
		}
		least = min(least, processTime()-began)
	}
	b.ReportMetric(float64(least)/round, "cpu-ns/call")
}

func processTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return t.Nano()
}

// benchStream returns both ends of a stream: the client's, and the descriptor that the hub gets.
func benchStream(b *testing.B, socket, input bool) (client *os.File, hub int) {
	var p [2]int
	err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK)
	if socket {
		p, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	}
	if err != nil {
		b.Fatal(err)
	}
	if input {
		p[0], p[1] = p[1], p[0]
	}
	client = os.NewFile(uintptr(p[0]), "client")
	b.Cleanup(func() { _ = client.Close() })
	return client, p[1]
}
