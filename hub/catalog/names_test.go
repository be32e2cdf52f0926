package catalog

import (
	"strings"
	"testing"
)

func TestExposedNames(t *testing.T) {
	n := Names{}.WithDefaults()
	long := strings.Repeat("x", 60)
	cases := []struct{ child, prefix, tool, want string }{
		{"fs", "fs__", "read_file", "fs__read_file"},
		{"fs", "", "read_file", "read_file"},
		{"fs", "fs__", "a.b/c-d", "fs__a.b/c-d"},
		{"fs", "fs__", "with blank", "fs__with_blank_" + mark("fs", "with blank", markSize)},
		{"fs", "fs__", "naïve", "fs__na__ve_" + mark("fs", "naïve", markSize)},
		{"fs", "fs__", long, ("fs__" + long)[:50-9] + "_" + mark("fs", long, markSize)},
	}
	for _, c := range cases {
		got := n.exposed(c.child, c.prefix, c.tool)
		if got != c.want {
			t.Errorf("%s%s: got %q, want %q", c.prefix, c.tool, got, c.want)
		}
		if len(got) > n.Max || !acceptable(got) {
			t.Errorf("%q is not a name that every client takes", got)
		}
	}
	if n.exposed("a", "a__", long+"1") == n.exposed("a", "a__", long+"2") {
		t.Error("two long names became one")
	}
}

func TestOwners(t *testing.T) {
	b := NewBuilder(Config{Children: []Child{{Name: "bare"}, {Name: "a", Prefix: "a__"}, {Name: "ab", Prefix: "ab__"}}})
	if got := strings.Join(b.Owners("ab__x"), " "); got != "ab bare" {
		t.Errorf("owners of ab__x: %q", got)
	}
	if got := strings.Join(b.Owners("zzz"), " "); got != "bare" {
		t.Errorf("owners of zzz: %q", got)
	}
}
