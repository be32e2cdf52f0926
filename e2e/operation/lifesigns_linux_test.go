package operation

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"mcphub/e2e/world"
)

// A gate holds a server back until it is opened.
type gate struct {
	t    testing.TB
	path string
}

// gatedServer returns a server that starts once its gate is open.
func gatedServer(w *world.World, name, recorder string) (program string, g gate) {
	w.T.Helper()
	g = gate{w.T, w.Path("project", name+".gate")}
	world.Must(w.T, unix.Mkfifo(g.path, 0o600))
	program = w.Write("project/"+name, fmt.Sprintf("#!/bin/sh\ntest -e %s.open || read -r line <%s\nexec %s\n", g.path, g.path, recorder))
	world.Must(w.T, os.Chmod(program, 0o700))
	return program, g
}

// open lets the start that waits go on, and all later ones.
func (g gate) open() {
	g.t.Helper()
	world.Must(g.t, os.WriteFile(g.path+".open", nil, 0o600))
	f, err := os.OpenFile(g.path, os.O_RDWR, 0) // of a pipe with a name: it waits for no one
	world.Must(g.t, err)
	_, err = f.WriteString("\n")
	world.Must(g.t, err)
	g.t.Cleanup(func() { _ = f.Close() }) // what was written is there until someone reads it
}

// screenOf returns what a terminal of so many columns shows in the end.
func screenOf(written string, columns int) string {
	var lines [][]rune
	row, column := 0, 0
	runes := []rune(written)
	for i := 0; i < len(runes); i++ {
		for len(lines) <= row {
			lines = append(lines, nil)
		}
		switch r := runes[i]; {
		case r == '\r':
			column = 0
		case r == '\n':
			row++
		case r == 0x1b:
			n := 0
			for i += 2; runes[i] >= '0' && runes[i] <= '9'; i++ {
				n = 10*n + int(runes[i]-'0')
			}
			switch runes[i] {
			case 'A':
				row = max(0, row-n)
			case 'J':
				lines = lines[:row+1]
				lines[row] = lines[row][:min(column, len(lines[row]))]
			}
		default:
			if column == columns {
				row, column = row+1, 0
				lines = append(lines[:row:row], nil)
			}
			lines[row] = append(lines[row][:min(column, len(lines[row]))], r)
			column++
		}
	}
	text := ""
	for _, line := range lines {
		text += string(line) + "\n"
	}
	return text
}

// sixServers returns what Cursor runs: two are slow, one fails, and one opens a file of its own.
func sixServers(w *world.World) (slow []gate) {
	w.T.Helper()
	recorder := ownRecorder(w)
	one, first := gatedServer(w, "b-slow", recorder)
	other, second := gatedServer(w, "d-slow", recorder)
	w.Write("home/.cursor/mcp.json", world.Raw(w.T, obj{"mcpServers": obj{
		"a-quick": obj{"command": recorder},
		"b-slow":  obj{"command": one},
		"c-fails": obj{"command": "sh", "args": []string{"-c", `echo "Error: SERVICE_API_KEY is required" >&2; exit 1`}},
		"d-slow":  obj{"command": other},
		"e-opens": obj{"command": recorder, "env": obj{"NOTES_DB": w.Write("data/notes.db", "")}},
		"f-quick": obj{"command": recorder, "env": obj{"API_TOKEN": "plain-secret-1"}},
	}}))
	return []gate{first, second}
}

// TestInitShowsThatItLives: at a terminal each second shows which server is waited for. In the end one line stands there for
// each, and nothing else of what was shown meanwhile; cmd/mcphub/internal/progress holds that no second is left out.
func TestInitShowsThatItLives(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for _, columns := range []int{80, 40} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			slow := sixServers(w)
			s := w.OnTerminal(columns, []func(*exec.Cmd){inProject(w, "TERM=xterm")}, "init", "--yes")
			for i, name := range []string{"2 of 6 b-slow: ", "4 of 6 d-slow: "} {
				for _, second := range []string{"1s", "2s", "3s"} {
					s.Sees(1, second+"  "+name+`\S`)
				}
				slow[i].open()
			}
			s.Sees(1, "(?:served|by the hub) yet: c-fails")
			<-s.Ended
			written := s.Shown()
			screen := screenOf(written, columns)
			for _, want := range []string{"✓ 1 of 6 a-quick: works", "✓ 2 of 6 b-slow: works", "✗ 3 of 6 c-fails: does not work:", "✓ 4 of 6 d-slow: works", "✓ 5 of 6 e-opens: works", "✓ 6 of 6 f-quick: works"} {
				if n := len(regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(want)).FindAllString(screen, -1)); n != 1 {
					t.Errorf("%q stands there %d times", want, n)
				}
			}
			flat := strings.Join(strings.Fields(screen), "") // a word may be longer than the terminal is wide
			for _, want := range []string{`write"env":{"SERVICE_API_KEY"`, "notes.db(read,", "f-quick/API_TOKEN"} {
				if !strings.Contains(flat, want) {
					t.Errorf("%q is not shown", want)
				}
			}
			if lives := regexp.MustCompile(`(?m)^ +\d+s  `).FindString(screen); lives != "" || strings.Contains(written, "plain-secret") {
				t.Errorf("%q is left, or a secret is shown", lives)
			}
			for _, page := range regexp.MustCompile(`\x1b\[\d+A\x1b\[J`).Split(written, -1)[1:] {
				if line, _, _ := strings.Cut(page, "\r\n"); strings.Contains(line, "s  ") && strings.Contains(line, "-slow: ") && utf8.RuneCountInString(line) >= columns {
					t.Errorf("%q is wider than the terminal", line)
				}
			}
			if t.Failed() {
				t.Log(screen)
			}
		})
	}
}

// inProject has a program run in the project, with more variables.
func inProject(w *world.World, more ...string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.Env, cmd.Dir = w.Env(append(more, "DBUS_SESSION_BUS_ADDRESS=unix:path="+w.Path("none"))...), w.Project
	}
}

// TestInitInAPipe: there is no sign of life, and no sign but those of text. -v shows more.
func TestInitInAPipe(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	for _, g := range sixServers(w) {
		g.open()
	}
	said, status := initYes(w)
	if status != 1 || regexp.MustCompile(`[^\P{Cc}\n]|✓|✗`).MatchString(said) {
		t.Errorf("it ends with %d: %q", status, said)
	}
	tried := `\n  1 of 6  a-quick: works, with .*\n  2 of 6  b-slow: works, with .*\n  3 of 6  c-fails: does not work: .*(?:\n       .*)+\n  4 of 6  d-slow: works, with .*` +
		`\n  5 of 6  e-opens: works, with .*; opens also .*notes.db .*\n  6 of 6  f-quick: works, with .*\n`
	if !regexp.MustCompile(tried).MatchString(said) || strings.Contains(said, "opens:  ") {
		t.Error(said)
	}
}

// TestCommandsShowThatTheyLive: so do the other commands that wait for a server. The result is as elsewhere.
func TestCommandsShowThatTheyLive(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for _, c := range []struct{ line, result string }{
		{"tools --root .", "slow__echo +slow"},
		{"tools --find echo", "slow__echo +slow"},
		{"call slow__echo text=hi --root .", "hi"},
		{"warm --root .", `slow +\d+ tools`},
		{"doctor", "1 server with"},
		{"learn slow --root .", `"sandbox": `},
		{"add another -- slow", "another: works, with"},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			program, g := gatedServer(w, "slow", ownRecorder(w))
			config := w.Config(obj{"slow": obj{"command": program}})
			args := strings.Fields(c.line)
			if args[len(args)-1] == "slow" {
				args[len(args)-1] = program
			}
			at := len(args)
			if args[0] == "add" {
				at = 1
			}
			args = append(args[:at:at], append([]string{"--config", config}, args[at:]...)...)
			s := w.OnTerminal(80, []func(*exec.Cmd){inProject(w, "TERM=xterm")}, args...)
			s.Sees(1, `2s  (?:1 of 1 )?(?:slow|another): \S`)
			g.open()
			s.Sees(1, c.result)
			<-s.Ended
			if screen := screenOf(s.Shown(), 80); !regexp.MustCompile(c.result).MatchString(screen) || regexp.MustCompile(`(?m)^ +\d+s  `).MatchString(screen) {
				t.Errorf("it shows %q, of %q", screen, s.Shown())
			}
		})
	}
}
