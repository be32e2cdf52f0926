package caller

import "slices"

// This file is about who has started a process on systems other than Linux. caller_linux.go reads more, and reads it twice.

// A relative is a process in a line of descent.
type relative struct {
	Process
	parent int
	name   string
}

// lineageOf returns a process and all that have started it, as far as they run. A parent that is younger than its child is not the parent: it has
// the id of one that has ended.
func lineageOf(pid int, find func(pid int) (relative, bool)) (line []relative) {
	for {
		p, ok := find(pid)
		if !ok || len(line) > 0 && p.Start > line[len(line)-1].Start || slices.ContainsFunc(line, func(q relative) bool { return q.PID == p.PID }) {
			return line
		}
		line = append(line, p)
		pid = p.parent
	}
}

// refuseClient refuses what a client in want has started, and the client itself.
func refuseClient(line []relative, want Want) error {
	if slices.ContainsFunc(line, func(p relative) bool {
		return slices.ContainsFunc(want.Clients, func(c Process) bool { return c.PID > 1 && c.PID == p.PID && (c.Start == 0 || c.Start == p.Start) })
	}) {
		return errOfClient
	}
	return nil
}

// refuseServer refuses what this process, or another program of its name, has started: a hub starts its servers. It knows no process that has
// left its parents.
func refuseServer(line []relative, self int, name string, want Want) error {
	switch {
	case len(line) == 0:
		return errGone
	case !slices.ContainsFunc(line[1:], func(p relative) bool { return p.PID == self || p.name == name }):
		return refuseClient(line, want)
	case want.Person:
		return errNoPerson
	}
	return errServer
}
