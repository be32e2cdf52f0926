package operation

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// notesServer is a server as small as can be.
const notesServer = `#!/bin/sh
echo "notes: opened with 2 notes" >&2
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id": *\([0-9][0-9]*\|"[^"]*"\).*/\1/p')
  test -n "$id" || continue
  case $line in
  *'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}' ;;
  *'"tools/list"'*) answer '"result":{"tools":[{"name":"add","description":"Keep a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},{"name":"list","description":"List the notes.","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*) answer '"result":{"content":[{"type":"text","text":"1. buy milk\n2. water the plants"}]}' ;;
  *'"ping"'*) answer '"result":{}' ;;
  *) answer '"error":{"code":-32601,"message":"no such method"}' ;;
  esac
done
`

// A sessionStep is a command of docs/session.md, and what is said before it. Where hub is set, a client has
// a hub running by then.
type sessionStep struct {
	say  string
	run  string
	exit int
	hub  bool
}

var sessionSteps = []sessionStep{
	{say: "Cursor is on this machine, with one server. `init` takes the server over and puts the hub in its place.", run: "mcphub init --yes"},
	{say: "`doctor` starts each server, and looks at the clients and the system.", run: "mcphub doctor"},
	{say: "What is in hub.json now:", run: "mcphub list"},
	{say: "The tools of one server, with what each costs a model:", run: "mcphub tools notes --cost --root ."},
	{say: "A call of a tool, as a client would make it that has this folder open.", run: "mcphub call files__read_text_file path=README.md --root ."},
	{say: "A path outside of the folder does not reach the server. The exit status is 6.", run: "mcphub call files__read_text_file path=/etc/passwd --root .", exit: 6},
	{say: "`explain` says why, without a call.", run: "mcphub explain files__read_text_file path=../.ssh/id_ed25519 --root .", exit: 6},
	{say: "Once Cursor runs, it has a hub. `list` then knows the states.", run: "mcphub list", hub: true},
	{say: "`status` shows the hub, its servers and its clients.", run: "mcphub status", hub: true},
	{say: "What a server wrote to standard error is kept.", run: "mcphub logs notes -n 1", hub: true},
	{say: "Before hub.json is changed, `plan` says what the change would do. This file has no `notes` any more.", run: "mcphub plan new.json", hub: true},
	{say: "Each decision is recorded, and `audit show` finds it again.", run: "mcphub audit show --denied"},
}

const sessionHead = `# A session

What the commands print, from the first one on. A test makes this page with a home of its own, so that it stays true; times,
process ids, sessions and the name of the client are made up.
`

// TestSession makes docs/session.md: it runs its commands in a scratch home, and fails if the page says something else.
func TestSession(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	home := w.Path("home", "you")
	project := w.Write("home/you/project/README.md", "# My project\n")
	project = filepath.Dir(project)
	notes := w.Write("home/you/bin/notes", notesServer)
	world.Must(t, os.Chmod(notes, 0o700))
	w.Write("home/you/.cursor/mcp.json", `{"mcpServers": {"notes": {"command": "notes"}}}`)
	w.Write("home/you/project/new.json", `{"mcpServers": {"files": {"builtin": "files"}}}`)
	runtime := world.ShortFolder(t)
	env := []string{"HOME=" + home, "PATH=" + filepath.Dir(notes) + ":" + world.Bin.Dir + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + runtime,
		"TMPDIR=" + runtime, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("none"), "LANG=C.UTF-8", "TZ=UTC", "XDG_MCPHUB_E2E=" + w.Dir}
	var hub *ide.Client
	page := sessionHead
	for _, step := range sessionSteps {
		if step.hub && hub == nil {
			hub = sessionHub(t, project, env)
			t.Cleanup(func() { hub.Close(world.WaitLimit) })
		}
		cmd := exec.Command(world.Hub(t), strings.Fields(step.run)[1:]...)
		cmd.Dir, cmd.Env = project, env
		out, err := cmd.CombinedOutput()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code, err = exit.ExitCode(), nil
		}
		world.Must(t, err)
		if code != step.exit {
			t.Fatalf("%s: exit status %d, want %d\n%s", step.run, code, step.exit, out)
		}
		page += "\n" + step.say + "\n\n```console\n$ " + step.run + "\n" + neutral(string(out), home, runtime) + "```\n"
	}
	file := world.Source("docs", "session.md")
	if *world.Update {
		world.Must(t, os.WriteFile(file, []byte(page), 0o600))
	}
	have, err := os.ReadFile(file)
	world.Must(t, err)
	if diff := cmp.Diff(string(have), page); diff != "" {
		t.Errorf("docs/session.md is out of date, run go test ./e2e/operation -run TestSession -update:\n%s", diff)
	}
}

// sessionHub returns a hub with a client that has the project open and has listed the tools.
func sessionHub(t *testing.T, project string, env []string) *ide.Client {
	t.Helper()
	c, err := ide.Start(ide.Options{Apart: true, Command: world.Hub(t), Args: []string{"serve"}, Dir: project, Env: env, Roots: ide.Folders(project)})
	world.Must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	_, err = c.Initialize(ctx)
	world.Must(t, err)
	_, err = c.Call(ctx, "tools/list", `{}`)
	world.Must(t, err)
	for _, call := range [][2]string{{"notes__list", `{}`}, {"files__read_text_file", `{"path":"README.md"}`}} {
		_, err = c.Tool(ctx, call[0], call[1])
		world.Must(t, err)
	}
	return c
}

var (
	tableHead    = regexp.MustCompile(`^[A-Z]+  +[A-Z]+  `)
	machineNotes = regexp.MustCompile(`; \d+ notes?, which -v shows`) // of doctor, about this machine
)

// neutral is output as it would be on any machine.
func neutral(out, home, runtime string) string {
	out = world.Steady(out, "/home/you", home, "/run/user/1000", runtime, "/usr/local/bin", world.Bin.Dir)
	made := strings.NewReplacer("TIME", "2026-11-23 10:00:00", "SPAN", "2s", "PID  ", "4242  ", "hub PID", "hub 4242", "[PID]", "[4243]", "VERSION", "0.1.0",
		"SESSION ", "1f0c2d3e ", "SESSION:", "1f0c2d3e:", "fake-ide 1", "Cursor 1.0")
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !tableHead.MatchString(line) {
			line = made.Replace(line)
		}
		b.WriteString(machineNotes.ReplaceAllString(line, ""))
	}
	return world.Realigned(b.String())
}
