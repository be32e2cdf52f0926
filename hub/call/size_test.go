package call

import (
	"testing"
	"unsafe"
)

// TestACallIsSmall: each relayed call allocates one fastCall. The allocator has sizes, and the next one after this is a tenth larger.
func TestACallIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(fastCall{}); size > 640 {
		t.Errorf("a fastCall has %d bytes, want at most 640", size)
	}
}
