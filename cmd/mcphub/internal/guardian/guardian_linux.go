package guardian

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/cmd/mcphub/internal/notify"
	"mcphub/internal/proctree"
)

// variable holds, in the environment of the hub proper, its guardian's id.
const variable = "MCPHUB_GUARDIAN"

// endWait bounds how long the guardian tries to end what the hub left behind.
const endWait = 3 * time.Second

// own is the id of this process's guardian, 0 if it has none; alone is what it
// has said.
var (
	own   int
	alone string
)

func init() {
	parent, set := os.LookupEnv(variable)
	_ = os.Unsetenv(variable)
	alone = os.Getenv(attach.AloneVariable)
	_ = os.Unsetenv(attach.AloneVariable)
	if set && parent == strconv.Itoa(os.Getppid()) {
		own = os.Getppid()
		notify.Inherit()
		return
	}
	if !isGuarded(os.Args) {
		return
	}
	why := attachFirst()
	if why != "" {
		sayLine("this client has a hub of its own, although hub.json says attach: " + why)
	}
	status, err := guardHub(why)
	if err != nil {
		sayLine("no guardian could be set up, so what the servers start may outlive a hub that is killed: " + err.Error())
		notify.Inherit()
		return
	}
	os.Exit(status)
}

// IsRunning reports whether this process has a guardian.
func IsRunning() bool { return own != 0 }

// nameWait bounds how long a hub waits for the name of its guardian.
const nameWait = 2 * time.Second

// AwaitName waits until the guardian has its name, which it takes once it has started this process. By that name clients tell a hub from
// a server that another hub has started.
func AwaitName() {
	name := proctree.GuardianName(os.Getpid())
	for end := time.Now().Add(nameWait); own != 0 && time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		if p, err := proctree.Find(own); err != nil || p.Hub == name {
			return
		}
	}
}

// AloneReason returns why this hub serves by itself although hub.json states that it is shared;
// "": it does not report that.
func AloneReason() string {
	if own == 0 {
		return "" // anybody may have set the variable
	}
	return alone
}

// ClientPID returns the process that has started this hub, its guardian left out;
// -1 if that cannot be told.
func ClientPID() int {
	if own == 0 {
		return os.Getppid()
	}
	p, err := proctree.Find(own)
	if err != nil {
		return -1
	}
	return p.Parent
}

// isGuarded reports whether these arguments start servers, as a hub or to try them. A guardian where none is
// needed does no harm; what a hub starts by the hundred must not have one.
func isGuarded(args []string) bool {
	if len(args) < 2 || strings.HasSuffix(args[0], ".test") {
		return false
	}
	switch args[1] {
	case "files", "roots", "validate", "status", "reload", "version", "help", "completion", "__complete", "__completeNoDesc":
		return false
	}
	if slices.Contains(args, attach.StartFlag) {
		return false
	}
	for _, a := range args[1:] {
		switch a {
		case "serve", "call", "explain", "demo", "warm", "tools", "learn", "doctor", "add", "import", "init":
			return true
		case "-h", "--help", "--":
			return false
		}
	}
	return false
}

func sayLine(text string) { _, _ = os.Stderr.WriteString("mcphub: " + text + "\n") }

// guardHub starts the hub proper and returns its status once nothing is left of
// it and of what it started. After an error nothing has been started. alone is
// why no other hub serves this client; "": no one has asked for that.
func guardHub(alone string) (status int, err error) {
	if err := proctree.Subreaper(); err != nil {
		return 0, err
	}
	signals := forSignals()
	hub, err := startHub(alone)
	if err != nil {
		signal.Reset()
		return 0, err
	}
	_ = proctree.Rename(proctree.GuardianName(hub.pid)) // before the hub starts anybody; without /proc no one looks
	signal.Ignore(unix.SIGPIPE)                         // of a stderr that no one reads
	letGo()
	go func() {
		for sig := range signals {
			hub.sendSignal(sig.(syscall.Signal))
		}
	}()
	GiveBack()
	status = hub.waitForEnd()
	_ = proctree.Rename(proctree.HubName) // its id may be given to one of those who are left
	left, err := proctree.EndAll(os.Getpid(), endWait)
	if err != nil {
		sayLine("what the servers started could not be ended: " + err.Error())
	}
	for _, p := range left {
		sayLine("process " + strconv.Itoa(p.PID) + " could not be ended, not even by KILL: it belongs to another user, or is stuck in the kernel")
	}
	return status, nil
}

// process is the hub proper.
type process struct {
	pid int
	fd  int // stays this process's when the id is given to another; -1 if the kernel has no such
}

// startHub runs this program again below this one. An upgrade may put another program there at that moment: no client would trust a hub
// that runs another one than its guardian.
func startHub(alone string) (process, error) {
	env := append(os.Environ(), variable+"="+strconv.Itoa(os.Getpid()))
	if alone != "" {
		env = append(env, attach.AloneVariable+"="+alone)
	}
	files := []uintptr{0, 1, 2}
	if fd := notify.Relay(); fd > 0 {
		defer func() { _ = unix.Close(fd) }() // so that the hub's end of it is the only one
		env = append(env, notify.RelayVariable+"="+strconv.Itoa(len(files)))
		files = append(files, uintptr(fd))
	}
	p, err := startProgram(attach.Program(), env, files)
	if err != nil || runsOwnProgram(p.pid) {
		return p, err
	}
	p.sendSignal(unix.SIGKILL)
	p.waitForEnd()
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
	return startProgram(ownProgram, env, files)
}

// startProgram runs a file as the hub.
func startProgram(exe string, env []string, files []uintptr) (process, error) {
	p := process{fd: -1}
	var err error
	p.pid, err = syscall.ForkExec(exe, os.Args, &syscall.ProcAttr{
		Env:   env,
		Files: files,
		// A package is initialized on the main thread: Pdeathsig is sent at the
		// end of the thread that forked.
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: !onTerminal(), PidFD: &p.fd},
	})
	if err != nil {
		return p, errors.New(exe + ": " + err.Error())
	}
	return p, nil
}

const ownProgram = "/proc/self/exe"

// runsOwnProgram reports whether a process runs the file that this one runs, as far as that can be told.
func runsOwnProgram(pid int) bool {
	own, err := os.Stat(ownProgram)
	if err != nil {
		return true
	}
	its, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
	return err != nil || os.SameFile(own, its)
}

// onTerminal reports whether the hub needs to be in the terminal's foreground.
func onTerminal() bool {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			return true
		}
	}
	return false
}

// letGo closes the guardian's own ends of the client's pipes: they shall end
// when the hub ends.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 2 {
		_ = unix.Dup3(null, fd, 0)
	}
	_ = unix.Close(null)
}

func (p process) sendSignal(sig syscall.Signal) {
	if p.fd < 0 || errors.Is(unix.PidfdSendSignal(p.fd, sig, nil, 0), unix.ENOSYS) {
		_ = unix.Kill(p.pid, sig)
	}
}

// waitForEnd returns the hub's status, and waits for others whom this process
// inherits meanwhile.
func (p process) waitForEnd() int {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return 1 // ECHILD: someone else has waited for it, which cannot be
		case pid != p.pid:
		case ws.Exited():
			return ws.ExitStatus()
		case ws.Signaled():
			return 128 + int(ws.Signal())
		}
	}
}
