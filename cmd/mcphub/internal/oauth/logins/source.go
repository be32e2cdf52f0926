package logins

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/internal/callertoken"
	"mcphub/internal/printable"
)

// A Source gives the tokens of one server and principal.
type Source struct {
	store     *Store
	set       oauth.Settings
	client    *oauth.Flow
	principal string
	name      string             // under which the login is kept, or held
	at        string             // the line of hub.json that has the settings
	asked     bool               // hub.json states that the server needs a login
	exchange  bool               // a token is had in exchange for a caller's token; principal is the owner of that
	callers   *callertoken.Table // whose tokens those are; nil: no one has any
	headers   map[string]string  // of requests to the server
	// fetch gets a token that is not kept; nil: there is a login, which is kept.
	fetch  func(ctx context.Context, ch oauth.Challenge) (*unkept, error)
	have   atomic.Pointer[held] // nil if a token is had in exchange: the Store alone holds that
	looked atomic.Bool
}

// held is the TokenSet in use.
type held struct {
	*oauth.TokenSet
	at time.Time // when a person had last logged in or out as it was read
}

// Options are what a Source is made of.
type Options struct {
	Settings  oauth.Settings
	Principal string // whose login it is; with Exchange the owner of callers' tokens
	Asked     bool   // hub.json states that the server needs a login: it is looked for before the server asks
	Machine   bool   // the client itself logs in

	Exchange bool               // a token is had in exchange for the one that the request was admitted by
	Callers  *callertoken.Table // which holds that; nil: no one has any
	Headers  map[string]string  // of hub.json, for requests to the server
	At       string             // the line of hub.json that has the settings
}

// Source makes a Source. It looks at nothing.
func (s *Store) Source(o Options) (*Source, error) {
	c, err := oauth.New(o.Settings)
	if err != nil {
		return nil, err
	}
	if o.Machine {
		o.Principal = ""
	}
	src := &Source{store: s, set: o.Settings, client: c, principal: o.Principal, name: nameOf(o.Settings.Server, o.Principal), asked: o.Asked || o.Machine, exchange: o.Exchange, callers: o.Callers, headers: o.Headers, at: o.At}
	switch {
	case o.Exchange:
		src.fetch = src.exchangeToken
		src.name += "/" + strings.Join(append([]string{o.Settings.Name, o.Settings.ClientID, o.Settings.Issuer}, o.Settings.Scopes...), "\x00")
	case o.Machine:
		src.fetch = src.logInAsMachine
		src.name += "/" + o.Settings.ClientID
	}
	return src, nil
}

// Token returns the token of the next request; "" if it goes without. It costs
// nothing if the server has not asked for one. What goes wrong here, Refused says:
// the server decides whether it needs a token. Only if a token is had in exchange for a
// caller's does no request go without one: advice is why there is none.
func (s *Source) Token(ctx context.Context) (token, advice string) {
	if s.exchange {
		ctx, ok := s.withSubject(ctx)
		if !ok {
			return "", errNoCaller.Error()
		}
		return s.tokenOfCaller(ctx)
	}
	return s.tokenOfLogin(ctx), ""
}

// tokenOfLogin returns the token of the login; "" if there is none.
func (s *Source) tokenOfLogin(ctx context.Context) string {
	have := s.have.Load()
	if have != nil && !s.lastChange().Equal(have.at) {
		s.looked.Store(false)
		have = s.readLogin(ctx) // a person has logged out, or in as someone else
	}
	if have == nil {
		if !s.asked || s.fetch != nil || s.looked.Load() {
			return "" // the server states what it wants as it refuses
		}
		if have = s.readLogin(ctx); have == nil {
			return ""
		}
	}
	if !have.Expired() || have.Refresh == "" {
		return have.Access
	}
	if g, err := s.renewTokens(ctx, have.Access, oauth.Challenge{}); err == nil {
		return g.Access
	}
	return have.Access
}

// lastChange returns the time when a person has logged in or out last; zero if what is used is no login of a person.
func (s *Source) lastChange() time.Time {
	if s.fetch != nil {
		return time.Time{}
	}
	return s.store.lastChange(s.name)
}

// readLogin reads the login; nil if there is none to be used.
func (s *Source) readLogin(ctx context.Context) *held {
	at := s.store.lastChange(s.name)
	l, err := s.store.Find(ctx, s.set.Server, s.principal)
	s.looked.Store(true)
	var now *held
	if err == nil && l.Lost == "" && l.Access != "" {
		now = &held{&l.TokenSet, at}
	}
	s.have.Store(now)
	return now
}

// Refused is told about an answer with status 401 or 403 to a request that carried
// the token used, or "". It returns another token, with which the request is to be
// sent again, or advice for a person; both may be "". logIn: the advice is to log
// in.
func (s *Source) Refused(ctx context.Context, used string, status int, header http.Header) (token, advice string, logIn bool) {
	ch := oauth.ChallengeOf(header)
	if s.exchange {
		var ok bool
		if ctx, ok = s.withSubject(ctx); !ok {
			return "", errNoCaller.Error(), false
		}
	}
	if status == http.StatusForbidden {
		switch {
		case ch.Error != "insufficient_scope":
			return "", "", false
		case s.exchange:
			return "", s.adviseScopes(ch.Scopes), false
		case s.fetch != nil:
			return "", "", false
		}
		token, advice = s.noteLacking(ctx, used, ch.Scopes)
		return token, advice, token == ""
	}
	if !ch.Bearer && !s.asked && used == "" && header.Get("WWW-Authenticate") != "" {
		return "", "", false // it asks for something else
	}
	g, err := s.renewTokens(ctx, used, ch)
	switch {
	case err != nil:
		return "", err.Error(), errors.As(err, new(*loginError))
	case g.Access == used:
		return "", "", false
	}
	return g.Access, "", false
}

// A loginError means that only a new login helps, and how a person makes it.
type loginError struct {
	why     string
	command string
}

func (e *loginError) Error() string { return e.why + "; run: " + e.command }

// overError returns the error where only a new login helps.
func (s *Source) overError(why string) error {
	return &loginError{why, Command(s.set.Name, s.principal)}
}

// Command returns the command line by which a person logs in at a server for a principal. scopes are asked for beside the others.
func Command(server, principal string, scopes ...string) string {
	var flags []string
	if principal != "" {
		flags = append(flags, "--principal", printable.Escape(principal, 300))
	}
	if len(scopes) > 0 {
		flags = append(flags, "--scope", printable.Escape(strings.Join(scopes, ","), 300))
	}
	return printable.CommandLine(printable.BuildCommand("mcphub auth login", flags, printable.Escape(server, 300)))
}

// noteLacking remembers which scopes are missing, so that the next login asks for them.
// If there has been one since, its token is returned.
func (s *Source) noteLacking(ctx context.Context, used string, scopes []string) (token, advice string) {
	text := "the server asks for a login that may do more"
	if len(scopes) > 0 {
		text = fmt.Sprintf("the server asks for a login with the scopes %s", printable.Escape(strings.Join(scopes, " "), 300))
	}
	run := Command(s.set.Name, s.principal)
	at := s.store.lastChange(s.name)
	err := s.store.withLock(ctx, s.name, func() error {
		l, err := s.store.Find(ctx, s.set.Server, s.principal)
		if err != nil {
			return err
		}
		if l.Access != used && l.Access != "" && !l.Expired() {
			token = l.Access
			s.have.Store(&held{&l.TokenSet, at})
			return nil
		}
		more := l.Wanted
		for _, scope := range scopes[:min(len(scopes), maxScopes)] {
			if !slices.Contains(more, scope) && !slices.Contains(l.Scopes, scope) && len(more) < maxScopes && len(scope) <= maxScope {
				more = append(more, scope)
			}
		}
		if len(more) == len(l.Wanted) {
			return nil
		}
		l.Wanted = more
		return s.store.writeLogin(ctx, l)
	})
	if token != "" {
		return token, ""
	}
	if err != nil && len(scopes) > 0 {
		run = Command(s.set.Name, s.principal, scopes...)
	}
	return "", text + "; run: " + run
}

// Bounds of what a server may ask for.
const (
	maxScopes = 50
	maxScope  = 200 // bytes
)

// A renewal is one that is under way.
type renewal struct {
	done chan struct{}
	used string // the token that it is to replace
	got  *oauth.TokenSet
	err  error
}

// renewTime bounds a renewal, which does not end with the request that started it.
const renewTime = 2 * time.Minute

// renewTokens gives a TokenSet whose token is not used: one that another process has renewed,
// or that is renewed now. One renewal serves all who wait.
func (s *Source) renewTokens(ctx context.Context, used string, ch oauth.Challenge) (*oauth.TokenSet, error) {
	at := s.lastChange()
	if g := s.have.Load(); g != nil && g.at.Equal(at) && g.Access != used && !g.Expired() {
		return g.TokenSet, nil
	}
	for {
		r := s.startRenewal(ctx, used, ch)
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch {
		case r.err != nil:
			return nil, r.err
		case r.got.Access == used && r.used != used:
			continue // it served someone who did not know yet that this token is refused
		}
		if !s.exchange {
			s.have.Store(&held{r.got, at})
		}
		return r.got, nil
	}
}

// startRenewal returns the renewal that is under way, and starts one if there is none.
func (s *Source) startRenewal(ctx context.Context, used string, ch oauth.Challenge) *renewal {
	name, st := s.nameFor(ctx), s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	if r := st.renewals[name]; r != nil {
		return r
	}
	r := &renewal{done: make(chan struct{}), used: used}
	st.renewals[name] = r
	on, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
	st.wg.Go(func() {
		defer cancel()
		if s.fetch != nil {
			r.got, r.err = s.fetchUnkept(on, used, ch)
		} else {
			r.err = st.withLock(on, name, func() (err error) {
				r.got, err = s.renewLocked(on, used)
				return err
			})
		}
		st.mu.Lock()
		delete(st.renewals, name)
		st.mu.Unlock()
		close(r.done)
	})
	return r
}

// renewLocked renews the login, unless that has been done. The caller holds its lock.
func (s *Source) renewLocked(ctx context.Context, used string) (*oauth.TokenSet, error) {
	st := s.store
	if err := st.saveLate(ctx, s.name); err != nil {
		return nil, err
	}
	l, err := st.Find(ctx, s.set.Server, s.principal)
	switch {
	case errors.Is(err, ErrNone):
		return nil, s.overError("the server asks for a login, and " + err.Error())
	case err != nil:
		return nil, fmt.Errorf("the login for it cannot be read: %w", err)
	case l.Lost != "":
		return nil, s.overError("the login is over: " + l.Lost)
	case l.Access != used && l.Access != "" && !l.Expired():
		return &l.TokenSet, nil
	case l.Refresh == "":
		return nil, s.overError("the login is over, and the authorization server gave nothing to renew it with")
	}
	cut := !l.Began.IsZero()
	l.Began = time.Now().UTC()
	if err := st.writeLogin(ctx, l); err != nil {
		return nil, fmt.Errorf("the login is not renewed, because nothing could be kept of that: %w", err)
	}
	g, err := s.client.Refresh(ctx, &l.TokenSet)
	switch {
	case errors.Is(err, oauth.ErrRefused):
		l.Lost = printable.Escape(err.Error(), 300)
		if cut {
			l.Lost = "a renewal was cut off before its answer was read, and " + l.Lost
		}
		l.Began = time.Time{}
		if err := st.writeLogin(ctx, l); err != nil {
			return nil, err
		}
		return nil, s.overError("the login is over: " + l.Lost)
	case err != nil:
		return nil, fmt.Errorf("the login cannot be renewed now, at %s: %w", printable.Escape(l.Issuer, 200), err)
	}
	next := *l
	next.TokenSet, next.Began, next.Renewed = *g, time.Time{}, time.Now().UTC()
	st.mu.Lock()
	st.unsaved[s.name] = &next
	st.mu.Unlock()
	if err := st.saveLate(ctx, s.name); err != nil {
		return nil, err
	}
	return g, nil
}

// saveLate writes what an authorization server answered, also when that has failed
// before: no one uses it until it is written. The caller holds the lock of the login.
func (s *Store) saveLate(ctx context.Context, name string) error {
	s.mu.Lock()
	l := s.unsaved[name]
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	now, err := s.Find(ctx, l.Server, l.Principal)
	switch {
	case errors.Is(err, ErrNone), err == nil && !now.Made.Equal(l.Made): // logged out, or in again
		err = nil
	default:
		err = s.writeLogin(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("the login was renewed, and cannot be kept: %w", err)
	}
	s.mu.Lock()
	delete(s.unsaved, name)
	s.mu.Unlock()
	return nil
}
