package run

import (
	"context"
	"errors"

	"mcphub/children/link"
	"mcphub/children/modern"
	"mcphub/children/served"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

const (
	methodRootsList = "roots/list"
	methodPing      = "ping"
)

// ServeRequest answers roots/list and ping, and hands the rest on.
func (r *Run) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	switch {
	case r.modern.Load() != nil:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "a server of this protocol version asks nothing by itself: it answers with what it needs (2026-07-28, basic/patterns/mrtr)")
	case m.Method == methodPing:
		return jsonrpc.ResultAnswer([]byte(`{}`))
	case m.Method == methodRootsList && r.spec.Roots != spec.RootsNone:
		r.Roots.Opened()
		r.fetchRoots(ctx)
		w := r.instance.Wanted()
		a := jsonrpc.ResultAnswer(served.Result(w.Roots, r.instance.NoRoots))
		a.Release = func() { r.Roots.Closed(w.Gen) }
		return a
	case m.Method == methodRootsList:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "roots are not served to this server (\"roots\": \"none\")")
	}
	r.Idle.Hold()
	defer r.Idle.Release()
	return r.instance.Request(context.WithValue(ctx, askerKey{}, r.link), m)
}

// askerKey is where the Link of a child stands that asks.
type askerKey struct{}

// Tell sends a notification to the child whose request ctx is of: the one that
// Instance.Request was given.
func Tell(ctx context.Context, method string, params ...[]byte) error {
	asker, ok := ctx.Value(askerKey{}).(link.Link)
	if !ok {
		return errors.New("children: the context is of no child's request")
	}
	return asker.Notify(ctx, method, params...)
}

// fetchRoots lets a question for the roots wait while somebody gets them. The call
// that it is asked on is waited for no less than one that asks a client.
func (r *Run) fetchRoots(ctx context.Context) {
	fetch := r.instance.FetchRoots(ctx)
	if fetch == nil {
		return
	}
	r.Roots.Waits()
	r.Idle.Hold()
	defer r.Idle.Release()
	fetch(ctx)
}

// ListRoots is the result of roots/list for the child, as it is now, raw; false where
// roots are not served to it. It counts as asked for.
func (r *Run) ListRoots() ([]byte, bool) {
	if r.spec.Roots == spec.RootsNone {
		return nil, false
	}
	w := r.instance.Wanted()
	r.Roots.Gave(w.Gen)
	return served.Result(w.Roots, r.instance.NoRoots), true
}

// ServeNotification follows up list_changed and puts off timeouts; it is
// called on the read loop and hands on what is not the hub's own business.
func (r *Run) ServeNotification(m *jsonrpc.Message) { r.noticed(context.Background(), m) }

type toldKey struct{}

// ServeNotificationOn is ServeNotification where the transport tells on which call
// it came, or that it came on none.
func (r *Run) ServeNotificationOn(on context.Context, m *jsonrpc.Message) {
	r.noticed(context.WithValue(on, toldKey{}, true), m)
}

// Told reports whether the transport of a child tells which call something that
// the child says belongs to: ctx is what an Instance was given. Then ctx has the
// values of that call's context, or there is no such call.
func Told(ctx context.Context) bool { return ctx.Value(toldKey{}) != nil }

func (r *Run) noticed(ctx context.Context, m *jsonrpc.Message) {
	if w := r.modern.Load(); w != nil {
		if m = w.Heard(m); m == nil {
			return
		}
	}
	if r.stale.note(m.Method) {
		wake(r.relist)
		return
	}
	if m.Method == link.MethodProgress {
		if token := m.Param("progressToken"); token != nil {
			r.Idle.Progress(token)
		}
	}
	r.instance.Notification(ctx, m)
}

// modernRun is a run as a link without a handshake sees it.
type modernRun struct{ *Run }

// Client is whom the run serves.
func (r modernRun) Client() modern.Client { return r.instance.Client() }

// Relist has every list looked at anew.
func (r modernRun) Relist() { r.relistAll() }

// Outdated ends a run whose child serves its version no longer, but not while it is
// only being asked which it serves.
func (r modernRun) Outdated(why error) {
	if r.instance.Current(r.Run) {
		r.cancel(why)
	}
}

// Missed tells what the child may have announced unheard.
func (r modernRun) Missed(ctx context.Context, m *jsonrpc.Message) {
	r.instance.Notification(ctx, m)
}
