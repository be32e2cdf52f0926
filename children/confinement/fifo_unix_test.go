//go:build unix

package confinement

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
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
	if f := openRegular(path); f != nil {
		_ = f.Close()
		t.Error("it is opened")
	}
}

// A program is a regular file that may be executed.
func TestWhatIsAProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"run": 0o700, "read": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"run": true, "read": false, "gone": false, ".": false} {
		if got := isProgram(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A folder is the user's own if it is, or the one above it that is there, and no one else may write to it.
func TestWhatIsTheUsers(t *testing.T) {
	h, at := smallHost(t, map[string]string{"own/x": "", "open/x": "", "to/open": "-> open"})
	if err := os.Chmod(at("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	n := naming{h: h}
	for name, want := range map[string]bool{"own": true, "own/gone/x": true, "open": false, "open/gone": false, "to/open": true} {
		if got := n.isUsers(at(name)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A program behind a launcher is led by what children could have put there if they could have put it there, or if it is not found.
func TestAPlantedProgramBehindALauncher(t *testing.T) {
	h, at := smallHost(t, map[string]string{"w/tool": "", "bin/tool": ""})
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("w"), all)}
	child := Child{Env: program.Inherited([]string{"PATH=" + at("bin")}, nil, "linux"), Program: program.Program{Command: "/usr/bin/env"}}
	for inner, want := range map[string]bool{at("bin/tool"): false, "tool": false, at("w/tool"): true, "gone": true} {
		if got := h.isLedByPlanted(child, &commandline.Started{Command: inner, At: commandline.Nowhere}); got != want {
			t.Errorf("%s: %t", inner, got)
		}
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
