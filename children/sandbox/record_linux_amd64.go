package sandbox

import "golang.org/x/sys/unix"

// oldCalls are calls that newer architectures do without.
var oldCalls = map[uint32]watched{
	unix.SYS_OPEN:     {note: (*Recorder).noteOpen, serve: (*broker).serveOpen, dir: cwd, path: 0, flags: 1},
	unix.SYS_CREAT:    {note: (*Recorder).noteCreate, serve: (*broker).serveCreat, dir: cwd, path: 0},
	unix.SYS_MKDIR:    {note: (*Recorder).noteMake, serve: (*broker).makeFolder, dir: cwd, path: 0, folder: true},
	unix.SYS_MKNOD:    {note: (*Recorder).noteMake, dir: cwd, path: 0},
	unix.SYS_SYMLINK:  {note: (*Recorder).noteMake, serve: (*broker).refuseLink, dir: cwd, path: 1},
	unix.SYS_UNLINK:   {note: (*Recorder).noteMove, serve: (*broker).serveUnlink, dir: cwd, path: 0},
	unix.SYS_RMDIR:    {note: (*Recorder).noteMove, serve: (*broker).serveRmdir, dir: cwd, path: 0},
	unix.SYS_RENAME:   {note: (*Recorder).noteMove, serve: (*broker).serveRename, dir: cwd, path: 0, dir2: cwd, path2: 1},
	unix.SYS_RENAMEAT: {note: (*Recorder).noteMove, serve: (*broker).serveRename, dir: 0, path: 1, dir2: 2, path2: 3},
	unix.SYS_LINK:     {note: (*Recorder).noteMove, serve: (*broker).refuseLink, dir: cwd, path: 0, dir2: cwd, path2: 1},
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

func (r *Recorder) noteCreate(p *Profile, n *notice, w watched) {
	r.recordOpen(p, n.pathAt(w.dir, w.path), unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC)
}

func (b *broker) serveCreat(c *brokering) error {
	return b.openFile(c, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, c.Args[c.path+1])
}

func (b *broker) serveUnlink(c *brokering) error { return b.removeName(c, false) }
func (b *broker) serveRmdir(c *brokering) error  { return b.removeName(c, true) }
