package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// openPlace opens a path without a link on the way, for a rule. Who calls it closes what it returns.
func openPlace(path string) (p openedPath, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if p.fd, err = unix.Openat2(unix.AT_FDCWD, path, &how); err != nil {
		return p, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(p.fd, &st); err != nil {
		_ = unix.Close(p.fd)
		return p, err
	}
	p.inode, p.dir = inode{uint64(st.Dev), st.Ino}, st.Mode&unix.S_IFMT == unix.S_IFDIR
	return p, nil
}

// open works like openPlace, and keeps the path open for others while someone holds o. What is kept counts only if the path leads to
// the same file now. closePath is to be called when the rule is made.
func (o *openedPaths) open(path string) (p openedPath, closePath func(), err error) {
	if kept, ok := o.keptAt(path); ok && inodeNow(kept.name) == kept.inode {
		return kept, func() {}, nil
	}
	if p, err = openPlace(path); err != nil {
		return p, nil, err
	}
	p.name = append([]byte(path), 0)
	if o.keep(path, &p) {
		return p, func() {}, nil
	}
	return p, func() { _ = unix.Close(p.fd) }, nil
}

func (o *openedPaths) keptAt(path string) (p openedPath, ok bool) {
	if o == nil {
		return p, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p, ok = o.paths[path]
	return p, ok
}

// keep keeps a path open, and reports whether it does. What was kept of the path before may be in use, and stays open as long.
func (o *openedPaths) keep(path string, p *openedPath) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holders == 0 {
		return false
	}
	if o.paths == nil {
		o.paths = map[string]openedPath{}
	}
	o.paths[path] = *p
	o.files = append(o.files, os.NewFile(uintptr(p.fd), path))
	return true
}
