package consent

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/world"
)

// TestApproveOnTheConsole: a client that cannot ask, and a person on the page of a console that was begun at a terminal. What was
// swapped meanwhile takes no answer. Control: where approval.from does not name the console the page may only deny.
func TestApproveOnTheConsole(t *testing.T) {
	for name, from := range map[string][]string{"named": {"client", "console"}, "not named": {"client", "terminal"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.Write("far/0/f.txt", "far text")
			w.Write("far/1/f.txt", "far text")
			config := w.Config(obj{"files": obj{"builtin": "files"}}, obj{
				"roots":    obj{"fallback": []string{w.Project}},
				"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
				"approval": obj{"from": from, "timeout": "1m"},
			})
			given := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
			client, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(),
				&gosdk.StreamableClientTransport{Endpoint: w.ServeHTTP(config), HTTPClient: given}, &gosdk.ClientSessionOptions{})
			world.Must(t, err)
			t.Cleanup(func() {
				_ = client.Close()
				given.CloseIdleConnections()
			})
			p := openPage(w, config, w.Env())
			ask := func(n string) (question string, answer <-chan string) {
				t.Helper()
				out := make(chan string, 1)
				go func() {
					r, err := client.CallTool(context.Background(), &gosdk.CallToolParams{Name: "files__read_text_file", Arguments: obj{"path": w.Path("far", n, "f.txt")}})
					if err != nil {
						out <- err.Error()
						return
					}
					out <- r.Content[0].(*gosdk.TextContent).Text
				}()
				return p.question(w.Path("far", n)), out
			}
			q, answer := ask("0")
			if name == "named" { // mcphub approve cannot allow it, and says where that can be done
				w.Approver(w.Env()).Sees(1, `Answer it (on the page of mcphub console)`)
			}
			digest := field(q, "digest")
			if said := p.click(q, "directory", strings.Repeat("0", len(digest))); !strings.Contains(said, "does not count") {
				t.Errorf("an answer to another question counts: %s", said)
			}
			if shown := strings.Contains(q, "Allow: directory"); shown != (name == "named") {
				t.Errorf("the page offers to allow: %t", shown)
			}
			said := p.click(q, "directory", digest)
			if name == "not named" {
				if !strings.Contains(said, "does not count") {
					t.Errorf("it allows: %s", said)
				}
				said = p.click(q, "deny", digest)
				if got := <-answer; !strings.Contains(said, "Denied.") || got == "far text" {
					t.Errorf("it does not deny: %s: %s", got, said)
				}
				return
			}
			if got := <-answer; got != "far text" || !strings.Contains(said, "Allowed: directory") {
				t.Errorf("it is not allowed: %s: %s", got, said)
			}
			q, answer = ask("1")
			p.click(q, "deny", field(q, "digest"))
			if got := <-answer; !strings.Contains(got, "denied") {
				t.Errorf("it is not denied: %s", got)
			}
			if said := p.click(q, "directory", field(q, "digest")); !strings.Contains(said, "does not count") {
				t.Errorf("an answer after the answer counts: %s", said)
			}
		})
	}
}

// TestAllowOnTheConsole: a call is refused, and a person at a console that was begun at a terminal has hub.json changed: it is shown, then
// written, and the hub takes it. A file that changed meanwhile is left alone, and so is it by a page that was loaded again.
func TestAllowOnTheConsole(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Write("far/f.txt", "far text")
	config := w.Config(obj{"files": obj{"builtin": "files"}, "off": obj{"command": "sh", "disabled": true, "env": obj{"KEY": "Sup3r-S3cret"}}}, obj{"roots": obj{"fallback": []string{w.Project}}})
	given := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
	noRoots := &gosdk.ClientOptions{Capabilities: &gosdk.ClientCapabilities{}}
	client, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, noRoots).Connect(t.Context(),
		&gosdk.StreamableClientTransport{Endpoint: w.ServeHTTP(config), HTTPClient: given}, &gosdk.ClientSessionOptions{})
	world.Must(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		given.CloseIdleConnections()
	})
	file := w.Path("far", "f.txt")
	read := func() string {
		r, err := client.CallTool(t.Context(), &gosdk.CallToolParams{Name: "files__read_text_file", Arguments: obj{"path": file}})
		world.Must(t, err)
		return r.Content[0].(*gosdk.TextContent).Text
	}
	if got := read(); got == "far text" {
		t.Fatal("nothing is refused")
	}
	p := openPage(w, config, w.Env())
	list := ""
	if !world.Within(world.WaitLimit, func() bool {
		list = p.asks("/decisions", url.Values{"decision": {"deny"}})
		return strings.Contains(list, `name="path" value="`+file+`"`)
	}) {
		t.Fatalf("the page has no button that allows it:\n%s", list)
	}
	now := func() string {
		text, err := os.ReadFile(config)
		world.Must(t, err)
		return string(text)
	}
	asked := func(more ...string) url.Values {
		form := url.Values{"do": {"allow"}, "server": {"files"}, "path": {file}, "calls": {"yes"}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return form
	}
	before := now()
	form := asked()
	form.Del("calls")
	if said := p.asks("/change", form); !strings.Contains(said, "nothing would change") || !strings.Contains(said, "lets calls name all that lies in "+w.Path("far")) {
		t.Errorf("a rule for its folder is not offered:\n%s", said)
	}
	shown := p.asks("/change", asked())
	digest := field(shown, "digest")
	if !strings.Contains(shown, "+  ") || !strings.Contains(shown, `"within": "`) || digest == "" || now() != before || strings.Contains(shown, "Sup3r") {
		t.Fatalf("the change is\n%s", shown)
	}
	whole := p.session
	p.session, _, _ = strings.Cut(whole, ".")
	if said := p.asks("/write", asked("digest", digest)); !strings.Contains(said, "hub.json is not changed: this page was loaded again") || now() != before {
		t.Errorf("a page that was loaded again: %s", said)
	}
	p.session = whole
	world.Must(t, os.WriteFile(config, []byte(before+"\n"), 0o600))
	if said := p.asks("/write", asked("digest", digest)); !strings.Contains(said, "that is not what was shown") || now() != before+"\n" {
		t.Errorf("a file that has changed meanwhile: %s", said)
	}
	if got := read(); got == "far text" {
		t.Fatal("it is open before it is allowed")
	}
	digest = field(p.asks("/change", asked()), "digest")
	if said := p.asks("/write", asked("digest", digest)); !strings.Contains(said, "Written.") || now() == before+"\n" {
		t.Fatalf("it is not written: %s", said)
	}
	if !world.Within(world.WaitLimit, func() bool { return read() == "far text" }) {
		t.Errorf("the hub does not take it: %s", read())
	}
}
