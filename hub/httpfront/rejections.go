package httpfront

import (
	"net/http"
	"sync"
	"time"

	"mcphub/hub/httpfront/admission"
)

// This file reports what the front refuses: all of it is counted, and as much as a person can read is told.

// A Rejection is a request that the front has refused.
type Rejection struct {
	Status     int
	Reason     string // one of the Reason constants
	Text       string // that the client was sent
	Principal  string // who had come on the connection before, where a token was not what was refused; "": not known
	Address    string // that it came from
	Agent      string // its User-Agent
	Suppressed int    // how many were refused since the last one that was told, and were not told
}

// Reasons of a Rejection. There are no others, so that what is counted by them stays small.
const (
	ReasonHost        = admission.ReasonHost
	ReasonOrigin      = admission.ReasonOrigin
	ReasonToken       = admission.ReasonToken
	ReasonScope       = admission.ReasonScope
	ReasonIssuer      = admission.ReasonIssuer
	ReasonRevoked     = "revoked"     // a reload took the token back meanwhile
	ReasonConnections = "connections" // of one principal
	ReasonSessions    = "sessions"    // limits.sessions, or limits.principal.sessions
	ReasonCalls       = "calls"       // limits.principal.calls, or requests of one session that are open
	ReasonRate        = "rate"        // limits.principal.rate
	ReasonMemory      = "memory"      // of large requests
	ReasonSession     = "session"     // there is none of this id
	ReasonStopping    = "stopping"
	ReasonPath        = "path"
	ReasonMethod      = "method"
	ReasonAccept      = "accept"
	ReasonType        = "type"   // Content-Type, Content-Encoding
	ReasonSize        = "size"   // of the body
	ReasonHeader      = "header" // one that is there twice, or does not fit the body
	ReasonVersion     = "version"
	ReasonBody        = "body"    // it is no message, or none that fits
	ReasonLogin       = "login"   // on a page of Login
	ReasonToolset     = "toolset" // its caller may have none of the toolsets that it comes for
)

const (
	// rejectionBurst is how many rejections are told at once, and rejectionEvery how long it is until one more may be.
	rejectionBurst = 100
	rejectionEvery = time.Second
	// rejectionFlush is how long a rejection waits that was not told, until one line counts them all.
	rejectionFlush = 10 * time.Second
)

// A rejectionLog counts all refusals, and tells as many as a person can read.
type rejectionLog struct {
	count func(status int, reason string)
	tell  func(Rejection)

	mu   sync.Mutex // guards what follows
	full time.Time  // when rejectionBurst may be told again
	held int        // that were not told
	last Rejection  // of those
}

// addRejection takes a rejection, and tells it if there is room.
func (d *rejectionLog) addRejection(rejection Rejection, now time.Time) {
	if d.count != nil {
		d.count(rejection.Status, rejection.Reason)
	}
	d.mu.Lock()
	if d.full.Before(now) {
		d.full = now
	}
	if d.full.Sub(now) > (rejectionBurst-1)*rejectionEvery {
		d.held++
		d.last = rejection
		d.mu.Unlock()
		return
	}
	d.full = d.full.Add(rejectionEvery)
	rejection.Suppressed, d.held = d.held, 0
	d.mu.Unlock()
	d.tellOne(rejection)
}

// flushHeld tells the last of the refusals that were not told, and how many there were.
func (d *rejectionLog) flushHeld() {
	d.mu.Lock()
	rejection, held := d.last, d.held
	d.held, d.last = 0, Rejection{}
	d.mu.Unlock()
	if held > 0 {
		rejection.Suppressed = held - 1
		d.tellOne(rejection)
	}
}

func (d *rejectionLog) tellOne(one Rejection) {
	if d.tell != nil {
		d.tell(one)
	}
}

// reportRejection reports that a request was refused.
func (f *Front) reportRejection(r *http.Request, status int, reason, text string) {
	one := Rejection{Status: status, Reason: reason, Text: text, Address: f.addressOf(r), Agent: r.UserAgent()}
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		one.Principal = admission.PrincipalOn(r.Context())
	}
	f.rejections.addRejection(one, time.Now())
}

// noteOrigin has a session remember the request that it begins with.
func (f *Front) noteOrigin(session *FrontSession, r *http.Request) {
	session.address, session.agent = f.addressOf(r), r.UserAgent()
}

// addressOf returns the address that a request came from, behind the proxies that are trusted.
func (f *Front) addressOf(r *http.Request) string {
	if client, ok := senderOf(r); ok {
		return client
	}
	return admission.ClientAddress(r, f.active.Load().Proxies)
}
