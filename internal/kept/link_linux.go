package kept

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An outputPath is the way of the bytes to the client.
type outputPath struct {
	pipe    [2]int
	between int // bytes in the pipe
	holds   int // bytes that the pipe can hold
	asked   int // bytes that the pipe was asked to hold last
	direct  int // the memory, of which bytes are copied into the client's pipe; 0: they go through the adapter's pipe
	socket  bool
	region  []byte // the memory, behind private pages
	iov     unix.Iovec
}

// Files are the descriptors that an adapter holds for its session: the memory, and a pipe.
type Files [3]int

// NewFiles makes them. They are closed on exec.
func NewFiles() (f Files, err error) {
	if f[0], err = unix.MemfdCreate("mcphub session", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return f, err
	}
	if err = unix.Pipe2(f[1:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		_ = unix.Close(f[0])
	}
	return f, err
}

// Close closes them.
func (f Files) Close() {
	for _, fd := range f {
		_ = unix.Close(fd)
	}
}

// CanKeep reports whether the state of a session over these two streams can be kept: they are pipes or sockets.
func CanKeep(in, out int) bool {
	return unsafe.Sizeof(uintptr(0)) == 8 && (isKind(in, unix.S_IFIFO) || isKind(in, unix.S_IFSOCK)) && (isKind(out, unix.S_IFIFO) || isKind(out, unix.S_IFSOCK))
}

func isKind(fd int, kind uint32) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == kind
}

// seals keep the size of the memory, so that no process can make another one fault.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Open maps the memory of a session, and lays it out for these limits if no hub has done that before. restored: another hub
// has kept something in it. The files are the Memory's if there is no error, and still the caller's if there is one. out is where the bytes for the client go.
func Open(f Files, l Limits, out int) (m *Memory, restored bool, err error) {
	if !isKind(f[1], unix.S_IFIFO) || !isKind(f[2], unix.S_IFIFO) || !isKind(f[0], unix.S_IFREG) {
		return nil, false, errors.New("the session brings no memory for its state")
	}
	have, err := unix.FcntlInt(uintptr(f[0]), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, false, fmt.Errorf("the memory for the state of the session: %w", err)
	}
	if have&unix.F_SEAL_SHRINK == 0 {
		if err = unix.Ftruncate(f[0], int64(l.layoutFor().size)); err == nil {
			_, err = unix.FcntlInt(uintptr(f[0]), unix.F_ADD_SEALS, seals)
		}
		if err != nil {
			return nil, false, fmt.Errorf("the memory for the state of the session: %w", err)
		}
	}
	size, err := sealedSize(f[0])
	if err != nil {
		return nil, false, err
	}
	by := outputPath{socket: isKind(out, unix.S_IFSOCK)}
	if by.region, err = mapMemory(f[0], size); err != nil {
		return nil, false, fmt.Errorf("the memory for the state of the session: %w", err)
	}
	b := by.region[private:]
	if by.pipe, err = reopenPipe(f[1], f[2]); err != nil {
		by.unmapMemory()
		return nil, false, err
	}
	by.holds = by.pipeSize()
	if !by.socket && splicesCopies() {
		by.direct, _ = openDirect(f[0])
	}
	if _, restored = readHead(b[:headSize]); restored {
		if by.between, err = unix.IoctlGetInt(f[1], unix.TIOCINQ); err == nil {
			m, err = restoreMemory(b, by)
		}
	} else {
		m, err = createMemory(b, l, by)
	}
	if err != nil {
		by.unmapMemory()
		by.closePipe()
		return nil, false, err
	}
	f.Close()
	return m, restored, nil
}

// sealedSize returns the size of the memory, which no process can change any more.
func sealedSize(fd int) (int, error) {
	var st unix.Stat_t
	have, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return 0, fmt.Errorf("the memory for the state of the session: %w", err)
	}
	if have&seals != seals || st.Size < headSize || st.Size > 16*maxFrame {
		return 0, errForged
	}
	return int(st.Size), nil
}

// private is how many private bytes lie before the memory: pages of any system.
const private = 64 << 10

// mapMemory maps the memory behind private pages.
func mapMemory(fd, size int) (region []byte, err error) {
	const access = unix.PROT_READ | unix.PROT_WRITE
	p, err := unix.MmapPtr(-1, 0, nil, private+uintptr(size), access, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	region = unsafe.Slice((*byte)(p), private+size)
	if _, err = unix.MmapPtr(fd, 0, unsafe.Pointer(&region[private]), uintptr(size), access, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
		_ = unix.MunmapPtr(p, uintptr(len(region)))
	}
	return region, err
}

func (l *outputPath) unmapMemory() {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(l.region)), uintptr(len(l.region)))
}

// reopenPipe opens both ends of a pipe again, so that no other process can make them block.
func reopenPipe(r, w int) (pipe [2]int, err error) {
	for i, end := range []struct{ fd, flag int }{{r, unix.O_RDONLY}, {w, unix.O_WRONLY}} {
		if pipe[i], err = unix.Open("/proc/self/fd/"+strconv.Itoa(end.fd), end.flag|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
			if i == 1 {
				_ = unix.Close(pipe[0])
			}
			return pipe, fmt.Errorf("the pipe of the adapter: %w", err)
		}
	}
	return pipe, nil
}

func (l *outputPath) closePipe() {
	_, _ = unix.Close(l.pipe[0]), unix.Close(l.pipe[1])
	if l.direct > 0 {
		_ = unix.Close(l.direct)
	}
}

// openDirect opens memory again, to splice from it. O_DIRECT has splice(2) copy the bytes instead of lending the pages, since Linux 6.6.
func openDirect(fd int) (direct int, err error) {
	if direct, err = unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0); err != nil {
		return 0, err
	}
	return direct, nil
}

// splicesCopies reports whether what was spliced from memory into a pipe stays as it was when the memory changes.
var splicesCopies = sync.OnceValue(func() bool {
	f, err := NewFiles()
	if err != nil {
		return false
	}
	defer f.Close()
	from, err := openDirect(f[0])
	if err != nil {
		return false
	}
	defer unix.Close(from)
	got, at := make([]byte, 1), int64(0)
	if _, err = unix.Pwrite(f[0], []byte{1}, 0); err == nil {
		_, err = unix.Splice(from, &at, f[2], nil, 1, unix.SPLICE_F_NONBLOCK)
	}
	if err == nil {
		_, err = unix.Pwrite(f[0], []byte{2}, 0)
	}
	if err == nil {
		_, err = unix.Read(f[1], got)
	}
	return err == nil && at == 1 && got[0] == 1
})

// Close unmaps the memory and closes the files, when nothing is read or written any more. Late callers of other methods find
// nothing.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unmapMemory()
	m.b = nil
	m.closePipe()
}

func (l *outputPath) pipeSize() int {
	if n, err := unix.FcntlInt(uintptr(l.pipe[1]), unix.F_GETPIPE_SZ, 0); err == nil {
		return n
	}
	return page
}

// punchPages gives whole pages back, and clears the rest: all of it is 0 from then on.
func (m *Memory) punchPages(at, n int) {
	whole, end := unix.Getpagesize(), at+n
	from, to := roundUp(at, whole), end/whole*whole
	if m.region == nil || from >= to || unix.Madvise(m.b[from:to], unix.MADV_REMOVE) != nil {
		from, to = end, end
	}
	clear(m.b[at:from])
	clear(m.b[to:end])
}

// Send writes what can be written without waiting to the stream, and returns how much has left.
func (m *Memory) Send(stream int, _ [][]byte) (int, error) {
	if m.socket {
		return m.sendToSocket(stream)
	}
	if m.direct > 0 && m.between == 0 {
		return m.sendDirectly(stream)
	}
	return m.sendToPipe(stream)
}

// sendDirectly has the kernel copy bytes of the memory into the client's pipe, and put the place behind them into the memory.
func (m *Memory) sendDirectly(stream int) (int, error) {
	b := m.nextBytes()
	if len(b) == 0 {
		return 0, nil
	}
	from := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(m.b))))
	slot := m.commitAttempt()
	m.storeWord(atSent, from)
	m.storeWord(slot+attemptBytes, from)
	m.storeWord(slot+attemptMade, bySplice)
	n, errno := moveBytes(unix.SYS_SPLICE, len(b), uintptr(m.direct), uintptr(unsafe.Pointer(m.wordAt(atSent))), uintptr(stream), 0, uintptr(len(b)), unix.SPLICE_F_NONBLOCK)
	if errno != 0 {
		return 0, errno
	}
	m.noteLeft(n)
	return n, nil
}

// sendToSocket has the kernel put how much has left into the memory. In the mmsghdr of sendmmsg(2) the number stands
// behind a msghdr. The msghdr, with its pointers, stands at the end of the private pages, so that no other process can change it.
func (m *Memory) sendToSocket(stream int) (int, error) {
	b := m.nextBytes()
	if len(b) == 0 {
		return 0, nil
	}
	h := (*unix.Msghdr)(unsafe.Pointer(&m.region[private-unsafe.Sizeof(unix.Msghdr{})]))
	m.iov.Base = unsafe.SliceData(b)
	m.iov.SetLen(len(b))
	*h = unix.Msghdr{Iov: &m.iov}
	h.SetIovlen(1)
	slot := m.commitAttempt()
	m.storeWord(atSent, 0)
	m.storeWord(slot+attemptMade, bySocket)
	_, errno := moveBytes(unix.SYS_SENDMMSG, len(b), uintptr(stream), uintptr(unsafe.Pointer(h)), 1, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno // what stands in the memory then is no number of the kernel
	}
	n := int(min(m.sentBySocket(), uint64(len(b))))
	m.noteLeft(n)
	return n, nil
}

// sendToPipe puts bytes into the adapter's pipe if that is empty, and has the kernel move them on.
func (m *Memory) sendToPipe(stream int) (int, error) {
	if m.between == 0 {
		b := m.nextBytes()
		if len(b) == 0 {
			return 0, nil
		}
		m.fit(len(b))
		b = b[:min(len(b), m.holds)]
		slot := m.commitAttempt()
		n, errno := moveBytes(unix.SYS_WRITE, len(b), uintptr(m.pipe[1]), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
		if errno != 0 {
			return 0, fmt.Errorf("the pipe of the adapter: %w", errno)
		}
		m.storeWord(slot+attemptBytes, uint64(n))
		m.storeWord(slot+attemptMade, byPipe)
		m.between = n
	}
	n, errno := moveBytes(unix.SYS_SPLICE, 0, uintptr(m.pipe[0]), 0, uintptr(stream), 0, uintptr(m.between), unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
	if errno != 0 {
		return 0, errno
	}
	m.between -= n
	m.noteLeft(n)
	return n, nil
}

// What the adapter's pipe is made to hold while large frames leave, and while others do: what a user has for all pipes is bounded.
const (
	widest    = 512 << 10
	narrowest = 64 << 10
)

// fit has the adapter's pipe, which is empty, hold as much as is needed for so many bytes.
func (m *Memory) fit(n int) {
	want := narrowest
	if n > narrowest {
		want = widest
	}
	if m.holds == want || m.asked == want {
		return
	}
	m.asked = want
	_, _ = unix.FcntlInt(uintptr(m.pipe[1]), unix.F_SETPIPE_SZ, want) // the bound may be reached
	m.holds = m.pipeSize()
}

// moveBytes makes a system call that moves so many bytes, unannounced if they are few: to announce one may wake a thread, which costs more
// than the call.
func moveBytes(trap uintptr, size int, a, b, c, d, e, f uintptr) (int, unix.Errno) {
	const short = 64 << 10
	var n uintptr
	var errno unix.Errno
	if size <= short {
		n, _, errno = unix.RawSyscall6(trap, a, b, c, d, e, f)
	} else {
		n, _, errno = unix.Syscall6(trap, a, b, c, d, e, f)
	}
	return int(n), errno
}
