package main

import "testing"

// TestBuildingCommandsIsCheap: every start builds all commands, of which it runs one. What they need from the disk and from
// the build is looked for by the one that needs it.
func TestBuildingCommandsIsCheap(t *testing.T) {
	const most = 1_750 // nearly all of them flags and their commands
	if n := testing.AllocsPerRun(10, func() { rootCommand() }); n > most {
		t.Errorf("%.0f allocations, want at most %d", n, most)
	}
}
