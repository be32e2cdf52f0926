package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// An errand is a request for one child that is no tool call: it is judged by
// the same boundary, and refused with an error instead of a result (V7).
type errand struct {
	gen    *generation // that scan was made by
	child  string
	method string
	scan   *validate.Scan
	token  []byte // the client's progress token, raw; nil where it gave none
	// params builds what the child is sent, with the hub's own progress token.
	params func(own []byte) [][]byte
	// before, where set, is called with the instance that is sent the request, and
	// then nothing is sent where it returns an error.
	before func(children.Key) error
}

// errand judges an errand and, where it is allowed, has the child do it. again:
// a reload has replaced the child, nothing was sent, and the request has to
// begin anew with what it named.
func (s *Session) errand(ctx context.Context, e errand) (a jsonrpc.Answer, again bool) {
	j, err := s.considerErrand(ctx, e)
	if errors.Is(err, errSuperseded) && ctx.Err() == nil {
		return refuseErrand(ctx, e, err), true
	}
	if err != nil {
		return refuseErrand(ctx, e, err), false
	}
	defer j.lease.Release()
	if v := j.verdict; v.Decision != validate.Allow {
		s.log.Info().Str("child", e.child).Str("method", e.method).Str("rule", v.Rule).Uint64("generation", v.Generation).Msg("request denied")
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, denial(v, "")), false
	}
	if e.before != nil {
		if err := e.before(j.lease.Key()); err != nil {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error()), false
		}
	}
	var own []byte
	if e.token != nil {
		own = s.hub.progress.add(j.lease.Key(), s.peerOf(ctx), bytes.Clone(e.token))
		defer s.hub.progress.remove(own)
	}
	away, back := s.travel(children.WithProgressToken(ctx, own), j.lease.Key())
	resp, err := j.lease.Call(away, e.method, e.params(own)...)
	back(err)
	if err != nil {
		return refuseErrand(ctx, e, err), false
	}
	return jsonrpc.Answer{Result: resp.Result, Error: resp.Error, Release: resp.Release}, false
}

// considerErrand judges an errand. The caller releases the lease.
func (s *Session) considerErrand(ctx context.Context, e errand) (*judgement, error) {
	for {
		j := &judgement{gen: e.gen, child: e.child}
		var patience *rootsmgr.Wait
		var err error
		if e.gen.byRoots(e.child) || e.scan.NeedsBoundary() {
			patience = s.roots.Begin()
			if j.view, err = s.boundary(ctx, patience); err != nil {
				return nil, err
			}
		}
		if !e.scan.NeedsBoundary() {
			patience = nil
		}
		if j.lease, err = s.acquire(ctx, e.gen, e.child); err != nil {
			return nil, err
		}
		before := j.lease.Key()
		err = s.judge(ctx, e.scan, patience, j)
		if err == nil && j.lease.Key() == before {
			return j, nil
		}
		if j.lease != nil {
			j.lease.Release()
		}
		if err != nil {
			return nil, err
		}
		// Asking again has moved the session to another instance.
	}
}

// refuseErrand answers a request that was not judged, or that the child did
// not answer.
func refuseErrand(ctx context.Context, e errand, err error) jsonrpc.Answer {
	var args *validate.ArgumentsError
	var down *children.UnavailableError
	switch {
	case errors.As(err, &args):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "refused: "+err.Error())
	case ctx.Err() != nil, errors.Is(err, rootsmgr.ErrClosed):
		return gone(ctx, err)
	case errors.As(err, &down):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, down.Error())
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("the server %q did not answer %s: %s", e.child, e.method, err))
}
