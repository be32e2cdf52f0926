package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLooks(t *testing.T) {
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
	looks := NewLooks()
	paths := []string{at("a/b"), at("near/b"), at("far"), at("far/x"), at("lost/y"), at("round"), at("c/../far"), "/"}
	for range 2 { // the second time they are remembered
		for _, path := range paths {
			if got, want := looks.Hops(path), Hops(path); !slices.Equal(got, want) {
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
	if got := Hops(at("far")); got[len(got)-1] != at("c") {
		t.Errorf("without memory %q", got)
	}
}
