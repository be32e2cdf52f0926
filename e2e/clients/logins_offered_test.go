//lint:file-ignore SA1019 the handshake is what is tested; the SDK calls parts of it deprecated since 2026-07-28

package clients

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/oauthtest"
	"mcphub/e2e/world"
)

// TestLoginIsOffered: if a call needs a login, a client that can show an address is given it, in both eras. The call goes on
// once the person has logged in; the first time, when the login is over, and when the server wants more. Who declines, who
// cannot show an address, and a client that comes over HTTP is told the command instead.
func TestLoginIsOffered(t *testing.T) {
	t.Parallel()
	for _, era := range world.Eras {
		t.Run(era.Name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			as := oauthtest.New(t)
			config := w.Config(obj{"protected": obj{"url": as.Resource, "type": "http", "auth": obj{"issuer": as.Issuer}}}, obj{"secrets": obj{"store": "file"}})
			noBus := "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")
			var mu sync.Mutex
			action, asked, told := "accept", 0, 0
			browsers := sync.WaitGroup{}
			t.Cleanup(browsers.Wait)
			start := func(url bool, transport gosdk.Transport) *gosdk.ClientSession {
				can := &gosdk.ElicitationCapabilities{Form: &gosdk.FormElicitationCapabilities{}}
				if url {
					can.URL = &gosdk.URLElicitationCapabilities{}
				}
				client := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, &gosdk.ClientOptions{
					Capabilities: &gosdk.ClientCapabilities{Elicitation: can},
					ElicitationHandler: func(_ context.Context, r *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
						mu.Lock()
						defer mu.Unlock()
						asked++
						if p := r.Params; p.Mode != "url" || !strings.HasPrefix(p.URL, as.Issuer+"/authorize?") || !strings.Contains(p.Message, `"protected" asks for a login`) || (p.ElicitationID == "") != (era.Name == "modern") {
							t.Errorf("asked: %+v", p)
						}
						if action == "accept" {
							browsers.Go(func() { // the answer does not wait for the browser
								if err := oauthtest.Visit(context.Background(), r.Params.URL); err != nil {
									t.Error(err)
								}
							})
						}
						return &gosdk.ElicitResult{Action: action}, nil
					},
					ElicitationCompleteHandler: func(context.Context, *gosdk.ElicitationCompleteNotificationRequest) { mu.Lock(); told++; mu.Unlock() },
				})
				s, err := client.Connect(context.Background(), transport, &gosdk.ClientSessionOptions{ProtocolVersion: era.Version})
				world.Must(t, err)
				t.Cleanup(func() { world.Must(t, s.Close()) })
				return s
			}
			stdio := func() gosdk.Transport {
				cmd := exec.Command(world.Hub(t), "serve", "--config", config)
				cmd.Env, cmd.Dir, cmd.Stderr = w.Env(noBus), w.Home, os.Stderr
				return &gosdk.CommandTransport{Command: cmd}
			}
			wants := func(s *gosdk.ClientSession, what string, questions int, want string) {
				t.Helper()
				got, _ := world.CallGoSDK(t, s, "call-tool", obj{"serverName": "protected", "toolName": "whoami", "toolArgs": obj{}}, nil)
				mu.Lock()
				defer mu.Unlock()
				if !strings.Contains(got, want) || asked != questions {
					t.Errorf("%s: asked %d times, want %d; got %q, want %q", what, asked, questions, got, want)
				}
			}
			const command = "run: mcphub auth login protected"

			wants(start(false, stdio()), "a client that cannot show an address", 0, command)
			web := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
			t.Cleanup(web.CloseIdleConnections)
			wants(start(true, &gosdk.StreamableClientTransport{Endpoint: w.ServeHTTP(config, noBus), HTTPClient: web}), "over HTTP", 0, command)

			action = "decline"
			refusing := start(true, stdio())
			wants(refusing, "declined", 1, command)
			wants(refusing, "declined before", 1, command)
			action = "accept"

			s := start(true, stdio())
			var wg sync.WaitGroup
			for range 4 { // one login serves all
				wg.Go(func() { wants(s, "the first login", 2, "alice") })
			}
			wg.Wait()
			as.Change(func() { as.Consent = "bob" })
			as.EndLogins()
			wants(s, "the login is over", 3, "bob")
			as.Change(func() { as.Scope = "more" })
			wants(s, "more scopes", 4, "bob")
			if !world.Within(world.WaitLimit, func() bool { mu.Lock(); defer mu.Unlock(); return told == 3 || era.Name == "modern" }) {
				t.Errorf("the client was told %d times that it is over, want 3", told)
			}

			// A page that no one opens does not keep the hub from ending.
			if era.Name == "modern" {
				return
			}
			as.EndLogins()
			open := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env(noBus), Capabilities: `{"elicitation":{"url":{}}}`,
				Answer: func(string, []byte) *ide.Answer { return &ide.Answer{Result: `{"action":"accept"}`} }})
			open.Handshake()
			open.SendCall("call-tool", `{"serverName":"protected","toolName":"whoami"}`)
			_, err := open.Await(open.Context(), "the question", func(m ide.Message) bool { return m.IsRequest() && m.Method == "elicitation/create" })
			world.Must(t, err)
		})
	}
}
