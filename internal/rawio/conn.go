package rawio

import (
	"net"
	"sync"
)

// Listener returns a Listener like ln whose TCP connections do not announce
// short transfers. Their methods are safe for concurrent use.
func Listener(ln net.Listener) net.Listener { return listener{ln} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if t, ok := c.(*net.TCPConn); ok {
		if in, out := newReader(t), newWriter(t); in != nil && out != nil {
			return &conn{TCPConn: t, in: input{r: in}, out: output{w: out, c: t}}, nil
		}
	}
	return c, nil
}

// conn is a TCPConn but for Read and Write.
type conn struct {
	*net.TCPConn
	in  input
	out output
}

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

// input lets one read at a time, as a descriptor does.
type input struct {
	mu sync.Mutex
	r  interface{ Read([]byte) (int, error) }
}

func (i *input) read(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.r.Read(b)
}

// output lets one write at a time: none comes between the two halves of another.
type output struct {
	mu sync.Mutex
	w  *writer
	c  *net.TCPConn
}

func (o *output) write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	if len(b) > 0 && len(b) <= short {
		n, _ = o.w.writeNow(b)
		if n == len(b) {
			return n, nil
		}
	}
	more, err := o.c.Write(b[n:]) // waits for room, or reports what is wrong
	return n + more, err
}
