package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/internal/spectest"
)

// inspect runs the CLI of MCP Inspector, whose roots stand in its own configuration file, and gives the result it prints.
func (w *world) inspect(n node, config string, args ...string) json.RawMessage {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*waitLimit)
	defer cancel()
	args = append([]string{n.script("mcp-inspector"), "--cli", "--config", config, "--server", "hub", "--format", "json"}, args...)
	cmd := exec.CommandContext(ctx, n.program, args...)
	cmd.Env, cmd.Dir = w.env(), w.home
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var answer struct {
		Result json.RawMessage
	}
	if json.Unmarshal(out.Bytes(), &answer) != nil || answer.Result == nil {
		w.t.Fatalf("inspector %q: %v\n%s\n%s", args, err, out.Bytes(), errs.Bytes())
	}
	return answer.Result
}

// forInspector skips a test where Node is too old for the Inspector; in CI it fails.
func (n node) forInspector(t *testing.T) {
	t.Helper()
	major := n.major(t)
	switch {
	case major >= 22:
	case inCI():
		t.Fatalf("MCP Inspector wants Node 22.19, this is %d", major)
	default:
		t.Skipf("NOT PROVED HERE: MCP Inspector wants Node 22.19, this is %d", major)
	}
}

func TestInspector(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	n.forInspector(t)
	w := newWorld(t)
	config := w.config(obj{
		"filesystem": obj{"command": n.program, "args": []string{n.script("mcp-server-filesystem")}},
		"rec":        w.recorder("rec"),
	})
	inspector := w.write("inspector.json", raw(t, obj{"mcpServers": obj{"hub": obj{
		"type": "stdio", "command": mcphub(t), "args": []string{"serve", "--config", config}, "env": envObject(w), "roots": rootsOf(w.project, w.other)}}}))
	inspectHub(t, n, w, inspector)
}

// TestInspectorOfEachEra: the Inspector keeps to an era, or finds out.
func TestInspectorOfEachEra(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	n.forInspector(t)
	for era, version := range map[string]string{"legacy": "2025-11-25", "auto": modernVersion, "modern": modernVersion} {
		for _, overWeb := range []bool{false, true} {
			t.Run(era+" on "+transportNames[overWeb], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				config := w.config(obj{"rec": w.recorder("rec"), "filesystem": obj{"builtin": "files"}})
				var said func() *talk
				server := obj{"roots": rootsOf(w.project, w.other)}
				if overWeb {
					between := w.tapWeb(w.serveHTTP(config), map[spectest.Party]string{spectest.Server: "the hub"})
					server["type"], server["url"], server["headers"] = "streamable-http", between.url, bearingHeaders(t, between.url)
					said = func() *talk { return between.talk }
				} else {
					entry := w.tapped("hub", mcphub(t), "serve", "--config", config)
					env := envObject(w)
					maps.Copy(env, entry["env"].(obj))
					server["type"], server["command"], server["args"], server["env"] = "stdio", entry["command"], entry["args"], env
					said = func() *talk { return readTap(t, w.path("records", "hub.tap")) }
				}
				inspectHub(t, n, w, w.write("inspector.json", raw(t, obj{"mcpServers": obj{"hub": server}})), "--protocol-era", era)
				other := map[string]string{"2025-11-25": modernVersion, modernVersion: "2025-11-25"}[version]
				if got := said().judged(); got[version+" result of tools/call"] < 3 || got[other+" tools/call"] > 0 {
					t.Errorf("not all calls were of %s: %v", version, got)
				}
			})
		}
	}
}

// inspectHub lists, calls, and is refused what lies outside.
func inspectHub(t *testing.T, n node, w *world, inspector string, more ...string) {
	t.Helper()
	list := w.inspect(n, inspector, append(more, "--method", "tools/list")...)
	var tools struct{ Tools json.RawMessage }
	must(t, json.Unmarshal(list, &tools))
	all := toolsByName(t, tools.Tools, "")
	for _, name := range []string{"filesystem__read_text_file", "rec__echo", "get-roots", "call-tool", "list-tools"} {
		if all[name] == nil {
			t.Errorf("tools/list has no %s: %v", name, names(all))
		}
	}
	got := w.inspect(n, inspector, append(more, "--method", "tools/call", "--tool-name", "get-roots")...)
	for _, want := range []string{ide.FileURI(w.project), ide.FileURI(w.other)} {
		if !strings.Contains(string(got), want) {
			t.Errorf("get-roots: %s, want %s in it", got, want)
		}
	}
	got = w.inspect(n, inspector, append(more, "--method", "tools/call", "--tool-name", "filesystem__read_text_file", "--tool-arg", "path="+w.path("other", "other.txt"))...)
	if !strings.Contains(string(got), "hello from the other one") {
		t.Errorf("read inside: %s", got)
	}
	got = w.inspect(n, inspector, append(more, "--method", "tools/call", "--tool-name", "filesystem__read_text_file", "--tool-args-json", `{"path":"/etc/passwd"}`)...)
	wantRefused(t, "read outside", got, []string{"/etc/passwd"}, w.project, w.other)
}

// The control: the roots of its configuration file do reach a server.
func TestInspectorAlone(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	n.forInspector(t)
	w := newWorld(t)
	inspector := w.write("inspector.json", raw(t, obj{"mcpServers": obj{"hub": obj{
		"type": "stdio", "command": bin.recorder, "args": []string{}, "env": envObject(w), "roots": rootsOf(w.project)}}}))
	got := w.inspect(n, inspector, "--method", "tools/call", "--tool-name", "ask_roots")
	if !strings.Contains(string(got), ide.FileURI(w.project)) {
		t.Errorf("ask_roots: %s", got)
	}
}

// envObject is the environment of a world for what wants it as JSON.
func envObject(w *world, more ...string) obj {
	vars := obj{}
	for _, e := range w.env(more...) {
		k, v, _ := strings.Cut(e, "=")
		vars[k] = v
	}
	return vars
}

// major gives the first number of the version.
func (n node) major(t testing.TB) int {
	t.Helper()
	said, err := exec.Command(n.program, "--version").Output()
	must(t, err)
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(said)), "v"), ".")
	v, err := strconv.Atoi(first)
	must(t, err)
	return v
}
