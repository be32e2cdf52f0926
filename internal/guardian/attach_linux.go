package guardian

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/internal/attach"
	"mcphub/internal/caller"
)

// leaveTime bounds how long a shared hub may take to end a session in order.
const leaveTime = 10 * time.Second

// attachFirst hands this process's streams to a hub that others share, if hub.json wants that: then it
// does not return. why says why it was not possible; "": nobody wants it.
func attachFirst() (why string) {
	line, ok := attach.ParseCommandLine(os.Args[1:])
	if !ok || onTerminal() {
		return ""
	}
	environ := os.Environ()
	if !attach.Wanted(line, environ) {
		return ""
	}
	endpoint, err := attach.EndpointOf(line, environ)
	if err != nil {
		return err.Error()
	}
	dir, err := os.Getwd()
	if err != nil {
		return "its working folder is gone: " + err.Error()
	}
	session := line.Surroundings(dir, environ)
	for range 3 {
		a, err := attach.Attach(endpoint, session, caller.Hub)
		if err == nil {
			os.Exit(wait(a))
		}
		switch {
		case errors.Is(err, attach.ErrOff):
			return ""
		case !errors.Is(err, attach.ErrNone):
			return err.Error()
		}
		if started, why := startShared(); !started {
			return why
		}
	}
	return "the shared hub ended as soon as it had started"
}

// wait is the life of an adapter: it says what happens to it, until the hub has ended the
// session.
func wait(a *attach.Adapter) (status int) {
	signals := forSignals()
	letGo()
	go func() {
		leaving := false
		for sig := range signals {
			switch {
			case sig == unix.SIGHUP:
				a.HangUp()
			case leaving:
				os.Exit(128 + int(sig.(syscall.Signal)))
			default:
				leaving = true
				time.AfterFunc(leaveTime, func() { os.Exit(128 + int(sig.(syscall.Signal))) })
				a.Disconnect()
			}
		}
	}()
	GiveBack()
	status, err := a.Wait()
	if err != nil {
		say(err.Error())
	}
	return status
}

// forSignals has the signals that end or reload a hub come to a channel.
func forSignals() chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, sig := range []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) { // nohup: the hub ignores it too
			signal.Notify(signals, sig)
		}
	}
	return signals
}

// startShared has the shared hub started by the whole program, which can read hub.json. why
// says why it was not; "": hub.json does not want one.
func startShared() (started bool, why string) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return false, "no pipe: " + err.Error()
	}
	said := os.NewFile(uintptr(pipe[0]), "what the start says")
	defer said.Close()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(pipe[1])
		return false, err.Error()
	}
	args := append([]string{os.Args[0], "serve", attach.StartFlag}, os.Args[2:]...)
	pid, err := syscall.ForkExec("/proc/self/exe", args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{uintptr(null), uintptr(pipe[1]), uintptr(null)}})
	_ = unix.Close(pipe[1])
	_ = unix.Close(null)
	if err != nil {
		return false, "the shared hub cannot be started: " + err.Error()
	}
	text, _ := io.ReadAll(io.LimitReader(said, attach.LongestLine))
	var ws unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &ws, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil && ws.Exited() && ws.ExitStatus() == 0 {
		return true, ""
	}
	why = strings.TrimSpace(string(bytes.ToValidUTF8(text, nil)))
	if why == "" && !(err == nil && ws.Exited()) {
		why = "what was to start the shared hub was killed"
	}
	return false, why
}
