//go:build unix

package confinement

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAPipeIsNoScript: a pipe instead of a script, which no one writes to, keeps no one who
// looks for its interpreter.
func TestAPipeIsNoScript(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.sh")
	if err := unix.Mkfifo(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if words := interpreterWords(path); words != nil {
		t.Errorf("%q", words)
	}
}
