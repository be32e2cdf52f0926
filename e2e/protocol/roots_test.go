package protocol

import (
	"encoding/json"
	"path/filepath"
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

// A real server that keeps the roots itself must have taken the new ones before the next call reaches it.
func TestARealServerHasTheNewRoots(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	program := []string{n.Program, n.Script("mcp-server-filesystem")}
	s := w.Serve(w.Config(obj{"fs": world.Free(w.Wrapped("fs", "mcp-server-filesystem", program, nil))}), ide.Folders(w.Project))
	s.Handshake()
	first, second := world.PathArgs(t, w.Path("project", "hello.txt")), world.PathArgs(t, w.Path("other", "other.txt"))
	s.MustCall("fs__read_text_file", first)
	for range 5 {
		s.SetRoots(ide.Folders(w.Project, w.Other))
		world.Must(t, s.RootsChanged())
		s.MustCall("fs__read_text_file", second)
		s.MustCall("fs__read_text_file", first)
		s.SetRoots(ide.Folders(w.Project))
		world.Must(t, s.RootsChanged())
		s.Denied("fs__read_text_file", second, w.Path("other", "other.txt"), w.Project)
		s.MustCall("fs__read_text_file", first)
	}
	if st := w.Starts("fs"); len(st) != 1 {
		t.Errorf("%d starts: a server that honours list_changed was restarted", len(st))
	}
	// The root it works in is gone: now it may be started afresh (C4), and the call waits for that too.
	s.SetRoots(ide.Folders(w.Other))
	world.Must(t, s.RootsChanged())
	s.MustCall("fs__read_text_file", second)
	s.Denied("fs__read_text_file", first, w.Path("project", "hello.txt"), w.Other)
}

// TestTheProjectOfAClientWithoutRoots: a client that gives no roots has the project of its working directory as its boundary. Outside of any
// project every path passes, and the log tells that once.
func TestTheProjectOfAClientWithoutRoots(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"app": "app", "app/pkg/src": "app", // version control comes before a manifest
		"tree/src": "tree", "app/.worktrees/fix/src": "app/.worktrees/fix", // worktrees
		"go/a": "go", "plain": "", "home": "", "home/notes": "", "/": "",
	} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			for _, file := range []string{"app/.git/HEAD", "app/pkg/package.json", "app/pkg/src/x", "tree/.git", "tree/src/x", "app/.worktrees/fix/.git", "app/.worktrees/fix/src/x", "go/go.mod", "go/a/x", "plain/x", "home/package.json", "home/notes/x"} {
				w.Write(file, "")
			}
			at := w.Path(dir)
			if dir == "/" {
				at = filepath.VolumeName(w.Dir) + string(filepath.Separator)
			}
			s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"rec": w.Recorder("rec")})}, Dir: at, Capabilities: `{}`})
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
