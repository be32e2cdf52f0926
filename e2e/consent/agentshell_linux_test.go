package consent

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// An agentsShell is a command line that the client of a hub has started, and that runs when a question of this client waits.
type agentsShell struct {
	*world.World
	s    *world.Session
	keys *os.File // what it types at a terminal that it has made
}

// startShell starts the hub below a client that has started this line too. $HUB is mcphub; the line writes what it is shown to
// $D/out.
func startShell(t *testing.T, line string) *agentsShell {
	t.Helper()
	w := world.New(t)
	w.Write("far/f.txt", "far text")
	a := &agentsShell{World: w}
	fifo := func(name string) *os.File {
		path := w.Path(name)
		world.Must(t, unix.Mkfifo(path, 0o600))
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		world.Must(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	begin := fifo("go")
	a.keys = fifo("keys")
	config := w.Config(obj{"files": obj{"builtin": "files"}}, obj{
		"roots":    obj{"fallback": []string{w.Project}},
		"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
		"approval": obj{"from": []string{"terminal", "console"}, "timeout": "2m"},
	})
	script := w.Write("agent.sh", "read -r _ <\"$D/go\"\n"+line+"\n")
	env := w.Env("D="+w.Dir, "HUB="+world.Hub(t), "SHELL=/bin/sh")
	a.s = w.Start(ide.Options{Command: "sh", Args: []string{"-c", `sh "$0" & "$@"; exit $?`, script, world.Hub(t), "serve", "--config", config}, Env: env, Roots: ide.Folders(w.Project)})
	t.Cleanup(func() { // it ends with no one, if it has left its parents
		for _, p := range world.Marked(t, "HOME="+w.Home) {
			if !strings.Contains(p.Command, " serve ") && regexp.MustCompile("agent[.]sh|script|approve|console").MatchString(p.Command) {
				_ = unix.Kill(p.PID, unix.SIGKILL)
			}
		}
	})
	a.s.Handshake()
	a.s.AwaitTool("files__read_text_file")
	return a.asks(begin)
}

// asks makes the call that waits, and lets the line run.
func (a *agentsShell) asks(begin *os.File) *agentsShell {
	a.T.Helper()
	a.s.SendCall("files__read_text_file", world.PathArgs(a.T, a.Path("far", "f.txt")))
	if !world.Within(world.WaitLimit, func() bool {
		out, _ := a.Command("approve", "list")
		return strings.Contains(out, "1 of 1")
	}) {
		a.T.Fatal("no question waits")
	}
	_, err := begin.WriteString("go\n")
	world.Must(a.T, err)
	return a
}

// sees waits until the line was shown one of these.
func (a *agentsShell) sees(pattern string) string {
	a.T.Helper()
	re, found := regexp.MustCompile(pattern), ""
	if !world.Within(world.WaitLimit, func() bool {
		text, _ := os.ReadFile(a.Path("out"))
		if m := re.FindStringSubmatch(string(text)); m != nil {
			found = m[len(m)-1]
		}
		return found != ""
	}) {
		text, _ := os.ReadFile(a.Path("out"))
		a.T.Fatalf("%q is not shown: %s", pattern, text)
	}
	return found
}

func (a *agentsShell) types(line string) {
	a.T.Helper()
	_, err := a.keys.WriteString(line + "\n")
	world.Must(a.T, err)
}

// stillWaits wants the question to be there still, and no code to have been shown.
func (a *agentsShell) stillWaits() {
	a.T.Helper()
	text, _ := os.ReadFile(a.Path("out"))
	if regexp.MustCompile(codeShown).Match(text) {
		a.T.Errorf("a code is shown: %s", text)
	}
	if out, _ := a.Command("approve", "list"); !strings.Contains(out, "1 of 1") {
		a.T.Errorf("it has answered: %s", out)
	}
}

// The terminal is one that the line makes: script(1) runs a program on a new one.
const ownTerminal = `script -qefc "$HUB approve" "$D/out" <"$D/keys" >/dev/null`

// TestAnAgentsShellAnswersNothing: what an agent runs in its shell may look at what it has asked for, and may not answer it,
// by mcphub approve or by a console of its own. The controls are what cannot be told from a person: a program that has left
// its parents and made a terminal for itself (docs/threat-model.md).
func TestAnAgentsShellAnswersNothing(t *testing.T) {
	t.Parallel()
	needs.Line(t, "script setsid")
	const byClient, noTerminal = "what the hub's client starts may not approve", "terminal"
	for name, c := range map[string]struct{ line, told string }{
		"as it is":                     {`"$HUB" approve >"$D/out" 2>&1 </dev/null`, noTerminal},
		"with words on a pipe":         {`yes | "$HUB" approve >"$D/out" 2>&1`, noTerminal},
		"a terminal of its own":        {ownTerminal, byClient},
		"a session of its own":         {"setsid -w sh -c '" + ownTerminal + "'", byClient},
		"deaf to hang-ups":             {"nohup sh -c '" + ownTerminal + "'", byClient},
		"two terminals in each other":  {`script -qefc 'script -qefc "$HUB approve" "$D/out"' /dev/null <"$D/keys" >/dev/null`, byClient},
		"another environment":          {`env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" D="$D" HUB="$HUB" SHELL=/bin/sh sh -c '` + ownTerminal + "'", byClient},
		"left its parents":             {`( setsid "$HUB" approve >"$D/out" 2>&1 </dev/null & )`, noTerminal},
		"left them, words on a pipe":   {`( yes | setsid "$HUB" approve >"$D/out" 2>&1 & )`, noTerminal},
		"behind on its own terminal":   {`script -qefc 'set -m; "$HUB" approve & wait' "$D/out" <"$D/keys" >/dev/null`, "foreground of its terminal"},
		"control: left, own terminal ": {"( setsid sh -c '" + ownTerminal + "' & )", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startShell(t, c.line)
			if c.told != "" {
				a.sees(c.told)
				a.stillWaits()
				return
			}
			a.types(a.sees(codeShown))
			a.sees(terminalAllowed)
		})
	}
	const ownConsole = `script -qefc "$HUB console --no-browser" "$D/out" <"$D/keys" >/dev/null`
	for name, c := range map[string]struct {
		line    string
		answers bool
	}{
		"console":                              {`"$HUB" console --no-browser >"$D/out" 2>&1 </dev/null`, false},
		"console at a terminal of its own":     {ownConsole, false},
		"console that left its parents":        {`( setsid "$HUB" console --no-browser >"$D/out" 2>&1 </dev/null & )`, false},
		"control: console left, own terminal ": {"( setsid sh -c '" + ownConsole + "' & )", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startShell(t, c.line)
			p := &consolePage{w: a.World, address: strings.TrimSuffix(a.sees(`The console is at (http://\S+)`), "/")}
			p.session = field(p.asks("/open", url.Values{"code": {a.sees(`this code, once: (\S+)`)}}), "session")
			shown := p.question(filepath.Join("far", "f.txt"))
			said := p.click(shown, "directory", field(shown, "digest"))
			if strings.Contains(said, pageAllowed) != c.answers || strings.Contains(shown, "Allow: directory") != c.answers {
				t.Errorf("it answers: %t: %s", !c.answers, said)
			}
			if !c.answers {
				a.stillWaits()
			}
		})
	}
}

// TestAnAgentsShellAllowsNothing: what an agent runs in its shell may print what a path would open, and opens none, at a terminal of its own either. The
// control is the same command of a person, beside the client. Without a terminal it is e2e/kernel's.
func TestAnAgentsShellAllowsNothing(t *testing.T) {
	t.Parallel()
	needs.Line(t, "script setsid")
	for name, c := range map[string]struct{ line, told string }{
		"allow at a terminal":    {`script -qefc "$HUB allow --config $D/hub.json files $D/far" "$D/out" <"$D/keys" >/dev/null`, "what a client of a hub starts"},
		"allow in a new session": {`setsid -w "$HUB" allow --config "$D/hub.json" files "$D/far" >"$D/out" 2>&1 </dev/null`, "what a client of a hub starts"},
		"revoke":                 {`"$HUB" revoke --config "$D/hub.json" files "$D/far" >"$D/out" 2>&1 </dev/null`, "what a client of a hub starts"},
		"allow --dry-run":        {`"$HUB" allow --config "$D/hub.json" files "$D/far" --dry-run >"$D/out" 2>&1 </dev/null`, "nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startShell(t, c.line)
			before, err := os.ReadFile(a.Path("hub.json"))
			world.Must(t, err)
			a.sees(c.told)
			after, err := os.ReadFile(a.Path("hub.json"))
			world.Must(t, err)
			if string(before) != string(after) {
				t.Errorf("hub.json has changed: %s", after)
			}
			if said, status := a.Command("allow", "--config", a.Path("hub.json"), "files", a.Path("far")); status != 0 {
				t.Errorf("a person: %d %s", status, said)
			}
		})
	}
}
