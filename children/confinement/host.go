package confinement

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
)

// A Host is what the machine offers to confine a child with, and what the session opens to
// it. It is a value: what is made of one leaves it as it is.
type Host struct {
	environ []string // that programs inherit from
	hub     []string // the hub's own environment, if that is another; nil: it is environ
	home    string
	system  string // as runtime.GOOS names it
	git     string // the system's configuration of git
	root    bool   // the hub runs as root
	kernel  func() sandbox.Kernel

	base     *baseLooks       // at what every program needs
	memory   *memory          // of where names have led
	owner    string           // the entry that names are used for; "": any
	maker    string           // the entry that files are made for: what is allowed to it makes no other of it
	installs []string         // see installs
	made     *mades           // what entries have made beside their files
	others   *others          // what the entries beside it have run
	boundary sandbox.Boundary // what the session opens to the child
	roots    []guard.Root     // of the session, whose shares are looked at
	disk     Disk
	looks    *sandbox.LstatCache // of one moment; nil: each path is looked at when it is asked for
}

// A Disk answers what is at a path.
type Disk struct {
	IsDir     func(path string) bool   // a directory that can be looked into
	IsProgram func(path string) bool   // a regular file that this user may execute
	Real      func(path string) string // without links; path itself if it leads nowhere

	ofSystem bool // sandbox.LstatCache sees the same
}

// systemDisk returns the disk of this machine.
func systemDisk() Disk { return Disk{sandbox.IsDir, isProgram, sandbox.RealPath, true} }

// Options describe what a Host is made of. Zero values mean this machine, and its user.
type Options struct {
	Environ []string
	Home    string
	System  string
	Disk    *Disk
}

// New makes a Host. It looks at nothing yet.
func New(o Options) Host {
	h := Host{environ: o.Environ, home: o.Home, system: o.System, git: "/etc/gitconfig", root: os.Geteuid() == 0, kernel: sandbox.CurrentKernel}
	if h.environ == nil {
		h.environ = os.Environ()
	}
	if h.home == "" {
		h.home, _ = os.UserHomeDir()
	}
	if h.system == "" {
		h.system = runtime.GOOS
	}
	if h.disk = systemDisk(); o.Disk != nil {
		h.disk = *o.Disk
	}
	h.base, h.memory, h.installs, h.others, h.made = &baseLooks{}, newMemory(h.stateFolder()), installFolders(h.home), &others{}, &mades{}
	return h
}

// WithLookupCache returns the host as it is at this moment: each path is looked at once. What asks
// later asks the host that this was made of. A host that has a cache keeps it.
func (h Host) WithLookupCache() Host {
	if h.looks != nil {
		return h
	}
	return h.WithLooks(sandbox.NewLstatCache())
}

// WithLooks works like WithLookupCache with a cache that others use too.
func (h Host) WithLooks(looks *sandbox.LstatCache) Host {
	disk := h.disk
	h.looks = looks
	h.disk.IsDir = func(path string) bool { return looks.IsDir(path, disk.IsDir) }
	h.disk.IsProgram = func(path string) bool { return lookOnce(h, "program", path, disk.IsProgram) }
	real := func(path string) string {
		if disk.ofSystem {
			switch real, err := looks.Real(path); {
			case err == nil:
				return real
			case errors.Is(err, fs.ErrNotExist):
				return path
			}
		}
		return disk.Real(path)
	}
	h.disk.Real = func(path string) string { return looks.RealBy(path, real) }
	return h
}

// Looks returns what the host has seen of the disk, for those who share it; nil if the host looks each time.
func (h Host) Looks() *sandbox.LstatCache { return h.looks }

// lookOnce returns what look finds at a path. Those who share what a host has seen look once; what is a word for what they look for.
func lookOnce[V any](h Host, what, path string, look func(path string) V) V {
	return sandbox.FindOnce(h.looks, what+" "+path, func() V { return look(path) })
}

// WithBoundary returns the host with the boundary of a session.
func (h Host) WithBoundary(b sandbox.Boundary) Host {
	h.boundary = b
	return h
}

// WithClientEnv returns the host as it is in the environment of a client. What the hub keeps for itself
// stays where it is. nil is the hub's.
func (h Host) WithClientEnv(environ []string) Host {
	if environ != nil {
		h.hub, h.environ = h.ofHub(), environ
	}
	return h
}

// ofHub returns the hub's own environment.
func (h Host) ofHub() []string {
	if h.hub != nil {
		return h.hub
	}
	return h.environ
}

// System returns the operating system, as runtime.GOOS names it.
func (h Host) System() string { return h.system }

// Home returns the user's home folder; "" if there is none.
func (h Host) Home() string { return h.home }

// Inherited returns the part of the environment that a child is given, with these
// variables as well.
func (h Host) Inherited(names []string) *program.Environment {
	return program.Inherited(h.environ, names, h.system)
}

// WithRoots returns the host that looks at the shares of other machines that these roots name, and at no other. Without it the host looks
// at none.
func (h Host) WithRoots(roots []guard.Root) Host {
	h.roots = roots
	return h
}

// IsForeign reports a path on another machine that no root names.
func (h Host) IsForeign(path string) bool {
	return h.system == "windows" && (guard.IsForeign(path, h.roots) || !guard.MayFollow(path, h.roots))
}

// IsDir reports whether path is a directory that can be looked into.
func (h Host) IsDir(path string) bool { return !h.IsForeign(path) && h.disk.IsDir(path) }

// IsProgram reports whether path is a regular file that this user may execute.
func (h Host) IsProgram(path string) bool { return !h.IsForeign(path) && h.disk.IsProgram(path) }

// Real returns a path without links; path itself if it leads nowhere, or lies on another machine that no root names.
func (h Host) Real(path string) string {
	if h.IsForeign(path) {
		return path
	}
	return h.disk.Real(path)
}

// Hops returns a path and the paths that its links lead to, one after the other.
func (h Host) Hops(path string) []string { return h.looks.Hops(path) }

// CacheFolder returns the hub's own folder below the user's cache folder; "" if there is none.
func (h Host) CacheFolder() string {
	base := h.cacheDir(program.Inherited(h.ofHub(), nil, h.system))
	if base == "" {
		return ""
	}
	return filepath.Join(base, "mcphub")
}

// cacheDir returns the cache folder of a program with this environment; "" if there is none.
func (h Host) cacheDir(env *program.Environment) string {
	if v, ok := env.Get("XDG_CACHE_HOME"); ok && filepath.IsAbs(v) {
		return v
	}
	if v, ok := env.Get("LOCALAPPDATA"); ok && h.system == "windows" && filepath.IsAbs(v) {
		return v
	}
	if h.home == "" || !filepath.IsAbs(h.home) {
		return ""
	}
	if h.system == "darwin" {
		return filepath.Join(h.home, "Library", "Caches")
	}
	return filepath.Join(h.home, ".cache")
}

// stateFolder returns the hub's own folder below the user's state folder; "" if there
// is none.
func (h Host) stateFolder() string {
	env := program.Inherited(h.ofHub(), nil, h.system)
	if v, ok := env.Get("XDG_STATE_HOME"); ok && filepath.IsAbs(v) {
		return filepath.Join(v, "mcphub")
	}
	if h.home == "" || !filepath.IsAbs(h.home) {
		return ""
	}
	return filepath.Join(h.home, ".local", "state", "mcphub")
}
