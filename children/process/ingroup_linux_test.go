//go:build amd64 || arm64

package process_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/children/cgroup"
	"mcphub/children/process"
	"mcphub/children/sandbox"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
	"mcphub/internal/proctree"
)

// kindVariable makes this program what it says: see TestMain.
const kindVariable = "MCPHUB_TEST_BOMB"

// emptyGroup makes a control group without bounds beside the tests, which needs no controller.
func emptyGroup(t *testing.T) (dir string, fd int) {
	t.Helper()
	own, err := cgroup.Own()
	if err == nil {
		dir = filepath.Join(own, "mcphub-test-"+strings.ToLower(t.Name())+"-"+fmt.Sprint(os.Getpid()))
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		if os.Getuid() != 0 {
			t.Skip("only root may make a control group here: ", err)
		}
		needs.Missing(t, "no control group can be made: ", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.Close()
		if !bounds.Within(bounds.Patience, func() bool { err = os.Remove(dir); return err == nil }) { // the kernel lets go of an ended process a moment later
			t.Error(err)
		}
	})
	return dir, int(f.Fd())
}

// everything returns a Profile that opens the whole disk. To write, it opens no control group: a server that may write there leaves its
// group by the file cgroup.procs, and makes no process for that.
func everything() *sandbox.Profile {
	return &sandbox.Profile{
		Rules:   []sandbox.Rule{{Path: "/", Access: sandbox.Read | sandbox.Execute}, {Path: os.TempDir(), Access: sandbox.Read | sandbox.Write}, {Path: "/dev/null", Access: sandbox.Read | sandbox.Write}},
		Network: sandbox.Network{On: true},
	}
}

// runIn runs this program as kind says: in the control group if group is not negative, and confined if p is not nil. It returns the output.
func runIn(t *testing.T, kind string, group int, p *sandbox.Profile) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd := &exec.Cmd{Path: os.Args[0], Args: []string{"a b", ""}, Dir: os.TempDir(), Env: []string{"A=first", kindVariable + "=" + kind, "A=last"}, Stdin: null, Stdout: w, Stderr: w}
	exited, box, err := started(t, cmd, group, p)
	w.Close()
	if err != nil {
		return err.Error()
	}
	defer box.End()
	said, err := io.ReadAll(r)
	<-exited
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	return string(said)
}

// started starts cmd as a server is started.
func started(t *testing.T, cmd *exec.Cmd, group int, p *sandbox.Profile) (<-chan struct{}, *sandbox.Ruleset, error) {
	t.Helper()
	cmd.SysProcAttr = process.SysProcAttr()
	if group >= 0 {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, group
	}
	var box *sandbox.Ruleset
	if p != nil {
		var err error
		if box, err = sandbox.Prepare(sandbox.CurrentKernel(), p, group >= 0); err != nil {
			t.Fatal(err)
		}
	}
	defer box.Close()
	exited, err := process.Fork(cmd, box, &process.Bounds{})
	return exited, box, err
}

// A confined process has the same of who has started it, whether it begins in a control group or not.
func TestStartedInGroup(t *testing.T) {
	dir, fd := emptyGroup(t)
	p := everything()
	outside, inside := runIn(t, "report", -1, p), runIn(t, "report", fd, p)
	if outside != inside || !strings.Contains(outside, "args [a b ] env [") || !strings.Contains(outside, "signal: terminated") {
		t.Errorf("it has in the group\n%s\nand outside\n%s", inside, outside)
	}
	if said := runIn(t, "leave ", fd, p); !strings.Contains(said, "0::") || !strings.Contains(said, "/"+filepath.Base(dir)+"\n") {
		t.Errorf("it is in %s", said)
	}
}

// A server starts a process in another control group, whose descriptor it gets by O_PATH: it would leave its bounds. No rule on files holds
// that. The control is the same server without a sandbox.
func TestLeaveGroup(t *testing.T) {
	dir, fd := emptyGroup(t)
	attributes := everything()
	attributes.Attributes = true
	for name, p := range map[string]*sandbox.Profile{"free": nil, "confined": everything(), "with a decider": attributes} {
		said := runIn(t, "leave "+filepath.Dir(dir), fd, p)
		left := strings.Contains(said, "0::") && !strings.Contains(said, filepath.Base(dir))
		if left != (p == nil) || p != nil && !strings.Contains(said, "function not implemented") {
			t.Errorf("%s: it leaves its group: %t: %s", name, left, said)
		}
		if !strings.Contains(said, "it starts others") {
			t.Errorf("%s: it starts nothing: %s", name, said)
		}
	}
}

// The errors are the errors of os/exec, but a folder that cannot be entered is named. Nothing is left of what has failed.
func TestStartInGroupFails(t *testing.T) {
	_, fd := emptyGroup(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := children(t)
	for _, cmd := range []*exec.Cmd{{Path: "/none"}, {Path: file}, {Path: "/bin/true", Dir: "/none"}, {Path: "/bin/true", Dir: file}, {Path: "/bin/true\x00"}, {Path: "/bin/true", Dir: "/\x00"}} {
		var texts []string
		for _, group := range []int{-1, fd} {
			c := exec.Cmd{Path: cmd.Path, Dir: cmd.Dir}
			c.Args, c.Env, c.Stdin, c.Stdout, c.Stderr = []string{"x"}, []string{"A=b"}, os.Stdin, os.Stdout, os.Stderr
			_, _, err := started(t, &c, group, everything())
			texts = append(texts, fmt.Sprint(err))
		}
		if strings.HasPrefix(texts[1], "chdir "+cmd.Dir) {
			texts[1] = strings.Replace(texts[1], "chdir "+cmd.Dir, "fork/exec "+cmd.Path, 1)
		}
		if texts[0] != texts[1] || texts[0] == "<nil>" {
			t.Errorf("%q", texts)
		}
	}
	for _, p := range children(t) {
		if !slices.ContainsFunc(before, func(b proctree.Process) bool { return b.PID == p.PID }) {
			t.Errorf("%+v is left", p)
		}
	}
}

func children(t *testing.T) []proctree.Process {
	t.Helper()
	table, err := proctree.Read()
	if err != nil {
		t.Fatal(err)
	}
	return table.Children(os.Getpid())
}

// Files in the places of others reach the process all the same.
func TestStartInGroupSwapsFiles(t *testing.T) {
	_, fd := emptyGroup(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", "a=$(readlink /proc/$$/fd/0); b=$(readlink /proc/$$/fd/1); cd /proc/$$/fd; echo $a $b * >&2"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdin: os.Stderr, Stdout: os.Stdin, Stderr: w}
	exited, _, err := started(t, cmd, fd, everything())
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(r)
	<-exited
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	var want []string
	for _, n := range []string{"2", "0"} {
		to, err := os.Readlink("/proc/self/fd/" + n)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, to)
	}
	want = append(want, "0", "1", "2", "3") // the shell looks by the last
	if got := strings.Fields(string(said)); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// Many start at a time, while memory is collected and signals come.
func TestManyStartInGroup(t *testing.T) {
	_, fd := emptyGroup(t)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
				_ = unix.Kill(os.Getpid(), unix.SIGURG)
			}
		}
	}()
	defer close(done)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if said := runIn(t, "leave ", fd, everything()); !strings.Contains(said, "0::") {
					t.Errorf("%q", said)
				}
			}
		})
	}
	all.Wait()
}

// TestInGroupAsAnotherUser starts as a user without rights, who has been given a control group.
func TestInGroupAsAnotherUser(t *testing.T) {
	dir, fd := emptyGroup(t)
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(dir, name), childtest.Nobody, childtest.Nobody); err != nil && os.Getuid() == 0 {
			t.Fatal(err)
		}
	}
	childtest.AsAnotherUserInGroup(t, fd, "TestStartedInGroup", "TestLeaveGroup", "TestStartInGroupFails", "TestManyStartInGroup")
}
