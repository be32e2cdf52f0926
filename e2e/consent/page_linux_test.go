package consent

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"

	"mcphub/e2e/world"
)

// A consolePage is a console on a terminal of its own, and the page that a person has opened with its code.
type consolePage struct {
	*world.Console
	w       *world.World
	address string
	session string
}

func openPage(w *world.World, config string, env []string) *consolePage {
	w.T.Helper()
	p, code := consoleAtTerminal(w, config, env)
	if p.session = field(p.asks("/open", url.Values{"code": {code}}), "session"); p.session == "" {
		w.T.Fatal("no session")
	}
	return p
}

// consoleAtTerminal starts a console on a terminal of its own.
func consoleAtTerminal(w *world.World, config string, env []string) (p *consolePage, code string) {
	w.T.Helper()
	p = &consolePage{w: w, Console: w.Approver(env, func(cmd *exec.Cmd) {
		cmd.Args = []string{cmd.Args[0], "console", "--no-browser", "--config", config}
	})}
	p.address = strings.TrimSuffix(p.Sees(1, `The console is at (http://\S+)`), "/")
	return p, p.Sees(1, `this code, once: (\S+)`)
}

// asks posts a form, as the page does, and gives the text of the answer.
func (p *consolePage) asks(path string, form url.Values) string {
	p.w.T.Helper()
	form.Set("session", p.session)
	req, err := http.NewRequest("POST", p.address+path, strings.NewReader(form.Encode()))
	world.Must(p.w.T, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", p.address)
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := web.Do(req)
	world.Must(p.w.T, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	world.Must(p.w.T, err)
	return html.UnescapeString(string(text))
}

// question waits until the page shows a question that names this.
func (p *consolePage) question(named string) (shown string) {
	p.w.T.Helper()
	if !world.Within(world.WaitLimit, func() bool {
		shown = p.asks("/questions", url.Values{})
		return strings.Contains(shown, named)
	}) {
		p.w.T.Fatalf("the question is not shown: %s", shown)
	}
	return shown
}

// click presses a button of a question that was shown, and gives what the page says then.
func (p *consolePage) click(shown, decision, digest string) string {
	p.w.T.Helper()
	return p.asks("/answer", url.Values{"hub": {field(shown, "hub")}, "id": {field(shown, "id")}, "digest": {digest}, "decision": {decision}})
}

// field returns the value of the first input of that name.
func field(text, name string) string {
	if found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
