package protocol

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// rootsView is what get-roots tells.
type rootsView struct {
	SupportsRoots    bool
	RootsListChanged bool
	RootsCount       int
	Roots            []struct{ URI, Name string }
	FilePaths        []string
	State            string
	Origin           string
	Generation       uint64
}

func getRoots(s *world.Session) rootsView {
	s.T.Helper()
	r := s.MustCall("get-roots", `{}`)
	body := []byte(r.Structured)
	if body == nil {
		body = []byte(r.Text)
	}
	var v rootsView
	if err := json.Unmarshal(body, &v); err != nil {
		s.T.Fatalf("get-roots: %v: %s", err, r.Raw)
	}
	return v
}

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

// TestTheProjectOfAClientWithoutRoots: a client that gives no roots has the project of its working directory as its boundary. Outside of any
// project every path passes, and the log tells that once.
func TestTheProjectOfAClientWithoutRoots(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{"app/pkg/src": "app", "plain": ""} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			for _, file := range []string{"app/.git/HEAD", "app/pkg/package.json", "app/pkg/src/x", "plain/x"} {
				w.Write(file, "")
			}
			s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"rec": w.Recorder("rec")})}, Dir: w.Path(dir), Capabilities: `{}`})
			s.Handshake()
			s.AwaitTool("rec__echo")
			v := getRoots(s)
			outside := world.PathArgs(t, w.Path("outside", "secret.txt"))
			for range 3 {
				if want == "" {
					s.MustCall("rec__echo", outside)
				} else {
					s.Denied("rec__echo", outside, w.Path("outside", "secret.txt"), w.Path(want))
					s.MustCall("rec__echo", world.PathArgs(t, w.Path(want, "new.txt")))
				}
			}
			told := strings.Count(s.Stderr(), `"message":"the client gives no roots`)
			if want == "" && (v.RootsCount != 0 || told != 1) {
				t.Errorf("%d roots by %s; told %d times:\n%s", v.RootsCount, v.Origin, told, s.Stderr())
			}
			if want != "" && (v.Origin != "project (guessed)" || v.RootsCount != 1 || told != 0) {
				t.Errorf("%d roots by %s; told %d times:\n%s", v.RootsCount, v.Origin, told, s.Stderr())
			}
		})
	}
}
