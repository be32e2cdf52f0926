package guardian

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/internal/caller"
	"mcphub/internal/kept"
)

// leaveTime bounds how long a shared hub may take to end a session in order.
const leaveTime = 10 * time.Second

const (
	// startLockTime is how long an adapter waits for another one that has the hub started.
	startLockTime = 15 * time.Second
	// againTime is how long an adapter tries to bring its session to the next hub, and longestPause is how long it waits between.
	againTime    = 30 * time.Second
	longestPause = 2 * time.Second
)

// attachFirst hands this process's streams to a hub that others share, if hub.json wants that: then it
// does not return. why reports why it was not possible; "": no one wants it.
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
	c := &client{endpoint: endpoint, session: line.Surroundings(dir, environ), handed: []int{0, 1, 2}}
	if kept.CanKeep(0, 1) {
		c.keepState()
	}
	if why := c.attachSession(); why != nil {
		c.dropState()
		if errors.Is(why, attach.ErrOff) || errors.Is(why, attach.ErrBroken) {
			return "" // the hub that serves this client says what is wrong with hub.json
		}
		return why.Error()
	}
	os.Exit(c.waitForEnd())
	return ""
}

// A client is what an adapter brings to one hub after the other.
type client struct {
	endpoint attach.Endpoint
	session  attach.Surroundings
	handed   []int // descriptors; more than three: the state of the session is kept

	mu      sync.Mutex // guards what follows, since signals come at any time
	hub     *attach.Adapter
	leaving bool
}

// keepState makes what keeps the state of the session, and holds the client's streams beside 0 and 1. If it fails, the adapter
// ends with its hub.
func (c *client) keepState() {
	files, err := kept.NewFiles()
	if err != nil {
		return
	}
	handed := []int{0, 1, 2, files[0], files[1], files[2]}
	for i := range 2 {
		if handed[i], err = unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			files.Close()
			for _, fd := range handed[:i] {
				_ = unix.Close(fd)
			}
			return
		}
	}
	c.handed = handed
}

func (c *client) keepsState() bool { return len(c.handed) > 3 }

// dropState closes what keep has made.
func (c *client) dropState() {
	for _, fd := range c.handed {
		if fd > 2 {
			_ = unix.Close(fd)
		}
	}
}

// attachSession brings the session to the hub that runs, or has one started: by this adapter or, while that waits, by another.
func (c *client) attachSession() error {
	for range 3 {
		a, err := attach.Attach(c.endpoint, c.session, c.handed, caller.Hub)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.hub != nil {
				c.hub.Close()
			}
			c.hub = a
			if c.leaving {
				a.Disconnect()
			}
			return nil
		}
		if !errors.Is(err, attach.ErrNone) {
			return err
		}
		end, listens := c.endpoint.AwaitStartLock(startLockTime)
		if err = nil; !listens {
			err = startShared()
		}
		end()
		if err != nil {
			return err
		}
	}
	return errors.New("the shared hub ended as soon as it had started")
}

// waitForEnd waits until a hub has ended the session of an adapter, and reports what happens meanwhile. It returns the status to end with.
func (c *client) waitForEnd() (status int) {
	signals := forSignals()
	letGo()
	go func() {
		for sig := range signals {
			c.sendSignal(sig.(syscall.Signal))
		}
	}()
	GiveBack()
	for {
		status, err := c.hub.Wait()
		if err == nil {
			return status
		}
		c.mu.Lock()
		over := c.leaving || !c.keepsState()
		c.mu.Unlock()
		if over {
			sayLine(err.Error() + "; start the client's session again")
			return status
		}
		c.session.Again = true
		why := c.hub.Restartable()
		if why == nil {
			sayLine(err.Error() + "; another one takes the session over")
			why = c.attachAgain()
		}
		if why != nil {
			sayLine(err.Error() + ", and no other takes the session over: " + why.Error() + "; start the client's session again")
			return status
		}
	}
}

// attachAgain works like attachSession for a session that is kept: what keeps it from a hub may pass, so it tries again for againTime.
func (c *client) attachAgain() error {
	said, pause := false, 50*time.Millisecond
	for until := time.Now().Add(againTime); ; time.Sleep(pause) {
		why := c.attachSession()
		c.mu.Lock()
		over := c.leaving || time.Now().After(until)
		c.mu.Unlock()
		if why == nil || over || errors.Is(why, attach.ErrOff) || c.hub.Restartable() != nil {
			return why
		}
		if !said {
			said = true
			sayLine("no hub takes the session over yet, and it is tried again for " + againTime.String() + ": " + why.Error())
		}
		pause = min(2*pause, longestPause)
	}
}

func (c *client) sendSignal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case sig == unix.SIGHUP:
		c.hub.HangUp()
	case c.leaving:
		os.Exit(128 + int(sig))
	default:
		c.leaving = true
		time.AfterFunc(leaveTime, func() { os.Exit(128 + int(sig)) })
		c.hub.Disconnect()
	}
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

// startShared has the shared hub started by the whole program, which can read hub.json. The error is ErrOff if hub.json does not
// want one, and ErrBroken if it cannot be read.
func startShared() error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("no pipe: %w", err)
	}
	said := os.NewFile(uintptr(pipe[0]), "what the start says")
	defer said.Close()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(pipe[1])
		return err
	}
	args := append([]string{os.Args[0], "serve", attach.StartFlag}, os.Args[2:]...)
	pid, err := syscall.ForkExec("/proc/self/exe", args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{uintptr(null), uintptr(pipe[1]), uintptr(null)}})
	_ = unix.Close(pipe[1])
	_ = unix.Close(null)
	if err != nil {
		return fmt.Errorf("the shared hub cannot be started: %w", err)
	}
	text, _ := io.ReadAll(io.LimitReader(said, attach.LongestLine))
	var ws unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &ws, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil && ws.Exited() && ws.ExitStatus() == 0 {
		return nil
	}
	why := strings.TrimSpace(string(bytes.ToValidUTF8(text, nil)))
	switch {
	case why == attach.ErrBroken.Error():
		return attach.ErrBroken
	case why != "":
		return errors.New(why)
	case err == nil && ws.Exited():
		return attach.ErrOff
	}
	return errors.New("what was to start the shared hub was killed")
}
