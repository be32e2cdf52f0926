package operation

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/children/consent"
	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// TestScripts runs testdata/script: the command line, as a person types it. mcphub and recorder are on PATH; home, temporary
// folder and working directory are the script's own.
//
// Beside the usual commands a script has "shows PATTERN": the last command wrote it, to stdout or to stderr. Where a message
// goes is its own assertion; most only want it to be said. And it has "exits STATUS PROGRAM ARGS...", where ! exec only says
// that it failed. A script that needs more than the machine has to have says so in its first line: "# needs PROGRAM...",
// and "landlock" for a kernel of Linux that holds files.
func TestScripts(t *testing.T) {
	t.Parallel()
	world.Hub(t)
	cmds := scriptHubs()
	cmds["shows"], cmds["exits"], cmds["prints"] = shows, exits, prints
	cmds["serves"], cmds["ends"], cmds["kills"], cmds["until"] = serves, ends, kills, until
	maps.Copy(cmds, consoles())
	maps.Copy(cmds, registries())
	maps.Copy(cmds, webs())
	if scriptTerminal != nil {
		cmds["answers"] = scriptTerminal
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			needsOf(e.T().(testing.TB))
			home, tmp := filepath.Join(e.WorkDir, "home"), filepath.Join(e.WorkDir, "tmp")
			for _, dir := range []string{home, tmp} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return err
				}
			}
			e.Setenv("PATH", world.Bin.Dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("TMPDIR", tmp)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			if runtime.GOOS == "windows" {
				e.Setenv("SECRET", `C:\Windows\win.ini`)
			} else {
				e.Setenv("SECRET", "/etc/passwd")
			}
			e.Defer(func() {
				world.WantNone(t, "HOME="+home)
				world.Forget(consent.NewFor(filepath.Join(home, "state", "mcphub"), home))
			})
			setUpHubs(t, e)
			return nil
		},
		Cmds: cmds,
	})
}

// scriptTerminal runs a program on a terminal, if a person answers; nil if there is none for tests.
var scriptTerminal func(ts *testscript.TestScript, neg bool, args []string)

// needsOf asks for what the script's first line names, if that is "# needs ...".
func needsOf(t testing.TB) {
	text, err := os.ReadFile(filepath.Join("testdata", "script", path.Base(t.Name())+".txtar"))
	world.Must(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	if programs, ok := strings.CutPrefix(first, "# needs "); ok {
		for _, program := range strings.Fields(programs) {
			if program != "landlock" {
				needs.Program(t, program)
			} else if k := sandbox.CurrentKernel(); k.ABI < 6 && runtime.GOOS == "linux" {
				needs.Missing(t, "Landlock has ABI ", k.ABI, " here, and 6 is needed: ", k.Why)
			}
		}
	}
}

func shows(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: shows PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if pattern.MatchString(said) == neg {
		ts.Fatalf("shows %q: %v\n%s", args[0], !neg, said)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
	}
}
