package call

import (
	"mcphub/children/hints"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/validate/policy"
)

// This file is about children that the kernel holds to the boundary of their calls.

// isHeldToRoots reports whether every call of a child has to wait for the roots that the
// client has announced, one without a path too: the kernel holds the child to them.
func isHeldToRoots(c *configuration.Child, from client.Client) bool {
	return c.Spec.Sandbox.Confines() && !from.SendsRoots()
}

// mustRecheckRoots reports whether every call of a child has to look whether its roots are
// still what the kernel holds it to: it is not known which of them the call touches.
func mustRecheckRoots(conf *configuration.Configuration, child string) bool {
	return conf.Child(child).Spec.Sandbox.Confines() && !conf.Checker.SearchesChild(child)
}

// confinementError returns an error if the call is allowed but the kernel does not open its paths to the
// running server, and the entry states that the server is not restarted for that.
func (att *attempt) confinementError() error {
	if att.lease == nil || !att.lease.KeepsRunning() || att.verdict.Decision != policy.Allow {
		return nil
	}
	for i := range att.verdict.Findings {
		f := &att.verdict.Findings[i]
		if f.Target == "" || att.lease.OpensPath(f.Target, configuration.AccessOf(policy.Roles(f.Role))) {
			continue
		}
		if att.call.onFastPath { // it is recorded
			return errWouldBlock
		}
		told := sandbox.Refusal{Path: f.Target, Access: configuration.AccessOf(policy.Roles(f.Role)), By: sandbox.ByCall, KeepsRunning: true}
		_, dirs := att.lease.Workplace()
		att.call.sender.Records.RecordKernelRefusal(att.call.target.recordSubject(), told, dirs)
		return &run.UnavailableError{Child: att.child, Reason: hints.Text(told)}
	}
	return nil
}
