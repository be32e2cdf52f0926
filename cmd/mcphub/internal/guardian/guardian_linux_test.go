package guardian

import (
	"os"
	"os/exec"
	"testing"
)

func TestGuarded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"serve"}, true},
		{[]string{"serve", "--config", "x"}, true},
		{[]string{"--log", "debug", "serve"}, true},
		{[]string{"call", "get-roots"}, true},
		{[]string{"explain", "x"}, true},
		{[]string{"demo"}, true},
		{[]string{"tools", "git"}, true},
		{[]string{"warm", "--root", "."}, true},
		{[]string{"add", "fs", "--", "server"}, true},
		{[]string{"import", "cursor"}, true},
		{[]string{"init"}, true},
		{nil, false},
		{[]string{"files"}, false},
		{[]string{"files", "serve"}, false}, // a directory of that name
		{[]string{"validate", "call"}, false},
		{[]string{"roots", "--count"}, false},
		{[]string{"reload"}, false},
		{[]string{"reload", "serve"}, false},
		{[]string{"--help", "serve"}, false},
		{[]string{"serves"}, false},
	} {
		if got := isGuarded(append([]string{"/usr/bin/mcphub"}, c.args...)); got != c.want {
			t.Errorf("%q: %v, want %v", c.args, got, c.want)
		}
		if isGuarded(append([]string{"/tmp/mcphub.test"}, c.args...)) {
			t.Errorf("%q: a test binary is guarded", c.args)
		}
	}
}

// A hub of another program than its guardian is told.
func TestRunsOwnProgram(t *testing.T) {
	t.Parallel()
	if !runsOwnProgram(os.Getpid()) {
		t.Error("this process runs another program than it does")
	}
	other := exec.CommandContext(t.Context(), "sh", "-c", "read line")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if runsOwnProgram(other.Process.Pid) {
		t.Error("sh is this program")
	}
	_ = in.Close()
	_ = other.Wait() // read fails at the end of its input
}

// Only what surely equals its file may be given back.
func TestCleanMappings(t *testing.T) {
	t.Parallel()
	const smaps = `00400000-00876000 r-xp 00000000 fe:00 998 /usr/bin/mcphub
Size:               4568 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00876000-00d27000 r--p 00476000 fe:00 998 /usr/bin/my hub
Anonymous:             4 kB
00d27000-00da0000 rw-p 00927000 fe:00 998 /usr/bin/mcphub
Anonymous:             0 kB
00da0000-02de4000 r--p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r--s 00000000 fe:00 12 /etc/shared
Anonymous:             0 kB
7f0000001000-7f0000002000 r--p 00000000 00:00 0 [vvar]
Anonymous:             0 kB
7f0000003000-7f0000004000 r--p 00001000 fe:00 13 /lib/libc.so.6
Anonymous:             0 kB
`
	got := cleanMappings([]byte(smaps))
	want := []mapping{{0x400000, 0x876000}, {0x7f0000003000, 0x7f0000004000}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%x, want %x", got, want)
	}
	own, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	if len(cleanMappings(own)) == 0 {
		t.Error("of this program nothing could be given back")
	}
	GiveBack() // and life goes on
	if len(cleanMappings(own)) == 0 {
		t.Error("the program has changed")
	}
}
