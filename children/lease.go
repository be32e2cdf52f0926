package children

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"mcphub/children/health"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/served"
	"mcphub/internal/jsonrpc"
)

// A Lease is the right to call one ready child until Release. The run it is
// for does not drain before; should the child die, calls fail.
type Lease struct {
	r    *run
	v    *view
	once sync.Once
}

// Release gives the right back. Calling it again does nothing, nor does a nil Lease.
func (l *Lease) Release() {
	if l != nil {
		l.once.Do(l.r.leases.leave)
	}
}

// Where tells the working directory of the process that serves the lease, and
// the root paths that it is known to have applied, or was started with. The
// slice must not be changed.
func (l *Lease) Where() (cwd string, served []string) { return l.r.launch.Dir, l.v.served }

// Key names the instance that serves the lease.
func (l *Lease) Key() Key { return l.r.c.key }

// Term is the one in which the lease was given. What is sent by the lease reaches
// the child in that one, or a later one.
func (l *Lease) Term() Term { return l.v.status.Term() }

// AskedRoots reports whether the child has asked roots/list in this run.
func (l *Lease) AskedRoots() bool { return l.r.roots.any.Load() }

// Offer returns what the child offered when the lease was given.
func (l *Lease) Offer() *offers.Offer { return l.v.offer }

// Revision is that of the Spec by which the child runs.
func (l *Lease) Revision() uint64 { return l.r.c.spec.Revision }

// Modern reports whether the child is spoken to without a handshake
// (2026-07-28): a result of Call may then be one that asks for input
// (ResultInput) or names a task of the extension (ResultTask).
func (l *Lease) Modern() bool { return l.r.modern.Load() != nil }

// Roots is the result of roots/list for the child, as it is now, raw; false
// where roots are not served to it. It counts as asked for.
func (l *Lease) Roots() ([]byte, bool) {
	if l.r.c.spec.Roots == RootsNone {
		return nil, false
	}
	w := l.r.c.wanted()
	l.r.roots.answered(w.gen)
	return served.Result(w.roots, l.r.c.noRoots), true
}

// WatchTask has a child without a handshake tell of one of its tasks
// (notifications/tasks of the extension, to the Observer), until end is called,
// which needs no Lease any more. ok is false where it does not.
func (l *Lease) WatchTask(ctx context.Context, id string) (end func(), ok bool) {
	m := l.r.modern.Load()
	if m == nil {
		return nil, false
	}
	end, err := m.WatchTask(ctx, id)
	return end, err == nil
}

// Open reports whether the run is there to stay: false once it ends, or is to end
// when the calls under way have.
func (l *Lease) Open() bool { return !l.r.endedWithin(0) && !l.r.leases.closed() }

// Ended reports whether the run of the lease has ended.
func (l *Lease) Ended() bool { return l.r.endedWithin(0) }

// Notify sends a notification to the child.
func (l *Lease) Notify(ctx context.Context, method string, params ...[]byte) error {
	if err := l.r.way().Notify(ctx, method, params...); err != nil {
		return l.failed(ctx, err)
	}
	return nil
}

// Call sends a request. params are parts of one raw JSON value, written one
// after the other. The error is the cause of ctx when that ended (the child is
// told), a *TimeoutError when nothing was heard for Spec.CallTimeout
// (progress that it reports for this call starts the time anew), a
// *jsonrpc.BrokenError when its answer could not be read or is none of its
// protocol version, and an *UnavailableError when it is gone. An error object that the child answered
// with is no error: it is in the Response.
func (l *Lease) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	limit := max(0, l.r.c.spec.CallTimeout)
	if _, endless := ctx.Value(endlessKey{}).(bool); endless {
		limit = 0
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting health.WaitingCall
	l.r.idle.Start(&waiting, limit, progressToken(ctx, params), health.ExpireFunc(func() {
		cancel(&TimeoutError{Child: l.r.c.key.Child, Method: method, After: limit})
	}))
	defer l.r.idle.End(&waiting)
	res, err := l.r.way().Call(ctx, method, params...)
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	if ctx.Err() != nil { // given up before the answer came: which of the two is seen first is no chance
		res.Release()
		return nil, context.Cause(ctx)
	}
	return res, nil
}

// failed turns an error of the link into one that says what became of the
// child.
func (l *Lease) failed(ctx context.Context, err error) error {
	var broken *jsonrpc.BrokenError
	if errors.As(err, &broken) {
		return err
	}
	if ctx.Err() != nil {
		// The caller's end, and not the child's: its cause may well be a closed
		// connection too, but that of a client.
		return context.Cause(ctx)
	}
	var refused *link.StatusError
	var lost *link.LostError
	switch {
	case errors.As(err, &refused):
		return err
	case errors.As(err, &lost):
		// What is left of the connection is of no use: the next call makes another.
		l.r.cancel(err)
		l.r.endedWithin(l.r.c.spec.StopTimeout)
		return &UnavailableError{Child: l.r.c.key.Child, Reason: err.Error() + "; the next call connects again", Err: err}
	}
	if !l.r.hung.Load() && !l.r.endedWithin(time.Second) {
		// It lives on without its pipes: this run serves nobody any more.
		l.r.cancel(errDeafInput)
		l.r.endedWithin(l.r.c.spec.StopTimeout)
	}
	return l.r.gone(err)
}

var errDeafInput = errors.New("closed its input")

type endlessKey struct{}

// WithoutTimeout lets Call wait for as long as ctx lasts: for what a child
// answers when something else has ended.
func WithoutTimeout(ctx context.Context) context.Context {
	return context.WithValue(ctx, endlessKey{}, true)
}

type progressKey struct{}

// WithProgressToken tells Call the raw progress token that the params hold, so
// that Call need not look for it. nil says that there is none.
func WithProgressToken(ctx context.Context, raw []byte) context.Context {
	return context.WithValue(ctx, progressKey{}, string(raw))
}

// progressToken returns the raw token under which the child reports progress
// for these params, "" where there is none.
func progressToken(ctx context.Context, params [][]byte) string {
	if known, ok := ctx.Value(progressKey{}).(string); ok {
		return known
	}
	const name = `"progressToken"`
	if !slices.ContainsFunc(params, func(p []byte) bool { return bytes.Contains(p, []byte(name)) }) {
		return ""
	}
	return string(jsonrpc.Get(jsonrpc.Get(bytes.Join(params, nil), "_meta"), "progressToken"))
}

// TellLevel sees to it that the child knows the level of the log that
// Options.Client tells, if it has one. It returns within two seconds.
func (l *Lease) TellLevel(ctx context.Context) { l.r.level.tell(ctx, l.r.way(), l.v.offer) }
