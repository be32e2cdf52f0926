package callertoken

import (
	"context"
	"crypto/sha256"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/principal"
)

// A Token is an access token that a caller has shown.
type Token struct {
	Issuer  string // that has given it, as it calls itself
	Expires time.Time
	ID      string // a digest of the text, and a number that no other time has at which sessions hold it; "" of the zero Token

	reveal func() string // a function, because whatever prints a value prints its texts
}

// Reveal returns the text of the token, for the one request that exchanges it.
func (t Token) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

type contextKey struct{}

// NewContext returns the context of the work on a request that has shown the token. With the zero Token no server is called for the request by a token that is
// had in exchange.
func NewContext(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// OfContext returns the token that the request of ctx has shown; false if the work is for no such request.
func OfContext(ctx context.Context) (Token, bool) {
	t, ok := ctx.Value(contextKey{}).(Token)
	return t, ok
}

// A digest is the one of a token's text.
type digest = [sha256.Size]byte

// A Table holds the tokens of all sessions. nil is one that holds nothing.
type Table struct {
	wanted atomic.Bool // some server needs them

	mu   sync.Mutex
	of   map[string]map[*Holder]struct{} // by the owner; those that hold a token
	last uint64                          // number of an ID
}

// New makes a Table that holds nothing until it is wanted.
func New() *Table { return &Table{of: map[string]map[*Holder]struct{}{}} }

// SetWanted remembers whether some server needs the tokens. If none does, the Table forgets all.
func (t *Table) SetWanted(wanted bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted.Store(wanted)
	if wanted {
		return
	}
	for _, all := range t.of {
		for h := range all {
			clear(h.tokens)
		}
	}
	clear(t.of)
}

// NewestToken returns the token that lasts longest of those that the sessions of an owner have shown; false if none lasts.
func (t *Table) NewestToken(owner string) (Token, bool) {
	if t == nil || owner == "" {
		return Token{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var newest Token
	for h := range t.of[owner] {
		for _, token := range h.tokens {
			if token.Expires.After(newest.Expires) {
				newest = token
			}
		}
	}
	if !time.Now().Before(newest.Expires) {
		return Token{}, false
	}
	return newest, true
}

// IsHeld reports whether a session of an owner holds a token, by its ID, that lasts.
func (t *Table) IsHeld(owner, id string) bool {
	if t == nil || owner == "" || len(id) < sha256.Size {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := digest([]byte(id[:sha256.Size]))
	for h := range t.of[owner] {
		if token := h.tokens[sum]; token.ID == id {
			return time.Now().Before(token.Expires)
		}
	}
	return false
}

// A Holder holds the tokens that one session has shown. nil holds nothing.
type Holder struct {
	table  *Table
	issuer string
	owner  string
	tokens map[digest]Token // the Table's mutex guards this, and what follows
	ended  bool
}

// maxTokens is how many tokens one Holder holds. All clients of one owner that begin no session have one Holder.
const maxTokens = 64

// NewHolder makes the Holder of a session of a principal; nil if no issuer vouches for that. Those of one principal who may do different things are
// different owners.
func (t *Table) NewHolder(who principal.Principal, owner string) *Holder {
	if t == nil || who.Issuer == "" {
		return nil
	}
	return &Holder{table: t, issuer: who.Issuer, owner: owner, tokens: map[digest]Token{}}
}

// IsWanted reports whether the Holder keeps what it is shown.
func (h *Holder) IsWanted() bool { return h != nil && h.table.wanted.Load() }

// KeepToken takes the token that a request of the session has shown, which expires then. If there are too many, it drops the one that ends first.
func (h *Holder) KeepToken(text string, expires time.Time) {
	if !h.IsWanted() || text == "" {
		return
	}
	sum, t := sha256.Sum256([]byte(text)), h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.ended || !t.wanted.Load() {
		return
	}
	token, held := h.tokens[sum]
	if !held {
		h.dropTokens()
		token = Token{Issuer: h.issuer, ID: t.idFor(h.owner, sum), reveal: func() string { return text }}
	}
	token.Expires = expires
	h.tokens[sum] = token
	if t.of[h.owner] == nil {
		t.of[h.owner] = map[*Holder]struct{}{}
	}
	t.of[h.owner][h] = struct{}{}
}

// HeldToken returns the token of a text; the zero Token if the Holder does not hold that.
func (h *Holder) HeldToken(text string) Token {
	if h == nil {
		return Token{}
	}
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return h.tokens[sha256.Sum256([]byte(text))]
}

// idFor returns the ID of a token: what sessions of its owner hold it by, else a new one. What was had in exchange for a token by a former ID was for sessions
// that have all ended. The caller holds the mutex.
func (t *Table) idFor(owner string, sum digest) string {
	for h := range t.of[owner] {
		if token, held := h.tokens[sum]; held {
			return token.ID
		}
	}
	t.last++
	return string(sum[:]) + strconv.FormatUint(t.last, 10)
}

// dropTokens makes room for one more token. The caller holds the mutex.
func (h *Holder) dropTokens() {
	now, first := time.Now(), digest{}
	for sum, token := range h.tokens {
		if !now.Before(token.Expires) {
			delete(h.tokens, sum)
		} else if had, some := h.tokens[first]; !some || token.Expires.Before(had.Expires) {
			first = sum
		}
	}
	if len(h.tokens) >= maxTokens {
		delete(h.tokens, first)
	}
}

// ForgetTokens ends the Holder with its session: no token is held any more, and no other is taken.
func (h *Holder) ForgetTokens() {
	if h == nil {
		return
	}
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	h.ended = true
	clear(h.tokens)
	delete(t.of[h.owner], h)
	if len(t.of[h.owner]) == 0 {
		delete(t.of, h.owner)
	}
}
