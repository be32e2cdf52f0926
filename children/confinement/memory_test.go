package confinement

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// An entry that names ever more fills its own share of the memory, and the names of other entries are remembered as before. Both hold for
// another hub, which reads the file.
func TestEachEntryHasAShareOfTheMemory(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	m := newMemory(state)
	long := strings.Repeat("x", 4000)
	var full error
	n := 0
	for ; full == nil && n < 1000; n++ {
		_, _, full = m.settled("hostile", fmt.Sprintf("/ws/%d", n), []string{"/ws/" + long}, true)
	}
	if !errors.Is(full, errOwnFull) || n < 50 || n > maxOwned/4000+1 {
		t.Fatalf("after %d names: %v", n, full)
	}
	for _, m := range []*memory{m, newMemory(state)} {
		if _, ok, err := m.settled("hostile", "/ws/0", []string{"/ws/" + long}, true); !ok || err != nil {
			t.Errorf("what it named before: %t %v", ok, err)
		}
		if _, ok, err := m.settled("hostile", "/ws/more", []string{"/ws/" + long}, true); ok || !errors.Is(err, errOwnFull) {
			t.Errorf("what it names besides: %t %v", ok, err)
		}
		if _, ok, err := m.settled("honest", "/home/"+fmt.Sprintf("%p", m), []string{"/home/x"}, true); !ok || err != nil {
			t.Errorf("another entry: %t %v", ok, err)
		}
	}
}
