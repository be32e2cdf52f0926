package rootsmgr_test

import (
	"testing"

	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// TestRootSet: what makes two sets of roots the same for a child.
func TestRootSet(t *testing.T) {
	t.Parallel()
	r := func(path, name string) guard.Root {
		return guard.Root{URI: "file://" + path, Path: path, Name: name}
	}
	base := RootSetID("", []guard.Root{r("/a", "x"), r("/b", "")})
	if RootSetID("", []guard.Root{{URI: "file:///a", Path: "/a", Name: "x", Given: "/link", Flag: FlagHome}, r("/b", "")}) != base {
		t.Error("what no child is told of makes a difference")
	}
	// Some clients repeat the directory's name, others give none: a child cannot tell.
	if RootSetID("", []guard.Root{r("/a", "x"), r("/b", "b")}) != base {
		t.Error("a name that the directory has anyway makes a difference")
	}
	for what, other := range map[string]string{
		"order":     RootSetID("", []guard.Root{r("/b", ""), r("/a", "x")}),
		"name":      RootSetID("", []guard.Root{r("/a", "y"), r("/b", "")}),
		"fewer":     RootSetID("", []guard.Root{r("/a", "x")}),
		"none":      RootSetID("", nil),
		"principal": RootSetID("alice", []guard.Root{r("/a", "x"), r("/b", "")}),
		"run on":    RootSetID("", []guard.Root{r("/a", "xfile:///b"), r("", "")}),
	} {
		if other == base {
			t.Errorf("%s makes no difference", what)
		}
	}
}
