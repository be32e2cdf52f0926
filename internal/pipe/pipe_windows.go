package pipe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	rejectRemote = 0x8      // PIPE_REJECT_REMOTE_CLIENTS
	identifyOnly = 0x110000 // SECURITY_SQOS_PRESENT, SECURITY_IDENTIFICATION: who listens cannot act as this user
	bufferSize   = 64 << 10 // of each direction
	busyWait     = time.Second / 100
)

// errOther means that another user listens.
var errOther = errors.New("the pipe is another user's")

// A Listener waits for processes that open its pipe.
type Listener struct {
	name   string
	access *windows.SECURITY_DESCRIPTOR
	stop   windows.Handle     // an event, set by Close
	wait   windows.Overlapped // of Accept; the kernel writes to it, so it must not move as what is on a stack does

	mu   sync.Mutex
	next windows.Handle // the instance that the next client opens; 0: the Listener is closed
	busy bool           // Accept waits for a client of next
}

// Listen makes a pipe. The name must not be in use.
func Listen(name string) (*Listener, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	sid := user.User.Sid.String()
	l := &Listener{name: name}
	if l.access, err = windows.SecurityDescriptorFromString("O:" + sid + "D:P(A;;GA;;;" + sid + ")"); err != nil {
		return nil, err
	}
	if l.next, err = l.makeInstance(windows.FILE_FLAG_FIRST_PIPE_INSTANCE); err != nil {
		return nil, err
	}
	if l.stop, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		_ = windows.CloseHandle(l.next)
		return nil, err
	}
	return l, nil
}

// makeInstance makes what one client can open.
func (l *Listener) makeInstance(first uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(l.name)
	if err != nil {
		return 0, err
	}
	attr := windows.SecurityAttributes{SecurityDescriptor: l.access}
	attr.Length = uint32(unsafe.Sizeof(attr))
	h, err := windows.CreateNamedPipe(name, windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED|first, windows.PIPE_TYPE_BYTE|rejectRemote,
		windows.PIPE_UNLIMITED_INSTANCES, bufferSize, bufferSize, 0, &attr)
	if err != nil {
		return 0, &os.PathError{Op: "CreateNamedPipe", Path: l.name, Err: err}
	}
	return h, nil
}

// Accept waits until a process has opened the pipe. One goroutine may call it at a time.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	h := l.next
	l.busy = h != 0
	l.mu.Unlock()
	if h == 0 {
		return nil, net.ErrClosed
	}
	err := l.awaitClient(h)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	closed := l.next == 0
	if err == nil && !closed {
		if l.next, err = l.makeInstance(0); err == nil { // the next client must find one at once
			return newConn(h, l.name), nil
		}
	}
	_ = windows.CloseHandle(h)
	if closed {
		_ = windows.CloseHandle(l.stop)
		return nil, net.ErrClosed
	}
	return nil, err
}

// awaitClient waits until a client has opened an instance, or until Close.
func (l *Listener) awaitClient(h windows.Handle) error {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(event)
	l.wait = windows.Overlapped{HEvent: event}
	switch err := windows.ConnectNamedPipe(h, &l.wait); {
	case err == nil, errors.Is(err, windows.ERROR_PIPE_CONNECTED):
		return nil
	case errors.Is(err, windows.ERROR_NO_DATA): // it has opened and closed the pipe already
		return nil
	case !errors.Is(err, windows.ERROR_IO_PENDING):
		return err
	}
	if which, err := windows.WaitForMultipleObjects([]windows.Handle{event, l.stop}, false, windows.INFINITE); err != nil || which != windows.WAIT_OBJECT_0 {
		_ = windows.CancelIoEx(h, &l.wait)
	}
	var n uint32
	return windows.GetOverlappedResult(h, &l.wait, &n, true)
}

// Close ends Accept, and takes the pipe away when its clients have gone.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == 0 {
		return net.ErrClosed
	}
	h := l.next
	l.next = 0
	if l.busy { // Accept closes both
		return windows.SetEvent(l.stop)
	}
	return errors.Join(windows.CloseHandle(h), windows.CloseHandle(l.stop))
}

// Addr returns the name of the pipe.
func (l *Listener) Addr() net.Addr { return address(l.name) }

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }

// A Conn is one end of a pipe.
type Conn struct {
	*os.File
	opened time.Time
}

func newConn(h windows.Handle, name string) *Conn {
	return &Conn{os.NewFile(uintptr(h), name), time.Now()}
}

// LocalAddr returns the name of the pipe.
func (c *Conn) LocalAddr() net.Addr { return address(c.Name()) }

// RemoteAddr returns the name of the pipe.
func (c *Conn) RemoteAddr() net.Addr { return address(c.Name()) }

// Client returns the process that has opened the pipe, and a time by which that process had started. A process that started later
// has got the id of one that has ended.
func (c *Conn) Client() (pid uint32, opened time.Time, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, c.opened, err
	}
	var failed error
	err = raw.Control(func(h uintptr) { failed = windows.GetNamedPipeClientProcessId(windows.Handle(h), &pid) })
	return pid, c.opened, errors.Join(err, failed)
}

// Dial opens a pipe of this user.
func Dial(ctx context.Context, name string) (*Conn, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	for {
		h, err := windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_OVERLAPPED|identifyOnly, 0)
		switch {
		case err == nil:
			if err := checkOwner(h); err != nil {
				_ = windows.CloseHandle(h)
				return nil, err
			}
			return newConn(h, name), nil
		case !errors.Is(err, windows.ERROR_PIPE_BUSY):
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", name, ctx.Err())
		case <-time.After(busyWait):
		}
	}
}

// checkOwner refuses a pipe that another user has made.
func checkOwner(h windows.Handle) error {
	sd, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return err
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	if !owner.Equals(user.User.Sid) {
		return errOther
	}
	return nil
}
