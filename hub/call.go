package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A toolCall is one call of a child's tool, whichever way it came in.
type toolCall struct {
	tool *offered
	args []byte // raw; nil when absent
	// params builds what the child is sent: the judged bytes, with the edits that
	// the verdict made of args, and the hub's own progress token.
	params func(token []byte, edits []edit) [][]byte
	token  []byte                                   // the client's progress token, raw; nil when it gave none
	at     string                                   // pointer of args within the arguments that the client sent
	task   bool                                     // the client asks for a task in place of the result
	again  func(ctx context.Context) jsonrpc.Answer // makes the call from the start, the tool looked up anew

	scanned *scanned // of args, where that was done already
	warrant *warrant // a human's approval of this very call; nil: none
	current bool     // tool is what the child's instance defines, and not the catalogue
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
	token := jsonrpc.Get(m.Param("_meta"), "progressToken")
	ctx = s.withNotice(ctx, token)
	tool, refusal := s.lookup(ctx, name)
	if tool == nil {
		return refusal
	}
	if tool.child == "" {
		return s.callOwn(ctx, tool, m, token)
	}
	if refusal, ok := fitsHeaders(ctx, tool, m.Param("arguments")); !ok {
		return refusal
	}
	return s.dispatch(ctx, toolCall{
		tool: tool, args: m.Param("arguments"), token: token, scanned: preparedScan(m), task: m.Param("task") != nil,
		again: func(ctx context.Context) jsonrpc.Answer { return s.callTool(ctx, m) },
		params: func(own []byte, edits []edit) [][]byte {
			edits = append(edits, edit{quoted, jsonrpc.AppendString(nil, tool.remote)})
			if own != nil {
				edits = append(edits, edit{token, own})
			}
			return splice(m.Params, edits...)
		},
	})
}

// knownMembers are the members of tools/call params that servers read.
var knownMembers = []string{"name", "arguments", "_meta", "task", memberResponses, memberState}

// checkMembers refuses a member of tools/call params that is a look-alike of a
// known one.
func checkMembers(members []jsonrpc.Member) error { return lookAlike("params", members, knownMembers) }

// lookAlike refuses a member that is a known one but for letter case or a NUL
// in it: a child with a lax parser would read it in place of the one that was
// judged.
func lookAlike(where string, members []jsonrpc.Member, knowns []string) error {
	for i := range members {
		m := &members[i]
		if slices.Contains(knowns, m.Name) {
			continue // and like no other: they differ by more than that
		}
		for _, known := range knowns {
			if strings.EqualFold(bare(m.Name), known) {
				return fmt.Errorf("the member %q of %s is spelled almost like %q; send it exactly so or leave it out", m.Name, where, known)
			}
		}
	}
	return nil
}

// bare is a name without NUL, and with the letters i that have a dot too many
// or too few, which EqualFold keeps apart and some lower-casing does not.
func bare(name string) string {
	if strings.ContainsAny(name, "\x00\u0131\u0130") {
		return strings.NewReplacer("\x00", "", "\u0131", "i", "\u0130", "i").Replace(name)
	}
	return name
}

// checkParams is checkMembers for the params of another request: those that
// servers read there, and what is in the objects among them.
func checkParams(m *jsonrpc.Message) error {
	known := []string{"_meta", "name", "uri", "arguments", "ref", "argument", "context", "cursor", "level", memberResponses, memberState}
	if err := lookAlike("params", m.Members, known); err != nil {
		return err
	}
	for _, object := range [][]string{{"ref", "type", "name", "uri"}, {"argument", "name", "value"}, {"context", "arguments"}} {
		name, inner := object[0], object[1:]
		var members []jsonrpc.Member
		_ = jsonrpc.Members(m.Param(name), func(name string, value []byte) bool {
			members = append(members, jsonrpc.Member{Name: name, Value: value})
			return true
		})
		if err := lookAlike("params."+name, members, inner); err != nil {
			return err
		}
	}
	return nil
}

// lookup finds a tool by its name towards the client. A name that may belong
// to a child which has not listed its tools yet waits for that child (V2).
func (s *Session) lookup(ctx context.Context, name string) (*offered, jsonrpc.Answer) {
	if o := s.tools().byName[name]; o != nil {
		return o, jsonrpc.Answer{}
	}
	owners := s.hub.now().owners(name)
	var o *offered
	found, down := s.await(ctx, owners, func() bool { o = s.tools().byName[name]; return o != nil })
	switch {
	case found:
		return o, jsonrpc.Answer{}
	case ctx.Err() != nil:
		return nil, gone(ctx, nil)
	}
	switch o, err := s.tools().appTool(name); {
	case err != nil:
		return nil, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	case o != nil:
		return o, jsonrpc.Answer{}
	case down != "":
		return nil, toolError(down)
	}
	for _, b := range s.hub.now().cfg.Broken {
		if b.Prefix != "" && strings.HasPrefix(name, b.Prefix) {
			return nil, refuseBroken(b)
		}
	}
	return nil, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, unknownTool(name, s.tools(), owners))
}

// dispatch judges a call and, where it is allowed, has the child run it.
func (s *Session) dispatch(ctx context.Context, c toolCall) jsonrpc.Answer {
	j, err := s.consider(ctx, c)
	if err == nil && j.verdict.Decision == validate.Escalate {
		j, err = s.seekApproval(ctx, s.petitionOf(c), j)
	}
	if errors.Is(err, errSuperseded) && ctx.Err() == nil {
		return c.again(ctx) // nothing was sent yet
	}
	if err != nil {
		s.refusedFor(ctx, c.subject(), err)
		return refuse(ctx, c.tool, err)
	}
	defer s.consent.over(j.warrant)
	defer func() { j.lease.Release() }() // another one by then, perhaps
	ticket, err := s.record(ctx, c.subject(), j)
	if j.verdict.Decision != validate.Allow || j.refusal != "" {
		return s.denied(c, j)
	}
	if err != nil {
		return refuse(ctx, c.tool, err)
	}
	return s.forward(ctx, c, j, ticket)
}

func (s *Session) denied(c toolCall, j *judgement) jsonrpc.Answer {
	v := j.verdict
	s.log.Info().Str("child", c.tool.child).Str("tool", c.tool.remote).Str("rule", v.Rule).Uint64("generation", v.Generation).Msg("call denied")
	return refuseJudged(j, c.at)
}

// preparedScan is the Scan that serveFast made of a call's arguments, nil where
// it made none.
func preparedScan(m *jsonrpc.Message) *scanned {
	done, _ := m.Prepared.(*scanned)
	return done
}

// A judgement is what became of one call, and the right to make it.
type judgement struct {
	gen     *generation
	child   string
	tool    *offered // that it was judged by; nil where it is no call of a tool
	scan    *validate.Scan
	verdict *validate.Verdict
	view    rootsmgr.View   // zero where the call holds no path
	lease   *children.Lease // nil: nothing was started for it, and it is not allowed
	warrant *warrant        // a human's approval of it; nil: none
	refusal string          // why a call that a rule escalates was not approved
	cwd     string          // without a lease, where the child would work
	served  []string        // and with which roots
}

// petitionOf puts a call before a human.
func (s *Session) petitionOf(c toolCall) *petition {
	task := []byte{}
	if c.task {
		task = []byte("task")
	}
	return &petition{
		what: "its tool " + legible(clip(c.tool.remote, 100)), name: c.tool.remote, args: c.args,
		digest: digestOf([]byte(s.id), []byte(c.tool.child), []byte("tools/call"), []byte(c.tool.remote), c.args, task),
		consider: func(ctx context.Context, t *warrant) (*judgement, error) {
			again := c
			again.warrant, again.scanned, again.current = t, nil, false
			return s.consider(ctx, again)
		},
	}
}

// considerBy judges the arguments of a call: strict JSON, schema, findings, and
// where there are any, the boundary of this session and the working directory
// of the instance that would run it. The caller releases the lease. An error
// of validate is what is wrong with the arguments; others say why the call
// could not be judged or made, fits' among them.
func (s *Session) considerBy(ctx context.Context, c toolCall) (*judgement, error) {
	var patience *rootsmgr.Wait
	var view rootsmgr.View
	var err error
	if s.byRoots(c.tool.gen, c.tool.child) {
		patience = s.roots.Begin()
		if view, err = s.boundary(ctx, patience); err != nil {
			return nil, err
		}
		if !c.current {
			if c.tool, err = s.toolNow(ctx, c.tool); err != nil {
				return nil, err
			}
		}
	}
	j := &judgement{gen: c.tool.gen, child: c.tool.child, tool: c.tool, warrant: c.warrant}
	var scan *validate.Scan
	if done := c.scanned; done != nil && done.tool == c.tool.tool {
		scan = done.scan
	} else if scan, err = c.tool.gen.cfg.Checker.Scan(c.tool.tool, c.args); err != nil {
		return nil, s.confirm(ctx, c.tool, err)
	}
	j.scan = scan
	switch {
	case !scan.NeedsBoundary():
		patience = nil
	case patience != nil:
		j.view = view
	default:
		patience = s.roots.Begin()
		lookFirst(ctx, scan)
		if j.view, err = s.boundary(ctx, patience); err != nil {
			return nil, err
		}
	}
	if err = s.rootsBefore(ctx, j.gen, j.child); err != nil {
		return nil, err
	}
	if over, err := s.foretell(ctx, scan, patience, j); err != nil {
		return nil, err
	} else if over {
		return s.upToDate(ctx, j)
	}
	if j.lease, err = s.acquireFor(ctx, c.tool); err != nil {
		return nil, err
	}
	if err = s.rootsAfter(ctx, j.lease); err != nil {
		return nil, err
	}
	before := j.lease.Key()
	err = s.judge(ctx, scan, patience, j)
	if err == nil && j.lease.Key() == before {
		return s.upToDate(ctx, j)
	}
	if j.lease != nil {
		j.lease.Release()
	}
	if err != nil {
		return nil, err
	}
	// Asking again has moved the session to another instance.
	c.scanned, c.current = nil, false
	return s.considerBy(ctx, c)
}

// judge decides; a denial that a newer answer of the client might lift, or a
// question to a human that it might spare, is decided once more after asking
// (R11). Then the child is acquired anew: it has
// to apply the new roots first, and may be another process in another place.
func (s *Session) judge(ctx context.Context, scan *validate.Scan, patience *rootsmgr.Wait, j *judgement) error {
	decide := func() {
		j.verdict = j.gen.cfg.Checker.Judge(scan, s.where(j), j.view)
	}
	decide()
	if p := parleyOf(ctx); p != nil && p.looked && (len(j.verdict.Findings) > 0 || j.verdict.RootsMatter()) {
		return p.wantRoots()
	}
	if patience == nil || !j.verdict.RootsMatter() {
		return nil
	}
	back := lend(ctx)
	again, newer, err := s.lookAgain(ctx, patience, j)
	back()
	if err != nil || !newer {
		return err
	}
	j.lease.Release()
	switch {
	case j.lease == nil:
		s.foresee(j) // where it runs by now, as it would have been started
	case j.tool == nil:
		j.lease, err = s.acquire(ctx, j.gen, j.child)
	default:
		j.lease, err = s.acquireFor(ctx, j.tool)
	}
	if err != nil {
		return err
	}
	j.view = again
	decide()
	return nil
}

// where tells what the instance that would run a request can reach, and what a
// human has opened for it.
func (s *Session) where(j *judgement) validate.Where {
	cwd, served := j.place()
	if files := j.view.Snapshot.Files(); len(files) > 0 { // nothing starts from a file
		served = slices.DeleteFunc(slices.Clone(served), func(path string) bool { return slices.Contains(files, path) })
	}
	return validate.Where{
		Cwd: cwd, Served: served, Grants: s.consent.grantsFor(j.gen.byName[j.child], j.warrant), Approved: j.warrant.approved(),
	}
}

// rewrites are the edits of args that a verdict asks for: other spellings of
// paths that were judged, for a server that does not take the ones given.
func (s *Session) rewrites(c toolCall, v *validate.Verdict) []edit {
	edits := make([]edit, 0, len(v.Rewrites)+2)
	for _, r := range v.Rewrites {
		edits = append(edits, edit{c.args[r.Start:r.End], r.With})
		s.log.Info().Str("child", c.tool.child).Str("tool", c.tool.remote).Str("argument", shown(r.Pointer, 200)).
			Str("from", shown(r.From, 400)).Str("to", shown(r.To, 400)).Str("why", r.Why).Msg("argument rewritten")
	}
	return edits
}

// forward sends the judged bytes and brings the answer back as it is.
func (s *Session) forward(ctx context.Context, c toolCall, j *judgement, ticket audit.Ticket) jsonrpc.Answer {
	var own []byte
	drop := func() {}
	if c.token != nil {
		own = s.hub.progress.add(j.lease.Key(), s.peerOf(ctx), bytes.Clone(c.token))
		drop = func() { s.hub.progress.remove(own) }
	}
	away, back := s.travel(children.WithProgressToken(ctx, own), j.lease.Key(), j)
	a, err := s.exchange(away, j, "tools/call", func(v *validate.Verdict) [][]byte { return c.params(own, s.rewrites(c, v)) })
	back(err)
	var denied *deniedError
	switch {
	case errors.As(err, &denied):
		drop()
		denied.settle(j)
		ticket.Outcome(audit.ResultError) // the child has it, and did not get what it asked for
		_, _ = s.record(context.WithoutCancel(ctx), c.subject(), j)
		return s.denied(c, j)
	case err != nil:
		drop()
		ticket.Outcome(failureOf(err))
		return refuse(ctx, c.tool, err)
	}
	ticket.Outcome(resultOf(a.Result, a.Error))
	if c.task || j.lease.Modern() && isTask(a.Result) {
		if p := parleyOf(ctx); p != nil {
			p.isTyped()
		}
		return s.adoptTask(ctx, j.lease, a, drop)
	}
	drop()
	return a
}

// gone answers a call whose time is over before it could be judged. Where the
// client cancelled it, nobody reads this.
func gone(ctx context.Context, err error) jsonrpc.Answer {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
}

// refuse answers a call that was not judged, or that the child did not answer.
func refuse(ctx context.Context, tool *offered, err error) jsonrpc.Answer {
	var args *validate.ArgumentsError
	var schema *validate.SchemaError
	var broken *jsonrpc.BrokenError
	var down *children.UnavailableError
	var missing *missingToolError
	var changed *changedToolError
	var unrecorded *unrecordedError
	switch {
	case errors.As(err, &unrecorded):
		return toolError(err.Error())
	case errors.As(err, &args), errors.As(err, &schema):
		return refuseArguments(tool, err)
	case errors.As(err, &missing), errors.As(err, &changed):
		return toolError(err.Error())
	case errors.As(err, &broken):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("%s: %s", tool.child, err))
	case ctx.Err() != nil, errors.Is(err, rootsmgr.ErrClosed):
		return gone(ctx, err)
	case errors.As(err, &down):
		return toolError(down.Error())
	}
	return toolError(fmt.Sprintf("The server %q did not answer %q: %s", tool.child, tool.remote, err))
}
