package main

import (
	"io"
	"os"
	"strings"

	"mcphub/internal/admin"
	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/printable"
	"mcphub/internal/setup"
)

// findHubs lists the hubs that this user runs, and says on w which folders could
// not be looked into.
func findHubs(w io.Writer, folders []string) []admin.Hub {
	hubs, err := admin.Find(folders)
	if err != nil {
		layout.Println(w, "mcphub: "+printable.Escape(err.Error(), 500))
	}
	return hubs
}

// noHub says that no hub runs, or not the one with a process id.
func noHub(pid int) error {
	if pid != 0 {
		return exit.Errorf(exit.NoHub, "no hub with process id %d runs; mcphub status lists those that do", pid)
	}
	return exit.Errorf(exit.NoHub, "no hub is running: a client that has \"mcphub serve\" among its servers starts one (looked in %s)",
		strings.Join(setup.SocketFolders(os.Getenv), ", "))
}
