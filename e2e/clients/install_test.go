package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// says runs a program in the project, and gives what it wrote.
func (w *world) says(env []string, program string, args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = w.project, append(w.env("CI=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Logf("%s %q: %v", filepath.Base(program), args, err)
	}
	return string(out)
}

// install registers the hub in a client, and holds that uninstall gives back what the client had.
func (w *world) install(client string, args ...string) {
	w.t.Helper()
	w.write("home/config/mcphub/hub.json", `{"mcpServers": {"files": {"builtin": "files"}}}`)
	said := w.says(nil, mcphub(w.t), append([]string{"install", client, "--yes"}, args...)...)
	if !strings.Contains(said, "installed in") {
		w.t.Fatalf("install %s: %s", client, said)
	}
}

func (w *world) uninstall(client, file, want string) {
	w.t.Helper()
	said := w.says(nil, mcphub(w.t), "uninstall", client)
	got, err := os.ReadFile(w.path("home", filepath.FromSlash(file)))
	must(w.t, err)
	if string(got) != want {
		w.t.Errorf("%sgot  %q\nwant %q", said, got, want)
	}
}

// TestInstallClaudeCode: Claude Code, which writes its file anew whenever it likes, lists the hub as connected.
func TestInstallClaudeCode(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	w := newWorld(t)
	w.write("home/.claude.json", `{"numStartups": 3, "mcpServers": {}}`)
	w.install("claude-code")
	env := []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1"}
	if said := w.says(env, n.claude(t), "mcp", "list"); !strings.Contains(said, "mcphub:") || !strings.Contains(said, "Connected") {
		t.Errorf("got %s", said)
	}
	w.says(nil, mcphub(t), "uninstall", "claude-code")
	if said := w.says(env, n.claude(t), "mcp", "list"); strings.Contains(said, "mcphub:") {
		t.Errorf("after uninstall: %s", said)
	}
}

// TestInstallInspector: it gives the roots of its own configuration; inside the project a call passes, outside it is refused with the line that helps.
func TestInstallInspector(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	n.forInspector(t)
	w := newWorld(t)
	w.install("inspector")
	call := func(path string) string {
		return w.says(nil, n.program, n.script("mcp-inspector"), "--cli", "--config", w.path("home", ".mcp-inspector", "mcp.json"), "--server", "mcphub", "--format", "json",
			"--method", "tools/call", "--tool-name", "files__read_text_file", "--tool-args-json", `{"path":"`+path+`"}`)
	}
	w.judges("open the folder there to add it", call)
}

// judges holds what becomes of a call inside the project, and of one outside.
func (w *world) judges(help string, call func(path string) string) {
	w.t.Helper()
	if said := call(w.path("project", "hello.txt")); !strings.Contains(said, "hello from the project") {
		w.t.Errorf("inside: %s", said)
	}
	said := call(w.path("outside", "secret.txt"))
	if !strings.Contains(said, "Access denied") || !strings.Contains(said, help) || strings.Contains(said, secretText) {
		w.t.Errorf("outside: %s", said)
	}
}

// TestInstallAgents: the other clients that run without an account list the hub, connected where they connect.
func TestInstallAgents(t *testing.T) {
	if !long {
		t.Skip("MCPHUB_E2E_LONG is not set: the clients are large")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("NOT PROVED HERE: the clients are pinned for Linux on x64")
	}
	t.Parallel()
	agents := requireNode(t).agents(t)
	t.Run("gemini", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		const mine = "{\n  // mine\n  \"ui\": { \"theme\": \"Dracula\" }\n}\n"
		w.write("home/.gemini/settings.json", mine)
		w.install("gemini")
		if said := w.says([]string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, agents.program, agents.script("gemini"), "mcp", "list"); !strings.Contains(said, "mcphub") || !strings.Contains(said, "Connected") {
			t.Errorf("got %s", said)
		}
		w.uninstall("gemini", ".gemini/settings.json", mine)
	})
	t.Run("opencode", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		const mine = "{\n  \"$schema\": \"https://opencode.ai/config.json\", // mine\n}\n"
		w.write("home/config/opencode/opencode.json", mine)
		w.install("opencode")
		program := filepath.Join(agents.modules, "opencode-linux-x64", "bin", "opencode")
		if said := w.says(nil, program, "mcp", "list"); !strings.Contains(said, "mcphub") || !strings.Contains(said, "connected") {
			t.Errorf("got %s", said)
		}
		w.uninstall("opencode", "config/opencode/opencode.json", mine)
	})
	t.Run("mcporter", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		const mine = "{\"mcpServers\": {}, \"imports\": []}"
		w.write("home/.mcporter/mcporter.json", mine)
		w.install("mcporter")
		w.judges("add the directory to --roots", func(path string) string {
			return w.says(nil, agents.program, agents.script("mcporter"), "call", "mcphub.files__read_text_file", "path="+path)
		})
		w.uninstall("mcporter", ".mcporter/mcporter.json", mine)
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		const mine = "# mine\nmodel = \"stand-in\""
		w.write("home/.codex/config.toml", mine)
		w.install("codex")
		if said := w.says(nil, agents.program, agents.script("codex"), "mcp", "list"); !strings.Contains(said, "mcphub") || !strings.Contains(said, "enabled") {
			t.Errorf("got %s", said)
		}
		w.judges("add the directory to --roots", func(path string) string { return w.codex(agents, path) })
		w.uninstall("codex", ".codex/config.toml", mine)
	})
}

// codexModel plays the model behind Codex: it reads one file with the hub, and is done.
type codexModel struct {
	path string

	mu     sync.Mutex
	result string
	asked  []string
}

// ServeHTTP is as much of the Responses API as the client uses.
func (m *codexModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Tools json.RawMessage
		Input []struct {
			Type   string
			Output json.RawMessage
		}
	}
	if json.NewDecoder(r.Body).Decode(&req) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, string(req.Tools))
	item := obj{"type": "function_call", "id": "fc_1", "call_id": "call_1", "namespace": "mcp__mcphub", "name": "files__read_text_file", "arguments": fmt.Sprintf(`{"path":%q}`, m.path)}
	for _, in := range req.Input {
		if in.Type == "function_call_output" {
			m.result = string(in.Output)
			item = obj{"type": "message", "id": "msg_1", "role": "assistant", "content": []obj{{"type": "output_text", "text": "done"}}}
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, more obj) {
		more["type"] = kind
		b, _ := json.Marshal(more) // nothing but text in it
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	event("response.created", obj{"response": obj{"id": "resp_1"}})
	event("response.output_item.done", obj{"output_index": 0, "item": item})
	event("response.completed", obj{"response": obj{"id": "resp_1", "usage": obj{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
}

// codex has Codex read a file, with a stand-in for its model, and gives what the tool said.
func (w *world) codex(n node, path string) string {
	w.t.Helper()
	model := &codexModel{path: path}
	api := httptest.NewServer(model)
	defer api.Close()
	said := w.says([]string{"STAND_IN_KEY=none"}, n.program, n.script("codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"-c", "model_provider=standin", "-c", `model_providers.standin={name="standin",base_url="`+api.URL+`/v1",wire_api="responses",env_key="STAND_IN_KEY",request_max_retries=0,stream_max_retries=0}`, "go")
	model.mu.Lock()
	defer model.mu.Unlock()
	if model.result == "" {
		return fmt.Sprintf("%s\nthe model was asked %d times, first with %.3000s", said, len(model.asked), strings.Join(model.asked, "\n"))
	}
	return model.result
}
