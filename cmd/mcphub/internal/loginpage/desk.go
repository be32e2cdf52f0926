package loginpage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/internal/principal"
)

// Bounds of a Desk.
const (
	maxTickets = 1000 // of all principals
	maxOfOne   = 16   // of one principal
	maxProofs  = 10   // wrong ones, of one Ticket
	maxBegun   = 20   // logins at the issuer, of one Ticket: each asks the issuer
)

// Prefix is how the paths of all pages begin.
const Prefix = "/login/"

// backPath is where browsers come back to, before the name of a server. It is no name of a Ticket, which are in capitals.
const backPath = Prefix + "back/"

// provedPath is where a browser comes back to from the issuer of the caller's tokens.
const provedPath = Prefix + "proved"

// A Desk keeps the logins that people over HTTP are about to make. The zero value has none.
type Desk struct {
	mu         sync.Mutex
	tickets    map[string]*Ticket  // by id
	identities map[string]identity // by redirect
}

// identityTime is how long an identity is used again. Not longer: an authorization server may forget it.
const identityTime = time.Hour

// An identity is what this program is to an authorization server.
type identity struct {
	issuer string
	*oauth.Registration
	since time.Time
}

// IdentityAt returns what this program is to an issuer for logins that come back to a redirect; nil: nothing is known.
func (d *Desk) IdentityAt(issuer, redirect string) *oauth.Registration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.identities[redirect]; ok && i.issuer == issuer && time.Since(i.since) < identityTime {
		return i.Registration
	}
	return nil
}

// NoteIdentity remembers what this program is to an issuer, so that it does not register itself there for each login.
func (d *Desk) NoteIdentity(issuer, redirect string, r *oauth.Registration) {
	if d.IdentityAt(issuer, redirect) == r {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.identities == nil {
		d.identities = map[string]identity{}
	}
	d.identities[redirect] = identity{issuer, r, time.Now()}
}

// An Order is a login that someone is about to make.
type Order struct {
	Base   string              // the address of the hub as browsers know it, without a slash at its end
	Server string              // its name in the hub
	At     string              // its address, for people
	Who    principal.Principal // for whom it is
	// Prove begins a login at the issuer of the caller's tokens, by a browser that comes back to a redirect. It gives a token that the hub
	// admits. nil: no issuer gives the caller's tokens.
	Prove func(ctx context.Context, redirect string) (*oauth.Attempt, error)
	// End is called if nothing has to be waited for any more: another Ticket for the same server and principal has led to a login (err
	// is nil), or this one cannot.
	End func(err error)
}

// A Ticket is one login that someone is about to make, with its pages.
type Ticket struct {
	Order
	desk *Desk
	id   string
	done chan struct{} // closed by Close

	// What follows is guarded by desk.mu.
	err     error             // why no login was made; set before done is closed
	wrong   int               // proofs that were wrong
	begun   int               // logins at the issuer that may have begun
	browser [sha256.Size]byte // the digest of the cookie of the browser that has proved whose it is; zero: none has
	proof   *oauth.Attempt    // the login at the issuer that has begun; nil: none
	prover  [sha256.Size]byte // the digest of the cookie of the browser that has begun it
	address string            // where the login goes on; "": not known yet
	state   string            // that the answer must have; "": no answer is waited for
	answers chan url.Values   // takes the answer
}

var (
	errNobody = errors.New("a link is for a person whom a token names")
	errMany   = fmt.Errorf("%d logins of this caller wait already; make one of them, or wait until they end", maxOfOne)
	errFull   = fmt.Errorf("%d logins wait already; try again in some minutes", maxTickets)
)

// ErrProofs is why a Ticket ends that too many wrong proofs have come for.
var ErrProofs = errors.New("somebody else has tried to use the link too often")

// Open makes a Ticket. It refuses one for a caller whom no token names, and more than there is room for.
func (d *Desk) Open(o Order) (*Ticket, error) {
	if o.Who.Key() == "" {
		return nil, errNobody
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.tickets) >= maxTickets {
		return nil, errFull
	}
	of := 0
	for _, t := range d.tickets {
		if t.Who.Key() == o.Who.Key() {
			of++
		}
	}
	if of >= maxOfOne {
		return nil, errMany
	}
	if d.tickets == nil {
		d.tickets = map[string]*Ticket{}
	}
	t := &Ticket{Order: o, desk: d, id: rand.Text(), done: make(chan struct{})}
	d.tickets[t.id] = t
	return t, nil
}

// Link returns the address of the page of a Ticket.
func (t *Ticket) Link() string { return t.Base + Prefix + t.id }

// Lead has the page lead to the authorization server.
func (t *Ticket) Lead(address string) {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	t.address = address
}

// Return returns where the browser comes back to. The name of the server is part of it: an answer to the login at one server is
// taken for no other.
func (t *Ticket) Return() *oauth.Return {
	return &oauth.Return{
		Address: t.Base + backPath + url.PathEscape(t.Server),
		Expect: func(state string) (<-chan url.Values, func()) {
			answers := make(chan url.Values, 1)
			t.desk.mu.Lock()
			defer t.desk.mu.Unlock()
			t.state, t.answers = state, answers
			return answers, func() {
				t.desk.mu.Lock()
				defer t.desk.mu.Unlock()
				t.state = ""
			}
		},
	}
}

// Close ends a Ticket. err is why no login was made; nil if one was, and then other Tickets for it are settled.
func (t *Ticket) Close(err error) {
	d := t.desk
	d.mu.Lock()
	if d.tickets[t.id] != t {
		d.mu.Unlock()
		return
	}
	delete(d.tickets, t.id)
	t.err = err
	close(t.done)
	var settled []*Ticket
	for _, other := range d.tickets {
		if err == nil && other.Server == t.Server && other.Who.Key() == t.Who.Key() {
			settled = append(settled, other)
		}
	}
	d.mu.Unlock()
	for _, other := range settled {
		other.End(nil)
	}
}

// find returns the Ticket of an id; nil if there is none.
func (d *Desk) find(id string) *Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tickets[id]
}

// findState returns the Ticket for which state returns a text that is the same; nil if there is none.
func (d *Desk) findState(text string, state func(t *Ticket) string) *Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found *Ticket
	for _, t := range d.tickets {
		if want := state(t); want != "" && subtle.ConstantTimeCompare([]byte(want), []byte(text)) == 1 {
			found = t
		}
	}
	return found
}

// isProvedBy reports whether the browser of a cookie has proved whose it is.
func (t *Ticket) isProvedBy(cookie string) bool {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	return isOf(t.browser, cookie)
}

// isOf reports whether a digest is the digest of a cookie.
func isOf(sum [sha256.Size]byte, cookie string) bool {
	have := sha256.Sum256([]byte(cookie))
	return cookie != "" && subtle.ConstantTimeCompare(sum[:], have[:]) == 1
}

// noteProved remembers the browser that has proved whose it is. An earlier one counts no more.
func (t *Ticket) noteProved(cookie string) {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	t.browser = sha256.Sum256([]byte(cookie))
}

// noteWrong counts a wrong proof, and ends the Ticket after too many.
func (t *Ticket) noteWrong() {
	t.desk.mu.Lock()
	t.wrong++
	most := t.wrong >= maxProofs
	t.desk.mu.Unlock()
	if most {
		t.Close(ErrProofs)
		t.End(ErrProofs)
	}
}

// mayBegin counts a login at the issuer that is about to begin. It returns false after too many.
func (t *Ticket) mayBegin() bool {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	t.begun++
	return t.begun <= maxBegun
}

// beginProof remembers the login at the issuer that the browser of a cookie has begun. It ends an earlier one.
func (t *Ticket) beginProof(a *oauth.Attempt, cookie string) {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	t.proof, t.prover = a, sha256.Sum256([]byte(cookie))
}

// takeProof returns the login at the issuer, once, to the browser that has begun it; nil to any other.
func (t *Ticket) takeProof(cookie string) *oauth.Attempt {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	a := t.proof
	if a == nil || !isOf(t.prover, cookie) {
		return nil
	}
	t.proof = nil
	return a
}

// takeAnswer gives the answer that a browser has brought to the one who waits for it, once. It returns false if the browser has not
// proved whose it is, and if no answer is waited for.
func (t *Ticket) takeAnswer(cookie string, answer url.Values) bool {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	if t.state == "" || !isOf(t.browser, cookie) {
		return false
	}
	t.state = ""
	t.answers <- answer // there is room: it is taken once
	return true
}

// BaseOf returns the address of the pages of a hub whose endpoint has an address.
func BaseOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	path := strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "/"), "/mcp")
	return u.Scheme + "://" + u.Host + path
}
