package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/internal/ownership"
)

// ErrNone means that no hub runs to which a session could attach.
var ErrNone = errors.New("no shared hub runs")

// ErrSilent is the error of a hub that takes a connection and does not answer in time.
var ErrSilent = errors.New("does not answer")

// ErrOff means that a hub runs which takes no sessions any more, because hub.json says so.
var ErrOff = errors.New("hub.json does not want a shared hub any more")

// ErrBroken means that no hub can be started, because hub.json cannot be read.
var ErrBroken = errors.New("hub.json cannot be read; mcphub validate shows why")

// answerTime bounds each answer of the hub before it has the descriptors: a hub that hangs is said to within
// two seconds.
const answerTime = 1500 * time.Millisecond

// An Adapter is this process, attached to a hub that has its descriptors.
type Adapter struct {
	fd       int
	hub      int // the process
	dir      string
	endpoint Endpoint
	rest     []byte // read, and not yet a line
}

// Attach hands the descriptors of input, output and error to the hub of an endpoint, and of what keeps the state of the
// session if there is that. If the error is not
// nil the hub has not touched them, and never will. trust says by a connected socket why who listens
// there is none to hand them to.
func Attach(e Endpoint, s Surroundings, handed []int, trust func(socket int) error) (*Adapter, error) {
	none := ErrNone
	for _, dir := range e.Dirs {
		if ownership.CheckFolder(dir) != nil {
			continue
		}
		a, err := attachIn(dir, e, s, handed, trust)
		if err == nil {
			return a, nil
		}
		if !errors.Is(err, ErrNone) {
			return nil, err
		}
		none = err
	}
	return nil, none
}

func attachIn(dir string, e Endpoint, s Surroundings, handed []int, trust func(socket int) error) (_ *Adapter, err error) {
	path := e.Socket(dir)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("no socket: %w", err)
	}
	a := &Adapter{fd: fd, dir: dir, endpoint: e}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	limit := unix.NsecToTimeval(answerTime.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} { // the latter bounds connect too
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &limit); err != nil {
			return nil, fmt.Errorf("the shared hub's socket %s: %w", path, err)
		}
	}
	switch err := repeatInterrupted(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) }); {
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT):
		return nil, ErrNone
	case err != nil:
		return nil, socketError(path, err)
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, socketError(path, err)
	}
	if int(peer.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s is user %d's socket", path, peer.Uid)
	}
	a.hub = int(peer.Pid)
	if err := trust(fd); err != nil {
		if a.hubEnds(moment) && a.hasEnded() {
			return nil, ErrNone
		}
		return nil, fmt.Errorf("process %d, which listens at %s, is not trusted: %w", a.hub, path, err)
	}
	secret, err := e.readSecret(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if a.hubEnds(answerTime / 2) {
			return nil, ErrNone
		}
		return nil, fmt.Errorf("the secret of the shared hub at %s is gone; end process %d, and a new one is started", path, a.hub)
	}
	if err != nil {
		return nil, err
	}
	body, err := s.Encode()
	if err != nil {
		return nil, err
	}
	steps := []struct {
		say    []byte
		handed []byte
		want   string
	}{
		{[]byte(Hello + secret + "\n"), nil, Ready},
		{body, unix.UnixRights(handed...), OK},
	}
	for _, step := range steps {
		if err := a.sendAll(step.say, step.handed); err != nil {
			return nil, socketError(path, err)
		}
		line, err := a.readLine()
		switch why, refused := strings.CutPrefix(line, Refuse); {
		case err != nil:
			return nil, socketError(path, err)
		case refused && why == "":
			return nil, ErrOff
		case refused:
			return nil, errors.New("the shared hub refused: " + why)
		case line != step.want:
			return nil, fmt.Errorf("what answers at %s is no hub of this program", path)
		}
	}
	if err := a.sendAll([]byte(Go+"\n"), nil); err != nil {
		return nil, socketError(path, err)
	}
	return a, nil
}

// moment is how long a hub that is not trusted has to show that it was ending.
const moment = 100 * time.Millisecond

// hasEnded reports whether the hub has removed its secret or is no process any more. What only hangs up is still there, and would hide by
// that why it is not trusted.
func (a *Adapter) hasEnded() bool {
	_, err := a.endpoint.readSecret(a.dir)
	_, errProcess := os.Readlink(fmt.Sprintf("/proc/%d/exe", a.hub)) // a process that was killed may still be listed
	return errors.Is(err, fs.ErrNotExist) || errors.Is(errProcess, fs.ErrNotExist)
}

// hubEnds reports whether the hub ends within a time, so that no one can tell any more what it was. A hub that ends removes its secret, and
// then closes the connections, which takes a while on a machine under load.
func (a *Adapter) hubEnds(most time.Duration) bool {
	gone, until := []unix.PollFd{{Fd: int32(a.fd)}}, time.Now().Add(most)
	err := repeatInterrupted(func() error {
		_, err := unix.Poll(gone, int(max(0, time.Until(until)).Milliseconds()))
		return err
	})
	return err == nil && gone[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// IsListening reports whether someone listens at a socket.
func IsListening(path string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = repeatInterrupted(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) })
	return err == nil || errors.Is(err, unix.EAGAIN) // its queue is full
}

// startLockPause is how long an adapter waits before it looks again whether it has the lock.
const startLockPause = 10 * time.Millisecond

// AwaitStartLock waits until no other adapter has the hub of the endpoint started, for at most so long. listens: a hub is there meanwhile.
// Otherwise the caller has it started, and calls end then.
func (e Endpoint) AwaitStartLock(most time.Duration) (end func(), listens bool) {
	dir, fd := "", -1
	for _, dir = range e.Dirs {
		if ownership.CheckFolder(dir) == nil {
			fd, _ = unix.Open(e.startLock(dir), unix.O_CREAT|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
			break
		}
	}
	if fd < 0 { // the start makes the folder, and has a lock of its own
		return func() {}, false
	}
	end = func() { _ = unix.Close(fd) }
	for until := time.Now().Add(most); ; time.Sleep(startLockPause) {
		mine := repeatInterrupted(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }) == nil
		if listens = IsListening(e.Socket(dir)); mine || listens || time.Now().After(until) {
			return end, listens
		}
	}
}

// socketError returns what an error of the socket means.
func socketError(path string, err error) error {
	switch {
	case errors.Is(err, errEnded), errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
		return ErrNone // it ended before it took anything
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ETIMEDOUT):
		return fmt.Errorf("the shared hub at %s %w; it is stopped or hangs", path, ErrSilent)
	}
	return fmt.Errorf("the shared hub at %s: %w", path, err)
}

// sendAll writes all of b; the first byte carries the descriptors.
func (a *Adapter) sendAll(b, rights []byte) error {
	for len(b) > 0 {
		n := 0
		err := repeatInterrupted(func() (err error) {
			n, err = unix.SendmsgN(a.fd, b, rights, nil, unix.MSG_NOSIGNAL)
			return err
		})
		if err != nil {
			return err
		}
		b, rights = b[n:], nil
	}
	return nil
}

var errEnded = errors.New("it has ended")

// readLine reads up to the next line end.
func (a *Adapter) readLine() (string, error) {
	for {
		if line, rest, whole := strings.Cut(string(a.rest), "\n"); whole {
			a.rest = []byte(rest)
			return line, nil
		}
		if len(a.rest) > LongestLine {
			return "", errors.New("its answer is too long")
		}
		var b [512]byte
		n := 0
		err := repeatInterrupted(func() (err error) {
			n, _, err = unix.Recvfrom(a.fd, b[:], 0)
			return err
		})
		switch {
		case err != nil:
			return "", err
		case n == 0:
			return "", errEnded
		}
		a.rest = append(a.rest, b[:n]...)
	}
}

// repeatInterrupted repeats an interrupted call.
func repeatInterrupted(call func() error) error {
	err := call()
	for errors.Is(err, unix.EINTR) {
		err = call()
	}
	return err
}

// Wait returns the exit status once the hub has ended the session. An error reports
// that it has ended without that.
func (a *Adapter) Wait() (status int, err error) {
	forever := unix.Timeval{}
	if err := unix.SetsockoptTimeval(a.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &forever); err != nil {
		return 1, err
	}
	line, err := a.readLine()
	if text, ok := strings.CutPrefix(line, End); ok && err == nil {
		if status, err = strconv.Atoi(text); err == nil {
			return status, nil
		}
	}
	a.endpoint.noteEnd(a.dir, a.hub, time.Now())
	return 1, fmt.Errorf("the shared hub (process %d) that served this client has ended", a.hub)
}

// Restartable returns why no other hub is to take the session over; nil: one may.
func (a *Adapter) Restartable() error { return a.endpoint.TooManyEnds(a.dir, time.Now()) }

// Close closes the connection to the hub.
func (a *Adapter) Close() { _ = unix.Close(a.fd) }

// HangUp has the hub read hub.json again, as SIGHUP does.
func (a *Adapter) HangUp() { _ = a.sendAll([]byte(HangUp+"\n"), nil) }

// Disconnect ends the session in order: the hub ends it, then Wait returns.
func (a *Adapter) Disconnect() { _ = unix.Shutdown(a.fd, unix.SHUT_WR) }

// Program returns the file by which this program starts itself: by its name, which people see, as long as an upgrade
// has not put another version there.
func Program() string {
	const own = "/proc/self/exe"
	exe, err := os.Executable()
	if err != nil {
		return own
	}
	named, err := os.Stat(exe)
	if err != nil {
		return own
	}
	if running, err := os.Stat(own); err != nil || !os.SameFile(named, running) {
		return own
	}
	return exe
}
