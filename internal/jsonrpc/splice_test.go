package jsonrpc

import (
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// TestSplice compares Splice with the obvious way: cut and join strings.
func TestSplice(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		raw := []byte(rapid.StringN(2, 40, 80).Draw(t, "raw"))
		// Four cuts in order; what is cut out, as a JSON value, is never empty.
		a := rapid.IntRange(0, len(raw)-2).Draw(t, "a")
		b := rapid.IntRange(a+1, len(raw)-1).Draw(t, "b")
		c := rapid.IntRange(b, len(raw)-1).Draw(t, "c")
		d := rapid.IntRange(c+1, len(raw)).Draw(t, "d")
		first, second := Edit{Old: raw[a:b], With: []byte("ONE")}, Edit{Old: raw[c:d], With: []byte("TWO")}
		want := string(raw[:a]) + "ONE" + string(raw[b:c]) + "TWO" + string(raw[d:])
		if got := string(Join(Splice(raw, first, second))); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if got := string(Join(Splice(raw, second, first))); got != want {
			t.Fatalf("the order of edits matters: got %q, want %q", got, want)
		}
	})
}
