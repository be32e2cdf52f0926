package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is one line of the process table.
type process struct {
	pid, parent int
	state       byte // of /proc/PID/stat: Z is a zombie
	command     string
}

func (p process) String() string { return fmt.Sprintf("%d %q", p.pid, p.command) }

// processes lists what runs. Only Linux says whose environment holds what; elsewhere there is nothing to see.
func processes() ([]process, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var all []process
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if errors.Is(err, os.ErrNotExist) || err != nil && strings.Contains(err.Error(), "no such process") {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		var p process
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		// "pid (name) state ppid ...": the name may hold anything, so count from its end.
		if rest := stat[bytes.LastIndexByte(stat, ')')+1:]; len(rest) > 2 {
			_, _ = fmt.Sscanf(string(rest), " %c %d", &p.state, &p.parent)
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p.command = string(bytes.ReplaceAll(bytes.TrimRight(command, "\x00"), []byte{0}, []byte(" ")))
		all = append(all, p)
	}
	return all, nil
}

// marked gives the live processes whose environment holds mark.
func marked(t testing.TB, mark string) []process {
	t.Helper()
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, p := range all {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		// A zombie's environment is gone, and so is a process that another user owns.
		if err == nil && p.state != 'Z' && bytes.Contains(env, []byte(mark)) {
			found = append(found, p)
		}
	}
	return found
}

// tree gives who descends from a process, itself first.
func tree(t testing.TB, root int) []process {
	t.Helper()
	all, err := processes()
	must(t, err)
	var found []process
	for _, p := range all {
		if p.pid == root {
			found = append(found, p)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, p := range all {
			if p.parent == found[i].pid && p.pid != p.parent {
				found = append(found, p)
			}
		}
	}
	return found
}

// zombies gives those below root who have ended and whom nobody has waited for.
func zombies(t testing.TB, root int) []process {
	t.Helper()
	return slices.DeleteFunc(tree(t, root), func(p process) bool { return p.state != 'Z' || p.pid == root })
}

// wantNone fails when a process with the mark is left. The kernel takes a moment to remove what was killed, and tells nobody
// when it has: hence the short look again and again.
func wantNone(t testing.TB, mark string) {
	t.Helper()
	var left []process
	if !within(500*time.Millisecond, func() bool { left = marked(t, mark); return len(left) == 0 }) {
		t.Errorf("left over: %v", left)
		for _, p := range left {
			if found, err := os.FindProcess(p.pid); err == nil {
				_ = found.Kill()
			}
		}
	}
}

// within looks again and again until ok, at most that long.
func within(atMost time.Duration, ok func() bool) bool {
	end := time.NewTimer(atMost)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			return ok()
		}
	}
	return true
}
