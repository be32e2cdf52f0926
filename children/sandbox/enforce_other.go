//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"os"
	"runtime"
)

var errNone = errors.New("on " + runtime.GOOS + " the kernel is not asked to hold anything")

func landlockVersion() (int, error) { return 0, errNone }

// Look is nothing here: no kernel enforcement.
func Look(func() (int, error)) Kernel { return Kernel{Why: errNone.Error()} }

// lookAt tells only whether something has a name, which ends with NUL.
func lookAt(name []byte) inode {
	if _, err := os.Lstat(string(name[:len(name)-1])); err != nil {
		return inode{}
	}
	return inode{number: 1}
}

// MayUse says yes: nothing is confined here, so no answer depends on it.
func MayUse(string, Access) bool { return true }

// A Ruleset cannot be made here.
type Ruleset struct{}

// Prepare refuses.
func Prepare(Kernel, *Profile, bool) (*Ruleset, error) { return nil, errNone }

// Wrap returns argv itself: no Ruleset is made here.
func (*Ruleset) Wrap(argv []string) []string { return argv }

// Close does nothing.
func (*Ruleset) Close() {}

// End does nothing.
func (*Ruleset) End() {}

// Ruleset refuses.
func (r *Recorder) Ruleset(Kernel, *Profile) (*Ruleset, error) {
	return nil, r.refuseRecording(errNone)
}
