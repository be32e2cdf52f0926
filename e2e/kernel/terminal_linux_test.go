package kernel

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

	"mcphub/e2e/world"
)

// At a terminal both are in its foreground, and its interrupt key reaches both.
func TestTheInterruptKey(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	terminal, side := world.PseudoTerminal(t)
	cmd := exec.Command(world.Hub(t), "serve", "--config", w.Config(obj{"worst": w.Recorder("worst", "-ignore-term", "-grandchild")}))
	mark := "XDG_MCPHUB_E2E=" + w.Dir + "#terminal;"
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.Env(mark), side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	world.Must(t, cmd.Start())
	world.Must(t, side.Close())
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(terminal) // until the last one lets go of it
		said <- string(b)
	}()
	_, err := terminal.WriteString(world.FirstLines)
	world.Must(t, err)
	if !world.Within(world.WaitLimit, func() bool { return len(w.Starts("worst")) >= 1 }) {
		_ = cmd.Process.Kill()
		t.Fatal("the child did not start")
	}
	hub := world.HubProper(t, cmd.Process.Pid)
	group, err := syscall.Getpgid(hub)
	if err != nil || group != cmd.Process.Pid {
		t.Errorf("the hub's group is %d, %v, its guardian's %d", group, err, cmd.Process.Pid)
	}
	_, err = terminal.Write([]byte{3})
	world.Must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	bound := time.NewTimer(world.StopBound)
	defer bound.Stop()
	select {
	case err := <-ended:
		if code := cmd.ProcessState.ExitCode(); !slices.Contains([]int{0, 130}, code) {
			t.Errorf("exit status %d: %v", code, err)
		}
	case <-bound.C:
		t.Errorf("still there %v after the key", world.StopBound)
		world.Must(t, cmd.Process.Kill())
		<-ended
	}
	world.WantNone(t, mark)
	if text := <-said; t.Failed() {
		t.Log(text)
	}
}

// What a confined server types at the terminal from which the hub was started does not get there: a person's shell would run it.
// The control is the same server free.
func TestAServerAtTheTerminalOfItsHub(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for _, free := range []bool{true, false} {
		w := world.New(t)
		_, side := world.PseudoTerminal(t)
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", side.Fd()))
		world.Must(t, err)
		kid := openerEntry(free)(w)
		kid["sandbox"] = obj{"mode": "required", "read": []string{world.Bin.Opener}}
		if free {
			kid["sandbox"] = "off"
		}
		kid["paths"] = obj{"mode": "off"}
		cmd := exec.Command(world.Hub(t), "serve", "--config", w.Config(obj{"kid": kid}), "--roots", w.Project)
		in, err := cmd.StdinPipe()
		world.Must(t, err)
		out, err := cmd.StdoutPipe()
		world.Must(t, err)
		cmd.Env, cmd.ExtraFiles = w.Env("XDG_MCPHUB_E2E="+w.Dir+"#at;"), []*os.File{side}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
		world.Must(t, cmd.Start())
		world.Must(t, side.Close())
		_, err = io.WriteString(in, world.FirstLines+fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"kid__shell","arguments":{"command":"OPENER_NEEDLE=00 %s do type %s"}}}`+"\n", world.Bin.Opener, name))
		world.Must(t, err)
		lines := bufio.NewScanner(out)
		said := ""
		for !strings.Contains(said, `"id":2`) && lines.Scan() {
			said = lines.Text()
		}
		world.Must(t, in.Close())
		world.Must(t, cmd.Wait())
		if got := strings.Contains(said, "it is at the terminal"); got != free || !free && !strings.Contains(said, "refused") {
			t.Errorf("free %t: %s", free, said)
		}
	}
}
