package fronttest

import (
	"context"
	"net"
	"sync"
)

// Memory is a network of one address, for a bubble too: connections that never leave
// the process and have no buffer, so that who does not read is waited for at once.
type Memory struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

// NewMemory makes a network that listens.
func NewMemory() *Memory { return &Memory{conns: make(chan net.Conn), over: make(chan struct{})} }

// Accept waits for a connection; see net.Listener.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.over:
		return nil, net.ErrClosed
	}
}

// Close ends listening.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.over) })
	return nil
}

// Addr returns a loopback address.
func (m *Memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// Dial connects, whatever the address; it is for http.Transport.DialContext.
func (m *Memory) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.conns <- there:
		return here, nil
	case <-m.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
