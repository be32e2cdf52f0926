package modern

import (
	"context"
	"errors"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file is about the roots of these clients: they come with the call, when it
// is sent again because it was answered with the question for them.

// RootsKey is the key of the hub's own question among the ones of a request.
const RootsKey = "mcphub-roots"

// ErrRootsFirst ends work that begins again when the client has said what its
// roots are.
var ErrRootsFirst = errors.New("the client is asked for its roots first")

// AwaitRoots returns what this request is judged by: the roots that came with it. A
// client that can give them and has not is asked first. Nothing is held meanwhile.
func (c *Client) AwaitRoots(ctx context.Context, _ *rootsmgr.WaitBudget) (rootsmgr.RootsView, error) {
	if !c.mayBeAsked { // a subscription judges many at a time, and notes nothing
		return c.requestView(ctx)
	}
	c.judging.provisional = false
	rootsView, err := c.requestView(ctx)
	rootsView.ClientName = c.Claims().Name
	if err == nil && !c.judging.provisional {
		c.judging.rootsView = &rootsView
	}
	return rootsView, err
}

// NoteScan remembers whether a request holds a path whatever the disk looks
// like. If it may hold none it is judged as if nothing were open, and its
// client asked for roots only if that denies it.
func (c *Client) NoteScan(scan *validate.Scan) {
	if c.mayBeAsked {
		c.judging.unsure = !scan.IsCertain()
	}
}

// CheckVerdict asks for roots if a request was judged as if nothing were open, and that
// matters.
func (c *Client) CheckVerdict(v *validate.Verdict) error {
	if c.judging.provisional && (len(v.Findings) > 0 || v.RootsMatter()) {
		return c.endForRoots()
	}
	return nil
}

// Reconsider asks no one: the roots came with the request.
func (c *Client) Reconsider(context.Context, *rootsmgr.WaitBudget, time.Duration) (rootsmgr.RootsView, bool, error) {
	return rootsmgr.RootsView{}, false, nil
}

// RootsStatus returns what this request would be judged by.
func (c *Client) RootsStatus(ctx context.Context) (rootsmgr.RootsView, string, error) {
	rootsView, err := c.AwaitRoots(ctx, nil)
	return rootsView, rootsView.Word(), err
}

func (c *Client) requestView(ctx context.Context) (rootsmgr.RootsView, error) {
	host := c.server.options.Host
	switch {
	case c.input.roots != nil && c.server.rootsPerRequest():
		return *c.input.roots, nil // served when it is this request's turn, or never
	case c.input.roots != nil:
		return *c.input.roots, host.AwaitServed(ctx, *c.input.roots)
	case !c.input.meta.Claims.Roots:
		return c.server.undeclaredView(ctx)
	case c.mayBeAsked && c.judging.unsure:
		c.judging.provisional = true
		return rootsmgr.AnsweredView(rootsmgr.NewSnapshot(host.FS(), 0, rootsmgr.OriginWithCall, nil), rootsmgr.NoRootsPolicy{}), nil
	case c.mayBeAsked:
		return rootsmgr.RootsView{}, c.endForRoots()
	}
	if c.server.options.PerRequest {
		return host.Roots().StandInView(), nil
	}
	return host.Roots().RootsView(), nil // the ones that came last, or what stands in for them
}

// rootsPerRequest reports whether the roots that come with a request hold for that
// request alone: over HTTP, and if a handshake has declared roots, which are the
// process's.
func (s *Server) rootsPerRequest() bool {
	return s.options.PerRequest || s.options.Host.DeclaredRoots()
}

// undeclaredView returns the roots by which a request is judged that does not declare any. If
// the same process has said what its roots are, in its handshake or with another request, those
// hold: saying nothing opens nothing. Over HTTP no request stands for another.
func (s *Server) undeclaredView(ctx context.Context) (rootsmgr.RootsView, error) {
	roots := s.options.Host.Roots()
	switch {
	case s.options.PerRequest:
	case s.options.Host.DeclaredRoots():
		if _, known := roots.TryAwait(); !known {
			s.options.Host.BeforeWait(ctx)
		}
		rootsView, err := roots.Await(ctx)
		if err != nil {
			return rootsView, err
		}
		return rootsView, s.options.Host.AwaitServed(ctx, rootsView)
	case roots.HasCallRoots():
		return roots.RootsView(), nil
	}
	return roots.UndeclaredView(), nil
}

// endForRoots ends the work: its client has to say first what its roots are.
func (c *Client) endForRoots() error {
	c.mu.Lock()
	c.state.needsRoots = true
	c.mu.Unlock()
	c.end.End(ErrRootsFirst)
	return ErrRootsFirst
}

// rootsQuestion answers a request with the question for the roots.
func (c *Client) rootsQuestion() jsonrpc.Answer {
	state, err := c.server.sealState(c.stateSubject(), stateRoots, nil)
	if err != nil {
		return jsonrpc.AnswerFailure(err.Error())
	}
	// With params, which may be left out: the official Go SDK cannot read a question without.
	b := []byte(`{"resultType":"input_required","inputRequests":{"` + RootsKey + `":{"method":"roots/list","params":{}}},"requestState":`)
	return c.server.Result(jsonrpc.ResultAnswer(append(jsonrpc.AppendString(b, state), '}')), nil, true)
}

// AwaitRootsBefore sees to it that the client has given its roots before a
// request goes to a child that needs them without a path in the request: one
// that asks for roots itself, and over stdio one whose working directory they are. Once
// is enough: later ones work with what came last.
func (c *Client) AwaitRootsBefore(ctx context.Context, child *spec.Spec) error {
	if !c.mayBeAsked {
		return nil
	}
	if child.Share == spec.ShareAll {
		return nil // it is served no one's roots
	}
	if c.lacksRoots(child.Name) && (child.GivenRoots() || !c.server.options.PerRequest && (child.NeedsRoots() || child.Command != "" && child.Cwd == "")) {
		return c.endForRoots()
	}
	switch {
	case c.server.options.PerRequest:
		return c.enterChild(ctx, child.Name)
	case c.input.roots != nil && !c.server.rootsPerRequest(): // the child works with them, whatever it is sent
		return c.server.options.Host.AwaitServed(ctx, *c.input.roots)
	}
	return nil
}

// BringsOtherRoots reports whether a child would be served other roots than it has, for
// this request alone.
func (c *Client) BringsOtherRoots(child *spec.Spec) bool {
	if !c.mayBeAsked || !c.server.options.PerRequest || c.judging.rootsView == nil || child.Share == spec.ShareAll {
		return false
	}
	set, _ := c.server.options.Host.Served(child.Name)
	return set != rootsmgr.RootSetID("", c.judging.rootsView.Snapshot.Roots())
}

// AwaitRootsAfter checks again when the child runs, because only then is it known whether
// it has asked for roots. A child of the same era asks by its result when it needs
// them: see RootsMissing. If there is an error the lease was released.
func (c *Client) AwaitRootsAfter(lease *children.Lease) error {
	if !c.mayBeAsked || lease.Key().Instance == "" || lease.IsModern() || !lease.AskedRoots() || !c.lacksRoots(lease.Key().Child) {
		return nil
	}
	lease.Release()
	return c.endForRoots()
}

// lacksRoots reports whether a child has been served no roots of the client
// yet, which could give them.
func (c *Client) lacksRoots(child string) bool {
	return c.input.roots == nil && c.input.meta.Claims.Roots && !c.server.rootsReached(child)
}

// RootsMissing reports whether the client could give roots and this request came
// without. Those of an earlier one may be old. If a handshake on the same connection has
// declared roots, those hold: their client tells when they change.
func (c *Client) RootsMissing() bool {
	return c.mayBeAsked && c.input.roots == nil && c.input.meta.Claims.Roots && (c.server.options.PerRequest || !c.server.options.Host.DeclaredRoots())
}

// rootsReached reports whether roots that came with a call have reached a child: over
// stdio those of one call reach all.
func (s *Server) rootsReached(child string) bool {
	if !s.options.PerRequest {
		return s.options.Host.Roots().HasCallRoots() || s.options.Host.DeclaredRoots()
	}
	set, _ := s.options.Host.Served(child)
	return set != ""
}
