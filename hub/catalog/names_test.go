package catalog

import (
	"regexp"
	"strings"
	"testing"

	"mcphub/children/offers"
)

func TestExposedNames(t *testing.T) {
	t.Parallel()
	n := Names{}.WithDefaults()
	long := strings.Repeat("x", 60)
	plain := regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	cases := []struct{ child, prefix, tool, want string }{
		{"fs", "fs__", "read_file", "fs__read_file"},
		{"fs", "", "read_file", "read_file"},
		{"fs", "fs__", "a-b", "fs__a-b"},
		{"fs", "fs__", "a.b/c-d", "fs__a_b_c-d_" + makeMark("fs", "a.b/c-d", markSize)},
		{"fs", "my.fs.", "a", "my.fs.a"}, // a person wrote it
		{"fs", "", "a.b", "a_b_" + makeMark("fs", "a.b", markSize)},
		{"fs", "fs__", "with blank", "fs__with_blank_" + makeMark("fs", "with blank", markSize)},
		{"fs", "fs__", "naïve", "fs__na__ve_" + makeMark("fs", "naïve", markSize)},
		{"fs", "fs__", long, ("fs__" + long)[:50-9] + "_" + makeMark("fs", long, markSize)},
	}
	for _, c := range cases {
		got := n.exposedName(c.child, c.prefix, c.tool)
		if got != c.want {
			t.Errorf("%s%s: got %q, want %q", c.prefix, c.tool, got, c.want)
		}
		if written := c.prefix == "my.fs."; len(got) > n.Max || !written && !plain.MatchString(got) {
			t.Errorf("%q is not a name that every client takes", got)
		}
	}
	for _, most := range []int{MaxToolName, MaxToolName + 1} {
		n := Names{Max: most}.WithDefaults()
		if got := n.exposedName("fs", "fs__", "a.b/c"); (got == "fs__a.b/c") != (most > MaxToolName) {
			t.Errorf("names.max %d: %q", most, got)
		}
	}
	if n.exposedName("a", "a__", long+"1") == n.exposedName("a", "a__", long+"2") {
		t.Error("two long names became one")
	}
}

// TestLongNamesWithoutPrefix: names.max decides there too, so tools and prompts of up to 128
// characters (2025-11-25) have their own names where it says so. If it does not, each has
// one that fits, which leads to it.
func TestLongNamesWithoutPrefix(t *testing.T) {
	t.Parallel()
	var own, defs []string
	for _, size := range []int{50, 51, 64, 65, 100, 127, 128, 129, 300} {
		for _, last := range []string{"a", "b"} {
			own = append(own, strings.Repeat("x", size-1)+last)
			defs = append(defs, `{"name":"`+own[len(own)-1]+`","inputSchema":{}}`)
		}
	}
	for _, most := range []int{50, 128} {
		b := builder(t, "kid")
		b.cfg.Names.Max, b.cfg.Children[0].Prefix = most, ""
		c := b.Catalog(map[string]*Offer{"kid": b.Read("kid", &offers.RawOffer{Entries: offers.Entries{offers.Tools: raw(defs...), offers.Prompts: raw(defs...)}})})
		for _, k := range []offers.ListKind{offers.Tools, offers.Prompts} {
			names := listed(c, k, "name")
			if k == offers.Tools {
				names = names[1:] // the hub's own
			}
			if len(names) != len(own) {
				t.Fatalf("%d are listed", len(names))
			}
			for i, name := range names {
				ownName := ""
				if k == offers.Tools {
					ownName = c.Tool(name).OwnName
				} else {
					ownName = c.Item(k, name).OwnName
				}
				if fits := len(own[i]) <= most; (name == own[i]) != fits || len(name) > most || ownName != own[i] {
					t.Errorf("names.max %d: the one of %d characters is listed as %q, which is %q", most, len(own[i]), name, ownName)
				}
			}
		}
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Config{Children: []Child{{Name: "bare"}, {Name: "a", Prefix: "a__"}, {Name: "ab", Prefix: "ab__"}}})
	if got := strings.Join(b.Owners("ab__x"), " "); got != "ab bare" {
		t.Errorf("owners of ab__x: %q", got)
	}
	if got := strings.Join(b.Owners("zzz"), " "); got != "bare" {
		t.Errorf("owners of zzz: %q", got)
	}
}
