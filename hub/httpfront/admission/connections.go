package admission

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// This file bounds how many connections stay open: of those who have not shown a token yet, and of
// each principal.

// MaxStrangers is how many of them are open. Who comes beyond it takes the place of the
// oldest: a client shows its token at once.
const MaxStrangers = 512

// Connections are the connections of one listener. The zero value has none.
type Connections struct {
	mu        sync.Mutex
	strangers list.List // of net.Conn, the oldest first: no admitted request has come on them
	at        map[net.Conn]*list.Element
	of        map[net.Conn]string // whose it is, of those on which a principal has come
	owned     map[string]int      // how many of them are of each principal
}

// A connInfo is what the requests of one connection know of it.
type connInfo struct {
	conn  net.Conn
	known atomic.Pointer[string]      // who has come on it last; nil: no one who was admitted
	shown atomic.Pointer[credentials] // by which a request was admitted; nil: none was yet
}

// credentials are what a request says about itself with a token that the hub has made or
// was configured with, and whose that is. They hold as long as who has admitted them.
type credentials struct {
	by                  *Admission
	host, authorization string
	caller              Caller
}

type visitorKey struct{}

// visitorOf returns nil if no one has met the connection.
func visitorOf(ctx context.Context) *connInfo {
	v, _ := ctx.Value(visitorKey{}).(*connInfo)
	return v
}

// lastCredentials returns the credentials of the last request on this connection that the
// Admission let in by a token of the hub; nil if there was none.
func (v *connInfo) lastCredentials(by *Admission) *credentials {
	if v == nil {
		return nil
	}
	if c := v.shown.Load(); c != nil && c.by == by {
		return c
	}
	return nil
}

func (v *connInfo) noteAdmitted(c *credentials) {
	if v != nil {
		v.shown.Store(c)
	}
}

// Track takes in a connection, and gives the context of its requests.
func (connections *Connections) Track(ctx context.Context, conn net.Conn) context.Context {
	connections.mu.Lock()
	if connections.at == nil {
		connections.at, connections.of, connections.owned = map[net.Conn]*list.Element{}, map[net.Conn]string{}, map[string]int{}
	}
	connections.at[conn] = connections.strangers.PushBack(conn)
	var oldest net.Conn
	if connections.strangers.Len() > MaxStrangers {
		oldest = connections.strangers.Front().Value.(net.Conn)
		connections.dropConnection(oldest)
	}
	connections.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // it is served no more, whatever comes of that
	}
	return context.WithValue(ctx, visitorKey{}, &connInfo{conn: conn})
}

// Assign remembers that a request of a principal was admitted on a connection, which is the
// principal's from then on; "": no one's in particular. At most `most` connections may belong to
// principals. A principal may take one more only while as many as it then has stay free. 0 means no
// bound. Assign returns false if the principal is at its bound.
func (connections *Connections) Assign(ctx context.Context, principal string, most int) bool {
	v := visitorOf(ctx)
	if v == nil {
		return true
	}
	if before := v.known.Load(); before != nil && *before == principal {
		return true
	}
	connections.mu.Lock()
	defer connections.mu.Unlock()
	all := len(connections.of) + 1
	if _, had := connections.of[v.conn]; had {
		all--
	}
	if principal != "" && most > 0 && all+connections.owned[principal]+1 > most {
		return false
	}
	connections.dropConnection(v.conn)
	if principal != "" {
		connections.of[v.conn] = principal
		connections.owned[principal]++
	}
	known := principal // of its own: the argument would be put on the heap for each request
	v.known.Store(&known)
	return true
}

// OnStateChange takes a connection out that has ended.
func (connections *Connections) OnStateChange(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		connections.mu.Lock()
		connections.dropConnection(conn)
		connections.mu.Unlock()
	}
}

// dropConnection forgets a connection. The caller holds mu.
func (connections *Connections) dropConnection(conn net.Conn) {
	if e := connections.at[conn]; e != nil {
		connections.strangers.Remove(e)
		delete(connections.at, conn)
	}
	if principal, ok := connections.of[conn]; ok {
		delete(connections.of, conn)
		if connections.owned[principal]--; connections.owned[principal] == 0 {
			delete(connections.owned, principal)
		}
	}
}
