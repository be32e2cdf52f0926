package sandbox

import "golang.org/x/sys/unix"

// oldCalls are those that newer architectures do without.
var oldCalls = map[uint32]watched{
	unix.SYS_OPEN:     {note: (*Recorder).opened, serve: (*broker).serveOpen, dir: cwd, path: 0, flags: 1},
	unix.SYS_CREAT:    {note: (*Recorder).created, serve: (*broker).serveCreat, dir: cwd, path: 0},
	unix.SYS_MKDIR:    {note: (*Recorder).madeFolder, serve: (*broker).serveMkdir, dir: cwd, path: 0},
	unix.SYS_MKNOD:    {note: (*Recorder).made, dir: cwd, path: 0},
	unix.SYS_SYMLINK:  {note: (*Recorder).made, serve: (*broker).link, dir: cwd, path: 1},
	unix.SYS_UNLINK:   {note: (*Recorder).removed, serve: (*broker).serveUnlink, dir: cwd, path: 0},
	unix.SYS_RMDIR:    {note: (*Recorder).removed, serve: (*broker).serveRmdir, dir: cwd, path: 0},
	unix.SYS_RENAME:   {note: (*Recorder).moved, serve: (*broker).serveRename, dir: cwd, path: 0, dir2: cwd, path2: 1},
	unix.SYS_RENAMEAT: {note: (*Recorder).moved, serve: (*broker).serveRename, dir: 0, path: 1, dir2: 2, path2: 3},
	unix.SYS_LINK:     {note: (*Recorder).moved, serve: (*broker).link, dir: cwd, path: 0, dir2: cwd, path2: 1},
}

// oldModes and oldOpens are modes and opens of such calls.
var (
	oldModes = map[uint32]int{unix.SYS_CHMOD: 1, unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1, unix.SYS_MKDIR: 1}
	oldOpens = map[uint32]int{unix.SYS_OPEN: 1}
)

// oldChanges are changes by such calls.
var oldChanges = map[uint32]change{
	unix.SYS_CHMOD:     {dir: cwd, path: 0, set: modeAt(1)},
	unix.SYS_CHOWN:     {dir: cwd, path: 0, set: ownersAt(1)},
	unix.SYS_LCHOWN:    {dir: cwd, path: 0, still: true, set: ownersAt(1)},
	unix.SYS_UTIME:     {dir: cwd, path: 0, set: timesAt(1, seconds)},
	unix.SYS_UTIMES:    {dir: cwd, path: 0, set: timesAt(1, microseconds)},
	unix.SYS_FUTIMESAT: {dir: 0, path: 1, null: true, set: timesAt(2, microseconds)},
}

func (r *Recorder) created(p *Profile, n *notice, w watched) {
	r.open(p, n.at(w.dir, w.path), unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC)
}

func (b *broker) serveCreat(c *brokering) error {
	return b.open(c, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, c.Args[c.path+1])
}

func (b *broker) serveUnlink(c *brokering) error { return b.remove(c, false) }
func (b *broker) serveRmdir(c *brokering) error  { return b.remove(c, true) }
