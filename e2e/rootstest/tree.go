package rootstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tree makes the entries in a fresh temporary directory and returns its
// canonical path. The test fails if one cannot be made.
func Tree(t testing.TB, lines ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	Add(t, dir, lines...)
	return dir
}

// Add makes more entries below dir.
func Add(t testing.TB, dir string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := addEntry(dir, parseEntry(line)); err != nil {
			t.Fatalf("tree: %q: %v", line, err)
		}
	}
}

// entry is one parsed line.
type entry struct {
	name, target, content string
	link, dir             bool
}

func parseEntry(line string) entry {
	if name, target, ok := strings.Cut(line, " => "); ok {
		return entry{name: name, target: target, link: true}
	}
	if name, ok := strings.CutSuffix(line, "/"); ok {
		return entry{name: name, dir: true}
	}
	name, content, _ := strings.Cut(line, "=")
	return entry{name: name, content: content}
}

func addEntry(dir string, e entry) error {
	path := filepath.Join(dir, filepath.FromSlash(e.name))
	if e.dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if e.link {
		if err := os.Symlink(strings.Replace(e.target, "$", dir, 1), path); err != nil {
			return err
		}
		_, err := os.Lstat(path) // Wine makes none, and returns no error
		return err
	}
	return os.WriteFile(path, []byte(e.content), 0o644)
}
