package operation

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/children/consent"
	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// scriptHubs returns the commands by which a script has a hub running while it does other things. "talks ARGS..." starts mcphub serve with a client whose root is $WORK/project; "told PATTERN TOOL ARGUMENTS" calls a tool again and again until its answer shows the pattern, "! told" until it does
// not; "logged PATTERN" waits for it on the hub's stderr, "! logged" wants it not to be there; "hangup" sends SIGHUP; "accepts" answers what waits as a person does by mcphub reload; "finishes" wants it to end well, after which another may run.
func scriptHubs() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	hub := func(ts *testscript.TestScript) *ide.Client {
		c := ts.Value(hubsKey{}).(*hubs).talks
		if c == nil {
			ts.Fatalf("no hub is serving")
		}
		return c
	}
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"talks": func(ts *testscript.TestScript, neg bool, args []string) {
			h := ts.Value(hubsKey{}).(*hubs)
			if neg || h.talks != nil {
				ts.Fatalf("usage, one at a time: talks ARGS...")
			}
			var env []string
			for _, name := range []string{"PATH", "HOME", "USERPROFILE", "TMPDIR", "NO_COLOR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
				env = append(env, name+"="+ts.Getenv(name))
			}
			c, err := ide.Start(ide.Options{Apart: true, Command: world.Bin.Hub, Args: append([]string{"serve"}, args...), Dir: ts.MkAbs("."), Env: env, Roots: ide.Folders(ts.MkAbs("project"))})
			ts.Check(err)
			h.talks = c
			ts.Defer(func() { c.Close(world.WaitLimit) })
			ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
			defer cancel()
			_, err = c.Initialize(ctx)
			ts.Check(err)
		},
		"told": func(ts *testscript.TestScript, neg bool, args []string) {
			if len(args) != 3 {
				ts.Fatalf("usage: told PATTERN TOOL ARGUMENTS")
			}
			pattern, err := regexp.Compile(args[0])
			ts.Check(err)
			ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
			defer cancel()
			last := ""
			if !world.Within(world.WaitLimit, func() bool {
				r, err := hub(ts).Tool(ctx, args[1], args[2])
				last = r.Text
				if err != nil {
					last = err.Error()
				}
				return pattern.MatchString(last) != neg
			}) {
				ts.Fatalf("told %q: in vain; the last answer:\n%s\n%s", args[0], last, hub(ts).Stderr())
			}
			_, err = ts.Stdout().Write([]byte(last))
			ts.Check(err)
		},
		"logged": func(ts *testscript.TestScript, neg bool, args []string) {
			if len(args) != 1 {
				ts.Fatalf("usage: logged PATTERN")
			}
			pattern, err := regexp.Compile(args[0])
			ts.Check(err)
			if neg && pattern.MatchString(hub(ts).Stderr()) {
				ts.Fatalf("logged %q:\n%s", args[0], hub(ts).Stderr())
			}
			if neg {
				return
			}
			if !world.Within(world.WaitLimit, func() bool { return pattern.MatchString(hub(ts).Stderr()) }) {
				ts.Fatalf("logged %q: in vain:\n%s", args[0], hub(ts).Stderr())
			}
		},
		"finishes": func(ts *testscript.TestScript, neg bool, args []string) {
			if e := hub(ts).Close(world.WaitLimit); e.Killed || e.Code != 0 || e.Held {
				ts.Fatalf("the hub ended with %+v:\n%s", e, hub(ts).Stderr())
			}
			ts.Value(hubsKey{}).(*hubs).talks = nil
		},
		"accepts": func(ts *testscript.TestScript, neg bool, args []string) {
			if !world.Accepts(consent.NewFor(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "mcphub"), ts.Getenv("HOME"))) {
				ts.Fatalf("nothing waits")
			}
		},
		"hangup": func(ts *testscript.TestScript, neg bool, args []string) {
			p, err := os.FindProcess(hub(ts).PID())
			ts.Check(err)
			ts.Check(p.Signal(syscall.SIGHUP))
		},
	}
}
