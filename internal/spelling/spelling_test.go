package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*short)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"roots", "roots", 0}, {"rotos", "roots", 1}, {"timout", "timeout", 1},
		{"ca", "abc", 3}, {"größe", "grösse", 2}, {long, long + "y", 1}, {"y" + long, long, 1},
	} {
		if d := Distance([]rune(c.a), []rune(c.b)); d != c.want {
			t.Errorf("%.20q, %.20q: %d, want %d", c.a, c.b, d, c.want)
		}
		if d := Distance([]rune(c.b), []rune(c.a)); d != c.want {
			t.Errorf("%.20q, %.20q: %d, want %d", c.b, c.a, d, c.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	words := []string{"roots", "policy", "timeout"}
	for word, want := range map[string]string{"timout": "timeout", "Rotos": "roots", "x": "", "": "", "polcy": "policy", "something": ""} {
		if have := Suggest(word, words); have != want {
			t.Errorf("%q: %q, want %q", word, have, want)
		}
	}
}
