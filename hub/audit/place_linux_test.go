package audit_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

const envLimited = "MCPHUB_AUDIT_LIMITED"

// limited reports whether this process is one for a test that limits itself;
// else it has run that test in one.
func limited(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envLimited) != "" {
		return true
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.v", "-test.run", "^"+t.Name()+"$", "-test.timeout", "60s")
	cmd.Env = append(os.Environ(), envLimited+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// limit bounds how long files of this process may get, until the test ends or
// lift is called. Go programs take no harm from the signal for it.
func limit(t testing.TB, bytes uint64) (lift func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	lift = func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &was) }
	t.Cleanup(lift)
	return lift
}

// asUser lets this goroutine be someone who is not above the rights of files,
// and gives them a folder.
func asUser(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if os.Geteuid() != 0 {
		return dir
	}
	const nobody = 65534
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Setfsuid(0)
		runtime.UnlockOSThread()
	})
	return dir
}

// A folder that has become unwritable: the log that is open goes on, its
// rotation does not. It grows instead, and is closed by the next hub.
func TestAFileThatCannotBePutAside(t *testing.T) {
	t.Parallel()
	dir := asUser(t)
	l, err := audit.Open(audit.Options{Dir: dir, MaxSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "control"), nil, 0o600); err == nil {
		t.Fatal("the folder can be written to")
	}
	big := sample(1)
	big.Arguments = []byte(`"` + strings.Repeat("x", 60_000) + `"`)
	for range 60 {
		if _, err := l.Append(context.Background(), big); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, dir)
	if files, _ := audit.LogFiles(dir); len(files[l.ID()]) != 1 {
		t.Errorf("%v", files)
	}
	if _, err := audit.Open(audit.Options{Dir: dir}); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) {
		t.Errorf("another log in a folder that cannot be written to: %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 60 { // it can again
		if _, err := l.Append(context.Background(), big); err != nil {
			t.Fatal(err)
		}
	}
	if files, _ := audit.LogFiles(dir); len(files[l.ID()]) < 2 {
		t.Errorf("%v", files)
	}
	if err := l.CloseNow(); err != nil {
		t.Fatal(err)
	}
	if r := whole(t, dir); r.Open != 0 || r.Logs != 1 || r.Lines != 122 {
		t.Errorf("%+v", r)
	}
}

// What happens to the file while it is written is noticed, and chain.jsonl told
// how far it went.
func TestAFileThatIsTamperedWithWhileItIsWritten(t *testing.T) {
	t.Parallel()
	for what, tamper := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".moved") },
		"another": func(path string) error {
			b, err := os.ReadFile(path)
			b = b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
			return errors.Join(err, os.Remove(path), os.WriteFile(path, b, 0o600))
		},
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path))
		},
		"cut": func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.Truncate(path, int64(bytes.LastIndexByte(b[:len(b)-1], '\n')+1)))
		},
	} {
		dir := t.TempDir()
		states := make(chan audit.State, 100)
		r := audit.NewRecorder(audit.Options{Dir: dir}, func(s audit.State) { states <- s })
		if err := r.Open(); err != nil {
			t.Fatal(err)
		}
		stop := runRecorder(t, r)
		append1 := func() error { _, err := r.Append(context.Background(), sample(1)); return err }
		for range 3 {
			if err := append1(); err != nil {
				t.Fatal(err)
			}
		}
		see(t, r.Log())
		first := r.State().Log
		if err := tamper(filepath.Join(dir, first+audit.LogEnding)); err != nil {
			t.Fatal(err)
		}
		l := r.Log()
		l.Overlook() // it is time to look again
		if append1() == nil {
			t.Fatalf("%s: nobody noticed at once", what)
		}
		if s := <-states; !strings.Contains(s.Error, "gone") || !strings.Contains(s.Error, first+audit.LogEnding) {
			t.Errorf("%s: %+v", what, s)
		}
		for s := range states {
			if s.Error == "" && s.Log != first && s.Log != "" {
				break
			}
		}
		if err := append1(); err != nil {
			t.Error(err)
		}
		second := r.State().Log
		stop()
		report, err := trail.Verify(dir)
		if err != nil || report.IsWhole() {
			t.Errorf("%s: nobody noticed later: %v", what, err)
			continue
		}
		for _, p := range report.Problems {
			if strings.HasPrefix(p.File, second) {
				t.Errorf("%s: the log after it: %s", what, p)
			}
		}
	}
}

// A file that was rotated out is the one that was seen before, if it has not become shorter.
func TestTheFileBeforeIsKnown(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		replace func(rotated string, size int64) error
		gone    bool
	}{
		"as it was": {func(string, int64) error { return nil }, false},
		"shorter":   {func(rotated string, size int64) error { return os.Truncate(rotated, size-1) }, true},
		"another one": {func(rotated string, size int64) error {
			return errors.Join(os.Rename(rotated, rotated+".moved"), os.WriteFile(rotated, make([]byte, size+1), 0o600))
		}, true},
	} {
		dir := t.TempDir()
		l, err := audit.Open(audit.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		see(t, l)
		see(t, l)
		rotated := filepath.Join(dir, l.ID()+"-2026-01-01T00-00-00.000-size"+audit.LogEnding)
		fi, err := os.Stat(l.Path())
		if err = errors.Join(err, os.Rename(l.Path(), rotated), os.WriteFile(l.Path(), nil, 0o600), tc.replace(rotated, fi.Size())); err != nil {
			t.Fatal(err)
		}
		if err := l.See(); errors.Is(err, audit.ErrGone) != tc.gone {
			t.Errorf("%s: %v", what, err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
}

// A write looks whether the file is still there if a quarter of a second has gone by since the last look.
func TestTheFileIsLookedAtNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, err := audit.Open(audit.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(l.Path()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(249 * time.Millisecond)
		if _, err := l.Append(context.Background(), sample(1)); err != nil {
			t.Errorf("it was looked at too early: %v", err)
		}
		time.Sleep(time.Millisecond)
		if _, err := l.Append(context.Background(), sample(2)); !errors.Is(err, audit.ErrGone) {
			t.Errorf("it was not looked at: %v", err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	})
}

// see has the log look at its file now.
func see(t *testing.T, l *audit.Log) {
	if err := l.See(); err != nil {
		t.Error(err)
	}
}

// The folder is replaced by a link to another one.
func TestAFolderThatBecomesALink(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, elsewhere := filepath.Join(base, "audit"), filepath.Join(base, "elsewhere")
	states := make(chan audit.State, 100)
	r := audit.NewRecorder(audit.Options{Dir: dir}, func(s audit.State) { states <- s })
	if err := errors.Join(r.Open(), os.Mkdir(elsewhere, 0o700)); err != nil {
		t.Fatal(err)
	}
	stop := runRecorder(t, r)
	append1 := func() error { _, err := r.Append(context.Background(), sample(1)); return err }
	if err := errors.Join(append1(), os.Rename(dir, dir+".moved"), os.Symlink(elsewhere, dir)); err != nil {
		t.Fatal(err)
	}
	for append1() == nil {
	}
	for s := range states {
		if s.Error == "" {
			break
		}
	}
	if err := append1(); err != nil {
		t.Error(err)
	}
	stop()
	for _, d := range []string{elsewhere, dir + ".moved"} {
		if r := whole(t, d); r.Logs != 1 {
			t.Errorf("%s: %+v", d, r)
		}
	}
}

// A full disk, as the kernel tells it: while a log is written, when one is
// started, and when one is closed.
func TestADiskThatIsFullForTheKernel(t *testing.T) {
	if !limited(t) {
		return
	}
	dir := t.TempDir()
	l, stop := running(t, audit.RetryAtOnce(audit.Options{Dir: dir}))
	lift := limit(t, 2000)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = l.Append(context.Background(), sample(i))
	}
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), l.Path()) {
		t.Fatal(err)
	}
	if r := whole(t, dir); r.Torn != 1 {
		t.Errorf("half a line is expected at the end: %+v", r)
	}
	for i := range 5 {
		if _, err := l.Append(context.Background(), sample(i)); err == nil {
			t.Fatal("there was room")
		}
	}
	lift()
	if _, err := l.Append(context.Background(), sample(0)); err != nil {
		t.Fatal(err)
	}
	stop()
	if r := whole(t, dir); r.Torn != 0 || r.Open != 0 {
		t.Errorf("%+v", r)
	}
	for _, size := range []uint64{0, 100, 300} { // the others are as long already
		dir := t.TempDir()
		lift := limit(t, size)
		for range 3 {
			if _, err := audit.Open(audit.Options{Dir: dir}); !errors.Is(err, syscall.EFBIG) {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		lift()
		_, stop := running(t, audit.Options{Dir: dir})
		stop()
		if r := whole(t, dir); r.Torn != 0 || r.Open != 0 || r.Logs > 2 {
			t.Errorf("%d bytes: %+v", size, r)
		}
	}
}

// A disk that fills up while logs are closed leaves half a line nowhere: what
// cannot be written whole is taken back, and the next hub can go on.
func TestWhatCannotBeWrittenWholeIsTakenBack(t *testing.T) {
	if !limited(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	limit(t, 20)
	if err := audit.PutWhole(f, bytes.Repeat([]byte("x"), 100)); !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("%v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "a line\n" {
		t.Errorf("%q", b)
	}
	if _, err := f.Write(bytes.Repeat([]byte("x"), 100)); err == nil {
		t.Fatal("there was no limit")
	}
	if b, _ := os.ReadFile(path); len(b) != 20 { // the control
		t.Errorf("%q", b)
	}
}

// If the chain cannot be written, no checkpoint is said to be made, and the lock of a log that nothing has closed stays.
func TestAChainThatCannotGrow(t *testing.T) {
	if !limited(t) {
		return
	}
	dir := t.TempDir()
	for range 10 { // the chain is longer than each log
		_, stop := running(t, audit.Options{Dir: dir})
		stop()
	}
	dead, err := audit.Open(audit.Options{Dir: dir})
	if err == nil {
		err = dead.Release() // as if it were killed
	}
	l, stop := running(t, audit.Options{Dir: dir, Checkpoint: time.Hour})
	fi, e := os.Stat(filepath.Join(dir, audit.ChainName))
	if err = errors.Join(err, e, os.WriteFile(filepath.Join(dir, dead.ID()+audit.LockEnding), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	lift := limit(t, uint64(fi.Size()))
	if _, err := l.Append(context.Background(), sample(1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Checkpoint(); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a checkpoint: %v", err)
	}
	if _, err := audit.Open(audit.Options{Dir: dir}); !errors.Is(err, syscall.EFBIG) || !audit.HasLock(dir, dead.ID()) {
		t.Errorf("another log: %v", err)
	}
	lift()
	if err := l.Checkpoint(); err != nil {
		t.Error(err)
	}
	stop()
	_, stop = running(t, audit.Options{Dir: dir})
	stop()
	if r := whole(t, dir); r.Open != 0 {
		t.Errorf("%+v", r)
	}
}

// If a line that was cut off cannot be closed, the chain does not say that it is.
func TestALineThatCannotBeClosed(t *testing.T) {
	if !limited(t) {
		return
	}
	dir := t.TempDir()
	dead, err := audit.Open(audit.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = dead.Release() // as if it were killed
	b, e := os.ReadFile(dead.Path())
	if err = errors.Join(err, e, os.WriteFile(dead.Path(), append(b, make([]byte, 10_000)...), 0o600)); err != nil {
		t.Fatal(err)
	}
	lift := limit(t, uint64(len(b)+10_000))
	if _, err := audit.Open(audit.Options{Dir: dir}); !errors.Is(err, syscall.EFBIG) || !audit.HasLock(dir, dead.ID()) {
		t.Errorf("another log: %v", err)
	}
	lift()
	_, stop := running(t, audit.Options{Dir: dir})
	stop()
	if r := whole(t, dir); r.Open != 0 || r.Torn != 1 {
		t.Errorf("%+v", r)
	}
}
