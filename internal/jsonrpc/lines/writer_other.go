//go:build !unix

package lines

import (
	"io"

	"mcphub/internal/kept"
)

// newRawWriter finds no way to write without blocking here.
func newRawWriter(io.Writer) rawWriter { return nil }

func newKeptWriter(io.Writer, *kept.Memory) rawWriter { return nil }
