package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"
	"go.uber.org/goleak"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

func TestMain(m *testing.M) {
	code := m.Run()
	regexp2.StopTimeoutClock()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("goroutines left behind: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// world is a small disk: a project that is the boundary, and what lies around it.
//
//	home/                      the user's home folder
//	home/project/              the root, and the child's working directory
//	home/project/src/main.go
//	home/project/docs/
//	home/project/[id]/page.tsx
//	home/project/link      ->  home/outside
//	home/project/inner     ->  home/project/src
//	home/project/dangling  ->  home/outside/new.txt
//	home/project/loop      ->  home/project/loop
//	home/project/passwd    ->  home/outside/secret.txt
//	home/project/bin/tool  ->  home/outside/tool (executable)
//	home/projects/sibling.txt  a look-alike
//	home/outside/secret.txt
//	home/config/hub.json       protected
type world struct {
	t       testing.TB
	home    string
	project string
	outside string
	hub     string
	roots   []string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, project: filepath.Join(home, "project"), outside: filepath.Join(home, "outside"), hub: filepath.Join(home, "config", "hub.json")}
	w.roots = []string{w.project}
	for _, d := range []string{"project/src", "project/docs", "project/[id]", "project/bin", "projects", "outside/sub", "config"} {
		w.must(os.MkdirAll(filepath.Join(home, d), 0o755))
	}
	for name, mode := range map[string]os.FileMode{
		"project/src/main.go": 0o644, "project/a.txt": 0o644, "project/[id]/page.tsx": 0o644, "projects/sibling.txt": 0o644,
		"outside/secret.txt": 0o644, "outside/tool": 0o755, "config/hub.json": 0o600, "outside/sub/x": 0o644,
	} {
		w.must(os.WriteFile(filepath.Join(home, name), []byte(name), mode))
	}
	for name, target := range map[string]string{
		"project/link": w.outside, "project/inner": filepath.Join(w.project, "src"), "project/dangling": filepath.Join(w.outside, "new.txt"),
		"project/loop": w.project + "/loop", "project/passwd": w.outside + "/secret.txt", "project/bin/tool": w.outside + "/tool",
	} {
		w.must(os.Symlink(target, filepath.Join(home, name)))
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// fill writes the world's directories into a text.
func (w *world) fill(s string) string {
	return strings.NewReplacer("{project}", w.project, "{outside}", w.outside, "{home}", w.home, "{hub}", w.hub).Replace(s)
}

// json writes the world's directories into the strings of a JSON text.
func (w *world) json(text string) []byte {
	quoted := func(s string) string { b := quoteJSON(s); return string(b[1 : len(b)-1]) }
	return []byte(strings.NewReplacer("{project}", quoted(w.project), "{outside}", quoted(w.outside), "{home}", quoted(w.home), "{hub}", quoted(w.hub)).Replace(text))
}

func (w *world) checker(children ...ChildConfig) *Checker {
	w.t.Helper()
	if len(children) == 0 {
		children = []ChildConfig{{Name: "child", Command: "some-server", Inherit: []string{"OUTSIDE"}}}
	}
	c, err := NewChecker(Config{Children: children, Protected: []string{w.hub}, Home: w.home, Getenv: w.getenv})
	w.must(err)
	return c
}

func (w *world) getenv(name string) string {
	switch name {
	case "HOME":
		return w.home
	case "PATH":
		return "/usr/local/bin:/usr/bin:/bin"
	case "OUTSIDE":
		return w.outside
	}
	return ""
}

func (w *world) view() rootsmgr.RootsView {
	var entries []rootsmgr.RootEntry
	for _, r := range w.roots {
		entries = append(entries, rootsmgr.RootEntry{URI: platform.Host().FormatURI(r)})
	}
	snap := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginAsked, entries)
	return rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown}
}

func (w *world) where() CallContext { return CallContext{Cwd: w.project, Served: w.roots} }

func (w *world) tool(c *Checker, server, def string) *Tool {
	w.t.Helper()
	t, err := c.PrepareTool("child", server, []byte(def))
	w.must(err)
	return t
}

// call scans and judges one call.
func (w *world) call(c *Checker, t *Tool, args string) (*Scan, *Verdict) {
	w.t.Helper()
	s, err := c.Scan(t, w.json(args))
	if err != nil {
		w.t.Fatalf("scan of %s: %v", args, err)
	}
	return s, c.Judge(s, w.where(), w.view())
}

// anyTool is a tool without a schema, of a server that no one knows.
const anyTool = `{"name":"do_it"}`

func mkdir(dir string) error { return os.MkdirAll(dir, 0o755) }
