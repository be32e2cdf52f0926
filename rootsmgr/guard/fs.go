package guard

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"mcphub/rootsmgr/platform"
)

// FS is all that resolving a path needs of a filesystem. Names are absolute. An
// error that is not fs.ErrNotExist makes a path unresolvable, which denies.
//
// An FS may offer more, each by an interface of its own: Mode, Whole, Stamp, Magic, Readable, Shared,
// WhyClosed, TrueCase, LongName, SameFile, ReadDir, Writable, Home and Platform. ReadDir has two forms: see packages
// pattern and machine. [OS] has all that the system can tell.
type FS interface {
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
}

type (
	// A Moder has Lstat without the allocation.
	Moder interface {
		Mode(name string) (fs.FileMode, error)
	}
	// A Wholer looks at a whole path in one look; false if a link is on the way, nothing is
	// there, or the kernel would have to wait for a disk.
	Wholer interface {
		Whole(path string) (Entry, bool)
	}
	// A Magician reports a symlink whose target each process sees differently.
	// Asked for every link on the way.
	Magician interface {
		Magic(link string) (bool, error)
	}
	// reader reports whether a directory may be listed and entered, or a file read.
	reader interface{ Readable(path string) error }
	// trueCaser spells an existing path as its directories do.
	trueCaser interface {
		TrueCase(path string) (string, error)
	}
	// A LongNamer writes the short names of Windows in a path out. The path exists.
	LongNamer interface {
		LongName(path string) (string, error)
	}
	// A SameFiler compares two results of Lstat. Without it spellings that differ
	// in case or Unicode form are different files.
	SameFiler interface {
		SameFile(a, b fs.FileInfo) bool
	}
	// A Namer reports whether a root names a share, in the spelling of [platform.Platform.Remote].
	// Without it only the roots of a Guard do.
	Namer      interface{ NamesShare(share string) bool }
	homer      interface{ Home() string }
	platformer interface{ Platform() platform.Platform }
)

// OS is the FS of this machine.
type OS struct {
	// Provenance is asked about each root and each directory of a rule that opens; nil: each counts.
	Provenance Provenance
}

// A Provenance knows who could have written a name.
type Provenance interface {
	// WhyClosed returns why what is there does not count as a root, or as the directory of a rule
	// that opens; "" if it does. operator is set if hub.json has the name.
	WhyClosed(c RootCandidate, operator bool) string
}

// WhyClosed implements [Provenance].
func (o OS) WhyClosed(c RootCandidate, operator bool) string {
	if o.Provenance == nil {
		return ""
	}
	return o.Provenance.WhyClosed(c, operator)
}

// Lstat implements [FS].
func (OS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Readlink implements [FS].
func (OS) Readlink(name string) (string, error) { return os.Readlink(name) }

// SameFile reports whether two results of Lstat describe one file.
func (OS) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

// Home returns the user's home folder, "" if there is none.
func (OS) Home() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}

// Platform returns the platform of this process.
func (OS) Platform() platform.Platform { return platform.Host() }

// Disk is an FS and its optional interfaces, looked up once.
type Disk struct {
	FS
	Platform platform.Platform
	moder    Moder
	wholer   Wholer
	magician Magician
	longer   LongNamer
	same     SameFiler
	namer    Namer
	shares   []string        // of other machines that roots name; a look at any other is refused
	links    *[]SymbolicLink // where set, every symlink that is followed is noted here
}

// NewDisk looks up the optional interfaces of an FS. nil is an empty FS.
func NewDisk(fsys FS) Disk {
	if fsys == nil {
		fsys = noFS{}
	}
	d := Disk{FS: fsys, Platform: PlatformOf(fsys)}
	d.moder, _ = fsys.(Moder)
	d.wholer, _ = fsys.(Wholer)
	d.magician, _ = fsys.(Magician)
	d.longer, _ = fsys.(LongNamer)
	d.same, _ = fsys.(SameFiler)
	d.namer, _ = fsys.(Namer)
	return d
}

// isForeign reports a path on another machine that no root names. Merely looking at it would show
// that machine who this user is, so it is refused as text.
func (d *Disk) isForeign(path string) bool {
	share, remote := d.Platform.Remote(path)
	return remote && (share == "" || !slices.Contains(d.shares, share) && (d.namer == nil || !d.namer.NamesShare(share)))
}

// plainPath gives a path the separators of the platform, and the plain spelling unless that is of another machine.
func (d *Disk) plainPath(path string) string {
	path = d.Platform.FromSlash(path)
	if d.isForeign(path) {
		return path
	}
	return d.Platform.Plain(path)
}

// IsForeign reports a path of Windows on another machine that none of the roots names.
func IsForeign(path string, roots []Root) bool {
	d := Disk{Platform: platform.Windows}
	return d.lookAtShares(roots).isForeign(path)
}

// MayFollow reports whether a look at what a path leads to stays on this machine and on shares that roots name. Code that looks at
// a path which hub.json names, or a client, asks it first.
func MayFollow(path string, roots []Root) bool {
	if platform.Host() != platform.Windows {
		return true
	}
	d := NewDisk(OS{})
	d.lookAtShares(roots)
	if !d.Platform.IsAbs(path) {
		return !d.isForeign(path)
	}
	return d.MayLook(d.Platform.Join(path, "x")) // path itself is looked at as a directory above, and may be a link
}

// lookAtShares makes d look at the shares of roots.
func (d *Disk) lookAtShares(roots []Root) *Disk {
	for i := range roots {
		d.lookAtShare(roots[i].Path)
	}
	return d
}

// MayLook reports whether a look at path stays on this machine and on shares that roots name. The
// directories above path are followed, since a link among them may lead elsewhere.
func (d *Disk) MayLook(path string) bool {
	if d.Platform != platform.Windows {
		return true
	}
	clean := d.Platform.Clean(path)
	if d.Platform.RootLen(clean) == 0 || d.isForeign(clean) {
		return false
	}
	_, why := d.walkPath(d.Platform.Parent(clean))
	return why == nil
}

// lookAtShare makes d look at the share that the path of a root is on.
func (d *Disk) lookAtShare(root string) {
	if share, _ := d.Platform.Remote(root); share != "" && !slices.Contains(d.shares, share) {
		d.shares = append(slices.Clip(d.shares), share)
	}
}

// PlatformOf returns the platform whose rules an FS follows.
func PlatformOf(fsys FS) platform.Platform {
	if f, ok := fsys.(platformer); ok {
		return f.Platform()
	}
	return platform.Host()
}

// HomeOf returns the home folder that an FS tells, "" for none.
func HomeOf(fsys FS) string {
	if f, ok := fsys.(homer); ok {
		return f.Home()
	}
	return ""
}

// Mode returns the type of what name is, links not followed.
func (d *Disk) Mode(name string) (fs.FileMode, error) {
	if d.moder != nil {
		return d.moder.Mode(name)
	}
	info, err := d.Lstat(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// noFS is empty and refuses every request.
type noFS struct{}

func (noFS) Lstat(string) (fs.FileInfo, error) { return nil, fs.ErrInvalid }
func (noFS) Readlink(string) (string, error)   { return "", fs.ErrInvalid }

// ReadDir lists at most n entries of dir.
func (OS) ReadDir(dir string, n int) (list []fs.DirEntry, more bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	list, err = f.ReadDir(n + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return list[:min(n, len(list))], len(list) > n, nil
}
