package world

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
)

// Console is a terminal of its own, with a program on it.
type Console struct {
	t      testing.TB
	master *os.File
	Cmd    *exec.Cmd
	mu     sync.Mutex
	text   bytes.Buffer
	Ended  chan struct{}
}

// Approver runs mcphub approve on a terminal.
func (w *World) Approver(env []string, prepare ...func(*exec.Cmd)) *Console {
	w.T.Helper()
	return w.OnTerminal(0, append([]func(*exec.Cmd){func(cmd *exec.Cmd) { cmd.Env, cmd.Dir = env, w.Home }}, prepare...), "approve")
}

// OnTerminal runs mcphub on a terminal that has so many columns; 0: it does not say.
func (w *World) OnTerminal(columns int, prepare []func(*exec.Cmd), args ...string) *Console {
	w.T.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	Must(w.T, err)
	Must(w.T, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	Must(w.T, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	Must(w.T, err)
	if columns > 0 {
		Must(w.T, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: 24}))
	}
	s := &Console{t: w.T, master: master, Cmd: exec.Command(Hub(w.T), args...), Ended: make(chan struct{})}
	s.Cmd.Stdin, s.Cmd.Stdout, s.Cmd.Stderr = slave, slave, slave
	s.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	for _, f := range prepare {
		f(s.Cmd)
	}
	Must(w.T, s.Cmd.Start())
	Must(w.T, slave.Close())
	var read sync.WaitGroup
	read.Go(func() {
		_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.text.Write(p)
		}), master) // ends when the last program on it does
	})
	go func() {
		defer close(s.Ended)
		_ = s.Cmd.Wait()
	}()
	w.T.Cleanup(func() {
		_ = s.Cmd.Process.Kill()
		<-s.Ended
		_ = master.Close()
		read.Wait()
	})
	return s
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Shown returns all that stood on the screen so far.
func (s *Console) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Sees waits until the terminal shows a pattern for the nth time, and returns what its first group is there.
func (s *Console) Sees(n int, pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	var found [][]string
	if !Within(WaitLimit, func() bool { found = re.FindAllStringSubmatch(s.Shown(), -1); return len(found) >= n }) {
		s.t.Fatalf("%q is not shown %d times:\n%s", pattern, n, s.Shown())
	}
	return found[n-1][len(found[n-1])-1]
}

// Types has a person type a line.
func (s *Console) Types(line string) {
	s.t.Helper()
	_, err := s.master.WriteString(line + "\n")
	Must(s.t, err)
}

// PseudoTerminal gives the two sides of a new terminal.
func PseudoTerminal(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		needs.Missing(t, "no terminals: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	Must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	Must(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	Must(t, err)
	return master, slave
}
