package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
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

// A runningHub is a hub that can be asked, with what it said of itself.
type runningHub struct {
	admin.Hub
	report admin.Report
}

// unreachable is a hub that does not answer.
type unreachable struct {
	Socket string `json:"socket"`
	Error  string `json:"error"`
}

func (u unreachable) show(w io.Writer) {
	layout.Printf(w, "no answer from %s: %s\n", printable.Escape(u.Socket, 200), printable.Escape(u.Error, 300))
}

// askHubs asks every hub that this user runs how it is, by the time they started. With a
// process id it leaves out the others that answer. It says on w which folders could not be
// looked into.
func askHubs(ctx context.Context, w io.Writer, folders []string, pid int) (hubs []runningHub, silent []unreachable) {
	for _, h := range findHubs(w, folders) {
		r, err := h.Status(ctx)
		switch {
		case err != nil:
			silent = append(silent, unreachable{h.Socket, err.Error()})
		case pid == 0 || r.PID == pid:
			hubs = append(hubs, runningHub{h, r})
		}
	}
	slices.SortFunc(hubs, func(a, b runningHub) int {
		return cmp.Or(a.report.Started.Compare(b.report.Started), cmp.Compare(a.report.PID, b.report.PID))
	})
	return hubs, silent
}

// noHub says that no hub runs, or not the one with a process id.
func noHub(pid int) error {
	if pid != 0 {
		return exit.Errorf(exit.NoHub, "no hub with process id %d runs; mcphub status lists those that do", pid)
	}
	return exit.Errorf(exit.NoHub, "no hub is running: a client that has \"mcphub serve\" among its servers starts one (looked in %s)",
		strings.Join(setup.SocketFolders(os.Getenv), ", "))
}
