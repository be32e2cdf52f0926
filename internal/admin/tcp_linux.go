package admin

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"mcphub/internal/proctree"
)

// errKin is what servers are told, and errUnknown what is said of whom nothing is known.
var (
	errKin     = errors.New("what a hub's servers start may not call it: they would choose their own roots; where that is wanted, configure http.tokens and give it one")
	errUnknown = errors.New("which process sent this cannot be told, so it may be a server of the hub (of what comes by ssh -L, or out of a container, it never can); configure http.tokens and give it one")
)

// Check refuses a connection whose other end a server of a hub of this user holds. It
// looks for a process that holds it and is none, and refuses where there is none: a
// server could hide behind processes that come and go, but can make no other one hold
// its connection.
func (k *Kin) Check(remote, local netip.AddrPort) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.look(remote, local)
	if err != nil && !errors.Is(err, errKin) { // who came or went meanwhile?
		err = k.look(remote, local)
	}
	return err
}

func (k *Kin) look(remote, local netip.AddrPort) error {
	uid, inode, err := socketOf(plain(remote), plain(local))
	switch {
	case err != nil:
		return err
	case uid != os.Geteuid():
		return nil // no server becomes another user
	}
	names, err := readNames("/proc")
	if err != nil {
		return errUnknown
	}
	link := "socket:[" + inode + "]"
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || !holds(name, link) {
			continue
		}
		if pid == os.Getpid() {
			return nil
		}
		p, err := proctree.Find(pid)
		if err != nil {
			return errUnknown
		}
		hubs := k.hubs()
		return ancestors(proctree.Find, p, func(a proctree.Process) error {
			if a.PID != pid && hubs[a.PID] || a.Variable(k.mark) != "" {
				return errKin
			}
			return nil
		})
	}
	return errUnknown
}

// hubs are the processes that listen at the sockets of this user's hubs, and this one. One
// of another namespace has no number here.
func (k *Kin) hubs() map[int]bool {
	all := map[int]bool{os.Getpid(): true}
	for _, dir := range k.folders {
		sweep(dir, func(_ string, c net.Conn) {
			if cred, err := credentials(c.(*net.UnixConn)); err == nil && cred.Pid > 1 {
				all[int(cred.Pid)] = true
			}
		})
	}
	return all
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

// holds reports whether a descriptor of a process is this socket.
func holds(pid, link string) bool {
	dir := "/proc/" + pid + "/fd"
	names, _ := readNames(dir) // of another user
	var buf [64]byte
	return slices.ContainsFunc(names, func(fd string) bool {
		n, err := unix.Readlink(dir+"/"+fd, buf[:])
		return err == nil && string(buf[:n]) == link
	})
}

func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// socketOf looks for the socket that has these ends, seen from itself.
func socketOf(own, other netip.AddrPort) (uid int, inode string, err error) {
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue // without IPv6 there is no tcp6
		}
		defer func() { _ = f.Close() }()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || !strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", own.Port())) {
				continue
			}
			here, err1 := parseEnd(fields[1])
			there, err2 := parseEnd(fields[2])
			uid, err3 := strconv.Atoi(fields[7])
			if errors.Join(err1, err2, err3) == nil && here == own && there == other && fields[9] != "0" {
				return uid, fields[9], nil
			}
		}
	}
	return 0, "", errUnknown
}

// parseEnd reads an address as /proc/net has it: words of four bytes in the order of the
// machine, which all that the program is built for have the little end first.
func parseEnd(text string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	a, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, errUnknown
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), nil
}
