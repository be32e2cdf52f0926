package process

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// BenchmarkStart starts a program and waits for its end: free, confined, and what is
// planned for that.
func BenchmarkStart(b *testing.B) {
	prog := program.Program{Command: "/bin/true", Cwd: "/"}
	confined := prog
	confined.Sandbox = sandbox.Settings{Mode: sandbox.Auto, Network: sandbox.Network{On: true}}
	machine := launch.NewMachine(os.Environ(), "", "").WithBoundary(sandbox.Boundary{Areas: []sandbox.Rule{{Path: os.TempDir(), Access: sandbox.Read}}})
	for name, p := range map[string]program.Program{"free": prog, "confined": confined} {
		l, err := launch.Plan(p, nil, machine)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/start", func(b *testing.B) {
			for b.Loop() {
				proc, err := startProcess(l, zerolog.Nop())
				if err != nil {
					b.Fatal(err)
				}
				<-proc.ended
				proc.drainStderr()
			}
		})
		b.Run(name+"/plan", func(b *testing.B) {
			for b.Loop() {
				if _, err := launch.Plan(p, nil, machine); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMemory reports what one child takes, free and confined: of the hub's memory,
// of its own, and of the kernel's (which others on the machine take too).
func BenchmarkMemory(b *testing.B) {
	// kib adds up the lines of a file that begin so.
	kib := func(path, line string) (sum int) {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		for l := range strings.Lines(string(text)) {
			n := 0
			_, _ = fmt.Sscanf(l, line+": %d", &n)
			sum += n
		}
		return sum
	}
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Auto} {
		b.Run(mode.String(), func(b *testing.B) {
			p := program.Program{Command: "/bin/cat", Cwd: "/", Sandbox: sandbox.Settings{Mode: mode, Network: sandbox.Network{On: true}}}
			l, err := launch.Plan(p, nil, launch.NewMachine(os.Environ(), "", "").WithBoundary(sandbox.Boundary{Areas: []sandbox.Rule{{Path: os.TempDir(), Access: sandbox.Read}}}))
			if err != nil {
				b.Fatal(err)
			}
			const many = 100
			for b.Loop() {
				hub, kernel, own := kib("/proc/self/status", "VmRSS"), kib("/proc/meminfo", "Slab"), 0
				var all []*process
				for range many {
					proc, err := startProcess(l, zerolog.Nop())
					if err != nil {
						b.Fatal(err)
					}
					all = append(all, proc)
					own += kib(fmt.Sprintf("/proc/%d/smaps_rollup", proc.pid), "Private_Dirty")
				}
				b.ReportMetric(float64(kib("/proc/self/status", "VmRSS")-hub)/many, "hub-KiB/child")
				b.ReportMetric(float64(kib("/proc/meminfo", "Slab")-kernel)/many, "kernel-KiB/child")
				b.ReportMetric(float64(own)/many, "own-KiB/child")
				for _, proc := range all {
					_ = proc.stdin.Close()
					<-proc.ended
					proc.drainStderr()
				}
			}
		})
	}
}
