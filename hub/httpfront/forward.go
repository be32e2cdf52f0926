package httpfront

import (
	"context"
	"net/http"
	"sync/atomic"

	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/peers"
)

// This file has another hub serve a request for what that hub keeps. What came from another hub goes no further.

// forwarding is what is under way at other hubs.
type forwarding struct {
	calls            atomic.Int32       // whose clients wait for an answer
	streams, all     context.Context    // end when this front ends what it has forwarded
	endStreams, stop context.CancelFunc // of those
}

func (g *forwarding) prepare() {
	g.streams, g.endStreams = context.WithCancel(context.Background())
	g.all, g.stop = context.WithCancel(context.Background())
}

// followStage ends what a front does not keep up any more at a stage.
func (g *forwarding) followStage(s stage) {
	if s >= leaving {
		g.endStreams()
	}
	if s >= closed {
		g.stop()
	}
}

type senderKey struct{}

// withSender returns a request whose context has the address of the client, if another hub has forwarded the request.
func (f *Front) withSender(r *http.Request) (*http.Request, *refusal) {
	client, forwarded, err := f.active.Load().peers.Sender(r)
	switch {
	case peers.IsMisdirected(err):
		return r, &refusal{status: http.StatusMisdirectedRequest, reason: ReasonSession, text: "this request is for another hub"}
	case err != nil:
		return r, &refusal{status: http.StatusBadRequest, reason: ReasonHeader, text: "the header " + peers.Header + " is made by a hub of this fleet alone: " + err.Error()}
	case !forwarded:
		return r, nil
	}
	return r.WithContext(context.WithValue(r.Context(), senderKey{}, client)), nil
}

// senderOf returns the address of the client of a request that another hub has forwarded; ok is false for any other request.
func senderOf(r *http.Request) (client string, ok bool) {
	client, ok = r.Context().Value(senderKey{}).(string)
	return client, ok
}

func isForwarded(r *http.Request) bool {
	_, hasSender := senderOf(r)
	return hasSender
}

// forwardRequest has the hub of a name serve a request, and reports whether that has answered. If not, the answer of this hub tells the name to
// a balancer. body is what was read of the request; nil if nothing was.
func (f *Front) forwardRequest(w http.ResponseWriter, r *http.Request, node string, body []byte) (answered bool) {
	if !isForwarded(r) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		if r.Method == http.MethodGet { // a stream, for which its client comes again
			defer context.AfterFunc(f.forwarded.streams, cancel)()
		} else {
			f.forwarded.calls.Add(1)
			defer f.forwarded.calls.Add(-1)
			defer context.AfterFunc(f.forwarded.all, cancel)()
		}
		if f.active.Load().peers.Forward(w, r.WithContext(ctx), peers.Request{Node: node, Client: f.addressOf(r), Body: body}) {
			return true
		}
	}
	w.Header().Set(headers.Node, node)
	return false
}
