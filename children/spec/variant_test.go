package spec

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/children/launch"
	"mcphub/e2e/seeds"
)

// there returns which folders of the property there are.
func there(path string) bool { return !strings.HasPrefix(path, "/missing") }

// TestDigestedCountsWhatIsRelevant: environments that differ in order, in what no child gets, in what is of a window, and in
// how a PATH is written make one variant of a child that sessions may share. Any other change makes another.
func TestDigestedCountsWhatIsRelevant(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,6}`)
		path := rapid.SliceOfN(rapid.SampledFrom([]string{"/bin", "/usr/bin", "/opt/a", "/opt/b"}), 1, 4).Draw(t, "path")
		env := map[string]string{"PATH": strings.Join(path, ":"), "LANG": word.Draw(t, "lang"), "SSH_AUTH_SOCK": word.Draw(t, "agent"), "LC_ALL": word.Draw(t, "lc"), "ASKED": word.Draw(t, "asked")}
		own := map[string]string{"X": word.Draw(t, "own")}
		share := rapid.SampledFrom([]Share{ShareRoots, ShareAll}).Draw(t, "share")
		spec := func(env, own map[string]string, args ...string) Spec {
			var list []string
			for name, value := range env { // in any order, which changes from call to call
				list = append(list, name+"="+value)
			}
			return Spec{Name: "a", Command: "c", Args: args, Env: own, Inherit: []string{"ASKED", "LATER"}, Share: share, Environ: list, Dir: word.Draw(t, "dir")}
		}
		first := spec(env, own, "x").VariantDigest(there)

		same := maps.Clone(env)
		for _, name := range []string{"TERM", "DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "NOBODYS"} {
			if rapid.Bool().Draw(t, name) {
				same[name] = word.Draw(t, "value")
			}
		}
		extra := rapid.SliceOf(rapid.SampledFrom(append([]string{"/missing/x"}, path...))).Draw(t, "extra") // doubles, or not there
		same["PATH"] = strings.Join(slices.Concat(path, extra), ":")
		same["X"] = "hidden by its own"
		if again := spec(same, own, "x").VariantDigest(there); again != first {
			t.Fatalf("%v and %v are told apart", env, same)
		}

		other, otherOwn, args := maps.Clone(env), maps.Clone(own), []string{"x"}
		switch change := rapid.IntRange(0, 6).Draw(t, "change"); change {
		case 0, 1, 2:
			name := []string{"LANG", "SSH_AUTH_SOCK", "ASKED"}[change]
			other[name] += "1"
		case 3:
			delete(other, "LC_ALL")
		case 4:
			other["LATER"] = "" // set and empty is not unset
		case 5:
			other["PATH"] = "/opt/c:" + other["PATH"]
		case 6:
			if otherOwn["X"] += "1"; rapid.Bool().Draw(t, "args") {
				otherOwn, args = own, []string{"y"}
			}
		}
		if spec(other, otherOwn, args...).VariantDigest(there) == first {
			t.Fatalf("%v %v and %v %v %v are one", env, own, other, otherOwn, args)
		}
	})
}

// TestDigestedOfASessionsOwn: no one else gets what it has, so each of its variables counts, and its folder does.
func TestDigestedOfASessionsOwn(t *testing.T) {
	t.Parallel()
	spec := func(term, dir string) string {
		return Spec{Name: "a", Command: "c", Environ: []string{"TERM=" + term}, Dir: dir}.VariantDigest(there)
	}
	first, again := spec("x", "/a"), spec("x", "/a")
	if again != first || first == spec("y", "/a") || first == spec("x", "/b") {
		t.Error("a child of one session may start in the surroundings of another")
	}
	remote := func(lang, url string) string {
		return Spec{Name: "a", URL: url, Environ: []string{"LANG=" + lang}}.VariantDigest(there)
	}
	if remote("a", "u") != remote("b", "u") || remote("a", "u") == remote("a", "v") {
		t.Error("of a server elsewhere its address counts, and no variable")
	}
}

// TestApart: what tells two apart is named, and no value is.
func TestApart(t *testing.T) {
	t.Parallel()
	a := Spec{Name: "a", Command: "c", Args: []string{"one"}, Env: map[string]string{"X": "secret-1"}, Share: ShareRoots, Environ: []string{"LANG=secret-2", "PATH=/bin", "TERM=a"}}
	b := a
	b.Args, b.Env, b.Environ = []string{"two"}, map[string]string{"X": "other", "Y": ""}, []string{"TERM=b", "PATH=/bin:/bin", "TZ=x"}
	got := Apart(a, b, launch.NewMachine([]string{}, "/", "/"))
	if want := []string{"LANG", "TZ", "args", "env.X", "env.Y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Apart(a, a, launch.NewMachine([]string{}, "/", "/")); len(got) != 0 {
		t.Errorf("one is told from itself by %q", got)
	}
}
