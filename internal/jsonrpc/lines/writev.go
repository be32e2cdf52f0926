//go:build linux || darwin || openbsd

package lines

import "golang.org/x/sys/unix"

func (d *descriptor) writeParts(fd int, parts [][]byte) (int, error) {
	if len(parts) == 1 {
		return d.out.Write(fd, parts[0])
	}
	return unix.Writev(fd, parts)
}
