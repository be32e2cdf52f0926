package hints

import (
	"fmt"
	"path/filepath"
	"testing"

	"mcphub/children/sandbox"
)

// A shell names itself before what it was refused, also in the text of a program that runs it. What it was refused is told, and not the shell.
func TestWhatAShellWasRefusedIsTold(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "out/bin/gh")
	r := d.reader()
	gh := filepath.Join(d.top, "out", "bin", "gh")
	for _, text := range []string{"/bin/sh: 1: %s: Permission denied", "RuntimeError: /bin/sh: 1: %s: Permission denied", "Error: Command failed: gh issue list\n/bin/sh: line 1: %s: Permission denied",
		"exit status 126: /usr/bin/bash: line 1: %s: Permission denied", "2026/01/02 03:04:05 sh: /bin/sh: 3: cannot open %s: Permission denied", "RuntimeError: /usr/bin/env: '%s': Permission denied"} {
		said := fmt.Sprintf(text, gh)
		f, ok := r.ReadResponse(said, nil, false)
		if !ok || !sandbox.Contains(f.Path, gh) {
			t.Errorf("%q: %+v, %t", said, f, ok)
		}
	}
	for _, text := range []string{"RuntimeError: %s: 3: Permission denied", "cat: %s: Permission denied", "x: %s: refused: permission denied"} { // the controls: it says so of itself
		said := fmt.Sprintf(text, gh)
		if f, ok := r.ReadResponse(said, nil, false); !ok || f.Path != gh {
			t.Errorf("%q: %+v, %t", said, f, ok)
		}
	}
}
