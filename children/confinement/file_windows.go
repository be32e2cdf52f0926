package confinement

import (
	"io/fs"
	"os"

	"mcphub/rootsmgr/guard"
)

// isProgram reports whether path is a regular file, or a name that Windows runs a program of its store by. Such a name is
// a reparse point that opens nothing: only what starts a process follows it.
func isProgram(path string) bool {
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
		return true
	}
	mode, err := guard.OS{}.Mode(path)
	return err == nil && mode.IsRegular()
}

// isOwn returns false: nothing is confined here, so no one needs to know.
func isOwn(fs.FileInfo) bool { return false }
