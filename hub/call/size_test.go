package call

import (
	"testing"
	"unsafe"
)

// TestACallIsSmall: each relayed call allocates one asyncCall. The allocator has sizes, and the next one after this is a tenth larger.
func TestACallIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(asyncCall{}); size > 640 {
		t.Errorf("an asyncCall has %d bytes, want at most 640", size)
	}
}
