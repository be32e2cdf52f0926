//go:build !linux

package consent

import "path/filepath"

const sticky = 0

// placeOf returns where the Store of a folder of state lies: in it, as nothing here
// holds a server to its roots.
func placeOf(state, _ string) (dir, closed string) {
	dir = filepath.Join(state, "consent")
	return dir, dir
}
