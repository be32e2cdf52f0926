package rootsmgr_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// What patterns of settings stand for. base is a folder whose own name has
// special characters, which are no part of a pattern.
func TestPatterns(t *testing.T) {
	t.Parallel()
	top := rootstest.Tree(t, "b[a]se/w/a/src/", "b[a]se/w/b/src/", "b[a]se/w/b/deep/src/", "b[a]se/w/file", "b[a]se/w/.hid/",
		"b[a]se/w/in => a", "b[a]se/w/out => ../../far", "b[a]se/w/gone => nowhere", "far/src/", "bae/w/wrong/", "b[a]se/w/{x,y}/", "b[a]se/q[1]/", "b[a]se/q1/")
	base := filepath.Join(top, "b[a]se")
	for pattern, want := range map[string]struct {
		paths   string
		skipped string
	}{
		"w/a":                             {"w/a", ""},
		"w/*":                             {"w/.hid w/a w/b w/{x,y}", "leads out"},
		"w/?":                             {"w/a w/b", ""},
		"w/[ab]":                          {"w/a w/b", ""},
		"w/{a,b}":                         {"w/a w/b", ""},
		"w/{a,n}":                         {"w/a", ""},
		"w/*/src":                         {"w/a/src w/b/src", ""},
		"w/**/**/**/src":                  {"w/a/src w/b/deep/src w/b/src", ""},
		"**/**src":                        {"w/a/src w/b/deep/src w/b/src", ""},
		"w/**/src":                        {"w/a/src w/b/deep/src w/b/src", ""},
		"w/**":                            {"w", ""},
		"w/b/**/**/":                      {"w/b", ""},
		"w/{x,y}":                         {"w/{x,y}", ""}, // it is really called so
		"q[1]":                            {"q[1]", ""},
		"q[2]":                            {"", "matches no directory"},
		"w/fil*":                          {"", "matches no directory"},
		"w/gon*":                          {"", "matches no directory"},
		"w/out*":                          {"", "leads out"},
		"w/out/*":                         {"../far/src", ""}, // what is named is followed
		"w/*/../..":                       {"", `a component ".."`},
		"w/{..,a}/*":                      {"", `a component ".."`},
		"nope/*":                          {"", "cannot be used: it does not exist"},
		"w/file/*":                        {"", "cannot be used: it is not a directory"},
		"w/[":                             {"", "cannot be read"},
		"w/{a":                            {"", "cannot be read"},
		"w/a{}":                           {"", "nothing between"},
		"w/a{x,}":                         {"", "nothing between"},
		"w/a{,x}":                         {"", "nothing between"},
		"w/[]a":                           {"", "empty []"},
		"w/*" + strings.Repeat("x", 5000): {"", "4096 bytes"},
		strings.Repeat("{", 100_000) + strings.Repeat("}", 100_000): {"", "4096 bytes"},
		strings.Repeat("{", 40) + "a" + strings.Repeat("}", 40):     {"", "braces inside each other"},
		strings.Repeat("{a,b}", 11):                                 {"", "more than 1000 others"},
		"*" + strings.Repeat("{a,{b,c,{d,e}}}", 6):                  {"", "more than 1000 others"},
	} {
		t.Run(pattern[:min(len(pattern), 20)], func(t *testing.T) {
			s := NewSnapshot(guard.OS{}, 1, OriginConfig, []RootEntry{SettingEntry(guard.OS{}, pattern, base)})
			var got []string
			for _, p := range s.Paths() {
				rel, err := filepath.Rel(base, p)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, filepath.ToSlash(rel))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want.paths {
				t.Errorf("%q, want %q; skipped %+v", got, want.paths, s.Skipped())
			}
			reasons := fmt.Sprint(s.Skipped())
			if (want.skipped == "") != (len(s.Skipped()) == 0) || !strings.Contains(reasons, want.skipped) {
				t.Errorf("skipped %s, want %q", reasons, want.skipped)
			}
		})
	}
	// A client's roots are no patterns, nor is a path without the rest.
	for _, e := range []RootEntry{{URI: platform.Host().FormatURI(base + "/w/*")}, {URI: "file://" + base + "/w/*"}} {
		if s := NewSnapshot(guard.OS{}, 1, OriginAsked, []RootEntry{e}); s.Len() != 0 {
			t.Errorf("%v", s.Paths())
		}
	}
	if s := NewSnapshot(guard.OS{}, 1, OriginConfig, []RootEntry{{URI: base + "/w/*"}}); s.Len() != 0 {
		t.Errorf("%v", s.Paths())
	}
}

func TestPatternBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 1_001 {
		if err := os.Mkdir(fmt.Sprintf("%s/%04d", dir, i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	list := func(pattern string) *Snapshot {
		return NewSnapshot(guard.OS{}, 1, OriginFlag, []RootEntry{SettingEntry(guard.OS{}, pattern, dir), {URI: dir + "/0000"}})
	}
	if s := list("*"); s.Len() != 1 || !strings.Contains(s.Skipped()[0].Reason, "more than 1000") {
		t.Errorf("%d roots, %+v", s.Len(), s.Skipped())
	}
	if s := list("*[1-9]"); s.Len() != 901 || len(s.Skipped()) != 0 {
		t.Errorf("control: %d roots, %+v", s.Len(), s.Skipped())
	}
	if err := os.Remove(dir + "/1000"); err != nil {
		t.Fatal(err)
	}
	if s := list("*"); s.Len() != 1_000 || len(s.Skipped()) != 0 {
		t.Errorf("%d roots, %+v", s.Len(), s.Skipped())
	}
	// What is looked at is bounded too, whether it matches or not.
	s := NewSnapshot(crowded{}, 1, OriginFlag, []RootEntry{SettingEntry(crowded{}, "**/x", dir)})
	if s.Len() != 0 || !strings.Contains(s.Skipped()[0].Reason, "100000 files") {
		t.Errorf("%v %+v", s.Paths(), s.Skipped())
	}
}

// crowded is a machine on which every directory holds the same.
type crowded struct{ guard.OS }

func (c crowded) ReadDir(_ string, n int) ([]os.DirEntry, bool, error) {
	list, more, err := c.OS.ReadDir("/", n)
	return list, more, err
}

// Patterns of one setting hold each other, and links are not followed out.
func TestPatternAndNestedRoots(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "w/a/", "w/b => a", "w/c => ../far", "far/")
	s := NewSnapshot(guard.OS{}, 1, OriginFlag, []RootEntry{SettingEntry(guard.OS{}, "w/c", dir), SettingEntry(guard.OS{}, "{w,w/*}", dir)})
	if got := s.Paths(); !slices.Equal(got, []string{dir + "/w", dir + "/w/a"}) {
		t.Errorf("%q, %+v", got, s.Skipped())
	}
}

func TestSplitRoots(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"a,b": {"a", "b"}, "a": {"a"}, "": {""}, "a,": {"a", ""}, "{a,b},c": {"{a,b}", "c"}, "x/{a,{b,c}}/y,z": {"x/{a,{b,c}}/y", "z"},
		"a{b,c": {"a{b", "c"}, "a}b,c": {"a}b", "c"}, "}{,a": {"}{", "a"}, "{a,b}}c,d": {"{a,b}}c", "d"}, "{{a,b},c": {"{{a,b}", "c"},
	} {
		if got := SplitRoots(list); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}

func TestFallbackPatterns(t *testing.T) {
	home := rootstest.Tree(t, "work/a/", "work/b/", "cfg/", "p/", "secret/f")
	t.Setenv("HOME", home)
	build := func(in FallbackInput) (string, int, error) {
		in.WorkDir, in.ConfigDir, in.FS = home+"/cfg", home+"/cfg", guard.OS{}
		f, warnings, err := BuildFallback(in)
		var out []string
		for _, r := range NewSnapshot(guard.OS{}, 1, f.Origin, f.Entries).Paths() {
			out = append(out, strings.TrimPrefix(r, home+"/"))
		}
		return f.Origin.String() + " " + strings.Join(out, " "), len(warnings), err
	}
	for name, tc := range map[string]struct {
		in   FallbackInput
		want string
		warn int
	}{
		"flag":            {FallbackInput{Flag: []string{"~/work/*"}}, "flag work/a work/b", 0},
		"flag of nothing": {FallbackInput{Flag: []string{"~/work/x*"}}, "flag ", 1},
		"flag and more":   {FallbackInput{Flag: []string{"~/work/x*", "~/p"}}, "flag p", 1},
		"environment":     {FallbackInput{Env: environment(EnvRoots, "~/work/{a,b}:../p")}, "environment work/a work/b p", 0},
		"config":          {FallbackInput{Config: []RootEntry{{URI: "../work/*", Name: "W"}, {URI: "../none*"}}}, "config work/a work/b", 1},
		"config, nothing": {FallbackInput{Config: []RootEntry{{URI: "../none*"}}, Env: environment(EnvProjectRoot, home+"/p")}, "project p", 1},
		"project":         {FallbackInput{Env: environment(EnvProjectRoot, home+"/work/*")}, "none ", 0}, // an error
	} {
		got, warnings, err := build(tc.in)
		if got != tc.want || warnings != tc.warn || (err != nil) != (name == "project") {
			t.Errorf("%s: %q, %d warnings, %v; want %q", name, got, warnings, err, tc.want)
		}
	}
	if _, _, err := build(FallbackInput{Flag: []string{"~/work/["}}); err == nil || !strings.Contains(err.Error(), "--roots") {
		t.Errorf("a pattern that cannot be read: %v", err)
	}
}
