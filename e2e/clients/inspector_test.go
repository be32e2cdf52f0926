package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/spectest"
	"mcphub/e2e/world"
)

// inspect runs the CLI of MCP Inspector, whose roots stand in its own configuration file, and gives the result it prints.
func inspect(w *world.World, n world.Node, config string, args ...string) json.RawMessage {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
	defer cancel()
	args = append([]string{n.Script("mcp-inspector"), "--cli", "--config", config, "--server", "hub", "--format", "json"}, args...)
	cmd := exec.CommandContext(ctx, n.Program, args...)
	cmd.Env, cmd.Dir = w.Env(), w.Home
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var answer struct {
		Result json.RawMessage
	}
	if json.Unmarshal(out.Bytes(), &answer) != nil || answer.Result == nil {
		w.T.Fatalf("inspector %q: %v\n%s\n%s", args, err, out.Bytes(), errs.Bytes())
	}
	return answer.Result
}

// forInspector skips a test where Node is too old for the Inspector; in CI it fails.
func forInspector(n world.Node, t *testing.T) {
	t.Helper()
	if major := n.Major(t); major < 22 {
		needs.Missing(t, "MCP Inspector wants Node 22.19, this is ", major)
	}
}

// TestInspectorOfEachEra: the Inspector keeps to an era, or finds out. Its program takes a second to start: the short run has each era on one
// transport.
func TestInspectorOfEachEra(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	forInspector(n, t)
	for era, version := range map[string]string{"legacy": "2025-11-25", "auto": world.ModernVersion, "modern": world.ModernVersion} {
		for _, overWeb := range []bool{false, true} {
			if !world.Long && (era == "auto" || overWeb != (era == "modern")) {
				continue
			}
			t.Run(era+" on "+world.TransportNames[overWeb], func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				config := w.Config(obj{"rec": w.Recorder("rec"), "filesystem": obj{"builtin": "files"}})
				var said func() *world.Talk
				server := obj{"roots": rootsOf(w.Project, w.Other)}
				if overWeb {
					between := w.TapWeb(w.ServeHTTP(config), map[spectest.Party]string{spectest.Server: "the hub"})
					server["type"], server["url"], server["headers"] = "streamable-http", between.URL, world.BearingHeaders(t, between.URL)
					said = func() *world.Talk { return between.Talk }
				} else {
					entry := w.Tapped("hub", world.Hub(t), "serve", "--config", config)
					env := envObject(w)
					maps.Copy(env, entry["env"].(obj))
					server["type"], server["command"], server["args"], server["env"] = "stdio", entry["command"], entry["args"], env
					said = func() *world.Talk { return world.ReadTap(t, w.Path("records", "hub.tap")) }
				}
				inspectHub(t, n, w, w.Write("inspector.json", world.Raw(t, obj{"mcpServers": obj{"hub": server}})), "--protocol-era", era)
				other := map[string]string{"2025-11-25": world.ModernVersion, world.ModernVersion: "2025-11-25"}[version]
				if got := said().Judged(); got[version+" result of tools/call"] < 2 || got[other+" tools/call"] > 0 {
					t.Errorf("not all calls were of %s: %v", version, got)
				}
			})
		}
	}
}

// inspectHub lists, calls, and is refused what lies outside.
func inspectHub(t *testing.T, n world.Node, w *world.World, inspector string, more ...string) {
	t.Helper()
	list := inspect(w, n, inspector, append(more, "--method", "tools/list")...)
	var tools struct{ Tools json.RawMessage }
	world.Must(t, json.Unmarshal(list, &tools))
	all := toolsByName(t, tools.Tools, "")
	for _, name := range []string{"filesystem__read_text_file", "rec__echo", "get-roots", "call-tool", "list-tools"} {
		if all[name] == nil {
			t.Errorf("tools/list has no %s: %v", name, world.Names(all))
		}
	}
	got := inspect(w, n, inspector, append(more, "--method", "tools/call", "--tool-name", "filesystem__read_text_file", "--tool-arg", "path="+w.Path("other", "other.txt"))...)
	if !strings.Contains(string(got), "hello from the other one") {
		t.Errorf("read inside: %s", got)
	}
	got = inspect(w, n, inspector, append(more, "--method", "tools/call", "--tool-name", "filesystem__read_text_file", "--tool-args-json", `{"path":"/etc/passwd"}`)...)
	wantRefused(t, "read outside", got, []string{"/etc/passwd"}, w.Project, w.Other)
}

// The control: the roots of its configuration file do reach a server.
func TestInspectorAlone(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	forInspector(n, t)
	w := world.New(t)
	inspector := w.Write("inspector.json", world.Raw(t, obj{"mcpServers": obj{"hub": obj{
		"type": "stdio", "command": world.Bin.Recorder, "args": []string{}, "env": envObject(w), "roots": rootsOf(w.Project)}}}))
	got := inspect(w, n, inspector, "--method", "tools/call", "--tool-name", "ask_roots")
	if !strings.Contains(string(got), ide.FileURI(w.Project)) {
		t.Errorf("ask_roots: %s", got)
	}
}

// envObject returns the environment of a world for what wants it as JSON.
func envObject(w *world.World, more ...string) obj {
	vars := obj{}
	for _, e := range w.Env(more...) {
		k, v, _ := strings.Cut(e, "=")
		vars[k] = v
	}
	return vars
}

// rootsOf gives the roots member of a scenario.
func rootsOf(dirs ...string) []obj {
	all := make([]obj, 0, len(dirs))
	for _, dir := range dirs {
		all = append(all, obj{"uri": ide.FileURI(dir), "name": filepath.Base(dir)})
	}
	return all
}

// toolsByName splits a list of tools and takes prefix off the names of the ones that have it; others are left out.
func toolsByName(t testing.TB, list json.RawMessage, prefix string) map[string]any {
	t.Helper()
	var entries []obj
	world.Decode(t, list, &entries)
	all := map[string]any{}
	for _, entry := range entries {
		name, _ := entry["name"].(string)
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			entry["name"] = rest
			all[rest] = entry
		}
	}
	return all
}

// wantRefused checks that a raw tool result has the text of a denial.
func wantRefused(t *testing.T, name string, result json.RawMessage, quoted []string, roots ...string) {
	t.Helper()
	var r struct {
		IsError bool
		Content []struct{ Type, Text string }
	}
	world.Must(t, json.Unmarshal(result, &r))
	if !r.IsError || len(r.Content) == 0 {
		t.Errorf("%s: not refused: %s", name, result)
		return
	}
	for _, path := range quoted {
		if strings.HasPrefix(r.Content[0].Text, world.Denial(path, roots...)) {
			return
		}
	}
	t.Errorf("%s: want\n  %s\ngot\n  %s", name, world.Denial(quoted[0], roots...), r.Content[0].Text)
}
