package guard_test

import (
	"path"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
)

// FuzzGuard spells paths below, above and around a root of a fixed tree. What
// the kernel opens outside the root must be denied.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{
		"r/f", "r/out/s", "r/deep/../s", "r/../out/s", "r/in/../../f", "r/nodir/../out/s", "r/self", "r/top/etc/passwd", "r//./a/",
		"r/up/out/s", "/proc/self/cwd", "/dev/stdin", "r/\x00", "r/\xff", "r2/s", "r/f/../../out", "r/dangling", "../../../../etc/passwd",
		"r/back/b/../../f", "alias/f", "r/" + strings.Repeat("../", 30), "r/" + strings.Repeat("x", 300),
	} {
		f.Add(s)
	}
	dir := rootstest.AttackTree(f)
	root := dir + "/r"
	g := guardOf(f, guard.OS{}, root)
	slash := guardOf(f, guard.OS{}, "/")
	f.Fuzz(func(t *testing.T, s string) {
		name := s
		if !strings.HasPrefix(s, "/") {
			name = dir + "/" + s
		}
		place, err := g.Check(name)
		if err != nil && place.Root != (guard.Root{}) {
			t.Fatalf("Check(%q): a root beside %v", name, err)
		}
		for _, reading := range []string{name, path.Clean(name)} {
			at, ok := kernelPath(reading)
			if ok && err == nil && !below(at, root) {
				t.Fatalf("allowed %q, which the kernel takes for %q", name, at)
			}
		}
		if err == nil && (path.Clean(place.Path) != place.Path || !below(place.Path, root) || place.Root.Path != root) {
			t.Fatalf("Check(%q) = %+v", name, place)
		}
		// What one root contains, "/" contains.
		if _, wide := slash.Check(name); err == nil && wide != nil {
			t.Fatalf("%q is inside %s and not inside /: %v", name, root, wide)
		}
	})
}

func kernelPath(name string) (string, bool) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var buf [8192]byte
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf[:])
	return string(buf[:n]), err == nil && n > 0 && buf[0] == '/'
}
