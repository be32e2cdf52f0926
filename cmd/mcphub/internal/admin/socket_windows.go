package admin

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"mcphub/internal/caller"
	"mcphub/internal/pipe"
)

// A socket is a named pipe on Windows, and a file of its name shows it in the folder of sockets.

func pipeName(path string) string {
	return `\\.\pipe\mcphub-` + strings.TrimSuffix(filepath.Base(path), ".sock")
}

func listenAt(path string) (net.Listener, error) {
	l, err := pipe.Listen(pipeName(path))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

func dialSocket(ctx context.Context, path string) (caller.Conn, error) {
	return pipe.Dial(ctx, pipeName(path))
}

func isSocket(e fs.DirEntry) bool { return e.Type().IsRegular() }

// isRefused reports that a hub does not listen any more.
func isRefused(err error) bool { return errors.Is(err, windows.ERROR_FILE_NOT_FOUND) }
