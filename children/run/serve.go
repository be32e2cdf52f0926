package run

import (
	"context"
	"errors"

	"mcphub/children/hints"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// ServeRequest answers roots/list and ping, and hands the rest on.
func (r *Run) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	switch {
	case r.modernConnection.Load() != nil:
		return jsonrpc.RefuseMethod("a server of this protocol version asks nothing by itself: it answers with what it needs (2026-07-28, basic/patterns/mrtr)")
	case m.Method == methods.Ping:
		return jsonrpc.ResultAnswer([]byte(`{}`))
	case m.Method == methods.ListRoots && r.spec.Roots != spec.RootsNone:
		r.Roots.NoteQuestion()
		r.fetchRoots(ctx)
		w := r.instance.WantedRoots()
		answer := jsonrpc.ResultAnswer(servedroots.Result(w.Roots, r.instance.NoRoots))
		answer.Release = func() { r.Roots.NoteAnswer(w.Gen) }
		return answer
	case m.Method == methods.ListRoots:
		return jsonrpc.RefuseMethod("roots are not served to this server (\"roots\": \"none\")")
	}
	r.Timers.Hold()
	defer r.Timers.Release()
	return r.instance.Request(context.WithValue(ctx, requesterKey{}, r.connection), m)
}

// requesterKey is the key of the ChildConnection of a child that asks.
type requesterKey struct{}

// Tell sends a notification to the child whose request ctx belongs to. ctx is the context
// that Instance.Request was given.
func Tell(ctx context.Context, method string, params ...[]byte) error {
	asker, ok := ctx.Value(requesterKey{}).(link.ChildConnection)
	if !ok {
		return errors.New("children: the context is of no child's request")
	}
	return asker.Notify(ctx, method, params...)
}

// fetchRoots lets a roots/list wait while the Instance gets the roots. Meanwhile no call times
// out, as with any other request of the child. A child that asks because it was told about new
// roots gets those.
func (r *Run) fetchRoots(ctx context.Context) {
	if r.Roots.WasTold() {
		return
	}
	fetch := r.instance.FetchRoots(ctx)
	if fetch == nil {
		return
	}
	r.Roots.NoteWaiting()
	r.Timers.Hold()
	defer r.Timers.Release()
	fetch(ctx)
}

// ListRoots returns what roots/list answers the child now, raw; false if no roots are
// served to it. Calling it counts as a roots/list of the child.
func (r *Run) ListRoots() ([]byte, bool) {
	if r.spec.Roots == spec.RootsNone {
		return nil, false
	}
	w := r.instance.WantedRoots()
	r.Roots.NoteGiven(w.Gen)
	return servedroots.Result(w.Roots, r.instance.NoRoots), true
}

// ServeNotification handles list_changed and progress, and passes other notifications
// to the Instance. It is called on the read loop.
func (r *Run) ServeNotification(m *jsonrpc.Message) { r.handleNotification(context.Background(), m) }

type callKnownKey struct{}

// ServeNotificationOn works like ServeNotification for a transport that tells on which
// call it came, or that it came on none.
func (r *Run) ServeNotificationOn(on context.Context, m *jsonrpc.Message) {
	r.handleNotification(context.WithValue(on, callKnownKey{}, true), m)
}

// CallKnown reports whether the transport reports which call a message of the child belongs
// to. ctx is what an Instance was given with the message. If CallKnown is true, ctx has the
// values of that call's context, or the message belongs to no call.
func CallKnown(ctx context.Context) bool { return ctx.Value(callKnownKey{}) != nil }

func (r *Run) handleNotification(ctx context.Context, m *jsonrpc.Message) {
	if w := r.modernConnection.Load(); w != nil {
		if m = w.Heard(m); m == nil {
			return
		}
	}
	if which := offers.Changed(m.Method); which != 0 {
		if r.outdateLists(which) != 0 && r.notices.Allow() {
			r.instance.ListsChanged(which)
		}
		return
	}
	switch m.Method {
	case methods.Progress:
		if token := m.Param("progressToken"); token != nil {
			r.Timers.Progress(token)
		}
		if !r.progress.Allow() {
			r.muted.Add(1)
			return
		}
	case methods.Message:
		if !r.logs.Allow() {
			r.muted.Add(1)
			return
		}
		r.readLog(m.Params)
	}
	r.instance.Notification(ctx, m)
}

// maxLogReaders bounds how many messages of its log are read at a time.
const maxLogReaders = 8

// readLog reads a message of the child's log for what the kernel has refused it. It does so on a goroutine,
// because it looks at the file system. If too many are read already, it drops the message.
func (r *Run) readLog(params []byte) {
	held := r.Launch.Sandbox
	if held == nil || !held.Words.MayExplain(params, false) {
		return
	}
	if r.logReaders.Add(1) > maxLogReaders {
		r.logReaders.Add(-1)
		return
	}
	text := hints.SaidIn(params)
	go func() {
		defer r.logReaders.Add(-1)
		if f, _, first := held.Words.ReadStderr(text); first && r.Launch.Refused != nil {
			r.Launch.Refused(f)
		}
	}()
}

// Muted returns how many log and progress notifications were dropped, because there
// were too many at a time.
func (r *Run) Muted() uint64 { return r.muted.Load() }

// modernRun is a run as a ModernConnection sees it.
type modernRun struct{ *Run }

// ClientProfile returns what the child is shown of the client.
func (modern modernRun) ClientProfile() link.ClientProfile { return modern.instance.ClientProfile() }

// Relist has every list read again.
func (modern modernRun) Relist() { modern.relistAll() }

// Outdated ends a run whose child no longer serves its version. It does nothing while
// the version is still being negotiated.
func (modern modernRun) Outdated(why error) {
	if modern.instance.Current(modern.Run) {
		modern.cancel(why)
	}
}

// Missed passes on a notification that the child may have sent while no stream was open.
func (modern modernRun) Missed(ctx context.Context, m *jsonrpc.Message) {
	modern.instance.Notification(ctx, m)
}
