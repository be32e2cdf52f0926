package consent

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// TestAServersShellAnswersNothing: what a server starts answers no question, however its process is shared, whether the kernel holds
// it, and also if it leaves its parents and makes a terminal of its own. Nor does it begin a console, or see more of one than the
// first page. The control of the line is in TestAnAgentsShellAnswersNothing: there it answers.
func TestAServersShellAnswersNothing(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Line(t, "script setsid bash")
	w := world.New(t)
	w.Write("far/f.txt", "far text")
	servers := obj{"files": obj{"builtin": "files"}}
	for _, share := range []string{"session", "roots", "all"} {
		servers["held-"+share] = shellServer(obj{"share": share})
		servers["free-"+share] = shellServer(obj{"share": share, "sandbox": "off"})
	}
	config := w.Config(servers, obj{
		"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
		"approval": obj{"from": []string{"terminal", "console"}, "timeout": "2m"},
	})
	s := w.Start(ide.Options{Apart: true, Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env(),
		Capabilities: ide.DefaultCapabilities, Roots: ide.Folders(w.Project)})
	s.Handshake()
	for name := range servers {
		if name != "files" {
			s.AwaitTool(name + "__shell")
		}
	}
	s.SendCall("files__read_text_file", world.PathArgs(t, w.Path("far", "f.txt")))
	p := openPage(w, config, w.Env())
	shown := p.question(w.Path("far"))
	_, port, _ := strings.Cut(strings.TrimPrefix(p.address, "http://"), ":")

	hub := strings.Join(w.Env(), " ") + " " + world.Hub(t)
	ways := map[string]string{
		"as it is":            "env " + hub + " approve </dev/null 2>&1",
		"a terminal":          "script -qefc 'env " + hub + " approve' /dev/null </dev/null 2>&1",
		"left, terminal":      `( setsid script -qefc "env ` + hub + ` approve" /dev/null </dev/null 2>&1 & )`,
		"left, other name":    `( env -i setsid script -qefc "env ` + hub + ` approve" /dev/null </dev/null 2>&1 & )`,
		"left, list":          "( setsid env " + hub + " approve list </dev/null 2>&1 & )",
		"left, console":       `( setsid script -qefc "env ` + hub + ` console --no-browser" /dev/null </dev/null 2>&1 & )`,
		"the console's port":  `bash -c 'exec 3<>/dev/tcp/127.0.0.1/` + port + ` && printf "GET / HTTP/1.1\r\nHost: 127.0.0.1:` + port + `\r\nConnection: close\r\n\r\n" >&3 && cat <&3' 2>&1`,
		"the port, questions": `bash -c 'exec 3<>/dev/tcp/127.0.0.1/` + port + ` && printf "POST /questions HTTP/1.1\r\nHost: 127.0.0.1:` + port + `\r\nOrigin: ` + p.address + `\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\nConnection: close\r\n\r\nsession=x" >&3 && cat <&3' 2>&1`,
		"the port, a change":  `bash -c 'exec 3<>/dev/tcp/127.0.0.1/` + port + ` && printf "POST /write HTTP/1.1\r\nHost: 127.0.0.1:` + port + `\r\nOrigin: ` + p.address + `\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 33\r\nConnection: close\r\n\r\nsession=x&do=disable&server=files" >&3 && cat <&3' 2>&1`,
		"left, console's try": `( env ` + hub + ` console try </dev/null 2>&1 )`,
	}
	for name := range servers {
		if name == "files" {
			continue
		}
		for way, line := range ways {
			said := s.MustCallArgs(name+"__shell", obj{"command": line}).Text
			if regexp.MustCompile(codeShown + `|The console is at|f\.txt|name="session" value="[A-Z2-7]`).MatchString(said) {
				t.Errorf("%s of %s: %s", way, name, said)
			}
			if strings.HasPrefix(name, "free") && strings.HasPrefix(way, "left") && !strings.Contains(said, "servers start may not") {
				t.Errorf("%s of %s is not refused for what it is: %s", way, name, said)
			}
			if strings.HasPrefix(way, "the port, ") && !strings.Contains(said, "403 Forbidden") {
				t.Errorf("%s of %s: %s", way, name, said)
			}
			if strings.HasSuffix(way, "try") && !strings.Contains(said, "servers start may not") {
				t.Errorf("%s of %s: %s", way, name, said)
			}
			if way == "the console's port" && !strings.Contains(said, "200 OK") {
				t.Errorf("the control: %s does not reach the port: %s", name, said)
			}
		}
	}
	if again := p.asks("/questions", url.Values{}); field(again, "id") != field(shown, "id") {
		t.Error("the question does not wait any more")
	}
	if said := p.click(shown, "directory", field(shown, "digest")); !strings.Contains(said, pageAllowed) {
		t.Errorf("the control: %s", said)
	}
}
