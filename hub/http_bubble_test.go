package hub

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"mcphub/internal/jsonrpc"
)

// memory is a network of one address inside a bubble: connections without any
// buffer, so that who does not read is waited for at once.
type memory struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.over:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.over) })
	return nil
}

func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (m *memory) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.conns <- there:
		return here, nil
	case <-m.over:
		return nil, errors.New("nobody listens")
	}
}

// bubbleWeb is an HTTP front in a bubble of its own; stop ends it.
func bubbleWeb(t *testing.T, h *Hub, o HTTPOptions) (w *web, m *memory, stop func()) {
	t.Helper()
	m = &memory{conns: make(chan net.Conn), over: make(chan struct{})}
	o.Hosts = append(o.Hosts, "hub.test")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.ServeStreamableHTTP(ctx, m, o) }()
	tr := &http.Transport{DialContext: m.dial}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeStreamableHTTP: %v", err)
		}
		tr.CloseIdleConnections()
	})
	t.Cleanup(stop)
	return &web{t, "http://hub.test/mcp", &http.Client{Transport: tr}}, m, stop
}

// split reads one frame of a strict peer.
func split(t testing.TB, frame string) *jsonrpc.Message {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(frame), true, m); err != nil {
		t.Fatalf("%v: %s", err, frame)
	}
	return m
}
