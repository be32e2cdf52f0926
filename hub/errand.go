package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"mcphub/children"
	"mcphub/internal/audit"
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
	// before, where set, is called with the right to call the instance that is sent
	// the request, and then nothing is sent where it returns an error.
	before func(*children.Lease) error
	// anew, where set, makes the scan again by what the child offers now; nil where
	// that is what it was made by.
	anew func(*children.Offer) (*validate.Scan, error)
	// mute says why nobody is asked where a rule escalates the request; "" where a
	// human is.
	mute    string
	told    bool     // it is a notification: nothing is answered
	warrant *warrant // a human's approval of it; nil: none
}

// petitionFor puts an errand before a human.
func (s *Session) petitionFor(e errand) *petition {
	params := join(e.params(nil))
	return &petition{
		what: "a request " + legible(e.method), name: e.method, mute: e.mute, args: params,
		digest: digestOf([]byte(s.id), []byte(e.child), []byte(e.method), nil, params),
		consider: func(ctx context.Context, t *warrant) (*judgement, error) {
			e.warrant = t
			j, err := s.considerErrand(ctx, e)
			if err != nil {
				return nil, err
			}
			return s.upToDate(ctx, j)
		},
	}
}

var errRestless = errors.New("it changes what it offers again and again")

// errDenied comes with the answer to a request that was judged and denied.
var errDenied = errors.New("the request was denied")

// errand judges an errand and, where it is allowed, has the child do it. There
// is an answer always. errSuperseded: a reload has replaced the child, nothing
// was sent, and the request has to begin anew with what it named. errDenied: it
// is not for any other child either.
func (s *Session) errand(ctx context.Context, e errand) (jsonrpc.Answer, error) {
	j, err := s.considerErrand(ctx, e)
	if err == nil && j.verdict.Decision == validate.Escalate {
		j, err = s.seekApproval(s.withNotice(ctx, e.token), s.petitionFor(e), j)
	}
	if errors.Is(err, errSuperseded) && ctx.Err() == nil {
		return refuseErrand(ctx, e, err), errSuperseded
	}
	if err != nil {
		s.refusedFor(ctx, e.subject(), err)
		return refuseErrand(ctx, e, err), nil
	}
	defer s.consent.over(j.warrant)
	defer func() { j.lease.Release() }() // another one by then, perhaps
	denied := func(v *validate.Verdict) (jsonrpc.Answer, error) {
		j.verdict = v
		s.log.Info().Str("child", e.child).Str("method", e.method).Str("rule", v.Rule).Uint64("generation", v.Generation).Msg("request denied")
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, j.denial("")), errDenied
	}
	ticket, err := s.record(ctx, e.subject(), j)
	if v := j.verdict; v.Decision != validate.Allow || j.refusal != "" {
		return denied(v)
	}
	if err != nil {
		return refuseErrand(ctx, e, err), nil
	}
	if e.before != nil {
		if err := e.before(j.lease); err != nil {
			ticket.Outcome(audit.ResultNotSent)
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error()), nil
		}
	}
	a, err := s.send(ctx, e, j)
	var late *deniedError
	switch {
	case errors.As(err, &late):
		late.settle(j)
		ticket.Outcome(audit.ResultError) // the child has it, and did not get what it asked for
		_, _ = s.record(context.WithoutCancel(ctx), e.subject(), j)
		return denied(late.verdict)
	case err != nil:
		ticket.Outcome(failureOf(err))
		return refuseErrand(ctx, e, err), nil
	}
	ticket.Outcome(resultOf(a.Result, a.Error))
	return a, nil
}

// send has the child do an errand that was let through.
func (s *Session) send(ctx context.Context, e errand, j *judgement) (jsonrpc.Answer, error) {
	if e.told {
		return jsonrpc.Answer{}, j.lease.Notify(ctx, e.method, e.params(nil)...)
	}
	var own []byte
	if e.token != nil {
		own = s.hub.progress.add(j.lease.Key(), s.peerOf(ctx), bytes.Clone(e.token))
		defer s.hub.progress.remove(own)
	}
	away, back := s.travel(children.WithProgressToken(ctx, own), j.lease.Key(), j)
	a, err := s.exchange(away, j, e.method, func(*validate.Verdict) [][]byte { return e.params(own) })
	back(err)
	return a, err
}

// considerErrand judges an errand. The caller releases the lease.
func (s *Session) considerErrand(ctx context.Context, e errand) (*judgement, error) {
	rounds := 0
	for {
		j := &judgement{gen: e.gen, child: e.child, warrant: e.warrant}
		var patience *rootsmgr.Wait
		var err error
		if s.byRoots(e.gen, e.child) || e.scan.NeedsBoundary() {
			patience = s.roots.Begin()
			lookFirst(ctx, e.scan)
			if j.view, err = s.boundary(ctx, patience); err != nil {
				return nil, err
			}
		}
		if !e.scan.NeedsBoundary() {
			patience = nil
		}
		if err = s.rootsBefore(ctx, e.gen, e.child); err != nil {
			return nil, err
		}
		j.scan = e.scan
		if over, err := s.foretell(ctx, e.scan, patience, j); err != nil {
			return nil, err
		} else if over {
			return j, nil
		}
		if j.lease, err = s.acquire(ctx, e.gen, e.child); err != nil {
			return nil, err
		}
		if err = s.rootsAfter(ctx, j.lease); err != nil {
			return nil, err
		}
		before := j.lease.Key()
		err = s.judge(ctx, e.scan, patience, j)
		var other *validate.Scan
		if err == nil && e.anew != nil {
			other, err = e.anew(j.lease.Offer())
		}
		if err == nil && other == nil && j.lease.Key() == before {
			return j, nil
		}
		if j.lease != nil {
			j.lease.Release()
		}
		if err != nil {
			return nil, err
		}
		// The child has other templates than those that were remembered, or asking
		// again has moved the session to another instance.
		if other != nil {
			e.scan = other
		}
		if rounds++; rounds == mostDefinitions {
			return nil, errRestless
		}
	}
}

// refuseErrand answers a request that was not judged, or that the child did
// not answer.
func refuseErrand(ctx context.Context, e errand, err error) jsonrpc.Answer {
	var args *validate.ArgumentsError
	var down *children.UnavailableError
	var unrecorded *unrecordedError
	switch {
	case errors.As(err, &unrecorded):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	case errors.As(err, &args):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "refused: "+err.Error())
	case ctx.Err() != nil, errors.Is(err, rootsmgr.ErrClosed):
		return gone(ctx, err)
	case errors.As(err, &down):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, down.Error())
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("the server %q did not answer %s: %s", e.child, e.method, err))
}
