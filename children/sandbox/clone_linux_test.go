package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
)

func init() {
	// Go starts a process in a control group by clone3, and has no other way. All else it starts by clone.
	attacks["go starts"] = func([]string) (string, error) {
		done := make(chan error)
		go func() { done <- exec.Command("/bin/true").Run() }()
		if err := <-done; err != nil {
			return "", err
		}
		own, err := os.Open("/proc/self")
		if err != nil {
			return "", err
		}
		defer own.Close()
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(own.Fd())} // no control group
		return fmt.Sprint("it has started others; ", cmd.Run()), nil
	}
}

// starters are programs that start threads and processes, and say so. Each has the runtime's own way to do it.
var starters = []struct{ needs, file, text, run string }{
	{"bash cat", "", "", `x=$(echo all | cat); { echo started $x; } & wait`},
	{"node", "a.js", `const { Worker } = require("worker_threads"), { spawnSync, fork } = require("child_process")
if (process.argv[2] !== "child") new Worker("require('worker_threads').parentPort.postMessage('x')", { eval: true }).on("message", () =>
  fork(__filename, ["child"]).on("exit", code => code || console.log("started " + spawnSync("echo", ["all"]).stdout)))`, "node a.js"},
	{"python3", "a.py", `import os, subprocess, sys, threading
t = threading.Thread(target=lambda: subprocess.run(["true"], check=True)); t.start(); t.join()
pid = os.fork()
if pid == 0: os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1] == 0
print("started", subprocess.check_output(["echo", "all"], preexec_fn=os.getpid, text=True))`, "python3 a.py"},
	{"java javac", "A.java", `public class A { public static void main(String[] a) throws Exception {
  Thread t = new Thread(() -> {}); t.start(); t.join();
  java.util.stream.IntStream.range(0, 100).parallel().forEach(i -> {});
  System.out.println("started " + new String(new ProcessBuilder("echo", "all").start().getInputStream().readAllBytes())); } }`, "javac A.java && java A"},
}

// noClone3 is what Go says about it.
const noClone3 = "fork/exec /bin/true: function not implemented"

// Without clone3, programs start threads and processes by clone, as on an older kernel.
func TestStartsWithoutClone3(t *testing.T) {
	t.Parallel()
	landlocked(t)
	for _, s := range starters {
		t.Run(strings.Fields(s.needs)[0], func(t *testing.T) {
			needs.Line(t, s.needs)
			run, where := s.run, ""
			if s.needs == "python3" { // itself, if the first of its name only looks for it
				out, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print(sys.executable, sys.base_prefix)").Output()
				python, prefix, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
				if err != nil || prefix == "" {
					t.Fatalf("%s, %v", out, err)
				}
				run, where = strings.Replace(run, "python3", python, 1), real(prefix)
			}
			root := real(t.TempDir())
			if s.file != "" {
				if err := os.WriteFile(filepath.Join(root, s.file), []byte(s.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, attributes := range []bool{false, true} {
				if !attributes && s.file != "" {
					continue // the first starter shows if the attributes make a difference
				}
				p := profileFor(t, root)
				p.Attributes = attributes
				if where != "" {
					p.Rules = sandbox.Sorted(append(p.Rules, sandbox.Rule{Path: where, Access: sandbox.Read | sandbox.Execute}))
				}
				cmd := child(t, root, "shell", run)
				cmd.Env = append(cmd.Env, "HOME="+root, "TMPDIR="+root)
				if out := confined(t, p, cmd); !strings.Contains(out, "started all") {
					t.Errorf("attributes held %t: %s", attributes, out)
				}
			}
		})
	}
	t.Run("go", func(t *testing.T) {
		root := real(t.TempDir())
		if out := confined(t, profileFor(t, root), child(t, root, "go starts")); !strings.Contains(out, "it has started others; "+noClone3) {
			t.Errorf("confined: %s", out)
		}
		if out := confined(t, nil, child(t, root, "go starts")); !strings.Contains(out, "it has started others; ") || strings.Contains(out, noClone3) {
			t.Errorf("free: %s", out)
		}
	})
}
