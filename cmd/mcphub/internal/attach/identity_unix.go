//go:build unix

package attach

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// noLink has a file opened that is no link, and waits for no one at the other end of one that is a pipe.
const noLink = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// fileIdentity tells this program's file from others, and from what an upgrade puts in its place.
func fileIdentity() (string, error) {
	path, err := os.Executable()
	if runtime.GOOS == "linux" {
		path, err = "/proc/self/exe", nil
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("%s cannot be told from others", path)
	}
	return fmt.Sprint(st.Dev, st.Ino, info.Size(), info.ModTime().UnixNano()), nil
}
