package login

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// timeout is how long a person has to log in.
const timeout = 10 * time.Minute

// A PageClient is asked to show a page, and told when that is done with.
type PageClient interface {
	Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error)
	TryNotify(method string, params ...[]byte) bool
}

// Logins are the logins that a session offers. The zero value offers none.
type Logins struct {
	ByPage bool // the page is one of the hub's own, for a browser on any machine; not changed after Start

	mu       sync.Mutex
	life     context.Context // ends with the session
	end      context.CancelFunc
	open     map[string]*Offer    // by server; one serves all calls that wait
	declined map[string]bool      // servers whose login the person did not want: they are not asked again
	made     map[string]time.Time // when there was last a login, by server
	wg       sync.WaitGroup
}

// Start lets logins be offered until Stop. The client is a person's on this machine, or the page finds out whose browser has opened it.
func (l *Logins) Start(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life, l.end = context.WithCancel(ctx)
	l.open, l.declined = map[string]*Offer{}, map[string]bool{}
	l.made = map[string]time.Time{}
}

// Stop gives up the logins that are offered, and returns when they have ended.
func (l *Logins) Stop() {
	l.mu.Lock()
	if l.life == nil {
		l.mu.Unlock()
		return
	}
	l.end()
	l.mu.Unlock()
	l.wg.Wait()
}

// An Offer is one login that is offered.
type Offer struct {
	of    *Logins
	child string
	ready chan struct{} // closed when it is known what is to be shown
	page  page          // set before that
	shown atomic.Bool   // a client was chosen to show it
	taken chan error    // capacity 1: nil once the person has agreed to open it
	done  chan struct{} // closed when it is over
	err   error         // set before that
}

// A page is where a person logs in.
type page struct{ address, code string }

var errDeclined = errors.New("the person declined")

// AreEnabled reports whether logins are offered.
func (l *Logins) AreEnabled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life != nil && l.life.Err() == nil
}

// A LogIn logs in at a server. It has page show the person where. ctx ends after the Logins have taken in the result.
type LogIn func(ctx context.Context, page func(address, code string) error) error

// IsPending reports whether a login is offered.
func (l *Logins) IsPending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0
}

// fresh is how long after a login a failure may be of the time before it.
const fresh = time.Minute

// IsFresh reports whether there was a login at the server of a child just now. A server that is said to ask for one was not asked since.
func (l *Logins) IsFresh(child string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.made[child]
	return ok && time.Since(at) < fresh
}

// Offer starts a login at the server of a child, or joins one that is under way; nil if
// there is to be none.
func (l *Logins) Offer(child string, logIn LogIn) *Offer {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.life == nil || l.life.Err() != nil || l.declined[child]:
		return nil
	case l.open[child] != nil:
		return l.open[child]
	}
	o := &Offer{of: l, child: child, ready: make(chan struct{}), taken: make(chan error, 1), done: make(chan struct{})}
	l.open[child] = o
	ctx, cancel := context.WithTimeout(l.life, timeout) // it goes on if the call is given up
	l.wg.Go(func() {
		defer cancel()
		err := logIn(ctx, func(address, code string) error {
			o.page = page{address, code}
			close(o.ready)
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
		if err == nil {
			l.made[child] = time.Now()
		}
		l.mu.Unlock()
		o.err = err
		close(o.done)
	})
	return o
}

// Show has the client show the page of a login, unless another one does, and passes on what the person answers. The error
// reports why the person is not going to open it.
func (o *Offer) Show(ctx context.Context, client PageClient) error {
	if o.shown.Swap(true) {
		return nil
	}
	select {
	case <-o.ready:
	case <-o.done:
		return nil
	case <-ctx.Done():
		o.take(context.Cause(ctx))
		return context.Cause(ctx)
	}
	id := uuid.NewString()
	err := o.askPerson(ctx, client, id)
	o.take(err)
	if err == nil {
		o.tellWhenDone(client, id)
	}
	return err
}

// Link returns the address of the page of a login, for a client that cannot show it; "" if there is none. The login goes on.
func (o *Offer) Link(ctx context.Context) string {
	select {
	case <-o.ready:
		o.take(nil)
		return o.page.address
	case <-o.done:
	case <-ctx.Done():
	}
	return ""
}

// take reports to the login whether the page is going to be opened. The first report counts.
func (o *Offer) take(err error) {
	select {
	case o.taken <- err:
	default:
	}
}

// Wait waits until the login is over, and returns why it was not made.
func (o *Offer) Wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// askPerson asks the person of the client to open a page (2025-11-25 and 2026-07-28,
// client/elicitation). The later one has no id; the PageClient leaves it out.
func (o *Offer) askPerson(ctx context.Context, client PageClient, id string) error {
	page, place := o.page, "in a browser on this machine"
	if o.of.ByPage {
		place = "which first asks who you are"
	}
	text := fmt.Sprintf("The server %q asks for a login. Log in on this page, %s; then the call goes on.", printable.Escape(o.child, 100), place)
	if page.code != "" {
		text += " The code to enter there: " + page.code
	}
	b := jsonrpc.AppendString([]byte(`{"mode":"url","elicitationId":`), id)
	b = jsonrpc.AppendString(append(b, `,"url":`...), page.address)
	b = append(jsonrpc.AppendString(append(b, `,"message":`...), text), '}')
	resp, err := client.Call(ctx, methods.Elicit, b)
	if err != nil {
		return err
	}
	defer resp.Release()
	if e := resp.Err(); e != nil {
		return e
	}
	if action, _ := jsonrpc.GetString(resp.Result, "action"); action != "accept" {
		return errDeclined
	}
	return nil
}

// tellWhenDone informs a client when the login is over.
func (o *Offer) tellWhenDone(client PageClient, id string) {
	l := o.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		return
	}
	l.wg.Go(func() {
		<-o.done
		client.TryNotify(methods.Elicited, append(jsonrpc.AppendString([]byte(`{"elicitationId":`), id), '}'))
	})
}
