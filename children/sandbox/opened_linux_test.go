package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
)

// TestKeptPathsAreThoseOfNow: a path that starts share is opened once, and anew if something else has its name by then.
func TestKeptPathsAreThoseOfNow(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := RealPath(t.TempDir())
	path, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	must(os.WriteFile(path, nil, 0o600))
	must(os.WriteFile(other, nil, 0o600))
	looks := NewLstatCache()
	first, second := looks.Hold(), looks.Hold()
	open := func() openedPath {
		t.Helper()
		p, closePath, err := looks.opened.open(path)
		must(err)
		closePath()
		return p
	}
	was := open()
	if again := open(); again.fd != was.fd || was.inode != PlaceAt(path).inode {
		t.Errorf("%+v, then %+v", was, again)
	}
	must(os.Rename(other, path))
	now := open()
	if now.fd == was.fd || now.inode != PlaceAt(path).inode || now.inode == was.inode {
		t.Errorf("%+v was replaced, and %+v is used", was, now)
	}
	if inodeOf(was.fd) != was.inode {
		t.Error("the former file was closed while a start may use it")
	}
	must(os.Rename(path, other))
	must(os.Symlink(other, path))
	if _, _, err := looks.opened.open(path); err == nil {
		t.Error("a link is followed")
	}
	first()
	first()
	if inodeOf(now.fd) != now.inode {
		t.Error("closed while one holds it")
	}
	second()
	for _, fd := range []int{was.fd, now.fd} {
		if at := inodeOf(fd); at == was.inode || at == now.inode {
			t.Errorf("descriptor %d is still open", fd)
		}
	}
	must(os.Remove(path))
	must(os.Rename(other, path))
	p, closePath, err := looks.opened.open(path) // no one holds it any more
	must(err)
	closePath()
	if _, err := unix.FcntlInt(uintptr(p.fd), unix.F_GETFD, 0); err == nil && inodeOf(p.fd) == p.inode {
		t.Error("kept for no one")
	}
}

// TestDevicesStayOpenForOthers: every server opens the devices, but hardly two one folder that they write in.
func TestDevicesStayOpenForOthers(t *testing.T) {
	t.Parallel()
	k := CurrentKernel()
	if k.ABI == 0 {
		needs.Missing(t, k.Why)
	}
	dir := RealPath(t.TempDir())
	looks := NewLstatCache()
	defer looks.Hold()()
	p := &Profile{Rules: []Rule{{Path: dir, Access: Read | Write}, {Path: "/dev/null", Access: Read | Write}, {Path: "/usr", Access: Read}}}
	p.OpenWith(looks)
	r, err := Prepare(k, p, false)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	for path, want := range map[string]bool{dir: false, "/dev/null": true, "/usr": true} {
		if _, kept := looks.opened.keptAt(path); kept != want {
			t.Errorf("%s is kept open: %v", path, kept)
		}
	}
}
