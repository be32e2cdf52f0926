package lines

import (
	"math/bits"
	"sync"
)

const (
	minPooled = 17 // 128 KiB
	maxPooled = 24 // 16 MiB
)

// A Buffer is a large piece of memory that is used again.
type Buffer struct{ b []byte }

var pools [maxPooled + 1]sync.Pool

// newBuffer returns a Buffer of at least n bytes.
func newBuffer(n int) *Buffer {
	class := max(bits.Len(uint(n-1)), minPooled)
	if class > maxPooled {
		return &Buffer{make([]byte, n)}
	}
	if b, ok := pools[class].Get().(*Buffer); ok {
		return b
	}
	return &Buffer{make([]byte, 1<<class)}
}

// Release gives the memory back for reuse. Nothing may touch it afterwards.
func (b *Buffer) Release() {
	class := bits.Len(uint(len(b.b) - 1))
	if class >= minPooled && class <= maxPooled && len(b.b) == 1<<class {
		pools[class].Put(b)
	}
}
