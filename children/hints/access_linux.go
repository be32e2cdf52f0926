package hints

import (
	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
)

// may reports whether the user of this process may do that at a path, without a sandbox.
func may(path string, a sandbox.Access) bool {
	mode := uint32(unix.R_OK)
	if a&sandbox.Write != 0 {
		mode = unix.W_OK
	}
	return unix.Access(path, mode) == nil
}
