package hub

import "mcphub/children/sandbox"

// This file is about the kernel, which holds a child to the boundary of its calls.

// kernelReport says how far the kernel holds a child. It is JSON; both are left out of a
// child that is not to be confined.
type kernelReport struct {
	Kernel string   `json:"kernel,omitempty"`      // held, partial or none
	Lacks  []string `json:"kernelLacks,omitempty"` // what it does not hold, and why
}

func reportKernel(r sandbox.Report) kernelReport {
	if r.Mode == sandbox.Off {
		return kernelReport{}
	}
	return kernelReport{Kernel: r.State.String(), Lacks: r.Lacks}
}
