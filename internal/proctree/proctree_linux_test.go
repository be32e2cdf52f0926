package proctree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/e2e/bounds"
)

const envRole = "PROCTREE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// play returns a process of a test: "keeper" is a subreaper that starts a
// breeder and ends it and all that it has bred; "breeder" starts others like
// itself without end, each deaf, in a session of its own and soon without a
// parent.
func play(role string) int {
	again := func(role string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envRole+"="+role)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd
	}
	switch role {
	case "marks":
		if err := underTheMark(); err != nil {
			return fail(err)
		}
		fmt.Println("ended")
	case "marked", "unmarked":
		if is, err := Marked(os.Getpid()); err != nil || is != (role == "marked") {
			return fail(fmt.Errorf("whether it is marked: %v %w", is, err))
		}
	case "hold":
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "keeper":
		if err := Subreaper(); err != nil {
			return fail(err)
		}
		cmd := again("breeder")
		out, err := cmd.StdoutPipe()
		if err != nil {
			return fail(err)
		}
		if err := cmd.Start(); err != nil {
			return fail(err)
		}
		lines := bufio.NewReader(out)
		for range 30 { // generations
			if _, err := lines.ReadString('\n'); err != nil {
				return fail(err)
			}
		}
		left, err := EndAll(os.Getpid(), bounds.Patience)
		if err != nil || len(left) > 0 {
			return fail(fmt.Errorf("left %v: %w", left, err))
		}
		// No one holds the pipe, and there is no child, not even an ended one.
		if _, err := io.Copy(io.Discard, lines); err != nil {
			return fail(err)
		}
		if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
			return fail(fmt.Errorf("there are children: %w", err))
		}
		fmt.Println("ended")
	case "breeder":
		fmt.Println("bred")
		next := again("breeder")
		next.Stdout = os.Stdout
		if err := next.Start(); err != nil {
			return fail(err)
		}
	}
	return 0
}

// underTheMark marks this process, and sees who bears the mark then, and that all kinds of locks are had as before.
func underTheMark() error {
	start := func(role string) error {
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.SysProcAttr = []string{envRole + "=" + role, "GORACE=atexit_sleep_ms=0"}, &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := start("unmarked"); err != nil {
		return err
	}
	if err := errors.Join(Mark(), Mark()); err != nil {
		return err
	}
	if is, err := Marked(os.Getpid()); is || err != nil {
		return fmt.Errorf("who has marked itself was marked before: %v %w", is, err)
	}
	if err := start("marked"); err != nil {
		return err
	}
	f, err := os.CreateTemp("", "locked-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()); _ = f.Close() }()
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	if err := errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_EX), unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole), unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)); err == nil {
		return errors.New("two owners have one lock: this shows nothing")
	}
	whole.Type = unix.F_UNLCK
	_ = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
	for n := range int64(1000) {
		byOne := unix.Flock_t{Type: unix.F_WRLCK, Start: 2 * n, Len: 1}
		if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &byOne); err != nil {
			return fmt.Errorf("lock %d: %w", n, err)
		}
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return fmt.Errorf("a lease: %w", err)
	}
	return nil
}

func fail(err error) int {
	fmt.Println("failed:", err)
	return 1
}

// A chain of processes each of which starts the next and ends can be ended:
// no one gets away by being born while others are killed.
func TestWhoBreedsIsEnded(t *testing.T) {
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), bounds.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), envRole+"=keeper")
		cmd.WaitDelay = time.Second
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(said), "ended\n") {
			t.Errorf("%v: %s", err, said)
		}
	}
}

// The mark passes to whom a process starts, and takes nothing from anybody: the kernel ignores the limit that it is made of.
func TestMark(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"=marks")
	said, err := cmd.CombinedOutput()
	if err != nil || string(said) != "ended\n" {
		t.Errorf("%v: %s", err, said)
	}
	if is, err := Marked(os.Getpid()); is || err != nil {
		t.Errorf("this process: %v %v", is, err)
	}
	const head = "Limit                     Soft Limit           Hard Limit           Units     \n"
	for text, want := range map[string]bool{
		"Max file locks            unlimited            unlimited            locks     \n": false,
		"Max file locks            0                    unlimited            locks     \n": false,
		"Max file locks            0                    0                    locks     \n": true,
		"Max file locks            16384                16384                locks     \n": false,
	} {
		if got, err := parseMark(head + text + "Max pending signals       0                    0                    signals   \n"); got != want || err != nil {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", head, head + "Max file locks "} {
		if _, err := parseMark(text); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

// A signal meant for a process that has ended reaches no one.
func TestSignalToAnother(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"=hold")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p, err := Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	former := p
	former.Start--
	if err := former.Signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a signal to the one who had the id before: %v", err)
	}
	if err := p.Signal(unix.SIGCONT); err != nil {
		t.Errorf("a signal to the one who has it now: %v", err)
	}
	if got := p.Variable(envRole); got != "hold" {
		t.Errorf("its variable is %q", got)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it was reached: %v", err)
	}
	if err := p.Signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a signal to one who has ended: %v", err)
	}
}

func TestTable(t *testing.T) {
	table, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	self, ok := table.Process(os.Getpid())
	if !ok || self.Parent != os.Getppid() || self.Group != syscall.Getpgrp() || !table.Has(self) {
		t.Errorf("this process: %+v, %v", self, ok)
	}
	if below := table.Descendants(os.Getpid()); len(below) > 0 {
		t.Errorf("below this process: %v", below)
	}
	// A circle, which ids given again could make, is walked once.
	circle := &Table{all: map[int]Process{1: {PID: 1, Parent: 2}, 2: {PID: 2, Parent: 1}}, children: map[int][]int{1: {2}, 2: {1}}}
	if below := circle.Descendants(1); len(below) != 1 {
		t.Errorf("a circle: %v", below)
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 0 0"
	want := Process{PID: 5, Parent: 7, Group: 8, State: 'S', Start: 123456}
	for _, name := range []string{"(sh)", "(a) Z 1 (b)", "()", "((())", "(\n 1 2 3)"} {
		if got, err := parseStat(5, []byte("5 "+name+rest)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "5", "5 (sh)", "5 (sh) S 7 8", "5 (sh) SS" + rest[2:], "5 (sh) S x" + rest[4:]} {
		if got, err := parseStat(5, []byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWritten: what a process has written counts, with what processes below it write that run or have ended.
func TestWritten(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `sh -c "head -c 3145728 /dev/zero >a; echo written; read x"; head -c 2097152 /dev/zero >b; echo written; read x`)
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	said := bufio.NewReader(out)
	for _, want := range []int64{3 << 20, 5 << 20} {
		_, err = said.ReadString('\n')
		must(t, err)
		if n := Written(cmd.Process.Pid); n < want || n > want+4096 {
			t.Errorf("%d bytes, and %d were written", n, want)
		}
		_, err = in.Write([]byte("\n"))
		must(t, err)
	}
	must(t, cmd.Wait())
	if n := Written(cmd.Process.Pid); n != 0 {
		t.Errorf("%d bytes of a process that has ended", n)
	}
}
