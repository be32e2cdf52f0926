package hints

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// TestKindOfFindsEveryWord: a text is looked at here and there, and no word is missed wherever it stands.
func TestKindOfFindsEveryWord(t *testing.T) {
	t.Parallel()
	for i := range words {
		if len(words[i].text) < 2*stride-1 {
			t.Fatalf("%q is too short to be found", words[i].text)
		}
		for before := range 2 * stride {
			text := []byte(strings.Repeat("x", before) + string(words[i].text))
			for after := range 2 * stride {
				if got := kindOf(append(text, bytes.Repeat([]byte("x"), after)...)); got != words[i].kind {
					t.Errorf("%q behind %d and before %d signs: %d, want %d", words[i].text, before, after, got, words[i].kind)
				}
			}
			if got := kindOf(text[:len(text)-1]); got != nothing {
				t.Errorf("a part of %q counts as the whole: %d", words[i].text, got)
			}
		}
	}
}

func TestKindOfIsASearchForEachWord(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.StringN(0, 6, 12), rapid.Custom(func(t *rapid.T) string {
			word := string(words[rapid.IntRange(0, len(words)-1).Draw(t, "word")].text)
			return word[rapid.IntRange(0, 2).Draw(t, "from"):]
		})), 0, 6).Draw(t, "parts")
		text := []byte(strings.Join(parts, ""))
		want := nothing
		for i := range words {
			if bytes.Contains(text, words[i].text) {
				want = words[i].kind
				break
			}
		}
		if got := kindOf(text); got != want {
			t.Fatalf("%q: %d, want %d", text, got, want)
		}
	})
}
