package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
)

// This file is about what a child changes outside by system calls that open nothing.

// path returns a name as the kernel takes it.
func path(name string) uintptr {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		panic(err)
	}
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

// kept are names that a system call may still read.
var kept []*byte

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// at is AT_FDCWD as an argument.
const at = ^uintptr(99)

// told are calls by which a child changes a file: its path, and a descriptor of it that is open to read.
var told = map[string]func(name string, fd uintptr) error{
	"chmod":     func(name string, _ uintptr) error { return unix.Chmod(name, 0o666) },
	"fchmod":    func(_ string, fd uintptr) error { return call(unix.SYS_FCHMOD, fd, 0o666) },
	"fchmodat":  func(name string, _ uintptr) error { return call(unix.SYS_FCHMODAT, at, path(name), 0o666) },
	"fchmodat2": func(name string, _ uintptr) error { return call(unix.SYS_FCHMODAT2, at, path(name), 0o666, 0) },
	"fchmodat2 of a descriptor": func(_ string, fd uintptr) error {
		return call(unix.SYS_FCHMODAT2, fd, path(""), 0o666, unix.AT_EMPTY_PATH)
	},
	"chmod of /proc/self/fd": func(_ string, fd uintptr) error {
		return unix.Chmod("/proc/self/fd/"+strconv.Itoa(int(fd)), 0o666)
	},
	"chmod from /proc/self/root": func(name string, _ uintptr) error { return unix.Chmod("/proc/self/root"+name, 0o666) },
	"chmod from a folder": func(name string, _ uintptr) error {
		dir, err := unix.Open(filepath.Dir(name), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return call(unix.SYS_FCHMODAT, uintptr(dir), path(filepath.Base(name)), 0o666)
	},
	"chmod through a link": func(name string, _ uintptr) error {
		link := filepath.Join(mustGetwd(), "link")
		if err := os.Symlink(name, link); err != nil {
			return err
		}
		return unix.Chmod(link, 0o666)
	},
	"chmod from the own folder": func(name string, _ uintptr) error {
		rel, err := filepath.Rel(mustGetwd(), name)
		if err != nil {
			return err
		}
		return unix.Chmod(rel, 0o666)
	},
	"utimensat": func(name string, _ uintptr) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
	},
	"futimens": func(_ string, fd uintptr) error {
		times := [2]unix.Timespec{{Sec: 1}, {Sec: 1}}
		return call(unix.SYS_UTIMENSAT, fd, 0, uintptr(unsafe.Pointer(&times)), 0)
	},
	"chown": func(name string, _ uintptr) error { // to whom it belongs already: that changes ctime, and takes a setuid bit away
		return call(unix.SYS_FCHOWNAT, at, path(name), uintptr(unix.Getuid()), uintptr(unix.Getgid()), 0)
	},
	"fchown": func(_ string, fd uintptr) error {
		return call(unix.SYS_FCHOWN, fd, uintptr(unix.Getuid()), uintptr(unix.Getgid()))
	},
	"setxattr":  func(name string, _ uintptr) error { return unix.Setxattr(name, "user.mcphub", []byte("x"), 0) },
	"lsetxattr": func(name string, _ uintptr) error { return unix.Lsetxattr(name, "user.mcphub", []byte("x"), 0) },
	"fsetxattr": func(_ string, fd uintptr) error { return unix.Fsetxattr(int(fd), "user.mcphub", []byte("x"), 0) },
	"setxattrat": func(name string, _ uintptr) error {
		value := []byte("x")
		args := struct {
			value       uint64
			size, flags uint32
		}{uint64(uintptr(unsafe.Pointer(&value[0]))), 1, 0}
		err := call(unix.SYS_SETXATTRAT, at, path(name), 0, path("user.mcphub"), uintptr(unsafe.Pointer(&args)), 16)
		runtime.KeepAlive(value)
		return err
	},
	"removexattr":  func(name string, _ uintptr) error { return unix.Removexattr(name, "user.there") },
	"lremovexattr": func(name string, _ uintptr) error { return unix.Lremovexattr(name, "user.there") },
	"fremovexattr": func(_ string, fd uintptr) error { return unix.Fremovexattr(int(fd), "user.there") },
	"removexattrat": func(name string, _ uintptr) error {
		return call(unix.SYS_REMOVEXATTRAT, at, path(name), 0, path("user.there"))
	},
}

func mustGetwd() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}

func init() {
	attacks["change"] = func(a []string) (string, error) { // of a file that it may open to read
		fd, err := unix.Open(a[1], unix.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		return "", told[a[0]](a[1], uintptr(fd))
	}
	attacks["raise"] = func(a []string) (string, error) { return "", raise[a[0]](a[1]) }
	attacks["flags"] = func(a []string) (string, error) { // by a descriptor that is open to read
		fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		request, _ := strconv.ParseUint(a[1], 0, 64)
		var was [128]byte
		if err := call(unix.SYS_IOCTL, uintptr(fd), unix.FS_IOC_GETFLAGS, uintptr(unsafe.Pointer(&was))); err != nil {
			return "", fmt.Errorf("get: %w", err)
		}
		was[0] |= 0x40 // FS_NODUMP_FL
		return "", call(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(&was)))
	}
	attacks["queue"] = func(a []string) (string, error) { return "", call(unix.SYS_MQ_UNLINK, path(a[0])) }
	attacks["refused calls"] = func(a []string) (string, error) { return refusedCalls(), nil }
	attacks["listener"] = func(a []string) (string, error) { // of its own, above the hub's
		runtime.LockOSThread()
		filter := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		prog := unix.SockFprog{Len: 1, Filter: &filter[0]}
		return "", call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	}
}

// overlay makes a file system of a folder outside, attached nowhere: the kernel removes
// what is called work in it. It takes a process of one thread.
const overlay = `perl -e '
mkdir "lower"; mkdir "upper"; my $u = $>;
syscall(272, 0x10020000) == 0 or die "unshare: $!"; # of users and of mounts
for (["setgroups", "deny"], ["uid_map", "0 $u 1"]) { open(my $f, ">", "/proc/self/$$_[0]") and syswrite($f, $$_[1]) } # which works where /proc may be written
my ($overlay, $key, $value) = ("overlay");
my $fd = syscall(430, $overlay, 0); $fd >= 0 or die "fsopen: $!";
for (["lowerdir", "{root}/lower"], ["upperdir", "{root}/upper"], ["workdir", "{out}"]) {
  ($key, $value) = @$_; syscall(431, $fd, 1, $key, $value, 0) == 0 or die "fsconfig $key: $!";
}
$key = "userxattr"; syscall(431, $fd, 0, $key, 0, 0) == 0 or die "fsconfig $key: $!" if $u;
syscall(431, $fd, 6, 0, 0, 0) == 0 or die "fsconfig: $!"'`

// raise are ways to a file that runs with the rights of its owner.
var raise = map[string]func(name string) error{
	"chmod":  func(name string) error { return errors.Join(made(name), unix.Chmod(name, 0o4755)) },
	"setgid": func(name string) error { return errors.Join(made(name), unix.Chmod(name, 0o2755)) },
	"fchmodat2": func(name string) error {
		return errors.Join(made(name), call(unix.SYS_FCHMODAT2, at, path(name), 0o4755, 0))
	},
	"fchmod": func(name string) error {
		fd, err := unix.Open(name, unix.O_CREAT|unix.O_RDWR, 0o700)
		return errors.Join(err, call(unix.SYS_FCHMOD, uintptr(fd), 0o6755))
	},
	"openat": func(name string) error {
		return call(unix.SYS_OPENAT, at, path(name), unix.O_CREAT|unix.O_RDWR, 0o4755)
	},
	"openat2": func(name string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR, Mode: 0o4755})
		_ = unix.Close(fd)
		return err
	},
	"mknodat": func(name string) error { return call(unix.SYS_MKNODAT, at, path(name), unix.S_IFREG|0o4755, 0) },
	"O_TMPFILE": func(name string) error {
		fd, err := unix.Open(filepath.Dir(name), unix.O_TMPFILE|unix.O_RDWR, 0o4755)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	},
	"tar": func(name string) error {
		return shell("cd " + filepath.Dir(name) + " && cp /bin/true from && chmod u+s from && tar cf t from && mkdir d && tar -C d -xpf t && mv d/from " + name)
	},
	"another user namespace": func(name string) error {
		return errors.Join(made(name), shell("unshare -Ur chmod 4755 "+name))
	},
	"io_uring": func(string) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)))
	},
	"a capability": func(name string) error { // of the file
		v2 := []byte{0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		return errors.Join(made(name), unix.Setxattr(name, "security.capability", v2, 0))
	},
}

func made(name string) error { return os.WriteFile(name, nil, 0o700) }

func shell(script string) error {
	said, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// refusedCalls returns how calls fail that may never be made: of mounts and the like,
// each with arguments that are wrong.
func refusedCalls() string {
	var b strings.Builder
	for _, c := range []struct {
		name   string
		number uintptr
	}{
		{"mount", unix.SYS_MOUNT}, {"umount2", unix.SYS_UMOUNT2}, {"pivot_root", unix.SYS_PIVOT_ROOT}, {"fsopen", unix.SYS_FSOPEN}, {"fspick", unix.SYS_FSPICK},
		{"fsconfig", unix.SYS_FSCONFIG}, {"fsmount", unix.SYS_FSMOUNT}, {"open_tree", unix.SYS_OPEN_TREE}, {"open_tree_attr", unix.SYS_OPEN_TREE_ATTR},
		{"move_mount", unix.SYS_MOVE_MOUNT}, {"mount_setattr", unix.SYS_MOUNT_SETATTR}, {"file_setattr", unix.SYS_FILE_SETATTR},
		{"openat2", unix.SYS_OPENAT2}, {"clone3", unix.SYS_CLONE3}, {"io_uring_setup", unix.SYS_IO_URING_SETUP}, {"io_uring_enter", unix.SYS_IO_URING_ENTER}, {"io_uring_register", unix.SYS_IO_URING_REGISTER},
		{"a newer one", 9999}, {"getpid of x32", 0x40000000 + 39},
	} {
		err := call(c.number, ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0))
		fmt.Fprintf(&b, "%s: %v\n", c.name, err)
	}
	fmt.Fprintf(&b, "getpid of 32 bits: %v\n", getpid32())
	return b.String()
}

var errFault = errors.New("the machine has none")

// getpid32 makes a system call of i386, as a 64-bit program can: mov $20,%eax; int $0x80;
// ret. Some virtual machines have no such calls: there it faults.
func getpid32() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			err = errFault
		}
	}()
	if runtime.GOARCH != "amd64" {
		return unix.ENOSYS
	}
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(code, []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3})
	at := &code[0]
	value := &at // what a func value points to begins with the address of its code
	if got := int32((*(*func() uint64)(unsafe.Pointer(&value)))()); got < 0 {
		return unix.Errno(-got)
	}
	return nil
}

// kinds are profiles that differ in what the filter has to refuse.
func kinds(t *testing.T, root string) map[string]*sandbox.Profile {
	t.Helper()
	all := map[string]*sandbox.Profile{}
	for name, change := range map[string]func(*sandbox.Profile){
		"auto":       func(*sandbox.Profile) {},
		"required":   func(p *sandbox.Profile) { p.Attributes = true },
		"sockets on": func(p *sandbox.Profile) { p.Sockets = true },
		"browser": func(p *sandbox.Profile) {
			p.Sockets = true
			p.Rules = sandbox.Sorted(append(p.Rules, sandbox.Rule{Path: "/proc", Access: sandbox.Read | sandbox.Write}))
		},
		"unbounded":   func(p *sandbox.Profile) { p.Unbounded = true },
		"network off": func(p *sandbox.Profile) { p.Network = sandbox.Network{} },
	} {
		p := profileFor(t, root)
		change(p)
		all[name] = p
	}
	return all
}

// TestRefusedCalls: whatever the profile is, mounts, io_uring, what stands behind a
// pointer, and what is not known are refused. Without a filter at least one of each is
// answered otherwise.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	landlocked(t)
	w := newWorld(t)
	want := `mount: operation not permitted
umount2: operation not permitted
pivot_root: operation not permitted
fsopen: operation not permitted
fspick: operation not permitted
fsconfig: operation not permitted
fsmount: operation not permitted
open_tree: operation not permitted
open_tree_attr: operation not permitted
move_mount: operation not permitted
mount_setattr: operation not permitted
file_setattr: operation not permitted
openat2: function not implemented
clone3: function not implemented
io_uring_setup: function not implemented
io_uring_enter: function not implemented
io_uring_register: function not implemented
a newer one: function not implemented
getpid of x32: function not implemented
getpid of 32 bits: function not implemented
`
	free := confined(t, nil, child(t, w.root, "refused calls"))
	if strings.Contains(free, "32 bits: "+errFault.Error()) {
		t.Log("this machine has no system calls of 32 bits")
		want = strings.Replace(want, "32 bits: function not implemented", "32 bits: "+errFault.Error(), 1)
	}
	for name, p := range kinds(t, w.root) {
		if got := strings.TrimPrefix(confined(t, p, child(t, w.root, "refused calls")), "done: "); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	if strings.Contains(free, "openat2: function not") || strings.Contains(free, "clone3: function not") || strings.Contains(free, "32 bits: function not") && runtime.GOARCH == "amd64" || !strings.Contains(free, "fsconfig: invalid") && !strings.Contains(free, "fsconfig: bad") {
		t.Errorf("without a filter these are refused too, so this shows nothing:\n%s", free)
	}
}

// TestOverlay: a file system that is attached nowhere changes nothing outside.
func TestOverlay(t *testing.T) {
	t.Parallel()
	landlocked(t)
	needs.Program(t, "perl")
	play := func(change func(root string) *sandbox.Profile) (gone bool, said string) {
		w := newWorld(t)
		work := filepath.Join(w.out, "work")
		if err := os.WriteFile(work, []byte(canary), 0o600); err != nil {
			t.Fatal(err)
		}
		said = confined(t, change(w.root), child(t, w.root, "shell", strings.NewReplacer("{root}", w.root, "{out}", w.out).Replace(overlay)))
		b, _ := os.ReadFile(work)
		return string(b) != canary, said
	}
	gone, said := play(func(string) *sandbox.Profile { return nil })
	switch {
	case gone:
	case strings.Contains(said, "unshare") || strings.Contains(said, "fsopen"):
		t.Logf("the attack does not work on this machine anyway: %s", said)
	default:
		t.Errorf("without the sandbox nothing is removed, so this shows nothing: %s", said)
	}
	for name := range kinds(t, t.TempDir()) {
		if gone, said := play(func(root string) *sandbox.Profile { return kinds(t, root)[name] }); gone || !strings.Contains(said, "not permitted") {
			t.Errorf("%s: removed %t: %s", name, gone, said)
		}
	}
}

// TestRaisedBits: no file that runs with the rights of its owner comes from a child.
func TestRaisedBits(t *testing.T) {
	t.Parallel()
	landlocked(t)
	programs := map[string]string{"tar": "tar", "another user namespace": "unshare"}
	for way := range raise {
		t.Run(way, func(t *testing.T) {
			if program := programs[way]; program != "" {
				needs.Program(t, program)
			}
			play := func(p *sandbox.Profile, w world) (raised bool, said string) {
				name := filepath.Join(w.root, "raised")
				said = confined(t, p, child(t, w.root, "raise", way, name))
				var st unix.Stat_t
				if err := unix.Lstat(name, &st); err == nil && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
					return true, said
				}
				size, _ := unix.Getxattr(name, "security.capability", nil)
				return size > 0 || way == "io_uring" && strings.HasPrefix(said, "done:"), said
			}
			switch raised, said := play(nil, newWorld(t)); {
			case raised:
			case way == "another user namespace", way == "a capability" && unix.Getuid() != 0, way == "io_uring":
				t.Logf("the attack does not work here anyway: %s", said)
			default:
				t.Errorf("without the sandbox it does not come, so this shows nothing: %s", said)
			}
			w := newWorld(t)
			for name := range kinds(t, w.root) {
				w := newWorld(t)
				if raised, said := play(kinds(t, w.root)[name], w); raised || !strings.HasPrefix(said, "refused:") {
					t.Errorf("%s: %s", name, said)
				}
			}
		})
	}
	// The last argument of an open that makes nothing is anything.
	w := newWorld(t)
	if out := confined(t, profileFor(t, w.root), child(t, w.root, "open with garbage", filepath.Join(w.root, "mine"))); !strings.HasPrefix(out, "done:") {
		t.Errorf("%s", out)
	}
}

func init() {
	attacks["open with garbage"] = func(a []string) (string, error) {
		return "", call(unix.SYS_OPENAT, at, path(a[0]), unix.O_RDONLY, ^uintptr(0))
	}
}

// TestReadOnlyControl: who has a file open to read changes none of it by ioctl.
func TestReadOnlyControl(t *testing.T) {
	t.Parallel()
	landlocked(t)
	const short = 0x40046602 // FS_IOC32_SETFLAGS
	for name := range kinds(t, t.TempDir()) {
		for _, request := range []uint64{unix.FS_IOC_SETFLAGS, short, unix.FS_IOC_SETFLAGS | 1<<40} {
			w := newWorld(t)
			p := kinds(t, w.root)[name]
			p.Rules = sandbox.Sorted(append(p.Rules, sandbox.Rule{Path: w.out, Access: sandbox.Read}))
			if out := confined(t, p, child(t, w.root, "flags", w.secret, fmt.Sprint(request))); !strings.Contains(out, "refused: operation not permitted") {
				t.Errorf("%s, %x: %s", name, request, out)
			}
		}
	}
	w := newWorld(t)
	if out := confined(t, nil, child(t, w.root, "flags", w.secret, fmt.Sprint(uint64(unix.FS_IOC_SETFLAGS)))); strings.Contains(out, "get:") {
		t.Logf("this file system has no flags, so nothing was shown: %s", out)
	} else if !strings.HasPrefix(out, "done:") {
		t.Errorf("without the sandbox it is refused too: %s", out)
	}
}

// TestQueues: messages of POSIX have no path for Landlock.
func TestQueues(t *testing.T) {
	landlocked(t)
	w := newWorld(t)
	open := profileFor(t, w.root)
	open.Sockets = true
	for i, tc := range []struct {
		p    *sandbox.Profile
		gone bool
	}{{nil, true}, {open, true}, {profileFor(t, w.root), false}} {
		name := "mcphub-test-" + strconv.Itoa(unix.Getpid()) + "-" + strconv.Itoa(i)
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, path(name), unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)
		if errno != 0 {
			needs.Missing(t, fmt.Errorf("this machine has no queues: %w", errno))
		}
		_ = unix.Close(int(fd))
		out := confined(t, tc.p, child(t, w.root, "queue", name))
		if left := call(unix.SYS_MQ_UNLINK, path(name)) == nil; left == tc.gone {
			t.Errorf("%d: gone %t: %s", i, !left, out)
		}
	}
}

// TestAttributes: required holds modes, owners, times and attributes of files outside,
// also of the ones that it may read. Without it each is changed.
func TestAttributes(t *testing.T) {
	t.Parallel()
	landlocked(t)
	for name := range told {
		t.Run(name, func(t *testing.T) {
			play := func(profile func(world) *sandbox.Profile) (changed bool, said string) {
				w := newWorld(t)
				if err := unix.Setxattr(w.secret, "user.there", []byte("x"), 0); err != nil && strings.Contains(name, "xattr") {
					needs.Missing(t, fmt.Errorf("this file system has no attributes: %w", err))
				}
				if strings.Contains(name, "chown") { // the one who gives a file away, also to himself, takes the bit
					if err := os.Chmod(w.secret, 0o700|os.ModeSetuid); err != nil {
						t.Fatal(err)
					}
				}
				was := attributes(t, w.secret)
				said = confined(t, profile(w), child(t, w.root, "change", name, w.secret))
				return attributes(t, w.secret) != was, said
			}
			free := func(world) *sandbox.Profile { return nil }
			held := func(w world) *sandbox.Profile {
				p := profileFor(t, w.root)
				p.Rules = sandbox.Sorted(append(p.Rules, sandbox.Rule{Path: w.out, Access: sandbox.Read | sandbox.Execute}))
				p.Attributes = true
				return p
			}
			if changed, said := play(free); !changed && strings.Contains(said, "not implemented") {
				t.Logf("this kernel has no such call: %s", said)
			} else if !changed {
				t.Errorf("without the sandbox nothing changes, so this shows nothing: %s", said)
			}
			if changed, said := play(held); changed || !strings.HasPrefix(said, "refused:") {
				t.Errorf("changed %t: %s", changed, said)
			}
			open := func(w world) *sandbox.Profile {
				p := held(w)
				p.Rules = sandbox.Sorted(append(p.Rules, sandbox.Rule{Path: w.out, Access: sandbox.Write}))
				return p
			}
			if changed, said := play(open); !changed && !strings.Contains(said, "not implemented") {
				t.Errorf("where it may write it is refused: %s", said)
			}
		})
	}
}

// attributes returns the attributes of a file that a child may want to change.
func attributes(t *testing.T, name string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		t.Fatal(err)
	}
	list := make([]byte, 1024)
	n, _ := unix.Llistxattr(name, list)
	return fmt.Sprintf("%o %d:%d %d %q", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, bytes.ReplaceAll(list[:max(n, 0)], []byte{0}, []byte{' '}))
}

// TestWithinAnotherFilter: everything works where the hub itself is filtered, as in a
// container.
func TestWithinAnotherFilter(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^(TestRefusedCalls|TestOverlay|TestAttributes|TestReadOnlyControl|TestSameResults)$", "-test.v")
	cmd.WaitDelay = 5 * time.Second
	started := make(chan error, 1)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	go sandbox.OnThread(func() {
		filter := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		prog := unix.SockFprog{Len: 1, Filter: &filter[0]}
		started <- errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
			unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0), cmd.Run())
	})
	if err := <-started; err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestListener: who answers for the hub cannot be had a second time, neither above it nor
// below.
func TestListener(t *testing.T) {
	t.Parallel()
	landlocked(t)
	w := newWorld(t)
	p := profileFor(t, w.root)
	if out := confined(t, p, child(t, w.root, "listener")); !strings.HasPrefix(out, "done:") {
		t.Errorf("under auto a program has its own: %s", out)
	}
	p.Attributes = true
	if out := confined(t, p, child(t, w.root, "listener")); !strings.Contains(out, "refused: device or resource busy") {
		t.Errorf("%s", out)
	}
}

// TestRequiredWithinAListener: where someone above answers already, no one is confined
// in part.
func TestRequiredWithinAListener(t *testing.T) {
	landlocked(t)
	w := newWorld(t)
	p := profileFor(t, w.root)
	p.Attributes = true
	said := make(chan string, 1)
	go sandbox.OnThread(func() {
		filter := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		prog := unix.SockFprog{Len: 1, Filter: &filter[0]}
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err := call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog))); err != nil {
			said <- err.Error()
			return
		}
		box, err := sandbox.Prepare(sandbox.CurrentKernel(), p, false)
		if err != nil {
			said <- err.Error()
			return
		}
		defer box.Close()
		said <- fmt.Sprint(box.Enter())
	})
	if got := <-said; !strings.Contains(got, "another program decides") || !strings.Contains(got, syscall.EBUSY.Error()) {
		t.Errorf("%s", got)
	}
}
