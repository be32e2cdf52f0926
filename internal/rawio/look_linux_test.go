package rawio

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLook: what a look finds is what lstat finds, and it finds nothing if there is nothing or a link is refused.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	var isFile, isLink unix.Stat_t
	if err := unix.Lstat(file, &isFile); err != nil {
		t.Fatal(err)
	}
	if err := unix.Lstat(link, &isLink); err != nil {
		t.Fatal(err)
	}
	known := knowsCached()
	for _, c := range []struct {
		path           string
		flags, resolve uint64
		want           uint64 // inode; 0 for none
	}{
		{file, 0, 0, isFile.Ino}, {link, unix.O_NOFOLLOW, 0, isLink.Ino}, {link, 0, unix.RESOLVE_NO_SYMLINKS, 0},
		{filepath.Join(dir, "none"), 0, 0, 0}, {file + "/x", 0, 0, 0},
	} {
		name, err := unix.BytePtrFromString(c.path)
		if err != nil {
			t.Fatal(err)
		}
		st, ok := Look(name, c.flags, c.resolve, unix.STATX_INO)
		if ok != (c.want != 0 && known) || ok && st.Ino != c.want {
			t.Errorf("%s, %#x, %#x: inode %d, %t, want %d", c.path, c.flags, c.resolve, st.Ino, ok, c.want)
		}
	}
}

// knowsCached reports whether the kernel has such looks, that is from 5.12 on.
func knowsCached() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveCached})
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}
