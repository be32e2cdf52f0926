package cgroup

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds are the bounds of all processes of a Group together; 0: none.
type Bounds struct {
	Memory    int64 // bytes; memory that is swapped out counts too, unless Swaps
	Processes int   // threads count as well
	Swaps     bool  // memory that is swapped out does not count
}

// defaultProcesses is more than honest servers start: a build with a process for each of 128 processors has some thousand threads.
const defaultProcesses = 4096

// Default returns the bounds of a server that has none of its own, as far as the groups of t can hold them: half of the memory of the machine,
// and defaultProcesses.
func (t *Tree) Default() (b Bounds) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil && slices.Contains(t.controllers, memory) {
		b.Memory, b.Swaps = int64(info.Totalram)*int64(info.Unit)/2, true
	}
	if slices.Contains(t.controllers, pids) {
		b.Processes = defaultProcesses
	}
	return b
}

// A Group is a control group with bounds.
type Group struct {
	path   string
	fd     int
	events int // the file that changes when the kernel refuses a process; -1: none
}

// New makes a Group. The error reports what keeps it from holding the bounds, for a person.
func (t *Tree) New(b Bounds) (*Group, error) {
	switch {
	case b.Memory > 0 && !slices.Contains(t.controllers, memory):
		return nil, errors.New("the control group of the hub has no controller memory")
	case b.Processes > 0 && !slices.Contains(t.controllers, pids):
		return nil, errors.New("the control group of the hub has no controller pids")
	}
	g := &Group{path: filepath.Join(t.path, namesBegin+rand.Text()), fd: -1, events: -1}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, err
	}
	err := g.setBounds(b)
	if err == nil {
		g.fd, err = unix.Open(g.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		_ = os.Remove(g.path)
		return nil, err
	}
	if b.Processes > 0 {
		if g.events, err = unix.Open(filepath.Join(g.path, "pids.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			_ = g.Remove()
			return nil, err
		}
	}
	return g, nil
}

func (g *Group) setBounds(b Bounds) error {
	if b.Memory > 0 {
		if err := writeFile(g.path, "memory.max", strconv.FormatInt(b.Memory, 10)); err != nil {
			return err
		}
		// Who may swap would otherwise have as much again.
		if !b.Swaps {
			if err := writeFile(g.path, "memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		if err := writeFile(g.path, "memory.oom.group", "1"); err != nil {
			return err
		}
	}
	if b.Processes > 0 {
		return writeFile(g.path, "pids.max", strconv.Itoa(b.Processes))
	}
	return nil
}

// FD returns the descriptor by which a process is started in the group, until Remove.
func (g *Group) FD() int { return g.fd }

// Await returns when the process of a pidfd has ended. It calls refused at first, and whenever a process may have been refused to the group.
func (g *Group) Await(pidfd int, refused func()) {
	if g.events < 0 {
		return
	}
	told := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}, {Fd: int32(g.events), Events: unix.POLLPRI}}
	for told[0].Revents == 0 {
		var text [64]byte
		if _, err := unix.Pread(g.events, text[:], 0); err != nil { // the kernel reports changes after that read alone
			return // the group is gone
		}
		refused()
		for again := true; again; {
			_, err := unix.Poll(told, -1)
			if again = errors.Is(err, unix.EINTR); err != nil && !again {
				return
			}
		}
	}
}

// Exceeded reports whether someone in the group was killed for memory, or was refused a
// process.
func (g *Group) Exceeded() (memory, processes bool) {
	killed, _ := g.readCount("memory.events", "oom_kill")
	return killed > 0, g.refusedProcess()
}

// refusedProcess reports whether someone was refused a process by the bound of this very group. Since Linux 6.11
// pids.events.local counts that. Before, pids.events counts who in the group was refused one, be it by the bound of a
// group above: then it is asked whether the group ever had as many as it may, if the kernel keeps that (pids.peak).
func (g *Group) refusedProcess() bool {
	if n, there := g.readCount("pids.events.local", "max"); there {
		return n > 0
	}
	if n, _ := g.readCount("pids.events", "max"); n == 0 {
		return false
	}
	most, bounded := g.readNumber("pids.max")
	peak, kept := g.readNumber("pids.peak")
	return bounded && (!kept || peak >= most)
}

// readCount returns one line of a file of events; false if it has none.
func (g *Group) readCount(file, name string) (n int, there bool) {
	text, _ := os.ReadFile(filepath.Join(g.path, file))
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, " "); key == name {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			return n, err == nil
		}
	}
	return 0, false
}

// readNumber returns what a file has; false if there is none, or it reports that there is no bound.
func (g *Group) readNumber(file string) (n int, there bool) {
	text, _ := os.ReadFile(filepath.Join(g.path, file))
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

// Kill kills everybody in the group at once; before Linux 5.14 no one.
func (g *Group) Kill() { _ = writeFile(g.path, "cgroup.kill", "1") }

// removeTime is how long the kernel may take to let go of those who have ended.
const removeTime = 2 * time.Second

// Remove ends all processes that are left in the group, and removes it.
func (g *Group) Remove() error {
	g.Kill()
	for _, fd := range []*int{&g.fd, &g.events} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
		}
		*fd = -1
	}
	for until := time.Now().Add(removeTime); ; time.Sleep(5 * time.Millisecond) {
		err := os.Remove(g.path)
		if err == nil || errors.Is(err, os.ErrNotExist) || time.Now().After(until) {
			return err
		}
	}
}
