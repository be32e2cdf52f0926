package caller

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"mcphub/internal/proctree"
)

// What a caller is told.
var (
	errFiltered  = errors.New("this process is held by a filter of system calls (seccomp) that the hub itself has not, as a hub's servers are, so it may not do that; use a terminal outside of that sandbox")
	errUnknown   = errors.New("which process asks cannot be told, so it may be a hub's server: it runs in a pid namespace (a container) that the hub cannot look into; ask from where the hub runs")
	errHidden    = errors.New("who started the process that asks cannot be told, so it may be a hub's server; where /proc is mounted with hidepid, it hides that")
	errTerminal  = errors.New("only a person at a terminal may approve, and this process has none")
	errBehind    = errors.New("only a person at a terminal may approve, and this process is not in the foreground of its terminal")
	errByClient  = errors.New("what the hub's client starts may not approve; open a terminal that it did not start")
	errNoClient  = errors.New("who started the hub cannot be told, so nobody may approve")
	errConfined  = errors.New("this process has given up new privileges (NoNewPrivs), and the hub has not, so it is held where the hub is not")
	errElsewhere = errors.New("this process is in another namespace than the hub (a container, bubblewrap, unshare), or has another root folder")
	errNoHub     = errors.New("it is no hub")
	errRights    = errors.New("this process has other rights than the hub: its user, groups or capabilities are others")
	errNamespace = errors.New("/proc is that of another pid namespace, so who asks cannot be told; mount it again")
)

// procReader is what the test reads of processes; a test of the test has others.
type procReader struct {
	self      int
	find      func(pid int) (proctree.Process, error)
	marked    func(p proctree.Process) (bool, error) // by its environment
	bears     func(pid int) (bool, error)            // the mark that it cannot lose
	status    func(pid int) ([]byte, error)
	hubStatus func() ([]byte, error) // the status of whose filters are no more than usual

	link func(pid int, name string) (string, error)
}

func machineReader() procReader {
	return procReader{self: os.Getpid(), find: proctree.Find, marked: isMarked, bears: proctree.Marked, status: statusOf, hubStatus: func() ([]byte, error) { return statusOf(os.Getpid()) }, link: linkOf}
}

func isMarked(p proctree.Process) (bool, error) {
	value, err := p.Lookup(proctree.InstanceVariable)
	return value != "", err
}

func statusOf(pid int) ([]byte, error) {
	return os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
}

// Peer refuses the process at the other end of a connection.
func Peer(c *net.UnixConn, want Want) error { return machineReader().checkPeer(c, want) }

func (m procReader) checkPeer(c *net.UnixConn, want Want) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(socket uintptr) { refused = m.atOtherEnd(int(socket), want) })
	return errors.Join(err, refused)
}

// Credentials returns who is at the other end of a connection, by the kernel: process, user and
// group (SO_PEERCRED of unix(7)).
func Credentials(c *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	if err := raw.Control(func(socket uintptr) {
		cred, failed = unix.GetsockoptUcred(int(socket), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return cred, failed
}

// Hub refuses the process that listens at the other end of a connected socket, unless it is a hub.
func Hub(socket int) error { return machineReader().atOtherEnd(socket, Want{hub: true}) }

func (m procReader) atOtherEnd(socket int, want Want) error {
	pid, fd, err := peerOf(socket)
	if err != nil {
		return err
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if pid <= 0 {
		return errUnknown
	}
	if err := ownProc(); err != nil {
		return err
	}
	if err := m.refuseProcess(pid, want); err != nil {
		return err
	}
	if fd < 0 {
		return nil // refuseProcess has seen that it is the one that it was
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	}
	if err != nil || n != 0 {
		return errGone
	}
	return nil
}

// Self refuses this process.
func Self(want Want) error {
	if err := ownProc(); err != nil {
		return err
	}
	m := machineReader()
	m.hubStatus = func() ([]byte, error) { return statusOf(1) }
	return m.refuseProcess(os.Getpid(), want)
}

// Started returns the time when a process has started, 0 if that cannot be told.
func Started(pid int) uint64 {
	p, err := proctree.Find(pid)
	if err != nil {
		return 0
	}
	return p.Start
}

// ownProc refuses a /proc in which this process has another number.
func ownProc() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return errNamespace
	}
	return nil
}

// peerOf returns the process that has connected, or listens, and, if the kernel gives one, a descriptor
// of it; else -1.
func peerOf(socket int) (pid, fd int, err error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, -1, err
	}
	fd, err = unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case errors.Is(err, unix.ENOPROTOOPT): // before Linux 6.5
		return int(cred.Pid), -1, nil
	case err != nil:
		return 0, -1, errGone
	}
	return int(cred.Pid), fd, nil
}

func (m procReader) refuseProcess(pid int, want Want) error {
	server := errServer
	if want.Person {
		server = errNoPerson
	}
	line, err := m.readAncestry(pid)
	if err != nil {
		return err
	}
	guarded := len(line) > 1 && line[1].Hub == proctree.GuardianName(pid)
	if want.hub && !guarded && line[0].Hub != proctree.HubName { // a hub bears its name from its first server on
		return errNoHub
	}
	for i, p := range line {
		guards := i == 1 && guarded
		if i > 0 && !guards && (p.Hub != "" || p.PID == m.self) {
			return server
		}
		is, err := m.marked(p)
		switch {
		case is:
			return server
		case err != nil && i == 0: // of those above it, many keep theirs to themselves, as sshd does
			return errHidden
		}
	}
	bearer := pid
	if guarded { // a hub bears the mark of its servers; its guardian does not, unless a server has started both
		bearer = line[1].PID
	}
	switch bears, err := m.bears(bearer); {
	case err != nil:
		return errGone
	case bears:
		return fmt.Errorf("%w (this process bears the mark of what they start: its hard limit on file locks, ulimit -Hx, is 0)", server)
	}
	status, err := m.status(pid)
	if err != nil {
		return errGone
	}
	than, err := m.hubStatus()
	if err != nil {
		than = none // who may have more than one that cannot be looked at?
	}
	if proctree.HasMoreFilters(status, than) {
		return errFiltered
	}
	if want.Alike {
		if err := m.checkConfinement(pid, status); err != nil {
			return err
		}
	}
	if again, err := m.find(pid); err != nil || again.Start != line[0].Start {
		return errGone
	}
	if want.Person {
		if err := checkPerson(line, want); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(line, want.isClient) {
		if want.Person {
			return errByClient
		}
		return errOfClient
	}
	return nil
}

func (w *Want) isClient(p proctree.Process) bool {
	return slices.ContainsFunc(w.Clients, func(c Process) bool { return c.PID > 1 && c.PID == p.PID && (c.Start == 0 || c.Start == p.Start) })
}

// places are links of a process below /proc that decide what it sees and may do; see namespaces(7).
var places = []string{"ns/user", "ns/mnt", "ns/pid", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup", "ns/time", "root"}

// rights are the lines of a status that report what its process may do; see proc_pid_status(5).
var rights = []string{"Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapBnd"}

// lineOf returns one line of a status, "" if there is none.
func lineOf(status []byte, name string) string {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(line)
}

// checkConfinement refuses a process with this status that is more confined than this one, or elsewhere.
func (m procReader) checkConfinement(pid int, status []byte) error {
	own, err := m.status(m.self)
	if err != nil {
		return errHidden
	}
	if gaveUp := []byte("\nNoNewPrivs:\t0\n"); bytes.Contains(own, gaveUp) && !bytes.Contains(status, gaveUp) {
		return errConfined
	}
	for _, name := range rights {
		if lineOf(own, name) != lineOf(status, name) {
			return errRights
		}
	}
	for _, name := range places {
		mine, err := m.link(m.self, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this kernel has none of that kind
		}
		theirs, err2 := m.link(pid, name)
		switch {
		case err != nil || err2 != nil:
			return errHidden
		case mine != theirs:
			return errElsewhere
		}
	}
	return nil
}

func linkOf(pid int, name string) (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(pid) + "/" + name)
}

// none is the status of a process without a filter.
var none = []byte("\nSeccomp:\t0\nSeccomp_filters:\t0\n")

func checkPerson(line []proctree.Process, want Want) error {
	switch p := line[0]; {
	case want.Unknown:
		return errNoClient
	case p.TTY == 0:
		return errTerminal
	case p.Front != p.Group:
		return errBehind
	}
	return nil
}

const (
	// maxAncestors is how far a process is followed: an id that was given
	// again meanwhile could close a circle.
	maxAncestors = 4096
	// maxReadings is how often an ancestry is read that changes meanwhile.
	maxReadings = 8
)

// readAncestry returns a process and all above it. A parent that ends while this is read
// leaves its number to someone else, perhaps; but then its child has another one, which
// the next reading shows.
func (m procReader) readAncestry(pid int) ([]proctree.Process, error) {
	var was []proctree.Process
	var err error
	for range maxReadings {
		var now []proctree.Process
		now, err = m.readAbove(pid)
		switch {
		case errors.Is(err, errHidden): // or its parent has ended just now: then it has another one
			was = nil
			continue
		case err != nil:
			return nil, err
		}
		if slices.EqualFunc(was, now, func(a, b proctree.Process) bool { return a.PID == b.PID && a.Start == b.Start && a.Hub == b.Hub }) {
			return now, nil
		}
		was = now
	}
	return nil, cmp.Or(err, errHidden)
}

func (m procReader) readAbove(pid int) (line []proctree.Process, err error) {
	for range maxAncestors {
		p, err := m.find(pid)
		switch {
		case err != nil && len(line) == 0:
			return nil, fmt.Errorf("%w (%w)", errGone, err)
		case err != nil:
			return nil, fmt.Errorf("%w (process %d)", errHidden, pid)
		}
		line = append(line, p)
		if p.Parent <= 0 {
			return line, nil
		}
		pid = p.Parent
	}
	return nil, errHidden
}
