package shell

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mcphub/validate/budget"
)

// TestVariablesOf: every name that stands in the text without a dollar sign may be given a value, if the text uses any.
func TestVariablesOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x=1; cat y": "", "x=1; cat $y": "cat x", "export a_1=2 $b": "a_1 export", "_x=1 ${y} $#z !w": "_x", "x= ; $y": "", "x=; $y": "", `x=""; $y`: "", "x=''; $y": "", "unset  x; $y": "", "x=a $y": "a x", "1x $y": "", "12 $y": "", "a.b $y": "a b", "$x x": "x",
		strings.Repeat("a", 255) + " $y": strings.Repeat("a", 255), strings.Repeat("a", 256) + " $y": "",
	} {
		v := VariablesOf(text)
		if got := strings.Join(slices.Sorted(maps.Keys(v.names)), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	for text, want := range map[string]bool{"f() { cat $1; }": true, "function f { cat $1; }": true, "set x; cat $1": true, "sh -c 'cat $1' x y": true, "find . -exec cat $1": true, "shift; cat $1": true, "cat $1": false, "f()": false} {
		if VariablesOf(text).positional != want {
			t.Errorf("%s gives $1 a value: %v", text, !want)
		}
	}
}

// TestWithoutVariables: a word whose variables hold nothing. A dash is none.
func TestWithoutVariables(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string { return map[string]string{"FULL": "x"}[name] }
	for _, c := range []struct{ text, word, want string }{
		{"", "a", "-"}, {"", "$X/etc", "/etc"}, {"", "${X}/etc", "/etc"}, {"", "a$X/b", "a/b"}, {"", "$X", ""}, {"", "$X$Y/etc", "/etc"}, {"", "$/etc", "-"}, {"", "a$", "-"},
		{"", "$FULL/etc", "-"}, {"", "$PWD/etc", "-"}, {"", "$OLDPWD/etc", "-"}, {"", "${X:-y}/etc", "-"}, {"", "${!}/etc", "-"},
		{"", "$1/etc/x", "/etc/x"}, {"", "$@/etc/x", "/etc/x"}, {"", "$*/etc/x", "/etc/x"}, {"", "$0/etc/x", "-"}, {"", "$1/etc", "-"},
		{"", "${base}/lib", "-"}, {"", "${base}/lib/x", "/lib/x"}, {"", "${BASE}/lib", "/lib"}, {"", "${BASE}${x}/lib", "-"}, {"", "${base}lib", "lib"},
		{"X=1 $X", "$X/etc", "-"}, {"X=1 $X", "$X~", "-"}, {"X=1 $X", "$X", "-"}, {"X=1 $X", "a$X", "a"}, {"X=1 $X", "$Y/etc", "/etc"}, {"f() { $1; }", "$1/etc/x", "-"}, {"f() { $1; }", "a$1", "a"},
		{"", strings.Repeat("a", 4094) + "$X", strings.Repeat("a", 4094)}, {"", strings.Repeat("a", 4095) + "$X", "-"},
	} {
		got, ok := WithoutVariables(c.word, VariablesOf(c.text), getenv)
		if !ok {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%s %.50s: got %.50q, want %.50q", c.text, c.word, got, c.want)
		}
	}
}

// TestDotVariables: a variable that is a whole component may be the working directory.
func TestDotVariables(t *testing.T) {
	t.Parallel()
	long := "$X/" + strings.Repeat("a", 4093)
	for w, want := range map[string]string{
		"$X/a": "./a", "${X}/a": "./a", "a/$X/../b": "a/./../b", "$1/a": "./a", "$@/a": "./a", "$*/a": "./a", "$X$X/a": "../a", "a/${X}${X}/b": "a/../b", "$1$1/a": "../a", "$X$Y/a": "$X$Y/a", "$X$X": "$X$X", "a$X/b": "a$X/b", "$Xa/b": "./b", "${X}a/b": "${X}a/b", "a/$X": "a/$X", "$X": "$X", "a/b": "a/b", "$-/a": "$-/a", "a/$": "a/$", "$X/11/b": "./11/b", "$X/1/@/b": "./1/@/b", "$": "$",
		long: "." + long[2:], long + "a": long + "a",
	} {
		if got := DotVariables(w); got != want {
			t.Errorf("%.50s: got %.50s, want %.50s", w, got, want)
		}
	}
}

// TestDollarName: which spellings name a variable, and what it is without a value.
func TestDollarName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s, name, fallback string
		n                 int
	}{
		{"$X", "X", "", 2}, {"$x_1/a", "x_1", "", 4}, {"$_", "_", "", 2}, {"$env:X/a", "X", "", 6}, {"$ENV:x", "x", "", 6}, {"$env:", "env", "", 4}, {"$env", "env", "", 4}, {"$envy:x", "envy", "", 5}, {"${X}a", "X", "", 4}, {"${env:X}", "X", "", 8}, {"${userHome}/x", "HOME", "", 11},
		{"${X:-/y}", "X", "/y", 8}, {"${X-y}", "X", "y", 6}, {"${X:=y}", "X", "y", 7}, {"${X+y}", "X", "y", 6}, {"${X:?y}", "X", "y", 7}, {"${X:-}", "X", "", 6}, {"${X:1}", "X", "", 6}, {"${X%y}", "X", "", 6}, {"${X:-${Y:-z}}w", "X", "${Y:-z}", 13}, {"${}", "", "", 3}, {"${#X}", "", "", 5}, {"${1}", "1", "", 4},
		{"", "", "", 0}, {"$", "", "", 0}, {"X", "", "", 0}, {"$1", "", "", 0}, {"$$", "", "", 0}, {"${X", "", "", 0}, {"${X:-{}", "", "", 0}, {"$/", "", "", 0}, {"$env:1", "", "", 0},
		{"${" + strings.Repeat("X", MaxDollar-3) + "}", strings.Repeat("X", MaxDollar-3), "", MaxDollar}, {"${" + strings.Repeat("X", MaxDollar-2) + "}", "", "", 0},
	} {
		if name, fallback, n := DollarName(c.s); name != c.name || fallback != c.fallback || n != c.n {
			t.Errorf("%.50s: %.50q %q %d", c.s, name, fallback, n)
		}
	}
}

// TestExpanded: a word becomes every text that the values in the string make of it, within a bound.
func TestExpanded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, word, want string }{
		{"x=a", "$x/b", "a/b"}, {"x=a; x=b", "${x}c", "ac bc"}, {"x=a; x=a", "$x", "a"}, {"x=a; y=b", "$x$y", "a$y ab"}, {"x=$y; y=b", "$x", "${y} b"}, {"x=a", "$y", ""}, {"x=a", "b", ""}, {"x=a; x+=b", "$x", "a ab"}, {"x=a; x=$x/b", "$x", "a a/b /b"},
		{"for x in a b; do :; done", "$x", "a b"}, {"export x=a", "$x", "a"}, {"x=(a b)", "$x", ""}, {"x=a cat", "$x", "a"},
	} {
		r := Read(c.text+"; echo $", depth, budget.New(0))
		list, all := r.Expanded(c.word)
		if got := strings.Join(list, " "); got != c.want || !all {
			t.Errorf("%s; %s\n got %s %v\nwant %s", c.text, c.word, got, all, c.want)
		}
	}
	r := Read("x=a; x=b; x=c", depth, budget.New(0))
	if list, all := r.Expanded(strings.Repeat("$x", 5)); !all || len(list) != 3+9+27+81+243 {
		t.Errorf("%d texts, all of them: %v", len(list), all)
	}
	if list, all := r.Expanded(strings.Repeat("$x", 6)); all || list != nil {
		t.Errorf("%d texts, all of them: %v", len(list), all)
	}
	r.work = new(budget.Budget)
	if _, all := r.Expanded("$x"); all || r.Fault == "" {
		t.Error("the budget does not pay for it")
	}
}
