package operation

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// teamPage has what docs/team.md gives to copy, with addresses and folders of the test instead of its own.
type teamPage struct {
	config, prometheus string // the files
	commands           []string
}

var teamYAML = regexp.MustCompile("(?ms)^```yaml\n(global:.*?)^```$")

// readTeamPage reads the page.
func readTeamPage(t *testing.T, changes map[string]string) (p teamPage) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/team.md")
	world.Must(t, err)
	text := string(raw)
	for from, to := range changes {
		if !strings.Contains(text, from) {
			t.Fatalf("the page has no %s", from)
		}
		text = strings.ReplaceAll(text, from, to)
	}
	if m := teamYAML.FindStringSubmatch(text); m != nil {
		p.prometheus = m[1]
	}
	for _, block := range documentIndent.FindAllString(text, -1) {
		if text := strings.TrimSpace(block); strings.HasPrefix(text, "{") {
			p.config = text
			continue
		}
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" {
				p.commands = append(p.commands, line)
			}
		}
	}
	return p
}

// aClient is a session of a person of the page.
type aClient struct {
	*traffic
	web     *http.Client
	session string
}

// connect opens a session with a token.
func connect(t *testing.T, address, token string) *aClient {
	t.Helper()
	c := &aClient{traffic: &traffic{t: t, address: "http://" + address + "/mcp", stop: make(chan struct{}), token: token}, web: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.web.CloseIdleConnections)
	c.session = c.open(c.web)
	return c
}

// list lists a directory, and returns the status and the answer.
func (c *aClient) list(path string) (status int, text string) {
	resp, text, err := c.post(c.web, c.session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__list_directory","arguments":{"path":"`+path+`"}}}`)
	if err != nil || resp == nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	return resp.StatusCode, text
}

// TestTheTeamPage runs every command of docs/team.md in its order, with the files that it gives, from nothing: a hub serves two clients, each of which has the directory
// of its token and no other; Prometheus has scraped it, with the alerts; another token takes the place of the first one, whose session ends, and no other does; and the
// record has what was done. It prints how long that takes.
func TestTheTeamPage(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	began := time.Now()
	r := &replica{w: w, addr: "127.0.0.1:" + world.FreePort(t), config: w.Path("hub.json"), flags: []string{"--set", "http.drain=0s"}}
	p := readTeamPage(t, map[string]string{
		"0.0.0.0:8080": r.addr, "127.0.0.1:9464": "127.0.0.1:" + world.FreePort(t), "127.0.0.1:9090": "127.0.0.1:" + world.FreePort(t), "/srv/team": w.Path("srv"), "scrape_interval: 15s": "scrape_interval: 100ms",
	})
	for _, line := range p.commands {
		needs.Line(t, line)
	}
	w.Write("hub.json", p.config)
	w.Write("prometheus.yml", p.prometheus)
	alerts, err := os.ReadFile("../../packaging/monitoring/alerts.yaml")
	world.Must(t, err)
	w.Write("mcphub-alerts.yaml", string(alerts))
	bin := w.Path("bin")
	world.Must(t, os.MkdirAll(bin, 0o700))
	world.Must(t, os.Symlink(world.Hub(t), filepath.Join(bin, "mcphub")))
	commandOf := func(line string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = w.Dir, w.Env("PATH="+bin+":"+os.Getenv("PATH"))
		return cmd
	}
	run := func(line string) string {
		t.Helper()
		out, err := commandOf(line).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		return string(out)
	}
	has := func(line, want string) {
		t.Helper()
		var out []byte
		if !world.Within(world.WaitLimit, func() bool { out, _ = commandOf(line).CombinedOutput(); return strings.Contains(string(out), want) }) {
			t.Errorf("%s: %s, want %s", line, out, want)
		}
	}
	tokenOf := func(name string) string {
		token, err := os.ReadFile(w.Path("tokens", name))
		world.Must(t, err)
		return strings.TrimSpace(string(token))
	}
	clients := map[string]*aClient{}
	serves := func(name string) {
		t.Helper()
		if status, text := clients[name].list(w.Path("srv", name)); status != http.StatusOK || !strings.Contains(text, `"result"`) || strings.Contains(text, "Access denied") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	done := map[string]bool{}
	for _, line := range p.commands {
		words := strings.Fields(line)
		step := strings.Join(words[:min(2, len(words))], " ")
		done[step] = true
		switch {
		case step == "mcphub serve":
			r.start()
			for _, name := range []string{"alice", "bob"} {
				clients[name] = connect(t, r.addr, tokenOf(name))
				serves(name)
			}
			if _, text := clients["alice"].list(w.Path("srv", "bob")); !strings.Contains(text, "Access denied") {
				t.Errorf("alice reads what is bob's: %s", text)
			}
		case step == "mcphub validate":
			if out := run(line); !strings.HasSuffix(out, "\nok\n") {
				t.Errorf("%s: %s", line, out)
			}
		case step == "mcphub install":
			if out := run(line); !strings.Contains(out, "http://"+r.addr+"/mcp") {
				t.Errorf("%s: %s", line, out)
			}
		case step == "mcphub reload":
			former := clients["alice"]
			run(line)
			if status, _ := former.list(w.Path("srv", "alice")); status != http.StatusUnauthorized {
				t.Errorf("the former token: status %d", status)
			}
			serves("bob")
			clients["alice"] = connect(t, r.addr, tokenOf("alice"))
			serves("alice")
		case words[0] == "prometheus":
			cmd := commandOf("exec " + line)
			world.Must(t, cmd.Start())
			t.Cleanup(func() {
				world.Must(t, cmd.Process.Signal(syscall.SIGTERM))
				_ = cmd.Wait()
			})
		case step == "promtool query" && strings.Contains(line, "up{"):
			has(line, "=> 1 ")
		default:
			run(line)
		}
	}
	for _, step := range []string{"openssl rand", "mcphub validate", "mcphub serve", "mcphub install", "mcphub reload", "promtool check", "promtool query"} {
		if !done[step] {
			t.Errorf("the page has no %s", step)
		}
	}
	if out := run("mcphub audit show --principal alice"); strings.Count(out, "list_directory") < 3 {
		t.Errorf("the record: %s", out)
	}
	r.signal(os.Interrupt)
	r.ended()
	t.Logf("%d commands, from nothing to two clients with Prometheus, alerts and a token that was changed, in %s", len(p.commands), time.Since(began).Round(time.Millisecond))
}
