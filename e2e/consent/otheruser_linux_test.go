package consent

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// TestAnotherUserOfTheMachine: someone with another user id reaches no hub, no question, no record and nothing of a console
// but its first page. The controls are the same commands of the hub's own user, and folders that were opened to all.
func TestAnotherUserOfTheMachine(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		needs.Missing(t, "only root can become others")
	}
	w := world.New(t)
	w.Write("far/f.txt", "far text")
	config := w.Config(obj{"files": obj{"builtin": "files"}}, obj{
		"roots":    obj{"fallback": []string{w.Project}},
		"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
		"approval": obj{"from": []string{"terminal", "console"}, "timeout": "2m"},
	})
	s := w.Start(ide.Options{Apart: true, Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env(), Roots: ide.Folders(w.Project)})
	s.Handshake()
	s.AwaitTool("files__read_text_file")
	s.SendCall("files__read_text_file", world.PathArgs(t, w.Path("far", "f.txt")))
	p := openPage(w, config, w.Env())
	shown := p.question(w.Path("far"))

	// Where anybody may go: mcphub, and what connects to a socket.
	open := world.ShortFolder(t)
	world.Must(t, os.Chmod(open, 0o755)) //nolint:gosec // the other user goes through it
	programs := map[string]string{}
	for name, from := range map[string]string{"mcphub": world.Hub(t), "opener": world.Bin.Opener} {
		programs[name] = filepath.Join(open, name)
		world.CopyProgram(t, from, programs[name])
	}
	as := func(uid uint32, args ...string) string {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env, cmd.Dir = append(w.Env(), "OPENER_NEEDLE=00"), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		return fmt.Sprint(string(out), err)
	}
	sockets, err := filepath.Glob(filepath.Join(w.Runtime, "*", "*.sock"))
	world.Must(t, err)
	if len(sockets) == 0 {
		t.Fatal("no socket")
	}
	var record string
	world.Must(t, filepath.WalkDir(w.AuditDir(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			record = path
		}
		return err
	}))
	pid := fmt.Sprint(p.Cmd.Process.Pid)
	const other = 65534
	tries := map[string]struct {
		args []string
		sees string // what the hub's own user sees
	}{
		"status":                         {[]string{programs["mcphub"], "status"}, "waits for a person"},
		"the questions":                  {[]string{programs["mcphub"], "approve", "list"}, "f.txt"},
		"a reload":                       {[]string{programs["mcphub"], "reload"}, "<nil>"},
		"the record":                     {[]string{"cat", record}, `"kind"`},
		"the record, by mcphub":          {[]string{programs["mcphub"], "audit", "show", "--dir", w.AuditDir()}, "read_text_file"},
		"the socket":                     {[]string{programs["opener"], "do", "connect", sockets[0], "GET", "/approvals"}, "f.txt"},
		"hub.json":                       {[]string{"cat", config}, "mcpServers"},
		"the environment of the console": {[]string{"cat", "/proc/" + pid + "/environ"}, "HOME="},
		"the descriptors of the console": {[]string{"ls", "/proc/" + pid + "/fd"}, "\n1\n"},
	}
	for name, try := range tries {
		if got := as(0, try.args...); !strings.Contains(got, try.sees) {
			t.Errorf("the control: %s: %s", name, got)
		}
		if got := as(other, try.args...); strings.Contains(got, try.sees) {
			t.Errorf("%s: %s", name, got)
		}
	}
	// The folder's mode is not all that keeps them out.
	modes := func(folders, socket os.FileMode) {
		for dir := filepath.Dir(sockets[0]); len(dir) > len("/tmp"); dir = filepath.Dir(dir) {
			world.Must(t, os.Chmod(dir, folders))
		}
		world.Must(t, os.Chmod(sockets[0], socket))
	}
	modes(0o755, 0o777)
	for _, request := range []string{"GET /status", "GET /approvals", "POST /approvals/answer", "POST /reload"} {
		if got := as(other, programs["opener"], "do", "connect", sockets[0], request); strings.Contains(got, "200 OK") || strings.Contains(got, "f.txt") {
			t.Errorf("%s where the folder is open to all: %s", request, got)
		}
	}
	modes(0o700, 0o600)

	// A port belongs to no one. What they know of the console is what all may know.
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	world.Must(t, err)
	code := p.Sees(1, `this code, once: (\S+)`)
	secret, answers, _ := strings.Cut(p.session, ".")
	if answers == "" {
		t.Fatal("the page may not answer")
	}
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	world.Must(t, err)
	first, err := http.Get(p.address)
	world.Must(t, err)
	var page bytes.Buffer
	_, err = page.ReadFrom(first.Body)
	world.Must(t, err)
	world.Must(t, first.Body.Close())
	var kept bytes.Buffer // all that hub and console have written
	world.EachFile(t, w.Dir, func(_ string, text []byte) { kept.Write(text) })
	if !strings.Contains(kept.String(), "read_text_file") {
		t.Error("the control: nothing was written")
	}
	for where, text := range map[string]string{"its arguments": string(line), "its environment": string(env), "its first page": page.String(), "a file": kept.String(), "the hub's log": s.Stderr()} {
		for what, of := range map[string]string{"the code": code, "the secret": secret, "what answers": answers, "the question's id": field(shown, "id"), "its digest": field(shown, "digest")} {
			if strings.Contains(text, of) {
				t.Errorf("%s stands in %s", what, where)
			}
		}
	}
	stranger := &consolePage{w: w, address: p.address}
	if got := stranger.asks("/questions", url.Values{}); strings.Contains(got, "f.txt") {
		t.Errorf("without the secret: %s", got)
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(p.address, "http://"))
	for _, ip := range addressesElsewhere(t) {
		if c, err := net.Dial("tcp", net.JoinHostPort(ip, port)); err == nil {
			_ = c.Close()
			t.Errorf("the console listens at %s", ip)
		}
	}
	if said := p.click(shown, "deny", field(shown, "digest")); !strings.Contains(said, "Denied.") {
		t.Errorf("the control: %s", said)
	}
}

// addressesElsewhere returns the addresses of this machine that are not loopback.
func addressesElsewhere(t *testing.T) (ips []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	world.Must(t, err)
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			ips = append(ips, n.IP.String())
		}
	}
	return ips
}
