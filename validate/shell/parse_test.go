package shell

import "testing"

// TestRedirections: what is written, read and fed to a program.
func TestRedirections(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{"cat <<E\na $(cat /x) b\nE", `cat=command run; cat=command run; /x=read; "a □ b\n"=print`},
		{"cat <<'E'\na $(cat /x)\nE", `cat=command run; "a $(cat /x)\n"=print`},
		{"bash <<E\ncat /x\nE", `bash=command run lost; "cat /x\n"=shell lost; cat=command run lost; /x=read lost | reads`},
		{`bash <<< 'cat /x'`, `bash=command run lost; "cat /x"=shell lost; cat=command run lost; /x=read lost | reads`},
		{"cat <<-E\n\ta/b\n\tE", `cat=command run; "\ta/b\n\t"=print`},
		{`cat <<< /x`, `cat=command run; /x=print`},
		{`foo <<< /x`, `foo=command run lost; /x=path? lost | reads`},
		{"python <<E\nopen(\"/x\")\nE", "python=command run lost; open(\"/x\")\n=code lost | reads"},
		{`cat < a > b 2>&1 >> c 2>/dev/null &> d`, `cat=command run filed; a=read redirect filed; b=write written filed; c=write written filed; /dev/null=write written filed; d=write written filed | reads`},
		{`x < "$y"`, `x=command run lost; ${y}=read redirect lost | reads`},
		{`echo a > b`, `echo=command run filed; a=print filed; b=write written filed`},
		{`echo a >&2`, `echo=command run; a=print`},
		{`echo a >&3`, `echo=command run; a=print`},
		{`cat < /dev/null`, `cat=command run; /dev/null=read redirect`},
		{`echo a > /dev/null`, `echo=command run; a=print; /dev/null=write written`},
		{`echo a >| b`, `echo=command run filed; a=print filed; b=write written filed`},
		{`echo a <> b`, `echo=command run filed; a=print filed; b=write written filed`},
		{`echo a >& b`, `echo=command run filed; a=print filed; b=write written filed`},
		{`echo a &>> b`, `echo=command run filed; a=print filed; b=write written filed`},
		{`echo a > "$x"`, `echo=command run filed; a=print filed; ${x}=write written filed`},
		{`echo a > $(id)`, `echo=command run filed lost; a=print filed lost; id=command run captured lost; □=write written filed lost | reads`},
		{`cat 3<&0 0<&-`, `cat=command run`},
		{`(echo a) > b`, `echo=command run filed; a=print filed; b=write written filed`},
		{`{ echo a; echo b >&2; } > c`, `echo=command run filed; a=print filed; echo=command run filed; b=print filed; c=write written filed`},
		{`cat <&$x`, `cat=command run; ${x}=write written`},
	})
}

// TestPipes: what a command prints is captured if something runs it or takes it for names, and filed if it goes into a file.
func TestPipes(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{`echo a | cat`, `echo=command run; a=print; cat=command run`},
		{`echo a | xargs cat`, `echo=command run captured lost; a=print captured lost; xargs=command run lost; cat=command run lost`},
		{`echo a | tee b`, `echo=command run filed; a=print filed; tee=command run; b=write`},
		{`echo a | cat > b`, `echo=command run filed; a=print filed; cat=command run filed; b=write written filed`},
		{`echo a | grep -f "$x"`, `echo=command run captured; a=print captured; grep=command run; -f=path; ${x}=read`},
		{`echo a | FOO=1 cat`, `echo=command run captured; a=print captured; FOO=1=assign?; cat=command run`},
		{`echo a | sort --files0-from=-`, `echo=command run captured; a=print captured; sort=command run; --files0-from=|-=read | reads`},
		{`echo a |& cat`, `echo=command run; a=print; cat=command run`},
		{`echo a | sudo cat`, `echo=command run; a=print; sudo=command run; cat=command run`},
		{`echo a | (cat)`, `echo=command run captured; a=print captured; cat=command run`},
		{`echo a | cat | xargs rm`, `echo=command run captured lost; a=print captured lost; cat=command run captured lost; xargs=command run lost; rm=command run lost`},
		{`echo a | xargs rm | cat`, `echo=command run captured lost; a=print captured lost; xargs=command run lost; rm=command run lost; cat=command run lost`},
		{`echo a | cat $x`, `echo=command run captured lost; a=print captured lost; cat=command run lost; ${x}=read lost`},
		{`echo a | cat "$x"`, `echo=command run captured; a=print captured; cat=command run; ${x}=read`},
		{`echo a | cat; echo b`, `echo=command run; a=print; cat=command run; echo=command run; b=print`},
		{`{ echo a; } | bash`, `echo=command run captured lost; a=print captured lost; bash=command run lost | reads`},
		{`echo $(echo /a)`, `echo=command run lost; echo=command run lost; /a=print lost; □=print lost`},
		{`echo a$(echo /b) > c`, `echo=command run filed lost; echo=command run filed lost; /b=print filed lost; a□=print filed lost; c=write written filed lost`},
		{`cat $(echo /b)`, `cat=command run lost; echo=command run captured lost; /b=print captured lost; □=read lost | reads`},
		{`git commit -m "$(echo /b)"`, `git=command run lost; commit=name lost; -m=path lost; echo=command run lost; /b=print lost; □=text lost`},
		{`ssh web "$(echo /b)"`, `ssh=command run lost; web=path(text) lost; echo=command run captured lost; /b=print captured lost; □=path(remote) lost | reads`},
		{`printf %s /a | sort -o b`, `printf=command run filed; %s=print filed; /a=print filed; sort=command run; -o=path; b=write`},
	})
}

// TestCompounds: each command of a compound one is read, and what it is given.
func TestCompounds(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{`(cat /x; cd y); cat z`, `cat=command run; /x=read; cd=command run; y=cd/read; cat=command run; z=read`},
		{`{ cat /x; cd y; }; cat z`, `cat=command run; /x=read; cd=command run; y=cd/read; cat=command run in y?; z=read in y?`},
		{`if cd x; then cat a; else cat b; fi; cat c`, `cd=command run; x=cd/read; cat=command run in x; a=read in x; cat=command run in x; b=read in x; cat=command run in x; c=read in x`},
		{`while cd x; do cat a; done; cat b`, `cd=command run in x?; x=cd/read in x?; cat=command run in x?; a=read in x?; cat=command run in x?; b=read in x?`},
		{`for i in a /b; do cat $i; done`, `a=path? lost; /b=path? lost; cat=command run lost; ${i}=read lost`},
		{`for ((i=$(id); i<1; i++)); do cat a; done`, `id=command run captured lost; cat=command run lost; a=read lost | reads`},
		{`case $x in /a) cat b;; $(id)) cat c;; esac`, `cat=command run lost; b=read lost; id=command run captured lost; cat=command run lost; c=read lost | reads`},
		{`f() { cat /x; }; f`, `cat=command run lost; /x=read lost; f=command run lost | odd | reads`},
		{`time cat a`, `cat=command run; a=read`},
		{`time -o /x cat a`, `time=command run; -o=path; /x=write; cat=command run; a=read`},
		{`coproc cat a`, `cat=command run captured lost; a=read captured lost | odd`},
		{`export X=/a Y`, `X=/a=assign?`},
		{`declare -A m=([a]=/b)`, `-A=assign?; /b=path?`},
		{`[[ -f /a && /b -nt /c && $x == /d ]]`, `/a=word/read; /b=word/read; /c=word/read; ${x}=word/read`},
		{`[[ $(id) =~ /e ]]`, `id=command run captured lost; □=word/read lost | reads`},
		{`(( x = $(id) ))`, `id=command run captured lost | reads`},
		{`let 'x[$(id)]=1' y=1`, `x[$(id)]=1=path?`},
		{`! cat a`, `cat=command run; a=read`},
		{`cat a &`, `cat=command run; a=read`},
		{`cat a && cat b || cat c; cat d`, `cat=command run; a=read; cat=command run; b=read; cat=command run; c=read; cat=command run; d=read`},
		{`if false; then cd x; fi; cat a`, `false=command run; cd=command run; x=cd/read; cat=command run in x?; a=read in x?`},
		{`if a; then b; elif cd x; then c; fi`, `a=command run lost; b=command run lost; cd=command run lost; x=cd/read lost; c=command run lost in x? | reads`},
		{`until cd x; do cat a; done`, `cd=command run in x?; x=cd/read in x?; cat=command run in x?; a=read in x?`},
		{`select i in /a; do cat $i; done`, `/a=path? lost; cat=command run lost; ${i}=read lost`},
		{`{ cd x & }; cat a`, `cd=command run; x=cd/read; cat=command run in x?; a=read in x?`},
		{`(cd x; cat a) && cat b`, `cd=command run; x=cd/read; cat=command run in x; a=read in x; cat=command run; b=read`},
		{`case a in a) cd x;; esac; cat b`, `cd=command run; x=cd/read; cat=command run in x?; b=read in x?`},
		{`time cd x; cat a`, `cd=command run; x=cd/read; cat=command run in x?; a=read in x?`},
		{`f() { cd x; cat a; }; cat b`, `cd=command run lost in x?; x=cd/read lost in x?; cat=command run lost in x?; a=read lost in x?; cat=command run lost in x?; b=read lost in x? | odd`},
		{`coproc { cd x; cat a; }`, `cd=command run captured lost; x=cd/read captured lost; cat=command run captured lost in x?; a=read captured lost in x? | odd`},
		{`for i in a; do cat b; cd x; done; cat c`, `a=path?; cat=command run in x?; b=read in x?; cd=command run in x?; x=cd/read in x?; cat=command run in x?; c=read in x?`},
		{`[[ ! -f /a && ( -d /b ) ]]`, `/a=word/read; /b=word/read`},
		{`[[ $(id) -ot $(ls /y) ]]`, `id=command run captured lost; □=word/read lost; ls=command run captured lost; /y=read captured lost; □=word/read lost | reads`},
		{`((i++))`, ``},
		{`(( (-x) + y[$(id)] ))`, `id=command run captured lost; y[$(id)]=path? lost | reads`},
		{`echo $((1?$(id):2))`, `echo=command run lost; id=command run captured lost; 0=print lost | reads`},
		{`for ((;;)); do :; done`, `:=command run`},
		{`export -p; readonly Z=/a`, `-p=assign?; Z=/a=assign?`},
		{`declare X=(/a "$(id)")`, `/a=path? lost; id=command run captured lost; □=path? lost | reads`},
		{`X[$(id)]=/a`, `id=command run captured lost; X=/a=assign? lost | reads`},
		{`x=$(cat /a)`, `cat=command run captured; /a=read captured; x=□=assign? | reads`},
		{`X= cat a`, `cat=command run; a=read`},
		{`eval "cat $(id)"`, `eval=command run lost; id=command run captured lost; "cat □"=shell lost; cat=command run lost; .=read lost | odd | reads`},
		{`time -p cat a`, `cat=command run; a=read`},
		{`unnamed -d x`, `unnamed=command run lost; -d=path lost; x=word lost | reads`},
	})
}

// TestNothingIsSureAfterAnOddCommand: after what may change the meaning of a name, nothing is sure.
func TestNothingIsSureAfterAnOddCommand(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{`alias cat=ls; cat a`, `alias=command run lost; cat=ls=path lost; cat=command run lost; a=read lost | odd | reads`},
		{`PATH=bin:$PATH cat a`, `PATH=bin:${PATH}=assign? lost; cat=command run lost; a=read lost | odd`},
		{`PATH=/usr/bin:$PATH cat a`, `PATH=/usr/bin:${PATH}=assign?; cat=command run; a=read`},
		{`GREP_OPTIONS=-f/x grep a b`, `GREP_OPTIONS=-f/x=assign? lost; grep=command run lost; a=path(text) lost; b=read lost`},
		{`X=/a cat`, `X=/a=assign?; cat=command run`},
		{`X+=/a`, `X=/a=assign?`},
		{`-d x -F /`, `unnamed=command run lost; -d=path lost; x=word lost; -F=path lost; /=word lost | reads`},
		{`export PATH=$PATH:/usr/local/bin; cat a`, `PATH=${PATH}:/usr/local/bin=assign?; cat=command run; a=read`},
		{`PATH=$PATH:x; cat a`, `PATH=${PATH}:x=assign? lost; cat=command run lost; a=read lost | odd`},
		{`PATH=/homes/x cat a`, `PATH=/homes/x=assign? lost; cat=command run lost; a=read lost | odd`},
		{`MYCONFIG=/x grep a b`, `MYCONFIG=/x=assign? lost; grep=command run lost; a=path(text) lost; b=read lost`},
		{`X=-f/x grep a b`, `X=-f/x=assign?; grep=command run; a=text; b=read`},
		{`OPT[1]=x grep a b`, `OPT[1]=x=path? lost; grep=path? lost; a=path? lost; b=path? lost | odd`},
		{`source x; cat a`, `source=command run lost; x=read lost; cat=command run lost; a=read lost | odd | reads`},
		{`cat a; hash -p /x cat`, `cat=command run lost; a=read lost; hash=command run lost; -p=path? lost; /x=path lost; cat=path lost | odd | reads`},
	})
}
