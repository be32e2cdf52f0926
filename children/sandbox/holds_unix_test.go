//go:build !windows

package sandbox

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// TestHoldsAsRel: the short way says about any two paths what the long one does.
func TestHoldsAsRel(t *testing.T) {
	t.Parallel()
	held := 0
	seeds.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`/?(a|ab|\.|\.\.|\.a|/)?(/(a|ab|\.|\.\.|\.\.a|)){0,4}`)
		dir, at := path.Draw(t, "dir"), path.Draw(t, "path")
		if rapid.Bool().Draw(t, "below") {
			at = dir + at
		}
		rel, err := filepath.Rel(dir, at)
		want := err == nil && filepath.IsLocal(rel)
		if want {
			held++
		}
		if got := Contains(dir, at); got != want {
			t.Fatalf("Holds(%q, %q): %t", dir, at, got)
		}
	})
	if held == 0 {
		t.Error("nothing was held: this shows nothing")
	}
}
