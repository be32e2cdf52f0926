package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/internal/layout"
)

// prints is a command of scripts: "prints STATUS GOLDEN PROGRAM ARGS..." runs a program and compares what it writes to standard
// output with testdata/printed/GOLDEN, which -update writes anew. What is never the same twice is replaced. A golden file that
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
	out = steady(out, "$WORK", ts.Getenv("WORK"), "$RUNTIME", ts.Getenv("XDG_RUNTIME_DIR"), "$BIN", bin.dir)
	if *update {
		ts.Check(os.WriteFile(golden, []byte(out), 0o600))
		return
	}
	kept, err := os.ReadFile(golden)
	ts.Check(err)
	if out != string(kept) {
		ts.Fatalf("%v is not as in %s (go test ./e2e -run TestScripts/printed -update writes it):\n%s\nwant:\n%s", args[2:], golden, out, kept)
	}
}

// unsteady is what differs from run to run and from machine to machine, with what stands for it. Some take more or less room
// from run to run, so that columns move.
var unsteady = []struct {
	what  *regexp.Regexp
	by    string
	moves bool
}{
	{what: regexp.MustCompile(`("uptimeSeconds":)[\d.e-]+`), by: "${1}0"},
	{what: regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`), by: "TIME"},
	{what: regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), by: "UUID"},
	{what: regexp.MustCompile(`\b[0-9a-f]{64}\b`), by: "HASH"},
	{what: regexp.MustCompile(`\b[0-9a-f]{32}\b`), by: "ID"},
	{what: regexp.MustCompile(`\b[0-9a-f]{8}\b`), by: "SESSION"},
	{what: regexp.MustCompile(`("(?:pid|us|milliseconds|microseconds)": ?)\d+`), by: "${1}0"},
	{what: regexp.MustCompile(`("version": ?)"[^"]*"`), by: `$1"VERSION"`},
	{what: regexp.MustCompile(`\d+-SESSION\.sock`), by: "PID-SESSION.sock"},
	{what: regexp.MustCompile(`"(/[a-z]+)+/sh"`), by: `"sh"`},
	{what: regexp.MustCompile(`(?m)(,(?:ok)?),\d+,(\d+,\w*)$`), by: "$1,0,$2"}, // the last columns of export --format csv
	{what: regexp.MustCompile(`("(?:os|arch|go)": ?)"[^"]*"`), by: `$1"-"`},
	{what: regexp.MustCompile(`("kernel": ?)"(?:held|partial|none)"`), by: `$1"KERNEL"`},
	{what: regexp.MustCompile(`^mcphub \S+ \(go\S+ \S+\)`), by: "mcphub VERSION (GO, OS/ARCH)"},
	{what: regexp.MustCompile(`\bversion \S+`), by: "version VERSION"},
	{what: regexp.MustCompile(`(?m)^\d+[smh] ago, by`), by: "SPAN ago, by"},
	{what: regexp.MustCompile(`\bhub \d+`), by: "hub PID"},
	{what: regexp.MustCompile(`\[\d+\] `), by: "[PID] "},
	{what: regexp.MustCompile(`(ready +)\d+s +\d+`), by: "${1}SPAN  PID", moves: true},
	{what: regexp.MustCompile(`([ (])\d+(\.\d+)?(ms|µs|s)\b`), by: "${1}SPAN", moves: true},
}

// steady replaces what is unsteady, first some texts by their names.
func steady(text string, named ...string) string {
	for i := 0; i < len(named); i += 2 {
		text = strings.ReplaceAll(text, named[i+1], named[i])
	}
	moved := false
	for _, u := range unsteady {
		moved = moved || u.moves && u.what.MatchString(text)
		text = u.what.ReplaceAllString(text, u.by)
	}
	if moved && !strings.HasPrefix(text, "{") {
		text = realigned(text)
	}
	return text
}

var betweenColumns = regexp.MustCompile(` {2,}`)

// realigned lays tables out anew.
func realigned(text string) string {
	var b strings.Builder
	table := layout.NewTable(&b)
	for line := range strings.Lines(text) {
		cells := betweenColumns.Split(strings.TrimSuffix(line, "\n"), -1)
		if len(cells) > 1 && cells[0] != "" {
			table.Row(cells...)
			continue
		}
		_ = table.Flush() // a builder takes everything
		table = layout.NewTable(&b)
		b.WriteString(line)
	}
	_ = table.Flush()
	return b.String()
}
