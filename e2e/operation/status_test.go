package operation

import (
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// hubs are the hubs that a script has started: "serves CONFIG [ROOT...]" starts one with a client that has these roots and
// has listed its tools, "ends" ends all of them as clients do, "kills" with SIGKILL.
type hubs struct {
	t     testing.TB
	ts    *testscript.TestScript
	all   []*ide.Client
	talks *ide.Client // to the one that the script talks to
}

type hubsKey struct{}

// setUpHubs gives a script its hubs, and a folder of their own for their sockets.
func setUpHubs(t *testing.T, e *testscript.Env) {
	dir := world.ShortFolder(t)
	e.Setenv("XDG_RUNTIME_DIR", dir)
	e.Setenv("LOCALAPPDATA", dir)
	e.Values[hubsKey{}] = &hubs{t: t}
}

func serves(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serves CONFIG [ROOT...]")
	}
	h := ts.Value(hubsKey{}).(*hubs)
	if h.ts == nil {
		h.ts = ts
		ts.Defer(h.end)
	}
	var env []string
	for _, name := range []string{"PATH", "HOME", "USERPROFILE", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "LOCALAPPDATA", "SYSTEMROOT"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	c, err := ide.Start(ide.Options{Command: world.Bin.Hub, Args: []string{"serve", "--config", args[0]}, Dir: ts.MkAbs("."), Env: env, Roots: ide.Folders(args[1:]...)})
	ts.Check(err)
	h.all = append(h.all, c)
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	_, err = c.Initialize(ctx)
	ts.Check(err)
	_, err = c.Call(ctx, "tools/list", `{}`)
	ts.Check(err)
}

func (h *hubs) end() {
	for _, c := range h.all {
		if e := c.Close(world.StopBound + 5*time.Second); e.Killed || e.Code != 0 {
			h.ts.Logf("a hub ended with %+v; stderr:\n%s", e, c.Stderr())
		}
	}
	h.all = nil
}

func ends(ts *testscript.TestScript, _ bool, _ []string) { ts.Value(hubsKey{}).(*hubs).end() }

func kills(ts *testscript.TestScript, _ bool, _ []string) {
	h := ts.Value(hubsKey{}).(*hubs)
	for _, c := range h.all {
		p, err := os.FindProcess(c.PID())
		ts.Check(err)
		ts.Check(p.Kill())
		<-c.Exited()
		_ = c.Close(time.Second)
	}
	h.all = nil
}

// until runs a program until it writes what the pattern matches to stdout.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM ARGS...")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	end := time.After(2 * world.WaitLimit)         // some wait for five starts, each later than the one before
	tick := time.NewTicker(100 * time.Millisecond) // a process each time: not as often as within looks
	defer tick.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...) // a file may not be there yet
		if err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			ts.Fatalf("never wrote %q; at last (%v):\n%s%s", args[0], err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
	}
}
