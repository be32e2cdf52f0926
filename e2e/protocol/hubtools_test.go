package e2e

import (
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

func TestGetRootsTellsWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := make(chan struct{})
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.After(open, ide.Folders(w.project, w.other)))
	s.initialize()
	must(t, s.AwaitAsked(s.ctx(), 1))
	early := s.getRoots() // answered while the client still thinks
	if !early.SupportsRoots || !early.RootsListChanged || early.RootsCount != 0 {
		t.Errorf("before the answer: %+v", early)
	}
	close(open)
	s.call("rec__echo", pathArgs(t, w.path("project", "hello.txt")))
	v := s.getRoots()
	if v.RootsCount != 2 || !slices.Equal(v.FilePaths, []string{w.project, w.other}) || len(v.Roots) != 2 {
		t.Fatalf("after the answer: %+v", v)
	}
	if v.Roots[0].URI != ide.FileURI(w.project) || v.Roots[0].Name != "project" || v.Roots[1].URI != ide.FileURI(w.other) {
		t.Errorf("roots %+v", v.Roots)
	}
	if v.State == "" || v.Origin == "" || v.State == early.State {
		t.Errorf("state %q then %q, origin %q", early.State, v.State, v.Origin)
	}
}

func TestGetRootsForAClientWithoutRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.config(obj{"rec": w.recorder("rec")})}, Capabilities: `{"sampling":{}}`})
	s.initialize()
	if v := s.getRoots(); v.SupportsRoots || v.RootsListChanged || v.RootsCount != 0 {
		t.Errorf("get-roots: %+v", v)
	}
}

// Roots of one session are nothing to another (R14).
func TestSessionsDoNotShareRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(obj{"rec": w.recorder("rec")})
	a, b := w.serve(config, ide.Folders(w.project)), w.serve(config, ide.Folders(w.other))
	a.initialize()
	b.initialize()
	file := pathArgs(t, w.path("project", "hello.txt"))
	a.call("rec__echo", file)
	b.denied("rec__echo", file, w.path("project", "hello.txt"), w.other)
}

func TestCallToolIsJudgedLikeAnyCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project))
	s.odd = true
	s.initialize()
	through := func(server, tool, args string) ide.ToolResult {
		return s.await(s.send("call-tool", `{"serverName":"`+server+`","toolName":"`+tool+`","toolArgs":`+args+`}`))
	}
	args := `{"path":` + raw(t, w.path("project", "hello.txt")) + `,"n":9007199254740993}`
	if r := through("rec", "echo", args); r.IsError || string(r.Structured) != args {
		t.Errorf("inside: %s", r.Raw)
	}
	if r := through("rec", "odd", `{}`); !strings.Contains(string(r.Result), `"type":"hologram"`) {
		t.Errorf("an odd result: %s", r.Raw)
	}
	s.wantDenied(through("rec", "echo", `{"path":"/etc/passwd"}`), "/etc/passwd", w.project)
	if r := through("rec", "echo", `{"text":7}`); !r.IsError || !strings.Contains(r.Text, "/text") {
		t.Errorf("against the schema: %s", r.Raw)
	}
	for _, c := range [][2]string{{"nobody", "echo"}, {"rec", "nothing"}} {
		m := s.request("tools/call", ide.ToolParams("call-tool", `{"serverName":"`+c[0]+`","toolName":"`+c[1]+`","toolArgs":{}}`))
		if m.Error == nil && !strings.Contains(string(m.Result), `"isError":true`) {
			t.Errorf("%v: %s", c, m.Raw)
		}
	}
	if m := s.request("tools/call", ide.ToolParams("call-tool", `{"serverName":"rec"}`)); m.Error == nil && !strings.Contains(string(m.Result), `"isError":true`) {
		t.Errorf("without a tool: %s", m.Raw)
	}
	var tool struct {
		Annotations struct{ DestructiveHint, ReadOnlyHint *bool }
	}
	decode(t, s.tools()["call-tool"], &tool)
	if h := tool.Annotations.DestructiveHint; h == nil || !*h {
		t.Error("call-tool is not annotated as destructive")
	}
	if seen := w.recorded("rec"); strings.Contains(seen, "passwd") || calls(seen, "echo") != 1 {
		t.Errorf("want one call of echo:\n%s", seen)
	}
}

func TestListToolsNamesEveryTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec"), "files": obj{"builtin": "files"}}), ide.Folders(w.project))
	s.initialize()
	all := s.awaitTool("rec__echo")
	s.awaitTool("files__read_text_file")
	text := s.call("list-tools", `{}`).Text
	for name := range all {
		if child, tool, ok := strings.Cut(name, "__"); ok && (!strings.Contains(text, child) || !strings.Contains(text, tool)) {
			t.Errorf("list-tools does not name %s:\n%s", name, text)
		}
	}
}
