package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// sdkReport is what clients/session.mjs prints.
type sdkReport struct {
	Server       json.RawMessage
	Capabilities json.RawMessage
	Instructions string
	Results      []sdkResult
	Asked        int
}

type sdkResult struct {
	Value json.RawMessage
	Error *struct {
		Code    int64
		Message string
	}
}

// rootsOf gives the roots member of a scenario.
func rootsOf(dirs ...string) []obj {
	all := make([]obj, 0, len(dirs))
	for _, dir := range dirs {
		all = append(all, obj{"uri": ide.FileURI(dir), "name": filepath.Base(dir)})
	}
	return all
}

// sdk runs the official TypeScript client against command.
func sdk(w *world.World, n world.Node, command string, args, env []string, roots []obj, steps ...obj) sdkReport {
	w.T.Helper()
	vars := envObject(w, env...)
	scenario := obj{"command": command, "args": args, "env": vars, "cwd": w.Home, "roots": roots, "steps": steps,
		"capabilities": json.RawMessage(ide.DefaultCapabilities)}
	return runSDK(w, n, world.Raw(w.T, scenario), len(steps))
}

func runSDK(w *world.World, n world.Node, scenario string, steps int) sdkReport {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "session.mjs"))
	cmd.Env = w.Env()
	cmd.Stdin = strings.NewReader(scenario)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.T.Fatalf("the SDK client: %v\n%s", err, errs.Bytes())
	}
	var r sdkReport
	world.Must(w.T, json.Unmarshal(out.Bytes(), &r))
	if len(r.Results) != steps {
		w.T.Fatalf("the SDK client did %d of %d steps\n%s", len(r.Results), steps, errs.Bytes())
	}
	w.T.Cleanup(func() {
		if w.T.Failed() {
			w.T.Logf("stderr under the SDK client:\n%s", errs.Bytes())
		}
	})
	return r
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

// children of the acceptance walk: both real servers, the first with a witness in front of it, and the recorder.
func realChildren(w *world.World, n world.Node) obj {
	return obj{
		// The configured directory is what holds if there are no roots: with roots it must be gone (C3).
		"filesystem": w.Wrapped("filesystem", "mcp-server-filesystem", []string{n.Program, n.Script("mcp-server-filesystem")}, []string{w.Outside}),
		"everything": obj{"command": n.Program, "args": []string{n.Script("mcp-server-everything")}},
		"rec":        w.Recorder("rec"),
	}
}

func TestSDKClientSeesEveryToolAsTheChildGivesIt(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	program := world.Hub(t)
	roots := rootsOf(w.Project)
	hub := sdk(w, n, program, []string{"serve", "--config", w.Config(realChildren(w, n))}, nil, roots,
		obj{"do": "awaitTool", "name": "filesystem__read_text_file"}, obj{"do": "awaitTool", "name": "everything__get-roots-list"},
		obj{"do": "awaitTool", "name": "rec__echo"}, obj{"do": "tools"}, obj{"do": "listTools"})
	list := hub.Results[3].Value
	if e := hub.Results[4].Error; e != nil {
		t.Errorf("the SDK's own listTools fails: %+v", e)
	}
	for child, c := range map[string]struct {
		command string
		args    []string
		wait    string
	}{
		"filesystem": {n.Program, []string{n.Script("mcp-server-filesystem"), w.Project}, "read_text_file"},
		"everything": {n.Program, []string{n.Script("mcp-server-everything")}, "get-roots-list"},
		"rec":        {world.Bin.Recorder, nil, "echo"},
	} {
		direct := sdk(w, n, c.command, c.args, nil, roots, obj{"do": "awaitTool", "name": c.wait}, obj{"do": "tools"})
		want := toolsByName(t, direct.Results[1].Value, "")
		if diff := cmp.Diff(want, toolsByName(t, list, child+"__")); diff != "" {
			t.Errorf("%s: tools through the hub (+) are not those of the child (-):\n%s", child, diff)
		}
	}
	for _, name := range []string{"get-roots", "call-tool", "list-tools"} {
		if toolsByName(t, list, "")[name] == nil {
			t.Errorf("no %s on the list", name)
		}
	}
}

func TestSDKClientReadsInsideAndNotOutside(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	program := world.Hub(t)
	inside := w.Path("project", "hello.txt")
	refused := []struct {
		name string
		tool string
		args obj
		path []string // how the refusal may quote it
	}{
		{"outside", "filesystem__read_text_file", obj{"path": "/etc/passwd"}, nil},
		{"dot dot", "filesystem__read_text_file", obj{"path": w.Project + "/../outside/secret.txt"}, nil},
		{"dot dot from the working directory", "filesystem__read_text_file", obj{"path": "../outside/secret.txt"}, nil},
		{"sibling with the same prefix", "filesystem__read_text_file", obj{"path": w.Sibling + "/secret.txt"}, nil},
		{"link to a file", "filesystem__read_text_file", obj{"path": w.Path("project", "link-file")}, nil},
		{"below a link to a directory", "filesystem__read_text_file", obj{"path": w.Path("project", "link-out", "secret.txt")}, nil},
		{"dangling link, written", "filesystem__write_file", obj{"path": w.Path("project", "link-dangling"), "content": "x"}, nil},
		{"URI", "filesystem__read_text_file", obj{"path": ide.FileURI(w.Path("outside", "secret.txt"))},
			[]string{ide.FileURI(w.Path("outside", "secret.txt")), w.Path("outside", "secret.txt")}},
		{"second path of two", "filesystem__move_file", obj{"source": inside, "destination": w.Path("outside", "moved.txt")}, []string{w.Path("outside", "moved.txt")}},
		{"one of a list", "filesystem__read_multiple_files", obj{"paths": []string{inside, w.Path("outside", "secret.txt")}}, []string{w.Path("outside", "secret.txt")}},
		{"a recorder's path", "rec__echo", obj{"path": "/etc/passwd"}, nil},
		{"any key, URI", "rec__echo", obj{"x": obj{"y": []string{"file:///etc/passwd"}}}, []string{"file:///etc/passwd", "/etc/passwd"}},
		{"any key, absolute", "rec__echo", obj{"x": "/etc/passwd"}, []string{"/etc/passwd"}},
	}
	steps := []obj{{"do": "awaitTool", "name": "filesystem__read_text_file"}, {"do": "awaitTool", "name": "rec__echo"},
		{"do": "listTools"},
		{"do": "call", "name": "filesystem__read_text_file", "arguments": obj{"path": inside}},
		{"do": "call", "name": "filesystem__list_allowed_directories", "arguments": obj{}}}
	head := len(steps)
	for _, c := range refused {
		steps = append(steps, obj{"do": "rawCall", "name": c.tool, "arguments": c.args})
	}
	hub := sdk(w, n, program, []string{"serve", "--config", w.Config(realChildren(w, n))}, nil, rootsOf(w.Project), steps...)
	for i, r := range hub.Results {
		if r.Error != nil {
			t.Fatalf("step %d %v: %+v", i, steps[i], *r.Error)
		}
	}
	var read struct {
		IsError           bool
		StructuredContent struct{ Content string }
	}
	world.Must(t, json.Unmarshal(hub.Results[3].Value, &read))
	if read.IsError || read.StructuredContent.Content != "hello from the project\n" {
		t.Errorf("read inside: %s", hub.Results[3].Value)
	}
	if got := string(hub.Results[4].Value); !strings.Contains(got, w.Project) || strings.Contains(got, w.Outside) {
		t.Errorf("the child serves %s, want the root and not its configured directory", got)
	}
	for i, c := range refused {
		quoted := c.path
		if quoted == nil {
			p, _ := c.args["path"].(string)
			quoted = []string{p}
		}
		wantRefused(t, c.name, hub.Results[head+i].Value, quoted, w.Project)
	}
	// The lines that reached the children. Their roots name the project, and nothing else may.
	seen := w.Recorded("filesystem") + w.Recorded("rec")
	for _, forbidden := range []string{"passwd", "outside", "project-secret", "link-", "..", "moved.txt"} {
		if strings.Contains(seen, forbidden) {
			t.Errorf("%q reached a child:\n%s", forbidden, seen)
		}
	}
	if !strings.Contains(seen, inside) {
		t.Errorf("the witness did not even see the allowed call:\n%s", seen)
	}
}

// wantRefused checks a raw tool result for V8's text.
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

// The control: clients/session.mjs itself, with no hub in between.
func TestSDKClientAlone(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	r := sdk(w, n, world.Bin.Recorder, nil, w.RecorderEnv("rec"), rootsOf(w.Project),
		obj{"do": "awaitTool", "name": "echo"}, obj{"do": "listTools"}, obj{"do": "rawCall", "name": "odd", "arguments": obj{}},
		obj{"do": "call", "name": "ask_roots", "arguments": obj{}}, obj{"do": "call", "name": "nothing", "arguments": obj{}},
		obj{"do": "rawCall", "name": "echo", "arguments": obj{"path": "/etc/passwd"}})
	for i, want := range map[int]string{1: "rich_draft07", 2: "hologram", 3: ide.FileURI(w.Project), 5: "/etc/passwd"} {
		if got := r.Results[i]; got.Error != nil || !strings.Contains(string(got.Value), want) {
			t.Errorf("step %d: %+v %s, want %q", i, got.Error, got.Value, want)
		}
	}
	if e := r.Results[4].Error; e == nil || e.Code != -32602 {
		t.Errorf("an unknown tool: %+v", r.Results[4])
	}
	if r.Asked != 1 || !strings.Contains(w.Recorded("rec"), "/etc/passwd") {
		t.Errorf("asked %d times; record:\n%s", r.Asked, w.Recorded("rec"))
	}
}
