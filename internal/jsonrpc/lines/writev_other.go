//go:build unix && !linux && !darwin && !openbsd

package lines

// writeParts writes the first part only: who calls it goes on with the rest.
func (d *descriptor) writeParts(fd int, parts [][]byte) (int, error) {
	return d.out.Write(fd, parts[0])
}
