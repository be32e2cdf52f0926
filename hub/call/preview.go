package call

import (
	"cmp"
	"context"

	"mcphub/children/sandbox"
	"mcphub/hub/approval"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// A Preview is what would become of a call of a tool.
type Preview struct {
	Tool      offering.Tool // as it is judged
	Verdict   *validate.Verdict
	RootsView rootsmgr.RootsView
	Cwd       string   // of the child
	Served    []string // the directories that it works with, as far as that is known
	Approval  approval.Explanation
	Kernel    sandbox.Report    // what it holds of the child; the zero Report if that does not run
	Closed    []sandbox.Refusal // what the kernel would refuse; At is the pointer of the finding
	Refusal   string            // what the client would be told; "" if the call would be made
	Named     string            // the path that the entry of the child names, and that the denied one is or lies in; "" for none
}

// PreviewCall judges a call of a tool as Call.JudgeAndSend does, and does not make it. An error is
// one of validate, or reports why the call could not be judged.
func (s *Sender) PreviewCall(ctx context.Context, tool offering.Tool, args []byte) (*Preview, error) {
	args, setArgumentErr := tool.WithSet(args)
	t := &toolTarget{listed: tool, tool: tool, args: args, setArgumentErr: setArgumentErr}
	call := &Call{sender: s, target: t}
	att, err := call.judgeWithRetries(ctx)
	if err != nil {
		return nil, err
	}
	defer att.lease.Release()
	preview := &Preview{Tool: t.tool, Verdict: att.verdict, RootsView: *att.relevantRoots(), Approval: s.Approvals.Explain(call.approvalRequest(), att.approvalJudgement())}
	preview.Cwd, preview.Served = att.findWorkplace()
	if att.lease != nil {
		preview.Kernel = att.lease.KernelReport()
		preview.Closed = att.closedPaths()
	}
	if att.verdict.Decision == policy.Escalate {
		att.whyUnapproved = cmp.Or(preview.Approval.Unasked, approval.WhyDeclined)
	}
	if !att.isAllowed() {
		preview.Refusal, preview.Named = att.denialText(""), att.entryName()
	}
	return preview, nil
}

// closedPaths returns what a call names and the kernel does not open to its child.
func (att *attempt) closedPaths() (refusals []sandbox.Refusal) {
	if att.lease.StderrHints() == nil {
		return nil
	}
	for i := range att.verdict.Findings {
		f := &att.verdict.Findings[i]
		access := configuration.AccessOf(policy.Roles(f.Role)) &^ sandbox.Execute
		if c, ok := att.lease.StderrHints().Closes(f.Target, access); ok {
			c.At, c.Path = f.Pointer, f.Target
			refusals = append(refusals, c)
		}
	}
	return refusals
}
