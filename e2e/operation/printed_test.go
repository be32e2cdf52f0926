package operation

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/e2e/world"
)

// prints is a command of scripts: "prints STATUS GOLDEN PROGRAM ARGS..." runs a program and compares what it writes to standard
// output with testdata/printed/GOLDEN, which -update writes again. What is never the same twice is replaced. A golden file that
// ends in .json or .jsonl holds JSON: one value, or one a line. No output holds a control character.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: prints STATUS GOLDEN PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[2], args[3:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v", args[2:], err)
		}
		got = exit.ExitCode()
	}
	out := ts.ReadFile("stdout")
	if got != want {
		ts.Fatalf("%v: exit status %d, want %d\n%s", args[2:], got, want, out+ts.ReadFile("stderr"))
	}
	if at := strings.IndexFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); at >= 0 {
		ts.Fatalf("%v: a control character: %q", args[2:], out)
	}
	if strings.HasPrefix(filepath.Ext(args[1]), ".json") {
		values := json.NewDecoder(strings.NewReader(out))
		n := 0
		for ; ; n++ {
			var v any
			if err := values.Decode(&v); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				ts.Fatalf("%v: no JSON: %v\n%s", args[2:], err, out)
			}
		}
		if filepath.Ext(args[1]) == ".json" && n != 1 {
			ts.Fatalf("%v: %d values, not one", args[2:], n)
		}
	}
	golden := filepath.Join("testdata", "printed", args[1])
	sh, err := exec.LookPath("sh")
	ts.Check(err)
	out = world.Steady(out, `"sh"`, strconv.Quote(sh), // a program outside of the system's folders is shown by its path
		"$WORK", ts.Getenv("WORK"), "$RUNTIME", ts.Getenv("XDG_RUNTIME_DIR"), "$BIN", world.Bin.Dir)
	if *world.Update {
		ts.Check(os.WriteFile(golden, []byte(out), 0o600))
		return
	}
	kept, err := os.ReadFile(golden)
	ts.Check(err)
	if out != string(kept) {
		ts.Fatalf("%v is not as in %s (go test ./e2e/operation -run TestScripts/printed -update writes it):\n%s\nwant:\n%s", args[2:], golden, out, kept)
	}
}
