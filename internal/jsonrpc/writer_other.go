//go:build !unix

package jsonrpc

import "io"

// newTryWriter finds no way to write without blocking here.
func newTryWriter(io.Writer) tryWriter { return nil }
