package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"mcphub/internal/rawio"
)

func landlockVersion() (int, error) { return landlock.LandlockGetABIVersion() }

// Look asks for the version of Landlock, and looks at what else is needed.
func Look(version func() (int, error)) Kernel {
	k := Kernel{Filters: canFilter(), Drops: canDrop()}
	k.WhyNoNotify = whyNoNotify()
	abi, err := version()
	switch {
	case err == nil && abi > 0:
		k.ABI = abi
	case errors.Is(err, unix.ENOSYS):
		k.Why = "this kernel has no Landlock (it came with Linux 5.13)"
	case errors.Is(err, unix.EOPNOTSUPP):
		k.Why = "Landlock is turned off (start the kernel with lsm=landlock,...)"
	case err != nil:
		k.Why = fmt.Sprintf("Landlock cannot be used: %v (a container may forbid it)", err)
	default:
		k.Why = "this kernel has no Landlock"
	}
	return k
}

const (
	onFiles = landlock.AccessFSExecute | landlock.AccessFSWriteFile | landlock.AccessFSReadFile | landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
	first   = landlock.AccessFSMakeSym<<1 - 1 // all rights of the first version
	changes = landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSRefer | landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile |
		landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeSym | landlock.AccessFSMakeFifo | landlock.AccessFSMakeSock
)

// handledRights returns the rights on files that this kernel takes from the one who has no
// rule. A kernel with a newer ABI than is known here has these, too.
func (k Kernel) handledRights(sockets bool) uint64 {
	rights := uint64(first)
	if k.ABI >= abiRefer {
		rights |= landlock.AccessFSRefer
	}
	if k.ABI >= abiTruncate {
		rights |= landlock.AccessFSTruncate
	}
	if k.ABI >= abiIoctl {
		rights |= landlock.AccessFSIoctlDev
	}
	if k.ABI >= abiSockets && !sockets {
		rights |= landlock.AccessFSResolveUnix
	}
	return rights
}

// landlockRights returns the rights of Landlock that make up an Access.
func (a Access) landlockRights() (rights uint64) {
	if a&Read != 0 {
		rights |= landlock.AccessFSReadFile | landlock.AccessFSReadDir
	}
	if a&Execute != 0 {
		rights |= landlock.AccessFSExecute
	}
	if a&Write != 0 {
		rights |= changes
	}
	if a&Device != 0 {
		rights |= landlock.AccessFSIoctlDev
	}
	return rights
}

// A Ruleset is a Profile in the form that the kernel takes.
type Ruleset struct {
	fd       int // of Landlock's ruleset; -1 if it has nothing to hold
	filter   []unix.SockFilter
	noClone3 []unix.SockFilter // of a thread that calls clone3; nil: clone3 is in filter, or there is no filter
	drops    bool

	profile  *Profile
	recorder *Recorder         // notes what profile does not allow; nil: there is none
	notices  []unix.SockFilter // of the system calls that the kernel asks about; nil: there are none
	folders  []*folder         // of the files of profile, until Enter
	listener *listener         // from Enter on, if there are notices
}

// Prepare makes the Ruleset of a Profile. What is not there, or a link by now, is left
// out. With clone3 it is for a thread that makes a process by that call, as a process that begins in another control group
// is made. That process has to put NoClone3 in force before it executes a program.
func Prepare(k Kernel, p *Profile, clone3 bool) (r *Ruleset, err error) {
	r = &Ruleset{fd: -1, drops: k.Drops, profile: p}
	if k.Filters {
		if r.filter, err = filterFor(p, clone3); err != nil {
			return nil, err
		}
		if clone3 {
			if r.noClone3, err = assembleFilter(append(slices.Clone(noClone3), allowed)); err != nil {
				return nil, err
			}
		}
	}
	if !p.Unbounded {
		r.folders = heldFolders(p)
	}
	if err := r.askFor(); err != nil {
		r.Close()
		return nil, err
	}
	// Files, ports and scopes are one ruleset: two in a row would forbid every move
	// between directories.
	attr := landlock.RulesetAttr{}
	if !p.Unbounded {
		attr.HandledAccessFS = k.handledRights(p.Sockets)
	}
	if k.ABI >= abiPorts && !p.Network.On {
		attr.HandledAccessNet = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	}
	if k.ABI >= abiScopes {
		attr.Scoped = landlock.ScopeSignal
		if !p.Sockets {
			attr.Scoped |= landlock.ScopeAbstractUnixSocket
		}
	}
	if k.ABI == 0 || attr == (landlock.RulesetAttr{}) {
		return r, nil
	}
	if r.fd, err = landlock.LandlockCreateRuleset(&attr, 0); err != nil {
		return nil, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	if err := r.addRules(&attr, p); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (rules *Ruleset) addRules(attr *landlock.RulesetAttr, p *Profile) error {
	if attr.HandledAccessFS != 0 {
		for _, rule := range p.Rules {
			err := error(nil)
			switch {
			case p.isExcepted(rule.Path):
			case p.Except != "" && Contains(rule.Path, p.Except):
				err = rules.addAround(p, rule, attr.HandledAccessFS)
			default:
				err = rules.allowPath(rule.Path, p.placeOf(rule.Path), rule.Access.landlockRights()&attr.HandledAccessFS)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", rule.Path, err)
			}
		}
	}
	if attr.HandledAccessNet != 0 {
		for _, port := range p.Network.Ports {
			err := landlock.LandlockAddNetPortRule(rules.fd, &landlock.NetPortAttr{AllowedAccess: attr.HandledAccessNet, Port: uint64(port)}, 0)
			if err != nil {
				return fmt.Errorf("port %d: %w", port, err)
			}
		}
	}
	return nil
}

// lookAt returns what has a name, which ends with NUL. A look that cannot wait comes first: each judged call takes one.
func lookAt(name []byte) inode {
	if st, ok := rawio.Look(&name[0], unix.O_NOFOLLOW, 0, unix.STATX_INO); ok {
		return inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
	}
	return inodeNow(name)
}

// inodeNow works like lookAt by one system call, which may wait for a disk.
func inodeNow(name []byte) inode {
	var st unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, syscallDescriptor(unix.AT_FDCWD), uintptr(unsafe.Pointer(&name[0])), unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, uintptr(unsafe.Pointer(&st)), 0)
	if errno != 0 {
		return inode{}
	}
	return inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
}

// MayUse reports whether the user of this process may write at a path if a has Write, and else
// whether it may read there. What it may not do fails without a sandbox too.
func MayUse(path string, a Access) bool {
	mode := uint32(unix.R_OK)
	if a&Write != 0 {
		mode = unix.W_OK
	}
	return unix.Access(path, mode) == nil
}

// syscallDescriptor returns a descriptor as system calls take it.
func syscallDescriptor(fd int) uintptr { return uintptr(fd) }

// addAround adds the rule of a directory that has in it what is excepted: all that lies
// beside the way to that is allowed by itself, as it is now. Of the directories on the way
// the names may be read, and nothing comes to be in them or goes.
func (rules *Ruleset) addAround(p *Profile, rule Rule, handled uint64) error {
	if p.hasMoved(rule.Path) {
		return nil
	}
	rights := rule.Access.landlockRights() & handled
	for dir := rule.Path; dir != p.Except; {
		if err := rules.allowPath(dir, nil, rights&landlock.AccessFSReadDir); err != nil {
			return err
		}
		rest, err := filepath.Rel(dir, p.Except)
		if err != nil {
			return err
		}
		next, _, _ := strings.Cut(rest, "/")
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil // who may not read it here may not open it there
		}
		for _, e := range entries {
			if e.Name() != next {
				if err := rules.allowPath(filepath.Join(dir, e.Name()), nil, rights); err != nil {
					return err
				}
			}
		}
		dir = filepath.Join(dir, next)
	}
	return nil
}

// allowPath adds the rule of one path. place is what it is to sit on; nil: whatever is there.
func (rules *Ruleset) allowPath(path string, place *Place, rights uint64) error {
	opened := rules.profile.opened
	if rights&changes != 0 && (!Contains("/dev", path) || Contains("/dev/shm", path)) {
		opened = nil // another server hardly opens it
	}
	at, closePath, err := opened.open(path)
	if err != nil {
		return nil // who may not open it here may not open it there
	}
	defer closePath()
	if place != nil && place.inode != at.inode {
		return nil // replaced since, which Replaced tells
	}
	if !at.dir {
		rights &= onFiles
	}
	if rights == 0 {
		return nil
	}
	return landlock.LandlockAddPathBeneathRule(rules.fd, &landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: at.fd}, 0)
}

// Enter confines the calling thread, and every process that is started on it, for good.
// The goroutine must be locked to the thread, must end locked, and must not be on the
// main thread. If it fails the thread may be confined in part, and must end too.
func (rules *Ruleset) Enter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if !rules.holdsNothing() {
		if err := rules.confineThread(); err != nil {
			return err
		}
	}
	if rules.notices == nil {
		return nil
	}
	err := rules.startListener()
	if errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("another program decides on the system calls of this one, and the hub cannot as well (%w)", err)
	}
	if err != nil && rules.recorder != nil {
		return rules.recorder.refuseRecording(err)
	}
	return err
}

// confineThread has the kernel hold the calling thread to the profile.
func (rules *Ruleset) confineThread() error {
	// The one who started the hub may have left descriptors open that a child would inherit.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	if rules.fd >= 0 {
		if err := landlock.LandlockRestrictSelf(rules.fd, 0); err != nil {
			return fmt.Errorf("landlock_restrict_self: %w", err)
		}
	}
	if rules.drops {
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	if rules.filter == nil {
		return nil
	}
	return installFilter(rules.filter)
}

// NoClone3 returns the filter that takes clone3 from a process that has entered a Ruleset with clone3; nil if this kernel has no
// filters.
func (rules *Ruleset) NoClone3() []unix.SockFilter { return rules.noClone3 }

// End has what the kernel asks about those who have entered refused from now on; of a nil Ruleset
// nothing. It returns when nothing is under way. It is called when they have ended.
func (rules *Ruleset) End() {
	if rules != nil && rules.listener != nil {
		rules.listener.endListener()
		rules.listener = nil
	}
}

// Close gives up what Prepare opened; of a nil Ruleset nothing. Threads that have entered stay confined.
func (rules *Ruleset) Close() {
	if rules == nil {
		return
	}
	closeFolders(rules.folders)
	rules.folders = nil
	if rules.fd >= 0 {
		_ = unix.Close(rules.fd)
		rules.fd = -1
	}
}

// Bits of securebits, each followed by the one that locks it: no user id brings
// capabilities, and none are kept.
const secureBits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7

// canDrop reports whether a thread of this process can give up all capabilities.
func canDrop() bool {
	have, err := threadCapabilities()
	return err == nil && (have == 0 || have&(1<<unix.CAP_SETPCAP) != 0)
}

// threadCapabilities returns the thread capabilities that the calling thread may have.
func threadCapabilities() (uint64, error) {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, err
	}
	return uint64(data[1].Permitted)<<32 | uint64(data[0].Permitted), nil
}

// dropCapabilities gives up all capabilities of the calling thread, and every way back
// to them.
func dropCapabilities() error {
	have, err := threadCapabilities()
	if err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	if have != 0 {
		for c := uintptr(0); c < 64; c++ {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
				break // there are no more
			} else if err != nil {
				return fmt.Errorf("capability %d cannot be given up: %w", c, err)
			}
		}
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0); err != nil {
			return fmt.Errorf("securebits: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	var none [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// canFilter reports whether the kernel has seccomp filters, and this architecture is one
// that filterFor knows.
func canFilter() bool {
	if auditArchitecture() == 0 {
		return false
	}
	if err := unix.Prctl(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil {
		return false
	}
	text, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	return err != nil || strings.Contains(string(text), "errno")
}

// whyNoNotify returns why the kernel does not ask the hub about system calls; "" if it does.
func whyNoNotify() string {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	// Flags that are known are looked at before the filter, of which there is none.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	if errno != unix.EFAULT {
		return fmt.Sprintf("this kernel does not ask about system calls (seccomp: %v; Linux has it from 5.19)", errno)
	}
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && strings.TrimSpace(string(text)) > "1" {
		return "nobody may read what a process asks for (kernel.yama.ptrace_scope is " + strings.TrimSpace(string(text)) + ")"
	}
	asked := make(chan error, 1)
	go OnThread(func() { asked <- tryListener() })
	if err := <-asked; err != nil {
		return fmt.Sprintf("another program decides on the system calls of this one (%v)", err)
	}
	return ""
}

// tryListener has the kernel ask about nothing, on a thread that ends afterwards.
func tryListener() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter, err := assembleFilter([]bpf.Instruction{allowed})
	if err != nil {
		return err
	}
	fd, err := installListener(filter, unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}
