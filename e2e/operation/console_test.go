package operation

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// consoleSays is what mcphub console prints first.
var consoleSays = regexp.MustCompile(`(?s)The console is at (http://127\.0\.0\.1:\d+)/\n.*this code, once: (\S+)\n`)

// A consolePage is a console that runs, and the session that a person has there.
type consolePage struct {
	cmd     *exec.Cmd
	at      string
	session string
	out     *bufio.Reader
}

// openConsole starts mcphub console and reads where it is and its code.
func openConsole(cmd *exec.Cmd) (p *consolePage, code string, err error) {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	p = &consolePage{cmd: cmd, out: bufio.NewReader(pipe)}
	said := ""
	for {
		line, err := p.out.ReadString('\n')
		said += line
		if m := consoleSays.FindStringSubmatch(said); m != nil {
			p.at = m[1]
			return p, m[2], nil
		}
		if err != nil {
			_ = cmd.Wait()
			return nil, said, err
		}
	}
}

// end interrupts the console, as Ctrl-C does, and returns how it ended.
func (p *consolePage) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, p.out)
	return p.cmd.Wait()
}

// ask sends a form as the page does, and changes the request.
func (p *consolePage) ask(path string, form url.Values, change func(*http.Request)) (status int, body string, err error) {
	r, err := http.NewRequest("POST", p.at+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", p.at)
	if change != nil {
		change(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, string(raw), err
}

// consoles returns the commands of scripts that are about the console:
//
//	console ARGS...                        starts mcphub console and types its code; its stderr goes to console.err
//	page PATH [FIELD=VALUE]...             asks for a view, which goes to stdout; ! page: it is refused
//	attack ORIGIN PATH [FIELD=VALUE]...    asks as a page of another origin, and must be refused
//	socket                                 puts the hub of the page that was shown last into $SOCKET
//	closes                                 ends it
func consoles() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	var p *consolePage // one script has them, and one at a time
	form := func(args []string) url.Values {
		f := url.Values{}
		for _, arg := range args {
			name, value, _ := strings.Cut(arg, "=")
			f.Set(name, value)
		}
		return f
	}
	session := regexp.MustCompile(`name="session" value="([A-Z2-7]{52}[.][A-Z2-7]{52})"`)
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"console": func(ts *testscript.TestScript, neg bool, args []string) {
			cmd := exec.Command(world.Bin.Hub, append([]string{"console", "--no-browser"}, args...)...)
			cmd.Dir = ts.MkAbs(".")
			for _, name := range []string{"PATH", "HOME", "TMPDIR", "NO_COLOR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
				cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
			}
			said, err := os.Create(ts.MkAbs("console.err"))
			ts.Check(err)
			defer said.Close()
			cmd.Stderr = said
			var code string
			p, code, err = openConsole(cmd)
			if err != nil {
				ts.Fatalf("console: %v\n%s", err, code)
			}
			ts.Defer(func() { _ = cmd.Process.Kill() })
			_, body, err := p.ask("/open", url.Values{"code": {code}}, nil)
			ts.Check(err)
			found := session.FindStringSubmatch(body)
			if found == nil {
				ts.Fatalf("the code opens nothing:\n%s", body)
			}
			p.session = found[1]
			if status, _, err := p.ask("/open", url.Values{"code": {code}}, nil); err != nil || status != http.StatusForbidden {
				ts.Fatalf("the code counts twice: %d %v", status, err)
			}
		},
		"page": func(ts *testscript.TestScript, neg bool, args []string) {
			f := form(args[1:])
			f.Set("session", p.session)
			status, body, err := p.ask(args[0], f, nil)
			ts.Check(err)
			_, err = io.WriteString(ts.Stdout(), body)
			ts.Check(err)
			if (status == http.StatusOK) == neg {
				ts.Fatalf("%s is answered with %d:\n%s", args[0], status, body)
			}
		},
		"attack": func(ts *testscript.TestScript, neg bool, args []string) {
			f := form(args[2:])
			f.Set("session", p.session) // even if it were known
			status, body, err := p.ask(args[1], f, func(r *http.Request) { r.Header.Set("Origin", args[0]) })
			ts.Check(err)
			if status != http.StatusForbidden || len(body) > 100 {
				ts.Fatalf("%s is answered with %d:\n%s", args[1], status, body)
			}
		},
		"socket": func(ts *testscript.TestScript, neg bool, args []string) {
			m := regexp.MustCompile(`name="hub" value="([^"]+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
			if m == nil {
				ts.Fatalf("the page names no hub")
			}
			ts.Setenv("SOCKET", m[1])
		},
		"closes": func(ts *testscript.TestScript, neg bool, args []string) {
			if err := p.end(); err != nil && p.cmd.ProcessState.ExitCode() != 130 {
				ts.Fatalf("the console ends with %v", err)
			}
			if _, err := http.Get(p.at); err == nil {
				ts.Fatalf("it still answers")
			}
		},
	}
}

// TestConsoleInABrowser opens the console in a real browser: every view by keyboard alone, a restart, what happens meanwhile, a page that is
// loaded again, 360 pixels, no script, and pages of other origins. MCPHUB_E2E_PICTURES names a folder for pictures of the views, in which the
// folder of the test is called /home/sam; those of docs are made so (console-*-light.png, with fewer colours).
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	p, browser, code := consoleToShow(w)
	w.InBrowser("console.mjs", browser, p.at, code, cmp.Or(os.Getenv("MCPHUB_E2E_PICTURES"), w.Path()), w.Path())
}

// TestConsoleIsAccessible has axe look at every view.
func TestConsoleIsAccessible(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	p, browser, code := consoleToShow(w)
	w.InBrowser("console_axe.mjs", browser, p.at, code, filepath.Join(world.NPM.Modules, "axe-core", "axe.min.js"))
}

// consoleToShow starts a hub that has allowed and denied something, and a console of it, for the length of a test.
func consoleToShow(w *world.World) (p *consolePage, browser, code string) {
	t := w.T
	world.RequireNode(t)
	browser = world.RequireChromium(t)
	config := w.Config(obj{"rec": w.Recorder("rec"), "files": obj{"builtin": "files"}})
	s := w.Serve(config, ide.Folders(w.Project))
	s.Handshake()
	if r := s.AwaitCall(s.SendCall("files__read_text_file", `{"path":"/etc/passwd"}`)); !r.IsError {
		t.Fatal(r.Text)
	}
	s.MustCall("rec__whoami", `{}`)
	p, code = consoleOf(w, config)
	return p, browser, code
}

// consoleOf runs mcphub console for the length of a test.
func consoleOf(w *world.World, config string) (p *consolePage, code string) {
	cmd := exec.Command(world.Hub(w.T), "console", "--no-browser", "--config", config)
	cmd.Env = w.Env()
	p, code, err := openConsole(cmd)
	if err != nil {
		w.T.Fatal(err, code)
	}
	w.T.Cleanup(func() {
		if err := p.end(); err != nil && p.cmd.ProcessState.ExitCode() != 130 {
			w.T.Error(err)
		}
	})
	return p, code
}
