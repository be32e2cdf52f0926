package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/rootsmgr"
)

// homeWith makes a home folder with these files. A name that ends in a slash is a folder.
func homeWith(t *testing.T, names ...string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "home")
	for _, name := range names {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if name[len(name)-1] == '/' {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func unwritten(string) bool { return false }

func guessed(t *testing.T, home, dir string) string {
	t.Helper()
	g := guessProject(dir, func(name string) (string, bool) { return home, name == hubfile.HomeVariable() }, os.Getpid(), unwritten)
	if g == (rootsmgr.Guess{}) {
		return ""
	}
	if g.Refused != "" {
		return "refused"
	}
	if g.WorkDir.URI != dir {
		t.Errorf("the working directory is %q, want %q", g.WorkDir.URI, dir)
	}
	rest, err := filepath.Rel(home, g.Project.URI)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(rest)
}

func TestGuessedProject(t *testing.T) {
	t.Parallel()
	home := homeWith(t,
		"work/app/.git/", "work/app/pkg/package.json", "work/app/pkg/src/", "work/app/node_modules/x/package.json", "work/app/sub/.git",
		"work/plain/src/", "work/go/go.mod", "work/go/a/b/", "work/net/App.sln", "work/net/src/", "work/jj/.jj/", "work/tree/.git", "work/tree/a/",
		".oh-my/.git/", ".oh-my/plugins/", ".tool/worktrees/x/.git", ".tool/worktrees/x/src/", "Library/Data/.git/", "AppData/app/package.json", "package.json", "Downloads/")
	for dir, want := range map[string]string{
		"work/app": "work/app", "work/app/pkg": "work/app", "work/app/pkg/src": "work/app", // version control comes before a manifest
		"work/app/sub": "work/app/sub", // a repository of its own
		"work/tree/a":  "work/tree", "work/jj": "work/jj", "work/go/a/b": "work/go", "work/net/src": "work/net",
		".tool/worktrees/x/src":   ".tool/worktrees/x", // a worktree that a program made
		"work/app/node_modules/x": "work/app",
		"work/plain/src":          "", "work": "", "": "", "Downloads": "", // the manifest in the home folder makes none of it
		".oh-my/plugins": "", "Library/Data": "", "AppData/app": "",
	} {
		if got := guessed(t, home, filepath.Join(home, filepath.FromSlash(dir))); got != want {
			t.Errorf("%q: the project is %q, want %q", dir, got, want)
		}
	}
	for _, dir := range []string{"/", "/usr/share", "/etc", filepath.Dir(home)} {
		if g := guessProject(dir, func(name string) (string, bool) { return home, name == hubfile.HomeVariable() }, os.Getpid(), unwritten); g != (rootsmgr.Guess{}) {
			t.Errorf("%s: a project was found: %+v", dir, g)
		}
	}
}

// A home folder that is under version control makes no project, and hides none in it.
func TestGuessedProjectBelowAHomeUnderControl(t *testing.T) {
	t.Parallel()
	home := homeWith(t, ".git/", "work/app/package.json", "work/app/src/", "notes/")
	for dir, want := range map[string]string{"": "", "notes": "", "work/app/src": "work/app"} {
		if got := guessed(t, home, filepath.Join(home, filepath.FromSlash(dir))); got != want {
			t.Errorf("%q: the project is %q, want %q", dir, got, want)
		}
	}
}

// What another user could have put there makes no project.
func TestGuessedProjectOfOthers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("access lists are not read there")
	}
	home := homeWith(t, "open/app/.git/", "open/app/src/", "sticky/app/.git/", "own/.git/")
	for name, mode := range map[string]os.FileMode{"open": 0o777, "sticky": 0o777 | os.ModeSticky, "own": 0o777} {
		if err := os.Chmod(filepath.Join(home, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{"open/app/src": "refused", "sticky/app": "sticky/app", "own": "refused"} {
		if got := guessed(t, home, filepath.Join(home, filepath.FromSlash(dir))); got != want {
			t.Errorf("%q: the project is %q, want %q", dir, got, want)
		}
	}
	if os.Geteuid() != 0 { // no other user can make files of other users
		return
	}
	for _, path := range []string{"own/.git", "own"} {
		foreign := homeWith(t, "own/.git/")
		if err := os.Lchown(filepath.Join(foreign, path), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if got := guessed(t, foreign, filepath.Join(foreign, "own")); got != "" {
			t.Errorf("%s belongs to another user, and the project is %q", path, got)
		}
	}
}

// A server that could write in the working directory may have taken away what the project was known by. That leaves the working directory as the
// boundary, and not none.
func TestGuessedProjectWithoutItsMarks(t *testing.T) {
	t.Parallel()
	home := homeWith(t, "work/app/src/")
	env := func(name string) (string, bool) { return home, name == hubfile.HomeVariable() }
	dir := filepath.Join(home, "work", "app")
	if g := guessProject(dir, env, os.Getpid(), unwritten); g != (rootsmgr.Guess{}) {
		t.Errorf("control: %+v", g)
	}
	isWritten := func(string) bool { return true }
	if g := guessProject(dir, env, os.Getpid(), isWritten); g.Project.URI != dir || g.Refused != "" {
		t.Errorf("%+v", g)
	}
	if g := guessProject(home, env, os.Getpid(), isWritten); g != (rootsmgr.Guess{}) {
		t.Errorf("the home folder: %+v", g)
	}
}
