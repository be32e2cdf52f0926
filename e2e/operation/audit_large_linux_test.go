package operation

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/recordtest"
	"mcphub/e2e/world"
)

// TestLargeRecord: what a command takes to read a record does not grow with it. In the long run it has 1,000,000 lines. One that
// keeps the decisions of 60,000 lines is over the bound on memory.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	lines := 60_000
	if world.Long {
		lines = 1_000_000
	}
	dir := w.Path("audit")
	world.Must(t, os.Mkdir(dir, 0o700))
	recordtest.Write(t, dir, recordtest.Shape{
		Lines: lines, PerFile: lines / 6, Began: time.Now().Add(-7 * 24 * time.Hour), Every: 7 * 24 * time.Hour / time.Duration(lines), Principals: 200, Sessions: 5000,
	})
	other := w.Path("other.json")
	world.Must(t, os.WriteFile(other, fmt.Appendf(nil, `{"audit":{"dir":%q},"mcpServers":{"files":{"command":"true"}}}`, dir), 0o600))
	for name, one := range map[string]struct {
		args  []string
		cpu   time.Duration // at most; 0: any
		least int           // lines that it prints
	}{
		"tail":          {[]string{"audit", "tail"}, time.Second / 2, 10},
		"the newest":    {[]string{"audit", "show", "-n", "20"}, time.Second / 2, 20},
		"an hour":       {[]string{"audit", "show", "--since", "1h"}, time.Second / 2, lines / 24 / 7 / 2},
		"one principal": {[]string{"audit", "show", "--principal", "p7", "--denied"}, time.Second / 2, 1},
		"export":        {[]string{"audit", "export"}, 0, lines / 2},
		"replay":        {[]string{"audit", "replay", "--policy", other}, 0, 1},
		"verify":        {[]string{"audit", "verify"}, 0, 2},
		"why":           {[]string{"why", "--all"}, 0, 2},
	} {
		var failed bytes.Buffer
		cmd := exec.Command(world.Hub(t), append(one.args, "--config", other)...)
		cmd.Env, cmd.Dir, cmd.Stderr = w.Env(), w.Home, &failed
		out, err := cmd.StdoutPipe()
		world.Must(t, err)
		world.Must(t, cmd.Start())
		got, memory := 0, 0
		for block := make([]byte, 1<<20); err == nil; { // the system reports how much the program holds while it runs
			var n int
			n, err = out.Read(block)
			got += bytes.Count(block[:n], []byte{'\n'})
			memory = max(memory, peakOf(cmd.Process.Pid))
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, failed.String())
		}
		took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.Logf("%s: %v of CPU, %d KiB", name, took, memory)
		if got < one.least {
			t.Errorf("%s: %d lines, want %d or more", name, got, one.least)
		}
		if memory > 64<<10 || name == "export" && memory == 0 {
			t.Errorf("%s: %d KiB of memory", name, memory)
		}
		if one.cpu > 0 && took > bounds.Of(one.cpu) {
			t.Errorf("%s: %v of CPU", name, took)
		}
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakOf returns the most memory that a process has held, in KiB; 0 if it has ended.
func peakOf(pid int) int {
	b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	found := peakLine.FindSubmatch(b)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}
