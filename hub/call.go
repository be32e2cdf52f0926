package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A toolCall is one call of a child's tool, whichever way it came in.
type toolCall struct {
	tool *offered
	args []byte // raw; nil when absent
	// params builds what the child is sent, around the judged bytes.
	params func(token []byte) [][]byte
	token  []byte // the client's progress token, raw; nil when it gave none
}

// callTool answers a tools/call of the client.
func (s *Session) callTool(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkMembers(m.Members); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	quoted := m.Param("name")
	name, ok := jsonrpc.String(quoted)
	if !ok {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "tools/call needs the name of a tool (a string) at /params/name")
	}
	tool, refusal := s.lookup(ctx, name)
	if tool == nil {
		return refusal
	}
	token := jsonrpc.Get(m.Param("_meta"), "progressToken")
	if tool.child == "" {
		return s.callOwn(ctx, tool, m, token)
	}
	return s.dispatch(ctx, toolCall{
		tool: tool, args: m.Param("arguments"), token: token,
		params: func(own []byte) [][]byte {
			edits := []edit{{quoted, jsonrpc.AppendString(nil, tool.remote)}}
			if own != nil {
				edits = append(edits, edit{token, own})
			}
			return splice(m.Params, edits...)
		},
	})
}

// knownMembers are the members of tools/call params that servers read.
var knownMembers = []string{"name", "arguments", "_meta", "task"}

// checkMembers refuses a member that is a known one but for letter case or a
// NUL behind it: a child with a lax parser would read it in place of the one
// that was judged.
func checkMembers(members []jsonrpc.Member) error {
	for _, m := range members {
		bare := strings.TrimRight(m.Name, "\x00")
		for _, known := range knownMembers {
			if m.Name != known && strings.EqualFold(bare, known) {
				return fmt.Errorf("the member %q of params is spelled almost like %q; send it exactly so or leave it out", m.Name, known)
			}
		}
	}
	return nil
}

// lookup finds a tool by its name towards the client. A name that may belong
// to a child which has not listed its tools yet waits for that child (V2).
func (s *Session) lookup(ctx context.Context, name string) (*offered, jsonrpc.Answer) {
	if o := s.catalog.Load().byName[name]; o != nil {
		return o, jsonrpc.Answer{}
	}
	owners := s.hub.owners(name)
	s.awaitListed(ctx, owners)
	if err := ctx.Err(); err != nil {
		return nil, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, context.Cause(ctx).Error())
	}
	if o := s.catalog.Load().byName[name]; o != nil {
		return o, jsonrpc.Answer{}
	}
	for _, owner := range owners {
		if st, _, offered, _ := s.childStatus(owner); !offered {
			return nil, refuseDown(st)
		}
	}
	for _, b := range s.hub.cfg.Broken {
		if b.Prefix != "" && strings.HasPrefix(name, b.Prefix) {
			return nil, refuseBroken(b)
		}
	}
	return nil, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, unknownTool(name, s.catalog.Load(), owners))
}

// dispatch judges a call and, where it is allowed, has the child run it.
func (s *Session) dispatch(ctx context.Context, c toolCall) jsonrpc.Answer {
	scan, err := s.hub.cfg.Checker.Scan(c.tool.tool, c.args)
	if err != nil {
		return refuseArguments(err)
	}
	child := s.hub.byName[c.tool.child]
	var patience *rootsmgr.Wait
	var view rootsmgr.View
	if scan.NeedsBoundary() {
		patience = s.roots.Begin()
		if view, err = s.boundary(ctx, patience); err != nil {
			return gone(ctx, err)
		}
	}
	lease, err := s.hub.sup.Acquire(ctx, s.key(child))
	if err != nil {
		return failed(ctx, c.tool, err)
	}
	defer lease.Release()
	if scan.NeedsBoundary() {
		verdict, err := s.judge(ctx, scan, lease, patience, view)
		if err != nil {
			return gone(ctx, err)
		}
		if verdict.Decision != validate.Allow {
			s.log.Info().Str("child", c.tool.child).Str("tool", c.tool.remote).Uint64("generation", verdict.Generation).Msg("call denied")
			return refuseVerdict(verdict)
		}
	}
	return s.forward(ctx, c, lease)
}

// boundary waits for the roots that this call is judged by, and until the
// children have been given them.
func (s *Session) boundary(ctx context.Context, patience *rootsmgr.Wait) (rootsmgr.View, error) {
	view, err := patience.Await(ctx)
	if err != nil {
		return view, err
	}
	return view, s.awaitServed(ctx, view.Snapshot.Generation())
}

// judge decides; a denial that a newer answer of the client might lift is
// decided once more after asking (R11).
func (s *Session) judge(ctx context.Context, scan *validate.Scan, lease *children.Lease, patience *rootsmgr.Wait, view rootsmgr.View) (*validate.Verdict, error) {
	cwd, served := lease.Where()
	where := validate.Where{Cwd: cwd, Served: served}
	verdict := s.hub.cfg.Checker.Judge(scan, where, view)
	if verdict.Decision != validate.Deny {
		return verdict, nil
	}
	again, asked, err := patience.Reconsider(ctx)
	if err != nil || !asked {
		return verdict, err
	}
	if err := s.awaitServed(ctx, again.Snapshot.Generation()); err != nil {
		return nil, err
	}
	return s.hub.cfg.Checker.Judge(scan, where, again), nil
}

// forward sends the judged bytes and brings the answer back as it is.
func (s *Session) forward(ctx context.Context, c toolCall, lease *children.Lease) jsonrpc.Answer {
	var own []byte
	if c.token != nil {
		own = s.hub.progress.add(s.key(s.hub.byName[c.tool.child]), s, bytes.Clone(c.token))
		defer s.hub.progress.remove(own)
	}
	resp, err := lease.Call(children.WithProgressToken(ctx, own), "tools/call", c.params(own)...)
	if err != nil {
		return failed(ctx, c.tool, err)
	}
	return jsonrpc.Answer{Result: resp.Result, Error: resp.Error, Release: resp.Release}
}

// gone answers a call whose time is over before it could be judged. Where the
// client cancelled it, nobody reads this.
func gone(ctx context.Context, err error) jsonrpc.Answer {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
}

// failed answers a call that the child could not answer.
func failed(ctx context.Context, tool *offered, err error) jsonrpc.Answer {
	var broken *jsonrpc.BrokenError
	var down *children.UnavailableError
	switch {
	case errors.As(err, &broken):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("%s: %s", tool.child, err))
	case errors.As(err, &down):
		return toolError(down.Error())
	case ctx.Err() != nil:
		return gone(ctx, err)
	}
	return toolError(fmt.Sprintf("The server %q did not answer %q: %s", tool.child, tool.remote, err))
}
