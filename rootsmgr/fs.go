package rootsmgr

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// FS is all that resolving a path needs of a filesystem. Names are absolute. An
// error that is not fs.ErrNotExist makes a path unresolvable, which denies.
//
// An FS may offer more, each by an interface of its own: Mode, Magic, Readable,
// Shared, TrueCase, SameFile, ReadDir, Home and Platform. [OS] has all that the
// system can tell.
type FS interface {
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
}

type (
	// moder is Lstat without the allocation.
	moder interface {
		Mode(name string) (fs.FileMode, error)
	}
	// magician reports a symlink whose target each process sees differently.
	// Asked for every link on the way.
	magician interface {
		Magic(link string) (bool, error)
	}
	// reader says whether a directory may be listed and entered, or a file read.
	reader interface{ Readable(path string) error }
	// sharer says whether another user than ours and root may write in a
	// directory, and whether the directory lets its users alter only what is
	// their own (the sticky bit).
	sharer interface {
		Shared(dir string) (shared, sticky bool, err error)
	}
	// trueCaser spells an existing path as its directories do.
	trueCaser interface {
		TrueCase(path string) (string, error)
	}
	// sameFiler compares two results of Lstat. Without it spellings that differ
	// in case or Unicode form are different files.
	sameFiler interface {
		SameFile(a, b fs.FileInfo) bool
	}
	homer      interface{ Home() string }
	platformer interface{ Platform() Platform }
)

// OS is the FS of this machine.
type OS struct{}

// Lstat implements [FS].
func (OS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Readlink implements [FS].
func (OS) Readlink(name string) (string, error) { return os.Readlink(name) }

// SameFile reports whether two results of Lstat describe one file.
func (OS) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

// Home is the user's home folder, "" where there is none.
func (OS) Home() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}

// Platform is that of this process.
func (OS) Platform() Platform { return Host() }

// eyes is an FS with its optional abilities looked up once.
type eyes struct {
	FS
	platform Platform
	moder    moder
	magician magician
	same     sameFiler
	links    *[]string // where set, every symlink that is followed is noted here
}

func newEyes(fsys FS) eyes {
	e := eyes{FS: fsys, platform: platformOf(fsys)}
	e.moder, _ = fsys.(moder)
	e.magician, _ = fsys.(magician)
	e.same, _ = fsys.(sameFiler)
	return e
}

func platformOf(fsys FS) Platform {
	if f, ok := fsys.(platformer); ok {
		return f.Platform()
	}
	return Host()
}

func homeOf(fsys FS) string {
	if f, ok := fsys.(homer); ok {
		return f.Home()
	}
	return ""
}

func (e *eyes) mode(name string) (fs.FileMode, error) {
	if e.moder != nil {
		return e.moder.Mode(name)
	}
	info, err := e.Lstat(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// noFS has nothing and knows nothing: what is asked of it is refused.
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
