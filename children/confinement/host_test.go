package confinement

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
)

// Before a child is planned, its entry and the kernel tell whether anything is held. What an entry asks for is held without a boundary too.
func TestWhatAnEntryTellsIsHeld(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("nothing is confined on Windows")
	}
	whole, none := sandbox.Kernel{ABI: 7, Filters: true, Drops: true}, sandbox.Kernel{Why: "it is not there"}
	open := sandbox.Boundary{WhyOpen: "nobody said"}
	held := func(s sandbox.Settings, command string, k sandbox.Kernel, b sandbox.Boundary) bool {
		return New(Options{Environ: []string{}, Home: "/home/u"}).WithKernel(k).WithBoundary(b).Confines(program.Program{Command: command, Sandbox: s})
	}
	auto, usual := sandbox.Settings{Mode: sandbox.Auto}, sandbox.Settings{Mode: sandbox.Auto, Default: true}
	for name, tc := range map[string]struct{ got, want bool }{
		"asked for":             {held(auto, "sh", whole, sandbox.Boundary{}), true},
		"by default":            {held(usual, "sh", whole, sandbox.Boundary{}), true},
		"off":                   {held(sandbox.Settings{Mode: sandbox.Off}, "sh", whole, sandbox.Boundary{}), false},
		"no kernel":             {held(auto, "sh", none, sandbox.Boundary{}), false},
		"on another machine":    {held(auto, "ssh", whole, sandbox.Boundary{}), false},
		"no boundary":           {held(auto, "sh", whole, open), true},
		"no boundary, no asker": {held(usual, "sh", whole, open), false},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %t", name, tc.got)
		}
	}
}

// A path of another machine is looked at only if a root names that machine. Only Windows has such paths.
func TestForeignPaths(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it would look at the shares")
	}
	windows := New(Options{Environ: []string{}, Home: `C:\Users\u`, System: "windows"})
	shared := windows.WithRoots([]guard.Root{{Path: `\\server\share`}})
	for path, want := range map[string][2]bool{`\\server\share\x`: {true, false}, `\\other\share\x`: {true, true}, `C:\x`: {false, false}} {
		if windows.IsForeign(path) != want[0] || shared.IsForeign(path) != want[1] {
			t.Errorf("%s: %t, with a root %t", path, windows.IsForeign(path), shared.IsForeign(path))
		}
		if New(Options{Environ: []string{}, Home: "/home/u", System: "linux"}).IsForeign(path) {
			t.Errorf("%s: foreign on Linux", path)
		}
	}
}

func TestCacheFolders(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths are of Unix")
	}
	for _, tc := range []struct {
		system, home, env, want string
	}{
		{"linux", "/u", "LOCALAPPDATA=/l", "/u/.cache/mcphub"},
		{"linux", "/u", "XDG_CACHE_HOME=/x", "/x/mcphub"},
		{"linux", "/u", "XDG_CACHE_HOME=x", "/u/.cache/mcphub"},
		{"linux", "u", "", ""},
		{"darwin", "/u", "", "/u/Library/Caches/mcphub"},
		{"windows", "/u", "LOCALAPPDATA=/l", "/l/mcphub"},
		{"windows", "/u", "LOCALAPPDATA=l", "/u/.cache/mcphub"},
	} {
		if got := New(Options{Environ: []string{tc.env}, Home: tc.home, System: tc.system}).CacheFolder(); got != tc.want {
			t.Errorf("%v: %q", tc, got)
		}
	}
}

// The path of a temporary folder is short, whatever the hub's own is.
func TestAShortTemporaryFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is confined on Windows")
	}
	top, err := os.MkdirTemp("/tmp", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	top = sandbox.RealPath(top)
	just := filepath.Join(top, strings.Repeat("x", 40-len(top)-1))
	for base, want := range map[string]string{just: just, just + "x": sandbox.RealPath("/tmp")} {
		if err := os.Mkdir(base, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", base)
		dir, err := PrivateTemp()
		if err != nil || filepath.Dir(dir) != want {
			t.Errorf("%d bytes: %q, %v", len(base), dir, err)
		}
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(top, "gone"))
	if dir, err := PrivateTemp(); err == nil {
		t.Errorf("made where nothing is: %q", dir)
	}
}

// The file of names stays open until the last who adds many has gone.
func TestNamesAreHeldByTheLast(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("nothing is confined on Windows")
	}
	h := Host{memory: newMemory(t.TempDir())}
	add := func(path string) {
		if !h.memory.noteAbsent(memoryLine{Path: path, Owner: "o"}) {
			t.Errorf("%s was there", path)
		}
	}
	first, second := h.HoldNames(), h.HoldNames()
	add("a")
	if h.memory.held == nil {
		t.Fatal("it is not held")
	}
	first()
	first()
	if h.memory.held == nil {
		t.Error("one of two has gone, and it is held no more")
	}
	second()
	if h.memory.held != nil {
		t.Error("it is held for nobody")
	}
	add("b")
	if h.memory.held != nil {
		t.Error("it stays open after one line")
	}
	Host{}.HoldNames()()
}

// Nothing is held like nothing alone.
func TestConfinementsAreTheSame(t *testing.T) {
	t.Parallel()
	c := &Confinement{Profile: &sandbox.Profile{}}
	var none *Confinement
	if !none.Same(nil) || none.Same(c) || c.Same(nil) || !c.Same(&Confinement{Profile: &sandbox.Profile{}}) || c.Same(&Confinement{Profile: &sandbox.Profile{}, Temp: "/t"}) {
		t.Error("compared wrongly")
	}
}

// A path without links is the same to a host that looks once. What leads nowhere stays as it is written, and only the system follows a link
// with ".." in the middle.
func TestPathsAreTheSameToAHostThatLooksOnce(t *testing.T) {
	h, at := smallHost(t, map[string]string{"a/x": "", "far/deep/x": "", "far/y": "", "to/a": "-> a", "to/gone": "-> gone", "to/deep": "-> far/deep"})
	if err := os.Symlink("to/deep/../y", at("odd")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a": "a", "to/a": "a", "to/a/x": "a/x", "to/gone": "to/gone", "gone": "gone", "odd": "far/y"} {
		for _, h := range []Host{h, h.WithLookupCache()} {
			if got := h.Real(at(path)); got != at(want) {
				t.Errorf("%s: %s, want %s", path, got, at(want))
			}
		}
	}
}

// A host that has looked remembers what it saw, and keeps that.
func TestLooksAreKept(t *testing.T) {
	t.Parallel()
	h := Host{disk: systemDisk()}
	cached := h.WithLookupCache()
	if h.looks != nil || cached.looks == nil || cached.WithLookupCache().looks != cached.looks {
		t.Error("the cache is not made once")
	}
}
