package caller

import (
	"errors"
	"testing"
)

// TestLineage: 1 is init, 10 a client, 12 the hub, 13 its server, 14 what that starts, 15 one that has left its parents; 20 a shell, 21 the command that a
// person runs there; 30 has the parent 31, which is younger; 40 and 41 are a circle; 50 is the hub that is asked, if it has another name.
func TestLineage(t *testing.T) {
	t.Parallel()
	table := map[int]relative{}
	for _, p := range []relative{
		{Process{1, 1}, 0, "launchd"}, {Process{10, 2}, 1, "client"}, {Process{12, 3}, 10, "mcphub"}, {Process{13, 4}, 12, "node"}, {Process{14, 5}, 13, "mcphub"},
		{Process{15, 5}, 1, "node"}, {Process{20, 2}, 1, "zsh"}, {Process{21, 6}, 20, "mcphub"}, {Process{30, 2}, 31, "old"}, {Process{31, 9}, 12, "node"},
		{Process{40, 2}, 41, "a"}, {Process{41, 2}, 40, "b"}, {Process{50, 2}, 1, "renamed"}, {Process{51, 3}, 50, "node"},
	} {
		table[p.PID] = p
	}
	find := func(pid int) (relative, bool) { p, ok := table[pid]; return p, ok }
	client := []Process{{PID: 10, Start: 2}}
	for _, c := range []struct {
		name string
		pid  int
		want Want
		err  error
	}{
		{"a person's command", 21, Want{Clients: client}, nil},
		{"a server", 13, Want{}, errServer},
		{"what a server starts", 14, Want{}, errServer},
		{"the same, as a person", 14, Want{Person: true}, errNoPerson},
		{"a server of the hub that is asked", 51, Want{}, errServer},
		{"what has left its parents", 15, Want{}, nil},
		{"the hub", 12, Want{}, nil},
		{"what a client starts", 12, Want{Clients: client}, errOfClient},
		{"the client", 10, Want{Clients: client}, errOfClient},
		{"another process had its id", 12, Want{Clients: []Process{{PID: 10, Start: 7}}}, nil},
		{"a parent that is younger", 30, Want{}, nil},
		{"a circle", 40, Want{}, nil},
		{"what has ended", 99, Want{}, errGone},
	} {
		if err := refuseServer(lineageOf(c.pid, find), 50, "mcphub", c.want); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
}
