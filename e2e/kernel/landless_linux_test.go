package kernel

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// TestWithoutLandlockItIsTold: if the kernel has no Landlock, or a container forbids it, who starts a server reads once that
// nothing holds it, doctor says so and what the hub runs in, and what must be held does not start. The control is this kernel.
func TestWithoutLandlockItIsTold(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	if os.Geteuid() != 0 {
		needs.Missing(t, "only root can set a filter of system calls")
	}
	w := world.New(t)
	plain, required := obj{"command": world.Bin.Recorder}, obj{"command": world.Bin.Recorder, "sandbox": "required"}
	config := w.Config(obj{"kid": plain, "other": plain, "held": required})
	const nothing, inside = "no kernel enforcement here: ", "this is a devcontainer: the kernel of its host holds the servers"
	runs := func(filter []unix.SockFilter, env []string, args ...string) string {
		t.Helper()
		var said strings.Builder
		cmd := exec.Command(world.Hub(t), append(args, "--config", config)...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.Project, w.Env(env...), &said, &said
		world.Must(t, world.StartBehind(cmd, filter))
		_ = cmd.Wait() // the text tells
		return said.String()
	}
	for name, tc := range map[string]struct {
		filter []unix.SockFilter
		why    string
	}{
		"none":      {landlockFails(t, unix.ENOSYS), "this kernel has no Landlock (it came with Linux 5.13)"},
		"forbidden": {landlockFails(t, unix.EPERM), "a container may forbid it"},
		"this one":  {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, env := range [][]string{nil, {"REMOTE_CONTAINERS=true"}} {
				said := strings.Join(strings.Fields(runs(tc.filter, env, "doctor", "-v")), " ")
				if held := !strings.Contains(said, nothing) || !strings.Contains(said, tc.why); held != (tc.filter == nil) {
					t.Errorf("doctor says %s", said)
				}
				if there := strings.Contains(said, inside); there != (env != nil) || there && strings.Contains(said, "(Landlock ABI 0;") != (tc.filter != nil) {
					t.Errorf("%q: of what it runs in, doctor says %s", env, said)
				}
			}
			for _, tool := range []string{"kid__echo", "held__echo"} {
				said := runs(tc.filter, nil, "call", tool, "--args", `{"text":"hi"}`, "--root", w.Project, "--log-level", "info")
				works, held := strings.Contains(said, `{"text":"hi"}`), tool == "held__echo"
				switch n := strings.Count(said, nothing); {
				case tc.filter == nil && (!works || n > 0), tc.filter != nil && (works == held || !strings.Contains(said, tc.why) || n == 0 || n > 1 && !held):
					t.Errorf("%s, told %d times: %s", tool, n, said)
				}
			}
		})
	}
}

// landlockFails has the kernel answer with an error who asks it for Landlock.
func landlockFails(t *testing.T, errno syscall.Errno) []unix.SockFilter {
	t.Helper()
	return world.Assembled(t, []bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
}
