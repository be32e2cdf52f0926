package guard_test

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongMissingTail: what does not exist costs its length, not the square of
// it, however it is spelled.
func TestLongMissingTail(t *testing.T) {
	dir := rootstest.Tree(t, "r/", "r/d/", "r/f", "r/l => nodir")
	g := guardOf(t, guard.OS{}, dir+"/r")
	fill := func(s string) string { return strings.Repeat(s, (3900-len(dir))/len(s)) }
	for _, rel := range []string{
		fill("//x"), fill("/./x"), "/" + fill("//x"), "/d/../" + fill("x//"), "/l" + fill("//x"), "/f" + fill("//x"),
		fill("/x") + "/..", fill("//x/..") + "/f", fill("//a//b//..//..") + "/d", fill("//x")[:1500] + strings.Repeat("//..", 500), fill("//a//b//.."),
	} {
		name := dir + "/r" + rel
		var place guard.Place
		var err error
		cost := allocated(func() { place, err = g.Check(name) })
		if cost > 200<<10 {
			t.Errorf("%.40s...: %d KiB allocated", rel, cost>>10)
		}
		// The tail in short, which cannot have been left out or doubled.
		want := path.Clean(name)
		if strings.HasPrefix(rel, "/l") {
			want = dir + "/r/nodir" + strings.TrimPrefix(path.Clean(rel), "/l")
		}
		if err != nil {
			if _, out := g.Check(path.Clean(name)); out == nil {
				t.Errorf("%.40s...: %v", rel, err)
			}
			continue
		}
		if place.Path != want {
			t.Errorf("%.40s... leads to %q, want %q", rel, place.Path, want)
		}
	}
	// The control: a prefix for every component.
	cost := allocated(func() {
		p := dir
		for range 1200 {
			p = platform.Linux.Join(p, "x")
		}
		sink = p
	})
	if cost < 1<<20 {
		t.Errorf("joining one by one costs %d KiB: the test shows nothing", cost>>10)
	}
}

var sink string

// TestLongClimbingRoot: a root that climbs a thousand times is looked at once.
func TestLongClimbingRoot(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "r/d/", "r/f")
	disk := &countingFS{}
	long := dir + "/r" + strings.Repeat("/d/..", 700)
	d := guard.NewDisk(disk)
	if f, err := d.Canonical(long); err != nil || f.Path != filepath.Join(dir, "r") {
		t.Errorf("%+v, %v", f, err)
	}
	for _, path := range []string{"/r/nodir/..", "/r/f/.."} {
		if f, err := d.Canonical(dir + path); !errors.Is(err, guard.ErrMissing) {
			t.Errorf("%s: %+v, %v", path, f, err)
		}
	}
	if disk.looks > 10_000 { // one for each prefix of each prefix would be half a million
		t.Errorf("%d looks at the disk", disk.looks)
	}
}

// countingFS is this machine, with its looks counted.
type countingFS struct {
	guard.OS
	looks int
}

func (c *countingFS) Lstat(name string) (fs.FileInfo, error) {
	c.looks++
	return c.OS.Lstat(name)
}

func (c *countingFS) Mode(name string) (fs.FileMode, error) {
	info, err := c.Lstat(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}
