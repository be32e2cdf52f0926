package shell

import (
	"path"
	"strings"
	"testing"
)

func lines(list []string, ok bool) string {
	if !ok {
		return "too many"
	}
	return strings.Join(list, " ")
}

// TestExpandBraces: alternatives are written out, and braces without any stand for themselves.
func TestExpandBraces(t *testing.T) {
	t.Parallel()
	open := strings.Repeat("{", MaxBraces)
	for s, want := range map[string]string{
		"a": "a", "": "", "{a,b}": "a b", "x{a,b}y": "xay xby", "{a,b}{c,d}": "ac ad bc bd", "{a,{b,c}d}": "a bd cd", "a{,b}": "a ab", "{,}": " ", "{a,b}/{c": "a/{c b/{c",
		"{a}": "{a}", "{}": "{}", "{a": "{a", "a}": "a}", "{a}{b,c}": "{a}b {a}c", "{{a,b}}": "{a} {b}", "{a,b": "{a,b", "}{a,b}": "}a }b", "${x}/{a,b}": "${x}/a ${x}/b",
		"{a" + strings.Repeat(",a", MaxBraces-1) + "}": strings.TrimSuffix(strings.Repeat("a ", MaxBraces), " "), "{a" + strings.Repeat(",a", MaxBraces) + "}": "too many",
		strings.Repeat("{a,b}", 6): "ok", strings.Repeat("{a,b}", 7): "too many", "{{a,b}" + strings.Repeat(",a", MaxBraces-1) + "}": "too many",
		open: open, open + "{": "too many", strings.Repeat("{}", MaxBraces+1): strings.Repeat("{}", MaxBraces+1), strings.Repeat("}", 9) + open: strings.Repeat("}", 9) + open, strings.Repeat("}", 9) + open + "{": "too many",
	} {
		if got := lines(ExpandBraces(s)); got != want && (want != "ok" || len(strings.Fields(got)) != 64) {
			t.Errorf("%s\n got %s\nwant %s", s, got, want)
		}
	}
}

// TestWrittenOut: ranges and groups are alternatives as well.
func TestWrittenOut(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"{a..c}": "a b c", "{c..a}": "a b c", "{1..3}x": "1x 2x 3x", "{a..a}": "a", "{ab..c}": "*", "{a..bc}": "*", "{1..10}": "*", "{a..c..2}": "*", "{A..a}": "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z [ \\ ] ^ _ ` a", "{A..b}": "*", "{a..}": "{a..}", "{..c}": "{..c}", "{a,../b}": "a ../b", "{a/..b}": "{a/..b}",
		"@(a|b)": "a b", "+(a|b)x": "ax bx", "!(a|b)": "a b", "?(a)": " a", "*(a|b)": " a b", "@(a)": "a", "@(a|(b)": "@(a|(b)", "(a|b)": "(a|b)", "@(a": "@(a", "@(a|@(b|c))": "@(a|b) @(a|c)", "{a,b}": "a b",
		"{a" + strings.Repeat(",a", MaxBraces) + "}": "too many",
	} {
		if got := lines(WrittenOut(s)); got != want {
			t.Errorf("%s\n got %s\nwant %s", s, got, want)
		}
	}
}

// TestGlobs: what of a pattern is fixed, and whether it may climb.
func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s, fixed     string
		meta, climbs bool
	}{
		{"/a/b", "/a/b", false, false}, {"", "", false, false}, {"../a", "../a", false, false}, {"/a/b*/c", "/a/", true, false}, {"*", "", true, false}, {"a?", "", true, false}, {"/[a]", "/", true, false}, {"/a/{b", "/a/", true, false}, {"a]}", "a]}", false, false},
		{"/a/*/../b", "/a/", true, true}, {"*/..", "", true, true}, {"*/...", "", true, false}, {"*/.", "", true, false}, {"../*", "../", true, false}, {"*/..x", "", true, false},
		{"[.][.]/a", "", true, true}, {"[.]./a", "", true, true}, {"*/.[.a]", "", true, true}, {"*/[a].", "", true, false}, {"*/[.]", "", true, false}, {"*/[.][.][.]", "", true, false}, {"*/?.", "", true, false}, {"*/.*", "", true, false},
		{"[/]etc", "", true, true}, {"a[x/y]", "", true, true}, {"*/b[/]c", "", true, true}, {"[a]/[b]", "", true, false}, {"[a/b", "", true, false},
	} {
		if HasMeta(c.s) != c.meta || FixedPrefix(c.s) != c.fixed || GlobClimbs(c.s) != c.climbs {
			t.Errorf("%s: %v %q %v", c.s, HasMeta(c.s), FixedPrefix(c.s), GlobClimbs(c.s))
		}
	}
	for s, want := range map[string]bool{"[a]": true, "[abc]": true, "[]": true, "[": false, "": false, "a]": false, "[a]b": false, "[a][b]": false, "x[a]": false, "[a": false} {
		if IsOneClass(s) != want {
			t.Errorf("%s is one class: %v", s, !want)
		}
	}
}

// TestPlainText: what a glob library undoes before it matches, and what a shell leaves alone.
func TestPlainText(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"[e]tc": "etc", "[e-e]tc": "etc", `[\e]tc`: "etc", "[e-f]tc": "[e-f]tc", "[ef]tc": "[ef]tc", "[!e]tc": "[!e]tc", "[^]tc": "[^]tc", "[]tc": "[]tc", "[.][.]/[e]tc": "../etc", "etc": "etc",
		`\e/**`: "e/**", `\e\*/*`: "e*/*", `C:\e`: `C:\e`, `\e*.go`: "e*.go", `\e*`: `\e*`, `\e{a,b}`: "e{a,b}", `\e{a}`: `\e{a}`, `\e*.Go`: `\e*.Go`,
	} {
		if got := PlainText(s); got != want {
			t.Errorf("%s\n got %s\nwant %s", s, got, want)
		}
	}
	for s, want := range map[string]string{"{x}": "x", "a{x}b": "axb", "{{x}}": "x", "{}": "", "{a,b}": "{a,b}", "{{x},b}": "{x,b}", "{x": "{x", "x": "x"} {
		if got := WithoutLoneBraces(s); got != want {
			t.Errorf("%s\n got %s\nwant %s", s, got, want)
		}
	}
}

// TestMatchable: a component of a shell's pattern matches the same names by path.Match.
func TestMatchable(t *testing.T) {
	t.Parallel()
	hide := func(c rune) string { return string(hidden + c) }
	for _, c := range []struct{ part, matches, misses string }{
		{"a*", "a ab", "ba"}, {"?b", "ab", "b abb"}, {"[ab]c", "ac bc", "cc"}, {"[!a]c", "bc", "ac"}, {"[^a]c", "bc", "ac"}, {"[a-c]", "b", "d"}, {`a\b`, `a\b`, "ab"}, {"a]", "a]", "a"}, {"[a", "[a", "a"},
		{"[]x", "[]x", "x"}, {"[!]x", "[!]x", "ax"}, {"[]a]x", "]x ax", "bx"}, {"[!]a]x", "bx", "]x ax"}, {"[[]x", "[x", "ax"}, {`[\]x`, `\x`, "x"},
		{"[[:digit:]]x", "1x ax", "x"}, {"[[.a.]]x", "ax", "aax"}, {"[[=a=]]", "a", "aa"},
		{"a" + hide('*'), "a*", "ab"}, {hide('[') + "a" + hide(']'), "[a]", "a"}, {"[" + hide(']') + "]", "]", "a"}, {hide('?') + hide('{') + hide(','), "?{,", "a{,"},
	} {
		pattern := Matchable(c.part)
		for i, list := range []string{c.matches, c.misses} {
			for _, name := range strings.Fields(list) {
				if ok, err := path.Match(pattern, name); err != nil || ok != (i == 0) {
					t.Errorf("%q is %q, which matches %s: %v, %v", c.part, pattern, name, ok, err)
				}
			}
		}
		if got := Unhide.Replace(c.part); strings.ContainsFunc(got, func(r rune) bool { return r >= hidden }) {
			t.Errorf("%q stays hidden", got)
		}
	}
}
