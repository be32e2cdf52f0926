//go:build linux || darwin || openbsd

package lines

import (
	"golang.org/x/sys/unix"

	"mcphub/internal/rawio"
)

func writeParts(fd int, parts [][]byte) (int, error) {
	if len(parts) == 1 {
		return rawio.Write(fd, parts[0])
	}
	return unix.Writev(fd, parts)
}
