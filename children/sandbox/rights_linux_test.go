package sandbox

import (
	"testing"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// TestNewerKernels: each version has the rights of those before, and one that is not
// known yet has the ones that are.
func TestNewerKernels(t *testing.T) {
	t.Parallel()
	for abi, want := range map[int]uint64{
		1: first, 2: first | landlock.AccessFSRefer, 3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 7: 1<<16 - 1, 8: 1<<16 - 1,
		9: 1<<17 - 1, 10: 1<<17 - 1, 11: 1<<17 - 1, 99: 1<<17 - 1,
	} {
		if got := (Kernel{ABI: abi}).handledRights(false); got != want {
			t.Errorf("ABI %d: %b, want %b", abi, got, want)
		}
	}
	if got := (Kernel{ABI: 9}).handledRights(true); got != 1<<16-1 {
		t.Errorf("with sockets on: %b", got)
	}
}
