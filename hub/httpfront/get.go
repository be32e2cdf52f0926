package httpfront

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/headers"
)

// serveGet opens the client's own stream, or goes on with one that broke.
func (f *Front) serveGet(w http.ResponseWriter, r *http.Request, caller admission.Caller) {
	if _, events := headers.Accepted(r.Header); !events {
		f.refuseRequest(w, r, http.StatusNotAcceptable, ReasonAccept, nil, "accept text/event-stream")
		return
	}
	session := f.findSession(w, r, caller)
	if session == nil {
		return
	}
	stream, from := session.standaloneStream, uint64(0)
	if last := r.Header.Get(headers.LastEvent); last != "" {
		flow, number, _ := strings.Cut(last, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		if stream = session.findStream(flow); stream == nil || err != nil || !stream.Knows(n) {
			f.refuseRequest(w, r, http.StatusBadRequest, ReasonSession, nil, "nothing is known of the event in "+headers.LastEvent+" any more; send the request again")
			return
		}
		from = n + 1
		if stream.IsComplete(from) { // else it would come again and again
			w.WriteHeader(http.StatusNoContent) // HTML, Server-sent events: do not reconnect
			return
		}
	} else {
		from = session.standaloneStream.Unread()
	}
	if refused := session.enterConnection(isGet); refused != nil {
		f.answerRefused(w, r, refused, nil)
		return
	}
	defer session.leaveConnection(isGet)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	over, cancel := context.WithCancel(r.Context())
	defer cancel()
	if poll := f.active.Load().Poll; poll > 0 && stream != session.standaloneStream && expectsPrime(session.hubSession.Protocol()) {
		defer time.AfterFunc(poll, cancel).Stop()
	}
	defer context.AfterFunc(session.ctx, cancel)()
	// The client may call as soon as it has the header. By then this connection has to have the stream: else what the call's
	// server tells goes on the call's own POST.
	stream.Follow(over, w, from, expectsPrime(session.hubSession.Protocol()), func() bool {
		events.WriteHeader(w)
		if control.Flush() != nil {
			return false
		}
		session.signalReachable()
		return true
	})
}

// serveDelete ends a session.
func (f *Front) serveDelete(w http.ResponseWriter, r *http.Request, caller admission.Caller) {
	session := f.findSession(w, r, caller)
	if session == nil {
		return
	}
	session.cancel(errSessionOver)
	w.WriteHeader(http.StatusNoContent)
}
