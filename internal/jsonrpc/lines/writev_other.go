//go:build unix && !linux && !darwin && !openbsd

package lines

import "mcphub/internal/rawio"

// writeParts writes the first part only: who calls it goes on with the rest.
func writeParts(fd int, parts [][]byte) (int, error) { return rawio.Write(fd, parts[0]) }
