package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/inherit"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

// Machine is the filesystem and the environment that a call is judged by.
type Machine struct {
	FS        guard.FS
	Platform  platform.Platform
	Home      string // "" if it is not known
	Windows   bool
	Folds     bool     // names that differ by letter case only are one
	path      []string // directories of PATH
	Getenv    func(string) string
	users     func(name string) (home string, ok bool)
	mountTops []string // first components of every container mount point, which need not exist on the host
	call      *callFS  // what fs is for one call; nil for the Machine of all
}

// New returns a Machine of this process: with its disk, home folder and environment where none are given.
// inherited are the variables that some child gets beyond the ones that all get.
func New(fsys guard.FS, home string, getenv func(string) string, inherited []string) Machine {
	if fsys == nil {
		fsys = guard.OS{}
	}
	if getenv == nil {
		getenv = os.Getenv
	}
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	m := Machine{FS: fsys, Home: home, users: lookupUser, Platform: guard.PlatformOf(fsys)}
	m.Windows, m.Folds = m.Platform == platform.Windows, m.Platform != platform.Linux
	m.Getenv = passVariables(getenv, inherited, m.Windows)
	if getenv := m.Getenv; m.Windows {
		m.Getenv = func(name string) string { // Git Bash and PowerShell set HOME themselves
			v := getenv(name)
			if v == "" && strings.EqualFold(name, "HOME") {
				v = home
			}
			return v
		}
	}
	m.path = filepath.SplitList(m.Getenv("PATH"))
	if m.Windows {
		m.path = strings.Split(strings.ReplaceAll(m.Getenv("PATH"), `"`, ""), ";")
	}
	return m
}

// AddMountPoints makes the mount points of a container count as directories that are there.
func (m *Machine) AddMountPoints(c *Container) {
	for _, at := range c.Mounts {
		top, _, _ := strings.Cut(strings.TrimPrefix(at.Container, "/"), "/")
		m.mountTops = append(m.mountTops, top)
	}
}

// ExpandHome writes the home folder over the ~ of ~ and ~/x; other texts stay as they are.
func (m *Machine) ExpandHome(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`) {
		return m.Home + p[1:]
	}
	return p
}

// SetWorkdir gives m the PWD of a child, which is not the hub's. secret is set when a variable is written out whose value
// no one should be told.
func (m *Machine) SetWorkdir(cwd string, secret *bool) {
	getenv := m.Getenv
	m.Getenv = func(name string) string {
		switch name {
		case "PWD":
			return cwd
		case "OLDPWD":
			return ""
		}
		v := getenv(name)
		if v != "" && !mayTell(name) {
			*secret = true
		}
		return v
	}
}

// DiskView is a Machine as one call sees it, in memory that someone else has allocated for the call.
type DiskView struct {
	m    Machine
	disk callFS
}

// Open returns m as a call with this budget sees it. It is good until the next open. atHand: it
// sees only what takes no waiting for a disk.
func (v *DiskView) Open(m *Machine, work *budget.Budget, atHand bool) *Machine {
	*v = DiskView{m: *m, disk: callFS{fs: m.FS, work: work, find: m.users, windows: m.Windows, atHand: atHand}}
	v.m.FS, v.m.call = &v.disk, &v.disk
	return &v.m
}

// MayWait reports whether m may look for what takes waiting for a disk.
func (m *Machine) MayWait() bool { return m.call == nil || !m.call.atHand }

// SetShares reports by names which shares of other machines roots name. No other share is looked at.
func (v *DiskView) SetShares(names func(share string) bool) { v.disk.names = names }

// Missed reports whether the call has looked for something that was not in memory.
func (v *DiskView) Missed() bool { return v.disk.missed }

// A child writes out the variables that it has, so the hub reads only those: what its own environment holds beyond that
// (tokens, mostly) is nothing to a child, and a denial must not spell it out.

// spokenOf are variables whose value may be told to the one who made a call; others may hold secrets, a proxy's password.
var spokenOf = chars.WordSet("HOME PATH USER LOGNAME SHELL LANG TERM TZ TMPDIR PWD OLDPWD TEMP TMP USERPROFILE APPDATA LOCALAPPDATA PUBLIC SYSTEMROOT WINDIR " +
	"ALLUSERSPROFILE COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432 COMSPEC HOMEDRIVE HOMEPATH PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE USERNAME")

// passVariables lets through the variables that some child gets, and the ones that a shell sets itself.
func passVariables(getenv func(string) string, inherited []string, windows bool) func(string) string {
	return func(name string) string {
		key := name
		if windows {
			key = strings.ToUpper(name)
		}
		if key == "PWD" || key == "OLDPWD" || inherit.Always(key, windows) || slices.Contains(inherited, name) {
			return getenv(name)
		}
		return ""
	}
}

// mayTell reports a variable whose value a denial may show.
func mayTell(name string) bool {
	return spokenOf[strings.ToUpper(name)] || strings.HasPrefix(name, "XDG_")
}

// PublicVariable returns the value of a variable if a denial may show it, and "" otherwise.
func (m *Machine) PublicVariable(name string) string {
	if !mayTell(name) {
		return ""
	}
	return m.Getenv(name)
}
