package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const v2 = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/hub.service\n"
	for _, c := range []struct{ name, own, mounts, want string }{
		{"systemd", v2, "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n", "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/hub.service"},
		{"a container", "0::/\n", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup rw\n", "/sys/fs/cgroup"},
		{"a part is mounted", "0::/docker/abc/x\n", "30 24 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "/sys/fs/cgroup/x"},
		{"beside version 1", "12:pids:/a\n4:memory:/b\n0::/c\n", "30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 24 0:27 / /a\\040b rw - cgroup2 cgroup rw\n", "/a b/c"},
		{"another part is mounted", "0::/docker/abcd\n", "30 24 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n", ""},
		{"outside of the namespace", "0::/../x\n", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", ""},
		{"version 1 alone", "4:memory:/b\n", "30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", ""},
		{"not mounted", "0::/\n", "24 1 0:22 / / rw - ext4 /dev/sda rw\n", ""},
	} {
		got, err := findFolder(c.own, c.mounts)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

// What systemd manages is left alone if it has not delegated it.
func TestNotDelegated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hub.service")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkDelegated(dir); err == nil || !strings.Contains(err.Error(), "Delegate=yes") {
		t.Error(err)
	}
	if err := checkDelegated(filepath.Dir(dir)); err != nil {
		t.Error(err)
	}
}

// A group in which others are is not divided, and no one is moved.
func TestNotOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.procs": "1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := prepareTree(dir, os.Getpid(), os.Getppid()); err == nil || !strings.Contains(err.Error(), "process 1 is in it too") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, hubName)); left != nil {
		t.Error(left)
	}
}

// Where this process may divide its control group: what a Group counts, and that none of it
// is left. Package children/process has the bombs.
func TestGroup(t *testing.T) {
	t.Parallel()
	tree, err := OpenDelegated()
	if err != nil {
		t.Log(err)
		return
	}
	g, err := tree.New(Bounds{Memory: 64 << 20, Processes: 20})
	if err != nil {
		t.Fatal(err)
	}
	if memory, processes := g.Exceeded(); memory || processes {
		t.Error("nobody is in it")
	}
	text, _ := os.ReadFile(filepath.Join(g.path, "memory.max"))
	if strings.TrimSpace(string(text)) != "67108864" {
		t.Errorf("%q", text)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(g.path); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestWhoseBoundRefusedAProcess: that of a group above is not this one's, whatever a kernel counts where. The files are as kernels
// before and since Linux 6.11 write them.
func TestWhoseBoundRefusedAProcess(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"nothing was refused", map[string]string{"pids.events": "max 0\n", "pids.events.local": "max 0\n", "pids.max": "20\n", "pids.peak": "20\n"}, false},
		{"by this bound", map[string]string{"pids.events": "max 3\n", "pids.events.local": "max 3\n", "pids.max": "20\n"}, true},
		{"by one that the server has set below", map[string]string{"pids.events": "max 3\n", "pids.events.local": "max 0\n", "pids.max": "20\n"}, false},
		{"before, by this bound", map[string]string{"pids.events": "max 3\n", "pids.max": "20\n", "pids.peak": "20\n"}, true},
		{"before, by one above", map[string]string{"pids.events": "max 3\n", "pids.max": "20\n", "pids.peak": "7\n"}, false},
		{"before, without a bound here", map[string]string{"pids.events": "max 3\n", "pids.max": "max\n", "pids.peak": "7\n"}, false},
		{"before the peak was kept", map[string]string{"pids.events": "max 3\n", "pids.max": "20\n"}, true},
		{"no such controller", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &Group{path: t.TempDir()}
			for name, text := range tc.files {
				if err := os.WriteFile(filepath.Join(g.path, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, got := g.Exceeded(); got != tc.want {
				t.Errorf("exceeded: %v", got)
			}
		})
	}
}

// Who has no bounds of its own has the ones that the controllers can hold, and what it swaps out does not count.
func TestDefault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ controllers []string }{{nil}, {[]string{memory}}, {[]string{pids}}, {[]string{memory, pids}}} {
		tree := &Tree{controllers: tc.controllers}
		got := tree.Default()
		holdsMemory, holdsProcesses := slices.Contains(tc.controllers, memory), slices.Contains(tc.controllers, pids)
		if (got.Memory > 0) != holdsMemory || got.Swaps != holdsMemory || (got.Processes == 4096) != holdsProcesses || !holdsProcesses && got.Processes != 0 {
			t.Errorf("%v: %+v", tc.controllers, got)
		}
		text, err := os.ReadFile("/proc/meminfo")
		if err != nil {
			t.Fatal(err)
		}
		var all int64
		if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &all); err != nil {
			t.Fatal(err)
		}
		if holdsMemory && got.Memory>>20 != all>>11 {
			t.Errorf("%d MiB of %d", got.Memory>>20, all>>10)
		}
	}
}
