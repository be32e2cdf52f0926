package text

import (
	"slices"
	"testing"

	"mcphub/validate/budget"
)

// words returns what a Reader yields of a text, line by line. A word that counts only if it exists ends in "?".
func words(s string, r Reader) (list []string) {
	first := true
	for line := range Lines(s) {
		r.Words(line, first, func(word string, exists bool) {
			if exists {
				word += "?"
			}
			list = append(list, word)
		})
		first = false
	}
	return list
}

func TestWordsOfATextAreFound(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"":                              nil,
		"/etc/passwd":                   {"/etc/passwd"},
		"open(/etc/passwd)":             {"/etc/passwd", "open"},
		"read the file /etc/passwd":     {"read"},
		"x\nmay read /etc/passwd":       {"x", "/etc/passwd"},
		"x\nmay read /etc/passwd today": {"x"},
		"x\n.read /a /b":                {"x", ".read", "/a", "/b"},
		"x\ny # /etc/passwd":            {"x", "y"},
		"--file=/etc/x":                 {"/etc/x", "--file=/etc/x"},
		"git@host:/x":                   {"host:/x", "git@host:/x"},
		"https://host/?x=/etc/x":        {"https://host/?x=/etc/x"},
		"x\npath: /My Files/x":          {"x", "/My Files/x?", "Files/x"},
		"a\u2028/etc/x":                 {"a", "/etc/x"},
		"$q$/etc/x$q$":                  {"/etc/x"},
		"data:/etc/x":                   {"data:/etc/x"},
	} {
		if got := words(s, Reader{Work: budget.New(1000)}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got := words("data:/etc/x", Reader{Work: budget.New(1000), Query: true}); !slices.Contains(got, "/etc/x") {
		t.Errorf("a query has no volumes: %q", got)
	}
}

func TestEachQuoted(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		`say "a b" and 'c'`: {"a b", "c", "", " and 'c'"},
		`'it''s /x'`:        {"it", "doubled it's /x", "", "s /x", ""},
		`[a b] $t$ c $t$`:   {"a b", " c "},
		`"open`:             {"open"},
	} {
		var got []string
		EachQuoted(s, budget.New(1000), func(v string) { got = append(got, v) }, func(v string) { got = append(got, "doubled "+v) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestEachPart(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"a":     nil,
		"a,b":   {"a", "b"},
		"a,b:c": {"a", "b:c", "a,b", "c", "a", "b", "c"},
		"a b,c": {"a b", "c", "a", "b,c", "a", "b", "c"},
	} {
		var got []string
		EachPart(s, ",:", budget.New(1000), func(part string) { got = append(got, part) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// TestEachHeader: what a hunk covers is no header, whatever it looks like.
func TestEachHeader(t *testing.T) {
	t.Parallel()
	const hidden = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- /etc/hidden\n+++ /etc/hidden\n x\n--- a/y\n+++ b/y\n"
	for s, want := range map[string][]string{
		hidden:                                   {"a/x", "b/x", "a/y", "b/y"},
		"diff --git a/x b/y\nrename to /etc/z\n": {"a/x", "b/y", "/etc/z"},
		"*** Begin Patch\n*** Add File: /x\n":    {"/x"},
		"prose":                                  nil,
	} {
		var got []string
		EachHeader(s, budget.New(1000), func(name string) { got = append(got, name) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if IsPatch(s) != (want != nil) {
			t.Errorf("%q is a patch: %t", s, IsPatch(s))
		}
	}
}
