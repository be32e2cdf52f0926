package guard_test

import (
	"fmt"
	"slices"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// TestAreas: what must not be missed is found in any spelling, what may be opened only as a Guard would have it.
func TestAreas(t *testing.T) {
	t.Parallel()
	lines := []string{"/u/Docs/f", "/u/Docs/out => /u/other", "/u/other/s", "/u/Docs2/s", "/short => /u/Docs", "/u/file", "/loop => /loop", "/u/Docs/a/b/f", "/u/Docs/deep => /u/Docs/a/b"}
	exact, folding := rootstest.NewFS(t, platform.Linux, lines), rootstest.NewFS(t, platform.Darwin, lines, rootstest.Folding())
	for _, e := range []struct {
		fs          *rootstest.FS
		dir, path   string
		some, every bool
	}{
		{exact, "/u/Docs", "/u/Docs", true, true},
		{exact, "/u/Docs", "/u/Docs/f", true, true},
		{exact, "/u/Docs", "/u/Docs/new/x", true, true},
		{exact, "/u/Docs", "/short/f", true, false}, // as it is written it is elsewhere, and that name is not the rule's
		{exact, "/short", "/short/f", true, true},
		{exact, "/short", "/u/Docs/f", true, true},
		{exact, "/u/Docs", "/u/Docs/out/s", true, false},
		{exact, "/u/Docs", "/u/Docs/../other/s", false, false},
		{exact, "/u/Docs", "/u/Docs/out/../Docs2/s", true, false}, // to the kernel it is /u/Docs2/s
		{exact, "/u/Docs", "/u/Docs/deep/../out/s", true, false},  // to the kernel it is inside, and cleaned it is /u/other/s
		{exact, "/u/Docs", "/u/Docs2/s", false, false},
		{exact, "/u/Docs", "/u/docs/f", false, false},
		{exact, "/u/none", "/u/none/x", true, true},
		{exact, "/", "/u/Docs2/s", true, true},
		{folding, "/u/Docs", "/u/docs/f", true, true},
		{folding, "/u/docs", "/U/DOCS/F", true, true},
		{folding, "/u/None", "/u/NONE/x", true, false}, // it is not there: nothing shows that they are one
		{folding, "/u/Docs", "/u/docs2/s", false, false},
	} {
		a, list, errs := guard.NewAreas(e.fs, []string{e.dir})
		if errs[0] != nil || list[0].Number != 0 {
			t.Fatalf("%s: %v %v", e.dir, list, errs)
		}
		place, err := guard.Resolve(e.fs, e.path)
		if err != nil {
			t.Fatal(err)
		}
		var sets guard.AreaSets
		a.Compare(&place.Readings, &sets)
		if some, every := len(sets.Lexical)+len(sets.Physical)+len(sets.Cleaned) > 0, len(sets.Every) > 0; some != e.some || every != e.every {
			t.Errorf("%s in %s: some %t every %t, want %t %t (%+v)", e.path, e.dir, some, every, e.some, e.every, place.Readings)
		}
	}
	_, list, errs := guard.NewAreas(exact, []string{"/u/Docs", "/u/file", "/loop", "/short", "/u/none", "rel", "/u/Docs/out/../x"})
	bad := make([]bool, len(errs))
	for i := range errs {
		bad[i] = errs[i] != nil
	}
	if want := []bool{false, true, true, false, false, true, true}; !slices.Equal(bad, want) {
		t.Errorf("errors %v", errs)
	}
	if list[3].Number != list[0].Number || list[4].Number == list[0].Number || list[4].Exists {
		t.Errorf("areas %+v", list)
	}
}

// TestAreasThatMayBeOne: if a directory is not there, the file system cannot tell whether two spellings name it. What must not be missed is in both.
func TestAreasThatMayBeOne(t *testing.T) {
	t.Parallel()
	fsys := rootstest.NewFS(t, platform.Darwin, []string{"/u/x"}, rootstest.Folding())
	a, list, _ := guard.NewAreas(fsys, []string{"/u/None", "/u/none"})
	place, err := guard.Resolve(fsys, "/u/None/x")
	if err != nil {
		t.Fatal(err)
	}
	var sets guard.AreaSets
	if a.Compare(&place.Readings, &sets); list[1].Number != 1 || len(sets.Lexical) != 2 || !slices.Equal(sets.Every, guard.AreaSet{0}) {
		t.Errorf("%+v: in %d, opened %d", list, sets.Lexical, sets.Every)
	}
}

// TestAreaThroughALink: the name of a link is in the area that it led to. What stands in its place by now is not, in any letter case.
func TestAreaThroughALink(t *testing.T) {
	t.Parallel()
	fsys := rootstest.NewFS(t, platform.Darwin, []string{"/u/Docs/f", "/Short => u/Docs"}, rootstest.Folding())
	a, _, _ := guard.NewAreas(fsys, []string{"/Short"})
	var sets guard.AreaSets
	for _, path := range []string{"/Short/f", "/short/f"} {
		a.Compare(&guard.Readings{Lexical: path, Physical: "/u/Docs/f", Cleaned: "/u/Docs/f"}, &sets)
		if !slices.Equal(sets.Lexical, guard.AreaSet{0}) || !slices.Equal(sets.Every, guard.AreaSet{0}) {
			t.Errorf("%s: in %d, opened %d", path, sets.Lexical, sets.Every)
		}
		a.Compare(&guard.Readings{Lexical: path, Physical: path, Cleaned: path}, &sets)
		if !slices.Equal(sets.Lexical, guard.AreaSet{0}) || len(sets.Every) != 0 {
			t.Errorf("%s by now: in %d, opened %d", path, sets.Lexical, sets.Every)
		}
	}
}

// TestManyAreas: an area has its own number in each set, however many there are, and a set that is filled again holds nothing from before.
func TestManyAreas(t *testing.T) {
	t.Parallel()
	const n = 150
	var dirs, lines []string
	for i := range n {
		dirs = append(dirs, fmt.Sprintf("/d%d", i))
		lines = append(lines, fmt.Sprintf("/d%d/f", i), fmt.Sprintf("/d%d/next => /d%d", i, (i+70)%n))
	}
	fsys := rootstest.NewFS(t, platform.Linux, lines)
	a, _, _ := guard.NewAreas(fsys, dirs)
	var sets guard.AreaSets
	for _, e := range []struct {
		path                              string
		lexical, physical, cleaned, every func(i int) []int
	}{
		{"/d%d/f", only(0), only(0), only(0), only(0)},
		{"/d%d/next/f", only(0), only(70), only(70), only()},
		{"/d%d/next/../x", only(0), only(), only(0), only()},
		{"/none/%d", only(), only(), only(), only()},
	} {
		for i := range n {
			place, err := guard.Resolve(fsys, fmt.Sprintf(e.path, i))
			if err != nil {
				t.Fatal(err)
			}
			a.Compare(&place.Readings, &sets)
			for name, set := range map[string]struct {
				got  guard.AreaSet
				want []int
			}{
				"lexical": {sets.Lexical, e.lexical(i)}, "physical": {sets.Physical, e.physical(i)},
				"cleaned": {sets.Cleaned, e.cleaned(i)}, "every": {sets.Every, e.every(i)},
			} {
				if slices.Sort(set.got); !slices.Equal(set.got, set.want) {
					t.Errorf("%s of %s: %d, want %d", name, fmt.Sprintf(e.path, i), set.got, set.want)
				}
			}
		}
	}
}

// only returns the areas that are so far from one.
func only(far ...int) func(i int) []int {
	return func(i int) (all []int) {
		for _, d := range far {
			all = append(all, (i+d)%150)
		}
		return all
	}
}
