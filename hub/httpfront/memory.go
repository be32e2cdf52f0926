package httpfront

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
)

// This file bounds the bytes of requests that are being read or served, and of
// answers that are being written.

// How many frames of the greatest length the requests of one session may fill,
// all together, and those of all: of each only what is beyond smallBody counts
// there, so that no one's small requests wait for anybody's large ones.
const (
	heldBodies = 4
	allBodies  = 2 * heldBodies
	smallBody  = 64 << 10
)

var errHeld = errors.New("the requests that are being read or served hold too much already")

// A byteBudget bounds what all take together. If there are several principals, each may take as much as is
// then still free: one alone half of it, each of two a third. So there is room for one more,
// whatever the others take.
type byteBudget struct{ taken atomic.Int64 }

// takeBytes adds n bytes and reports whether the total stays within most. The caller calls giveBytes in
// either case. own is what the principal takes; nil: no one is told apart. isDivided: there may be
// others. isFirst: nothing was taken before.
func (p *byteBudget) takeBytes(own *atomic.Int64, n, most int64, isDivided bool) (ok, isFirst bool) {
	all := p.taken.Add(n)
	isFirst = all == n
	if own != nil {
		if mine := own.Add(n); isDivided {
			most -= mine
		}
	}
	return all <= most, isFirst
}

func (p *byteBudget) giveBytes(own *atomic.Int64, n int64) {
	p.taken.Add(-n)
	if own != nil {
		own.Add(-n)
	}
}

// bodyReservation counts what is read for a session, and for all, while it is being read:
// what a request says about its own length binds no one. The zero value holds nothing.
type bodyReservation struct {
	r       io.Reader
	session *FrontSession // nil: none yet
	share   *quota.Share
	front   *Front
	frame   int64 // bytes of the longest message
	taken   int64
}

func (body *bodyReservation) Read(b []byte) (int, error) {
	n, err := body.r.Read(b)
	before := body.largeBytes()
	body.taken += int64(n)
	if body.session != nil && body.session.heldBytes.Add(int64(n)) > heldBodies*body.frame {
		return 0, errHeld
	}
	if more := body.largeBytes() - before; more > 0 {
		if ok, _ := body.front.bodies.takeBytes(body.share.Bodies(), more, allBodies*body.frame, body.front.active.Load().hasSeveralCallers()); !ok {
			return 0, errHeld
		}
	}
	return n, err
}

// largeBytes returns what counts among all.
func (body *bodyReservation) largeBytes() int64 { return max(body.taken-smallBody, 0) }

func (body *bodyReservation) releaseBytes() {
	if body.session != nil {
		body.session.heldBytes.Add(-body.taken)
	}
	if n := body.largeBytes(); n > 0 {
		body.front.bodies.giveBytes(body.share.Bodies(), n)
	}
}

// reserveAnswer counts an answer that is about to be written, until releaseAnswer. All answers
// that clients have not read yet may take as much as the bodies of requests may. An answer for which there is no room
// becomes an error, unless it is the only one.
func (f *Front) reserveAnswer(session *FrontSession, answer *jsonrpc.Answer) (n int64) {
	n = int64(len(answer.Result) + len(answer.Error))
	if n <= smallBody {
		return 0
	}
	frame := int64(f.hub.Limits().Frame)
	own := session.unreadBytes.Add(n)
	fits, isFirst := f.unreadAnswers.takeBytes(session.share.Answers(), n, allBodies*frame, f.active.Load().hasSeveralCallers())
	if isFirst || fits && own <= heldBodies*frame {
		return n
	}
	f.releaseAnswer(session, n)
	answer.Free()
	*answer = jsonrpc.AnswerFailure(fmt.Sprintf("the answer has %d bytes, and too many wait to be read by their clients already; read those first, then send the request again", n))
	return 0
}

func (f *Front) releaseAnswer(session *FrontSession, n int64) {
	if n > 0 {
		session.unreadBytes.Add(-n)
		f.unreadAnswers.giveBytes(session.share.Answers(), n)
	}
}
