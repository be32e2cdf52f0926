package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/caller"
)

const (
	startTime = 10 * time.Second // for the shared hub to start
	logSize   = 1 << 20          // of the log of shared hubs, before it is set aside
)

// StartShared starts the hub that the clients of this user share, if hub.json wants one and it does not run. The error is
// why there is none; nil with started false: hub.json does not want one.
func StartShared(ctx context.Context, src *setup.Source) (started bool, err error) {
	file, err := src.Load(io.Discard)
	if err != nil {
		return false, attach.ErrBroken
	}
	if file.Attach.Mode != keys.AttachAuto {
		return false, nil
	}
	endpoint, dir, err := sharedEndpoint(src)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	lock := flock.New(endpoint.Lock(dir), flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK))
	if held, err := lock.TryLockContext(ctx, 5*time.Millisecond); errors.Is(err, context.DeadlineExceeded) {
		return false, fmt.Errorf("another client has been starting the shared hub for %s and still holds %s; end that `mcphub serve %s`, or attach later", startTime, lock.Path(), attach.StartFlag)
	} else if err != nil || !held {
		return false, fmt.Errorf("the start of the shared hub cannot be locked: %w", err)
	}
	defer lock.Unlock()
	if attach.IsListening(endpoint.Socket(dir)) {
		return true, nil // someone else has started it meanwhile
	}
	if err := endpoint.TooManyEnds(dir, time.Now()); err != nil {
		return false, err
	}
	runtime.LockOSThread() // some of it is the thread's, and the hub is started by it
	defer runtime.UnlockOSThread()
	if err := cleanProcess(); err != nil {
		return false, fmt.Errorf("a shared hub cannot be started from here: %w", err)
	}
	args := attach.CommandLine{Config: src.Config, Set: src.Set}.Args(endpoint.Config)
	if scope := scopeFor(ownFile("cgroup"), isFile); scope != nil {
		brief, cancel := context.WithTimeout(ctx, startTime/2)
		err := startHub(brief, scope, args)
		cancel()
		if err == nil {
			return true, nil
		} // without a user manager that answers it stays in the control group of this client
	}
	return true, startHub(ctx, nil, args)
}

// CannotShare returns what would keep a client from the hub that clients share, if it were started as this process
// was; nil: nothing that is known. It changes nothing.
func CannotShare(src *setup.Source) error {
	if err := caller.Self(caller.Want{}); err != nil {
		return err
	}
	if err := checkLimits(); err != nil {
		return err
	}
	endpoint, err := attach.EndpointOf(attach.CommandLine{Config: src.Config, Set: src.Set}, os.Environ())
	if err != nil {
		return err
	}
	for _, dir := range endpoint.Dirs {
		if err := endpoint.TooManyEnds(dir, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// ownFile returns a file of this process in /proc.
func ownFile(name string) string {
	text, err := os.ReadFile("/proc/self/" + name)
	if err != nil {
		return ""
	}
	return string(text)
}

// scopeFor returns what starts a command in a control group of its own: systemd ends the session of a window with
// it. nil where this process is in none of the user's manager, by /proc/self/cgroup.
func scopeFor(cgroup string, isFile func(string) bool) []string {
	const program = "/usr/bin/systemd-run"
	if !strings.Contains(cgroup, "/user@") || !isFile(program) {
		return nil
	}
	// Delegated, it can be divided among servers that have limits.
	return []string{program, "--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--"}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// startHub starts the hub apart from this process, by another program where by names one, and waits until sessions can
// attach.
func startHub(ctx context.Context, by, args []string) error {
	log, path, err := hubLog()
	if err != nil {
		return err
	}
	defer log.Close()
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	said, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	defer null.Close()
	exe := attach.Program()
	if len(by) > 0 && strings.HasPrefix(exe, "/proc/") {
		return errors.New("another program cannot start this version: its file has been replaced")
	}
	line := slices.Concat(by, []string{exe}, args)
	hub, err := os.StartProcess(line[0], line, &os.ProcAttr{
		Dir: "/", Env: append(attach.HubEnviron(os.Environ()), "PATH="+usualPath), Files: []*os.File{null, out, log},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	_ = out.Close()
	if err != nil {
		return fmt.Errorf("the shared hub cannot be started: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = said.SetReadDeadline(deadline)
	}
	text, err := bufio.NewReader(io.LimitReader(said, int64(len(readyLine)))).ReadString('\n')
	switch {
	case text == readyLine:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		_ = hub.Kill() // its guardian, or who was to start it: the hub ends with it
		return fmt.Errorf("the shared hub has not started within %s; see %s", startTime, path)
	}
	return fmt.Errorf("the shared hub did not start: %s (%s)", lastLine(path, end), path)
}

// usualPath is the PATH of a hub that belongs to no window. Servers get the PATH of their session.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// hubLog opens the log of shared hubs.
func hubLog() (*os.File, string, error) {
	state := rundir.State(os.Getenv)
	if state == "" {
		return nil, "", errors.New("there is no state folder for the log of a shared hub: neither XDG_STATE_HOME nor HOME is set")
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, "", err
	}
	path := filepath.Join(state, "shared.log")
	if info, err := os.Lstat(path); err == nil && info.Size() > logSize {
		_ = os.Rename(path, path+".1")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	return f, path, err
}

// lastLine returns the last that a log has said since it was so long.
func lastLine(path string, since int64) string {
	f, err := os.Open(path)
	if err != nil {
		return "nothing is known"
	}
	defer f.Close()
	if _, err := f.Seek(since, io.SeekStart); err != nil {
		return "nothing is known"
	}
	b, _ := io.ReadAll(io.LimitReader(f, logSize))
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "it said nothing"
}

// cleanProcess makes this process what a hub shall inherit, which belongs to no window: its umask, nice value, processors,
// limits, signals and descriptors. What cannot be made so is an error.
func cleanProcess() error {
	if first, err := os.ReadFile("/proc/1/status"); gaveUp(ownFile("status")) && (err != nil || !gaveUp(string(first))) {
		return errors.New("this client has given up new privileges (NoNewPrivs), which its hub would inherit")
	}
	const usual = 20 // getpriority(2) of a nice value of 0, as the kernel says it
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || nice != usual {
		if err = unix.Setpriority(unix.PRIO_PROCESS, 0, 0); err != nil {
			return fmt.Errorf("this client runs at nice %d, which its hub would inherit, and may not be given back", usual-nice)
		}
	}
	unix.Umask(0o022)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0) // editors raise it for what they start
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioProcess, 0, 0)
	var all unix.CPUSet
	for cpu := range len(all) * 64 {
		all.Set(cpu)
	}
	_ = unix.SchedSetaffinity(0, &all) // the ones that the control group leaves
	if err := usualLimits(); err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM) // nohup: one that is ignored stays so
	return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// gaveUp reports whether the process with this status has given up new privileges, as it must to be held by Landlock.
func gaveUp(status string) bool { return strings.Contains(status, "\nNoNewPrivs:\t1\n") }

const unlimited = ^uint64(0)

// ioprioProcess is IOPRIO_WHO_PROCESS of ioprio_set(2).
const ioprioProcess = 1

// limits are what a hub needs of each resource, and the soft limit that it and its servers get; 0: the hard one.
var limits = []struct {
	resource   int
	name       string
	need, soft uint64
}{
	{unix.RLIMIT_CPU, "CPU time", unlimited, 0},
	{unix.RLIMIT_FSIZE, "the size of files", unlimited, 0},
	{unix.RLIMIT_DATA, "data", unlimited, 0},
	{unix.RLIMIT_AS, "address space", unlimited, 0},
	{unix.RLIMIT_STACK, "the stack", 8 << 20, 8 << 20},
	{unix.RLIMIT_NPROC, "processes", 1024, 0},
	{unix.RLIMIT_NOFILE, "open files", 4096, 1024}, // who uses select(2) takes no more
}

// checkLimits returns which limit of this process is too low for a hub.
func checkLimits() error {
	for _, l := range limits {
		var own syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &own); err != nil {
			return fmt.Errorf("the limit on %s: %w", l.name, err)
		}
		if own.Max < l.need {
			return fmt.Errorf("%s is limited to %d for this client (ulimit), which its hub would inherit", l.name, own.Max)
		}
	}
	return nil
}

// usualLimits sets the limits of this process to what is usual.
func usualLimits() error {
	if err := checkLimits(); err != nil {
		return err
	}
	for _, l := range limits {
		var own syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &own); err != nil {
			return fmt.Errorf("the limit on %s: %w", l.name, err)
		}
		if own.Cur = own.Max; l.soft != 0 {
			own.Cur = l.soft
		}
		if err := syscall.Setrlimit(l.resource, &own); err != nil {
			return fmt.Errorf("the limit on %s: %w", l.name, err)
		}
	}
	return nil
}
