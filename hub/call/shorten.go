package call

import (
	"bytes"
	"context"
	"errors"

	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/results"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/validate/policy"
)

// This file is about results that are too large for a client: see package results.

// maxKeptArguments bounds the arguments that are kept with a result, in bytes.
const maxKeptArguments = 64 << 10

// A resultOrigin is the call that a result answers, as far as it takes to judge it again: what is kept of a result is not to be read once a
// reload denies the call.
type resultOrigin struct {
	number      uint64 // of the configuration that it was judged by
	child, tool string // the child's own name of the tool
	args        []byte // a copy; nil if they are not known
	approved    bool   // by a person
}

// resultOrigin returns what is kept of the call. It is asked for if the result is too large.
func (target *toolTarget) resultOrigin(approved bool) *resultOrigin {
	o := &resultOrigin{number: target.tool.Conf.Number, child: target.tool.Child, tool: target.tool.OwnName, approved: approved}
	if len(target.args) <= maxKeptArguments {
		o.args = append([]byte{}, target.args...)
	}
	return o
}

// mayShorten reports whether an answer may be too large. max is as in shortenAnswer.
func mayShorten(answer jsonrpc.Answer, max int) bool { return max > 0 && len(answer.Result) > max }

// shortenAnswer returns the answer to a call of a tool as its client is to have it. max is how many bytes of text that may have,
// by the configuration that the call was judged by; 0: any number.
func (s *Sender) shortenAnswer(from client.Client, answer jsonrpc.Answer, max int, origin func() *resultOrigin) jsonrpc.Answer {
	if !mayShorten(answer, max) {
		return answer
	}
	o := origin()
	return s.Results.Cut(answer, max, from.Claims().Protocol, &results.Origin{Size: len(o.args), Withheld: func(ctx context.Context) (string, bool) { return s.withheldReason(ctx, o) }})
}

// ShortenTask returns what the client gets of an answer about a task that a child made of a call of tool. The result of the call comes by
// tasks/result, and is a member of the result of tasks/get (io.modelcontextprotocol/tasks).
func (s *Sender) ShortenTask(ctx context.Context, method, child, tool string, answer jsonrpc.Answer) jsonrpc.Answer {
	now := s.Current.InForce()
	max := now.ResultMax(child)
	if !mayShorten(answer, max) {
		return answer
	}
	origin := func() *resultOrigin { return &resultOrigin{number: now.Number, child: child, tool: tool} }
	if method == methods.TaskResult {
		return s.shortenAnswer(s.ClientOf(ctx), answer, max, origin)
	}
	within := jsonrpc.Get(answer.Result, "result")
	if !jsonrpc.IsObject(within) {
		return answer // the task has not ended
	}
	short := s.shortenAnswer(s.ClientOf(ctx), jsonrpc.Answer{Result: within}, max, origin)
	if len(short.Result) == len(within) && &short.Result[0] == &within[0] {
		return answer
	}
	return answer.WithEdits(jsonrpc.Edit{Old: within, With: short.Result})
}

// withheldReason returns why what is kept of a call's result is not to be read, "" if it may be. A reload may have come to deny the call:
// then it is judged again, as it would be now, and nothing is started for that. gone is as of [results.Origin].
func (s *Sender) withheldReason(ctx context.Context, o *resultOrigin) (why string, gone bool) {
	const again = ". Call the tool again."
	now := s.Current.InForce()
	switch {
	case now.Number == o.number:
		return "", false
	case now.Child(o.child) == nil:
		return "hub.json no longer has its server. Call another one.", true
	case now.IsDenied(o.child) || now.Checker.RefusesTool(o.child, o.tool):
		return "the rules of hub.json have come to deny the call that it answered.", true
	case o.args == nil:
		return "hub.json was changed since" + again, true
	}
	var err error
	decision := configuration.RetryOnReload(func() (d policy.Decision, _ error) {
		d, err = s.judgeAgain(ctx, o)
		return d, err
	})
	switch {
	case errors.Is(err, configuration.ErrSuperseded):
		return "hub.json is changed again and again" + again, false
	case err != nil:
		return "hub.json was changed since, and the call that it answered cannot be judged at this moment" + again, false
	case decision == policy.Allow, decision == policy.Escalate && o.approved:
		return "", false
	}
	return "the rules of hub.json have come to deny the call that it answered, or to ask a person about it" + again, true
}

var errNotOffered = errors.New("the tool is not offered")

// judgeAgain decides about a call that was made, by the configuration and the roots as they are now.
func (s *Sender) judgeAgain(ctx context.Context, o *resultOrigin) (policy.Decision, error) {
	tool := s.Offering.Catalog().OfChild(o.child, o.tool)
	if tool.Tool == nil {
		return policy.Deny, errNotOffered
	}
	call := &Call{sender: s, target: &toolTarget{listed: tool, tool: tool, args: bytes.Clone(o.args)}, rootsWait: s.RootsManager.NewWaitBudget()}
	att := &attempt{call: call, client: s.ClientOf(ctx), rootsWait: call.rootsWait}
	err := att.scanAndAwaitRoots(ctx)
	if err == nil && !att.conf.IsDenied(att.child) {
		if att.lease = s.Instances.TryAcquire(att.conf, att.child); att.lease == nil && !att.planWorkplace(nil) {
			err = errNotOffered
		}
		defer att.lease.Release()
	}
	if err == nil {
		s.judgeAttempt(att)
		err = att.checkCurrent(ctx)
	}
	if err != nil {
		return policy.Deny, err
	}
	return att.verdict.Decision, nil
}
