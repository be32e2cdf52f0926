package machine

import (
	"errors"
	"io/fs"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/budget"
)

// callFS is the disk as one call sees it. Each look is paid for out of the call's budget, and each place is looked at
// once, so that what lies above many paths costs one look. Nothing is kept for the next call. A look that the budget does
// not cover fails, which denies.
type callFS struct {
	fs    guard.FS
	work  *budget.Budget
	seen  map[string]entry
	users map[string]home
	find  func(user string) (string, bool)

	windows bool                    // looks at other machines have to be refused: see admitLook
	local   map[string]bool         // directories that lead to no other machine
	names   func(share string) bool // whether a root names a share; nil: none does

	atHand bool // nothing is looked at that may take waiting
	missed bool // something was asked for that may
}

type entry struct {
	info  fs.FileInfo // nil where only the mode is known
	mode  fs.FileMode
	whole guard.Entry // zero if it was not looked at so
	err   error
}

type home struct {
	dir string
	ok  bool
}

var errSpent = errors.New("it takes more looks at the disk than one call may cost")

var errHost = errors.New("it is on a host that no root names")

// NamesShare implements [guard.Namer].
func (c *callFS) NamesShare(share string) bool { return c.names != nil && c.names(share) }

// admitLook refuses a look that would ask a machine that no root names: by its text, or by a link above it. No system call is
// made for such a look.
func (c *callFS) admitLook(name string) error {
	if !c.windows {
		return nil
	}
	dir := platform.Windows.Parent(platform.Windows.Clean(name))
	if c.local[dir] {
		return nil
	}
	d := guard.NewDisk(c)
	if dir == "" || !d.MayLook(name) {
		return errHost
	}
	if c.local == nil {
		c.local = make(map[string]bool)
	}
	c.local[dir] = true
	return nil
}

// admitDir works like admitLook for a look at what is in a directory, to which a link may lead.
func (c *callFS) admitDir(dir string) error { return c.admitLook(platform.Windows.Join(dir, "x")) }

// paySteps is asked before a look that may have to wait for a disk.
func (c *callFS) paySteps(steps int) bool {
	c.missed = c.missed || c.atHand
	return !c.atHand && c.work.Spend(steps)
}

// Whole looks at a whole path, if that takes no waiting.
func (c *callFS) Whole(name string) (guard.Entry, bool) {
	if was, ok := c.seen[name]; ok && (was.whole.HardLinks > 0 || was.err != nil || was.mode&fs.ModeSymlink != 0) {
		return was.whole, was.whole.HardLinks > 0
	}
	w, ok := c.fs.(guard.Wholer)
	if !ok || !c.work.Spend(budget.LookSteps) {
		return guard.Entry{}, false
	}
	e, ok := w.Whole(name)
	if ok && e.HardLinks > 0 {
		c.keepEntry(name, entry{mode: e.Mode, whole: e})
	}
	return e, ok
}

func (c *callFS) Lstat(name string) (fs.FileInfo, error) {
	was, ok := c.seen[name]
	if ok && (was.info != nil || was.err != nil) {
		return was.info, was.err
	}
	if err := c.admitLook(name); err != nil {
		return nil, err
	}
	if !c.paySteps(budget.LookSteps) {
		return nil, errSpent
	}
	info, err := c.fs.Lstat(name)
	was = entry{info: info, err: plainError(err)}
	if err == nil {
		was.mode = info.Mode()
	}
	c.keepEntry(name, was)
	return info, was.err
}

func (c *callFS) keepEntry(name string, was entry) {
	if c.seen == nil {
		c.seen = make(map[string]entry)
	}
	c.seen[name] = was
}

// Mode works like Lstat without the allocation.
func (c *callFS) Mode(name string) (fs.FileMode, error) {
	if was, ok := c.seen[name]; ok && was.mode&fs.ModeIrregular == 0 { // which kind of reparse point that is, Lstat does not tell
		return was.mode, was.err
	}
	moder, ok := c.fs.(guard.Moder)
	if !ok {
		info, err := c.Lstat(name)
		if err != nil {
			return 0, err
		}
		return info.Mode(), nil
	}
	if err := c.admitLook(name); err != nil {
		return 0, err
	}
	if !c.paySteps(budget.LookSteps) {
		return 0, errSpent
	}
	mode, err := moder.Mode(name)
	c.keepEntry(name, entry{mode: mode, err: plainError(err)})
	return mode, plainError(err)
}

// plainError keeps of an error only what is asked of it if nothing is there, which is what nearly every error says.
func plainError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	return err
}

func (c *callFS) Readlink(name string) (string, error) {
	if err := c.admitLook(name); err != nil {
		return "", err
	}
	if !c.paySteps(budget.LookSteps) {
		return "", errSpent
	}
	return c.fs.Readlink(name)
}

// Magic reports a symlink that each process sees differently.
func (c *callFS) Magic(link string) (bool, error) {
	m, ok := c.fs.(guard.Magician)
	if !ok {
		return false, nil
	}
	if !c.paySteps(budget.LookSteps) {
		return true, errSpent
	}
	return m.Magic(link)
}

// LongName writes the short names in a path out.
func (c *callFS) LongName(name string) (string, error) {
	l, ok := c.fs.(guard.LongNamer)
	if !ok {
		return name, nil
	}
	if err := c.admitLook(name); err != nil {
		return "", err
	}
	if !c.paySteps(budget.LookSteps) {
		return "", errSpent
	}
	return l.LongName(name)
}

func (c *callFS) SameFile(a, b fs.FileInfo) bool { return sameFile(c.fs, a, b) }

func (c *callFS) Platform() platform.Platform { return guard.PlatformOf(c.fs) }

// ReadDir costs a step for each name, after it was read: how many there are is not the caller's doing.
func (c *callFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := c.admitDir(name); err != nil {
		return nil, err
	}
	if !c.paySteps(2 * budget.LookSteps) {
		return nil, errSpent
	}
	list, err := ReadDir(c.fs, name)
	c.work.Spend(len(list))
	return list, err
}

func (c *callFS) Writable(dir string) bool {
	return c.admitDir(dir) == nil && c.paySteps(budget.LookSteps) && isWritable(c.fs, dir)
}

// Drives returns the drives of the disk.
func (c *callFS) Drives() []string {
	if d, ok := c.fs.(driver); ok {
		return d.Drives()
	}
	return []string{`C:\`}
}

// Closed reports whether administrators alone may change a directory of Windows.
func (c *callFS) Closed(dir string) bool {
	if c.admitDir(dir) != nil || !c.paySteps(budget.LookSteps) {
		return false
	}
	m := Machine{FS: c.fs}
	return m.isClosed(dir)
}

// userSteps is what looking up a user costs: a file is read.
const userSteps = 64 * budget.LookSteps

func (c *callFS) userHome(name string) (string, bool) {
	h, ok := c.users[name]
	if !ok {
		if !c.paySteps(userSteps) {
			return "", true // for all that is known
		}
		h.dir, h.ok = c.find(name)
		if c.users == nil {
			c.users = map[string]home{}
		}
		c.users[name] = h
	}
	return h.dir, h.ok
}
