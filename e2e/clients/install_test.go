package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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

// TestInstallClaudeCode: Claude Code, which writes its file again whenever it likes, lists the hub as connected.
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

// TestInstallAgents: the other clients that run without an account list the hub, connected if they connect.
func TestInstallAgents(t *testing.T) {
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set: the clients are large")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the clients are pinned for Linux on x64")
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
		judges(w, "add the directory to --roots", func(path string) string {
			return w.Codex(agents, w.Env("CI=1"), "files__read_text_file", obj{"path": path})
		})
		uninstall(w, "codex", ".codex/config.toml", mine)
	})
}
