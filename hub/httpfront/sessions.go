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
func (f *Front) runSession(c *FrontSession) {
	var session interface{ Run(context.Context) } = c.modernSession
	if c.modernSession == nil {
		session = c.hubSession
	}
	f.running.Go(func() {
		session.Run(c.ctx)
		f.forgetSession(c)
		c.awaitPosts(answerTime)
		c.closeSession()
	})
}

// idleMinute is for how long no one has used a session that makes room for any other.
const idleMinute = time.Minute

// enterSession takes a session in, if there is room: of one principal, for as many as it may have. The
// one that has been idle longest makes room, if no one has used it for a minute. If the caller has no
// session, or at least two fewer than the principal with the most, an idle session of that principal
// makes room. A refusal is refusedStopping, refusedRevoked, or reports why there is no room.
func (f *Front) enterSession(c *FrontSession) *refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.currentStage() >= draining:
		return refusedStopping
	case !f.active.Load().admission.StillAdmits(c.who):
		return refusedRevoked
	}
	now, principal := time.Now(), c.principal
	s := f.shareOf(principal)
	own := s != nil && s.Sessions >= s.MaxSessions
	if own || len(f.sessions) >= f.fixed.Sessions {
		oldest := f.idle.longestIdle(principal, !own, now.Add(-idleMinute))
		if oldest == nil && !own && s != nil {
			oldest = f.idle.heaviestIdle(s.Sessions + min(s.Sessions, 1)) // for one more than another has, a place would go to and fro
		}
		switch {
		case oldest != nil:
			f.endSession(oldest)
		case own:
			return fullRefusal("%s has %d sessions, as many as it may have (limits.principal.sessions): end one, or try again when one has been idle for a minute", s.Name, s.Sessions)
		default:
			f.dropShare(s, now)
			return fullRefusal("there are as many sessions already as may be, of %d (limits.sessions); try again later", f.fixed.Sessions)
		}
	}
	f.sessions[c.id] = c
	f.owned[principal]++
	if s != nil {
		c.share = s
		s.Sessions++
		s.AddUser()
	}
	c.idlers = &f.idle
	f.idle.addIdle(c, now)
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
func (f *Front) endSession(c *FrontSession) {
	c.cancel(errSessionOver)
	f.idle.removeIdle(c)
	if f.modernSessions[c.owner] == c {
		delete(f.modernSessions, c.owner)
	}
	if f.sessions[c.id] != c {
		return
	}
	delete(f.sessions, c.id)
	if c.share != nil {
		c.share.Sessions--
		c.share.RemoveUser()
		f.dropShare(c.share, time.Now())
	}
	if f.owned[c.principal]--; f.owned[c.principal] == 0 {
		delete(f.owned, c.principal)
		f.idle.forgetPrincipal(c.principal)
	}
}

func (f *Front) forgetSession(c *FrontSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endSession(c)
	if c.modernSession != nil {
		c.share.RemoveUser()
		f.dropShare(c.share, time.Now())
	}
}

// sweepTime returns the time between two looks for sessions that no one uses.
func (f *Front) sweepTime() time.Duration { return max(f.active.Load().Idle/8, time.Second) }

// sweepIdle ends sessions that no one uses.
func (f *Front) sweepIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := time.Now().Add(-f.active.Load().Idle)
	for c := f.idle.longestIdle("", true, before); c != nil; c = f.idle.longestIdle("", true, before) {
		f.endSession(c)
	}
	for _, s := range f.shares {
		f.dropShare(s, time.Now())
	}
	for _, c := range f.modernSessions {
		if since, idle := c.unusedSince(); idle && !since.After(before) && !c.modernSession.Busy() {
			c.cancel(errSessionOver)
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
	s := f.shares[principal]
	if s == nil {
		s = quota.New(principal, f.principalLimits(), &f.callers)
		f.shares[principal] = s
	}
	return s
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

// A SessionUse is how many sessions there are, of all principals and of the one that has most. A bound of 0 is none.
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
func (f *Front) enterShare(who admission.Caller) (s *quota.Share, exit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s = f.shareOf(who.Principal.Key())
	s.AddUser()
	return s, s.RemoveUser
}

// dropShare forgets a share of which nothing is taken. The caller holds mu.
func (f *Front) dropShare(s *quota.Share, now time.Time) {
	if s != nil && f.shares[s.Key] == s && s.IsUnused(now) {
		delete(f.shares, s.Key)
	}
}
