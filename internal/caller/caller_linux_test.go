package caller

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
	"mcphub/internal/proctree"
)

const free = "\nSeccomp:\t0\nSeccomp_filters:\t0\n"

// among looks at the processes of a table.
func among(self int, all []proctree.Process) procReader {
	table := map[int]proctree.Process{}
	for _, p := range all {
		table[p.PID] = p
	}
	return procReader{
		self: self,
		find: func(pid int) (proctree.Process, error) {
			p, ok := table[pid]
			if !ok {
				return p, errors.New("no such process")
			}
			return p, nil
		},
		marked:    func(proctree.Process) (bool, error) { return false, nil },
		bears:     func(int) (bool, error) { return false, nil },
		status:    func(int) ([]byte, error) { return []byte(free), nil },
		hubStatus: func() ([]byte, error) { return []byte(free), nil },
	}
}

// Who may call, by their origin. 1 is init; 10 a client, 11 the guardian of the hub 12, 13 a
// server of it, 15 one that lost its hub; 20 a shell; 40 another hub, without a guardian,
// and 41 its server; 50 the hub that is asked, if it has no name, and 51 below it.
func TestWhoMayCall(t *testing.T) {
	hub := proctree.HubName
	m := among(50, []proctree.Process{
		{PID: 1}, {PID: 10, Parent: 1, TTY: 5, Front: 3, Group: 3}, {PID: 11, Parent: 10, Hub: proctree.GuardianName(12)}, {PID: 12, Parent: 11, Hub: hub},
		{PID: 13, Parent: 12}, {PID: 14, Parent: 13, TTY: 7, Front: 3, Group: 3}, {PID: 15, Parent: 11}, {PID: 16, Parent: 15},
		{PID: 20, Parent: 1, TTY: 5, Front: 3, Group: 3}, {PID: 21, Parent: 20, TTY: 5, Front: 3, Group: 3}, {PID: 22, Parent: 20}, {PID: 23, Parent: 20, TTY: 5, Front: 3, Group: 4},
		{PID: 24, Parent: 10, TTY: 5, Front: 3, Group: 3, Start: 9},
		{PID: 30, Parent: 31, TTY: 5}, {PID: 31, Parent: 30, TTY: 5}, {PID: 35, Parent: 99999999},
		{PID: 40, Parent: 1, Hub: hub}, {PID: 41, Parent: 40, Hub: hub}, {PID: 50, Parent: 1}, {PID: 51, Parent: 50},
	})
	for _, c := range []struct {
		name string
		pid  int
		want Want
		err  error
	}{
		{"a person's shell", 21, Want{}, nil},
		{"what has no terminal", 22, Want{}, nil},
		{"what a client starts", 24, Want{}, nil},
		{"a hub, below its own guardian", 12, Want{}, nil},
		{"a hub without a guardian", 40, Want{}, nil},
		{"a server", 13, Want{}, errServer},
		{"below a server", 14, Want{}, errServer},
		{"a server whose hub was killed", 15, Want{}, errServer},
		{"below that", 16, Want{}, errServer},
		{"a server that names itself a hub", 41, Want{}, errServer},
		{"a server of the hub that is asked", 51, Want{}, errServer},
		{"who has ended", 4, Want{}, errGone},
		{"whose parent is hidden", 35, Want{}, errHidden},
		{"a circle", 30, Want{}, errHidden},

		{"a person", 21, Want{Person: true, Clients: []Process{{PID: 10}}}, nil},
		{"no terminal", 22, Want{Person: true}, errTerminal},
		{"in the background", 23, Want{Person: true}, errBehind},
		{"below a server, at a terminal", 14, Want{Person: true}, errNoPerson},
		{"below the client", 24, Want{Person: true, Clients: []Process{{PID: 10}}}, errByClient},
		{"the client itself", 10, Want{Person: true, Clients: []Process{{PID: 10}}}, errByClient},
		{"below one that has the number of a client that ended", 24, Want{Person: true, Clients: []Process{{PID: 10, Start: 7}}}, nil},
		{"init is nobody's client", 21, Want{Person: true, Clients: []Process{{PID: 1}}}, nil},
		{"the client is not known", 21, Want{Person: true, Unknown: true}, errNoClient},

		{"a hub that listens", 12, Want{hub: true}, nil},
		{"a person who listens", 21, Want{hub: true}, errNoHub},
		{"a guardian that listens", 11, Want{hub: true}, errNoHub},
		{"a server that listens", 13, Want{hub: true}, errNoHub},
		{"one that names itself a hub", 41, Want{hub: true}, errServer},
	} {
		if err := m.refuseProcess(c.pid, c.want); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
}

// TestAParentThatEndsMeanwhile: who has lost its parent while it was looked for has another one, and is judged by that.
func TestAParentThatEndsMeanwhile(t *testing.T) {
	for next, want := range map[int]error{1: nil, 12: errServer} {
		m := among(50, []proctree.Process{{PID: 1}, {PID: 12, Parent: 1, Hub: proctree.HubName}, {PID: 30, Parent: next}})
		steady, readings := m.find, 0
		m.find = func(pid int) (proctree.Process, error) {
			p, err := steady(pid)
			if pid == 30 {
				if readings++; readings == 1 {
					p.Parent = 29
				}
			}
			return p, err
		}
		if err := m.refuseProcess(30, Want{}); !errors.Is(err, want) || readings < 3 {
			t.Errorf("adopted by %d: %v after %d readings, want %v", next, err, readings, want)
		}
	}
}

// Who bears the mark of a server, and descends from no one any more: 20 lost its hub; 12 is a hub with a guardian, as are
// 32, which 31 has started, a server; 40 is a hub without one.
func TestWhoIsMarked(t *testing.T) {
	hub := proctree.HubName
	m := among(50, []proctree.Process{
		{PID: 1}, {PID: 10, Parent: 1}, {PID: 11, Parent: 10, Hub: proctree.GuardianName(12)}, {PID: 12, Parent: 11, Hub: hub},
		{PID: 20, Parent: 1, TTY: 5, Front: 3, Group: 3}, {PID: 31, Parent: 1, Hub: proctree.GuardianName(32)}, {PID: 32, Parent: 31, Hub: hub},
		{PID: 40, Parent: 1, Hub: hub}, {PID: 41, Parent: 1, Hub: proctree.GuardianName(99)}, {PID: 42, Parent: 41},
	})
	marked := []int{12, 20, 31, 32, 40, 42}
	m.bears = func(pid int) (bool, error) {
		if pid == 10 {
			return false, os.ErrNotExist
		}
		return slices.Contains(marked, pid), nil
	}
	for _, c := range []struct {
		name string
		pid  int
		want Want
		err  error
	}{
		{"who lost its hub", 20, Want{}, errServer},
		{"the same, at a terminal", 20, Want{Person: true}, errNoPerson},
		{"a hub that guards its servers", 12, Want{}, nil},
		{"the same, which listens", 12, Want{hub: true}, nil},
		{"a hub that a server has started, with a guardian", 32, Want{}, errServer},
		{"the same, which listens", 32, Want{hub: true}, errServer},
		{"one that names itself a hub", 40, Want{hub: true}, errServer},
		{"below another's guardian", 42, Want{}, errServer},
		{"it cannot be told", 10, Want{}, errGone},
	} {
		if err := m.refuseProcess(c.pid, c.want); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
	marked = nil // the control
	for _, pid := range []int{20, 40} {
		if err := m.refuseProcess(pid, Want{}); err != nil {
			t.Errorf("%d without the mark: %v", pid, err)
		}
	}
}

// TestFilters: a process that has more filters than the hub is refused, and so is one of which that cannot be told.
func TestFilters(t *testing.T) {
	m := among(50, []proctree.Process{{PID: 1}, {PID: 20, Parent: 1}, {PID: 50, Parent: 1}})
	old := func(mode int) string { return fmt.Sprintf("\nSeccomp:\t%d\nSpeculation\n", mode) }
	filters := func(n int) string { return fmt.Sprintf("\nSeccomp:\t%d\nSeccomp_filters:\t%d\n", min(n, 1)*2, n) }
	for _, c := range []struct {
		name, of, than string
		err            error
	}{
		{"none, as the hub", filters(0), filters(0), nil},
		{"one more", filters(1), filters(0), errFiltered},
		{"those of the container, as the hub", filters(2), filters(2), nil},
		{"one more than the container's", filters(3), filters(2), errFiltered},
		{"fewer", filters(0), filters(2), nil},
		{"an old kernel, none", old(0), old(0), nil},
		{"an old kernel, the hub alone", old(0), old(2), nil},
		{"an old kernel, the caller alone", old(2), old(0), errFiltered},
		{"an old kernel, both: which has more?", old(2), old(2), errFiltered},
		{"a kernel without filters", "\nName:\tx\n", "\nName:\tx\n", nil},
		{"it says nothing of filters", "\nName:\tx\n", filters(0), errFiltered},
	} {
		m.status = func(int) ([]byte, error) { return []byte(c.of), nil }
		m.hubStatus = func() ([]byte, error) { return []byte(c.than), nil }
		if err := m.refuseProcess(20, Want{}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
	m.hubStatus = func() ([]byte, error) { return nil, os.ErrPermission }
	m.status = func(int) ([]byte, error) { return []byte(filters(1)), nil }
	if err := m.refuseProcess(20, Want{}); !errors.Is(err, errFiltered) {
		t.Errorf("compared with nobody: %v", err)
	}
}

// Who is held by more than the hub, has other rights, or is elsewhere, is not alike.
func TestAlike(t *testing.T) {
	const own = "\nUid:\t1 1\nGroups:\t1 7 \nNoNewPrivs:\t0\nCapPrm:\t0\nCapBnd:\tff\n" + free
	for _, c := range []struct {
		name, was, is string
		err           error
	}{
		{"as the hub", "", "", nil},
		{"another umask", "\nUid", "\nUmask:\t0\nUid", nil},
		{"no new privileges", "NoNewPrivs:\t0", "NoNewPrivs:\t1", errConfined},
		{"a group less", "1 7", "1", errRights},
		{"another user", "1 1", "1 2", errRights},
		{"a capability", "CapPrm:\t0", "CapPrm:\t1", errRights},
		{"fewer that it could have", "ff", "fe", errRights},
	} {
		m := among(50, []proctree.Process{{PID: 1}, {PID: 20, Parent: 1}, {PID: 50, Parent: 1}})
		m.link = func(int, string) (string, error) { return "", nil }
		m.status = func(pid int) ([]byte, error) {
			if pid == 20 {
				return []byte(strings.Replace(own, c.was, c.is, 1)), nil
			}
			return []byte(own), nil
		}
		if err := m.refuseProcess(20, Want{Alike: true}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
	for _, place := range places {
		m := among(50, []proctree.Process{{PID: 1}, {PID: 20, Parent: 1}, {PID: 50, Parent: 1}})
		m.link = func(pid int, name string) (string, error) {
			if name == place {
				return strconv.Itoa(pid), nil
			}
			return "", nil
		}
		if err := m.refuseProcess(20, Want{Alike: true}); !errors.Is(err, errElsewhere) {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// TestAParentThatEnds while its ancestry is read leaves its number to someone else: what
// is read is what two readings agree on.
func TestAParentThatEnds(t *testing.T) {
	before := among(50, []proctree.Process{{PID: 1}, {PID: 12, Parent: 1, Hub: proctree.HubName}, {PID: 13, Parent: 12}, {PID: 14, Parent: 13}})
	after := among(50, []proctree.Process{{PID: 1}, {PID: 12, Parent: 1, Hub: proctree.HubName}, {PID: 13, Parent: 1, Start: 9}, {PID: 14, Parent: 12}})
	m, reads := before, 0
	m.find = func(pid int) (proctree.Process, error) {
		if reads++; reads == 1 { // the child still names its parent
			return before.find(pid)
		}
		return after.find(pid)
	}
	if line, err := m.readAbove(14); err != nil || len(line) != 3 || line[1].Hub != "" {
		t.Fatalf("one reading alone shows the hub: %+v, %v", line, err)
	}
	reads = 0
	if err := m.refuseProcess(14, Want{}); !errors.Is(err, errServer) {
		t.Errorf("%v", err)
	}
}

// TestMain also is what the processes of TestCallers run.
func TestMain(m *testing.M) {
	if role := os.Getenv("CALLER_ROLE"); role != "" {
		if err := play(role); err != nil {
			fmt.Println("played badly:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play takes the first of the roles and hands the others on. No one ends before whom they
// have started, except as a role says.
func play(roles string) error {
	role, rest, _ := strings.Cut(roles, " ")
	start := func(env []string, attr *syscall.SysProcAttr, wrap ...string) error {
		exe := "/proc/self/exe"
		if len(wrap) > 0 {
			var err error
			if exe, err = os.Executable(); err != nil {
				return err
			}
		}
		cmd := exec.Command(exe)
		if len(wrap) > 0 {
			cmd = exec.Command(wrap[0], append(wrap[1:], exe)...)
		}
		cmd.Env, cmd.Stdout, cmd.SysProcAttr = append(env, "CALLER_ROLE="+rest), os.Stdout, attr
		return cmd.Run()
	}
	switch role {
	case "hub", "guardian": // which inherit orphans, a guardian its hub's
		name := map[string]string{"hub": proctree.HubName, "guardian": proctree.GuardianName(1 << 22)}[role]
		if err := errors.Join(proctree.Subreaper(), proctree.Rename(name)); err != nil {
			return err
		}
		_ = start(os.Environ(), nil)
		for {
			if _, err := unix.Wait4(-1, nil, 0, nil); errors.Is(err, unix.ECHILD) {
				return nil
			}
		}
	case "nobody": // the control: a process like any other
		return start(os.Environ(), nil)
	case "marks": // as a hub does, which then is killed
		if err := proctree.Mark(); err != nil {
			return err
		}
		return start(os.Environ(), nil)
	case "raises": // takes the mark away, as far as it may
		if err := unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}); (err == nil) != mayRaise() {
			return fmt.Errorf("it raises its limit: %w", err)
		}
		return start(os.Environ(), nil)
	case "marked":
		return start(append(os.Environ(), proctree.InstanceVariable+"=x"), nil)
	case "shed":
		return start(nil, &syscall.SysProcAttr{Setsid: true})
	case "namespace":
		return start(os.Environ(), nil, "unshare", "-Urp", "--fork")
	case "fork", "killer": // the child goes on alone: after a double fork, or when its hub is killed
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env, cmd.Stdout, cmd.ExtraFiles = append(os.Environ(), "CALLER_ROLE="+rest, "CALLER_WAITS=1"), os.Stdout, []*os.File{r}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		_ = w // closed by the end of this process
		if role == "killer" {
			return unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		os.Exit(0)
	}
	if os.Getenv("CALLER_WAITS") != "" {
		_, _ = io.ReadAll(os.NewFile(3, "the parent"))
		_ = os.Unsetenv("CALLER_WAITS")
	}
	if role == "asks" { // who is at the other end
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: rest, Net: "unix"})
		if err != nil {
			return err
		}
		fmt.Println("listens")
		conn, err := l.AcceptUnix()
		if err != nil {
			return err
		}
		f, err := conn.File()
		if err != nil {
			return err
		}
		defer f.Close()
		pid, _, err := peerOf(int(f.Fd()))
		fmt.Println(pid, err, "is told", Peer(conn, Want{}))
		return conn.Close()
	}
	if role != "dial" {
		return play(rest)
	}
	c, err := net.Dial("unix", rest)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}

// mayRaise reports whether this process may raise hard limits.
func mayRaise() bool {
	status, err := os.ReadFile("/proc/self/status")
	caps, err2 := strconv.ParseUint(strings.TrimSpace(lineOf(status, "CapEff")), 16, 64)
	return err == nil && err2 == nil && caps&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// TestCallers: real processes, whatever they do to hide their origin. The ones that
// descend from no one are let in: what holds the others back is the rule alone.
func TestCallers(t *testing.T) {
	dir, err := os.MkdirTemp("", "caller")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "s")
	raised := error(nil)
	if !mayRaise() {
		raised = errServer
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, c := range []struct {
		roles string
		err   error
	}{
		{"hub", errServer},
		{"nobody", nil},
		{"hub shed", errServer},
		{"nobody shed", nil},
		{"hub nobody shed nobody", errServer},
		{"marked", errServer},
		{"marked nobody", errServer},
		{"guardian hub fork pass", errServer},
		{"guardian killer pass", errServer},
		{"hub fork pass nobody", errServer},
		{"nobody fork pass", nil},
		{"marks fork shed pass", errServer},
		{"marks shed fork pass nobody fork pass", errServer},
		{"nobody fork shed pass", nil},
		{"marks fork shed raises pass", raised},
		{"marks namespace", errServer},
		{"hub namespace", errServer},
		{"nobody namespace", nil},
	} {
		if strings.Contains(c.roles, "namespace") && exec.Command("unshare", "-Urp", "--fork", "true").Run() != nil {
			t.Log("no pid namespaces here")
			continue
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "CALLER_ROLE="+c.roles+" dial "+path)
		out, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		conn, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		m := machineReader()
		m.self = 0 // all of them descend from this test
		if err := m.checkPeer(conn, Want{}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.roles, err, c.err)
		}
		if err := machineReader().checkPeer(conn, Want{}); !errors.Is(err, errServer) && !strings.Contains(c.roles, "nobody fork") {
			t.Errorf("%s, below the hub that is asked: %v", c.roles, err)
		}
		_ = conn.Close()
		said, _ := io.ReadAll(out)
		if len(said) > 0 {
			t.Errorf("%s: %s", c.roles, said)
		}
		_ = cmd.Wait() // some are killed
	}
}

// TestAPeerWithoutANumber: a process that the pid namespace of the hub does not hold has the number 0 there, and is refused.
func TestAPeerWithoutANumber(t *testing.T) {
	if err := exec.Command(needs.Program(t, "unshare"), "-Urp", "--fork", "true").Run(); err != nil {
		needs.Missing(t, "no pid namespaces here: ", err)
	}
	path := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "CALLER_ROLE=namespace asks "+path)
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && lines.Text() != "listens" {
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	lines.Scan()
	if want := "0 <nil> is told " + errUnknown.Error(); lines.Text() != want {
		t.Errorf("%q, want %q", lines.Text(), want)
	}
	_ = cmd.Wait()
}

// TestWhoHasEnded, and who is of another pid namespace, cannot be looked at.
func TestWhoHasEnded(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	m := machineReader()
	if err := m.refuseProcess(ended.Process.Pid, Want{}); !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(pair[0]), "a")
	defer func() { _ = unix.Close(pair[1]) }()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	defer func() { _ = conn.Close() }()
	m.self = 0
	if err := m.checkPeer(conn.(*net.UnixConn), Want{}); err != nil {
		t.Errorf("this process itself: %v", err)
	}
	if err := Hub(pair[1]); !errors.Is(err, errNoHub) {
		t.Errorf("this process as a hub: %v", err)
	}
	if pid, fd, err := peerOf(pair[1]); err != nil || pid != os.Getpid() {
		t.Errorf("process %s: %v", strconv.Itoa(pid), err)
	} else if fd >= 0 {
		_ = unix.Close(fd)
	}
	if err := Self(Want{}); err != nil {
		t.Errorf("the process of a test: %v", err)
	}
}
