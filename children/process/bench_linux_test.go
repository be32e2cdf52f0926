package process

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/sandbox"
)

// BenchmarkStart starts a program and waits for its end: free, confined, and what is
// planned for that.
func BenchmarkStart(b *testing.B) {
	prog := launch.Program{Command: "/bin/true", Cwd: "/"}
	confined := prog
	confined.Sandbox = sandbox.Settings{Mode: sandbox.Auto, Network: sandbox.Network{On: true}}
	machine := launch.NewMachine(os.Environ(), "", "").Within(sandbox.Boundary{Areas: []sandbox.Rule{{Path: os.TempDir(), Access: sandbox.Read}}})
	for name, p := range map[string]launch.Program{"free": prog, "confined": confined} {
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

// BenchmarkMemory tells how much of the hub's memory one confined child takes.
func BenchmarkMemory(b *testing.B) {
	resident := func() (kib int) {
		text, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(text)) {
			_, _ = fmt.Sscanf(line, "VmRSS: %d", &kib)
		}
		return kib
	}
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Auto} {
		b.Run(mode.String(), func(b *testing.B) {
			p := launch.Program{Command: "/bin/cat", Cwd: "/", Sandbox: sandbox.Settings{Mode: mode, Network: sandbox.Network{On: true}}}
			l, err := launch.Plan(p, nil, launch.NewMachine(os.Environ(), "", ""))
			if err != nil {
				b.Fatal(err)
			}
			const many = 100
			for b.Loop() {
				before := resident()
				var all []*process
				for range many {
					proc, err := startProcess(l, zerolog.Nop())
					if err != nil {
						b.Fatal(err)
					}
					all = append(all, proc)
				}
				b.ReportMetric(float64(resident()-before)/many, "KiB/child")
				for _, proc := range all {
					_ = proc.stdin.Close()
					<-proc.ended
					proc.drainStderr()
				}
			}
		})
	}
}
