package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/doctor"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/internal/printable"
)

// findHubs lists the hubs that this user runs, and says on w which folders could
// not be looked into.
func findHubs(w io.Writer) []admin.Hub {
	hubs, err := admin.Find(rundir.Sockets(os.Getenv))
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

// An unreachableHub is a hub that does not answer.
type unreachableHub struct {
	Socket string `json:"socket"`
	Error  string `json:"error"`
}

func (u unreachableHub) showHub(w io.Writer) {
	layout.Printf(w, "no answer from %.200s: %.300s\n", u.Socket, u.Error)
}

// askHubs asks every hub that this user runs how it is, by the time they started. If pid is not 0,
// it returns that hub alone; hubs that do not answer are returned in any case. It says on w which
// folders could not be looked into.
func askHubs(ctx context.Context, w io.Writer, pid int) (hubs []runningHub, silent []unreachableHub) {
	silent = []unreachableHub{}
	for _, h := range findHubs(w) {
		r, err := h.Status(ctx)
		switch {
		case err != nil:
			silent = append(silent, unreachableHub{h.Socket, err.Error()})
		case pid == 0 || r.PID == pid:
			hubs = append(hubs, runningHub{h, r})
		}
	}
	slices.SortFunc(hubs, func(a, b runningHub) int {
		return cmp.Or(a.report.Started.Compare(b.report.Started), cmp.Compare(a.report.PID, b.report.PID))
	})
	return hubs, silent
}

// noHubError reports that no hub runs, or not the one with a process id.
func noHubError(pid int) error {
	if pid != 0 {
		return exit.Errorf(exit.NoHub, "no hub with process id %d runs; mcphub status lists those that do", pid)
	}
	return exit.Errorf(exit.NoHub, "no hub is running: a client that has \"mcphub serve\" among its servers starts one (looked in %s)",
		strings.Join(rundir.Sockets(os.Getenv), ", "))
}

// reportsOn reports on the hubs that run on this hub.json. An empty path means the ones that
// run without one.
func reportsOn(ctx context.Context, path string) []admin.Report {
	var out []admin.Report
	for _, r := range collectStatus(ctx, 0).Hubs {
		if r.Config.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// hubsOn finds the hubs that run on a hub.json. The ones that do not answer are told
// about on w: they may run on it too.
func hubsOn(ctx context.Context, w io.Writer, path string) (on []runningHub, err error) {
	hubs, silent := askHubs(ctx, w, 0)
	for _, u := range silent {
		layout.Printf(w, "mcphub: no answer from %s: %s\n", u.Socket, u.Error)
	}
	on = slices.DeleteFunc(hubs, func(h runningHub) bool { return h.report.Config.Path != path })
	if len(on) == 0 {
		return nil, exit.Errorf(exit.NoHub, "no hub runs on %s; mcphub status shows those that run", path)
	}
	return on, nil
}

// collectStatus asks every hub, or the one with this process id.
func collectStatus(ctx context.Context, pid int) statusReport {
	hubs, silent := askHubs(ctx, stderr, pid)
	found := statusReport{Hubs: []admin.Report{}, Unreachable: silent}
	for _, h := range hubs {
		found.Hubs = append(found.Hubs, h.report)
	}
	questions, err := consentStore().Questions()
	if err != nil {
		layout.Println(os.Stderr, "mcphub: "+printable.Escape(err.Error(), 500))
	}
	for _, q := range questions {
		found.Questions = append(found.Questions, pendingQuestion{q.ID, q.Title})
	}
	return found
}

// statusReport is what status has found; the shape of --json.
type statusReport struct {
	Hubs        []admin.Report    `json:"hubs"` // by the time they started
	Unreachable []unreachableHub  `json:"unreachable"`
	Questions   []pendingQuestion `json:"questions,omitempty"` // what waits for a person, of all hubs

	signs func() doctor.Signing // what the user's git does with commits; nil: it is not asked
	each  bool                  // many sessions are shown one by one
}

// A pendingQuestion is a question to a person: what it is about, and no more than that.
type pendingQuestion struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}
