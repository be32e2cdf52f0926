package world

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// FirstLines begin a session.
const FirstLines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"victim","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// HubProper gives the process of the hub below its guardian; 0 while there is none.
func HubProper(t testing.TB, guardian int) int {
	t.Helper()
	for _, p := range Tree(t, guardian) {
		if p.parent == guardian && p.state != 'Z' && strings.Contains(p.Command, "serve") {
			return p.PID
		}
	}
	return 0
}

// Canary begins every secret of the tests below.
const Canary = "c4nary-"

// MemoryHas looks for a secret in all memory of a process.
func MemoryHas(pid int, secret func(text string) bool) (bool, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return false, err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return false, err
	}
	defer mem.Close()
	const step = 1 << 20
	buf := make([]byte, step+64) // a secret may lie across two pieces
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var may string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &may); n != 3 || !strings.HasPrefix(may, "rw") {
			continue
		}
		for at := from; at < to; at += step {
			n, _ := mem.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
			if secret(string(buf[:n])) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Memory returns the memory of processes, of what they share each with its part, in KiB.
func Memory(t testing.TB, all ...Process) (sum int) {
	t.Helper()
	for _, p := range all {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.PID))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(raw), "\nPss:")
		var n int
		_, err = fmt.Sscan(rest, &n)
		Must(t, err)
		sum += n
	}
	return sum
}
