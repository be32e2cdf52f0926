package call

import (
	"context"
	"errors"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/hub/approval"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/params"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/validate"
	"mcphub/validate/schema"
)

// ServeTool answers a tools/call of the client.
func (s *Sender) ServeTool(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	quoted, name, err := params.NameIn(m, "name", "the name of a tool")
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	ctx = s.contextWithLogins(s.contextWithNotice(ctx, progressTokenOf(m)))
	return s.retryOnReload(ctx, func(ctx context.Context) (jsonrpc.Answer, error) {
		tool, refusal := s.FindTool(ctx, name)
		if tool.Tool == nil {
			return refusal, nil
		}
		if tool.Child == "" {
			return s.serveHubTool(ctx, tool, m)
		}
		request := client.RequestOf(ctx)
		if refusal, ok := request.CheckHeaders(tool.Mirrors, m.Param("arguments")); !ok {
			return refusal, nil
		}
		return s.CallTool(ctx, m, quoted, tool)
	})
}

// CallTool makes the call of a tool that was looked up by its quoted name. It returns the
// answer and the error of Call.JudgeAndSend.
func (s *Sender) CallTool(ctx context.Context, m *jsonrpc.Message, quoted []byte, tool offering.Tool) (jsonrpc.Answer, error) {
	c := new(toolCall)
	m, setArgumentErr := setArguments(m, tool)
	if setArgumentErr == nil {
		quoted = m.Param("name")
	}
	c.initCall(s, m, quoted, tool)
	c.tool.setArgumentErr = setArgumentErr
	return c.JudgeAndSend(ctx)
}

// A toolTarget is a tool that is called, and its arguments.
type toolTarget struct {
	listed           offering.Tool // as it was looked up
	tool             offering.Tool // as it is judged
	args             []byte        // raw; nil when absent
	argumentsPointer string        // pointer of args within the arguments that the client sent
	setArgumentErr   error         // a *fixed.GivenError: args are the client's, and the call is refused for what they give; nil: none
	task             bool          // the client asks for a task instead of the result
	fromRunningChild bool          // tool is what the child's instance defines, and not the catalogue
}

func (target *toolTarget) ownerChild() (*configuration.Configuration, string) {
	return target.tool.Conf, target.tool.Child
}

func (target *toolTarget) requestMethod() string { return methods.CallTool }

func (target *toolTarget) recordSubject() record.Subject {
	subject := record.Subject{Child: target.tool.Child, Tool: target.tool.OwnName, Arguments: target.args, At: target.argumentsPointer}
	if target.tool.NameOnly {
		subject.Tool, subject.Unlisted = "", target.tool.OwnName
	}
	return subject
}

func (target *toolTarget) approvalRequest(*Call) approval.EscalatedRequest {
	task := []byte{}
	if target.task {
		task = []byte("task")
	}
	return approval.EscalatedRequest{
		Tool: true, Name: target.tool.OwnName, Args: target.args, Digest: approval.DigestOf([]byte(methods.CallTool), []byte(target.tool.OwnName), target.args, task),
	}
}

func (target *toolTarget) resetTarget() { target.tool, target.fromRunningChild = target.listed, false }

// renewTarget finds the tool as the instance has it that serves the session now.
func (target *toolTarget) renewTarget(ctx context.Context, s *Sender) error {
	if target.fromRunningChild {
		return nil
	}
	now, err := s.findCurrentTool(ctx, target.tool)
	if err == nil { // else the refusal is of the tool that was asked for
		target.tool = now
	}
	return err
}

// scanArguments looks for paths by the tool's definition.
func (target *toolTarget) scanArguments(ctx context.Context, call *Call) (*validate.Scan, error) {
	if target.setArgumentErr != nil {
		return nil, target.setArgumentErr
	}
	if call.earlierScan.scan != nil && call.earlierScan.tool == target.tool.Checked {
		return call.earlierScan.scan, nil
	}
	scan, err := target.tool.Conf.Checker.Scan(target.tool.Checked, target.args)
	switch {
	case err != nil && call.onFastPath: // the refusal has to be recorded
		return nil, errWouldBlock
	case err != nil:
		return nil, target.recheckSchemaRefusal(ctx, call, err)
	}
	call.earlierScan = scanResult{target.tool.Checked, scan}
	return scan, nil
}

func (target *toolTarget) beforeSend(*children.Lease) error { return nil }

func (target *toolTarget) listEntry() (offers.ListKind, string) {
	return offers.Tools, target.tool.OwnName
}

// maxResult returns how many bytes of text the result may have; 0: any number.
func (target *toolTarget) maxResult() int { return target.tool.Conf.ResultMax(target.tool.Child) }

func (target *toolTarget) denyAttempt(att *attempt) jsonrpc.Answer {
	return failure.ToolError(att.denialText(target.argumentsPointer))
}

func (target *toolTarget) failRequest(ctx context.Context, err error) jsonrpc.Answer {
	return failure.AnswerTool(ctx, target.tool.Tool, err)
}

// pathEdits returns other spellings of paths that were judged, for a server that does
// not take the ones given.
func (target *toolTarget) pathEdits(s *Sender, v *validate.Verdict) []jsonrpc.Edit {
	edits := make([]jsonrpc.Edit, 0, len(v.Rewrites)+2)
	for _, r := range v.Rewrites {
		edits = append(edits, jsonrpc.Edit{Old: target.args[r.Start:r.End], With: r.With})
		s.Log.Info().Str("child", target.tool.Child).Str("tool", target.tool.OwnName).Str("argument", printable.Escape(r.Pointer, 200)).
			Str("from", printable.Escape(r.From, 400)).Str("to", printable.Escape(r.To, 400)).Str("why", r.Why).Msg("argument rewritten")
	}
	return edits
}

// checkDefinition returns an error unless the tool is as the child of the lease defines it. A call
// that was scanned by another definition must not be made: the error is a
// *failure.ChangedToolError, and the tool the one to judge by, or a *failure.MissingToolError.
func (target *toolTarget) checkDefinition(call *Call, lease *children.Lease) error {
	s, raw, tool := call.sender, lease.Offer(), target.tool
	switch {
	case raw == tool.Offer:
		return nil
	case call.onFastPath: // reading it may take a while
		return errWouldBlock
	}
	now := tool.Conf.ReadOffer(tool.Conf.Child(tool.Child), raw)
	for _, o := range now.Tools {
		switch {
		case o.OwnName != tool.OwnName:
		case !tool.NameOnly && o.SameDefinition(tool.Tool):
			return nil
		default:
			s.Log.Info().Str("child", tool.Child).Str("tool", tool.OwnName).Msg("the tool is defined otherwise than it was listed; the call is judged again")
			target.tool, target.fromRunningChild = offering.Tool{Tool: o, Conf: tool.Conf}, true
			return scanAgainError{&failure.ChangedToolError{Server: o.Child, Tool: o.OwnName}}
		}
	}
	for _, left := range now.Omitted {
		if left.Name == tool.OwnName {
			return &failure.MissingToolError{Server: tool.Child, Tool: tool.OwnName, Reason: left.Reason}
		}
	}
	if tool.NameOnly && raw.IsUnread(offers.Tools) {
		return nil
	}
	return &failure.MissingToolError{Server: tool.Child, Tool: tool.OwnName}
}

// recheckSchemaRefusal is asked before a call is refused by a tool's schema: while the child
// has not listed its tools in this session, that may be one of an earlier time.
// It returns the refusal, the error of checkDefinition, or ErrSuperseded.
func (target *toolTarget) recheckSchemaRefusal(ctx context.Context, call *Call, refusal error) error {
	s, tool := call.sender, target.tool
	if s.Current.IsSuperseded(tool.Conf, tool.Child) {
		return configuration.ErrSuperseded
	}
	if st := s.Offering.ChildStatus(tool.Child); st.Listed || !errors.As(refusal, new(*schema.Error)) {
		return refusal
	}
	lease, err := s.Acquire(ctx, tool.Conf, tool.Child)
	switch {
	case errors.Is(err, configuration.ErrSuperseded):
		return err
	case err != nil:
		return refusal
	}
	defer lease.Release()
	if err := target.checkDefinition(call, lease); err != nil {
		return err
	}
	return refusal
}

// setArguments returns the request of a tools/call with the arguments that hub.json sets for the tool. What is judged and sent from
// then on are parts of it. With an error, which is a *fixed.GivenError, it is the request of the client.
func setArguments(m *jsonrpc.Message, tool offering.Tool) (*jsonrpc.Message, error) {
	if len(tool.Set) == 0 {
		return m, nil
	}
	args, err := tool.WithSet(m.Param("arguments"))
	if err != nil {
		return m, err
	}
	params := jsonrpc.AppendMembers([]byte{'{'}, m.Params, func(name string) bool { return name != "arguments" })
	params = append(jsonrpc.AppendMember(params, "arguments", args), '}')
	set := *m
	set.Params, set.Members = params, jsonrpc.MembersOf(params)
	return &set, nil
}
