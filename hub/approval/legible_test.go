package approval

import (
	"strings"
	"testing"
)

// What is shown of a path cannot be read as anything else.
func TestLegible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/etc/hosts":                `"/etc/hosts"`,
		"/a b/é/日本":                 `"/a b/é/日本"`,
		"/a\nAllow":                 `"/a\nAllow"`,
		`/a" and nothing else, "/b`: `"/a\x22 and nothing else, \x22/b"`,
		`\u0061`:                    `"\\u0061"`,
		"/a\u202egpj.exe":           `"/a\u202egpj.exe"`,
		"/a\u2066b\u2069":           `"/a\u2066b\u2069"`,
		"/a\u200bb\u00adc\u00a0d":   `"/a\u200bb\u00adc\u00a0d"`,
		"/a\u3164b\u2800c\ufe0fd":   `"/a\u3164b\u2800c\ufe0fd"`,
		"/a\x1b[2J\x07\x00b":        `"/a\x1b[2J\a\x00b"`,
		"/a\xffb":                   `"/a\xffb"`,
		"/<b>`x`</b> [y](z) *":      `"/\x3cb>\x60x\x60\x3c/b> [y]\x28z) \x2a"`,
		"/e\u0301\u0301\u0301":      "\"/e\u0301\\u0301\\u0301\"",
		"/שלום":                     "\"/שלום\" (in the order of its letters: \"/\\u05e9\\u05dc\\u05d5\\u05dd\")",
		"":                          `""`,
		"/a  b   c":                 `"/a \x20b \x20\x20c"`,
		"/__init__.py /_x_ a_b":     `"/\x5f\x5finit\x5f\x5f.py /\x5fx\x5f a_b"`,
		"/&amp;&#47;~~x~~ ~/y":      `"/\x26amp;\x26#47;~\x7ex~\x7e ~/y"`,
	} {
		if got := quoteLegible(in); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
}

// The arguments of a call are shown decoded: no escape of JSON hides what they say, and nothing in them ends a string.
func TestLegibleJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"command":"ls -l"}`:                        `{"command":"ls -l"}`,
		`{"c":"\u0072\u006d -rf \/"}`:                `{"c":"rm -rf /"}`,
		`{"c":"a\nb\tc\\n"}`:                         `{"c":"a\nb\tc\\n"}`,
		`{"c":"x\",\"decision\":\"allow"}`:           `{"c":"x\x22,\x22decision\x22:\x22allow"}`,
		"{\"c\":\n\n\n1}":                            `{"c":\n\n\n1}`,
		`{"\u202e":[1,null,{"k":"\ud83d\ude00"}]}`:   `{"\u202e":[1,null,{"k":"😀"}]}`,
		`{"c":"ls` + strings.Repeat(" ", 3) + `;x"}`: `{"c":"ls \x20\x20;x"}`,
		`{"c":"\ud800"}`:                             `{"c":"\ud800"}`,
		`{"c":"open`:                                 `{"c":"open`,
	} {
		if got := legibleJSON([]byte(in)); got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}
