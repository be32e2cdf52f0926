package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

func TestLooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a/b", "c"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"near": "a", "far": "near/b", "lost": "nowhere", "round": "round"} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	looks := NewLstatCache()
	paths := []string{at("a/b"), at("near/b"), at("far"), at("far/x"), at("lost/y"), at("round"), at("c/../far"), "/"}
	for range 2 { // the second time they are remembered
		for _, path := range paths {
			if got, want := looks.Hops(path), (*LstatCache)(nil).Hops(path); !slices.Equal(got, want) {
				t.Errorf("%s: hops %q, without memory %q", path, got, want)
			}
			_, err := looks.Lstat(path)
			_, want := os.Lstat(path)
			if (err == nil) != (want == nil) {
				t.Errorf("%s: %v, without memory %v", path, err, want)
			}
		}
	}

	if err := os.Remove(at("far")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("c", at("far")); err != nil {
		t.Fatal(err)
	}
	if got := looks.Hops(at("far")); got[len(got)-1] != at("a/b") {
		t.Errorf("what was seen is not remembered: %q", got)
	}
	if got := (*LstatCache)(nil).Hops(at("far")); got[len(got)-1] != at("c") {
		t.Errorf("without memory %q", got)
	}
}

// TestLooksReal: where text tells what a path leads to, the system says the same.
func TestLooksReal(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	links, nowhere := 0, 0
	seeds.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp("", "looks")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(top) }()
		root, err := os.OpenRoot(top) // a link leads out of it, and nothing is made there
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		path := rapid.Custom(func(t *rapid.T) string {
			return filepath.FromSlash(strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(names, "..", ".")), 1, 4).Draw(t, "parts"), "/"))
		})
		for range 8 {
			at := strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "at"), "/")
			if rapid.Bool().Draw(t, "link") {
				to := path.Draw(t, "to")
				if rapid.Bool().Draw(t, "absolute") {
					to = top + "/" + to
				}
				_ = root.Symlink(to, at) // or something is there already
			} else {
				_ = root.MkdirAll(at, 0o700)
			}
		}
		looks := NewLstatCache()
		for range 8 {
			p := top + "/" + path.Draw(t, "path")
			got, told := looks.Real(p)
			switch want, err := filepath.EvalSymlinks(p); {
			case told == nil && (err != nil || got != want):
				t.Fatalf("%s leads to %s by text, and to %s: %v", p, got, want, err)
			case errors.Is(told, fs.ErrNotExist) && err == nil:
				t.Fatalf("%s leads nowhere by text, and to %s", p, want)
			case told == nil && got != p:
				links++
			case errors.Is(told, fs.ErrNotExist):
				nowhere++
			}
		}
	})
	if links == 0 || nowhere == 0 {
		t.Errorf("text told of %d links and of %d paths that lead nowhere", links, nowhere)
	}
}
