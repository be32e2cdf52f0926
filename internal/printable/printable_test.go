package printable

import (
	"bytes"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
)

// attacks are texts that say something else than they show, with what stays.
var attacks = []struct{ in, want string }{
	{"a\x1b[31mred\x1b[0m b", "ared b"},
	{"a\x1b]0;title\x07b", "ab"},
	{"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"},
	{"a\u009b31mb", "ab"},
	{"a\u009d0;title\u009cb", "ab"},
	{"a\x1bPq...\x1b\\b", "ab"},
	{"a\x1b(Bb\x1bcd", "abd"},
	{"bell\x07 del\x7f nul\x00", "bell del nul"},
	{"ends in \x1b", "ends in "},
	{"ends in \x1b[3", "ends in "},
	{"an open one \x1b]0;ends\nwith its line", "an open one \nwith its line"},
	{"an odd one \x1b[3é", "an odd one é"},
	{"overwrites\rwritten", "overwriteswritten"},
	{"a\u202egpj.exe", "agpj.exe"},
	{"a\u2066b\u2069\u202ac\u202c", "abc"},
	{"tags\U000e0001\U000e0069\U000e0067\U000e006e\U000e007f.", "tags."},
	{"bits\u200b\u200c\u200d\u200b\u2060\ufeff in \u200bspace", "bits in space"},
	{"a letter\u200d\u200c\u200dbetween", "a letter\u200dbetween"},
	{"bytes x\ufe01\ufe02\U000e0101\U000e0102.", "bytes x\ufe01."},
	{"filler\u3164 and \u115f\u1160", "filler and "},
	{"bad \xff UTF-8 \xed\xa0\x80", "bad \ufffd UTF-8 \ufffd\ufffd\ufffd"},
	{"\ufeffbyte order", "byte order"},
}

// honest is text that people write: none of it may go.
var honest = []string{
	"", "plain\ttext\nwith lines\r\nof two systems", "Grüße, naïve café – “quotes” … €",
	"می\u200cخواهم", "نمی\u200cدانم که آیا", "שלום \u200fעולם\u200e (abc)", "ภาษาไทยที่\u200bใช้", "ខ្មែរ\u200bភាសា។\u200bនេះ",
	"क्\u200dष and क्\u200cष", "ශ්\u200dරී ලංකා", "日本語と葛\U000e0100城", "한국어", "e\u0301 \u00e9",
	"👨‍👩‍👧‍👦 ❤️‍🔥 🏳️‍🌈 👩🏽‍💻 1️⃣ #️⃣ *️⃣ ✔️ ☎️ ‼️ ⁉️ 〰️ ©️", "∑ x² ≤ √π", "C:\\Users\\x \\u001b[31m as text", "<b>&amp;</b> `code`",
}

func TestCleanRemovesWhatActsUnseen(t *testing.T) {
	t.Parallel()
	for _, c := range attacks {
		if got := Clean(c.in); got != c.want {
			t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestCleanLeavesHonestText(t *testing.T) {
	t.Parallel()
	for _, s := range honest {
		if got := Clean(s); got != s {
			t.Errorf("Clean(%q) = %q", s, got)
		}
	}
}

func TestEscapeShowsEverything(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, want string }{
		{"/plain/päth", "/plain/päth"},
		{"/a\nb\tc", `/a\nb\tc`},
		{"/a\x1b[31mred", `/a\x1b[31mred`},
		{"/a\u202egpj.exe", `/a\u202egpj.exe`},
		{"/a\u200bb", `/a\u200bb`},
		{"/a\u2028b", `/a\u2028b`},
		{"/a\u3164b\u2800", `/a\u3164b\u2800`},
		{"/a\xffb", `/a\xffb`},
		{strings.Repeat("é", 300), strings.Repeat("é", 200) + "…"},
	}
	for _, c := range cases {
		if got := Escape(c.in, 200); got != c.want {
			t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestWriterCleans(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if n, err := Writer(&b).Write([]byte("a\u202eb\n")); n != 6 || err != nil || b.String() != "ab\n" {
		t.Fatal(n, err, b.String())
	}
}

func FuzzPrintable(f *testing.F) {
	for _, c := range attacks {
		f.Add(c.in)
	}
	for _, s := range honest {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if again := Clean(got); again != got {
			t.Fatalf("Clean(%q) = %q, and of that %q", s, got, again)
		}
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > utf8.RuneCountInString(s) {
			t.Fatalf("Clean(%q) = %q", s, got)
		}
		last := rune(0)
		for _, r := range got {
			if r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 || setsDirection(r) || isTag(r) || isInvisible(last) && isInvisible(r) && !leavesMark(r) && !isVS(last) {
				t.Fatalf("Clean(%q) = %q, with %U", s, got, r)
			}
			last = r
		}
		if !Suspect(s) && got != s {
			t.Fatalf("%q was not suspect", s)
		}
		// Nothing is made up: what stays stands in s in that order.
		rest := strings.ToValidUTF8(s, "\ufffd")
		for _, r := range got {
			i := strings.IndexRune(rest, r)
			if i < 0 && r != utf8.RuneError {
				t.Fatalf("Clean(%q) = %q", s, got)
			}
			rest = rest[max(i, 0):]
		}
		one := Escape(s, 1<<20)
		for _, r := range one {
			if Hidden(r) {
				t.Fatalf("Escape(%q) = %q", s, one)
			}
		}
	})
}

func isVS(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180f
}

func TestWord(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"linear": "linear", "alice@login.example/realm": "alice@login.example/realm", "": "''", "my server": "'my server'",
		"--config": "'--config'", "a; rm -rf b": "'a; rm -rf b'", "o'brien": `'o'\''brien'`, "$(x)": "'$(x)'",
		"~root": "'~root'", strings.Repeat("a", 301): "'" + strings.Repeat("a", 300) + "…'", "-": "'-'",
	} {
		if got := word(name, false); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// A word comes through a shell as it is, and its line shows every character.
func TestBuildCommand(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]string{
		"mcphub logs kid":                        BuildCommand("mcphub logs", nil, "kid"),
		"mcphub logs -- -x":                      BuildCommand("mcphub logs", nil, "-x"),
		"mcphub allow --list -- -x":              BuildCommand("mcphub allow --list", nil, "-x"),
		"mcphub learn kid --confirm":             BuildCommand("mcphub learn", []string{"--confirm"}, "kid"),
		"mcphub learn --confirm -- -x":           BuildCommand("mcphub learn", []string{"--confirm"}, "-x"),
		"mcphub allow kid /a --write --calls":    BuildCommand("mcphub allow", []string{"--write", "--calls"}, "kid", "/a"),
		"mcphub allow --write --calls -- kid -a": BuildCommand("mcphub allow", []string{"--write", "--calls"}, "kid", "-a"),
		"auth login --principal -me -- --all":    BuildCommand("auth login", []string{"--principal", "-me"}, "--all"),
		"mcphub":                                 BuildCommand("mcphub", nil),
	} {
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCommandLineIsReadBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("its shells quote otherwise")
	}
	bash := needs.Program(t, "bash")
	check := func(t interface{ Fatalf(string, ...any) }, words []string) {
		line := CommandLine(append([]string{"printf", `%s\0`}, words...))
		if at := strings.IndexFunc(line, func(r rune) bool { return r == utf8.RuneError || Hidden(r) }); at >= 0 {
			t.Fatalf("%q hides something", line)
		}
		if at := shellEnd(line); at >= 0 {
			t.Fatalf("%s: dash or fish ends a word at %d", line, at)
		}
		out, err := exec.Command(bash, "-c", line).Output()
		if got, want := string(out), strings.Join(words, "\x00")+"\x00"; err != nil || got != want {
			t.Fatalf("%s: %v: read as %q, want %q", line, err, got, want)
		}
	}
	for _, word := range []string{"/a b", "$(touch x)", "`id`", "it's", `back\slash`, "new\nline", "tab\tand\rreturn", "-n", "--config=x", "~/x", "=ls", "", "!!", "#x", "a;b|c&d", "*?[x]{1,2}", "\u202egpj", "ü ö", "\xff\xfe", "'\n'", `\'` + "\n", "\x1b[31m", "\u00a0", `/repo/\';touch pwned;#`, "/repo/\u200b';touch pwned;#", "KEY=~/x", "x=~root:~"} {
		check(t, []string{word, "behind"})
	}
	seeds.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) }), rapid.StringOf(rapid.RuneFrom([]rune(" \n'\"\\$`!(-~=\t0é"))))
		words := rapid.SliceOfN(rapid.Map(word, func(s string) string { return strings.ReplaceAll(s, "\x00", "") }), 1, 4).Draw(t, "words")
		check(t, words)
	})
}

// shellEnd returns where a line leaves its quotes for a shell that reads \' and \\ between single quotes as fish does, and $'...' as dash
// does, although it does not for the others; -1 for nowhere.
func shellEnd(line string) int {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted = !quoted
		case c != '\\':
		case !quoted:
			i++
		case i+1 < len(line) && (line[i+1] == '\'' || line[i+1] == '\\'):
			return i
		}
	}
	return -1
}
