package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
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

// What a confined server types at the terminal from which the hub was started does not get there: a person's shell would run it.
// The control is the same server free.
func TestAServerAtTheTerminalOfItsHub(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	for _, free := range []bool{true, false} {
		w := newWorld(t)
		_, side := pseudoTerminal(t)
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", side.Fd()))
		must(t, err)
		kid := openerEntry(free)(w)
		kid["sandbox"] = obj{"mode": "required", "read": []string{bin.opener}}
		if free {
			kid["sandbox"] = "off"
		}
		kid["paths"] = obj{"mode": "off"}
		cmd := exec.Command(mcphub(t), "serve", "--config", w.config(obj{"kid": kid}), "--roots", w.project)
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		cmd.Env, cmd.ExtraFiles = w.env("XDG_MCPHUB_E2E="+w.dir+"#at;"), []*os.File{side}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
		must(t, cmd.Start())
		must(t, side.Close())
		_, err = io.WriteString(in, firstLines+fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"kid__shell","arguments":{"command":"OPENER_NEEDLE=00 %s do type %s"}}}`+"\n", bin.opener, name))
		must(t, err)
		lines := bufio.NewScanner(out)
		said := ""
		for !strings.Contains(said, `"id":2`) && lines.Scan() {
			said = lines.Text()
		}
		must(t, in.Close())
		must(t, cmd.Wait())
		if got := strings.Contains(said, "it is at the terminal"); got != free || !free && !strings.Contains(said, "refused") {
			t.Errorf("free %t: %s", free, said)
		}
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
