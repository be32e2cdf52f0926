package validate

import (
	"errors"
	"io/fs"
	"os"

	"mcphub/rootsmgr"
	"mcphub/validate/budget"
)

// looker is the disk as one call sees it. Each look is paid for out of the call's budget, and each place is looked at
// once, so that what lies above many paths costs one look. Nothing is kept for the next call. A look that the budget does
// not cover fails, which denies.
type looker struct {
	fs    rootsmgr.FS
	work  *budget.Budget
	seen  map[string]look
	users map[string]home
	find  func(user string) (string, bool)
}

type look struct {
	info fs.FileInfo // nil where only the mode is known
	mode fs.FileMode
	err  error
}

type home struct {
	dir string
	ok  bool
}

var errSpent = errors.New("it takes more looks at the disk than one call may cost")

// callView is a Checker as one call sees the disk, in memory that somebody else has allocated for the call.
type callView struct {
	c    Checker
	disk looker
}

// open returns c as a call with this budget sees the disk. It is good until the next open.
func (v *callView) open(c *Checker, work *budget.Budget) *Checker {
	*v = callView{c: *c, disk: looker{fs: c.fs, work: work, find: c.users}}
	v.c.fs, v.c.disk = &v.disk, &v.disk
	return &v.c
}

func (l *looker) Lstat(name string) (fs.FileInfo, error) {
	was, ok := l.seen[name]
	if ok && (was.info != nil || was.err != nil) {
		return was.info, was.err
	}
	if !l.work.Spend(budget.LookSteps) {
		return nil, errSpent
	}
	info, err := l.fs.Lstat(name)
	was = look{info: info, err: plain(err)}
	if err == nil {
		was.mode = info.Mode()
	}
	l.keep(name, was)
	return info, was.err
}

func (l *looker) keep(name string, was look) {
	if l.seen == nil {
		l.seen = make(map[string]look)
	}
	l.seen[name] = was
}

// Mode is Lstat without the allocation.
func (l *looker) Mode(name string) (fs.FileMode, error) {
	if was, ok := l.seen[name]; ok {
		return was.mode, was.err
	}
	moder, ok := l.fs.(interface {
		Mode(name string) (fs.FileMode, error)
	})
	if !ok {
		info, err := l.Lstat(name)
		if err != nil {
			return 0, err
		}
		return info.Mode(), nil
	}
	if !l.work.Spend(budget.LookSteps) {
		return 0, errSpent
	}
	mode, err := moder.Mode(name)
	l.keep(name, look{mode: mode, err: plain(err)})
	return mode, plain(err)
}

// plain keeps of an error only what is asked of it where nothing is there, which is what nearly every error says.
func plain(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	return err
}

func (l *looker) Readlink(name string) (string, error) {
	if !l.work.Spend(budget.LookSteps) {
		return "", errSpent
	}
	return l.fs.Readlink(name)
}

// Magic reports a symlink that each process sees differently.
func (l *looker) Magic(link string) (bool, error) {
	if m, ok := l.fs.(interface {
		Magic(link string) (bool, error)
	}); ok {
		if !l.work.Spend(budget.LookSteps) {
			return true, errSpent
		}
		return m.Magic(link)
	}
	return false, nil
}

func (l *looker) SameFile(a, b fs.FileInfo) bool {
	if s, ok := l.fs.(interface{ SameFile(a, b fs.FileInfo) bool }); ok {
		return s.SameFile(a, b)
	}
	return os.SameFile(a, b)
}

func (l *looker) Platform() rootsmgr.Platform { return platformOf(l.fs) }

// ReadDir costs a step for each name, after it was read: how many there are is not the caller's doing.
func (l *looker) ReadDir(name string) ([]fs.DirEntry, error) {
	if !l.work.Spend(2 * budget.LookSteps) {
		return nil, errSpent
	}
	list, err := readDir(l.fs, name)
	l.work.Spend(len(list))
	return list, err
}

func (l *looker) Writable(dir string) bool {
	return l.work.Spend(budget.LookSteps) && writable(l.fs, dir)
}

// userSteps is what looking up a user costs: a file is read.
const userSteps = 64 * budget.LookSteps

func (l *looker) user(name string) (string, bool) {
	h, ok := l.users[name]
	if !ok {
		if !l.work.Spend(userSteps) {
			return "", true // for all that is known
		}
		h.dir, h.ok = l.find(name)
		if l.users == nil {
			l.users = map[string]home{}
		}
		l.users[name] = h
	}
	return h.dir, h.ok
}
