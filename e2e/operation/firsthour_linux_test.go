package operation

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

var blanksAtEnd = regexp.MustCompile(`(?m) +$`) // behind a question

// consoleBlock is a command of docs/start.md with what it prints.
var consoleBlock = regexp.MustCompile("(?ms)^```console\n\\$ ([^\n]+)\n(.*?)^```$")

// TestFirstHour does what docs/start.md says, step by step, on a machine that has had no hub: a person answers the questions of
// init at a terminal, and the client is MCP Inspector of npm, by the configuration that init wrote. It fails if the page shows
// something else.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	n := world.RequireNode(t)
	if major := n.Major(t); major < 22 {
		needs.Missing(t, "MCP Inspector wants Node 22.19, this is ", major)
	}
	w := world.New(t)
	home := w.Path("home", "you")
	project := filepath.Dir(w.Write("home/you/project/README.md", "# My project\n"))
	for name, script := range map[string]string{"notes": notesServer, "weather": "#!/bin/sh\ntest -n \"$WEATHER_KEY\" || { echo \"Error: WEATHER_KEY is required\" >&2; exit 1; }\n" + notesServer} {
		world.Must(t, os.Chmod(w.Write("home/you/bin/"+name, script), 0o700))
	}
	w.Write("home/you/.mcp-inspector/mcp.json", `{"mcpServers": {"notes": {"command": "notes"}, "weather": {"command": "weather"}}}`)
	runtime := world.ShortFolder(t)
	env := []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":" + world.Bin.Dir + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + runtime, "TERM=xterm",
		"TMPDIR=" + runtime, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("none"), "LANG=C.UTF-8", "TZ=UTC", "XDG_MCPHUB_E2E=" + w.Dir}
	file := world.Source("docs", "start.md")
	have, err := os.ReadFile(file)
	world.Must(t, err)
	steps := 0
	page := consoleBlock.ReplaceAllStringFunc(string(have), func(block string) string {
		steps++
		line := consoleBlock.FindStringSubmatch(block)[1]
		words := strings.Fields(line)
		for i := range words {
			if rest, ok := strings.CutPrefix(words[i], "~/"); ok {
				words[i] = filepath.Join(home, rest)
			}
		}
		in := func(cmd *exec.Cmd) { cmd.Dir, cmd.Env = project, env }
		var out string
		switch {
		case line == "mcphub init":
			s := w.OnTerminal(250, []func(*exec.Cmd){in}, words[1:]...)
			for question := range 8 { // Enter agrees to each
				s.Sees(question+1, `\] `)
				s.Types("")
			}
			s.Sees(1, "run mcphub init again")
			<-s.Ended
			out = strings.TrimRight(screenOf(s.Shown(), 250), "\n") + "\n"
		case words[0] == "npx":
			cmd := exec.Command(n.Program, append([]string{n.Script("mcp-inspector")}, slices.DeleteFunc(words[2:], func(word string) bool { return word == "2>/dev/null" })...)...)
			in(cmd)
			out = ranStep(t, cmd)
		default:
			cmd := exec.Command(world.Hub(t), words[1:]...)
			in(cmd)
			out = ranStep(t, cmd)
		}
		return "```console\n$ " + line + "\n" + blanksAtEnd.ReplaceAllString(neutral(out, home, runtime), "") + "```"
	})
	if *world.Update {
		world.Must(t, os.WriteFile(file, []byte(page), 0o600))
		have = []byte(page)
	}
	if diff := cmp.Diff(string(have), page); diff != "" {
		t.Errorf("docs/start.md is out of date, run go test ./e2e/operation -run TestFirstHour -update:\n%s", diff)
	}
	if steps < 6 {
		t.Errorf("the page has %d steps", steps)
	}
}

// ranStep returns what a command prints on standard output; it may end as it likes, since the page shows that.
func ranStep(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out)
}
