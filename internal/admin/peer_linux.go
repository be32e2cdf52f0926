package admin

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"mcphub/internal/proctree"
)

// peerUser asks the kernel which user is at the other end (SO_PEERCRED).
func peerUser(c *net.UnixConn) (uid int, known bool, err error) {
	cred, err := credentials(c)
	if err != nil {
		return 0, true, err
	}
	return int(cred.Uid), true, nil
}

// peerProcess asks the kernel which process is at the other end.
func peerProcess(c *net.UnixConn) (pid int, known bool, err error) {
	cred, err := credentials(c)
	if err != nil {
		return 0, true, err
	}
	return int(cred.Pid), true, nil
}

func credentials(c *net.UnixConn) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return cred, nil
}

// mostAncestors is how far a process is followed: an id that was given anew
// meanwhile could close a circle.
const mostAncestors = 4096

// mayApprove refuses a process that has no terminal, and one that the hub, a
// server of it, or the client that the hub serves has started.
func mayApprove(pid, hub, client int) error { return kin(proctree.Find, pid, hub, client) }

func kin(find func(pid int) (proctree.Process, error), pid, hub, client int) error {
	if client < 0 {
		return errors.New("who started the hub cannot be told, so nobody may approve")
	}
	p, err := find(pid)
	if err != nil {
		return fmt.Errorf("what process it is that would approve cannot be told: %w", err)
	}
	if p.TTY == 0 {
		return errors.New("only a person at a terminal may approve, and this process has none")
	}
	return ancestors(find, p, func(p proctree.Process) error {
		switch {
		case p.PID == hub:
			return errors.New("what the hub's servers start may not approve; open a terminal of your own")
		case client > 1 && p.PID == client:
			return errors.New("what the hub's client starts may not approve; open a terminal that it did not start")
		}
		return nil
	})
}

// mayAdminister refuses a process that a server of the hub has started. One of
// another namespace has no number here: those of the servers have one.
func mayAdminister(pid, hub int) error {
	if pid == 0 || pid == hub {
		return nil
	}
	return stranger(proctree.Find, pid, hub)
}

func stranger(find func(pid int) (proctree.Process, error), pid, hub int) error {
	p, err := find(pid)
	if err != nil {
		return fmt.Errorf("what process it is that asks cannot be told: %w", err)
	}
	return ancestors(find, p, func(p proctree.Process) error {
		if p.PID == hub {
			return errors.New("what the hub's servers start may not do that; use a terminal of your own")
		}
		return nil
	})
}

// ancestors hands a process and those above it to refuse, until that gives an error.
func ancestors(find func(pid int) (proctree.Process, error), p proctree.Process, refuse func(proctree.Process) error) error {
	for range mostAncestors {
		if err := refuse(p); err != nil {
			return err
		}
		if p.Parent <= 0 {
			return nil
		}
		parent, err := p.Parent, error(nil)
		if p, err = find(parent); err != nil {
			if errors.Is(unix.Kill(parent, 0), unix.EPERM) {
				return nil // another user's, which /proc may hide: a login
			}
			return fmt.Errorf("who started the process cannot be told: %w", err)
		}
	}
	return errors.New("who started the process cannot be told")
}
