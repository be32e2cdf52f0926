package hub

import (
	"context"
	"errors"

	"mcphub/children"
	"mcphub/hub/inline"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file is about the roots of a modern client (R8): they come with the call,
// when it is sent again because it was answered with the question for them.

// rootsKey is the key of the hub's own question among those of a request.
const rootsKey = "mcphub-roots"

var errRootsFirst = errors.New("the client is asked for its roots first")

// boundary is what this request is judged by: the roots that came with it. A
// client that can give them and has not is asked first; nothing of the request is held
// meanwhile.
func (p *parley) boundary(ctx context.Context, _ *rootsmgr.Wait) (rootsmgr.View, error) {
	if !p.asks { // a subscription judges many at a time, and notes nothing
		return p.reckon(ctx)
	}
	p.looked = false
	view, err := p.reckon(ctx)
	view.Client = p.claims().Name
	if err == nil && !p.looked {
		p.judged = &view
	}
	return view, err
}

// lookFirst notes whether a request holds a path whatever the disk looks like.
// Where it may hold none it is judged as if nothing were open, and its client
// asked for roots only if that denies it.
func (p *parley) lookFirst(scan *validate.Scan) {
	if p.asks {
		p.unsure = !scan.Certain()
	}
}

// decided asks for roots where a request was judged as if nothing were open, and that
// matters.
func (p *parley) decided(v *validate.Verdict) error {
	if p.looked && (len(v.Findings) > 0 || v.RootsMatter()) {
		return p.wantRoots()
	}
	return nil
}

// reconsider asks nobody: the roots came with the request.
func (p *parley) reconsider(context.Context, *rootsmgr.Wait, *judgement) (rootsmgr.View, bool, error) {
	return rootsmgr.View{}, false, nil
}

// standing is what this request would be judged by.
func (p *parley) standing(ctx context.Context) (rootsmgr.View, string, error) {
	view, err := p.boundary(ctx, nil)
	return view, view.Word(), err
}

func (p *parley) reckon(ctx context.Context) (rootsmgr.View, error) {
	s := p.s
	switch {
	case p.given.roots != nil && s.standsAlone():
		return *p.given.roots, nil // served when it is this request's turn, or never
	case p.given.roots != nil:
		return *p.given.roots, s.awaitServed(ctx, *p.given.roots, s.hub.now().cfg.Roots.Timeout)
	case !p.given.meta.Client.Roots:
		return s.silent(ctx)
	case p.asks && p.unsure:
		p.looked = true
		return rootsmgr.InlineView(rootsmgr.NewSnapshot(s.hub.now().cfg.FS, 0, rootsmgr.OriginInline, nil), rootsmgr.When{}), nil
	case p.asks:
		return rootsmgr.View{}, p.wantRoots()
	}
	if s.modern.stateless {
		return s.roots.StandIn(), nil
	}
	return s.roots.View(), nil // those that came last, or what stands in for them
}

// standsAlone reports whether the roots that come with a request are for that request alone: over HTTP, and where the
// handshake has said that the client is to be asked for those of the process.
func (s *Session) standsAlone() bool { return s.modern.stateless || s.capabilities().Roots }

// silent is what a request is judged by that does not declare roots. Where the same process has said what its roots are, in
// its handshake or with another request, those hold: saying nothing opens nothing. Over HTTP no request stands for another.
func (s *Session) silent(ctx context.Context) (rootsmgr.View, error) {
	switch {
	case s.modern.stateless:
	case s.capabilities().Roots:
		patience := s.roots.Begin()
		view, err := patience.Await(ctx)
		if err != nil {
			return view, err
		}
		return view, s.awaitServed(ctx, view, s.hub.now().cfg.Roots.Timeout)
	case s.roots.Given():
		return s.roots.View(), nil
	}
	return s.roots.Undeclared(), nil
}

// wantRoots ends the work: its client has to say first what its roots are.
func (p *parley) wantRoots() error {
	p.mu.Lock()
	p.tab.roots = true
	p.mu.Unlock()
	p.cancel(errRootsFirst)
	return errRootsFirst
}

// askRoots answers a request with the question for the roots.
func (p *parley) askRoots() jsonrpc.Answer {
	state, err := p.s.sealState(p.subjectNow(), stateRoots, nil)
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	}
	// With params, which may be left out: the official Go SDK cannot read a question without.
	b := []byte(`{"resultType":"input_required","inputRequests":{"` + rootsKey + `":{"method":"roots/list","params":{}}},"requestState":`)
	return inline.Result(p.s.hub.serverInfo, jsonrpc.ResultAnswer(append(jsonrpc.AppendString(b, state), '}')), nil, true)
}

// rootsBefore sees to it that a modern client has given its roots before a
// request goes to a child that needs them without a path in the request: one
// that asks for roots itself, and over stdio one whose working directory they are. Once
// is enough: later ones work with what came last.
func (p *parley) rootsBefore(ctx context.Context, g *generation, child string) error {
	if !p.asks {
		return nil
	}
	s := p.s
	spec := g.byName[child].Spec
	if spec.Share == children.ShareAll {
		return nil // it is served nobody's roots
	}
	if p.lacksRoots(child) && (spec.NeedsRoots() || !s.modern.stateless && spec.Command != "" && spec.Cwd == "") {
		return p.wantRoots()
	}
	switch {
	case s.modern.stateless:
		return p.takeTurn(ctx, child)
	case p.given.roots != nil && !s.standsAlone(): // the child works with them, whatever it is sent
		return s.awaitServed(ctx, *p.given.roots, s.hub.now().cfg.Roots.Timeout)
	}
	return nil
}

// rootsAfter is rootsBefore for what is known of a child only when it runs: that
// it has asked for roots. A modern one asks by its result when it needs them: see
// rootless. Where there is an error the lease was released.
func (p *parley) rootsAfter(lease *children.Lease) error {
	if !p.asks || lease.Key().Instance == "" || lease.Modern() || !lease.AskedRoots() || !p.lacksRoots(lease.Key().Child) {
		return nil
	}
	lease.Release()
	return p.wantRoots()
}

// lacksRoots reports whether a child has been served no roots of the client
// yet, which could give them.
func (p *parley) lacksRoots(child string) bool {
	return p.given.roots == nil && p.given.meta.Client.Roots && !p.s.given(child)
}

// rootless reports whether the client could give roots and this request came
// without: over stdio those of an earlier one hold, where no request stands for
// another they do not.
func (p *parley) rootless() bool {
	return p.asks && p.given.roots == nil && p.given.meta.Client.Roots && (p.s.modern.stateless || !p.s.given(""))
}

// given reports whether roots that came with a call have reached a child: over
// stdio those of one call reach all.
func (s *Session) given(child string) bool {
	if !s.modern.stateless {
		return s.roots.Given() || s.capabilities().Roots
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tab.brought.served[child].at > 0
}
