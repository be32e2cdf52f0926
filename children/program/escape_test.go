package program

import (
	"slices"
	"testing"

	"mcphub/rootsmgr/guard"
)

func TestEscapedPlaceholdersAreText(t *testing.T) {
	t.Parallel()
	x := Expander{Roots: []guard.Root{{Path: "/a"}, {Path: "/b"}}, Separator: ":"}
	in := []string{"$${root}", "x$${roots}y", "$${root}${root}", "${roots}", "$$${root}", "${roots"}
	want := []string{"${root}", "x${roots}y", "${root}/a", "/a", "/b", "$${root}", "${roots"}
	got, err := x.Args(in)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if (Program{Command: "x", Args: []string{"$${root}"}}).NeedsRoots() || !(Program{Command: "x", Args: []string{"${root}/b"}}).NeedsRoots() {
		t.Error("an escaped placeholder counts as one")
	}
}
