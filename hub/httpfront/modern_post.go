package httpfront

import (
	"context"
	"net/http"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/mirror"
)

// This file serves clients of 2026-07-28 on the endpoint that serves the
// handshake's. The client needs no session. All requests of one token go through one ModernSession:
// the first request makes it, and it ends after a time without requests.

// enterModernSession finds what serves the modern requests of a token, and enters it; a refusal
// is refusedStopping or refusedRevoked, or reports that there is no room in it.
func (f *Front) enterModernSession(caller admission.Caller, r *http.Request) (*FrontSession, *refusal) {
	owner := caller.Owner()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.currentStage() >= leaving {
		return nil, refusedStopping
	}
	session := f.modernSessions[owner]
	switch known := session != nil && session.ctx.Err() == nil; {
	case known && session.caller.Basis != caller.Basis, !known && !f.active.Load().admission.StillAdmits(caller):
		return nil, refusedRevoked // who was admitted a moment ago, before a reload
	case !known:
		session = f.newSession("", caller)
		f.noteOrigin(session, r)
		session.modernSession = f.hub.OpenModern(caller, session, f.fixed.Sessions)
		f.modernSessions[owner] = session
		session.share = f.shareOf(session.principal)
		session.share.AddUser()
		f.runSession(session)
	}
	if refused := session.enterConnection(isPost); refused != nil {
		return nil, refused
	}
	session.holdToken(r, caller)
	return session, nil
}

// serveModernPost takes one message of a client without a session.
func (f *Front) serveModernPost(w http.ResponseWriter, r *http.Request, caller admission.Caller, takesEvents bool) {
	session, refused := f.enterModernSession(caller, r)
	if refused != nil {
		f.answerRefused(w, r, refused, nil)
		return
	}
	hasLeft := false
	leave := func() {
		if !hasLeft {
			hasLeft = true
			session.leaveConnection(isPost)
		}
	}
	defer leave()
	m, body := f.readMessage(w, r, session, session.share)
	if m == nil {
		return
	}
	defer body.releaseBytes()
	if named := f.hub.WithClient(caller, m); named.Toolsets.Client != "" { // the client has toolsets of its own, so another session serves it
		if err := f.hub.CheckToolsets(named); err != nil {
			f.refuseRequest(w, r, http.StatusForbidden, ReasonToolset, m.ID, err.Error())
			return
		}
		leave()
		if session, refused = f.enterModernSession(named, r); refused != nil {
			f.answerRefused(w, r, refused, m.ID)
			return
		}
		hasLeft = false
	}
	switch {
	case m.IsRequest():
	case m.IsNotification():
		work, err := session.share.Begin(w, r, m.Method)
		if err != nil {
			f.answerRefused(w, r, refusalOf(err), nil)
			return
		}
		session.modernSession.Notify(m)
		session.share.End(work)
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		f.refuseRequest(w, r, http.StatusBadRequest, ReasonBody, nil, "send requests only: what this hub asks is answered with inputResponses")
		return
	}
	request, status, refusal := examineRequest(r.Header, m, session.modernSession, takesEvents)
	if status != http.StatusOK {
		f.refuseWithAnswer(w, r, status, ReasonHeader, m.ID, refusal)
		return
	}
	if node, refusal := request.Elsewhere(); node != "" {
		if !f.forwardRequest(w, r, node, m.Frame) {
			f.refuseWithAnswer(w, r, http.StatusNotFound, ReasonSession, m.ID, refusal)
		}
		return
	}
	if m.Method == methods.Listen {
		if refused = f.countListener(session); refused != nil {
			f.answerRefused(w, r, refused, m.ID)
			return
		}
		defer f.uncountListener(session)
		leave()
	}
	f.serveModernRequest(w, r, session, m, request, caller.Expires, takesEvents)
}

// examineRequest looks at a request before anything is done for it: the headers against
// the body, and what _meta has to hold. Anything but 200 is a refusal.
func examineRequest(h http.Header, m *jsonrpc.Message, s ModernSession, takesEvents bool) (ModernRequest, int, jsonrpc.Answer) {
	if err := headers.CheckVersion(h, m); err != nil {
		return nil, http.StatusBadRequest, headers.MismatchAnswer(err)
	}
	request, refusal, ok := s.Read(m)
	if !ok {
		return nil, http.StatusBadRequest, refusal
	}
	err := headers.CheckMethod(h, m)
	if err == nil {
		err = headers.CheckMirrors(h, request.Mirrors(), m.Param("arguments"))
	}
	switch {
	case err != nil:
		return nil, http.StatusBadRequest, headers.MismatchAnswer(err)
	case m.Method == methods.Listen && !takesEvents:
		return nil, http.StatusNotAcceptable, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "accept text/event-stream: what is listened to comes as a stream")
	}
	return request, http.StatusOK, jsonrpc.Answer{}
}

// serveModernRequest serves one request. The end of its connection is the end of it.
func (f *Front) serveModernRequest(w http.ResponseWriter, r *http.Request, session *FrontSession, m *jsonrpc.Message, request ModernRequest, expires time.Time, takesEvents bool) {
	ctx, cancel := context.WithCancelCause(session.withToken(session.ctx, r))
	defer cancel(nil)
	if !expires.IsZero() {
		defer time.AfterFunc(time.Until(expires), func() { cancel(errExpired) }).Stop()
	}
	defer context.AfterFunc(r.Context(), func() {
		cancel(&jsonrpc.CancelledError{Reason: "the client has closed the response"})
	})()
	exchange := &ModernExchange{header: r.Header, base: PostExchange{session: session, id: m.ID, takesEvents: takesEvents, unresumable: true}}
	if m.Method == methods.Listen {
		work, err := session.share.Begin(w, r, m.Method)
		if err != nil {
			f.answerRefused(w, r, refusalOf(err), m.ID)
			return
		}
		exchange.base.startExchange(r.Context(), w, headers.ModernVersion)
		session.share.Uncount() // it lasts: listen has counted it
		defer work.Release()
	} else {
		if err := session.share.Count(m.Method); err != nil {
			f.answerRefused(w, r, refusalOf(err), m.ID)
			return
		}
		defer session.share.Uncount()
		exchange.base.startExchange(r.Context(), w, headers.ModernVersion)
		slot, ok := session.awaitSlot(w, func() context.Context { return ctx }, ctx)
		if !ok {
			if answer := jsonrpc.AnswerFailure(context.Cause(ctx).Error()); !exchange.base.finishExchange(answer, r.Context().Err() != nil) {
				answerWithStatus(w, http.StatusServiceUnavailable, m.ID, answer)
			}
			return
		}
		defer slot.releaseSlot()
	}
	answer := request.Serve(ctx, exchange)
	callEnded, clientGone := ctx.Err() != nil, r.Context().Err() != nil
	if refusal := exchange.refusedAnswer(); !callEnded && refusal.Error != nil {
		answer = refusal // with its code, which package modern has replaced as if a child had sent it
	}
	if !callEnded && answer.Error == nil && headers.PreferEvents(r.Header) {
		exchange.base.ensureStream() // not before: an error has its status
	}
	n := f.reserveAnswer(session, &answer)
	if !exchange.base.finishExchange(answer, clientGone) {
		answerPlainModern(w, &exchange.base, answer, statusOf(request, answer), callEnded)
	}
	f.releaseAnswer(session, n)
}

// A ModernExchange is what a client without a session is told on account of one
// request before its answer: its response becomes a stream when the first thing is
// said on it. The client is asked nothing but by the answer.
type ModernExchange struct {
	base    PostExchange
	header  http.Header
	refusal jsonrpc.Answer // of a call that its headers do not fit; base.mu guards it
}

// Notify informs the client before the answer. After the answer it informs no one.
func (exchange *ModernExchange) Notify(_ context.Context, method string, params ...[]byte) error {
	if stream := exchange.base.ensureStream(); stream != nil && !stream.Put(events.Message(nil, method, params), events.MustDeliver) {
		return errNotReading
	}
	return nil
}

// TryNotify works like Notify, but drops the notification if the stream has no room.
func (exchange *ModernExchange) TryNotify(method string, params ...[]byte) bool {
	stream := exchange.base.ensureStream()
	return stream != nil && stream.Put(events.Message(nil, method, params), events.MayDrop)
}

// TryNotifyLeavingRoom works like TryNotify, but only if half of the room is free.
func (exchange *ModernExchange) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	stream := exchange.base.ensureStream()
	return stream != nil && stream.HasSpare() && stream.Put(events.Message(nil, method, params), events.MayDrop)
}

// CheckHeaders compares the headers of a call with its arguments, if the tool became
// known only while the call was served. ok false: refusal is the answer.
func (exchange *ModernExchange) CheckHeaders(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool) {
	err := headers.CheckMirrors(exchange.header, mirrors, args)
	if err == nil {
		return jsonrpc.Answer{}, true
	}
	refusal = headers.MismatchAnswer(err)
	exchange.base.mu.Lock()
	exchange.refusal = refusal
	exchange.base.mu.Unlock()
	return refusal, false
}

// refusedAnswer returns what CheckHeaders has refused the call with.
func (exchange *ModernExchange) refusedAnswer() jsonrpc.Answer {
	exchange.base.mu.Lock()
	defer exchange.base.mu.Unlock()
	return exchange.refusal
}

// countListener counts a client that listens, as the session that it would have with a handshake.
func (f *Front) countListener(session *FrontSession) *refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	share := session.share
	switch {
	case share != nil && share.Listens >= share.MaxSessions:
		return tooManyRefusal(ReasonSessions, listenAgain, "%d clients of %s listen already, as many as it may have sessions (limits.principal.sessions); try again later", share.Listens, share.Name)
	case !session.startListening(f.fixed.Sessions):
		return tooManyRefusal(ReasonSessions, listenAgain, "%d clients of this token listen already; try again later", f.fixed.Sessions)
	case share != nil:
		share.Listens++
	}
	return nil
}

// listenAgain is after how long it is worth trying to listen again.
const listenAgain = 10 * time.Second

func (f *Front) uncountListener(session *FrontSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	session.stopListening()
	if session.share != nil {
		session.share.Listens--
	}
}

// startListening counts a client that listens, where fewer than most do.
func (session *FrontSession) startListening(most int) bool {
	session.mu.Lock()
	defer session.mu.Unlock()
	if session.listens >= most {
		return false
	}
	session.listens++
	session.noteUse()
	return true
}

func (session *FrontSession) stopListening() {
	session.mu.Lock()
	defer session.mu.Unlock()
	session.listens--
	session.noteUse()
}
