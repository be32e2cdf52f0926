package httpfront

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
)

// runSession runs the session of a client until that is cancelled. The caller is one of
// f.running, so no one has waited for them yet.
func (f *Front) runSession(session *FrontSession) {
	var runner interface{ Run(context.Context) } = session.modernSession
	if session.modernSession == nil {
		runner = session.hubSession
	}
	f.running.Go(func() {
		runner.Run(session.ctx)
		f.forgetSession(session)
		session.awaitPosts(answerTime)
		session.closeSession()
	})
}

// idleMinute is for how long no one has used a session that makes room for any other.
const idleMinute = time.Minute

// enterSession takes a session in, if there is room: of one principal, for as many as it may have. The
// one that has been idle longest makes room, if no one has used it for a minute. If the caller has no
// session, or at least two fewer than the principal with the most, an idle session of that principal
// makes room. A refusal is refusedStopping, refusedRevoked, or reports why there is no room.
func (f *Front) enterSession(session *FrontSession) *refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.currentStage() >= draining:
		return refusedStopping
	case !f.active.Load().admission.StillAdmits(session.caller):
		return refusedRevoked
	}
	now, principal := time.Now(), session.principal
	share := f.shareOf(principal)
	own := share != nil && share.Sessions >= share.MaxSessions
	if own || len(f.sessions) >= f.fixed.Sessions {
		oldest := f.idle.longestIdle(principal, !own, now.Add(-idleMinute))
		if oldest == nil && !own && share != nil {
			oldest = f.idle.heaviestIdle(share.Sessions + min(share.Sessions, 1)) // for one more than another has, a place would go to and fro
		}
		switch {
		case oldest != nil:
			f.endSession(oldest)
		case own:
			return fullRefusal("%s has %d sessions, as many as it may have (limits.principal.sessions): end one, or try again when one has been idle for a minute", share.Name, share.Sessions)
		default:
			f.dropShare(share, now)
			return fullRefusal("there are as many sessions already as may be, of %d (limits.sessions); try again later", f.fixed.Sessions)
		}
	}
	f.sessions[session.id] = session
	f.owned[principal]++
	if share != nil {
		session.share = share
		share.Sessions++
		share.AddUser()
	}
	session.idlers = &f.idle
	f.idle.addIdle(session, now)
	return nil
}

// Refusals that have nothing to say about their request.
var (
	refusedStopping = &refusal{http.StatusServiceUnavailable, ReasonStopping, errStopping.Reason.Error() + ": nothing was done for this request; try again, another hub may serve it", jsonrpc.CodeInternal, 2 * time.Second}
	refusedRevoked  = &refusal{status: http.StatusUnauthorized, reason: ReasonRevoked, text: errRevoked.Reason.Error()} // while the request came
)

// fullRefusal reports that there is no room for a session.
func fullRefusal(text string, args ...any) *refusal {
	return &refusal{http.StatusServiceUnavailable, ReasonSessions, fmt.Sprintf(text, args...), jsonrpc.CodeInternal, 10 * time.Second}
}

// endSession ends a session and makes its place free. The caller holds mu.
func (f *Front) endSession(session *FrontSession) {
	session.cancel(errSessionOver)
	f.idle.removeIdle(session)
	if f.modernSessions[session.owner] == session {
		delete(f.modernSessions, session.owner)
	}
	if f.sessions[session.id] != session {
		return
	}
	delete(f.sessions, session.id)
	if session.share != nil {
		session.share.Sessions--
		session.share.RemoveUser()
		f.dropShare(session.share, time.Now())
	}
	if f.owned[session.principal]--; f.owned[session.principal] == 0 {
		delete(f.owned, session.principal)
		f.idle.forgetPrincipal(session.principal)
	}
}

func (f *Front) forgetSession(session *FrontSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endSession(session)
	if session.modernSession != nil {
		session.share.RemoveUser()
		f.dropShare(session.share, time.Now())
	}
}

// sweepTime returns the time between two looks for sessions that no one uses.
func (f *Front) sweepTime() time.Duration { return max(f.active.Load().Idle/8, time.Second) }

// sweepIdle ends sessions that no one uses.
func (f *Front) sweepIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := time.Now().Add(-f.active.Load().Idle)
	for session := f.idle.longestIdle("", true, before); session != nil; session = f.idle.longestIdle("", true, before) {
		f.endSession(session)
	}
	for _, share := range f.shares {
		f.dropShare(share, time.Now())
	}
	for _, session := range f.modernSessions {
		if since, idle := session.unusedSince(); idle && !since.After(before) && !session.modernSession.Busy() {
			session.cancel(errSessionOver)
		}
	}
}

// allSessions returns the ones that the front serves. The caller holds mu.
func (f *Front) allSessions() []*FrontSession {
	return slices.AppendSeq(slices.Collect(maps.Values(f.sessions)), maps.Values(f.modernSessions))
}

// startRequest counts a request, unless no caller waits for it any more.
func (f *Front) startRequest() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	open := f.currentStage() < closed
	if open {
		f.running.Add(1)
	}
	return open
}

// shareOf returns the share of a principal; nil if no one is named, or no one else can be. The
// caller holds mu.
func (f *Front) shareOf(principal string) *quota.Share {
	if now := f.active.Load(); principal == "" || len(now.Tokens) == 0 && now.Resource == nil {
		return nil
	}
	share := f.shares[principal]
	if share == nil {
		share = quota.New(principal, f.principalLimits(), &f.callers)
		f.shares[principal] = share
	}
	return share
}

// principalLimits returns the limits in force, with their defaults.
func (f *Front) principalLimits() quota.Limits {
	l := f.fixed.Principal
	if l.Sessions <= 0 {
		l.Sessions = f.fixed.Sessions
		if f.active.Load().hasSeveralCallers() {
			l.Sessions = quota.DefaultPart(f.fixed.Sessions)
		}
	}
	if l.Calls <= 0 {
		l.Calls = f.hub.Limits().Calls
	}
	if l.Burst <= 0 {
		l.Burst = l.Rate
	}
	return l
}

// A SessionUse is how many sessions there are, of all principals and of the one that has most. A bound of 0 bounds nothing.
type SessionUse struct{ All, Most, OfOne, MostOfOne int }

// SessionsUsed returns how many sessions there are.
func (f *Front) SessionsUsed() SessionUse {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := SessionUse{All: len(f.sessions), Most: f.fixed.Sessions}
	if now := f.active.Load(); len(now.Tokens) > 0 || now.Resource != nil {
		u.MostOfOne = f.principalLimits().Sessions
	}
	for key, n := range f.owned {
		if f.shares[key] != nil {
			u.OfOne = max(u.OfOne, n)
		}
	}
	return u
}

// maxOpen returns how many connections may be open on which a principal has come: so many that half of them are
// enough for all that one may have. 0: any number, if there are no others.
func (f *Front) maxOpen() int {
	if !f.active.Load().hasSeveralCallers() {
		return 0
	}
	return 4*f.fixed.Sessions + 2*(quota.Waiting+2)*max(f.hub.Limits().Calls, f.principalLimits().Calls)
}

// enterShare enters the share of a request that belongs to no session; nil as of shareOf. exit is called
// when the request is over.
func (f *Front) enterShare(caller admission.Caller) (share *quota.Share, exit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	share = f.shareOf(caller.Principal.Key())
	share.AddUser()
	return share, share.RemoveUser
}

// dropShare forgets a share of which nothing is taken. The caller holds mu.
func (f *Front) dropShare(share *quota.Share, now time.Time) {
	if share != nil && f.shares[share.Key] == share && share.IsUnused(now) {
		delete(f.shares, share.Key)
	}
}
