package consent

import (
	"context"
	"net/http"
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
			sockets := world.SocketsIn(t)
			config := w.Config(obj{"files": obj{"builtin": "files"}}, obj{
				"roots":    obj{"fallback": []string{w.Project}},
				"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
				"approval": obj{"from": from, "timeout": "1m"},
			})
			given := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
			client, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(),
				&gosdk.StreamableClientTransport{Endpoint: w.ServeHTTP(config, sockets...), HTTPClient: given}, &gosdk.ClientSessionOptions{})
			world.Must(t, err)
			t.Cleanup(func() {
				_ = client.Close()
				given.CloseIdleConnections()
			})
			p := openPage(w, config, w.Env(sockets...))
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
