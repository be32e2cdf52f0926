package protocol

import (
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

func TestGetRootsTellsWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	open := make(chan struct{})
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.After(open, ide.Folders(w.Project, w.Other)))
	s.Handshake()
	world.Must(t, s.AwaitAsked(s.Context(), 1))
	early := getRoots(s) // answered while the client still thinks
	if !early.SupportsRoots || !early.RootsListChanged || early.RootsCount != 0 {
		t.Errorf("before the answer: %+v", early)
	}
	close(open)
	s.MustCall("rec__echo", world.PathArgs(t, w.Path("project", "hello.txt")))
	v := getRoots(s)
	if v.RootsCount != 2 || !slices.Equal(v.FilePaths, []string{w.Project, w.Other}) || len(v.Roots) != 2 {
		t.Fatalf("after the answer: %+v", v)
	}
	if v.Roots[0].URI != ide.FileURI(w.Project) || v.Roots[0].Name != "project" || v.Roots[1].URI != ide.FileURI(w.Other) {
		t.Errorf("roots %+v", v.Roots)
	}
	if v.State == "" || v.Origin == "" || v.State == early.State {
		t.Errorf("state %q then %q, origin %q", early.State, v.State, v.Origin)
	}
}

func TestListToolsNamesEveryTool(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec"), "files": obj{"builtin": "files"}}), ide.Folders(w.Project))
	s.Handshake()
	all := s.AwaitTool("rec__echo")
	s.AwaitTool("files__read_text_file")
	text := s.MustCall("list-tools", `{}`).Text
	for name := range all {
		if child, tool, ok := strings.Cut(name, "__"); ok && (!strings.Contains(text, child) || !strings.Contains(text, tool)) {
			t.Errorf("list-tools does not name %s:\n%s", name, text)
		}
	}
}
