package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
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

// sdk runs the official TypeScript client against command.
func sdk(w *world.World, n world.Node, command string, args, env []string, roots []obj, steps ...obj) sdkReport {
	w.T.Helper()
	vars := envObject(w, env...)
	scenario := obj{"command": command, "args": args, "env": vars, "cwd": w.Home, "roots": roots, "steps": steps,
		"capabilities": json.RawMessage(ide.DefaultCapabilities)}
	ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "session.mjs"))
	cmd.Env = w.Env()
	cmd.Stdin = strings.NewReader(world.Raw(w.T, scenario))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.T.Fatalf("the SDK client: %v\n%s", err, errs.Bytes())
	}
	var r sdkReport
	world.Must(w.T, json.Unmarshal(out.Bytes(), &r))
	if len(r.Results) != len(steps) {
		w.T.Fatalf("the SDK client did %d of %d steps\n%s", len(r.Results), len(steps), errs.Bytes())
	}
	w.T.Cleanup(func() {
		if w.T.Failed() {
			w.T.Logf("stderr under the SDK client:\n%s", errs.Bytes())
		}
	})
	return r
}

// extended returns the server of clients/extended.mjs, as an entry of hub.json and as a command.
func extended(n world.Node, t *testing.T, name string) (entry obj, args []string) {
	t.Helper()
	script := world.Source("e2e", "clients", "extended.mjs")
	args = []string{script, name}
	return obj{"command": n.Program, "args": args}, args
}

func request(method string, params obj) obj {
	return obj{"do": "request", "method": method, "params": params}
}

// TestExtensionsOfARealServer: what a server of the official SDK offers beyond the protocol comes through the hub as it
// is without it. The control for the path that is refused is the server itself, which takes it.
func TestExtensionsOfARealServer(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	entry, args := extended(n, t, "one")
	same := []obj{
		request("skills/own", obj{"cursor": "c", "deep": obj{"n": []any{1, 2.5}}, "_meta": obj{"com.example/x": true}}),
		request("skills/get", obj{"uri": "skill://a/SKILL.md"}), request("skills/get", obj{"uri": "skill://gone/SKILL.md"}),
		request("skills/unknown", obj{}),
		{"do": "notify", "method": "notifications/skills/opened", "params": obj{"uri": "skill://a/SKILL.md", "n": 2.5}},
	}
	outside := []obj{
		request("skills/get", obj{"path": "/etc/passwd"}),
		{"do": "notify", "method": "notifications/skills/opened", "params": obj{"path": "/etc/passwd"}},
	}
	steps := func(tool string) []obj {
		all := append([]obj{{"do": "awaitTool", "name": tool}}, same...)
		heard := request("skills/heard", obj{})
		heard["until"] = "skill://a/SKILL.md" // the hub passes notifications on beside requests
		return append(append(all, outside...), heard)
	}
	serve := []string{"serve", "--config", w.Config(obj{"ext": entry})}
	direct := sdk(w, n, n.Program, args, nil, rootsOf(w.Project), steps("view")...)
	sdk(w, n, world.Hub(t), serve, nil, rootsOf(w.Project), obj{"do": "awaitTool", "name": "ext__view"}) // from now on it is known what there is
	hub := sdk(w, n, world.Hub(t), serve, nil, rootsOf(w.Project), steps("ext__view")...)
	for _, member := range []string{"extensions", "experimental"} {
		var want, got map[string]any
		world.Must(t, json.Unmarshal(direct.Capabilities, &want))
		world.Must(t, json.Unmarshal(hub.Capabilities, &got))
		if diff := cmp.Diff(want[member], got[member]); diff != "" || want[member] == nil {
			t.Errorf("%s (-direct +hub):\n%s", member, diff)
		}
	}
	for i := range same {
		if diff := cmp.Diff(decoded(t, direct.Results[i+1]), decoded(t, hub.Results[i+1])); diff != "" {
			t.Errorf("%v (-direct +hub):\n%s", same[i], diff)
		}
	}
	at := 1 + len(same)
	if r := direct.Results[at]; r.Error != nil {
		t.Errorf("the control: %+v", *r.Error)
	}
	if r := hub.Results[at]; r.Error == nil || r.Error.Code != -32602 || !strings.Contains(r.Error.Message, world.Denial("/etc/passwd", w.Project)) {
		t.Errorf("a path outside: %s %+v", r.Value, r.Error)
	}
	last := len(hub.Results) - 1
	if heard := string(direct.Results[last].Value); !strings.Contains(heard, "skill://a/SKILL.md") || !strings.Contains(heard, "passwd") {
		t.Errorf("the control heard %s", heard)
	}
	if heard := string(hub.Results[last].Value); !strings.Contains(heard, "skill://a/SKILL.md") || strings.Contains(heard, "passwd") {
		t.Errorf("the server heard %s", heard)
	}
}

func decoded(t *testing.T, r sdkResult) (v any) {
	t.Helper()
	if r.Error != nil {
		return *r.Error
	}
	world.Must(t, json.Unmarshal(r.Value, &v))
	return v
}
