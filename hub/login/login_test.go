package login

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/internal/jsonrpc"
)

// A viewer answers each question with one action, and counts what it is asked and told.
type viewer struct {
	action      string
	asked, told []string // elicitationId
	address     string   // of the page that it was asked to show
}

func (v *viewer) Call(_ context.Context, _ string, params ...[]byte) (*jsonrpc.Response, error) {
	raw := jsonrpc.Join(params)
	id, _ := jsonrpc.String(jsonrpc.Get(raw, "elicitationId"))
	v.address, _ = jsonrpc.String(jsonrpc.Get(raw, "url"))
	v.asked = append(v.asked, id)
	return &jsonrpc.Response{Result: append(jsonrpc.AppendString([]byte(`{"action":`), v.action), '}')}, nil
}

func (v *viewer) TryNotify(_ string, params ...[]byte) bool {
	id, _ := jsonrpc.String(jsonrpc.Get(jsonrpc.Join(params), "elicitationId"))
	v.told = append(v.told, id)
	return true
}

// started returns the Logins of a session, which ends with the test.
func started(t *testing.T) *Logins {
	l := new(Logins)
	l.Start(t.Context())
	return l
}

// All calls that wait share one login. The client is asked once, and told about that
// very question when the login is over.
func TestOneLoginForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, come := started(t), make(chan error)
		var logins atomic.Int32
		logIn := func(_ context.Context, page func(address, code string) error) error {
			logins.Add(1)
			if err := page("https://login.example/", ""); err != nil {
				return err
			}
			return <-come
		}
		o := l.Offer("kid", logIn)
		if same := l.Offer("kid", logIn); o == nil || same != o {
			t.Fatalf("two offers of one login: %v, %v", o, same)
		}
		if other := l.Offer("other", logIn); other == o {
			t.Error("a login at another server is the same")
		}
		var v viewer
		v.action = "accept"
		for range 2 { // of those who wait, one shows it
			if err := o.Show(t.Context(), &v); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if len(v.asked) != 1 || len(v.told) != 0 || v.address != "https://login.example/" || logins.Load() != 2 {
			t.Fatalf("before the login: asked %q of %q, told %q, %d logins", v.asked, v.address, v.told, logins.Load())
		}
		waited := make(chan error, 2)
		for range 2 {
			go func() { waited <- o.Wait(t.Context()) }()
		}
		come <- nil
		if err := errors.Join(<-waited, <-waited); err != nil {
			t.Errorf("who waited was told %v", err)
		}
		synctest.Wait()
		if len(v.told) != 1 || v.told[0] != v.asked[0] {
			t.Errorf("asked %q, told %q", v.asked, v.told)
		}
		if again := l.Offer("kid", logIn); again == nil || again == o {
			t.Error("a login that is over is joined")
		}
		l.Stop()
	})
}

// A login that the person has declined is not offered again; one that failed otherwise is.
func TestDeclined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := started(t)
		logIn := func(_ context.Context, page func(address, code string) error) error {
			return page("https://login.example/", "")
		}
		v := viewer{action: "decline"}
		o := l.Offer("kid", logIn)
		if err := o.Show(t.Context(), &v); !errors.Is(err, errDeclined) {
			t.Errorf("the one who has shown it was told %v", err)
		}
		if err := o.Wait(t.Context()); !errors.Is(err, errDeclined) || len(v.told) != 0 {
			t.Errorf("who waited was told %v, the client %q", err, v.told)
		}
		if o := l.Offer("kid", logIn); o != nil {
			t.Error("it is offered again")
		}
		failed := l.Offer("other", func(context.Context, func(address, code string) error) error { return errors.New("no network") })
		_ = failed.Wait(t.Context())
		if o := l.Offer("other", logIn); o == nil || o == failed {
			t.Error("a login that failed is not offered again")
		}
		l.Stop()
	})
}

// Nothing is offered before Start and after Stop, which ends what is under way. So does time.
func TestEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endless := func(ctx context.Context, _ func(address, code string) error) error {
			<-ctx.Done()
			return ctx.Err()
		}
		var unstarted Logins
		if o := unstarted.Offer("kid", endless); o != nil || unstarted.AreEnabled() {
			t.Error("it is offered before Start")
		}
		unstarted.Stop()
		l := started(t)
		began := time.Now()
		o := l.Offer("kid", endless)
		if err := o.Wait(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != timeout {
			t.Errorf("it ended after %v: %v", time.Since(began), err)
		}
		o = l.Offer("kid", endless)
		call, giveUp := context.WithCancel(t.Context())
		giveUp()
		if err := o.Wait(call); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was given up: %v", err)
		}
		if same := l.Offer("kid", endless); same != o {
			t.Error("the login ended with the call")
		}
		l.Stop()
		if err := o.Wait(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("after Stop: %v", err)
		}
		if again := l.Offer("kid", endless); again != nil || l.AreEnabled() {
			t.Error("it is offered after Stop")
		}
	})
}

// A client that cannot show a page is given its address, and waits for nothing. The login goes on. A client that can show it comes later,
// and is asked.
func TestALinkIsGiven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, come := started(t), make(chan error)
		l.ByPage = true
		o := l.Offer("kid", func(_ context.Context, page func(address, code string) error) error {
			if err := page("https://hub.example/login/A", ""); err != nil {
				return err
			}
			return <-come
		})
		for range 2 {
			if got := o.Link(t.Context()); got != "https://hub.example/login/A" {
				t.Errorf("the link is %q", got)
			}
		}
		v := viewer{action: "decline"}
		if err := o.Show(t.Context(), &v); !errors.Is(err, errDeclined) || len(v.asked) != 1 {
			t.Errorf("asked %q: %v", v.asked, err)
		}
		if !l.IsPending() {
			t.Error("the login does not go on")
		}
		if l.IsFresh("kid") {
			t.Error("there is a login before it was made")
		}
		come <- nil
		if err := o.Wait(t.Context()); err != nil || l.IsPending() || !l.IsFresh("kid") {
			t.Errorf("it ends with %v, pending %t, fresh %t", err, l.IsPending(), l.IsFresh("kid"))
		}
		if time.Sleep(fresh); l.IsFresh("kid") {
			t.Error("the login is fresh for ever")
		}
		failed := l.Offer("other", func(context.Context, func(address, code string) error) error { return errors.New("no network") })
		if got := failed.Link(t.Context()); got != "" {
			t.Errorf("a login that failed has the link %q", got)
		}
		l.Stop()
	})
}

// The one who logs in learns when the result is known: a call that comes after that is offered no login that has ended.
func TestAResultIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, known := started(t), make(chan bool, 1)
		l.Offer("kid", func(ctx context.Context, _ func(address, code string) error) error {
			context.AfterFunc(ctx, func() { known <- l.IsFresh("kid") && !l.IsPending() })
			return nil
		})
		if !<-known {
			t.Error("it is told before the result is known")
		}
		l.Stop()
	})
}
