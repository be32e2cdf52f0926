package shell

import (
	"strings"
	"testing"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

// TestWhatTheGrammarRefusesIsSplitAtBlanks: what the grammar refuses is split at blanks and quotes, and each word is a path of an unknown program.
func TestWhatTheGrammarRefusesIsSplitAtBlanks(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{`pushd '/x`, `pushd=path? lost; '/x=path? lost in /x?; /x=path? lost in /x?; /x=path? lost in /x? | odd`},
		{`x -C '/y z`, `x=path? lost; -C=path? lost; '/y=path? lost in /y?; /y=path? lost in /y?; /y=path? lost in /y?; z=path? lost in /y?; "/y z"=path? whole lost in /y? | odd`},
		{`(cd '/x`, `(cd=path? lost; cd=path? lost; '/x=path? lost in /x?; /x=path? lost in /x?; /x=path? lost in /x? | odd`},
		{"a `b/c d", "a=path? lost; `b/c=path? lost; b/c=path? lost; b/c=path? lost; d=path? lost; \"b/c d\"=path? whole lost | odd"},
		{`'cd' "x`, `'cd'=path? lost; cd=path? lost; cd=path? lost; "x=path? lost in x?; x=path? lost in x?; x=path? lost in x? | odd`},
		{`$'\x41 'x`, `"A x"=command run lost | reads`},
		{`a "b c" '`, `a=path? lost; "b=path? lost; b=path? lost; b=path? lost; c"=path? lost; c=path? lost; c=path? lost; '=path? lost; ""=path? lost; ""=path? lost | odd`},
	})
}

// TestParseStack: what may make the parser call itself is counted, whatever it is part of.
func TestParseStack(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"": 0, "cat a b; c": 0, "(": bracketStack, "((": 2 * bracketStack, "{[`\"?": 5 * bracketStack, "-+!~=*&|<": 9 * chainStack, ")]}>'$#\\%^": 0,
		"if": bracketStack, "elif": bracketStack, "then x; else y": 2 * bracketStack, "while until for case select function time coproc do": 9 * bracketStack, "done": bracketStack, "xif": 0, "_if": bracketStack, "1if": bracketStack, "If": 0, "fi esac": 0, "i f": 0,
	} {
		if got := ParseStack(s); got != want {
			t.Errorf("%s: %d, want %d", s, got, want)
		}
	}
}

// TestReadBounds: what is too long, too deep or too much for the budget is read crudely or is a fault, and never left out.
func TestReadBounds(t *testing.T) {
	t.Parallel()
	fault := func(s string, most, work int) string {
		b := budget.New(0)
		b.Spend(budget.CallSteps - work)
		return Read(s, most, b).Fault
	}
	const all = budget.CallSteps
	shells := func(n int) string { return strings.Repeat("eval ", n) + ":" }
	nested := func(n int) string { // n shell strings in each other
		s := ":"
		for range n - 1 {
			s = "bash <<< " + quote(s)
		}
		return s
	}
	for _, c := range []struct {
		what, text string
		most, work int
		want       string
	}{
		{"no work", "a", 9, 0, "more words than can be judged"}, {"some work", "a", 9, 3*budget.WordSteps - 1, "more words than can be judged"}, {"enough work", "a", 9, 3 * budget.WordSteps, ""},
		{"words cost by their length", "a " + strings.Repeat("b", 800), 9, 4*budget.WordSteps + 200, "more words than can be judged"}, {"and no more", "a " + strings.Repeat("b", 800), 9, 4*budget.WordSteps + 201, ""},
		{"deep", "((((:) ) ) )", 9, all, ""}, {"three deep", "( ( : ) )", 3, all, "commands in commands more than 3 deep"}, {"four deep", "( ( : ) )", 4, all, ""}, {"two after each other", "( : ) ; ( : )", 3, all, ""},
		{"arithmetic", "((1+(2+(3+4))))", 9, all, ""}, {"deep arithmetic", "((1+(2+(3+4))))", 3, all, "commands in commands more than 3 deep"}, {"a deep test", "[[ ! ( ! -f x ) ]]", 3, all, "commands in commands more than 3 deep"}, {"a test", "[[ ! ( ! -f x ) ]]; [[ -f x ]]", 7, all, ""},
		{"words of one command", shells(9), 9, all, ""}, {"shells after each other", strings.Repeat("eval :;", maxShells+1), 9, all, ""}, {"shells in shells", nested(maxShells), 99, all, ""}, {"more shells", nested(maxShells + 1), 99, all, "more than 8 shell strings in each other"},
	} {
		if got := fault(c.text, c.most, c.work); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	crude := func(s string) bool { return Read(s, depth, budget.New(8<<20)).Odd }
	for _, c := range []struct {
		what, text string
		want       bool
	}{
		{"a long text", ": " + strings.Repeat("a", MaxScript-2), false}, {"a longer one", ": " + strings.Repeat("a", MaxScript-1), true}, {"NUL", "a\x00", true}, {"NUL first", "\x00", true},
		{"a deep stack", ": '" + strings.Repeat("(", MaxParseStack/bracketStack) + "'", false}, {"a deeper one", ": '" + strings.Repeat("(", MaxParseStack/bracketStack+1) + "'", true},
	} {
		if got := crude(c.text); got != c.want {
			t.Errorf("%s: crude %v", c.what, got)
		}
	}
	long := func(n int) int { return len(Read(": '"+strings.Repeat("a", n)+" /b' \"", depth, budget.New(0)).Items) }
	if n := long(chars.MaxPath - 3); n != long(chars.MaxPath-2)+1 {
		t.Errorf("%d words, with a quoted text that is too long %d", n, long(chars.MaxPath-2))
	}
}

// quote returns a text between single quotes.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// TestUnquote: quotes and escapes are dropped, and those of $'...' decoded.
func TestUnquote(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"": "", "a": "a", `'a'"b"`: "ab", "`a`": "a", `a\ b`: "a b", `$'\x41'`: "$A", `'\x41'`: "x41", "'a": "a"} {
		if got := Unquote(s); got != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
	}
}
