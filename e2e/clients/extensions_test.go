package clients

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/world"
)

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

// TestAppsOfTwoRealServers: two servers of the official SDK whose apps have the same URI.
func TestAppsOfTwoRealServers(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	one, _ := extended(n, t, "one")
	two, _ := extended(n, t, "two")
	hub := sdk(w, n, world.Hub(t), []string{"serve", "--config", w.Config(obj{"a": one, "b": two})}, nil, rootsOf(w.Project),
		obj{"do": "awaitTool", "name": "a__view"}, obj{"do": "awaitTool", "name": "b__view"}, obj{"do": "tools"},
		request("resources/read", obj{"uri": "ui://view/main.html"}), request("resources/read", obj{"uri": "ui://b/view/main.html"}),
		obj{"do": "rawCall", "name": "refresh-two", "arguments": obj{}}, obj{"do": "rawCall", "name": "b__view", "arguments": obj{}},
		obj{"do": "rawCall", "name": "view", "arguments": obj{}}, request("skills/own", obj{}), request("skills/list", obj{}))
	tools := string(hub.Results[2].Value)
	for _, c := range []struct{ what, got, want string }{
		{"tools", tools, `"ui://view/main.html"`}, {"tools", tools, `"ui://b/view/main.html"`},
		{"the app of the first", string(hub.Results[3].Value), "<title>one</title>"}, {"the app of the second", string(hub.Results[4].Value), "<title>two</title>"},
		{"its URI", string(hub.Results[4].Value), `"uri":"ui://b/view/main.html"`},
		{"a bare name", string(hub.Results[5].Value), "two: refresh-two"}, {"a result", string(hub.Results[6].Value), `"resourceUri":"ui://b/view/main.html"`},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %s has no %s", c.what, c.got, c.want)
		}
	}
	if e := hub.Results[7].Error; e == nil || e.Code != -32602 || !strings.Contains(e.Message, `"a__view", "b__view"`) {
		t.Errorf("a name of both: %+v", hub.Results[7])
	}
	if e := hub.Results[8].Error; e == nil || e.Code != -32601 {
		t.Errorf("a method of both: %+v", hub.Results[8])
	}
	// Whose list comes first may keep the URI, since it was alone then.
	if skills := string(hub.Results[9].Value); strings.Count(skills, `"uri":`) != 2 || strings.Count(skills, `"uri":"skill://a/SKILL.md"`) > 1 ||
		!strings.Contains(skills, `"uri":"skill://a/a/SKILL.md"`) && !strings.Contains(skills, `"uri":"skill://b/a/SKILL.md"`) {
		t.Errorf("the skills of both: %s %+v", skills, hub.Results[9].Error)
	}
}
