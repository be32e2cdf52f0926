package operation

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"mcphub/e2e/world"
)

// atTerminal runs mcphub with a terminal of so many columns as its standard output, and gives what arrived there.
func atTerminal(w *world.World, columns uint16, env []string, args ...string) string {
	w.T.Helper()
	terminal, side := world.PseudoTerminal(w.T)
	world.Must(w.T, unix.IoctlSetWinsize(int(side.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	var said bytes.Buffer
	cmd := exec.Command(world.Hub(w.T), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = w.Env(env...), w.Project, side, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	world.Must(w.T, cmd.Start())
	world.Must(w.T, side.Close())
	out, _ := io.ReadAll(terminal) // it ends with an error, once no one has the other side
	if err := cmd.Wait(); err != nil {
		w.T.Fatalf("mcphub %s: %v\n%s%s", strings.Join(args, " "), err, out, said.Bytes())
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// TestNarrowTerminals holds that no line of a table is wider than the terminal, unless it is one word that would have to be cut,
// and that nothing is left out for it. How a table is broken is a matter of cmd/mcphub/internal/layout.
func TestNarrowTerminals(t *testing.T) {
	t.Parallel()
	const columns = 40
	w := world.New(t)
	config := w.Config(obj{"files": obj{"builtin": "files"}, "notes-of-the-house": w.Recorder("notes"), "gone": obj{"command": "no-such-program", "disabled": true}})
	w.ServeHTTP(config)
	for _, name := range []string{"a", "the-token-of-the-house"} {
		set := exec.Command(world.Hub(t), "secret", "set", name, "--config", config)
		set.Env, set.Dir, set.Stdin = w.Env(), w.Project, strings.NewReader("value\n")
		if out, err := set.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, args := range [][]string{{"tools", "--cost"}, {"secret", "list"}, {"status", "-v"}, {"doctor", "-v"}} {
		if args[0] != "status" {
			args = append(args, "--config", config)
		}
		plain := atTerminal(w, 1000, nil, args...)
		out := atTerminal(w, columns, nil, args...)
		for line := range strings.SplitSeq(out, "\n") {
			name, value, several := strings.Cut(strings.TrimSpace(line), "  ")
			whole := name == "run:" || !strings.Contains(strings.TrimSpace(value), " ") // a command to copy, or one word
			if n := utf8.RuneCountInString(line); n > columns && several && !whole {
				t.Errorf("%d columns, mcphub %s: a line of %d: %q", columns, args[0], n, line)
			}
		}
		if strings.ContainsFunc(strings.ReplaceAll(out, "\n", ""), unicode.IsControl) {
			t.Errorf("mcphub %s: control characters: %q", args[0], out)
		}
		for _, word := range strings.Fields(plain)[1:] { // a block does not name its first cell
			if args[0] == "status" && (word == "SERVER" || strings.ContainsAny(word, "0123456789")) {
				continue // a first cell, and times
			}
			if args[0] == "doctor" && (word == "CLIENT" || strings.ContainsAny(word, "0123456789")) {
				continue
			}
			if !strings.Contains(out, word) {
				t.Errorf("%d columns, mcphub %s: %q is left out:\n%s", columns, args[0], word, out)
			}
		}
		if args[0] == "tools" && strings.HasPrefix(out, "TOOL ") {
			t.Errorf("the control: at 40 columns the table of %v stands as it is", args)
		}
	}
}

// TestColour holds that the one command with colours has them on a terminal only, and there not if a person says no.
func TestColour(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	if out := atTerminal(w, 80, []string{"TERM=xterm", "NO_COLOR="}, "demo"); !strings.Contains(out, "\x1b[") {
		t.Errorf("the control: no colour on a terminal:\n%s", out)
	}
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		if out := atTerminal(w, 80, []string{"TERM=xterm", "NO_COLOR=", env}, "demo"); strings.Contains(out, "\x1b") {
			t.Errorf("colour, though %s:\n%q", env, out)
		}
	}
	cmd := exec.Command(world.Hub(t), "demo")
	cmd.Env, cmd.Dir = w.Env("TERM=xterm", "NO_COLOR="), w.Project
	out, err := cmd.Output()
	world.Must(t, err)
	if bytes.ContainsRune(out, '\x1b') || len(out) == 0 {
		t.Errorf("colour where there is no terminal:\n%q", out)
	}
}
