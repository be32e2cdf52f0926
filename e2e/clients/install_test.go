package clients

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

	"mcphub/e2e/world"
)

// says runs a program in the project, and gives what it wrote.
func says(w *world.World, env []string, program string, args ...string) string {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = w.Project, append(w.Env("CI=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.T.Logf("%s %q: %v", filepath.Base(program), args, err)
	}
	return string(out)
}

// install registers the hub in a client, and holds that uninstall gives back what the client had.
func install(w *world.World, client string, args ...string) {
	w.T.Helper()
	w.Write("home/config/mcphub/hub.json", `{"mcpServers": {"files": {"builtin": "files"}}}`)
	said := says(w, nil, world.Hub(w.T), append([]string{"install", client, "--yes"}, args...)...)
	if !strings.Contains(said, "installed in") {
		w.T.Fatalf("install %s: %s", client, said)
	}
}

func uninstall(w *world.World, client, file, want string) {
	w.T.Helper()
	said := says(w, nil, world.Hub(w.T), "uninstall", client)
	got, err := os.ReadFile(w.Path("home", filepath.FromSlash(file)))
	world.Must(w.T, err)
	if string(got) != want {
		w.T.Errorf("%sgot  %q\nwant %q", said, got, want)
	}
}

// TestInstallClaudeCode: Claude Code, which writes its file anew whenever it likes, lists the hub as connected.
func TestInstallClaudeCode(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	w.Write("home/.claude.json", `{"numStartups": 3, "mcpServers": {}}`)
	install(w, "claude-code")
	env := []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1"}
	if said := says(w, env, claude(n, t), "mcp", "list"); !strings.Contains(said, "mcphub:") || !strings.Contains(said, "Connected") {
		t.Errorf("got %s", said)
	}
	says(w, nil, world.Hub(t), "uninstall", "claude-code")
	if said := says(w, env, claude(n, t), "mcp", "list"); strings.Contains(said, "mcphub:") {
		t.Errorf("after uninstall: %s", said)
	}
}

// TestInstallInspector: it gives the roots of its own configuration; inside the project a call passes, outside it is refused with the line that helps.
func TestInstallInspector(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	forInspector(n, t)
	w := world.New(t)
	install(w, "inspector")
	call := func(path string) string {
		return says(w, nil, n.Program, n.Script("mcp-inspector"), "--cli", "--config", w.Path("home", ".mcp-inspector", "mcp.json"), "--server", "mcphub", "--format", "json",
			"--method", "tools/call", "--tool-name", "files__read_text_file", "--tool-args-json", `{"path":"`+path+`"}`)
	}
	judges(w, "open the folder there to add it", call)
}

// judges holds what becomes of a call inside the project, and of one outside.
func judges(w *world.World, help string, call func(path string) string) {
	w.T.Helper()
	if said := call(w.Path("project", "hello.txt")); !strings.Contains(said, "hello from the project") {
		w.T.Errorf("inside: %s", said)
	}
	said := call(w.Path("outside", "secret.txt"))
	if !strings.Contains(said, "Access denied") || !strings.Contains(said, help) || strings.Contains(said, world.SecretText) {
		w.T.Errorf("outside: %s", said)
	}
}

// TestInstallAgents: the other clients that run without an account list the hub, connected where they connect.
func TestInstallAgents(t *testing.T) {
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set: the clients are large")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("NOT PROVED HERE: the clients are pinned for Linux on x64")
	}
	t.Parallel()
	agents := world.RequireNode(t).Agents(t)
	t.Run("gemini", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		const mine = "{\n  // mine\n  \"ui\": { \"theme\": \"Dracula\" }\n}\n"
		w.Write("home/.gemini/settings.json", mine)
		install(w, "gemini")
		if said := says(w, []string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, agents.Program, agents.Script("gemini"), "mcp", "list"); !strings.Contains(said, "mcphub") || !strings.Contains(said, "Connected") {
			t.Errorf("got %s", said)
		}
		uninstall(w, "gemini", ".gemini/settings.json", mine)
	})
	t.Run("opencode", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		const mine = "{\n  \"$schema\": \"https://opencode.ai/config.json\", // mine\n}\n"
		w.Write("home/config/opencode/opencode.json", mine)
		install(w, "opencode")
		program := filepath.Join(agents.Modules, "opencode-linux-x64", "bin", "opencode")
		if said := says(w, nil, program, "mcp", "list"); !strings.Contains(said, "mcphub") || !strings.Contains(said, "connected") {
			t.Errorf("got %s", said)
		}
		uninstall(w, "opencode", "config/opencode/opencode.json", mine)
	})
	t.Run("mcporter", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		const mine = "{\"mcpServers\": {}, \"imports\": []}"
		w.Write("home/.mcporter/mcporter.json", mine)
		install(w, "mcporter")
		judges(w, "add the directory to --roots", func(path string) string {
			return says(w, nil, agents.Program, agents.Script("mcporter"), "call", "mcphub.files__read_text_file", "path="+path)
		})
		uninstall(w, "mcporter", ".mcporter/mcporter.json", mine)
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		const mine = "# mine\nmodel = \"stand-in\""
		w.Write("home/.codex/config.toml", mine)
		install(w, "codex")
		if said := says(w, nil, agents.Program, agents.Script("codex"), "mcp", "list"); !strings.Contains(said, "mcphub") || !strings.Contains(said, "enabled") {
			t.Errorf("got %s", said)
		}
		judges(w, "add the directory to --roots", func(path string) string { return codex(w, agents, path) })
		uninstall(w, "codex", ".codex/config.toml", mine)
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
func codex(w *world.World, n world.Node, path string) string {
	w.T.Helper()
	model := &codexModel{path: path}
	api := httptest.NewServer(model)
	defer api.Close()
	said := says(w, []string{"STAND_IN_KEY=none"}, n.Program, n.Script("codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"-c", "model_provider=standin", "-c", `model_providers.standin={name="standin",base_url="`+api.URL+`/v1",wire_api="responses",env_key="STAND_IN_KEY",request_max_retries=0,stream_max_retries=0}`, "go")
	model.mu.Lock()
	defer model.mu.Unlock()
	if model.result == "" {
		return fmt.Sprintf("%s\nthe model was asked %d times, first with %.3000s", said, len(model.asked), strings.Join(model.asked, "\n"))
	}
	return model.result
}
