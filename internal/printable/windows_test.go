package printable

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/internal/lazyregexp"
)

// TestCommandLineOfWindows: a word is bare or in double quotes, and a character that cmd or PowerShell reads there is written for PowerShell.
func TestCommandLineOfWindows(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		`C:\work\app\hub.json`: `C:\work\app\hub.json`, `C:\My Projects (2024)\x`: `"C:\My Projects (2024)\x"`, `C:\My Projects\`: `"C:\My Projects\\"`,
		"--config": "--config", `--config=C:\hub.json`: `"--config=C:\hub.json"`, "-a.b": `"-a.b"`, "it's": `"it's"`, "a,b": `"a,b"`, "@x": `"@x"`, "~x": `"~x"`, "~": `"~"`, "x~1": "x~1",
		"": `""`, "a&calc": `"a&calc"`, `a"&calc&"`: `"a$([char]34)&calc&$([char]34)"`, "%PATH%": `"$([char]37)PATH$([char]37)"`, "$(calc)": `"$([char]36)(calc)"`, "a`b": `"a$([char]96)b"`,
		"a\u201db": `"a$([char]8221)b"`, "a\nb": `"a$([char]10)b"`, "a\U000e0069b": `"a$([char]56128)$([char]56425)b"`, "ü b": `"ü b"`, "Büro": `"Büro"`, "x;y": `"x;y"`,
	} {
		if got := commandLine([]string{"mcphub", word}, true); got != "mcphub "+want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// TestWordOfWindows: a name that looks like an option is in quotes.
func TestWordOfWindows(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"linear": "linear", "my server": `"my server"`, "--config": `"--config"`, "-": `"-"`, "a & calc": `"a & calc"`} {
		if got := word(name, true); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// asCmd fits a line of which cmd runs one program: nothing stands outside quotes that cmd reads, and no % stands anywhere.
var asCmd = lazyregexp.New(`^(?:(?:[A-Za-z0-9_@+=:./\\~-]+|"[^"%\x00-\x1f]*")(?: |$))+$`)

// asPowerShell is what PowerShell reads between double quotes.
var asPowerShell = lazyregexp.New("\\$\\(\\[char\\](\\d+)\\)|[$`\"\u201c\u201d\u201e]")

// TestCommandLineOfWindowsIsReadBack: by the rules of PowerShell and of a program that reads its line, each word is what it was.
func TestCommandLineOfWindowsIsReadBack(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		one := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune(" '\"\\$`%!^&|<>(),;@~-=.\t\n\u201da0é"))))
		words := rapid.SliceOfN(one, 1, 4).Draw(t, "words")
		line := commandLine(words, true)
		if !asCmd.MatchString(line) || strings.ContainsFunc(line, Hidden) {
			t.Fatalf("%q: %s", words, line)
		}
		for _, want := range words {
			got, rest := "", ""
			if quoted, ok := strings.CutPrefix(line, `"`); ok {
				got, rest, _ = strings.Cut(quoted, `"`)
				bare := strings.TrimRight(got, `\`)
				got = asPowerShell.ReplaceAllStringFunc(bare+got[len(bare)+(len(got)-len(bare))/2:], func(found string) string {
					n, err := strconv.Atoi(strings.Trim(found, "$([char])"))
					if err != nil {
						t.Fatalf("%q: PowerShell reads %s in %s", words, found, line)
					}
					return string(rune(n))
				})
				line = strings.TrimPrefix(rest, " ")
			} else {
				got, line, _ = strings.Cut(line, " ")
			}
			if got != want && !strings.ContainsFunc(want, func(r rune) bool { return r > 0xffff }) {
				t.Fatalf("%q is read as %q", want, got)
			}
		}
	})
}
