package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
)

func init() {
	attacks["all changes"] = func([]string) (string, error) { return allChanges(), nil }
	attacks["many changes"] = func(a []string) (string, error) {
		threads, _ := strconv.Atoi(a[0])
		each, _ := strconv.Atoi(a[1])
		return manyChanges(threads, each)
	}
	attacks["race"] = func(a []string) (string, error) { return race(a[0]) }
}

// moments are times that a file may be given. They stay if they are in memory.
var moments = map[string]*[4]int64{
	"set":     {11, 12, 13, 14},
	"omit":    {21, unix.UTIME_OMIT, 23, 24},
	"neither": {1, unix.UTIME_OMIT, 1, unix.UTIME_OMIT},
	"wrong":   {1, -5, 1, 1e10},
}

// allChanges makes every call that changes attributes, right and wrong, and tells what
// came of each.
func allChanges() string {
	var b strings.Builder
	state := func() string {
		var s strings.Builder
		for _, name := range []string{"file", "dir", "link"} {
			var st unix.Stat_t
			err := unix.Lstat(name, &st)
			value := make([]byte, 64)
			n, _ := unix.Lgetxattr(name, "user.a", value)
			same := func(sec, nsec int64) string { // now is another each time
				if sec > 1e6 {
					return "now"
				}
				return fmt.Sprint(sec, ".", nsec)
			}
			fmt.Fprintf(&s, " %s %v %o %d:%d %s %s %q;", name, err, st.Mode, st.Uid, st.Gid, same(st.Atim.Unix()), same(st.Mtim.Unix()), value[:max(n, 0)])
		}
		return s.String()
	}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	open := func(name string, flags int) uintptr {
		fd, err := unix.Open(name, flags, 0)
		must(err)
		return uintptr(fd)
	}
	must(os.WriteFile("file", []byte("x"), 0o600))
	must(os.Mkdir("dir", 0o700))
	must(os.WriteFile("dir/in", nil, 0o600))
	must(os.Symlink("file", "link"))
	must(os.Symlink("loop", "loop"))
	must(os.WriteFile("gone", nil, 0o600))
	must(unix.Mkfifo("fifo", 0o600))
	read, write, dir := open("file", unix.O_RDONLY), open("file", unix.O_WRONLY), open("dir", unix.O_RDONLY)
	found, folder, link := open("file", unix.O_PATH), open("dir", unix.O_PATH), open("link", unix.O_PATH|unix.O_NOFOLLOW)
	gone := open("gone", unix.O_RDWR)
	must(os.Remove("gone"))
	var pipe [2]int
	must(unix.Pipe(pipe[:]))
	here := mustGetwd()
	uid, gid := uintptr(unix.Getuid()), uintptr(unix.Getgid())
	keep := ^uintptr(0)
	const nofollow, empty = unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH
	long := strings.Repeat("x", 300)
	longer := strings.Repeat("x/", 3000)
	unmapped := uintptr(8)

	paths := map[string]func() (dirfd, name uintptr){
		"relative":            func() (uintptr, uintptr) { return at, path("file") },
		"absolute":            func() (uintptr, uintptr) { return at, path(here + "/file") },
		"a folder":            func() (uintptr, uintptr) { return at, path("dir") },
		"a slash":             func() (uintptr, uintptr) { return at, path("dir/") },
		"a slash on a file":   func() (uintptr, uintptr) { return at, path("file/") },
		"up and down":         func() (uintptr, uintptr) { return at, path("dir/../file") },
		"a link":              func() (uintptr, uintptr) { return at, path("link") },
		"a loop":              func() (uintptr, uintptr) { return at, path("loop") },
		"missing":             func() (uintptr, uintptr) { return at, path("missing") },
		"through a file":      func() (uintptr, uintptr) { return at, path("file/x") },
		"empty":               func() (uintptr, uintptr) { return at, path("") },
		"long":                func() (uintptr, uintptr) { return at, path(long) },
		"longer":              func() (uintptr, uintptr) { return at, path(longer) },
		"unmapped":            func() (uintptr, uintptr) { return at, unmapped },
		"null":                func() (uintptr, uintptr) { return at, 0 },
		"in a folder":         func() (uintptr, uintptr) { return dir, path("in") },
		"in a found folder":   func() (uintptr, uintptr) { return folder, path("../file") },
		"in a file":           func() (uintptr, uintptr) { return read, path("in") },
		"in nothing":          func() (uintptr, uintptr) { return 9999, path("in") },
		"absolute in nothing": func() (uintptr, uintptr) { return 9999, path(here + "/file") },
		"null in a file":      func() (uintptr, uintptr) { return read, 0 },
		"null in a found one": func() (uintptr, uintptr) { return found, 0 },
		"null in nothing":     func() (uintptr, uintptr) { return 9999, 0 },
		"empty in a file":     func() (uintptr, uintptr) { return read, path("") },
		"empty in a found":    func() (uintptr, uintptr) { return found, path("") },
		"empty in a link":     func() (uintptr, uintptr) { return link, path("") },
		"of a descriptor":     func() (uintptr, uintptr) { return at, path(fmt.Sprintf("/proc/self/fd/%d", read)) },
		"of its own number":   func() (uintptr, uintptr) { return at, path(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), read)) },
		"in a descriptor":     func() (uintptr, uintptr) { return at, path(fmt.Sprintf("/proc/thread-self/fd/%d/in", dir)) },
		"of /dev/fd":          func() (uintptr, uintptr) { return at, path(fmt.Sprintf("/dev/fd/%d", found)) },
		"from the own folder": func() (uintptr, uintptr) { return at, path("/proc/self/cwd/file") },
		"from the own root":   func() (uintptr, uintptr) { return at, path("/proc/self/root" + here + "/file") },
		"no such descriptor":  func() (uintptr, uintptr) { return at, path("/proc/self/fd/9999") },
		"a fifo":              func() (uintptr, uintptr) { return at, path("fifo") },
	}
	descriptors := map[string]uintptr{"read": read, "write": write, "folder": dir, "found": found, "link": link, "gone": gone, "none": 9999, "minus": keep}
	times := map[string]uintptr{"now": 0, "unmapped": unmapped}
	for name, when := range moments {
		times[name] = uintptr(unsafe.Pointer(when))
	}
	say := func(err error, what ...any) {
		fmt.Fprintf(&b, "%s: %v |%s\n", fmt.Sprint(what...), err, state())
		must(os.Chmod(here, 0o700))
		_ = os.Chmod("file", 0o600)
		_ = os.Chmod("dir", 0o700)
		_ = unix.Removexattr("file", "user.a")
		for _, name := range []string{"file", "dir", "link"} {
			_ = unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{{Sec: 5}, {Sec: 6}}, nofollow)
		}
	}
	value := []byte("value")
	big := make([]byte, 70000)
	at0 := func(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
	for _, name := range sorted(paths) {
		p := paths[name]
		d, n := p()
		say(call(unix.SYS_FCHMODAT, d, n, 0o751), "fchmodat ", name)
		for _, flags := range []uintptr{0, nofollow, empty, empty | nofollow, 1} {
			if flags&nofollow != 0 && (strings.HasPrefix(name, "of ") || name == "no such descriptor") {
				continue // links of /proc are no one's own
			}
			say(call(unix.SYS_FCHMODAT2, d, n, 0o640, flags), "fchmodat2 ", name, flags)
			say(call(unix.SYS_FCHOWNAT, d, n, keep, gid, flags), "fchownat ", name, flags)
			say(call(unix.SYS_FCHOWNAT, d, n, uid+1, keep, flags), "fchownat to another ", name, flags)
			for _, when := range sorted(times) {
				say(call(unix.SYS_UTIMENSAT, d, n, times[when], flags), "utimensat ", name, flags, when)
			}
		}
		if d == at && !strings.HasPrefix(name, "of ") && name != "no such descriptor" {
			for _, number := range []uintptr{unix.SYS_SETXATTR, unix.SYS_LSETXATTR} {
				say(call(number, n, path("user.a"), at0(value), 5, 0), "setxattr ", number, name)
			}
			for _, number := range []uintptr{unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR} {
				say(call(number, n, path("user.none")), "removexattr ", number, name)
			}
		}
	}
	for _, name := range sorted(descriptors) {
		fd := descriptors[name]
		say(call(unix.SYS_FCHMOD, fd, 0o611), "fchmod ", name)
		say(call(unix.SYS_FCHOWN, fd, uid, gid), "fchown ", name)
		say(call(unix.SYS_FCHOWN, fd, uid+1, gid+1), "fchown to another ", name)
		say(call(unix.SYS_FSETXATTR, fd, path("user.a"), at0(value), 5, 0), "fsetxattr ", name)
		say(call(unix.SYS_FREMOVEXATTR, fd, path("user.none")), "fremovexattr ", name)
	}
	for _, x := range []struct {
		what                     string
		name, value, size, flags uintptr
	}{
		{"empty", path("user.a"), 0, 0, 0}, {"without a name", path(""), at0(value), 5, 0}, {"long name", path("user." + long), at0(value), 5, 0},
		{"unmapped name", unmapped, at0(value), 5, 0}, {"unmapped value", path("user.a"), unmapped, 5, 0}, {"big", path("user.a"), at0(big), 70000, 0},
		{"large", path("user.a"), at0(big), 3000, 0}, {"replace what is not there", path("user.a"), at0(value), 5, unix.XATTR_REPLACE}, {"make", path("user.a"), at0(value), 5, unix.XATTR_CREATE},
		{"wrong flags", path("user.a"), at0(value), 5, 64}, {"another's", path("trusted.a"), at0(value), 5, 0}, {"a capability", path("security.capability"), at0(value), 5, 0},
		{"no such kind", path("a"), at0(value), 5, 0},
	} {
		say(call(unix.SYS_SETXATTR, path("file"), x.name, x.value, x.size, x.flags), "setxattr ", x.what)
	}
	say(unix.Setxattr("file", "user.a", value, 0), "set")
	say(unix.Chmod("file", 0o604), "chmod")
	say(unix.Chmod("file", 0o1604), "chmod with the sticky bit")
	say(unix.Chown("link", int(uid), int(gid)), "chown")
	say(unix.Lchown("link", int(uid), int(gid)), "lchown")
	say(unix.Utimes("file", []unix.Timeval{{Sec: 31, Usec: 32}, {Sec: 33, Usec: 34}}), "utimes")
	say(unix.Utimes("file", []unix.Timeval{{Sec: 31, Usec: -32}, {Sec: 33, Usec: 34}}), "utimes, wrong")
	say(unix.Utimes("file", nil), "utimes, now")
	say(unix.Futimesat(int(dir), "in", []unix.Timeval{{Sec: 31}, {Sec: 33}}), "futimesat")
	say(unix.Utime("file", &unix.Utimbuf{Actime: 41, Modtime: 42}), "utime")
	say(unix.Utime("missing", nil), "utime, missing")
	runtime.KeepAlive(value)
	runtime.KeepAlive(big)
	return b.String()
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	for i := range names { // a handful
		for j := i; j > 0 && names[j] < names[j-1]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return names
}

// TestSameResults: the one who changes what is his own sees no difference, in what comes
// of it and in how it fails, between a hub that makes the calls and a kernel that does.
func TestSameResults(t *testing.T) {
	t.Parallel()
	landlocked(t)
	play := func(attributes bool) []string {
		w := newWorld(t)
		p := profileFor(t, w.root)
		p.Attributes = attributes
		out := confined(t, p, child(t, filepath.Join(w.root, "sub"), "all changes"))
		if !strings.HasPrefix(out, "done:") {
			t.Fatal(out)
		}
		return strings.Split(strings.ReplaceAll(out, w.root, "ROOT"), "\n")
	}
	want, got := play(false), play(true)
	if len(want) != len(got) || len(got) < 500 {
		t.Fatalf("%d results, and %d", len(want), len(got))
	}
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("the kernel: %s\nthe hub:    %s", want[i], got[i])
		}
	}
}

// manyChanges changes a file's mode from many threads at once.
func manyChanges(threads, each int) (string, error) {
	if err := os.WriteFile("many", nil, 0o600); err != nil {
		return "", err
	}
	var wg sync.WaitGroup
	begun := time.Now()
	failed := make(chan error, threads)
	for range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			for i := range each {
				if err := unix.Chmod("many", uint32(0o600|i&0o77)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return "", err
	default:
		return strconv.FormatInt(time.Since(begun).Nanoseconds(), 10), nil
	}
}

// TestManyChanges: many threads at once wait for each other, and all come through. So
// they do for many children at a time.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	landlocked(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			w := newWorld(t)
			p := profileFor(t, w.root)
			p.Attributes = true
			if out := confined(t, p, child(t, w.root, "many changes", "200", "10")); !strings.HasPrefix(out, "done:") {
				t.Errorf("%s", out)
			}
		})
	}
	wg.Wait()
}

// race changes what a name leads to while another thread changes the mode of that.
func race(outside string) (string, error) {
	if err := os.WriteFile("own", nil, 0o600); err != nil {
		return "", err
	}
	own := []byte(mustGetwd() + "/own\x00")
	other := append([]byte(outside), 0)
	name := make([]byte, max(len(own), len(other)))
	copy(name, own)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var swaps atomic.Int64
	wg.Go(func() {
		for i := 0; ; i++ {
			swaps.Store(int64(i))
			select {
			case <-stop:
				return
			default:
			}
			copy(name, other)
			copy(name, own)
			_ = os.Remove("swap")
			if i%2 == 0 {
				_ = os.Symlink(outside, "swap")
			} else {
				_ = os.Symlink("own", "swap")
			}
		}
	})
	through := 0
	for tries := 0; tries < 3000 || swaps.Load() < 3000; tries++ { // both sides have to have run
		if call(unix.SYS_FCHMODAT, at, uintptr(unsafe.Pointer(&name[0])), 0o666) == nil {
			through++
		}
		if unix.Chmod("swap", 0o666) == nil {
			through++
		}
	}
	close(stop)
	wg.Wait()
	return strconv.Itoa(through), nil
}

// TestRacedChanges: a name that changes while it is judged leads to nothing outside.
func TestRacedChanges(t *testing.T) {
	t.Parallel()
	landlocked(t)
	play := func(attributes bool) (uint32, string) {
		w := newWorld(t)
		p := profileFor(t, w.root)
		p.Attributes = attributes
		out := confined(t, p, child(t, w.root, "race", w.secret))
		var st unix.Stat_t
		if err := unix.Stat(w.secret, &st); err != nil {
			t.Fatal(err)
		}
		return st.Mode & 0o777, out
	}
	if mode, out := play(false); mode != 0o666 {
		t.Errorf("under auto it does not get there, so this shows nothing: %o, %s", mode, out)
	}
	if mode, out := play(true); mode != 0o700 || !strings.HasPrefix(out, "done:") || strings.HasPrefix(out, "done: 0") {
		t.Errorf("mode %o: %s", mode, out)
	}
}

// TestEnd: the one who outlives what he came from is answered no more, and no caller
// waits for him. Until then he was.
func TestEnd(t *testing.T) {
	t.Parallel()
	landlocked(t)
	needs.Program(t, "setsid")
	for _, attributes := range []bool{false, true} {
		w := newWorld(t)
		p := profileFor(t, w.root)
		p.Attributes = attributes
		for _, name := range []string{"go", "said"} {
			if err := unix.Mkfifo(filepath.Join(w.root, name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out := confined(t, p, child(t, w.root, "shell", "chmod 640 mine && ( setsid sh -c 'read x <go; chmod 600 mine; echo $? >said' >/dev/null 2>&1 & )"))
		if !strings.HasPrefix(out, "done:") {
			t.Fatal(out)
		}
		if err := os.WriteFile(filepath.Join(w.root, "go"), []byte("now\n"), 0); err != nil {
			t.Fatal(err)
		}
		said, err := os.ReadFile(filepath.Join(w.root, "said"))
		if err != nil || (string(said) != "0\n") != attributes {
			t.Errorf("attributes held %t: %q, %v", attributes, said, err)
		}
	}
}

// BenchmarkChanges is a change of a mode, as the kernel makes it and as the hub does, and
// what a start takes.
func BenchmarkChanges(b *testing.B) {
	for _, attributes := range []bool{false, true} {
		b.Run(fmt.Sprintf("attributes=%t", attributes), func(b *testing.B) {
			dir := real(b.TempDir())
			exe, err := os.Executable()
			if err != nil {
				b.Fatal(err)
			}
			rules := []sandbox.Rule{{Path: dir, Access: sandbox.Read | sandbox.Write | sandbox.Execute}, {Path: real(exe), Access: sandbox.Read | sandbox.Execute}}
			for _, rule := range sandbox.BaseRules(os.Getenv("HOME")) {
				rules = append(rules, sandbox.Rule{Path: real(rule.Path), Access: rule.Access})
			}
			p := &sandbox.Profile{Rules: sandbox.Sorted(rules), Network: sandbox.Network{On: true}, Attributes: attributes}
			const changes = 1000
			var changing int64
			for b.Loop() {
				cmd := command(b, dir, exe, "many changes", "1", strconv.Itoa(changes))
				box, err := sandbox.Prepare(sandbox.CurrentKernel(), p, false)
				if err != nil {
					b.Fatal(err)
				}
				out := entered(box, cmd)
				took, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(out, "done: ")), 10, 64)
				if err != nil {
					b.Fatal(out)
				}
				changing += took
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds()-changing)/float64(b.N), "ns/start")
			b.ReportMetric(float64(changing)/float64(b.N*changes), "ns/change")
		})
	}
}
