package rootstest

import (
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// FS is a faked filesystem under the path rules of one platform. It resolves
// links in the middle of a name itself, as a kernel does.
type FS struct {
	platform platform.Platform
	fold     bool
	home     string
	top      map[string]*node // by volume: "" on Unix, "C:" or `\\server\share`

	mu    sync.Mutex
	fails map[string]error
	looks int
}

// Option changes what [NewFS] makes.
type Option func(*FS)

// Folding makes names equal that differ only in case or Unicode form.
func Folding() Option { return func(f *FS) { f.fold = true } }

// Home names the home folder.
func Home(path string) Option { return func(f *FS) { f.home = path } }

// NewFS fakes a filesystem with the given entries. Names are absolute; names of
// Windows are written with slashes: "C:/proj/". A link's target is kept as
// written, with "$" for nothing.
func NewFS(t testing.TB, platform platform.Platform, lines []string, options ...Option) *FS {
	t.Helper()
	f := &FS{platform: platform, top: map[string]*node{}, fails: map[string]error{}}
	for _, o := range options {
		o(f)
	}
	for _, line := range lines {
		e := parseEntry(line)
		volume, names := f.splitName(f.ownSeparators(e.name))
		if len(names) == 0 && !e.dir {
			t.Fatalf("fake tree: %q", line)
		}
		at := f.findVolume(volume)
		for i, name := range names {
			at = at.findChild(f.foldKey(name), name)
			if i < len(names)-1 || e.dir {
				at.mode = fs.ModeDir | 0o755
			}
		}
		if e.link {
			at.mode, at.target = fs.ModeSymlink|0o777, strings.Replace(e.target, "$", "", 1)
		}
	}
	return f
}

type node struct {
	name   string
	mode   fs.FileMode
	target string
	sub    map[string]*node
}

func (n *node) findChild(key, name string) *node {
	if n.sub == nil {
		n.sub = map[string]*node{}
	}
	if n.sub[key] == nil {
		n.sub[key] = &node{name: name}
	}
	return n.sub[key]
}

func (f *FS) findVolume(name string) *node {
	if f.top[name] == nil {
		f.top[name] = &node{name: name, mode: fs.ModeDir | 0o755}
	}
	return f.top[name]
}

// ownSeparators turns slashes into the platform's separators.
func (f *FS) ownSeparators(name string) string {
	if f.platform == platform.Windows {
		return strings.ReplaceAll(name, "/", `\`)
	}
	return name
}

// splitName cuts a name into its volume and its components.
func (f *FS) splitName(name string) (string, []string) {
	volume, sep := "", "/"
	if f.platform == platform.Windows {
		sep = `\`
		if unc, ok := strings.CutPrefix(name, `\\`); ok {
			parts := strings.SplitN(unc, sep, 3)
			volume = `\\` + strings.ToUpper(strings.Join(parts[:min(2, len(parts))], sep))
			name = strings.Join(parts[min(2, len(parts)):], sep)
		} else {
			volume, name, _ = strings.Cut(name, ":")
			volume = strings.ToUpper(volume) + ":"
		}
	}
	var names []string
	for _, s := range strings.Split(name, sep) {
		if s != "" && s != "." {
			names = append(names, s)
		}
	}
	return volume, names
}

func (f *FS) foldKey(name string) string {
	if !f.fold {
		return name
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
}

// Fail makes every look at this very name fail.
func (f *FS) Fail(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails[name] = err
}

// Looks returns the number of calls of Lstat and Readlink so far.
func (f *FS) Looks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks
}

func (f *FS) lookAt(op, name string) (*node, error) {
	f.mu.Lock()
	f.looks++
	err := f.fails[name]
	f.mu.Unlock()
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	volume, names := f.splitName(name)
	at := f.top[volume]
	for i, name := range names {
		if at == nil {
			break
		}
		if !at.mode.IsDir() {
			return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
		}
		at = at.sub[f.foldKey(name)]
		if at != nil && at.mode&fs.ModeSymlink != 0 && i < len(names)-1 {
			// A resolver hands over names without links in the middle.
			return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ELOOP}
		}
	}
	if at == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return at, nil
}

// Lstat implements guard.FS.
func (f *FS) Lstat(name string) (fs.FileInfo, error) {
	n, err := f.lookAt("lstat", name)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// Readlink implements guard.FS.
func (f *FS) Readlink(name string) (string, error) {
	n, err := f.lookAt("readlink", name)
	if err != nil {
		return "", err
	}
	if n.mode&(fs.ModeSymlink|fs.ModeIrregular) == 0 || n.target == "" {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
	}
	return n.target, nil
}

// SameFile compares two results of Lstat.
func (f *FS) SameFile(a, b fs.FileInfo) bool {
	x, ok := a.(info)
	y, ok2 := b.(info)
	return ok && ok2 && x.node == y.node
}

// Home returns what the option of that name said.
func (f *FS) Home() string { return f.home }

// Platform returns the one whose rules hold.
func (f *FS) Platform() platform.Platform { return f.platform }

// Junction turns the link at name into what Windows reports for a junction, or,
// if it has no target, for an unknown reparse point.
func (f *FS) Junction(name string) {
	n, err := f.lookAt("junction", name)
	if err != nil {
		panic(err)
	}
	n.mode = fs.ModeIrregular
}

// Cloud turns the directory at name into what Windows reports for one whose files
// another program fetches.
func (f *FS) Cloud(name string) {
	n, err := f.lookAt("cloud", name)
	if err != nil {
		panic(err)
	}
	n.mode |= fs.ModeIrregular
}

// Subst makes a drive of Windows another name of a directory.
func (f *FS) Subst(drive, dir string) {
	n, err := f.lookAt("subst", dir)
	if err != nil {
		panic(err)
	}
	f.top[drive] = n
}

type info struct{ *node }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return 0 }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

var _ guard.FS = (*FS)(nil)
