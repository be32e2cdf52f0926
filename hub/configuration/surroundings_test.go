package configuration

import (
	"slices"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
)

func settings(t *testing.T, fallback string, environ ...string) Settings {
	t.Helper()
	checker, err := validate.NewChecker(validate.Config{FS: guard.OS{}, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	own := spec.Spec{Name: "own", Command: "c"}
	roots, all := own, own
	roots.Name, roots.Share = "roots", spec.ShareRoots
	all.Name, all.Share, all.Sandbox = "all", spec.ShareAll, sandbox.Settings{Mode: sandbox.Required}
	return Settings{
		Checker: checker, FS: guard.OS{}, Environ: environ, Dir: "/", Fallback: rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: fallback}}},
		Children: []Child{{Spec: own}, {Spec: roots}, {Spec: all}},
	}
}

// TestForClient: a child that means the same in other surroundings is the same one; another has a variant and a revision of
// its own, which are the same for all who have them and change when it is to start again.
func TestForClient(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	base, err := New(settings(t, one, "LANG=a", "TERM=1"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := func(base *Configuration, environ ...string) *Configuration {
		t.Helper()
		c, err := base.ForClient(settings(t, two, environ...), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	same, window, other, again := in(base, "TERM=1", "LANG=a"), in(base, "LANG=a", "TERM=2"), in(base, "LANG=b"), in(base, "LANG=b", "TERM=3")
	for name, want := range map[string][4]bool{"own": {true, false, false, false}, "roots": {true, true, false, false}, "all": {true, true, false, false}} {
		for i, c := range []*Configuration{same, window, other, again} {
			s := c.Child(name).Spec
			if (s.Variant == "") != want[i] || (s.Revision == base.Child(name).Spec.Revision) != want[i] {
				t.Errorf("%s in %q: variant %q, revision %d", name, s.Environ, s.Variant, s.Revision)
			}
		}
		a, b := other.Child(name).Spec, again.Child(name).Spec
		if (a.Entry() == b.Entry()) != (name != "own") || (a.Revision == b.Revision) != (name != "own") {
			t.Errorf("%s: %v %d and %v %d", name, a.Entry(), a.Revision, b.Entry(), b.Revision)
		}
	}
	newer, err := New(base.Settings, nil, base, "roots")
	if err != nil {
		t.Fatal(err)
	}
	later := in(newer, "LANG=b")
	if later.Child("roots").Spec.Revision == other.Child("roots").Spec.Revision || later.Child("all").Spec.Revision != other.Child("all").Spec.Revision {
		t.Error("what is to start anew does not, or something else does")
	}

	// What serves everybody is served what the hub was given, no matter who asks.
	paths := func(roots []guard.Root) (out []string) {
		for _, r := range roots {
			out = append(out, r.Path)
		}
		return out
	}
	if got := paths(other.CommonRoots()["all"]); !slices.Equal(got, []string{one}) {
		t.Errorf("served %q", got)
	}
	if got, want := other.CommonBoundary(other.Child("all")), base.CommonBoundary(base.Child("all")); !got.Equal(want) || len(got.Roots) != 1 {
		t.Errorf("held to %+v, want %+v", got, want)
	}
}
