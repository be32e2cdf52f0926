package notify

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// socketVariable names the service manager's socket, in its environment's way.
	socketVariable = "NOTIFY_SOCKET"
	// RelayVariable holds, in the environment of the hub, the descriptor that leads to the
	// guardian.
	RelayVariable = "MCPHUB_NOTIFY"
	longest       = 4 << 10 // bytes of a message
)

// to is the descriptor that messages go to; 0: no one listens.
var to atomic.Int64

// Inherit takes over the guardian's socket, in the hub; without one, the socket of the
// service manager itself.
func Inherit() {
	relay := os.Getenv(RelayVariable)
	socket := os.Getenv(socketVariable)
	_ = os.Unsetenv(RelayVariable)
	_ = os.Unsetenv(socketVariable)
	if fd, err := strconv.Atoi(relay); err == nil && isSocket(fd) {
		unix.CloseOnExec(fd)
		to.Store(int64(fd))
		return
	}
	if fd := dialManager(socket); fd > 0 {
		to.Store(int64(fd))
	}
}

// isSocket reports whether a descriptor is one that Relay gives.
func isSocket(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return fd > 2 && err == nil && kind == unix.SOCK_SEQPACKET
}

// dialManager opens the socket of the service manager; 0: there is none.
func dialManager(name string) int {
	if name == "" || name[0] != '/' && name[0] != '@' {
		return 0
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	if unix.Connect(fd, &unix.SockaddrUnix{Name: name}) != nil {
		_ = unix.Close(fd)
		return 0
	}
	return fd
}

// Relay passes on what the hub says, until the hub has ended. hub is the descriptor to
// give it, which the caller closes once the hub has it; 0: no one listens.
func Relay() (hub int) {
	manager := dialManager(os.Getenv(socketVariable))
	if manager == 0 {
		return 0
	}
	// The one who reads it learns that the other end is closed, as of no socket of datagrams.
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(manager)
		return 0
	}
	go func() {
		message := make([]byte, longest)
		for {
			n, err := unix.Read(pair[0], message)
			switch {
			case err == unix.EINTR:
			case err != nil || n == 0:
				return
			default:
				_, _ = unix.Write(manager, message[:n])
			}
		}
	}()
	return pair[1]
}

// Tell says something to the service manager, if there is one.
func Tell(lines ...string) {
	if fd := int(to.Load()); fd > 0 && len(lines) > 0 {
		_, _ = unix.Write(fd, []byte(strings.Join(lines, "\n")))
	}
}

// Reloading returns what is told at the beginning of a reload; Ready ends it.
func Reloading() []string {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return nil
	}
	return []string{"RELOADING=1", "MONOTONIC_USEC=" + strconv.FormatInt(now.Nano()/int64(time.Microsecond), 10)}
}
