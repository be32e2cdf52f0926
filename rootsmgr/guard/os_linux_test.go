package guard_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// OS returns what this machine knows about a path.
func TestOS(t *testing.T) {
	dir := rootstest.Tree(t, "d/a", "d/b", "d/c", "f=text", "l => f")
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"/d": fs.ModeDir, "/f": 0, "/l": fs.ModeSymlink, "/fifo": fs.ModeIrregular} {
		if got, err := (guard.OS{}).Mode(dir + name); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := (guard.OS{}).Mode(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3} {
		list, more, err := (guard.OS{}).ReadDir(dir+"/d", n)
		if err != nil || len(list) != want || more != (n < 3) {
			t.Errorf("%d entries of three: %d, more %t, %v", n, len(list), more, err)
		}
	}
	if list, more, err := (guard.OS{}).ReadDir(t.TempDir(), 3); err != nil || len(list) != 0 || more {
		t.Errorf("an empty one: %v, %t, %v", list, more, err)
	}
	for _, name := range []string{"/none", "/f"} {
		if _, _, err := (guard.OS{}).ReadDir(dir+name, 3); err == nil {
			t.Errorf("%s was listed", name)
		}
	}
	for link, magic := range map[string]bool{dir + "/l": false, "/proc/self": true} {
		if got, err := (guard.OS{}).Magic(link); got != magic || err != nil {
			t.Errorf("%s: %t, %v", link, got, err)
		}
	}
	if _, err := (guard.OS{}).Magic(dir + "/none/l"); err == nil {
		t.Error("a link in no directory")
	}
	if (guard.OS{}).Platform() != platform.Host() || guard.PlatformOf(plainFS{}) != platform.Host() || guard.HomeOf(plainFS{}) != "" {
		t.Error("of this machine")
	}
	t.Setenv("HOME", "")
	if got := (guard.OS{}).Home(); got != "" {
		t.Errorf("no home: %q", got)
	}
	if got, err := guard.Resolve(plainFS{guard.OS{}}, dir+"/l"); err != nil || got.Path != dir+"/f" || !got.File || got.Dir { // without more than Lstat
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := guard.Resolve(plainFS{guard.OS{}}, dir+"/"+strings.Repeat("x/", 10)+"y"); err != nil {
		t.Errorf("%v", err)
	}
}

// One look at a whole path is enough if no link is on the way.
func TestWhole(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "d/f=text", "l => d", "fifo.d/")
	if err := os.Link(dir+"/d/f", dir+"/second"); err != nil {
		t.Fatal(err)
	}
	if _, ok := (guard.OS{}).Whole(dir + "/d/f"); !ok {
		needs.Missing(t, "the kernel has no such look, or a filter forbids it")
	}
	info, err := os.Lstat(dir + "/d/f")
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	e, ok := (guard.OS{}).Whole(dir + "/d/f")
	if !ok || e != (guard.Entry{Mode: 0, Device: st.Dev, Inode: st.Ino, HardLinks: 2}) {
		t.Errorf("%+v, want %+v", e, st)
	}
	if e, ok := (guard.OS{}).Whole(dir + "/d"); !ok || e.Mode != fs.ModeDir {
		t.Errorf("a directory: %+v", e)
	}
	for _, path := range []string{"/l", "/l/f", "/none", "/d/f/x", "/d/\x00"} {
		if e, ok := (guard.OS{}).Whole(dir + path); ok {
			t.Errorf("%q: %+v", path, e)
		}
	}
	// It is not opened, so its user need not be allowed to read it.
	for _, err := range []error{os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir+"/second", 0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	asOrdinaryUser(t, func() {
		if e, ok := (guard.OS{}).Whole(dir + "/second"); !ok || e.Inode != st.Ino {
			t.Errorf("what this user may not read: %+v", e)
		}
	})
	// What is looked at in one look is judged as what is walked.
	for _, path := range []string{"/d/f", "/d", "/l/f", "/none"} {
		whole, err := guard.Resolve(guard.OS{}, dir+path)
		walked, other := guard.Resolve(plainFS{guard.OS{}}, dir+path)
		if whole.Entry = (guard.Entry{}); err != nil || other != nil || whole != walked {
			t.Errorf("%s: %+v, walked %+v; %v, %v", path, whole, walked, err, other)
		}
	}
}

// Shared reports whether other users may write in a directory.
func TestShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	us, group := os.Geteuid(), os.Getegid()
	for _, tc := range []struct {
		mode           os.FileMode
		gid            int
		shared, sticky bool
	}{
		{0o700, group, false, false}, {0o755, group, false, false}, {0o777, group, true, false}, {0o777 | os.ModeSticky, group, true, true}, {0o702, group, true, false},
		{0o770, us, false, false}, {0o770, 0, false, false}, {0o770, us + 4242, true, false}, {0o750, us + 4242, false, false},
	} {
		if err := os.Chown(dir, us, tc.gid); err != nil {
			continue // another user than root has no such group
		}
		if err := os.Chmod(dir, tc.mode); err != nil {
			t.Fatal(err)
		}
		if shared, sticky, err := (guard.OS{}).Shared(dir); shared != tc.shared || sticky != tc.sticky || err != nil {
			t.Errorf("%v of the group %d: shared %t, sticky %t, %v", tc.mode, tc.gid, shared, sticky, err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, us+4242, group); err == nil { // as root
		if shared, _, err := (guard.OS{}).Shared(dir); !shared || err != nil {
			t.Errorf("of another owner: %t, %v", shared, err)
		}
	}
	own := rootstest.Tree(t)
	if err := os.Chmod(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	asOrdinaryUser(t, func() { // for whom it is root's if we are root
		if shared, _, err := (guard.OS{}).Shared(own); shared || err != nil {
			t.Errorf("of root or us alone: %t, %v", shared, err)
		}
	})
	if shared, sticky, err := (guard.OS{}).Shared(dir + "/none"); !shared || sticky || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %t %t %v", shared, sticky, err)
	}
}

// A directory must let its user list and enter it, a file let them read it.
func TestReadable(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "d/", "f")
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // for the other user
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]struct{ dir, file bool }{0o555: {true, true}, 0o444: {false, true}, 0o111: {}, 0: {}} {
		for _, name := range []string{"/d", "/f"} {
			if err := os.Chmod(dir+name, mode); err != nil {
				t.Fatal(err)
			}
		}
		asOrdinaryUser(t, func() {
			for name, want := range map[string]bool{"/d": want.dir, "/f": want.file} {
				if err := (guard.OS{}).Readable(dir + name); (err == nil) != want || err != nil && !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s of mode %o: %v", name, mode, err)
				}
			}
		})
	}
	if err := (guard.OS{}).Readable(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

// asOrdinaryUser runs f as a user that is not root. Other goroutines stay who they are.
func asOrdinaryUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody, unchanged = 65534, ^uintptr(0)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(user uintptr) syscall.Errno {
		_, _, err := syscall.RawSyscall(syscall.SYS_SETRESUID, user, user, unchanged) // of this thread alone
		return err
	}
	if err := become(nobody); err != 0 {
		needs.Missing(t, "root may not become another user: ", err)
	}
	defer func() {
		if err := become(0); err != 0 {
			panic(err)
		}
	}()
	f()
}
