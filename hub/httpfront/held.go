package httpfront

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"mcphub/internal/jsonrpc"
)

// This file bounds the bytes of requests that are being read or served, and of
// answers that are being written.

// How many frames of the greatest length the requests of one session may fill,
// all together, and those of all: of each only what is beyond smallBody counts
// there, so that nobody's small requests wait for anybody's large ones.
const (
	heldBodies = 4
	allBodies  = 2 * heldBodies
	smallBody  = 64 << 10
)

var errHeld = errors.New("the requests that are being read or served hold too much already")

// holding counts what is read for a session, and for all, while it is being
// read: what a request says of its own length binds nobody.
type holding struct {
	r     io.Reader
	c     *Peer // nil: none yet
	all   *atomic.Int64
	frame int64 // bytes of the longest message
	n     int64
}

func (h *holding) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	before := h.large()
	h.n += int64(n)
	if h.c != nil && h.c.held.Add(int64(n)) > heldBodies*h.frame {
		return 0, errHeld
	}
	if more := h.large() - before; more > 0 && h.all.Add(more) > allBodies*h.frame {
		return 0, errHeld
	}
	return n, err
}

// large is what counts among all.
func (h *holding) large() int64 { return max(h.n-smallBody, 0) }

func (h *holding) release() {
	if h.c != nil {
		h.c.held.Add(-h.n)
	}
	h.all.Add(-h.large())
}

// keep counts an answer that is about to be written, until drop: what clients
// call for and do not read is held, all together, up to as much as their bodies.
// One that there is no room for becomes an error, but not the only one.
func (f *Front) keep(c *Peer, a *jsonrpc.Answer) (n int64) {
	n = int64(len(a.Result) + len(a.Error))
	if n <= smallBody {
		return 0
	}
	frame := int64(f.hub.Limits().Frame)
	own, all := c.unread.Add(n), f.unread.Add(n)
	if all == n || own <= heldBodies*frame && all <= allBodies*frame {
		return n
	}
	f.drop(c, n)
	if a.Release != nil {
		a.Release()
	}
	*a = jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("the answer has %d bytes, and too many wait to be read by their clients already; read those first, then send the request again", n))
	return 0
}

func (f *Front) drop(c *Peer, n int64) {
	if n > 0 {
		c.unread.Add(-n)
		f.unread.Add(-n)
	}
}
