package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

// A standing is how a server stands, for a person: a word, a sentence with what to do, and what does it.
type standing struct {
	Word, Text string
	Command    string // that helps; "": there is none, or nothing is wrong
	Restart    bool   // a button restarts the server
}

// standingOf puts the state of an instance into words. asks is how many calls of the server wait for a person, command makes a command line.
func standingOf(c *status.Child, asks int, now time.Time, command func(words ...string) string) (s standing) {
	why := strings.TrimSuffix(c.Error, ".")
	defer func() {
		if strings.Contains(why+c.LastFailure, "; run: mcphub auth login ") && c.State != "ready" {
			s = standing{Word: "waits for a login", Text: "Log in by this command. The next call starts it.", Command: command(printable.BuildCommand("auth login", nil, c.Server)...)}
		}
		if asks > 0 {
			s.Text = fmt.Sprintf("%d of its calls wait for your answer: open Questions. %s", asks, s.Text)
		}
	}()
	switch {
	case c.State == "ready":
		s.Word, s.Text = "runs", "It answers calls; there is nothing to do."
		if why != "" {
			s.Text, s.Command = "It answers calls, and this is wrong with it: "+why+".", command(printable.BuildCommand("logs", nil, c.Server)...)
		}
	case c.CircuitOpen || c.State == "backing off":
		s.Word, s.Restart, s.Command = "failed", true, command(printable.BuildCommand("doctor", nil, c.Server)...)
		last := cmp.Or(strings.TrimSuffix(c.LastFailure, "."), why, "it has not said why")
		again := "It is tried again with the next call"
		if c.NextStart != nil && c.NextStart.After(now) {
			by := "with the first call after " + c.NextStart.Local().Format(time.TimeOnly)
			if c.StartedBy == "hub" {
				by = "by itself at " + c.NextStart.Local().Format(time.TimeOnly)
			}
			again = "It is tried again " + by
		}
		if c.CircuitOpen {
			s.Word = "circuit open"
			last = fmt.Sprintf("%d starts in a row failed, the last because: %s", c.Failures, last)
		}
		s.Text = last + ". " + again + ". Mend it by what the command says, then restart it."
	case c.State == "configured":
		s.Word, s.Text = "not started yet", "It starts when a client connects: open one."
	case c.State == "cold":
		s.Word, s.Text = "not started yet", "The first call starts it; there is nothing to do."
	case c.State == "waiting" && strings.Contains(why, "roots"):
		s.Word, s.Text = "waits for roots", "It starts when its client says which folders are open: open a folder there."
	case c.State == "waiting":
		s.Word, s.Text = "waits", "It starts soon"+layout.WithPrefix(": ", why)+"; there is nothing to do."
	case c.State == "starting":
		s.Word, s.Text = "starting", "It is "+cmp.Or(why, "waiting for the first answer")+layout.When(c.Since != nil, ", "+timeSince(c.Since, now))+". Wait; if it takes long, see what it says by the command."
		s.Command = command(printable.BuildCommand("logs", nil, c.Server)...)
	case c.State == "draining":
		s.Word, s.Text = "changed since its start", "This process ends when its calls have"+layout.WithPrefix(": ", why)+". New calls go to another; there is nothing to do."
	case c.State == "hung":
		s.Word, s.Text, s.Restart = "does not answer", "It answers neither calls nor a ping, and is started again by itself. Restart it to have that at once.", true
	default:
		s.Word, s.Text = "stopped", "The next call starts it"+layout.WithPrefix(": ", why)+"; there is nothing to do."
	}
	return s
}

func timeSince(t *time.Time, now time.Time) string {
	if t == nil {
		return ""
	}
	return "for " + layout.FormatDuration(now.Sub(*t))
}

// kernelText returns what the kernel holds of an instance, or will hold of it once it runs.
func kernelText(c *status.Child) string {
	why := strings.Join(c.Lacks, "; ")
	switch runs := c.PID > 0; {
	case c.Command == "":
		return "kernel: it runs elsewhere"
	case !runs && c.Ahead.Holds:
		return "kernel: will hold it"
	case !runs:
		return "kernel: will not hold it: " + c.Ahead.Text
	case c.Kernel == "" || c.Kernel == "none":
		return "kernel off: " + cmp.Or(why, c.Ahead.Text)
	}
	return "kernel " + c.Kernel
}
