package main

import (
	"fmt"
	"os"
	"strings"

	"mcphub/children"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/progress"
	"mcphub/hub/status"
	"mcphub/internal/proctree"
)

// This file shows on a terminal what a command waits for.

// running shows a line on standard error for each step that runs.
var running = progress.New(os.Stderr)

// watchHub shows the servers of a hub that are not ready yet. If all are ready, it shows the
// command's own step.
func watchHub(look func() status.Hub, own progress.Step) (over func()) {
	return running.Watch(func() []progress.Step {
		steps := lateServers(look())
		if len(steps) == 0 {
			steps = append(steps, own)
		}
		return steps
	})
}

// lateServers returns what the servers of a hub do that are not ready yet.
func lateServers(h status.Hub) (steps []progress.Step) {
	for _, c := range h.Children {
		if phase := phaseOf(c.State, c.Error, c.Stderr, c.PID); phase != "" {
			steps = append(steps, progress.Step{Name: c.Server, Phase: phase})
		}
	}
	return steps
}

// lateText names the servers of a hub that are not ready yet, each with its phase.
func lateText(h status.Hub) string {
	var late []string
	for _, s := range lateServers(h) {
		late = append(late, s.Name+" "+s.Phase)
	}
	return strings.Join(late, "; ")
}

// phaseOf returns what a server does that is not ready yet. It returns "" if the server is ready, or
// if no session wants it.
func phaseOf(state, told, stderr string, pid int) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	switch last := strings.TrimSpace(lines[len(lines)-1]); {
	case state == children.Waiting.String():
		return "waits for its turn" + layout.WithPrefix(": ", told)
	case state != children.Starting.String():
		return ""
	case told != "":
		return told // such as what is installed for it
	case last != "":
		return "writes: " + last // a launcher names what it downloads
	case pid == 0:
		return "starts"
	}
	did := ""
	if mib := proctree.Written(pid) >> 20; mib > 0 { // npx says nothing about what it downloads
		did = fmt.Sprintf(", has written %d MiB", mib)
	}
	return "has started" + did + ", and has not answered yet"
}
