//go:build !unix

package lines

import "io"

// newRawWriter finds no way to write without blocking here.
func newRawWriter(io.Writer) rawWriter { return nil }
