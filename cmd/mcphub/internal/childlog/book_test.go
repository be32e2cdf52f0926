package childlog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a Book; write runs it until all that was said is in its files.
func open(t *testing.T, dir string) (b *Book, write func()) {
	t.Helper()
	b, err := Open(dir, zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	written := false
	write = func() {
		if written {
			return
		}
		written = true
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // it writes what there is and ends
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(write)
	return b, write
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLines(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "logs")
	b, write := open(t, dir)
	b.Say("git", "0123456789abcdef", 42, "hello: world")
	b.Say("git", "", 43, "shared")
	b.Say("Other.One", "x", 44, "other")
	b.Say("long", "", 45, strings.Repeat("x", lineMost)+"end")
	write()
	want := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z git\[42\] 01234567: hello: world
\S+Z git\[43\] -: shared
$`)
	if got := read(t, filepath.Join(dir, "git.log")); !want.MatchString(got) {
		t.Errorf("git.log:\n%s", got)
	}
	if b.File("git") != b.Path("git") || b.File("silent") != "" {
		t.Errorf("files that there are: %q, %q", b.File("git"), b.File("silent"))
	}
	if got := read(t, b.Path("Other.One")); !strings.HasSuffix(got, " Other.One[44] x: other\n") {
		t.Errorf("the other: %s", got)
	}
	if got := read(t, b.Path("long")); !strings.HasSuffix(got, "x…\n") || strings.Contains(got, "end") {
		t.Error("a long line was not cut")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, b.Path("git"): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
	b, write = open(t, dir)
	b.Say("git", "", 50, "of the next hub")
	write()
	if got := read(t, b.Path("git")); strings.Count(got, "\n") != 3 || !strings.HasSuffix(got, "of the next hub\n") {
		t.Errorf("the next hub goes on in the same file:\n%s", got)
	}
}

// Two hubs at the same time write different files; the place of one that has
// ended is taken again.
func TestPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chmod(t, dir, 0o700)
	first, endFirst := open(t, dir)
	second, endSecond := open(t, dir)
	if first.Path("git") != filepath.Join(dir, "git.log") || second.Path("git") != filepath.Join(dir, "git@2.log") {
		t.Errorf("paths: %s, %s", first.Path("git"), second.Path("git"))
	}
	second.Say("git", "", 1, "second")
	endFirst()
	third, endThird := open(t, dir)
	if third.Path("git") != first.Path("git") {
		t.Errorf("the free place was not taken: %s", third.Path("git"))
	}
	endSecond()
	endThird()
	if got := read(t, second.Path("git")); !strings.Contains(got, "second") {
		t.Error(got)
	}
}

// Who floods blocks no one, is cut, and takes nothing from another child.
func TestFlood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { // time stands still in it
		b, write := open(t, dir)
		for i := range 20_000 { // no one writes meanwhile: the disk is as slow as can be
			b.Say("loud", "", 1, fmt.Sprintf("line %d", i))
		}
		b.Say("quiet", "", 2, "one word")
		time.Sleep(time.Second)
		b.Say("loud", "", 1, "a second later")
		for i := range lineRate {
			b.Say("loud", "", 1, fmt.Sprintf("later line %d", i))
		}
		write()
		loud := read(t, b.Path("loud"))
		if n := strings.Count(loud, "\n"); n != lineBurst+1+lineRate+1 {
			t.Errorf("%d lines of the flood", n)
		}
		if !strings.Contains(loud, fmt.Sprintf("%d lines came too fast and were left out\n", 20_000-lineBurst)) || !strings.Contains(loud, "a second later\n") ||
			!strings.HasSuffix(loud, "loud* 1 lines came too fast and were left out\n") {
			t.Errorf("the end of the flood: %q", loud[len(loud)-300:])
		}
		if got := read(t, b.Path("quiet")); !strings.Contains(got, "one word") {
			t.Errorf("quiet: %q", got)
		}
	})
}

func TestDroppedAreToldOf(t *testing.T) {
	t.Parallel()
	b, write := open(t, t.TempDir())
	b.paces["kid"] = &pace{tokens: 5, dropped: 3}
	b.Say("kid", "", 7, "after")
	write()
	if got := read(t, b.Path("kid")); !strings.Contains(got, "kid[7] -* 3 lines came too fast and were left out\n") || !strings.HasSuffix(got, "after\n") {
		t.Errorf("%q", got)
	}
}

// What one child can fill is bounded.
func TestRotation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, write := open(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	big := strings.Repeat("x", lineMost)
	const megabytes = 14
	for range megabytes << 20 / lineMost {
		b.mu.Lock()
		b.paces = map[string]*pace{} // this test is about size, not about time
		b.mu.Unlock()
		b.lines <- line{child: "kid", text: big}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	write()
	files, err := filepath.Glob(filepath.Join(dir, "kid*"))
	if err != nil || len(files) != setAside+1 {
		t.Fatalf("%q, %v", files, err)
	}
	var all int64
	for _, path := range files {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		all += fi.Size()
		if runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", path, fi.Mode())
		}
	}
	if all > (setAside+1)*fileMegabytes<<20 {
		t.Errorf("%d bytes", all)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Nothing is written through a link that someone left, nor in a folder where
// others could leave one.
func TestNoLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(target, []byte("precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"kid.log": target, "dangling.log": target + "-new"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b, write := open(t, dir)
	b.Say("kid", "", 1, "word")
	b.Say("dangling", "", 1, "word")
	b.Say("good", "", 1, "word")
	write()
	if got := read(t, target); got != "precious\n" {
		t.Errorf("it followed a link: %q", got)
	}
	if _, err := os.Stat(target + "-new"); err == nil {
		t.Error("it followed a dangling link")
	}
	if got := read(t, b.Path("good")); !strings.Contains(got, "word") {
		t.Errorf("control: %q", got)
	}
	wide := t.TempDir()
	chmod(t, wide, 0o777)
	if _, err := Open(wide, zerolog.Nop()); err == nil {
		t.Error("a folder that all may write to was taken")
	}
	if _, err := Open("relative", zerolog.Nop()); err == nil {
		t.Error("a relative folder was taken")
	}
	if _, err := Open(target, zerolog.Nop()); err == nil {
		t.Error("a file was taken for a folder")
	}
}
