package world

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
)

// Process is one line of the process table.
type Process struct {
	PID, parent int
	state       byte // of /proc/PID/stat: Z is a zombie
	Command     string
}

func (p Process) String() string { return fmt.Sprintf("%d %q", p.PID, p.Command) }

// processes lists what runs. Only Linux says whose environment holds what; elsewhere there is nothing to see.
func processes() ([]Process, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if errors.Is(err, os.ErrNotExist) || err != nil && strings.Contains(err.Error(), "no such process") {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		var p Process
		p.PID, _ = strconv.Atoi(filepath.Base(dir))
		// "pid (name) state ppid ...": the name may hold anything, so count from its end.
		if rest := stat[bytes.LastIndexByte(stat, ')')+1:]; len(rest) > 2 {
			_, _ = fmt.Sscanf(string(rest), " %c %d", &p.state, &p.parent)
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p.Command = string(bytes.ReplaceAll(bytes.TrimRight(command, "\x00"), []byte{0}, []byte(" ")))
		all = append(all, p)
	}
	return all, nil
}

// Marked gives the live processes whose environment holds mark.
func Marked(t testing.TB, mark string) []Process {
	t.Helper()
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	var found []Process
	for _, p := range all {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		// A zombie's environment is gone, and so is a process that another user owns.
		if err == nil && p.state != 'Z' && bytes.Contains(env, []byte(mark)) {
			found = append(found, p)
		}
	}
	return found
}

// Tree gives who descends from a process, itself first.
func Tree(t testing.TB, root int) []Process {
	t.Helper()
	all, err := processes()
	Must(t, err)
	var found []Process
	for _, p := range all {
		if p.PID == root {
			found = append(found, p)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, p := range all {
			if p.parent == found[i].PID && p.PID != p.parent {
				found = append(found, p)
			}
		}
	}
	return found
}

// Zombies gives those below root who have ended and whom no one has waited for.
func Zombies(t testing.TB, root int) []Process {
	t.Helper()
	return slices.DeleteFunc(Tree(t, root), func(p Process) bool { return p.state != 'Z' || p.PID == root })
}

// WantNone fails when a process with the mark is left. The kernel takes a moment to remove what was killed, and tells no one
// when it has: hence the short look again and again.
func WantNone(t testing.TB, mark string) {
	t.Helper()
	var left []Process
	if !Within(WaitLimit, func() bool { left = Marked(t, mark); return len(left) == 0 }) {
		t.Errorf("left over: %v", left)
		for _, p := range left {
			if found, err := os.FindProcess(p.PID); err == nil {
				_ = found.Kill()
			}
		}
	}
}

// EachFile gives every regular file below dir with what it holds, but for the ones that a running program takes away meanwhile.
func EachFile(t testing.TB, dir string, each func(path string, text []byte)) {
	t.Helper()
	Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var text []byte
			if text, err = os.ReadFile(path); err == nil {
				each(path, text)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
}

// Within looks again and again until ok, at most that long.
func Within(atMost time.Duration, ok func() bool) bool { return bounds.Within(atMost, ok) }
