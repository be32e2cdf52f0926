package sandbox

import "golang.org/x/sys/unix"

// oldCalls are those that newer architectures do without.
var oldCalls = map[uint32]watched{
	unix.SYS_OPEN:     {note: (*Recorder).opened, dir: cwd, path: 0, flags: 1},
	unix.SYS_CREAT:    {note: (*Recorder).created, dir: cwd, path: 0},
	unix.SYS_MKDIR:    {note: (*Recorder).made, dir: cwd, path: 0},
	unix.SYS_MKNOD:    {note: (*Recorder).made, dir: cwd, path: 0},
	unix.SYS_SYMLINK:  {note: (*Recorder).made, dir: cwd, path: 1},
	unix.SYS_UNLINK:   {note: (*Recorder).removed, dir: cwd, path: 0},
	unix.SYS_RMDIR:    {note: (*Recorder).removed, dir: cwd, path: 0},
	unix.SYS_RENAME:   {note: (*Recorder).moved, dir: cwd, path: 0, dir2: cwd, path2: 1},
	unix.SYS_RENAMEAT: {note: (*Recorder).moved, dir: 0, path: 1, dir2: 2, path2: 3},
	unix.SYS_LINK:     {note: (*Recorder).moved, dir: cwd, path: 0, dir2: cwd, path2: 1},
}

func (r *Recorder) created(p *Profile, n *notice, w watched) {
	r.open(p, n.at(w.dir, w.path), unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC)
}
