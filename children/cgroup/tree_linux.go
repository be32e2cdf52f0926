package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/internal/proctree"
)

const (
	memory = "memory" // the controllers that are used
	pids   = "pids"

	hubName    = "mcphub-hub" // of the group below into which the hub moves
	namesBegin = "mcphub-server-"
)

// A Tree is a control group of the hub's own, below which others can be made.
type Tree struct {
	path        string
	controllers []string // that groups below it have
}

// OpenDelegated makes a Tree of the control group of this process. The error reports why it
// is none, for a person.
func OpenDelegated() (*Tree, error) {
	args := [11]uint64{0: unix.CLONE_INTO_CGROUP, 4: uint64(unix.SIGCHLD), 10: math.MaxInt32} // struct clone_args, with a group that is none
	if _, _, err := unix.Syscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0); err != unix.EBADF {
		return nil, fmt.Errorf("a process cannot be started in another control group here (clone3: %w)", err)
	}
	path, err := Own()
	if err != nil {
		return nil, err
	}
	if err := checkDelegated(path); err != nil {
		return nil, err
	}
	return prepareTree(path, os.Getpid(), os.Getppid())
}

// Own returns the folder of the control group of this process.
func Own() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return findFolder(string(own), string(mounts))
}

// findFolder returns the folder of the control group of a process, by its
// /proc/PID/cgroup and /proc/PID/mountinfo (proc(5), cgroups(7)).
func findFolder(own, mounts string) (string, error) {
	group, found := "", false
	for line := range strings.Lines(own) {
		if rest, is := strings.CutPrefix(line, "0::"); is {
			group, found = strings.TrimSuffix(rest, "\n"), true
		}
	}
	if !found || strings.HasPrefix(group, "/..") {
		return "", errors.New("this process is in no control group of version 2 that it can see")
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) < 1 || kind[0] != "cgroup2" {
			continue
		}
		if below, err := filepath.Rel(unescapePath(fields[3]), group); err == nil && filepath.IsLocal(below) {
			return filepath.Join(unescapePath(fields[4]), below), nil
		}
	}
	return "", errors.New("no control groups of version 2 are mounted here")
}

// unescapePath reads a path of mountinfo.
func unescapePath(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// checkDelegated returns why the group may not be changed: systemd keeps the ones that it
// manages as it wants them, but for the ones that it has delegated, which bear a mark
// since version 251.
func checkDelegated(path string) error {
	managed := slices.ContainsFunc([]string{".service", ".scope", ".slice"}, func(end string) bool { return strings.HasSuffix(path, end) })
	if !managed {
		return nil
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [8]byte
		if n, err := unix.Lgetxattr(path, name, value[:]); err == nil && string(value[:n]) == "1" {
			return nil
		}
	}
	return fmt.Errorf("systemd has not delegated the control group of the hub (%s): start it with Delegate=yes", filepath.Base(path))
}

// tries bounds how often it is looked who is in the group: processes of the hub may start
// meanwhile.
const tries = 10

// prepareTree moves the hub, its guardian and all processes that descend from the hub into a
// group below path, so that groups below it can have controllers.
func prepareTree(path string, hub, parent int) (*Tree, error) {
	text, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	t := &Tree{path: path}
	enable := ""
	for _, c := range strings.Fields(string(text)) {
		if c == memory || c == pids {
			t.controllers, enable = append(t.controllers, c), enable+"+"+c+" "
		}
	}
	if t.controllers == nil {
		return nil, errors.New("the control group of the hub has neither the controller memory nor pids")
	}
	if err := onlyOurs(path, hub, parent); err != nil {
		return nil, err
	}
	into := filepath.Join(path, hubName)
	if err := os.Mkdir(into, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("the control group of the hub cannot be changed: %w", err)
	}
	for range tries {
		if err = moveAll(path, into); err != nil {
			break
		}
		if err = writeFile(path, "cgroup.subtree_control", enable); !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	if err != nil {
		_ = moveAll(into, path)
		_ = os.Remove(into)
		return nil, fmt.Errorf("the control group of the hub cannot be divided: %w", err)
	}
	t.clearGroups()
	return t, nil
}

// onlyOurs returns who else is in the group.
func onlyOurs(path string, hub, parent int) error {
	all, err := readMembers(path)
	if err != nil {
		return err
	}
	table, err := proctree.Read()
	if err != nil {
		return err
	}
	ours := map[int]bool{hub: true}
	if p, ok := table.Process(parent); ok && p.Hub == proctree.GuardianName(hub) {
		ours[parent] = true
	}
	for _, p := range table.Descendants(hub) {
		ours[p.PID] = true
	}
	for _, pid := range all {
		if _, lives := table.Process(pid); !ours[pid] && (lives || pid == 0) {
			return fmt.Errorf("the control group of the hub is not its own: process %d is in it too", pid)
		}
	}
	return nil
}

func moveAll(from, into string) error {
	all, err := readMembers(from)
	if err != nil {
		return err
	}
	for _, pid := range all {
		if err := writeFile(into, "cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// readMembers returns the processes in a group; 0 is one that cannot be seen from here.
func readMembers(path string) (all []int, err error) {
	text, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		all = append(all, pid)
	}
	return all, nil
}

// clearGroups removes the groups that a hub which was killed has left.
func (t *Tree) clearGroups() {
	left, _ := fs.Glob(os.DirFS(t.path), namesBegin+"*")
	for _, name := range left {
		_ = os.Remove(filepath.Join(t.path, name)) // one that is in use stays
	}
}

func writeFile(group, file, text string) error {
	f, err := os.OpenFile(filepath.Join(group, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
