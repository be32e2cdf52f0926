package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file is about calls of tools.

// A toolTarget is a tool that is called, and its arguments.
type toolTarget struct {
	listed  offering.Tool // as it was looked up
	tool    offering.Tool // as it is judged
	args    []byte        // raw; nil when absent
	at      string        // pointer of args within the arguments that the client sent
	task    bool          // the client asks for a task in place of the result
	current bool          // tool is what the child's instance defines, and not the catalogue
}

// callTool answers a tools/call of the client.
func (s *Session) callTool(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkMembers(m.Members); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	quoted, name, err := stringAt(m, "name", "the name of a tool")
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	ctx = s.withNotice(ctx, tokenOf(m))
	tool, refusal := s.lookup(ctx, name)
	if tool.Tool == nil {
		return refusal
	}
	if tool.Child == "" {
		return s.callOwn(ctx, tool, m)
	}
	if refusal, ok := fitsHeaders(ctx, tool.Tool, m.Param("arguments")); !ok {
		return refusal
	}
	c, tried := m.Prepared.(*toolAttempt) // by tryCall
	if !tried {
		c = &toolAttempt{}
	}
	c.read(s, m, quoted, tool)
	a, err := c.run(ctx)
	if errors.Is(err, configuration.ErrSuperseded) {
		return s.callTool(ctx, m)
	}
	return a
}

// headers are those of a request that repeat parts of it.
type headers interface {
	// Fits compares them with the arguments of a call, once it is known which
	// parameters they repeat. ok false: refusal is the answer.
	Fits(mirrors []mirror.Mark, args []byte) (refusal jsonrpc.Answer, ok bool)
}

type headersKey struct{}

// withHeaders marks the context of a request with its headers.
func withHeaders(ctx context.Context, h headers) context.Context {
	return context.WithValue(ctx, headersKey{}, h)
}

// fitsHeaders compares the arguments of a call with the headers that came with it,
// if any. A tool that the front knew was compared by that already.
func fitsHeaders(ctx context.Context, tool *catalog.Tool, args []byte) (refusal jsonrpc.Answer, ok bool) {
	h, there := ctx.Value(headersKey{}).(headers)
	if !there {
		return jsonrpc.Answer{}, true
	}
	return h.Fits(tool.Mirrors, args)
}

// known returns the tool that a call is of, nil where it is none, or the
// server has not listed it yet.
func (s *Session) known(m *jsonrpc.Message) *catalog.Tool {
	if m.Method != string(mcp.MethodToolsCall) {
		return nil
	}
	name, _ := jsonrpc.String(m.Param("name"))
	return s.Catalog().Tool(name)
}

// lookup finds a tool by its name towards the client. A name that may belong
// to a child which has not listed its tools yet waits for that child.
func (s *Session) lookup(ctx context.Context, name string) (t offering.Tool, refusal jsonrpc.Answer) {
	find := func() bool { t = s.Catalog().Named(name); return t.Tool != nil }
	if find() {
		return t, jsonrpc.Answer{}
	}
	owners := s.hub.now().Offers.Owners(name)
	found, down := s.await(ctx, owners, find)
	switch {
	case found:
		return t, jsonrpc.Answer{}
	case ctx.Err() != nil:
		return offering.Tool{}, gone(ctx, nil)
	}
	l := s.Catalog()
	switch of := l.AppTools(name); {
	case len(of) == 1:
		return offering.Tool{Tool: of[0], By: l.By}, jsonrpc.Answer{}
	case len(of) > 1:
		names := make([]string, len(of))
		for i, t := range of {
			names[i] = t.Name
		}
		return offering.Tool{}, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, fmt.Sprintf(
			"several servers have apps and a tool %s: call it by one of its names here: %s", quotedName(name), quotedList(names)))
	case down != "":
		return offering.Tool{}, toolError(down)
	}
	for _, b := range s.hub.now().Broken {
		if b.Prefix != "" && strings.HasPrefix(name, b.Prefix) {
			return offering.Tool{}, refuseBroken(b)
		}
	}
	return offering.Tool{}, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, unknownTool(name, s.Catalog(), owners))
}

func (t *toolTarget) owner() (*configuration.Configuration, string) { return t.tool.By, t.tool.Child }

func (t *toolTarget) method() string { return methodCall }

func (t *toolTarget) subject() record.Subject {
	return record.Subject{Child: t.tool.Child, Tool: t.tool.Remote, Arguments: t.args, At: t.at}
}

func (t *toolTarget) asked(*Call) approval.Request {
	task := []byte{}
	if t.task {
		task = []byte("task")
	}
	return approval.Request{
		Tool: true, Name: t.tool.Remote, Args: t.args, Digest: approval.DigestOf([]byte(methodCall), []byte(t.tool.Remote), t.args, task),
	}
}

func (t *toolTarget) anew() { t.tool, t.current = t.listed, false }

// renew finds the tool as the instance has it that serves the session now.
func (t *toolTarget) renew(ctx context.Context, s *Session) (err error) {
	if !t.current {
		t.tool, err = s.toolNow(ctx, t.tool)
	}
	return err
}

// scan looks for paths by the tool's definition.
func (t *toolTarget) scan(ctx context.Context, c *Call) (*validate.Scan, error) {
	if c.scanned.scan != nil && c.scanned.tool == t.tool.Checked {
		return c.scanned.scan, nil
	}
	scan, err := t.tool.By.Checker.Scan(t.tool.Checked, t.args)
	switch {
	case err != nil && c.nowait: // the refusal has to be recorded
		return nil, errWouldBlock
	case err != nil:
		return nil, t.confirm(ctx, c, err)
	}
	c.scanned = scanned{t.tool.Checked, scan}
	return scan, nil
}

func (t *toolTarget) mayGo(*children.Lease) error { return nil }

// settle takes in a task that a child made of the call.
func (t *toolTarget) settle(ctx context.Context, s *Session, lease *children.Lease, a jsonrpc.Answer, drop func()) jsonrpc.Answer {
	if t.task || lease.Modern() && tasks.Is(a.Result) {
		s.clientOf(ctx).Typed()
		return s.tasks.Adopt(ctx, taskSession{s}, lease, a, drop)
	}
	drop()
	return a
}

func (t *toolTarget) deny(j *judgement) jsonrpc.Answer { return refuseJudged(j, t.at) }

func (t *toolTarget) refuse(ctx context.Context, err error) jsonrpc.Answer {
	return refuse(ctx, t.tool.Tool, err)
}

// edits are other spellings of paths that were judged, for a server that does not
// take the ones given.
func (t *toolTarget) edits(s *Session, v *validate.Verdict) []jsonrpc.Edit {
	edits := make([]jsonrpc.Edit, 0, len(v.Rewrites)+2)
	for _, r := range v.Rewrites {
		edits = append(edits, jsonrpc.Edit{Old: t.args[r.Start:r.End], With: r.With})
		s.log.Info().Str("child", t.tool.Child).Str("tool", t.tool.Remote).Str("argument", shown(r.Pointer, 200)).
			Str("from", shown(r.From, 400)).Str("to", shown(r.To, 400)).Str("why", r.Why).Msg("argument rewritten")
	}
	return edits
}

// A changedToolError says that the running child defines a tool otherwise than
// the catalogue by which a call was judged.
type changedToolError struct{ now *catalog.Tool }

func (e *changedToolError) Error() string {
	return fmt.Sprintf("the server %q changes the definition of %q again and again; ask tools/list and try once more", e.now.Child, e.now.Remote)
}

// Is makes it an errAnew.
func (e *changedToolError) Is(target error) bool { return target == errAnew }

// A missingToolError says that the running child does not offer a tool that it
// offered before.
type missingToolError struct{ server, tool, reason string }

func (e *missingToolError) Error() string {
	if e.reason != "" {
		return fmt.Sprintf("The tool %q of server %q is not offered any more: %s", e.tool, e.server, e.reason)
	}
	return fmt.Sprintf("The server %q does not offer the tool %q any more: it did when it was listed before. tools/list shows what it has now.", e.server, e.tool)
}

// fits reports whether the tool is as the child of the lease defines it. A call
// that was scanned by another definition must not be made: the error is a
// *changedToolError, and the tool the one to judge by, or a *missingToolError.
func (t *toolTarget) fits(c *Call, lease *children.Lease) error {
	s, raw, tool := c.s, lease.Offer(), t.tool
	switch {
	case raw == tool.Offer:
		return nil
	case c.nowait: // reading it may take a while
		return errWouldBlock
	}
	now := tool.By.ReadOffer(tool.By.Child(tool.Child), raw)
	for _, o := range now.Tools {
		switch {
		case o.Remote != tool.Remote:
		case o.SameDefinition(tool.Tool):
			return nil
		default:
			s.log.Info().Str("child", tool.Child).Str("tool", tool.Remote).Msg("the tool is defined otherwise than it was listed; the call is judged anew")
			t.tool, t.current = offering.Tool{Tool: o, By: tool.By}, true
			return &changedToolError{o}
		}
	}
	for _, left := range now.Omitted {
		if left.Name == tool.Remote {
			return &missingToolError{tool.Child, tool.Remote, left.Reason}
		}
	}
	return &missingToolError{server: tool.Child, tool: tool.Remote}
}

// confirm is asked before a call is refused by a tool's schema: while the child
// has not listed its tools in this session, that may be one of an earlier time.
// It returns the refusal, the error of fits, or errSuperseded.
func (t *toolTarget) confirm(ctx context.Context, c *Call, refusal error) error {
	s, tool := c.s, t.tool
	if s.hub.current.Superseded(tool.By.Child(tool.Child)) {
		return configuration.ErrSuperseded
	}
	if st, _, _, _ := s.ChildStatus(tool.Child); st.Listed || !errors.As(refusal, new(*validate.SchemaError)) {
		return refusal
	}
	lease, err := s.acquire(ctx, tool.By, tool.Child)
	switch {
	case errors.Is(err, configuration.ErrSuperseded):
		return err
	case err != nil:
		return refusal
	}
	defer lease.Release()
	if err := t.fits(c, lease); err != nil {
		return err
	}
	return refusal
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
func refuse(ctx context.Context, tool *catalog.Tool, err error) jsonrpc.Answer {
	var args *validate.ArgumentsError
	var schema *validate.SchemaError
	var broken *jsonrpc.BrokenError
	var down *children.UnavailableError
	var missing *missingToolError
	var changed *changedToolError
	var unrecorded *record.UnrecordedError
	switch {
	case errors.As(err, &unrecorded):
		return toolError(err.Error())
	case errors.As(err, &args), errors.As(err, &schema):
		return refuseArguments(tool, err)
	case errors.As(err, &missing), errors.As(err, &changed):
		return toolError(err.Error())
	case errors.As(err, &broken):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("%s: %s", tool.Child, err))
	case ctx.Err() != nil, errors.Is(err, rootsmgr.ErrClosed):
		return gone(ctx, err)
	case errors.As(err, &down):
		return toolError(down.Error())
	}
	return toolError(fmt.Sprintf("The server %q did not answer %q: %s", tool.Child, tool.Remote, err))
}
