package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// At a terminal both are in its foreground, and its interrupt key reaches both.
func TestTheInterruptKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	terminal, side := pseudoTerminal(t)
	cmd := exec.Command(mcphub(t), "serve", "--config", w.config(obj{"worst": w.recorder("worst", "-ignore-term", "-grandchild")}))
	mark := "XDG_MCPHUB_E2E=" + w.dir + "#terminal;"
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.env(mark), side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, cmd.Start())
	must(t, side.Close())
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(terminal) // until the last one lets go of it
		said <- string(b)
	}()
	_, err := terminal.WriteString(firstLines)
	must(t, err)
	if !within(waitLimit, func() bool { return len(w.starts("worst")) >= 1 }) {
		_ = cmd.Process.Kill()
		t.Fatal("the child did not start")
	}
	hub := hubProper(t, cmd.Process.Pid)
	group, err := syscall.Getpgid(hub)
	if err != nil || group != cmd.Process.Pid {
		t.Errorf("the hub's group is %d, %v, its guardian's %d", group, err, cmd.Process.Pid)
	}
	_, err = terminal.Write([]byte{3})
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	bound := time.NewTimer(stopBound)
	defer bound.Stop()
	select {
	case err := <-ended:
		if code := cmd.ProcessState.ExitCode(); !slices.Contains([]int{0, 130}, code) {
			t.Errorf("exit status %d: %v", code, err)
		}
	case <-bound.C:
		t.Errorf("still there %v after the key", stopBound)
		must(t, cmd.Process.Kill())
		<-ended
	}
	wantNone(t, mark)
	if text := <-said; t.Failed() {
		t.Log(text)
	}
}

// pseudoTerminal gives the two sides of a new terminal.
func pseudoTerminal(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		if inCI() {
			t.Fatal(err)
		}
		t.Skip("NOT PROVED HERE: no terminals: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	return master, slave
}
