package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

var servingAt = regexp.MustCompile(`serving (http://\S+/mcp)`)

// TestAServerIsNoClientOfAHub: a server of one hub, held although no one asked for that and served the home folder, makes the folder of the hubs' sockets
// unreadable, sheds its environment and its parents, and calls another hub of its user over HTTP with the whole disk for roots. It is asked for a token,
// and cannot read it. The controls: a hub that needs no token lets it read, and a free server reads the token.
func TestAServerIsNoClientOfAHub(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Program(t, "setsid")
	for _, free := range []bool{false, true} {
		for _, open := range []bool{false, true} {
			t.Run(fmt.Sprintf("free %t, no token needed %t", free, open), func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				args := []string{"serve", "--http", "127.0.0.1:0", "--config", w.Write("other.json", `{"mcpServers": {"f": {"builtin": "files"}}}`)}
				if open {
					args = append(args, "--no-auth")
				}
				url := w.Listening(exec.Command(world.Hub(t), args...), servingAt)
				kid := obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}}
				if free {
					kid["sandbox"] = "off"
				}
				s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"kid": kid})}, Env: w.Env(), Capabilities: ide.DefaultCapabilities, Roots: ide.Folders(w.Project, w.Home)})
				s.Handshake()
				s.AwaitTool("kid__shell")
				runtime := w.Runtime
				attack := fmt.Sprintf("OPENER_NEEDLE=00 %s do call %s f__read_text_file %s", world.Bin.Opener, url, w.Path("outside", "secret.txt"))
				for _, how := range []string{
					attack,
					"chmod 0 " + runtime + "/mcphub; env -i " + attack,
					"chmod 0 " + runtime + "/mcphub; rm -f said ended; ( ( setsid env -i " + attack + " > said 2>&1; touch ended ) & ); until [ -e ended ]; do :; done; cat said",
				} {
					said := s.MustCall("kid__shell", world.Raw(t, obj{"command": how + " 2>&1"})).Text
					if got := strings.Contains(said, world.SecretText); got != open || !open && !strings.Contains(said, "401") {
						t.Errorf("%s: it reads: %t\n%.600s", how, got, said)
					}
					_ = os.Chmod(filepath.Join(runtime, "mcphub"), 0o700)
				}
				if open {
					return
				}
				for _, how := range []string{"cat {}/*.token", "ls {}", "cp -r {} ./copy && cat ./copy/*", "ln {}/*.token {}/link && cat {}/link; rm {}/link", "mv {} ./moved && cat ./moved/*; mv ./moved {}", world.Bin.Hub + " token --config " + w.Path("other.json")} {
					line := "export XDG_STATE_HOME=" + w.Path("home", "state") + " HOME=" + w.Home + "; " + strings.ReplaceAll(how, "{}", w.Tokens())
					said := s.MustCall("kid__shell", world.Raw(t, obj{"command": line + " 2>&1"})).Text
					got := strings.Contains(said, world.TokenOf(t, url)) || how[0] == 'l' && how[1] == 's' && strings.Contains(said, ".token")
					if got != free {
						t.Errorf("%s: comes to the token: %t\n%.500s", how, got, said)
					}
				}
			})
		}
	}
}

// TestTheTokenIsProtected: no call names the token's folder, whatever the roots are. A file beside the hub's own folder is the
// control.
func TestTheTokenIsProtected(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	url := w.ServeHTTP(w.Config(obj{"f": obj{"builtin": "files"}}))
	files, err := filepath.Glob(filepath.Join(w.Tokens(), "*.token"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	beside := w.Write("home/state/other/file.txt", "beside")
	s := dialGoSDK(t, url, nil, "/")
	for _, path := range []string{files[0], filepath.Dir(files[0])} {
		for _, tool := range []string{"f__read_text_file", "f__list_directory", "f__write_file"} {
			args := obj{"path": path}
			if tool == "f__write_file" {
				args["content"] = "x"
			}
			got, bad := world.CallGoSDK(t, s, tool, args, nil)
			if !bad || !strings.Contains(got, "Access denied") || strings.Contains(got, world.TokenOf(t, url)) {
				t.Errorf("%s %s: %s", tool, path, got)
			}
		}
	}
	if got, bad := world.CallGoSDK(t, s, "f__read_text_file", obj{"path": beside}, nil); bad || !strings.Contains(got, "beside") {
		t.Errorf("beside: %s", got)
	}
}

// TestManyConnectionsWithoutAToken: 14,000 connections that show no token, half of which say nothing at all, do not hold up a
// client. That they were made, and sent away, is the control.
func TestManyConnectionsWithoutAToken(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	at := w.ServeHTTP(w.Config(obj{"f": obj{"builtin": "files"}}))
	s := dialGoSDK(t, at, nil, w.Project)
	read := func() time.Duration {
		began := time.Now()
		if got, bad := world.CallGoSDK(t, s, "f__read_text_file", obj{"path": w.Path("project", "hello.txt")}, nil); bad {
			t.Error(got)
		}
		return time.Since(began)
	}
	read()
	anew := func() error { // a client that comes with its token on a connection of its own
		web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: world.WaitLimit}
		req, err := http.NewRequestWithContext(t.Context(), "DELETE", at, nil)
		if err != nil {
			return err
		}
		req.Header = http.Header{"Authorization": {"Bearer " + world.TokenOf(t, at)}, "Mcp-Session-Id": {"none"}}
		r, err := web.Do(req)
		if err != nil {
			return err
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusNotFound { // admitted, and there is no such session
			return errors.New(r.Status)
		}
		return nil
	}
	world.Must(t, anew())
	const many, workers = 14000, 50
	var left, refused atomic.Int64
	left.Store(many)
	var flood sync.WaitGroup
	for range workers {
		flood.Go(func() {
			for left.Add(-1) >= 0 {
				c, err := net.Dial("tcp", world.HostOf(t, at))
				if err != nil {
					t.Error(err)
					return
				}
				if left.Load()%2 == 0 {
					defer func() { _ = c.Close() }() // kept open, and silent
					continue
				}
				_, _ = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{", world.HostOf(t, at))
				_ = c.SetReadDeadline(time.Now().Add(world.WaitLimit))
				head := make([]byte, 12)
				if _, err := io.ReadFull(c, head); err == nil && string(head) == "HTTP/1.1 401" {
					refused.Add(1)
				}
				_ = c.Close()
			}
		})
	}
	ended := make(chan struct{})
	go func() { flood.Wait(); close(ended) }()
	began, slowest, calls, came := time.Now(), time.Duration(0), 0, 0
	var last error
	for over := false; !over; {
		select {
		case <-ended:
			over = true
		default:
			slowest, calls = max(slowest, read()), calls+1
			start := time.Now()
			if err := anew(); err != nil {
				last = err
			} else {
				came++
			}
			slowest = max(slowest, time.Since(start))
		}
	}
	t.Logf("%d connections in %s; %d calls meanwhile, %d of them also on a connection of their own (else: %v), the slowest %s; %d were told that they need a token", many, time.Since(began).Round(time.Millisecond), calls, came, last, slowest.Round(time.Millisecond), refused.Load())
	if slowest > bounds.Of(5*time.Second) || calls < 5 || came < calls*9/10 {
		t.Errorf("%d calls, the slowest took %s; of those who came anew %d were served (%v)", calls, slowest, came, last)
	}
	if refused.Load() < many/4 {
		t.Errorf("the control: only %d were refused", refused.Load())
	}
	// Who comes again is served too.
	dialGoSDK(t, at, nil, w.Project)
}

// TestInstallOverHTTP: each client is given the address of the hub that runs, and its token in the way that the client reads: by
// a variable, a file, or itself in a file that only its owner reads. With that it is served, also by a hub that was started
// again. What is shown has no token, and uninstall gives every byte back.
func TestInstallOverHTTP(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Write("home/config/mcphub/hub.json", `{"mcpServers": {"f": {"builtin": "files"}}}`)
	at := w.Listening(exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0"), servingAt)
	again := w.Listening(exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", w.Path("home", "config", "mcphub", "hub.json")), servingAt)
	token := world.TokenOf(t, at)
	if token == "" || token != world.TokenOf(t, again) {
		t.Fatalf("%q, and %q of a hub that starts later", token, world.TokenOf(t, again))
	}
	if said := says(w, nil, world.Hub(t), "install", "cursor", "--yes", "--http"); !strings.Contains(said, at) || !strings.Contains(said, again) || !strings.Contains(said, "--http=HOST:PORT") {
		t.Errorf("two hubs: %s", said)
	}
	host := world.HostOf(t, again)
	for client, c := range map[string]struct{ file, before, token string }{
		"claude-code": {".claude.json", `{"numStartups": 3}`, "${MCPHUB_TOKEN}"},
		"cursor":      {".cursor/mcp.json", `{"mcpServers": {"a": {"command": "/bin/true"}}}`, "${env:MCPHUB_TOKEN}"},
		"vscode":      {"config/Code/User/mcp.json", "{}", "${env:MCPHUB_TOKEN}"},
		"windsurf":    {".codeium/windsurf/mcp_config.json", "{}\n", token},
		"zed":         {"config/zed/settings.json", "// mine\n{}\n", token},
		"codex":       {".codex/config.toml", "model = \"x\"\n", "MCPHUB_TOKEN"},
		"gemini":      {".gemini/settings.json", "{}", "$MCPHUB_TOKEN"},
		"opencode":    {"config/opencode/opencode.json", "{}", "{file:"},
		"cline":       {".cline/data/settings/cline_mcp_settings.json", "{}", token},
		"roo":         {"config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", "{}", token},
		"goose":       {"config/goose/config.yaml", "GOOSE_MODE: auto\n", token},
		"continue":    {".continue/config.yaml", "name: Local\nversion: 1.0.0\nschema: v1\n", token},
		"copilot":     {".copilot/mcp-config.json", "{}", token},
		"lm-studio":   {".lmstudio/mcp.json", "{}", token},
		"mcporter":    {".mcporter/mcporter.json", "{}", "${MCPHUB_TOKEN}"},
		"inspector":   {".mcp-inspector/mcp.json", "{}", token},
	} {
		path := w.Write("home/"+c.file, c.before)
		world.Must(t, os.Chmod(path, 0o644))
		shown := says(w, nil, world.Hub(t), "install", client, "--http="+host)
		shown += says(w, nil, world.Hub(t), "install", client, "--http="+host, "--print")
		said := says(w, nil, world.Hub(t), "install", client, "--http="+host, "--yes")
		if !strings.Contains(said, "installed in") {
			t.Errorf("%s: %s", client, said)
		}
		if strings.Contains(shown+said, token) || !strings.Contains(shown, host) {
			t.Errorf("%s: the token is shown, or no address:\n%s%s", client, shown, said)
		}
		text, err := os.ReadFile(path)
		world.Must(t, err)
		info, err := os.Stat(path)
		world.Must(t, err)
		if holds := strings.Contains(string(text), token); holds != (c.token == token) || !strings.Contains(string(text), c.token) || holds && info.Mode().Perm() != 0o600 {
			t.Errorf("%s, mode %v:\n%s", client, info.Mode(), text)
		}
		shows := token // what the client makes of the reference
		if file := regexp.MustCompile(`\{file:([^}]+)\}`).FindSubmatch(text); file != nil {
			held, err := os.ReadFile(string(file[1]))
			world.Must(t, err)
			shows = strings.TrimSpace(string(held))
		} else if strings.Contains(c.token, "MCPHUB_TOKEN") {
			shows = strings.TrimSpace(says(w, nil, world.Hub(t), "token"))
		}
		to := regexp.MustCompile(`http://[^"\s]+/mcp`).FindString(string(text))
		for secret, want := range map[string]int{shows: http.StatusOK, shows + "x": http.StatusUnauthorized} {
			web := &http.Client{Transport: bearer{secret, &http.Transport{}}}
			req, err := http.NewRequestWithContext(t.Context(), "POST", to, strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
			world.Must(t, err)
			req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			r, err := web.Do(req)
			world.Must(t, err)
			_ = r.Body.Close()
			web.CloseIdleConnections()
			if r.StatusCode != want {
				t.Errorf("%s at %s: %s, want %d", client, to, r.Status, want)
			}
		}
		uninstall(w, client, c.file, c.before)
	}
	said := says(w, nil, world.Hub(t), "install", "claude-desktop", "--http="+host, "--yes")
	if !strings.Contains(said, "takes no address in its configuration; install it without --http") {
		t.Errorf("Claude Desktop: %s", said)
	}
	world.Must(t, os.MkdirAll(w.Path("home", ".codeium", "windsurf"), 0o700))
	link := w.Path("home", ".codeium", "windsurf", "mcp_config.json")
	_ = os.Remove(link)
	world.Must(t, os.Symlink(w.Write("dotfiles/mcp.json", "{}"), link))
	if said := says(w, nil, world.Hub(t), "install", "windsurf", "--http="+host, "--yes"); !strings.Contains(said, "is a link") || strings.Contains(said, token) {
		t.Errorf("a link: %s", said)
	}
	for _, far := range []string{"0.0.0.0:8080", "192.0.2.1:80", "hub.example:80", "8080"} {
		if said := says(w, nil, world.Hub(t), "install", "windsurf", "--http="+far, "--yes"); strings.Contains(said, "installed in") || !strings.Contains(said, "address") {
			t.Errorf("%s: %s", far, said)
		}
	}
}

// TestInstallClaudeCodeOverHTTP: Claude Code itself reads the variable, and is connected; without it, it is not.
func TestInstallClaudeCodeOverHTTP(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	w.Write("home/config/mcphub/hub.json", `{"mcpServers": {"f": {"builtin": "files"}}}`)
	at := w.Listening(exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0"), servingAt)
	w.Write("home/.claude.json", `{"numStartups": 3, "mcpServers": {}}`)
	install(w, "claude-code", "--http")
	env := []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1"}
	for _, given := range []bool{false, true} {
		if given {
			env = append(env, "MCPHUB_TOKEN="+world.TokenOf(t, at))
		}
		if said := says(w, env, claude(n, t), "mcp", "list"); !strings.Contains(said, "mcphub:") || strings.Contains(said, "Connected") != given {
			t.Errorf("given the variable %t: %s", given, said)
		}
	}
}

// TestNoAuthIsSaid: by the log, by status, and by validate and doctor. The shipped default says nothing about the kind.
func TestNoAuthIsSaid(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", "--no-auth", "variable", "file"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			more, env := obj{}, []string{}
			args := []string{"serve", "--http", "127.0.0.1:0"}
			switch how {
			case "--no-auth":
				args = append(args, how)
			case "variable":
				env = append(env, "MCPHUB_HTTP__AUTH=none")
			case "file":
				more["auth"] = "none"
			}
			config := w.Config(obj{"f": obj{"builtin": "files"}}, obj{"http": more})
			log := listenTo(w)
			w.Listening(exec.Command(world.Hub(t), append(args, "--config", config)...), servingAt, env...)
			all := map[string]string{"the log": log.joinLines()}
			all["status"] = says(w, env, world.Hub(t), "status")
			if how != "--no-auth" {
				all["validate"] = says(w, env, world.Hub(t), "validate", "--config", config)
				all["doctor"] = says(w, env, world.Hub(t), "doctor", "--config", config)
			}
			for what, text := range all {
				if got := strings.Contains(strings.Join(strings.Fields(text), " "), "nobody needs a token over HTTP: every user and process of this machine"); got != (how != "") {
					t.Errorf("%s: %s", what, text)
				}
			}
		})
	}
}

// TestCanaryOfTheToken: the token that the hub makes is in its file, and in what a client was given of it, and nowhere else: in
// no answer, log, record, report, diff, copy of an edited file, cache, output of a crash, and neither in environment, arguments
// nor memory of another process than the hub.
func TestCanaryOfTheToken(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	config := w.Config(obj{"rec": w.Recorder("rec"), "gone": obj{"url": "http://127.0.0.1:1/mcp"}}, obj{"audit": obj{"arguments": true}, "secrets": obj{"store": "file"}})
	cmd := exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", config, "--log-level", "trace")
	cmd.Env, cmd.Dir = w.Env("GOTRACEBACK=crash"), w.Home
	var log bytes.Buffer
	said, err := cmd.StderrPipe()
	world.Must(t, err)
	world.Must(t, cmd.Start())
	var mu sync.Mutex
	at := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		b := make([]byte, 4096)
		for sent := false; ; {
			n, err := said.Read(b)
			mu.Lock()
			log.Write(b[:n])
			if m := servingAt.FindSubmatch(log.Bytes()); m != nil && !sent {
				sent = true
				at <- string(m[1])
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	url := <-at
	w.KnowToken(cmd, url)
	token := world.TokenOf(t, url)
	if len(token) < 40 {
		t.Fatalf("%q", token)
	}
	clean := func(what, text string) {
		t.Helper()
		if strings.Contains(text, token) {
			t.Errorf("%s holds the token:\n%.1000s", what, text)
		}
	}
	web := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
	t.Cleanup(web.CloseIdleConnections)
	s, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: web}, nil)
	world.Must(t, err)
	defer func() { _ = s.Close() }() // the hub is gone by then
	for _, tool := range []string{"rec__echo", "get-roots", "list-tools"} {
		text, _ := world.CallGoSDK(t, s, tool, obj{}, nil)
		clean(tool, text)
	}
	for _, wrong := range []string{token[:len(token)-1], token + token, " " + token} {
		for _, header := range []string{"Bearer " + wrong, "Basic " + wrong, wrong} {
			req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":"`))
			world.Must(t, err)
			req.Header = http.Header{"Authorization": {header}, "Content-Type": {"application/json"}}
			r, err := http.DefaultClient.Do(req)
			world.Must(t, err)
			text, _ := io.ReadAll(r.Body)
			_ = r.Body.Close()
			clean("a refusal", fmt.Sprint(r.Header, string(text)))
		}
	}
	theirs := w.Write("home/.codeium/windsurf/mcp_config.json", "{}\n")
	env := []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")}
	for _, args := range [][]string{
		{"install", "windsurf", "--http", "--config", config}, {"install", "windsurf", "--http", "--yes", "--config", config}, {"install", "windsurf", "--http", "--yes", "--json", "--config", config},
		{"install", "cursor", "--http", "--yes", "--config", config}, {"install", "cursor", "--http", "--print", "--config", config}, {"status"}, {"status", "-v"}, {"status", "--json"},
		{"doctor", "--config", config}, {"doctor", "--json", "--config", config}, {"validate", "--config", config}, {"audit"}, {"list", "--config", config},
	} {
		clean(fmt.Sprint(args), says(w, env, world.Hub(t), args...))
	}
	kept, err := w.Consent().Folder()
	world.Must(t, err)
	holders := func() (all []string) {
		look := func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // of what has ended meanwhile
			}
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), token) {
				all = append(all, path)
			}
			return nil
		}
		world.Must(t, errors.Join(filepath.WalkDir(w.Dir, look), filepath.WalkDir(kept, look)))
		slices.Sort(all)
		return all
	}
	files, err := filepath.Glob(filepath.Join(w.Tokens(), "*.token"))
	world.Must(t, err)
	if got, want := holders(), slices.Sorted(slices.Values(append(files, theirs))); len(files) != 1 || !slices.Equal(got, want) {
		t.Errorf("these files hold the token: %q, want %q", got, want)
	}
	hub, looked := world.HubProper(t, cmd.Process.Pid), 0
	for _, p := range world.Tree(t, cmd.Process.Pid) {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		clean("the environment of "+p.Command, string(environ))
		clean("the command line of "+p.Command, string(line))
		if looked++; p.PID != hub {
			if holds, err := world.MemoryHas(p.PID, func(text string) bool { return strings.Contains(text, token) }); err == nil && holds {
				t.Errorf("the memory of %s holds the token", p.Command)
			}
		}
	}
	if looked < 3 {
		t.Errorf("only %d processes were looked at", looked)
	}
	world.Must(t, syscall.Kill(hub, syscall.SIGABRT))
	reading.Wait()
	_ = cmd.Wait()
	mu.Lock()
	defer mu.Unlock()
	if text := log.String(); !strings.Contains(text, "SIGABRT") || !strings.Contains(text, "rec") {
		t.Errorf("the control: it did not crash, or said nothing:\n%s", text)
	}
	clean("the log", log.String())
	text, err := json.Marshal(w.Starts("rec"))
	world.Must(t, err)
	clean("what its server was given", string(text))
}
