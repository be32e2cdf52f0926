package console

import (
	"strings"
	"testing"
	"time"

	"mcphub/hub/status"
)

// Each state is a word and a sentence that says what to do, with the command or the button that does it.
func TestStandings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	later, before := now.Add(time.Minute), now.Add(-time.Minute)
	of := func(state string, change func(c *status.Child)) *status.Child {
		c := &status.Child{Server: "git", State: state}
		if change != nil {
			change(c)
		}
		return c
	}
	command := func(words ...string) string { return "mcphub " + strings.Join(words, " ") }
	for _, c := range []struct {
		child *status.Child
		asks  int
		want  standing
	}{
		{of("configured", nil), 0, standing{Word: "not started yet", Text: "It starts when a client connects: open one."}},
		{of("cold", nil), 0, standing{Word: "not started yet", Text: "The first call starts it; there is nothing to do."}},
		{of("starting", func(c *status.Child) { c.Error, c.Since = "installing npm:x", &before }), 0,
			standing{"starting", "It is installing npm:x, for 1m. Wait; if it takes long, see what it says by the command.", "mcphub logs git", false}},
		{of("starting", nil), 0, standing{"starting", "It is waiting for the first answer. Wait; if it takes long, see what it says by the command.", "mcphub logs git", false}},
		{of("ready", nil), 0, standing{Word: "runs", Text: "It answers calls; there is nothing to do."}},
		{of("ready", nil), 2, standing{Word: "runs", Text: "2 of its calls wait for your answer: open Questions. It answers calls; there is nothing to do."}},
		{of("ready", func(c *status.Child) { c.Error = "its list is cut." }), 0, standing{"runs", "It answers calls, and this is wrong with it: its list is cut.", "mcphub logs git", false}},
		{of("waiting", func(c *status.Child) { c.Error = "waits for the client's roots" }), 0,
			standing{Word: "waits for roots", Text: "It starts when its client says which folders are open: open a folder there."}},
		{of("waiting", func(c *status.Child) { c.Error = "waits for its turn: many children are starting" }), 0,
			standing{Word: "waits", Text: "It starts soon: waits for its turn: many children are starting; there is nothing to do."}},
		{of("backing off", func(c *status.Child) { c.LastFailure = "401; run: mcphub auth login git" }), 0,
			standing{Word: "waits for a login", Text: "Log in by this command. The next call starts it.", Command: "mcphub auth login git"}},
		{of("backing off", func(c *status.Child) { c.LastFailure, c.NextStart, c.StartedBy = "exit status 1", &later, "hub" }), 0,
			standing{"failed", "exit status 1. It is tried again by itself at 03:05:05. Mend it by what the command says, then restart it.", "mcphub doctor git", true}},
		{of("backing off", func(c *status.Child) { c.LastFailure, c.NextStart, c.StartedBy = "exit status 1", &later, "call" }), 0,
			standing{"failed", "exit status 1. It is tried again with the first call after 03:05:05. Mend it by what the command says, then restart it.", "mcphub doctor git", true}},
		{of("stopped", func(c *status.Child) { c.LastFailure, c.CircuitOpen, c.Failures = "no such file", true, 5 }), 0,
			standing{"circuit open", "5 starts in a row failed, the last because: no such file. It is tried again with the next call. Mend it by what the command says, then restart it.", "mcphub doctor git", true}},
		{of("draining", func(c *status.Child) { c.Error = "the configuration has changed" }), 0,
			standing{Word: "changed since its start", Text: "This process ends when its calls have: the configuration has changed. New calls go to another; there is nothing to do."}},
		{of("hung", nil), 0, standing{"does not answer", "It answers neither calls nor a ping, and is started again by itself. Restart it to have that at once.", "", true}},
		{of("stopped", nil), 0, standing{Word: "stopped", Text: "The next call starts it; there is nothing to do."}},
	} {
		if got := standingOf(c.child, c.asks, now, command); got != c.want {
			t.Errorf("%s: %+v\nwant %+v", c.child.State, got, c.want)
		}
	}
	for _, c := range []struct {
		entry Entry
		hubs  int
		want  string
	}{
		{Entry{Disabled: true}, 1, "switched off: No client is offered it. Switch it on to serve it. "},
		{Entry{Wrong: "no command"}, 1, "cannot be served: no command. Mend its entry in hub.json; the command shows the line. mcphub validate"},
		{Entry{}, 0, "no hub runs: It starts when a client starts the hub: open one. "},
		{Entry{}, 1, "not taken yet: The hub has not taken this entry: see what waits under Questions, or have it read hub.json again under Now. "},
	} {
		if s := c.entry.standingOf(c.hubs, command); s.Word+": "+s.Text+" "+s.Command != c.want {
			t.Errorf("%+v", s)
		}
	}
}

// The kernel is said to be off only of what runs and is not held. Of what does not run it is said what will be held.
func TestKernelInWords(t *testing.T) {
	t.Parallel()
	holds := status.Ahead{Holds: true, Text: "its roots"}
	off := status.Ahead{Text: `hub.json says "sandbox": "off"`}
	for want, c := range map[string]func(c *status.Child){
		"kernel: will hold it": func(c *status.Child) { c.Ahead = holds },
		`kernel: will not hold it: hub.json says "sandbox": "off"`: func(c *status.Child) { c.Ahead = off },
		"kernel held":    func(c *status.Child) { c.PID, c.Kernel, c.Ahead = 7, "held", holds },
		"kernel partial": func(c *status.Child) { c.PID, c.Kernel, c.Ahead, c.Lacks = 7, "partial", holds, []string{"no network"} },
		"kernel off: no Landlock; no more": func(c *status.Child) {
			c.PID, c.Kernel, c.Ahead, c.Lacks = 7, "none", holds, []string{"no Landlock", "no more"}
		},
		`kernel off: hub.json says "sandbox": "off"`: func(c *status.Child) { c.PID, c.Ahead = 7, off },
		"kernel: it runs elsewhere":                  func(c *status.Child) { c.Command = "" },
	} {
		child := status.Child{}
		child.Command = "git-mcp"
		if c(&child); kernelText(&child) != want {
			t.Errorf("%q, want %q", kernelText(&child), want)
		}
	}
}
