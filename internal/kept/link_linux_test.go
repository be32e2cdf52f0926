package kept

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
)

// stream makes a stream of a client that does not block: a pipe, or sockets.
func stream(t *testing.T, socket bool) (here, there int) {
	t.Helper()
	var p [2]int
	err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK)
	if socket {
		p, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) })
	return p[0], p[1]
}

// opened maps the memory again, as the next hub does.
func opened(t *testing.T, f Files, out int) *Memory {
	t.Helper()
	var own Files
	for i, fd := range f {
		var err error
		if own[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := Open(own, Limits{Frame: 4 << 20, ID: 64, Requests: 100}, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// ways are the ways of the bytes to the client.
var ways = []string{"spliced", "through the adapter's pipe", "socket"}

// take has the memory take a way.
func (m *Memory) take(t *testing.T, way string) {
	t.Helper()
	switch {
	case way == "spliced" && m.direct == 0:
		needs.Missing(t, "Linux 6.6: here splice(2) lends pages of memory")
	case way != "spliced" && m.direct > 0:
		_ = unix.Close(m.direct)
		m.direct = 0
	}
}

// TestTheOutputGoesOn: hub after hub writes frames to a client that reads now and then, in each way, and each is given up at
// any point. The client gets each byte once, in order.
func TestTheOutputGoesOn(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			r := seeds.Rand(t)
			files, err := NewFiles()
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			client, hub := stream(t, way == "socket")
			var want, got []byte
			room := make([]byte, 1<<20)
			read := func() {
				b := room[:1+r.IntN(len(room))]
				if n, err := unix.Read(client, b); err == nil {
					got = append(got, b[:n]...)
				}
			}
			for range 40 {
				m := opened(t, files, hub)
				m.take(t, way)
				for range r.IntN(6) {
					frame := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, []int{1, 300, 5000, 70_000, 1 << 20}[r.IntN(5)])
					if m.Room(len(frame) + 1) {
						m.Append([][]byte{frame}, nil)
						want = append(append(want, frame...), '\n')
					}
					for range r.IntN(4) {
						_, _ = m.Send(hub, nil)
					}
					if r.IntN(2) == 0 {
						read()
					}
				}
			}
			m := opened(t, files, hub)
			for tries := 0; len(got) < len(want) && tries < 100_000; tries++ {
				_, _ = m.Send(hub, nil)
				read()
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the client got %d bytes of %d", len(got), len(want))
			}
			if passed, accepted := m.Output(); passed != accepted || passed != uint64(len(want)) {
				t.Errorf("%d of %d bytes have left, of %d", passed, accepted, len(want))
			}
		})
	}
}

// whoSends names, in the environment of a process that TestKilledWhileItSends starts, the way that it takes.
const whoSends = "MCPHUB_KEPT_SENDS"

// numbered returns the frame of a number, and its line end.
func numbered(n uint64) []byte { return fmt.Appendf(nil, "%0*d\n", 3000, n) }

// TestKilledWhileItSends kills hub after hub with -9 while it writes to a client, in each way. The client gets each frame once, in order.
// MCPHUB_LONG_CASES says how many hubs of each way.
func TestKilledWhileItSends(t *testing.T) {
	if way := os.Getenv(whoSends); way != "" {
		sendUntilKilled(t, way)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			r := seeds.Rand(t)
			files, err := NewFiles()
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			client, hub := stream(t, way == "socket")
			opened(t, files, hub).take(t, way)
			handed := make([]*os.File, 0, 4)
			for _, fd := range []int{files[0], files[1], files[2], hub} {
				again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
				if err != nil {
					t.Fatal(err)
				}
				f := os.NewFile(uintptr(again), "handed")
				defer f.Close()
				handed = append(handed, f)
			}
			var got []byte
			next := uint64(0)
			room := make([]byte, 64<<10)
			for range seeds.Cases(t, 10) {
				cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestKilledWhileItSends$")
				cmd.Env = append(os.Environ(), whoSends+"="+way)
				cmd.ExtraFiles = handed
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for until := next + 1 + r.Uint64N(200); next < until; {
					if _, err := unix.Poll([]unix.PollFd{{Fd: int32(client), Events: unix.POLLIN}}, -1); err != nil {
						continue
					}
					n, err := unix.Read(client, room)
					if err != nil {
						t.Fatal(err)
					}
					for got = append(got, room[:n]...); len(got) >= 3001; next++ {
						if !bytes.Equal(got[:3001], numbered(next)) {
							t.Fatalf("frame %d is %.20q ... %.20q", next, got, got[2980:3001])
						}
						got = got[3001:]
					}
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
			}
			t.Logf("%d frames", next)
		})
	}
}

// sendUntilKilled writes frame after frame, behind those of the hubs before.
func sendUntilKilled(t *testing.T, way string) {
	m, _, err := Open(Files{3, 4, 5}, Limits{Frame: 4 << 20, ID: 64, Requests: 100}, 6)
	if err != nil {
		t.Fatal(err)
	}
	m.take(t, way)
	for {
		if passed, accepted := m.Output(); accepted-passed < 100<<10 {
			frame := numbered(accepted / 3001)
			m.Append([][]byte{frame[:3000]}, nil)
		}
		_, _ = m.Send(6, nil)
	}
}

// TestMemoryThatIsNone: what is handed over in its place is refused, and the size of what is taken stays.
func TestMemoryThatIsNone(t *testing.T) {
	files, err := NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	_, hub := stream(t, false)
	limits := Limits{Frame: 1 << 20, ID: 64, Requests: 10}
	for name, f := range map[string]Files{
		"three pipes":    {files[1], files[1], files[2]},
		"three memories": {files[0], files[0], files[0]},
	} {
		if m, _, err := Open(f, limits, hub); err == nil {
			m.Close()
			t.Errorf("%s: taken", name)
		}
	}
	m := opened(t, files, hub)
	if err := unix.Ftruncate(files[0], 0); err == nil {
		t.Error("the memory can be taken away")
	}
	if !slices.Equal(m.Record(), nil) {
		t.Error("a record is there")
	}
}

// TestMemoryThatIsTakenAwayMeanwhile: an adapter that makes the memory smaller while the hub opens it makes no access fault.
func TestMemoryThatIsTakenAwayMeanwhile(t *testing.T) {
	_, hub := stream(t, false)
	for range 50 {
		files, err := NewFiles()
		if err != nil {
			t.Fatal(err)
		}
		again, err := unix.FcntlInt(uintptr(files[0]), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		begun := make(chan struct{})
		wg.Go(func() {
			defer unix.Close(again)
			close(begun)
			for range 3000 {
				if unix.Ftruncate(again, page) != nil {
					return // the size is sealed
				}
			}
		})
		<-begun
		m, _, err := Open(files, Limits{Frame: 1 << 20, ID: 64, Requests: 10}, hub)
		if err != nil {
			files.Close()
		} else {
			_ = m.Arena()[m.inputSize-1]
			m.Reading(0, 0, 100)
			m.Close()
		}
		wg.Wait()
	}
}

// TestMemoryOfAnySize: what may still grow or has another size than a hub lays out is refused.
func TestMemoryOfAnySize(t *testing.T) {
	_, hub := stream(t, false)
	limits := Limits{Frame: 1 << 20, ID: 64, Requests: 10}
	for name, c := range map[string]struct{ size, seals int }{
		"it may grow":   {limits.layoutFor().size, unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL},
		"it is small":   {2 * page, seals},
		"it is nothing": {0, seals},
	} {
		files, err := NewFiles()
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(files[0], int64(c.size)); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(files[0]), unix.F_ADD_SEALS, c.seals); err != nil {
			t.Fatal(err)
		}
		if m, _, err := Open(files, limits, hub); err == nil {
			m.Close()
			t.Errorf("%s: taken", name)
			continue
		}
		files.Close()
	}
}

// TestNoPointerIsShared: what the hub gives to the kernel lies in memory that no other process can change, but for the number that the kernel gives
// back.
func TestNoPointerIsShared(t *testing.T) {
	files, err := NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	client, hub := stream(t, true)
	m := opened(t, files, hub)
	m.Append([][]byte{[]byte("frame")}, nil)
	if n, err := m.Send(hub, nil); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	b := make([]byte, 10)
	if n, err := unix.Read(client, b); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	if got := m.sentBySocket(); got != 6 {
		t.Errorf("the kernel has put %d there", got)
	}
	from := uint64(uintptr(unsafe.Pointer(&m.b[0])))
	for at := 0; at < headSize; at += 8 {
		if v := m.loadWord(at); v >= from && v < from+uint64(m.size) || v == uint64(uintptr(unsafe.Pointer(&m.iov))) {
			t.Errorf("a pointer stands at %d", at)
		}
	}
	if n := unsafe.Sizeof(unix.Msghdr{}); n != 56 && n != 28 {
		t.Errorf("a msghdr has %d bytes", n)
	}
	if private%unix.Getpagesize() != 0 {
		t.Error("the private bytes are no whole pages")
	}
}

// TestAnotherVersionsMemory: it is refused, and stays as it is.
func TestAnotherVersionsMemory(t *testing.T) {
	files, err := NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	_, hub := stream(t, false)
	limits := Limits{Frame: 4 << 20, ID: 64, Requests: 100}
	m := opened(t, files, hub)
	m.storeWord(atMagic, magic+1<<56)
	if n, _, err := Open(files, limits, hub); err == nil {
		n.Close()
		t.Error("taken")
	}
}

// TestMemoryIsGivenBack: what is no more used takes no memory and is 0, and nothing around it is. The hub can only read
// by the descriptor that it holds.
func TestMemoryIsGivenBack(t *testing.T) {
	files, err := NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	_, hub := stream(t, false)
	m := opened(t, files, hub)
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, l := range links {
		if to, _ := os.Readlink("/proc/self/fd/" + l.Name()); strings.Contains(to, "mcphub session") {
			fd, err := strconv.Atoi(l.Name())
			if err != nil {
				t.Fatal(err)
			}
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY {
				written++
			}
		}
	}
	if written != 1 { // the adapter's
		t.Errorf("%d descriptors can write to the memory", written)
	}
	arena := m.Arena()[:1<<20]
	for i := range arena {
		arena[i] = 'x'
	}
	const at, n = 3*page + 100, 300 << 10
	before := blocks(t, files[0])
	m.punchPages(m.input+at, n)
	if given := (before - blocks(t, files[0])) * 512; given < n/2 {
		t.Errorf("%d bytes are given back", given)
	}
	for i, b := range arena {
		if within := i >= at && i < at+n; within != (b == 0) {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}

// TestALargeFrameLeavesNothingBehind: once it has left, the pipe of the adapter is as narrow as before, and the memory is given back.
// Another frame is not waited for.
func TestALargeFrameLeavesNothingBehind(t *testing.T) {
	files, err := NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	client, hub := stream(t, false)
	m := opened(t, files, hub)
	m.take(t, "through the adapter's pipe")
	room := make([]byte, 1<<20)
	send := func(n int) (widest int) {
		t.Helper()
		m.Append([][]byte{make([]byte, n)}, nil)
		for tries := 0; ; tries++ {
			_, _ = m.Send(hub, nil)
			widest = max(widest, m.pipeSize())
			if passed, accepted := m.Output(); passed == accepted {
				break
			} else if tries > 10_000 {
				t.Fatalf("%d of %d bytes have left", passed, accepted)
			}
			_, _ = unix.Read(client, room)
		}
		for {
			if _, err := unix.Read(client, room); err != nil {
				return widest
			}
		}
	}
	before := send(100)
	if wide := send(3 * stays); wide <= before {
		t.Errorf("the pipe holds %d bytes while a large frame leaves, and %d before", wide, before)
	}
	if took := blocks(t, files[0]) * 512; took > 2*stays {
		t.Errorf("the memory takes %d bytes", took)
	}
	if after := send(100); after != before {
		t.Errorf("the pipe holds %d bytes, and %d before", after, before)
	}
}

// blocks returns how many blocks of 512 bytes the memory takes.
func blocks(t *testing.T, fd int) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks
}

// TestANumberOfAnotherProcessIsNoByteThatHasLeft: another process writes to the memory while the client's stream is full. What it stores where
// the kernel puts its number does not count, so that the rest still goes to the client. Control: the numbers are stored all the time.
func TestANumberOfAnotherProcessIsNoByteThatHasLeft(t *testing.T) {
	for _, way := range []string{"spliced", "socket"} {
		t.Run(way, func(t *testing.T) {
			files, err := NewFiles()
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			_, hub := stream(t, way == "socket")
			m := opened(t, files, hub)
			m.take(t, way)
			m.Append([][]byte{make([]byte, 1<<20)}, nil)
			for err = error(nil); err == nil; {
				_, err = m.Send(hub, nil)
			}
			if !errors.Is(err, unix.EAGAIN) {
				t.Fatal(err)
			}
			other, err := unix.Mmap(files[0], 0, headSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				t.Fatal(err)
			}
			var stop atomic.Bool
			stores, ended := atomic.Int64{}, make(chan struct{})
			go func() {
				defer close(ended)
				for !stop.Load() {
					atomic.StoreUint64((*uint64)(unsafe.Pointer(&other[atSent])), 1<<40|77)
					stores.Add(1)
				}
			}()
			passed, _ := m.Output()
			for range 20_000 {
				n, err := m.Send(hub, nil)
				if now, _ := m.Output(); n != 0 || !errors.Is(err, unix.EAGAIN) || now != passed {
					t.Errorf("the stream is full, and %d bytes have left: %d, %v", now-passed, n, err)
					break
				}
			}
			stop.Store(true)
			<-ended
			if stores.Load() == 0 {
				t.Error("the other process stored nothing")
			}
			if err := unix.Munmap(other); err != nil {
				t.Error(err)
			}
		})
	}
}
