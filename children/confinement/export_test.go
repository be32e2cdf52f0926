package confinement

import (
	"mcphub/children/consent"
	"mcphub/children/sandbox"
)

// What the tests see and change, which plan whole starts from outside of the package.

const (
	MemoryName = memoryName
	MaxMemory  = maxMemory
)

// WithKernel returns the host with another kernel.
func (h Host) WithKernel(k sandbox.Kernel) Host {
	h.kernel = func() sandbox.Kernel { return k }
	return h
}

// WithSystemGit returns the host with another configuration of git of the system.
func (h Host) WithSystemGit(path string) Host {
	h.git = path
	return h
}

// WithEnviron returns the host with another environment.
func (h Host) WithEnviron(environ ...string) Host {
	h.environ = environ
	return h
}

// Anew returns the host as another hub has it, which reads what the first has remembered.
func (h Host) Anew() Host {
	h.memory = newMemory(h.stateFolder())
	return h
}

// Forgetful returns the host without what it remembered before, and no one else knows what it does.
func (h Host) Forgetful() Host {
	h.memory = newMemory("")
	return h
}

// Store returns the store of what persons have accepted.
func (h Host) Store() *consent.Store { return h.memory.consent }

// ForRoots returns the host with these roots, and with places that the policy withholds.
func (h Host) ForRoots(roots []string, withheld ...string) Host {
	h.boundary.Roots, h.boundary.Withheld = roots, withheld
	return h
}
