package consent

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// unseenText is what a stranger writes to be read as something else: lines and errors of mcphub's, colours, a cursor that moves,
// a direction that turns, letters that no one sees.
const unseenText = "A\nhub.json:1:1: error: FORGED\rB\x1b[31mC\u009b31mD\u0085E\u2028hub.json:1:1: error: FORGED\u2029F\u202eG\u2066H\U000e0041I\u200bJ\x7fK"

var forged = regexp.MustCompile(`(?m)^\W*hub\.json:1:1: error: FORGED`)

// unseen returns what in an output is not what it seems.
func unseen(out string) (found []string) {
	for i, r := range out {
		switch {
		case r == '\n':
			continue
		case r == utf8.RuneError && !strings.HasPrefix(out[i:], "\uFFFD"), unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp),
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
			found = append(found, string([]rune{r})+" as in "+out[max(0, i-40):min(len(out), i+40)])
		}
	}
	if at := forged.FindString(out); at != "" {
		found = append(found, at)
	}
	return found
}

// No command prints what a configuration, a client's file, a client or a server wrote so that it acts on a terminal or makes up a
// line. The controls are the same texts as they stand in these files.
func TestNothingUnseenIsPrinted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	odd := "odd" + unseenText
	place := w.Path("project", odd)
	world.Must(t, os.MkdirAll(place, 0o700))
	kid := w.Recorder("kid", "-hostile", hex.EncodeToString([]byte(unseenText)))
	kid["env"].(obj)["X"+strings.ReplaceAll(unseenText, "=", "")] = odd
	entries := obj{
		"kid": kid, odd: obj{"command": world.Bin.Recorder, "args": []string{odd}, "env": obj{"A": odd}, "sandbox": obj{"read": []string{place}}}, "gone": obj{"command": "/no/" + odd},
		"web": obj{"url": "http://127.0.0.1:1/" + odd, "headers": obj{"A": odd}}, "unset": obj{"command": "x", "args": []string{"${" + odd + "}", "${file:" + odd + "}"}},
		"off": obj{"command": "x" + odd, "disabled": true},
	}
	config := w.Config(entries, obj{
		"secrets": obj{"store": "file"},
		"inputs":  []obj{{"id": "question", "description": odd}},
		"policy":  obj{"rules": []obj{{"name": odd, "then": "deny", "if": obj{"tools": []string{"no-such-tool"}}}}},
		"roots":   obj{"fallback": []obj{{"path": place, "name": odd}}},
		odd:       1,
	})
	broken := w.Write("broken.json", world.Raw(t, obj{"mcpServers": obj{odd: obj{odd: 1, "command": 7, "args": odd, "env": obj{odd: []int{}}}, "b": obj{"sandbox": odd, "command": "x"}}, odd: odd, "expose": odd, "http": obj{"listen": odd}}))
	theirs := w.Write("clone/.mcp.json", world.Raw(t, obj{"mcpServers": entries}))
	// The controls: a reader that prints what is there is seen to.
	for _, text := range []string{unseenText, odd} {
		if n := len(unseen(text)); n < 10 {
			t.Fatalf("the detector finds %d things in %q", n, text)
		}
	}

	s := w.Serve(config, ide.Folders(w.Project, place))
	s.Odd = true // what its name is, no client's may be
	name, err := json.Marshal("fake-ide" + unseenText)
	world.Must(t, err)
	s.MustRequest("initialize", strings.Replace(s.InitializeParams(), `"fake-ide"`, string(name), 1))
	world.Must(t, s.Notify("notifications/initialized", ""))
	s.AwaitTool("kid__hostile")
	s.MustRequest("tools/call", world.Raw(t, obj{"name": "kid__hostile", "arguments": obj{"path": filepath.Join(place, "x")}}))
	s.MustRequest("tools/call", world.Raw(t, obj{"name": "kid__hostile", "arguments": obj{"path": w.Path("outside", odd)}}))

	var commands [][]string
	for _, args := range [][]string{
		{"validate"}, {"list"}, {"tools"}, {"doctor"}, {"doctor", "-v"}, {"warm"}, {"warm", "kid"}, {"plan"}, {"explain", "kid__hostile", "path=" + place}, {"logs", "kid"},
		{"secret", "list"}, {"roots"}, {"audit", "show"}, {"audit", "verify"}, {"audit", "tail"}, {"auth", "status"}, {"import", theirs, "--yes"}, {"restart", "kid"}, {"reload"}, {"init", "--yes"}, {"tools", "kid"},
		{"enable", "off"}, {"disable", odd}, {"remove", odd}, {"restart", odd}, {"logs", odd}, {"explain", odd, "path=" + odd}, {"call", odd}, {"learn", odd}, {"auth", "login", odd}, {"import", odd}, {"install", odd},
	} {
		with := append(append([]string{}, args...), "--config", config)
		if args[0] == "reload" || args[0] == "audit" && args[1] == "verify" {
			with = args
		}
		commands = append(commands, with, append(append([]string{}, with...), "--json"))
	}
	commands = append(commands, []string{"status"}, []string{"status", "-v"}, []string{"status", "--json"}, []string{"validate", broken}, []string{"validate", broken, "--json"}, []string{"list", "--config", broken},
		[]string{"plan", broken}, []string{"plan", broken, "--json"}, []string{"serve", "--config", broken}, []string{"audit", "export", "--config", config}, []string{"audit", "export", "--format", "csv", "--config", config},
		[]string{"install", "--print", "cursor", "--roots", place}, []string{"approve", "list"}, []string{"tools", "--cost", "--config", config}, []string{odd}, []string{"validate", odd}, []string{"add", odd, "--config", config, "--", odd, odd},
		[]string{"roots", "--config", config, "--explain", filepath.Join(place, odd)}, []string{"call", "kid__hostile", "--config", config}, []string{"call", "kid__hostile", "--raw", "--config", config})
	saw := 0
	for _, args := range commands {
		said := atTwo(w, args)
		if strings.Contains(said, "FORGED") {
			saw++
		}
		for _, what := range unseen(said) {
			t.Errorf("mcphub %q: %q", args, what)
			break
		}
	}
	if saw < 30 {
		t.Errorf("only %d of %d commands print any of it: the test shows little", saw, len(commands))
	}
}

// atTwo runs mcphub with a terminal for stdout and a pipe for stderr, and gives both, however it ends.
func atTwo(w *world.World, args []string) string {
	w.T.Helper()
	terminal, side := world.PseudoTerminal(w.T)
	ctx, stop := context.WithTimeout(context.Background(), world.WaitLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, world.Hub(w.T), args...)
	var said bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = w.Env(), w.Project, side, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	world.Must(w.T, cmd.Start())
	world.Must(w.T, side.Close())
	out, _ := io.ReadAll(terminal)
	_ = cmd.Wait() // many of them fail, as they should
	if ctx.Err() != nil {
		w.T.Errorf("mcphub %q did not end", args)
	}
	text := strings.ReplaceAll(string(out), "\r\n", "\n")
	if strings.HasPrefix(text, "{") && args[len(args)-1] == "--json" && !json.Valid([]byte(text)) && strings.Count(strings.TrimSpace(text), "\n{") == 0 {
		w.T.Errorf("mcphub %q: no JSON: %s", args, text)
	}
	return text + said.String()
}
