package jsonrpc

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is a Handler made of functions; nil ones answer null, or do nothing.
type handler struct {
	request func(ctx context.Context, m *Message) Answer
	notify  func(m *Message)
}

func (h *handler) ServeRequest(ctx context.Context, m *Message) Answer {
	if h.request == nil {
		return ResultAnswer([]byte("null"))
	}
	return h.request(ctx, m)
}

func (h *handler) ServeNotification(m *Message) {
	if h.notify != nil {
		h.notify(m)
	}
}

// peer is the other side of a Conn under test, played by hand.
type peer struct {
	t    *testing.T
	in   io.WriteCloser // what the Conn reads
	out  io.ReadCloser  // what the Conn writes
	r    *bufio.Reader
	conn *Conn
	stop context.CancelFunc
	err  chan error // what Run returned
}

// link starts a Conn whose peer is played by the test, over pipes without any
// room of their own.
func link(t *testing.T, h *handler, options ConnOptions) *peer {
	r, in := net.Pipe()
	out, w := net.Pipe()
	return linkOver(t, r, in, out, w, h, options)
}

// linkOS does so over pipes of the system.
func linkOS(t *testing.T, h *handler, options ConnOptions) *peer {
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return linkOver(t, r, in, out, w, h, options)
}

func linkOver(t *testing.T, r io.ReadCloser, in io.WriteCloser, out io.ReadCloser, w io.Writer, h *handler, options ConnOptions) *peer {
	p := &peer{t: t, in: in, out: out, r: bufio.NewReaderSize(out, 64<<10), err: make(chan error, 1)}
	p.conn = NewConn(r, w, h, options)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.err <- p.conn.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		_ = in.Close() // on Windows a read that begins while its pipe is closed waits for this end
		<-p.conn.Done()
		_ = out.Close()
	})
	return p
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func (p *peer) read() string {
	p.t.Helper()
	line, err := p.r.ReadString('\n')
	if err != nil {
		p.t.Fatalf("read: %v (got %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) want(line string) {
	p.t.Helper()
	if got := p.read(); got != line {
		p.t.Fatalf("the Conn sent\n  %s\nwant\n  %s", got, line)
	}
}

// wantError reads an error answer, and checks its id and code.
func (p *peer) wantError(id string, code int64) string {
	p.t.Helper()
	line := p.read()
	var m struct {
		ID    json.RawMessage
		Error *struct {
			Code    int64
			Message string
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Error == nil || string(m.ID) != id || m.Error.Code != code {
		p.t.Fatalf("the Conn sent\n  %s\nwant an error %d for id %s", line, code, id)
	}
	return m.Error.Message
}

// nothing checks that all that was sent so far has been dealt with and that
// the Conn has said nothing to it, on the read loop at least.
func (p *peer) nothing() {
	p.t.Helper()
	p.send(`{"jsonrpc":"1.0","id":"sentinel","method":"x"}`)
	p.wantError(`"sentinel"`, CodeInvalidRequest)
}

// result is what a call came to.
type result struct {
	resp *Response
	err  error
}

func (p *peer) call(ctx context.Context, method string, params ...[]byte) <-chan result {
	ch := make(chan result, 1)
	go func() {
		resp, err := p.conn.Call(ctx, method, params...)
		ch <- result{resp, err}
	}()
	return ch
}

// lastID returns the id of the last call.
func (p *peer) lastID() []byte { return strconv.AppendUint(nil, p.conn.lastID.Load(), 10) }
