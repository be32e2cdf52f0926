package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// This file notes what system calls would use, before the kernel makes them.

// Ruleset has the thread that enters it, and all that is started there, recorded. What
// p allows is not noted.
func (r *Recorder) Ruleset(k Kernel, p *Profile) (box *Ruleset, err error) {
	if auditArchitecture() == 0 {
		return nil, r.refuseRecording(errors.New("system calls of this architecture are not known here"))
	}
	r.beginRun(p)
	box = &Ruleset{fd: -1, profile: p}
	if !r.Free {
		if box, err = Prepare(k, p, false); err != nil {
			return nil, err
		}
	}
	box.recorder = r
	if err := box.askFor(); err != nil {
		box.Close()
		return nil, r.refuseRecording(err)
	}
	return box, nil
}

// A watched holds the places of a system call's paths, and who takes the call.
type watched struct {
	note  func(*Recorder, *Profile, *notice, watched)
	serve func(*broker, *brokering) error // nil: no broker makes it
	dir   int                             // the argument that path starts from; cwd for the working directory
	path  int
	dir2  int // of a second path
	path2 int
	flags int

	folder bool // what it makes is a folder
	binds  bool // it gives a socket its address; else it connects one to another
}

const cwd = -1

// watchedCalls are the watched calls; oldCalls are the ones that newer architectures do without.
//
// execve is not among them. The hub's own fork waits in the kernel until the program is
// executed, and with it the whole runtime may wait: no one could answer. What was executed
// is seen when it first opens something, which all but small static programs do.
var watchedCalls = func() map[uint32]watched {
	all := map[uint32]watched{
		unix.SYS_OPENAT:    {note: (*Recorder).noteOpen, serve: (*broker).serveOpen, dir: 0, path: 1, flags: 2},
		unix.SYS_OPENAT2:   {note: (*Recorder).noteOpenat2, dir: 0, path: 1, flags: 2},
		unix.SYS_MKDIRAT:   {note: (*Recorder).noteMake, serve: (*broker).makeFolder, dir: 0, path: 1, folder: true},
		unix.SYS_MKNODAT:   {note: (*Recorder).noteMake, dir: 0, path: 1},
		unix.SYS_SYMLINKAT: {note: (*Recorder).noteMake, serve: (*broker).refuseLink, dir: 1, path: 2},
		unix.SYS_UNLINKAT:  {note: (*Recorder).noteMove, serve: (*broker).serveUnlinkat, dir: 0, path: 1},
		unix.SYS_RENAMEAT2: {note: (*Recorder).noteMove, serve: (*broker).serveRenameat2, dir: 0, path: 1, dir2: 2, path2: 3},
		unix.SYS_LINKAT:    {note: (*Recorder).noteMove, serve: (*broker).refuseLink, dir: 0, path: 1, dir2: 2, path2: 3},
		unix.SYS_TRUNCATE:  {note: (*Recorder).noteTruncate, serve: (*broker).truncateFile, dir: cwd, path: 0},
		unix.SYS_CONNECT:   {note: (*Recorder).noteAddress, path: 1, flags: 2},
		unix.SYS_BIND:      {note: (*Recorder).noteAddress, path: 1, flags: 2, binds: true},
	}
	maps.Copy(all, oldCalls)
	return all
}()

// takeNotice records a call of which a notice tells.
func (r *Recorder) takeNotice(fd int, p *Profile, n *notice) {
	if root, err := os.Readlink(n.procPath("root")); err != nil || root != "/" {
		return // its paths mean something else
	}
	if exe, err := os.Readlink(n.procPath("exe")); err == nil && n.isValid(fd) {
		if fileExists(exe) {
			r.noteBeyond(p, Use{Path: exe, Access: Read | Execute})
		}
	}
	if w, ok := watchedCalls[uint32(n.Number)]; ok {
		w.note(r, p, n, w)
	}
}

// pathAt returns a path in the arguments as it is written, absolute; "" if that cannot be told.
func (n *notice) pathAt(dir, path int) string {
	text, err := n.readPath(path)
	if err != nil || text == "" {
		return ""
	}
	return n.absolutePath(text, n.startDirectory(dir))
}

// absolutePath returns a name of the process's, which starts from one of its own directories.
func (n *notice) absolutePath(name, from string) string {
	if !filepath.IsAbs(name) {
		base, err := os.Readlink(n.procPath(from))
		if err != nil || !filepath.IsAbs(base) {
			return ""
		}
		name = base + "/" + name // not joined: ".." behind a link is not lexical
	}
	for _, self := range []string{"/proc/self/", "/proc/thread-self/"} {
		if rest, ok := strings.CutPrefix(name, self); ok {
			return n.procPath(rest)
		}
	}
	return name
}

func fileExists(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// splitPath returns the place of a path: its directory without links, and its name there.
func splitPath(path string) (dir, name string, ok bool) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", "", false
	}
	if name = path[i+1:]; name == "" || name == "." || name == ".." {
		return "", "", false
	}
	dir, err := filepath.EvalSymlinks(path[:i+1])
	return dir, name, err == nil
}

func (r *Recorder) noteOpen(p *Profile, n *notice, w watched) {
	r.recordOpen(p, n.pathAt(w.dir, w.path), n.Args[w.flags])
}

func (r *Recorder) noteOpenat2(p *Profile, n *notice, w watched) {
	if how := n.readBytes(n.Args[w.flags], 8); len(how) == 8 {
		r.recordOpen(p, n.pathAt(w.dir, w.path), binary.NativeEndian.Uint64(how))
	}
}

// recordOpen remembers an open by what it would do to what is there now.
func (r *Recorder) recordOpen(p *Profile, path string, flags uint64) {
	if path == "" || flags&unix.O_PATH != 0 {
		return
	}
	a := [...]Access{Read, Write, Read | Write, Read | Write}[flags&unix.O_ACCMODE]
	if flags&unix.O_TRUNC != 0 {
		a |= Write
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err != nil && flags&unix.O_CREAT != 0:
		if dir, name, ok := splitPath(path); ok && !fileExists(filepath.Join(dir, name)) && MayUse(dir, Write) {
			r.noteBeyond(p, Use{Path: filepath.Join(dir, name), Access: a | Write, Made: true})
		}
	case err != nil, flags&unix.O_EXCL != 0 && flags&unix.O_CREAT != 0:
	case flags&unix.O_TMPFILE == unix.O_TMPFILE:
		r.noteBeyond(p, Use{Path: real, Access: Write})
	case a&Read != 0 && !MayUse(real, Read), a&Write != 0 && !MayUse(real, Write):
	default:
		r.noteBeyond(p, Use{Path: real, Access: a})
	}
}

func (r *Recorder) noteMake(p *Profile, n *notice, w watched) {
	if dir, name, ok := splitPath(n.pathAt(w.dir, w.path)); ok && !fileExists(filepath.Join(dir, name)) && MayUse(dir, Write) {
		r.noteBeyond(p, Use{Path: filepath.Join(dir, name), Access: Write, Made: true, Folder: w.folder})
	}
}

// noteMove remembers the directories of a call that moves, removes or links a name: of its first path, and of its second if it has one.
func (r *Recorder) noteMove(p *Profile, n *notice, w watched) {
	r.recordRename(p, n.pathAt(w.dir, w.path), true)
	if w.path2 != 0 {
		r.recordRename(p, n.pathAt(w.dir2, w.path2), false)
	}
}

// recordRename remembers that a name goes from a directory, or comes to it.
func (r *Recorder) recordRename(p *Profile, path string, goes bool) {
	if dir, name, ok := splitPath(path); ok && (!goes || fileExists(filepath.Join(dir, name))) && MayUse(dir, Write) {
		r.noteBeyond(p, Use{Path: dir, Access: Write})
	}
}

func (r *Recorder) noteTruncate(p *Profile, n *notice, w watched) {
	if real, err := filepath.EvalSymlinks(n.pathAt(w.dir, w.path)); err == nil && MayUse(real, Write) {
		r.noteBeyond(p, Use{Path: real, Access: Write})
	}
}

// noteAddress remembers the address of a socket.
func (r *Recorder) noteAddress(_ *Profile, n *notice, w watched) {
	addr := n.readBytes(n.Args[w.path], int(min(n.Args[w.flags], unix.SizeofSockaddrUnix)))
	if len(addr) < 3 {
		return
	}
	switch family := binary.NativeEndian.Uint16(addr); {
	case family == unix.AF_UNIX && addr[2] == 0:
		r.addSocket(Socket{"@" + string(bytes.TrimRight(addr[3:], "\x00")), w.binds})
	case family == unix.AF_UNIX:
		name, _, _ := bytes.Cut(addr[2:], []byte{0})
		path := n.absolutePath(string(name), "cwd")
		if dir, last, ok := splitPath(path); ok && (w.binds || fileExists(path)) {
			r.addSocket(Socket{filepath.Join(dir, last), w.binds})
		}
	case (family == unix.AF_INET || family == unix.AF_INET6) && !w.binds && len(addr) >= 4:
		if port := binary.BigEndian.Uint16(addr[2:]); port != 0 {
			r.addPort(port)
		}
	}
}
