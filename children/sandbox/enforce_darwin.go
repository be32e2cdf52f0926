package sandbox

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"mcphub/children/sandbox/proof"
	"mcphub/children/sandbox/seatbelt"
)

var errNone = errors.New("macOS has no Landlock")

func landlockVersion() (int, error) { return 0, errNone }

// Look finds Seatbelt. It tries nothing before a caller asks what Seatbelt holds.
func Look(func() (int, error)) Kernel { return Kernel{Why: errNone.Error(), Seatbelt: proveOnce} }

// proveOnce has a process try to get out of the profile of a server with one root.
var proveOnce = sync.OnceValue(func() error {
	return proof.Run(func(in, program string) (string, error) {
		p := Profile{Rules: append(UserBase(), Rule{in, Read | Write | Execute}, Rule{program, Read | Execute}), Withheld: proof.Withheld(in), Network: Network{On: true}}
		var disk seatbelt.Disk
		return p.seatbeltText(disk.Find)
	})
})

// lookAt returns what has a name, which ends with NUL.
func lookAt(name []byte) inode {
	var st unix.Stat_t
	if err := unix.Lstat(string(name[:len(name)-1]), &st); err != nil {
		return inode{}
	}
	return inode{uint64(st.Dev), st.Ino}
}

// MayUse reports whether the user of this process may write at a path if a has Write, and else
// whether it may read there. What it may not do fails without a sandbox too.
func MayUse(path string, a Access) bool {
	mode := uint32(unix.R_OK)
	if a&Write != 0 {
		mode = unix.W_OK
	}
	return unix.Access(path, mode) == nil
}

// A Ruleset is a Profile in the language of Seatbelt.
type Ruleset struct{ text string }

// Prepare makes the Ruleset of a Profile. What is not there is left out. It fails if the language cannot hold a path.
func Prepare(_ Kernel, p *Profile, _ bool) (*Ruleset, error) {
	var disk seatbelt.Disk
	text, err := p.seatbeltText(disk.Find)
	if err != nil {
		return nil, err
	}
	return &Ruleset{text}, nil
}

// Wrap returns the command line that runs another one under the Ruleset, and all that it starts.
func (rules *Ruleset) Wrap(argv []string) []string {
	return append([]string{proof.SandboxExec, "-p", rules.text}, argv...)
}

// Close does nothing.
func (*Ruleset) Close() {}

// End does nothing.
func (*Ruleset) End() {}

// Ruleset refuses: Seatbelt does not report what it would have refused.
func (r *Recorder) Ruleset(Kernel, *Profile) (*Ruleset, error) {
	return nil, r.refuseRecording(errors.New("on macOS nothing is recorded"))
}
