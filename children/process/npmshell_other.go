//go:build !windows

package process

// RunNpmShell runs nothing: the script shell is a script here.
func RunNpmShell([]string) (status int, ok bool) { return 0, false }
