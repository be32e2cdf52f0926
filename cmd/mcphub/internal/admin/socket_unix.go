//go:build !windows

package admin

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"mcphub/internal/caller"
)

// listenAt opens a socket for this user.
func listenAt(path string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

func dialSocket(ctx context.Context, path string) (caller.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return c.(caller.Conn), nil
}

func isSocket(e fs.DirEntry) bool { return e.Type()&os.ModeSocket != 0 }

// isRefused reports that no process listens at a socket.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
