package children

import (
	"context"
	"sync"
	"time"

	"mcphub/children/hints"
	"mcphub/children/offers"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
)

// A Lease is the right to call one ready child until Release. Its run is kept until then, or for drainWait if the run is
// replaced so as to start again. If the child dies or hangs, calls fail.
type Lease struct {
	run      *run.Run
	snapshot *instanceSnapshot
	once     sync.Once
}

// Release gives the right back. Calling it again does nothing, nor does a nil Lease.
func (l *Lease) Release() {
	if l != nil {
		l.once.Do(l.run.Leases.Leave)
	}
}

// Workplace returns the working directory of the process that serves the lease,
// and the root paths that it is known to have applied, or was started with.
// The slice must not be changed.
func (l *Lease) Workplace() (cwd string, served []string) { return l.run.Launch.Dir, l.snapshot.served }

// KernelReport returns what the kernel holds of the process that serves the lease.
func (l *Lease) KernelReport() sandbox.Report {
	c := l.run.Launch.Sandbox
	if c == nil {
		return sandbox.Report{}
	}
	r := c.Report
	r.Refused, r.Last = c.Words.Refusals()
	return r
}

// KernelState returns the word for how far the kernel holds the process that serves the
// lease; "" if it is not to be confined, and of a nil Lease.
func (l *Lease) KernelState() string {
	if l == nil {
		return ""
	}
	if c := l.run.Launch.Sandbox; c != nil && c.Report.Mode != sandbox.Off {
		return c.Report.State.String()
	}
	return ""
}

// StderrHints reads what the child says about what the kernel refuses it; nil if nothing holds it.
func (l *Lease) StderrHints() *hints.Reader {
	if c := l.run.Launch.Sandbox; c != nil {
		return &c.Words
	}
	return nil
}

// OpensPath reports whether the process that serves the lease may do this at a path, as far
// as the kernel holds it.
func (l *Lease) OpensPath(path string, a sandbox.Access) bool {
	c := l.run.Launch.Sandbox
	return c == nil || c.Profile == nil || c.Profile.Opens(path, a)
}

// KeepsRunning reports whether the process that serves the lease is not started again for
// a wider boundary.
func (l *Lease) KeepsRunning() bool {
	c := l.run.Launch.Sandbox
	return c != nil && c.KeepRunning
}

// HasReplacedPaths reports whether the process that serves the lease is held to what has left its
// place: something else has the name of a root, or of another path that it may open.
// Another lease is for a process that is held to what is there now. It looks at the disk.
func (l *Lease) HasReplacedPaths() bool { return l.run.PathsReplaced() }

// IsPathReplaced works like HasReplacedPaths as far as it touches a path.
func (l *Lease) IsPathReplaced(path string) bool { return l.run.PathReplaced(path) }

// Protocol returns the version of the protocol that the instance was spoken to in when
// it was listed last; "" of a nil Lease.
func (l *Lease) Protocol() string {
	if l == nil {
		return ""
	}
	return l.snapshot.status.Protocol
}

// Key names the instance that serves the lease.
func (l *Lease) Key() spec.Key { return l.snapshot.status.Key }

// Instance works like Key without a copy. It must not be changed.
func (l *Lease) Instance() *spec.Key { return &l.snapshot.status.Key }

// Term returns the term of the child in which the lease was given. A request that is sent by the lease
// reaches the child in this term, or in a later one.
func (l *Lease) Term() Term { return l.snapshot.status.Term() }

// AskedRoots reports whether the child has asked roots/list in this run.
func (l *Lease) AskedRoots() bool { return l.run.Roots.WasAsked() }

// Offer returns what the child offered when the lease was given.
func (l *Lease) Offer() *offers.RawOffer { return l.snapshot.offer }

// Revision returns the revision of the Spec by which the child runs.
func (l *Lease) Revision() uint64 { return l.snapshot.status.Revision }

// IsModern reports whether the child is spoken to without a handshake
// (2026-07-28): a result of Call may then be one that asks for input
// (link.ResultInput) or names a task of the extension (link.ResultTask).
func (l *Lease) IsModern() bool { return l.run.IsModern() }

// Roots returns what roots/list answers the child now, raw; false if no roots are
// served to it. Calling it counts as a roots/list of the child.
func (l *Lease) Roots() ([]byte, bool) { return l.run.ListRoots() }

// WatchTask has a child without a handshake tell about one of its tasks
// (notifications/tasks of the extension, by SupervisorOptions.Notification), until end is called,
// which needs no Lease any more. ok is false if it does not.
func (l *Lease) WatchTask(ctx context.Context, id string) (end func(), ok bool) {
	return l.run.WatchTask(ctx, id)
}

// RereadDoubted has lists of the child read again that an answer of it does not agree with. It
// waits until they are in force, or for most. A child that gives many such answers is read
// again for a few of them.
func (l *Lease) RereadDoubted(ctx context.Context, which offers.Lists, most time.Duration) {
	l.run.Doubt(which)
	l.run.Await(ctx, which, most)
}

// IsOpen reports whether the run goes on: false once it ends, or will end with its
// last call.
func (l *Lease) IsOpen() bool { return !l.run.HasEnded() && !l.run.Leases.IsClosed() }

// HasEnded reports whether the run of the lease has ended.
func (l *Lease) HasEnded() bool { return l.run.HasEnded() }

// Notify sends a notification to the child.
func (l *Lease) Notify(ctx context.Context, method string, params ...[]byte) error {
	return l.run.Notify(ctx, method, params...)
}

// Call sends a request. params are parts of one raw JSON value, written one after the
// other. run.Run.Call reports what the error is. An error object that the child
// answered with is no error: it is in the Response.
func (l *Lease) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	return l.run.Call(ctx, method, params...)
}

// TellLevel sees to it that the child knows the level of the log that
// SupervisorOptions.Level returns, if it has one. It returns within two seconds.
func (l *Lease) TellLevel(ctx context.Context) { l.run.TellLevel(ctx, l.snapshot.offer) }

// CanStartCall reports whether StartCall may be tried: not every transport has it.
func (l *Lease) CanStartCall() bool { return l.run.CanStart() }

// StartCall works like Call without waiting; run.Run.StartCall reports how. The lease
// must not be released before handler is told.
func (l *Lease) StartCall(call *run.AsyncCall, handler jsonrpc.ResponseHandler, b *lines.Batch, method string, token []byte, params ...[]byte) bool {
	return l.run.StartCall(call, handler, b, method, token, params...)
}
