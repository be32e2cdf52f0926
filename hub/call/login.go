package call

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"mcphub/children/link"
	"mcphub/children/run"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file offers a login to the person of the client, where a server asks for one
// and the client can show an address (elicitation in URL mode). That person is known
// only on a pair of streams: the browser comes back to this machine, and over HTTP
// nobody could say whose browser it is.

// loginTime is how long a person has to log in.
const loginTime = 10 * time.Minute

type offersLoginKey struct{}

// WithLogins returns a context of one request that a login is offered for, where its
// client can show an address.
func (s *Session) WithLogins(ctx context.Context) context.Context {
	if s.Current.Now().LogIn == nil || !s.logins.there() || !s.ClientOf(ctx).Claims().Can.URL {
		return ctx
	}
	return context.WithValue(ctx, offersLoginKey{}, true)
}

// OffersLogin reports whether WithLogins has made the context.
func OffersLogin(ctx context.Context) bool {
	offers, _ := ctx.Value(offersLoginKey{}).(bool)
	return offers
}

// logins are those that a session offers. The zero value offers none.
type logins struct {
	mu       sync.Mutex
	life     context.Context // ends with the session
	end      context.CancelFunc
	open     map[string]*loginOffer // by server; one serves all calls that wait
	declined map[string]bool        // servers whose login the person did not want: they are not asked again
	wg       sync.WaitGroup
}

// OfferLogins lets logins be offered until StopLogins: the client is a person's on this
// machine.
func (s *Session) OfferLogins(ctx context.Context) {
	l := &s.logins
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life, l.end = context.WithCancel(ctx)
	l.open, l.declined = map[string]*loginOffer{}, map[string]bool{}
}

// StopLogins gives up the logins that are offered, and returns when they have ended.
func (s *Session) StopLogins() {
	l := &s.logins
	l.mu.Lock()
	if l.life == nil {
		l.mu.Unlock()
		return
	}
	l.end()
	l.mu.Unlock()
	l.wg.Wait()
}

// A loginOffer is one login that is offered.
type loginOffer struct {
	pages chan loginPage // capacity 1: what is to be shown
	taken chan error     // capacity 1: nil once the person has agreed to open it
	done  chan struct{}  // closed when it is over
	err   error          // set before that
}

// A loginPage is where a person logs in.
type loginPage struct{ address, code string }

var errDeclined = errors.New("the person declined")

func (l *logins) there() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life != nil && l.life.Err() == nil
}

// logIn offers the login at a child whose server asks for one, as err says, and
// returns when there is one; false where there is none.
func (s *Session) logIn(ctx context.Context, by *configuration.Configuration, child string, err error) bool {
	if !link.AsksForLogin(err) || by.LogIn == nil || !OffersLogin(ctx) {
		return false
	}
	var down *run.UnavailableError
	notBefore := time.Now()
	if errors.As(err, &down) {
		notBefore = notBefore.Add(down.RetryAfter)
	}
	o, first := s.logins.offer(child, func(ctx context.Context, page func(address, code string) error) error {
		return by.LogIn(ctx, child, s.Principal, page)
	})
	if o == nil {
		return false
	}
	client := s.ClientOf(ctx)
	client.Yield()
	over := WaitingFor(ctx, "waiting for the login at "+child)
	if first {
		s.show(ctx, client, child, o)
	}
	select {
	case <-o.done:
	case <-ctx.Done():
	}
	over()
	if ctx.Err() != nil {
		return false
	}
	if o.err != nil {
		s.Log.Info().Str("child", child).Err(o.err).Msg("the login that was offered was not made")
		return false
	}
	wait := time.NewTimer(time.Until(notBefore))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// offer starts a login, or joins one that is under way; nil where there is to be none.
func (l *logins) offer(child string, logIn func(ctx context.Context, page func(address, code string) error) error) (o *loginOffer, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.life == nil || l.life.Err() != nil || l.declined[child]:
		return nil, false
	case l.open[child] != nil:
		return l.open[child], false
	}
	o = &loginOffer{pages: make(chan loginPage, 1), taken: make(chan error, 1), done: make(chan struct{})}
	l.open[child] = o
	ctx, cancel := context.WithTimeout(l.life, loginTime) // it goes on where the call is given up
	l.wg.Go(func() {
		defer cancel()
		err := logIn(ctx, func(address, code string) error {
			o.pages <- loginPage{address, code}
			select {
			case err := <-o.taken:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		l.mu.Lock()
		delete(l.open, child)
		l.declined[child] = errors.Is(err, errDeclined)
		l.mu.Unlock()
		o.err = err
		close(o.done)
	})
	return o, true
}

// show has the client show the page of a login, and says to the login what the person
// answers.
func (s *Session) show(ctx context.Context, client Client, child string, o *loginOffer) {
	var page loginPage
	select {
	case page = <-o.pages:
	case <-o.done:
		return
	case <-ctx.Done():
		o.taken <- context.Cause(ctx)
		return
	}
	id := uuid.NewString()
	err := askForLogin(ctx, client, id, child, page)
	o.taken <- err
	if err == nil {
		s.logins.tellWhenDone(client, id, o)
	}
}

// askForLogin asks the person of the client to open a page (2025-11-25 and 2026-07-28,
// client/elicitation). The later one has no id; the Client leaves it out.
func askForLogin(ctx context.Context, client Client, id, child string, page loginPage) error {
	text := fmt.Sprintf("The server %q asks for a login. Log in on this page, in a browser on this machine; then the call goes on.", printable.Escape(child, 100))
	if page.code != "" {
		text += " The code to enter there: " + page.code
	}
	b := jsonrpc.AppendString([]byte(`{"mode":"url","elicitationId":`), id)
	b = jsonrpc.AppendString(append(b, `,"url":`...), page.address)
	b = append(jsonrpc.AppendString(append(b, `,"message":`...), text), '}')
	resp, err := client.Call(ctx, declaration.MethodElicit, b)
	if err != nil {
		return err
	}
	defer resp.Release()
	if e := resp.Err(); e != nil {
		return e
	}
	if action, _ := jsonrpc.String(jsonrpc.Get(resp.Result, "action")); action != "accept" {
		return errDeclined
	}
	return nil
}

// methodLoginDone tells a client of the handshake that what it has opened is over.
const methodLoginDone = "notifications/elicitation/complete"

func (l *logins) tellWhenDone(client Client, id string, o *loginOffer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		return
	}
	l.wg.Go(func() {
		<-o.done
		client.TryNotify(methodLoginDone, append(jsonrpc.AppendString([]byte(`{"elicitationId":`), id), '}'))
	})
}
