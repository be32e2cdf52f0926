package admin

import (
	"errors"
	"strings"
	"testing"

	"mcphub/internal/proctree"
)

// among finds the processes of a table.
func among(all []proctree.Process) func(pid int) (proctree.Process, error) {
	table := map[int]proctree.Process{}
	for _, p := range all {
		table[p.PID] = p
	}
	return func(pid int) (proctree.Process, error) {
		p, ok := table[pid]
		if !ok {
			return p, errors.New("no such process")
		}
		return p, nil
	}
}

// Who may approve, by where they come from. 1 is init, 10 the client, 11 the
// hub, 12 a server of it, 20 a shell.
func TestWhoMayApprove(t *testing.T) {
	find := among([]proctree.Process{
		{PID: 1}, {PID: 10, Parent: 1, TTY: 5}, {PID: 11, Parent: 10}, {PID: 12, Parent: 11},
		{PID: 20, Parent: 1, TTY: 5}, {PID: 21, Parent: 20, TTY: 5}, {PID: 22, Parent: 20},
		{PID: 13, Parent: 12, TTY: 7}, {PID: 14, Parent: 10, TTY: 5}, {PID: 15, Parent: 99999999, TTY: 5},
		{PID: 30, Parent: 31, TTY: 5}, {PID: 31, Parent: 30, TTY: 5},
	})
	for _, c := range []struct {
		name             string
		pid, hub, client int
		want             string
	}{
		{"a person's shell", 21, 11, 10, ""},
		{"no terminal", 22, 11, 10, "has none"},
		{"below a server", 13, 11, 10, "hub's servers"},
		{"below the client", 14, 11, 10, "hub's client"},
		{"the client itself", 10, 11, 10, "hub's client"},
		{"below the client of another hub", 14, 11, 0, ""},
		{"who started the hub is not known", 21, 11, -1, "cannot be told"},
		{"init is nobody's client", 21, 11, 1, ""},
		{"unknown", 4, 11, 10, "cannot be told"},
		{"whose parent is gone", 15, 11, 10, "cannot be told"},
		{"a circle", 30, 11, 10, "cannot be told"},
	} {
		err := kin(find, c.pid, c.hub, c.client)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Whoever a server of the hub has started may not administer it; the same table.
func TestWhoMayAdminister(t *testing.T) {
	find := among([]proctree.Process{{PID: 1}, {PID: 10, Parent: 1}, {PID: 11, Parent: 10}, {PID: 12, Parent: 11}, {PID: 13, Parent: 12}, {PID: 20, Parent: 10}, {PID: 15, Parent: 99999999}})
	for _, c := range []struct {
		name string
		pid  int
		want string
	}{
		{"a server", 12, "hub's servers"},
		{"below a server", 13, "hub's servers"},
		{"below the client, without a terminal", 20, ""},
		{"unknown", 4, "cannot be told"},
		{"whose parent is gone", 15, "cannot be told"},
	} {
		err := stranger(find, c.pid, 11)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
