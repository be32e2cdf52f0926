package proctree

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Usage is what one process takes of the machine.
type Usage struct {
	Memory  int64 // bytes, the ones that are swapped out too
	Threads int
}

// Usage returns what the process takes. Memory that it shares with others counts in full. Of a
// process that has ended it is nothing.
func (p Process) Usage() Usage {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/status")
	if err != nil {
		return Usage{}
	}
	threads, _ := readField(raw, "Threads")
	return Usage{Memory: kibBytes(raw, "VmRSS") + kibBytes(raw, "VmSwap"), Threads: threads}
}

// ProportionalMemory returns the bytes that the process takes where each that it shares with others
// counts by its part. The kernel looks at every page for it. The error is that this process
// may not be looked into.
func (p Process) ProportionalMemory() (int64, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/smaps_rollup")
	if err != nil {
		return 0, err
	}
	return kibBytes(raw, "Pss") + kibBytes(raw, "SwapPss"), nil
}

// kibBytes returns a line such as "VmRSS: 1234 kB", in bytes.
func kibBytes(raw []byte, name string) int64 {
	_, rest, _ := bytes.Cut(raw, []byte("\n"+name+":"))
	n := int64(0)
	_, _ = fmt.Sscan(string(rest[:min(len(rest), 32)]), &n)
	return n << 10
}

// Written returns how many bytes a process and the ones that it has started have written, to files and to each other. Processes that may
// not be looked into count nothing.
func Written(pid int) (n int64) {
	dir := "/proc/" + strconv.Itoa(pid)
	raw, err := os.ReadFile(dir + "/io")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(raw, []byte("\nwchar: "))
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ = strconv.ParseInt(string(text), 10, 64)
	below, _ := os.ReadFile(dir + "/task/" + strconv.Itoa(pid) + "/children")
	for _, child := range bytes.Fields(below) {
		if pid, err := strconv.Atoi(string(child)); err == nil {
			n += Written(pid)
		}
	}
	return n
}
