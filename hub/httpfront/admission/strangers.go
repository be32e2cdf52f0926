package admission

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// This file bounds what connections cost that have not shown a token yet.

// MostStrangers is how many of them are open. Who comes beyond it takes the place of the
// oldest: a client shows its token at once.
const MostStrangers = 512

// Strangers are the connections that no admitted request has come on. The zero value has
// none.
type Strangers struct {
	mu  sync.Mutex
	all list.List // of net.Conn, the oldest first
	at  map[net.Conn]*list.Element
}

// A visitor is what the requests of one connection know of it.
type visitor struct {
	conn  net.Conn
	known atomic.Bool
	shown atomic.Pointer[credentials] // by which a request was admitted; nil: none was yet
}

// credentials are what a request says of itself with a token that the hub has made or was
// configured with, and whose that is. They hold as long as who has admitted them.
type credentials struct {
	by                  *Admission
	host, authorization string
	caller              Caller
}

type visitorKey struct{}

// visitorOf is nil where nobody has met the connection.
func visitorOf(ctx context.Context) *visitor {
	v, _ := ctx.Value(visitorKey{}).(*visitor)
	return v
}

// credentials are those of the last request on this connection that the Admission let in by
// a token of the hub; nil where there was none.
func (v *visitor) credentials(by *Admission) *credentials {
	if v == nil {
		return nil
	}
	if c := v.shown.Load(); c != nil && c.by == by {
		return c
	}
	return nil
}

func (v *visitor) admitted(c *credentials) {
	if v != nil {
		v.shown.Store(c)
	}
}

// Met takes in a connection, and gives the context of its requests.
func (s *Strangers) Met(ctx context.Context, c net.Conn) context.Context {
	s.mu.Lock()
	if s.at == nil {
		s.at = map[net.Conn]*list.Element{}
	}
	s.at[c] = s.all.PushBack(c)
	var oldest net.Conn
	if s.all.Len() > MostStrangers {
		oldest = s.all.Front().Value.(net.Conn)
		s.drop(oldest)
	}
	s.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // it is served no more, whatever comes of that
	}
	return context.WithValue(ctx, visitorKey{}, &visitor{conn: c})
}

// Know takes a connection out, because a request was admitted on it.
func (s *Strangers) Know(ctx context.Context) {
	if v := visitorOf(ctx); v != nil && !v.known.Load() && !v.known.Swap(true) {
		s.mu.Lock()
		s.drop(v.conn)
		s.mu.Unlock()
	}
}

// Left takes a connection out that has ended.
func (s *Strangers) Left(c net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		s.mu.Lock()
		s.drop(c)
		s.mu.Unlock()
	}
}

// drop forgets a connection. The caller holds mu.
func (s *Strangers) drop(c net.Conn) {
	if e := s.at[c]; e != nil {
		s.all.Remove(e)
		delete(s.at, c)
	}
}
