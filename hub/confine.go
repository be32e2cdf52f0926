package hub

import "mcphub/children/sandbox"

// This file is about the kernel, which holds a child to the boundary of its calls.

// kernelReport says how far the kernel holds a child. It is JSON; all are left out of a
// child that is not to be confined.
type kernelReport struct {
	Kernel string   `json:"kernel,omitempty"`        // held, partial or none
	Lacks  []string `json:"kernelLacks,omitempty"`   // what it does not hold, and why
	Gives  []string `json:"kernelProfile,omitempty"` // what is opened to it because its server is known
}

func reportKernel(r sandbox.Report) kernelReport {
	if r.Mode == sandbox.Off {
		return kernelReport{}
	}
	return kernelReport{Kernel: r.State.String(), Lacks: r.Lacks, Gives: r.Gives}
}
