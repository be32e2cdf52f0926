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
func (f *Front) enterModernSession(who admission.Caller, r *http.Request) (*FrontSession, *refusal) {
	owner := who.Owner()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.currentStage() >= leaving {
		return nil, refusedStopping
	}
	c := f.modernSessions[owner]
	switch known := c != nil && c.ctx.Err() == nil; {
	case known && c.who.Basis != who.Basis, !known && !f.active.Load().admission.StillAdmits(who):
		return nil, refusedRevoked // who was admitted a moment ago, before a reload
	case !known:
		c = f.newSession("", who)
		f.noteOrigin(c, r)
		c.modernSession = f.hub.OpenModern(who, c, f.fixed.Sessions)
		f.modernSessions[owner] = c
		c.share = f.shareOf(c.principal)
		c.share.AddUser()
		f.runSession(c)
	}
	if refused := c.enterConnection(isPost); refused != nil {
		return nil, refused
	}
	c.holdToken(r, who)
	return c, nil
}

// serveModernPost takes one message of a client without a session.
func (f *Front) serveModernPost(w http.ResponseWriter, r *http.Request, who admission.Caller, events bool) {
	c, refused := f.enterModernSession(who, r)
	if refused != nil {
		f.answerRefused(w, r, refused, nil)
		return
	}
	left := false
	leave := func() {
		if !left {
			left = true
			c.leaveConnection(isPost)
		}
	}
	defer leave()
	m, held := f.readMessage(w, r, c, c.share)
	if m == nil {
		return
	}
	defer held.releaseBytes()
	if named := f.hub.WithClient(who, m); named.Toolsets.Client != "" { // the client has toolsets of its own, so another session serves it
		if err := f.hub.CheckToolsets(named); err != nil {
			f.refuseRequest(w, r, http.StatusForbidden, ReasonToolset, m.ID, err.Error())
			return
		}
		leave()
		if c, refused = f.enterModernSession(named, r); refused != nil {
			f.answerRefused(w, r, refused, m.ID)
			return
		}
		left = false
	}
	switch {
	case m.IsRequest():
	case m.IsNotification():
		k, err := c.share.Begin(w, r, m.Method)
		if err != nil {
			f.answerRefused(w, r, refusalOf(err), nil)
			return
		}
		c.modernSession.Notify(m)
		c.share.End(k)
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		f.refuseRequest(w, r, http.StatusBadRequest, ReasonBody, nil, "send requests only: what this hub asks is answered with inputResponses")
		return
	}
	request, status, refusal := examineRequest(r.Header, m, c.modernSession, events)
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
		if refused = f.countListener(c); refused != nil {
			f.answerRefused(w, r, refused, m.ID)
			return
		}
		defer f.uncountListener(c)
		leave()
	}
	f.serveModernRequest(w, r, c, m, request, who.Expires, events)
}

// examineRequest looks at a request before anything is done for it: the headers against
// the body, and what _meta has to hold. Anything but 200 is a refusal.
func examineRequest(h http.Header, m *jsonrpc.Message, s ModernSession, events bool) (ModernRequest, int, jsonrpc.Answer) {
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
	case m.Method == methods.Listen && !events:
		return nil, http.StatusNotAcceptable, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, "accept text/event-stream: what is listened to comes as a stream")
	}
	return request, http.StatusOK, jsonrpc.Answer{}
}

// serveModernRequest serves one request. The end of its connection is the end of it.
func (f *Front) serveModernRequest(w http.ResponseWriter, r *http.Request, c *FrontSession, m *jsonrpc.Message, request ModernRequest, expires time.Time, events bool) {
	ctx, cancel := context.WithCancelCause(c.withToken(c.ctx, r))
	defer cancel(nil)
	if !expires.IsZero() {
		defer time.AfterFunc(time.Until(expires), func() { cancel(errExpired) }).Stop()
	}
	defer context.AfterFunc(r.Context(), func() {
		cancel(&jsonrpc.CancelledError{Reason: "the client has closed the response"})
	})()
	mr := &ModernReply{header: r.Header, base: Reply{session: c, id: m.ID, events: events, unresumable: true}}
	if m.Method == methods.Listen {
		k, err := c.share.Begin(w, r, m.Method)
		if err != nil {
			f.answerRefused(w, r, refusalOf(err), m.ID)
			return
		}
		mr.base.startReply(r.Context(), w, headers.ModernVersion)
		c.share.Uncount() // it lasts: listen has counted it
		defer k.Release()
	} else {
		if err := c.share.Count(m.Method); err != nil {
			f.answerRefused(w, r, refusalOf(err), m.ID)
			return
		}
		defer c.share.Uncount()
		mr.base.startReply(r.Context(), w, headers.ModernVersion)
		s, ok := c.awaitSlot(w, func() context.Context { return ctx }, ctx)
		if !ok {
			if a := jsonrpc.AnswerFailure(context.Cause(ctx).Error()); !mr.base.finishReply(a, r.Context().Err() != nil) {
				answerWithStatus(w, http.StatusServiceUnavailable, m.ID, a)
			}
			return
		}
		defer s.releaseSlot()
	}
	a := request.Serve(ctx, mr)
	over, unread := ctx.Err() != nil, r.Context().Err() != nil
	if refusal := mr.refusedAnswer(); !over && refusal.Error != nil {
		a = refusal // with its code, which package modern has replaced as if a child had sent it
	}
	if !over && a.Error == nil && headers.PreferEvents(r.Header) {
		mr.base.ensureStream() // not before: an error has its status
	}
	n := f.reserveAnswer(c, &a)
	if !mr.base.finishReply(a, unread) {
		answerPlainModern(w, &mr.base, a, statusOf(request, a), over)
	}
	f.releaseAnswer(c, n)
}

// A ModernReply is what a client without a session is told on account of one
// request before its answer: its response becomes a stream when the first thing is
// said on it. The client is asked nothing but by the answer.
type ModernReply struct {
	base    Reply
	header  http.Header
	refusal jsonrpc.Answer // of a call that its headers do not fit; base.mu guards it
}

// Notify informs the client before the answer, or no one.
func (mr *ModernReply) Notify(_ context.Context, method string, params ...[]byte) error {
	if st := mr.base.ensureStream(); st != nil && !st.Put(events.Message(nil, method, params), events.Question) {
		return errNotReading
	}
	return nil
}

// TryNotify works like Notify, but only if there is room.
func (mr *ModernReply) TryNotify(method string, params ...[]byte) bool {
	st := mr.base.ensureStream()
	return st != nil && st.Put(events.Message(nil, method, params), events.Note)
}

// TryNotifyLeavingRoom works like TryNotify, but only if half of the room is free.
func (mr *ModernReply) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	st := mr.base.ensureStream()
	return st != nil && st.HasSpare() && st.Put(events.Message(nil, method, params), events.Note)
}

// CheckHeaders compares the headers of a call with its arguments, if the tool became
// known only while the call was served. ok false: refusal is the answer.
func (mr *ModernReply) CheckHeaders(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool) {
	err := headers.CheckMirrors(mr.header, mirrors, args)
	if err == nil {
		return jsonrpc.Answer{}, true
	}
	refusal = headers.MismatchAnswer(err)
	mr.base.mu.Lock()
	mr.refusal = refusal
	mr.base.mu.Unlock()
	return refusal, false
}

// refusedAnswer returns what CheckHeaders has refused the call with.
func (mr *ModernReply) refusedAnswer() jsonrpc.Answer {
	mr.base.mu.Lock()
	defer mr.base.mu.Unlock()
	return mr.refusal
}

// countListener counts a client that listens, as the session that it would have with a handshake.
func (f *Front) countListener(c *FrontSession) *refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := c.share
	switch {
	case s != nil && s.Listens >= s.MaxSessions:
		return tooManyRefusal(ReasonSessions, listenAgain, "%d clients of %s listen already, as many as it may have sessions (limits.principal.sessions); try again later", s.Listens, s.Name)
	case !c.startListening(f.fixed.Sessions):
		return tooManyRefusal(ReasonSessions, listenAgain, "%d clients of this token listen already; try again later", f.fixed.Sessions)
	case s != nil:
		s.Listens++
	}
	return nil
}

// listenAgain is after how long it is worth trying to listen again.
const listenAgain = 10 * time.Second

func (f *Front) uncountListener(c *FrontSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.stopListening()
	if c.share != nil {
		c.share.Listens--
	}
}

// startListening counts a client that listens, where fewer than most do.
func (p *FrontSession) startListening(most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listens >= most {
		return false
	}
	p.listens++
	p.noteUse()
	return true
}

func (p *FrontSession) stopListening() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listens--
	p.noteUse()
}
