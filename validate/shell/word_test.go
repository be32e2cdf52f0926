package shell

import (
	"strings"
	"testing"

	"mcphub/validate/budget"
)

// TestWordsAreWhatProgramsAreHanded: the words of a string, as its programs are handed them.
func TestWordsAreWhatProgramsAreHanded(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{`cat a.txt`, `cat=command run; a.txt=read`},
		{`cat 'a b' "c d" e\ f`, `cat=command run; "a b"=read; "c d"=read; "e f"=read`},
		{`cat a'b'"c"\d`, `cat=command run; abcd=read`},
		{`cat $'\x41\n'`, `cat=command run; "A\n"=read`},
		{`cat "a\nb\$c\"d\\e"`, `cat=command run; a\nb$c"d\e=read`},
		{`cat "$x" $x ${x} a$x`, `cat=command run lost; ${x}=read lost; ${x}=read lost; ${x}=read lost; a${x}=read lost`},
		{`x=1; cat "$x"`, `x=1=assign? lost; cat=command run lost; ${x}=read lost`},
		{`cat ${x:-/y} "${x:=z}"`, `cat=command run lost; /y=path? lost; ${x:-/y}=read lost; z=path? lost; ${x:=z}=read lost`},
		{`cat ${x#/p} ${x%$(ls /q)}`, `cat=command run lost; ${x#/p}=read lost; ls=command run captured lost; /q=read captured lost; "${x%$(ls /q)}"=read lost | reads`},
		{`cat ${x/a/b} ${PWD%/*} ${PWD:0}`, `cat=command run lost; b=path? lost; ${x/a/b}=read lost; ../=read lost; ../=read lost`},
		{`cat ${#x} $# $? $$ $!`, `cat=command run; 0=read; 0=read; 0=read; 0=read; 0=read`},
		{`cat ${x[$(id)]} ${x:$(id)}`, `cat=command run lost; id=command run captured lost; ${x[$(id)]}=read lost; id=command run captured lost; ${x:$(id)}=read lost | reads`},
		{`cat $_ $BASH_ENV`, `cat=command run lost; ${_}=read lost; ${BASH_ENV}=read lost | odd`},
		{`cat a${IFS}b "$IFS"`, `cat=command run; a=read; b=read; ${IFS}=read`},
		{"cat $(ls) \"$(ls)\" `pwd` $(pwd)/x $(dirname \"$PWD\")/y", `cat=command run lost; ls=command run captured lost; □=read lost; ls=command run captured lost; □=read lost; pwd=command run captured lost; ${PWD}=read lost; pwd=command run captured lost; ${PWD}/x=read lost; dirname=command run captured lost; ${PWD}=print captured lost; ../y=read lost | reads`},
		{`cat $(( $(id) + 1 ))`, `cat=command run lost; id=command run captured lost; 0=read lost | reads`},
		{`cat <(ls /x)`, `cat=command run lost; ls=command run captured lost; /x=read captured lost; □=read lost | reads`},
		{`cat @(a|b) *.go -* [ "*"`, `cat=command run lost; @(a|b)=path lost; *.go=path lost; -*=path? lost; [=path lost; *=path lost`},
		{`cat !$ a!b`, `cat=command run lost; !$=read lost; a!b=read lost | odd`},
		{`cat ${1} ${10}`, `cat=command run lost; $1=read lost; ${10}=read lost`},
		{`cat $_`, `cat=command run lost; ${_}=read lost | odd`},
		{`cat $BASH_ENV`, `cat=command run lost; ${BASH_ENV}=read lost | odd`},
		{`cat $BASHES`, `cat=command run lost; ${BASHES}=read lost`},
		{`cat a\`, `cat=command run; a\=read`},
		{`cat $1 "$@"`, `cat=command run lost; $1=read lost; $@=read lost`},
		{`cat ~/x`, `cat=command run; ~/x=read`},
		{"cat a\\\nb", `cat=command run; ab=read`},
		{`cat 'a*'b* a'{'b`, `cat=command run; a*b*=read; a{b=read`},
		{`cat x$$y`, `cat=command run; x0y=read`},
		{`cat "$x"$y $x""`, `cat=command run lost; ${x}${y}=read lost; ${x}=read lost`},
		{`x= ; cat a$x/b`, `cat=command run lost; a${x}/b=read lost`},
		{`cat ${!x} ${x@Q} ${x^}`, `cat=command run lost; ${!x}=read lost; Q=path? lost; ${x@Q}=read lost; ${x^}=read lost`},
		{`cat ${IFS}a`, `cat=command run; a=read`},
		{`cat a$IFS$IFS`, `cat=command run; a=read; ""=read`},
		{`cat ${#IFS}`, `cat=command run; 0=read`},
		{"cat \"a`id`b\"", `cat=command run lost; id=command run captured lost; a□b=read lost | reads`},
		{`cat \$x \*`, `cat=command run; $x=read; *=read`},
		{`cat -${x}`, `cat=command run lost; -${x}=path? lost`},
		{`cat -a=*`, `cat=command run; -a=*=path?`},
		{`cat {a,b} ?a a?`, `cat=command run lost; {a,b}=read lost; ?a=read lost; a?=read lost`},
		{"cat `dirname $PWD`/x `dirname /a`", `cat=command run lost; dirname=command run captured lost; ${PWD}=print captured lost; ../x=read lost; dirname=command run captured lost; /a=print captured lost; □=read lost | reads`},
		{`cat ${x:+$(id)}`, `cat=command run lost; id=command run captured lost; □=path? lost; ${x:+$(id)}=read lost | reads`},
		{`echo ${x:-$(cat /y)}`, `echo=command run lost; cat=command run captured lost; /y=read captured lost; □=path? lost; "${x:-$(cat /y)}"=print lost | reads`},
		{`cat $PWD ${PWD} ${PWD#/}`, `cat=command run lost; ${PWD}=read lost; ${PWD}=read lost; ${PWD#/}=read lost`},
		{"cat a\\\"b \"a\\\nb\"", `cat=command run; a"b=read; ab=read`},
	})
}

// TestSpellings: what a command prints may be nothing, or the working directory.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a/b": "a/b", "": "", "□": "|.", "a□": "a|a", "a/□/b": "a//b|a/./b", "□/../b": "/../b|./../b", "□/lib": "./lib", "□/lib/": "/lib/|./lib/", "□/a/b": "/a/b|./a/b", "a□/lib": "a/lib|a/lib", "□□/x/y": "/x/y|/x/y", "□lib": "lib|lib",
	} {
		w := Word{Text: strings.ReplaceAll(text, "□", substituted)}
		if got := strings.Join(w.Spellings(), "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestPatterns: what was quoted in a word matches nothing but itself.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"a*": "a*", "'a*'": "a\ue02a", `"a?"b?`: "a\ue03fb?", `a\*\[`: "a\ue02a\ue05b", `"{a,b]"`: "\ue07ba\ue02cb\ue05d", "$'*'": "\ue02a", `"$x"*`: "${x}*", "X='*'": "X=\ue02a"} {
		items := Read("f; "+s, depth, budget.New(0)).Items
		if got := items[len(items)-1]; got.Pattern != want {
			t.Errorf("%s is %q, want %q", s, got.Pattern, want)
		}
	}
}

// TestEachReading: a reading begins and ends at whatever sign a program may take for the end of a value, and ${...} stays whole.
func TestEachReading(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"":                 "",
		"/a":               "",
		"f(/a)":            "f /a) /a",
		"x=/a;b":           "x /a;b /a b",
		"--o=k=v":          "--o k=v k v",
		"-o/x":             "/x",
		"-L../../x":        "../../x ../../x",
		"-xf../x":          "f../x ../x ../x",
		"HEAD:../x":        "HEAD ../x",
		"a:1:2":            "a 1:2 1 a:1 2",
		"a#L3":             "a",
		"@x":               "x",
		"a..b":             "",
		"k=../a/../b":      "k ../a/../b",
		"https://h/x?a=/b": "",
		"u=https://h/x:/b": "u https://h/x:/b",
		"u=https://h,/b":   "u https://h,/b https://h /b",
		"me@h:/b":          "me h:/b",
		"${x:-/y}/z":       "",
		"a=${x:-/y}=b":     "a ${x:-/y}=b ${x:-/y} b",
		"'/'":              "",
		"('/')":            "/') /",
		"x=/":              "x /",
		`a=\.\./b`:         "a",
		"!x":               "x",
	} {
		var list []string
		EachReading(token, func(s string, _ byte) { list = append(list, s) })
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", token, got, want)
		}
	}
	for w, want := range map[string]bool{`\;`: true, `\`: true, `\\`: true, `\.\.`: true, `\1`: true, `\a`: false, `\\host\share`: false, "": false, "a": false, `a\;`: false} {
		if IsEscape(w) != want {
			t.Errorf("%s is escaped: %v", w, !want)
		}
	}
}

// TestSedWrites: a substitution of sed, and the file that it writes. A dash is no substitution.
func TestSedWrites(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"s/a/b/": "", "s|a|b|gIm2p": "", "1,$s/a/b/": "", "s/a/b/w /c": "/c", "s/a/b/gw/c": "/c", "s/a/b/;s,c,d,": "", "s/a/b/ ;\ns/c/d/w e": "e", "s/a/b/;": "-", "s/a/b/;p": "-", "s/a/b/e": "-", "s/a/b/r": "-", "s/a/b": "-", "s/a": "-", "s//b": "-", "s///": "", "sxaxbx": "-", "s1a1b1": "-", "s a b ": "-", "p": "-", "": "-", "y/a/b/": "-", "/x/s/a/b/": "-",
	} {
		got, ok := sedWrites(s)
		if !ok {
			got = "-"
		}
		if got != want || IsSubstitution(s) != (want == "") {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]string{"s/a/b/": "s a b ", `s|/a\|b|c|`: "s /a|b c ", "p": "p", "1sxaxb": "1sxaxb", "$!s,a,/b,;p": "$!s a /b ;p", `s\a`: `s\a`} {
		if got := SplitSedScript(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

// TestPrinted: a program prints its format, but for what the format asks.
func TestPrinted(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"/a/b": "/a/b", "+/a": "/a", "++": "+", "": "", `\x2fa\n`: "/a\n", "%%": "%", "%x2fa": "/a", "%x2": "%2", "/a/%s": "/a/□", "%Y-%m-%d": "", "%H:%M:%S": "", "%s/%s\n": "", "/-": "/-", "%s.": "□.", "%-10.3f|": "", "%(trailers:key=x)b/a": "□/a", "%an": "□n", "% 5d/x": "□/x", "100%": "100%", "%@x": "□x", "%é": "%é",
	} {
		if got := Printed(s); got != strings.ReplaceAll(want, "□", substituted) {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
