package operation

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// Every command of docs/team.md runs, in its order, with the configuration that it gives: in the end a hub serves who has the
// token, with metrics, and shows what was done.
func TestTheTeamPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/team.md")
	world.Must(t, err)
	w := world.New(t)
	r := &replica{w: w, addr: "127.0.0.1:" + world.FreePort(t), config: w.Path("hub.json"), flags: []string{"--set", "http.drain=0s"}}
	metrics := "127.0.0.1:" + world.FreePort(t)
	var config string
	var commands []string
	for _, block := range documentIndent.FindAllString(string(raw), -1) {
		if text := strings.TrimSpace(block); strings.HasPrefix(text, "{") {
			config = text
			continue
		}
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" {
				commands = append(commands, line)
			}
		}
	}
	for from, to := range map[string]string{"0.0.0.0:8080": r.addr, "127.0.0.1:9464": metrics, "/srv/team": w.Path("srv")} {
		if !strings.Contains(config, from) {
			t.Fatalf("the configuration does not say %s: %s", from, config)
		}
		config = strings.ReplaceAll(config, from, to)
	}
	for i, line := range commands {
		needs.Line(t, line)
		commands[i] = strings.ReplaceAll(line, "/srv/team", w.Path("srv"))
	}
	w.Write("hub.json", config)
	bin := w.Path("bin")
	world.Must(t, os.MkdirAll(bin, 0o700))
	world.Must(t, os.Symlink(world.Hub(t), filepath.Join(bin, "mcphub")))
	run := func(line string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = w.Dir, w.Env("PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		return string(out)
	}
	served := false
	for _, line := range commands {
		switch {
		case strings.HasPrefix(line, "mcphub serve "):
			served = true
			r.start()
		case strings.HasPrefix(line, "mcphub validate"):
			if out := run(line); !strings.HasSuffix(out, "\nok\n") {
				t.Errorf("%s: %s", line, out)
			}
		default:
			run(line)
		}
	}
	if !served || len(commands) < 6 {
		t.Fatalf("the commands are others: %q", commands)
	}
	token, err := os.ReadFile(w.Path("tokens", "alice"))
	world.Must(t, err)
	l := &traffic{t: t, address: "http://" + r.addr + "/mcp", stop: make(chan struct{}), token: strings.TrimSpace(string(token))}
	c := &http.Client{Transport: &http.Transport{}}
	session := l.open(c)
	for path, want := range map[string]string{w.Path("srv", "alice"): `"result"`, w.Path("srv", "bob"): "Access denied"} {
		if _, text, err := l.post(c, session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__list_directory","arguments":{"path":"`+path+`"}}}`); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %s %v %q", path, text, err, l.lost)
		}
	}
	if resp, err := http.Get("http://" + metrics + "/metrics"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("metrics: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	if out := run("mcphub audit show --principal alice"); strings.Count(out, "list_directory") < 2 {
		t.Errorf("the record: %s", out)
	}
	r.signal(os.Interrupt)
	r.ended()
}
