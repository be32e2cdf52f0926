package mirror

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

func TestHeaderValue(t *testing.T) {
	t.Parallel()
	// The table of the specification (2026-07-28, Value Encoding), and more.
	for in, want := range map[string]string{
		"us-west1":            "us-west1",
		"Hello, 世界":           "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":            "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":        "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=":  "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?":           "=?base64?",
		"a\tb":                "a\tb",
		"a\r\nX-Evil: 1":      "=?base64?YQ0KWC1FdmlsOiAx?=",
		"\x00":                "=?base64?AA==?=",
		"":                    "",
		"file:///a b":         "file:///a b",
		"\u00a0":              "=?base64?wqA=?=",
		"tab at the end\t":    "=?base64?dGFiIGF0IHRoZSBlbmQJ?=",
		"two  blanks, inside": "two  blanks, inside",
	} {
		if got := Encode(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	const bad = "\x00"
	for raw, want := range map[string]string{
		"us-west1":                            "us-west1",
		"":                                    "",
		"a\tb c":                              "a\tb c",
		"=?base64?SGVsbG8sIOS4lueVjA==?=":     "Hello, 世界",
		"=?base64?IHBhZGRlZCA=?=":             " padded ",
		"=?base64?bGluZTEKbGluZTI=?=":         "line1\nline2",
		"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=": "=?base64?literal?=",
		"=?base64??=":                         "",
		"=?base64?SGVsbG8=":                   "=?base64?SGVsbG8=",
		"SGVsbG8=?=":                          "SGVsbG8=?=",
		"=?BASE64?SGVsbG8=?=":                 "=?BASE64?SGVsbG8=?=",
		"=?base64?=":                          bad, // the end of the one is the beginning of the other
		"=?base64?SGVsbG8?=":                  bad, // no padding
		"=?base64?SGVs!!!bG8=?=":              bad,
		"=?base64?SGVsbG9=?=":                 bad, // bits left over: a second spelling
		"=?base64?SGVs bG8=?=":                bad,
		"=?base64?SGVsbG8=SGVsbG8=?=":         bad,
		"=?base64?_-8=?=":                     bad, // the alphabet of URLs
		"=?base64?/w==?=":                     bad, // not UTF-8
		"größe":                               bad,
		"a\x00b":                              bad,
		"a\nb":                                bad,
		"a\x7f":                               bad,
	} {
		got, reason := Decode(raw)
		if want == bad && reason == "" || want != bad && (reason != "" || got != want) {
			t.Errorf("%q: %q, %q", raw, got, reason)
		}
	}
}

// Whatever a client encodes is read as what it was, and what is read has one
// reading: encoded again it reads the same.
func FuzzSentinel(f *testing.F) {
	for _, s := range []string{"", "a", " ", "=?base64?x?=", "=?base64?=", "größe", "a\nb", "=?base64?SGVsbG8=?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if utf8.ValidString(s) {
			theirs, ok := mcp.EncodeHeaderValue(s)
			for _, sent := range []string{Encode(s), theirs} {
				if got, reason := Decode(sent); ok && (reason != "" || got != s) {
					t.Errorf("%q is sent as %q and read as %q (%s)", s, sent, got, reason)
				}
			}
			if sent := Encode(s); strings.Trim(sent, " \t") != sent {
				t.Errorf("%q is sent as %q, which loses blanks", s, sent)
			}
		}
		got, reason := Decode(s)
		if reason != "" {
			return
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is read as %q", s, got)
		}
		if got != s { // it was encoded, and in the only way that there is
			if canonical := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(got)) + "?="; canonical != s {
				t.Errorf("%q and %q are both read as %q", s, canonical, got)
			}
		}
	})
}

// What a sender spells of a value, a receiver takes for that value, and for no other.
func TestTextIsTheSame(t *testing.T) {
	t.Parallel()
	value := rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return rapid.String().Draw(t, "string")
		case 1:
			return rapid.Bool().Draw(t, "boolean")
		case 2:
			return rapid.Int64().Draw(t, "integer")
		case 3:
			return rapid.Float64Range(-1e17, 1e17).Draw(t, "number")
		}
		return rapid.SampledFrom([]any{nil, []any{}, map[string]any{}, "true", "1", "", 1, 1.0, 1<<53 - 1, 1 << 53}).Draw(t, "odd")
	})
	seeds.Check(t, func(t *rapid.T) {
		a, errA := json.Marshal(value.Draw(t, "a"))
		b, errB := json.Marshal(value.Draw(t, "b"))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		said, ok := Text(a)
		if !ok {
			return
		}
		if got, reason := Decode(Encode(said)); reason != "" || got != said || !Same(got, a) {
			t.Errorf("%s is sent as %q and not taken for it (%q, %s)", a, Encode(said), got, reason)
		}
		other, isText := Text(b)
		if Same(said, b) && (!isText || other != said) {
			t.Errorf("%q, of %s, is taken for %s", said, a, b)
		}
	})
}

func TestTextOfAValue(t *testing.T) {
	t.Parallel()
	const none = "\x00"
	for raw, want := range map[string]string{
		`"a"`: "a", `""`: "", `"\u4e16"`: "世", `true`: "true", `false`: "false", `42`: "42", `42.0`: "42", `4.2e1`: "42", `-0`: "0", `-7`: "-7",
		`9007199254740991`: "9007199254740991", `9007199254740992`: none, `-9007199254740992`: none, `12345678901234567890`: none,
		`1.5`: none, `1e400`: none, `null`: none, `{}`: none, `[1]`: none, ``: none, `"\ud800"`: none,
	} {
		if got, ok := Text([]byte(raw)); ok != (want != none) || ok && got != want {
			t.Errorf("%s: %q, %v", raw, got, ok)
		}
	}
}
