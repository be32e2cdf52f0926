package call

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/children/run"
	"mcphub/hub/approval"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/inflight"
	"mcphub/hub/login"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/hub/results"
	"mcphub/hub/tasks"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/internal/worker"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// A Sender takes the requests of one client through their steps, and sends them to its children. It is filled in
// before the first of them, and not changed then. Its methods may be called by any goroutine.
type Sender struct {
	ID           string
	Principal    principal.Principal // whom the client belongs to
	MainClient   client.Client       // of requests that have no way of their own, and of what belongs to none
	Current      *configuration.Current
	Offering     *offering.Offering
	Instances    Instances
	RootsManager *rootsmgr.Manager
	Approvals    *approval.Queue
	Terminal     *approval.Terminal // holds what a person answers outside of the client
	Asking       approval.Pending   // folder and process of the client, for Terminal; zero if it has the hub alone
	Records      *record.Writer
	Tasks        *tasks.Table
	Progress     *inflight.Progress
	Turns        *turns.Table   // of the hub, at servers whose calls are bounded; nil: none is
	Results      *results.Store // what was cut of results
	InFlight     OpenRequests
	// AdoptTask makes a task of a child one of the session. drop ends the progress of
	// the call that made it.
	AdoptTask    func(ctx context.Context, lease *children.Lease, tool string, answer jsonrpc.Answer, drop func()) jsonrpc.Answer
	ServeHubTool func(ctx context.Context, tool string, m *jsonrpc.Message) jsonrpc.Answer // serves the hub's own tools but CallTool
	Log          zerolog.Logger

	Logins       login.Logins
	doneChannels sync.Pool // of channels for an AwaitedAnswer; the token of each was taken
}

// Instances describe which process of each child serves the session, and hand out the
// right to call it.
type Instances interface {
	// ByRoots reports whether the roots of the session decide which process serves it.
	ByRoots(child *configuration.Child) bool
	// RootsAreCurrent reports whether the children have been given the roots that the
	// client has announced last.
	RootsAreCurrent() bool
	// TryAcquire returns the right to call a child as a configuration describes it, if
	// that takes no waiting; nil if it does.
	TryAcquire(conf *configuration.Configuration, child string) *children.Lease
	// Acquire waits for that right. The error is configuration.ErrSuperseded if a
	// reload has replaced the child.
	Acquire(ctx context.Context, conf *configuration.Configuration, child string) (*children.Lease, error)
	// Plan returns where a child would work if it were started, and with which roots. ok
	// is false if it runs already, or if that cannot be told. With a view it answers for
	// a child that runs too, as if it were given the roots of the view.
	Plan(conf *configuration.Configuration, child string, rootsView *rootsmgr.RootsView) (cwd string, served []string, ok bool)
	// AwaitsList reports whether another process has come to serve the session, which has not
	// listed its tools yet.
	AwaitsList(child string) bool
	// RootsFor returns the roots that a child is served.
	RootsFor(conf *configuration.Configuration, child *configuration.Child, rootsView rootsmgr.RootsView) []guard.Root
	// AwaitGrants waits until the children have been given what people have granted up
	// to a version, at most as long as limit.
	AwaitGrants(ctx context.Context, limit time.Duration, version uint64) error
	// RootsGiven reports whether a child was given the roots that came with calls, and
	// AwaitRootsGiven waits until it was.
	RootsGiven(child string) bool
	AwaitRootsGiven(ctx context.Context, child string)
}

// ClientOf returns the client of the request of ctx: whatever is said because of
// that request goes there.
func (s *Sender) ClientOf(ctx context.Context) client.Client {
	if c := client.RequestOf(ctx).Client; c != nil {
		return c
	}
	return s.MainClient
}

// awaitStart waits until these children have listed their tools or failed, but
// not longer than the slowest of them may take to start.
func (s *Sender) awaitStart(ctx context.Context, names []string) {
	var limit time.Duration
	conf := s.Current.InForce()
	for _, name := range names {
		limit = max(limit, conf.StartLimit(name))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if len(names) > 0 {
		defer s.showWaiting(ctx, names[0])()
	}
	s.Offering.AwaitListed(ctx, names)
}

// Acquire returns the right to call a child. If the child has to start, or to be replaced by a process with other roots, Acquire
// waits for that, and tells the client what it waits for. If the child needs a login, Acquire offers the login and tries again. The
// error is configuration.ErrSuperseded if a reload has replaced the child.
func (s *Sender) Acquire(ctx context.Context, conf *configuration.Configuration, child string) (*children.Lease, error) {
	if lease := s.Instances.TryAcquire(conf, child); lease != nil {
		return lease, nil
	}
	serverTurnKeeperOf(ctx).yieldServerTurn()
	lease, err := s.awaitLease(ctx, conf, child)
	if err == nil {
		return lease, nil
	}
	if err = s.logIn(ctx, conf, child, err); err == nil {
		return s.awaitLease(ctx, conf, child)
	}
	return nil, err
}

// awaitLease waits for the right to call a child, and tells the client what it waits for.
func (s *Sender) awaitLease(ctx context.Context, conf *configuration.Configuration, child string) (*children.Lease, error) {
	defer s.showWaiting(ctx, child)()
	defer s.ClientOf(ctx).AllowHubQuestions()() // which process it is, and its start, may wait for the roots
	return s.Instances.Acquire(ctx, conf, child)
}

// contextWithNotice returns a context of one call whose waiting is told to the client.
func (s *Sender) contextWithNotice(ctx context.Context, token []byte) context.Context {
	request := client.RequestOf(ctx)
	if token == nil || request.Notice != nil { // the values of one request must increase
		return ctx
	}
	request.Notice = inflight.NewNotice(s.ClientOf(ctx), token)
	return client.NewContext(ctx, request)
}

// showWaiting reports that the call of ctx waits for a server until endNotice is called.
func (s *Sender) showWaiting(ctx context.Context, server string) (endNotice func()) {
	return client.RequestOf(ctx).Notice.Waiting(func() string {
		if st := s.Offering.ChildStatus(server); st.Package.Doing != "" {
			return st.Package.Doing + " for " + server
		}
		return "starting " + server
	})
}

// StderrOf returns what the session may see of a child's stderr: of one that is
// shared nothing.
func (s *Sender) StderrOf(st children.Status) string {
	if st.Instance != s.ID {
		return ""
	}
	return st.Stderr
}

// contextWithLogins returns a context of one request that a login is offered for, if its client can show an address or, over HTTP, can be
// given one.
func (s *Sender) contextWithLogins(ctx context.Context) context.Context {
	conf := s.Current.InForce()
	if conf.StartLogin == nil || !s.Logins.AreEnabled() {
		return ctx
	}
	if s.Logins.ByPage && !conf.LoginPages || !s.Logins.ByPage && !s.ClientOf(ctx).Claims().Can.URL {
		return ctx
	}
	request := client.RequestOf(ctx)
	request.OffersLogin = true
	return client.NewContext(ctx, request)
}

// logIn offers the login at a child whose server asks for one, as err says. It returns nil when there is one, else the error that the
// request ends with.
func (s *Sender) logIn(ctx context.Context, conf *configuration.Configuration, child string, err error) error {
	if !link.AsksForLogin(err) || conf.StartLogin == nil || !client.RequestOf(ctx).OffersLogin {
		return err
	}
	notBefore := time.Now()
	if down, ok := errors.AsType[*run.UnavailableError](err); ok {
		notBefore = notBefore.Add(down.RetryAfter)
	}
	byLink := !s.ClientOf(ctx).Claims().Can.URL
	if byLink && s.Logins.IsFresh(child) {
		return s.awaitRetry(ctx, notBefore, err)
	}
	offer := s.Logins.Offer(child, func(ctx context.Context, page func(address, code string) error) error {
		err := conf.StartLogin(ctx, child, s.Principal, page)
		if err != nil {
			s.Log.Info().Str("child", child).Err(err).Msg("the login that was offered was not made")
			return err
		}
		s.Log.Info().Str("child", child).Msg("the login that was offered was made")
		return nil
	})
	if offer == nil {
		return err
	}
	to := s.ClientOf(ctx)
	to.YieldChild()
	serverTurnKeeperOf(ctx).endServerTurn()
	defer client.RequestOf(ctx).Notice.Waiting(func() string { return "waiting for the login at " + child })()
	if byLink {
		if address := offer.Link(ctx); address != "" {
			return &failure.LoginError{Server: child, Address: address, Err: err}
		}
		return err
	}
	if offer.Show(ctx, to) != nil || offer.Wait(ctx) != nil {
		return err
	}
	return s.awaitRetry(ctx, notBefore, err)
}

// awaitRetry waits until a server that has failed by err is tried again. It returns err if no caller waits for that.
func (s *Sender) awaitRetry(ctx context.Context, notBefore time.Time, err error) error {
	s.ClientOf(ctx).YieldChild()
	serverTurnKeeperOf(ctx).endServerTurn()
	if worker.Sleep(ctx, time.Until(notBefore)); ctx.Err() != nil {
		return err
	}
	return nil
}
