package jsonrpc

import (
	"math/bits"
	"sync"
)

const (
	minPooled = 17 // 128 KiB
	maxPooled = 24 // 16 MiB
)

// A buffer is a large piece of memory that is used again.
type buffer struct{ b []byte }

var pools [maxPooled + 1]sync.Pool

// newBuffer returns a buffer of at least n bytes.
func newBuffer(n int) *buffer {
	class := max(bits.Len(uint(n-1)), minPooled)
	if class > maxPooled {
		return &buffer{make([]byte, n)}
	}
	if b, ok := pools[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 1<<class)}
}

func (b *buffer) release() {
	class := bits.Len(uint(len(b.b) - 1))
	if class >= minPooled && class <= maxPooled && len(b.b) == 1<<class {
		pools[class].Put(b)
	}
}
