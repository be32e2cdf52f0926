package shell

import (
	"strings"
	"testing"

	"mcphub/validate/budget"
)

// TestCdMovesLaterWords: where cd went before a word, and how sure that is: ! it is there or nothing runs, ? it may be elsewhere.
func TestCdMovesLaterWords(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{`cd x; cat a`, `cd=command run; x=cd/read; cat=command run in x; a=read in x`},
		{`cd x && cat a`, `cd=command run; x=cd/read; cat=command run in x!; a=read in x!`},
		{`cd x && cat a; cat b`, `cd=command run; x=cd/read; cat=command run in x!; a=read in x!; cat=command run in x; b=read in x`},
		{`cd x || cat a`, `cd=command run; x=cd/read; cat=command run in x?; a=read in x?`},
		{`cd x && cd y && cat a`, `cd=command run; x=cd/read; cd=command run in x!; y=cd/read in x!; cat=command run in x > x/y!; a=read in x > x/y!`},
		{`cd "$x"; cat a`, `cd=command run lost; ${x}=cd/read lost; cat=command run lost in ${x}?; a=read lost in ${x}?`},
		{`cd; cat a`, `cd=command run; ~=path?; cat=command run in ~?; a=read in ~?`},
		{`cd -; cat a`, `cd=command run lost; -=cd/read lost; cat=command run lost in -?; a=read lost in -?`},
		{`cd -P x && cat a`, `cd=command run; -P=path; x=cd/read; cat=command run in x!; a=read in x!`},
		{`cd x y && cat a`, `cd=command run lost; x=cd/read lost; y=cd/read lost; cat=command run lost in x?; a=read lost in x?`},
		{`cd x* && cat a`, `cd=command run lost; x*=cd/read lost; cat=command run lost in x*?; a=read lost in x*?`},
		{`cd /x && cd ~/y && cat a`, `cd=command run lost; /x=cd/read lost; cd=command run in /x!; ~/y=cd/read in /x!; cat=command run lost in /x > ~/y?; a=read lost in /x > ~/y?`},
		{`ls; cd x && cat a; cat b`, `ls=command run; cd=command run; x=cd/read; cat=command run in x!; a=read in x!; cat=command run in x?; b=read in x?`},
		{`ls && cd x && cat a; cat b`, `ls=command run; cd=command run; x=cd/read; cat=command run in x!; a=read in x!; cat=command run in x?; b=read in x?`},
		{`mkdir x && cd x && cat a; cat b`, `mkdir=command run; x=write; cd=command run; x=cd/read; cat=command run in x!; a=read in x!; cat=command run in x?; b=read in x?`},
		{`cd x >y && cat a`, `cd=command run filed lost; x=cd/read filed lost; y=write written filed lost in x?; cat=command run lost in x?; a=read lost in x?`},
		{`X=1 cd x && cat a`, `X=1=assign? lost; cd=command run lost; x=cd/read lost; cat=command run lost in x?; a=read lost in x?`},
		{`cd x | cat a`, `cd=command run; x=cd/read; cat=command run in x?; a=read in x?`},
		{`cd x & cat a`, `cd=command run; x=cd/read; cat=command run in x?; a=read in x?`},
		{`! cd x; cat a`, `cd=command run; x=cd/read; cat=command run in x?; a=read in x?`},
		{`(cd x); cat a`, `cd=command run; x=cd/read; cat=command run; a=read`},
		{`pushd x; cat a`, `pushd=command run lost; x=path lost; cat=command run lost in x?; a=read lost in x? | odd | reads`},
		{`pushd; cat a`, `pushd=command run lost; cat=command run lost; a=read lost | odd | reads`},
		{`cd x; mv a b; cat c`, `cd=command run lost; x=cd/read lost; mv=command run lost in x?; a=delete lost in x?; b=write lost in x?; cat=command run lost in x?; c=read lost in x? | odd`},
		{`mv a b; cat c`, `mv=command run; a=delete; b=write; cat=command run; c=read`},
		{`cd /x/y/z; mv a b; cat c`, `cd=command run lost; /x/y/z=cd/read lost; mv=command run lost in /x/y/z?; a=delete lost in /x/y/z?; b=write lost in /x/y/z?; cat=command run lost in /x > /x/y > /x/y/z?; c=read lost in /x > /x/y > /x/y/z? | odd`},
		{`env -C x cat a; cat b`, `env=command run; -C=path; x=move in x?; cat=command run in x?; a=read in x?; cat=command run; b=read`},
		{`git -C x log -- a; cat b`, `git=command run; -C=path; x=move in x?; log=name in x?; --=text in x?; a=read in x?; cat=command run; b=read`},
		{`make -C x a`, `make=command run lost; -C=path lost; x=move lost in x?; a=name lost in x? | reads`},
		{`CDPATH=/; cd x && cat a`, `CDPATH=/=assign? lost; cd=command run lost; x=cd/read lost; cat=command run lost in x?; a=read lost in x? | odd`},
		{`cat a && cd x; cat b`, `cat=command run; a=read; cd=command run; x=cd/read; cat=command run in x?; b=read in x?`},
		{`[ -d z ] && cd x; cat b`, `[=command run lost; -d=path lost; z=read lost; ]=name lost; cd=command run lost; x=cd/read lost; cat=command run lost in x?; b=read lost in x? | reads`},
		{`cd x && mkdir y && cd y && cat a; cat b`, `cd=command run; x=cd/read; mkdir=command run in x!; y=write in x!; cd=command run in x!; y=cd/read in x!; cat=command run in x > x/y!; a=read in x > x/y!; cat=command run in x > x/y?; b=read in x > x/y?`},
		{`cd x && cd y; cat a`, `cd=command run; x=cd/read; cd=command run in x!; y=cd/read in x!; cat=command run in x > x/y; a=read in x > x/y`},
		{`cd x; cd y; cat a`, `cd=command run; x=cd/read; cd=command run in x; y=cd/read in x; cat=command run in x > x/y; a=read in x > x/y`},
		{`cd x && cat a || cat b`, `cd=command run; x=cd/read; cat=command run in x!; a=read in x!; cat=command run in x?; b=read in x?`},
		{`cd x && cat a || cd y && cat b`, `cd=command run; x=cd/read; cat=command run in x!; a=read in x!; cd=command run in x?; y=cd/read in x?; cat=command run in x > x/y?; b=read in x > x/y?`},
		{`cd -- x && cat a`, `cd=command run; --=text; x=cd/read; cat=command run in x!; a=read in x!`},
		{`cd -L x; cat a`, `cd=command run; -L=path; x=cd/read; cat=command run in x; a=read in x`},
		{`cd "x y"; cat a`, `cd=command run lost; "x y"=cd/read lost; cat=command run lost in x y?; a=read lost in x y?`},
		{`cd ~ && cat a`, `cd=command run lost; ~=cd/read lost; cat=command run lost in ~?; a=read lost in ~?`},
		{`cd $x; cat a`, `cd=command run lost; ${x}=cd/read lost; cat=command run lost in ${x}?; a=read lost in ${x}?`},
		{`cd 'x*'; cat a`, `cd=command run lost; x*=cd/read lost; cat=command run lost in x*?; a=read lost in x*?`},
		{`builtin cd x; cat a`, `builtin=command run lost; cd=command run lost; x=cd/read lost; cat=command run lost in x?; a=read lost in x?`},
		{`cd x || exit; cat a`, `cd=command run; x=cd/read; exit=command run in x?; cat=command run in x?; a=read in x?`},
		{`set -e; cd x; cat a`, `set=command run lost; -e=path? lost; cd=command run lost; x=cd/read lost; cat=command run in x; a=read in x`},
		{`mkdir x; cd x; cat a`, `mkdir=command run; x=write; cd=command run; x=cd/read; cat=command run in x; a=read in x`},
		{`cd a; cd b; cd /c; cat d`, `cd=command run; a=cd/read; cd=command run in a; b=cd/read in a; cd=command run in a > a/b; /c=cd/read in a > a/b; cat=command run in a > a/b > /c; d=read in a > a/b > /c`},
		{`cd a; cd ~/b; cat d`, `cd=command run lost; a=cd/read lost; cd=command run in a; ~/b=cd/read in a; cat=command run lost in a > ~/b?; d=read lost in a > ~/b?`},
		{`pushd -n x; cat a`, `pushd=command run lost; -n=path? lost; x=path lost; cat=command run lost in x?; a=read lost in x? | odd | reads`},
		{`cd -e -@ x; cat a`, `cd=command run; -e=path; -@=path; x=cd/read; cat=command run in x; a=read in x`},
		{`cd ""; cat a`, `cd=command run lost; ""=cd/read lost; cat=command run lost; a=read lost`},
		{`cd x=$y; cat a`, `cd=command run lost; x=${y}=cd/read lost; cat=command run lost in x=${y}?; a=read lost in x=${y}?`},
		{`cd x && (cd y; cat a); cat b`, `cd=command run; x=cd/read; cd=command run in x!; y=cd/read in x!; cat=command run in x > x/y; a=read in x > x/y; cat=command run in x; b=read in x`},
		{`cd x && sh -c "cd y; cat a"; cat b`, `cd=command run lost; x=cd/read lost; sh=command run in x!; -c=path in x!; "cd y; cat a"=shell in x!; cd=command run in x!; y=cd/read in x!; cat=command run in x > x/y; a=read in x > x/y; cat=command run in x; b=read in x | reads`},
		{`cd x; ls -C; cat a`, `cd=command run; x=cd/read; ls=command run in x; -C=path in x; cat=command run in x; a=read in x`},
		{`tar -C x -f a; cat b`, `tar=command run lost; -C=path lost; x=move lost in x?; -f=path lost in x?; a=path lost in x?; cat=command run lost; b=read lost | reads`},
		{`sudo -D x cat a`, `sudo=command run; -D=path; x=move in x?; cat=command run in x?; a=read in x?`},
		{`command cd x; cat a`, `command=command run lost; cd=command run lost; x=cd/read lost; cat=command run lost in x?; a=read lost in x?`},
		{`cd x; make; cat a`, `cd=command run lost; x=cd/read lost; make=command run in x; cat=command run in x; a=read in x | reads`},
	})
}

// TestMoveBounds: directories are followed to a bound, and after it nothing is read.
func TestMoveBounds(t *testing.T) {
	t.Parallel()
	fault := func(s string) string { return Read(s, depth, budget.New(0)).Fault }
	const lost = "more directories than can be followed"
	long := "cd /" + strings.Repeat("a", 30_000) + ";"
	for _, c := range []struct{ what, text, want string }{
		{"as many", strings.Repeat("cd /a;", maxMoves) + "ls", ""}, {"one more", strings.Repeat("cd /a;", maxMoves+1) + "ls", lost},
		{"as long", long + strings.Repeat("cd b;", 4) + "ls", ""}, {"longer", long + strings.Repeat("cd b;", 5) + "ls", lost},
	} {
		if got := fault(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	for dir, want := range map[string]string{"a": "a", "/a": "/a", "a/b": "a|a/b", "/a/b/c/": "/a|/a/b|/a/b/c/", "x\x00a/b": "a|x|a/b", strings.Repeat("a/", 99): "33"} {
		w := whereabouts{dir: dir, sure: SureDone}
		w.rise()
		if got := strings.ReplaceAll(w.dir, "\x00", "|"); got != want && want != "33" || want == "33" && strings.Count(got, "|") != maxMoves || w.sure != SureNot {
			t.Errorf("above %s: %s", dir, got)
		}
	}
}
