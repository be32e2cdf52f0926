//lint:file-ignore SA1019 roots and the GET stream are what is tested; the SDKs call them deprecated since 2026-07-28

package consent

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
	"mcphub/e2e/world"
)

// approvalPolicy lets documents be read, and asks before anything else outside is.
func approvalPolicy(w *world.World) obj {
	return obj{"policy": obj{"protected": []string{w.Path("kept")}, "rules": []obj{
		{"name": "read-documents", "then": "allow", "if": obj{"paths": obj{"roles": []string{"read"}, "within": w.Path("documents")}}},
		{"name": "ask-elsewhere", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}},
	}}, "approval": obj{"timeout": "20s"}, "roots": obj{"fallback": []string{w.Project}}}
}

// human is a person behind a real client.
type human struct {
	mu     sync.Mutex
	answer func(message string) *gosdk.ElicitResult
	asked  []string
}

func (h *human) elicit(_ context.Context, r *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.Params.Message)
	return h.answer(r.Params.Message), nil
}

func (h *human) says(t *testing.T, questions int, answer *gosdk.ElicitResult) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) != questions {
		t.Errorf("asked %d times, want %d: %q", len(h.asked), questions, h.asked)
	}
	h.answer = func(string) *gosdk.ElicitResult { return answer }
}

var (
	allowing  = &gosdk.ElicitResult{Action: "accept", Content: obj{"decision": "directory"}}
	declining = &gosdk.ElicitResult{Action: "decline"}
)

// TestApprovalFlows are the three flows of escalation with the official filesystem server and a real client: what a rule opens
// for reading is not written; what is asked about is read once a person has allowed it; what they decline never reaches the
// server. How long that lasts is hub.TestModernApproval's and hub.TestAGrantEndsWithItsSession's.
func TestApprovalFlows(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	for _, era := range world.Eras {
		for _, way := range []string{"stdio", "http"} {
			if !world.Long && (era.Name == "modern") != (way == "http") {
				continue
			}
			t.Run(era.Name+" "+way, func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				for _, name := range []string{"documents/d.txt", "far/one/1.txt", "far/two/2.txt", "kept/k.txt"} {
					w.Write(name, "text of "+name)
				}
				config := w.Config(obj{"fs": w.Wrapped("fs", "mcp-server-filesystem", []string{n.Program, n.Script("mcp-server-filesystem")}, nil)}, approvalPolicy(w))
				h := &human{}
				h.says(t, 0, declining)
				options := &gosdk.ClientOptions{ElicitationHandler: h.elicit}
				if era.Name == "modern" { // this client fails at a question without params, as roots/list is one
					options.Capabilities = &gosdk.ClientCapabilities{Elicitation: &gosdk.ElicitationCapabilities{Form: &gosdk.FormElicitationCapabilities{}}}
				}
				client := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, options)
				//lint:ignore SA1019 clients of today have roots
				client.AddRoots(&gosdk.Root{URI: ide.FileURI(w.Project)})
				s, err := client.Connect(context.Background(), approvalWay(w, way, config), &gosdk.ClientSessionOptions{ProtocolVersion: era.Version})
				world.Must(t, err)
				t.Cleanup(func() { world.Must(t, s.Close()) })
				read := func(path string) (string, bool) {
					return world.CallGoSDK(t, s, "fs__read_text_file", obj{"path": path}, nil)
				}
				wants := func(text string, bad, denied bool, want string) {
					t.Helper()
					if bad != denied || !strings.Contains(text, want) {
						t.Errorf("denied %v, want %v and %q in: %s", bad, denied, want, text)
					}
				}

				// Reading what a rule opens, and not writing it.
				text, bad := read(w.Path("documents", "d.txt"))
				wants(text, bad, false, "text of documents/d.txt")
				text, bad = world.CallGoSDK(t, s, "fs__write_file", obj{"path": w.Path("documents", "d.txt"), "content": "x"}, nil)
				wants(text, bad, true, "Access denied")
				h.says(t, 0, declining)

				// Declined: the server never sees it.
				text, bad = read(w.Path("far", "one", "1.txt"))
				wants(text, bad, true, "the person said no")
				if seen := w.Recorded("fs"); strings.Contains(seen, "1.txt") {
					t.Errorf("the server was sent what a person has declined:\n%s", seen)
				}
				h.says(t, 1, allowing)

				// Allowed: read, again without a question, and nothing beside it.
				text, bad = read(w.Path("far", "one", "1.txt"))
				wants(text, bad, false, "text of far/one/1.txt")
				h.says(t, 2, declining)
				if era.Name != "modern" || way != "http" { // there a grant lives for its call
					text, bad = read(w.Path("far", "one", "1.txt"))
					wants(text, bad, false, "text of far/one/1.txt")
					text, bad = world.CallGoSDK(t, s, "fs__list_allowed_directories", obj{}, nil)
					wants(text, bad, false, w.Path("far", "one"))
					h.says(t, 2, declining)
				}
				text, bad = read(w.Path("far", "two", "2.txt"))
				wants(text, bad, true, "the person said no")
				h.says(t, 3, allowing)
				text, bad = read(w.Path("kept", "k.txt"))
				wants(text, bad, true, "protects")
				h.says(t, 3, allowing)
				if strings.Contains(w.Recorded("fs"), "2.txt") || strings.Contains(w.Recorded("fs"), "k.txt") {
					t.Error("the server was sent what was denied")
				}
			})
		}
	}
}

// approvalWay connects to a hub over stdio, or to one over HTTP.
func approvalWay(w *world.World, way, config string) gosdk.Transport {
	if way == "stdio" {
		cmd := exec.Command(world.Hub(w.T), "serve", "--config", config)
		cmd.Env, cmd.Dir, cmd.Stderr = w.Env(), w.Home, os.Stderr
		return &gosdk.CommandTransport{Command: cmd}
	}
	web := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
	w.T.Cleanup(web.CloseIdleConnections)
	return &gosdk.StreamableClientTransport{Endpoint: w.ServeHTTP(config), HTTPClient: web}
}
