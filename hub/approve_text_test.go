package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What is shown of a path cannot be read as anything else.
func TestLegible(t *testing.T) {
	for in, want := range map[string]string{
		"/etc/hosts":                `"/etc/hosts"`,
		"/a b/é/日本":                 `"/a b/é/日本"`,
		"/a\nAllow":                 `"/a\nAllow"`,
		`/a" and nothing else, "/b`: `"/a\" and nothing else, \"/b"`,
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
	} {
		if got := legible(in); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
}

func TestPathsThatCannotBeShownWholeAreNotAskedAbout(t *testing.T) {
	approving(t, nil, func(a *askedHub) {
		p := saying(yes)
		c, _ := a.client(p)
		long := a.at("data")
		for range 4 {
			long = filepath.Join(long, strings.Repeat("n", 200))
		}
		write(t, filepath.Join(long, "x"))
		a.refused(c, "kid__echo", reading(filepath.Join(long, "x")), "too long to be shown")
		var all []string
		for i := range mostAskedPaths + 1 {
			path := a.at("data", fmt.Sprint(i), "x")
			write(t, path)
			all = append(all, fmt.Sprintf("%q", path))
		}
		a.refused(c, "kid__echo", `{"paths":[`+strings.Join(all, ",")+`]}`, "more than a person can look over")
		a.asks(p, 0)
		odd := a.at("data", "a\nAllow everything\u202e")
		if err := os.MkdirAll(odd, 0o700); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip(err) // no such names there
			}
			t.Fatal(err)
		}
		write(t, filepath.Join(odd, "x"))
		_, _, _ = a.try(c, "kid__echo", reading(filepath.Join(odd, "x")))
		for _, said := range p.asked() {
			if strings.Contains(said, "\nAllow everything") || strings.Contains(said, "\u202e") {
				t.Errorf("asked %q", said)
			}
		}
	})
}
