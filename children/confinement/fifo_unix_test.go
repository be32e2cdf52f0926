//go:build unix

package confinement

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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

// A file whose owner is not known, or is another user, is not ours.
func TestWhoseAFileIs(t *testing.T) {
	t.Parallel()
	fi, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	us := uint32(os.Geteuid())
	for _, tc := range []struct {
		fi   fs.FileInfo
		want bool
	}{{fi, true}, {owned{fi, &syscall.Stat_t{Uid: us}}, true}, {owned{fi, &syscall.Stat_t{Uid: us + 1}}, false}, {owned{fi, nil}, false}} {
		if got := isOwn(tc.fi); got != tc.want {
			t.Errorf("%+v: %t", tc.fi.Sys(), got)
		}
	}
}

// owned is a file with another owner.
type owned struct {
	fs.FileInfo
	sys any
}

func (o owned) Sys() any { return o.sys }
