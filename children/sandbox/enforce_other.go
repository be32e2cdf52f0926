//go:build !linux

package sandbox

import (
	"errors"
	"runtime"
)

var errNone = errors.New("on " + runtime.GOOS + " the kernel is not asked to hold anything")

func landlockVersion() (int, error) { return 0, errNone }

// Look is nothing here: no kernel enforcement.
func Look(func() (int, error)) Kernel { return Kernel{Why: errNone.Error()} }

// A Ruleset cannot be made here.
type Ruleset struct{}

// Prepare refuses.
func Prepare(Kernel, *Profile) (*Ruleset, error) { return nil, errNone }

// Enter refuses.
func (*Ruleset) Enter() error { return errNone }

// Close does nothing.
func (*Ruleset) Close() {}

// Ruleset refuses.
func (r *Recorder) Ruleset(*Profile) (*Ruleset, error) { return nil, r.refuse(errNone) }
