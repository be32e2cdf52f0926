package callertoken

import (
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/principal"
)

// A Token is an access token that a caller has shown.
type Token struct {
	Issuer  string // that has given it, as it calls itself
	Expires time.Time
	Serial  uint64 // tells apart what one Table was shown; 0 of the zero Token

	reveal func() string // a function, because whatever prints a value prints its texts
}

// Reveal returns the text of the token, for the one request that exchanges it.
func (t Token) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// A Table holds the tokens of all sessions. nil is one that holds nothing.
type Table struct {
	wanted atomic.Bool // some server needs them

	mu    sync.Mutex
	of    map[string]map[*Holder]struct{} // by the key of the principal; those that hold a token
	shown uint64                          // the last serial
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
			h.token = Token{}
		}
	}
	clear(t.of)
}

// NewestToken returns the token of a principal, by its key, that lasts longest; false if no session of it has shown one that lasts.
func (t *Table) NewestToken(key string) (Token, bool) {
	if t == nil || key == "" {
		return Token{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var newest Token
	for h := range t.of[key] {
		if h.token.Expires.After(newest.Expires) {
			newest = h.token
		}
	}
	if !time.Now().Before(newest.Expires) {
		return Token{}, false
	}
	return newest, true
}

// IsHeld reports whether a session of a principal, by its key, holds a token, by its serial, that lasts.
func (t *Table) IsHeld(key string, serial uint64) bool {
	if t == nil || key == "" || serial == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for h := range t.of[key] {
		if h.token.Serial == serial {
			return time.Now().Before(h.token.Expires)
		}
	}
	return false
}

// A Holder holds the token of one session. nil holds nothing.
type Holder struct {
	table *Table
	who   principal.Principal
	token Token // the Table's mutex guards this, and what follows
	ended bool
}

// NewHolder makes the Holder of a session of a principal; nil if no issuer vouches for it.
func (t *Table) NewHolder(who principal.Principal) *Holder {
	if t == nil || who.Issuer == "" {
		return nil
	}
	return &Holder{table: t, who: who}
}

// IsWanted reports whether the Holder keeps what it is shown.
func (h *Holder) IsWanted() bool { return h != nil && h.table.wanted.Load() }

// KeepToken takes the token of a request of the session, which expires then, unless the Holder has one that lasts as long.
func (h *Holder) KeepToken(text string, expires time.Time) {
	if !h.IsWanted() || text == "" {
		return
	}
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.ended || !t.wanted.Load() || !expires.After(h.token.Expires) {
		return
	}
	t.shown++
	h.token = Token{Issuer: h.who.Issuer, Expires: expires, reveal: func() string { return text }, Serial: t.shown}
	key := h.who.Key()
	if t.of[key] == nil {
		t.of[key] = map[*Holder]struct{}{}
	}
	t.of[key][h] = struct{}{}
}

// ForgetToken ends the Holder with its session: the token is held no more, and no other is taken.
func (h *Holder) ForgetToken() {
	if h == nil {
		return
	}
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	h.ended, h.token = true, Token{}
	key := h.who.Key()
	delete(t.of[key], h)
	if len(t.of[key]) == 0 {
		delete(t.of, key)
	}
}
