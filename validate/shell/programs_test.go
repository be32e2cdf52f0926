package shell

import (
	"strings"
	"testing"
)

// TestCommands: what known programs make of their words.
func TestCommands(t *testing.T) {
	t.Parallel()
	reads(t, []row{
		{`sudo -u me cat /x`, `sudo=command run; -u=path; me=text; cat=command run; /x=read`},
		{`bash -c 'cat /x' y`, `bash=command run lost; -c=path lost; "cat /x"=shell lost; cat=command run lost; /x=read lost; y=path lost | reads`},
		{`bash -c "bash -c 'cat /x'"`, `bash=command run lost; -c=path lost; "bash -c 'cat /x'"=shell lost; bash=command run lost; -c=path lost; "cat /x"=shell lost; cat=command run lost; /x=read lost | reads`},
		{`eval 'cat /x' /y`, `eval=command run lost; "cat /x"=shell lost; cat=command run lost; /x=read lost; /y=shell lost; /y=command run lost | odd | reads`},
		{`rm -rf`, `rm=command run; -rf=path`},
		{`git clean -fd`, `git=command run; clean=name; -fd=path; .=delete`},
		{`find -delete`, `find=command run lost; -delete=path lost; .=delete lost | reads`},
		{`docker run --pid=host x ls /`, `docker=command run lost; run=name lost; --pid=|host=hosts lost; x=text lost; ls=remote lost; /=remote lost; /=write lost | reads`},
		{`docker run --pid host x ls /`, `docker=command run lost; run=name lost; --pid=path lost; host=hosts lost; x=text lost; ls=remote lost; /=remote lost; /=write lost | reads`},
		{`find . -exec cat /x {} \;`, `find=command run lost; .=read lost; -exec=path lost; cat=command run lost; /x=read lost; {}=read lost; ";"=path? lost | reads`},
		{`find . -exec rm {} + -name x`, `find=command run lost; .=delete lost; -exec=path lost; rm=command run lost; {}=delete lost; +=path? lost; -name=path lost; x=text lost | reads`},
		{`xargs cat`, `xargs=command run lost; cat=command run lost`},
		{`cat 'unclosed /x y`, `cat=path? lost; 'unclosed=path? lost; unclosed=path? lost; unclosed=path? lost; /x=path? lost; y=path? lost; "unclosed /x y"=path? whole lost | odd`},
		{`cd 'x; cat /y z`, `cd=path? lost; "'x;"=path? lost in x;?; "x;"=path? lost in x;?; x=path? lost in x;?; cat=path? lost in x;?; /y=path? lost in x;?; z=path? lost in x;?; "x; cat /y z"=path? whole lost in x;? | odd`},
		{`a "b /c d" 'e`, `a=path? lost; "b=path? lost; b=path? lost; b=path? lost; /c=path? lost; d"=path? lost; d=path? lost; d=path? lost; 'e=path? lost; e=path? lost; e=path? lost; "b /c d"=path? whole lost | odd`},
		{`time`, ``},
		{`$x a`, `${x}=path? lost; a=path? lost | odd | reads`},
		{`"$x" a`, `${x}=path? lost; a=path? lost | odd | reads`},
		{`python -c 'open("/x")'`, `python=command run lost; -c=path lost; open("/x")=code lost | reads`},
		{`echo "/a" > b`, `echo=command run filed; /a=print filed; b=write written filed`},
		{`printf -v x /a`, `printf=command run; -v=path; x=path; /a=path`},
		{`sed -n 's/a/b/w /c' d`, `sed=command run lost; -n=path lost; "s/a/b/w /c"=sed lost; d=read lost | reads`},
		{`test -f / -a -f /x`, `test=command run lost; -f=path lost; /=read lost; -a=path lost; -f=path lost; /x=read lost | reads`},
		{`ssh web cat /x`, `ssh=command run lost; web=text lost; cat=remote lost; /x=remote lost | reads`},
		{`ssh localhost cat /x`, `ssh=command run lost; localhost=text lost; cat=path(remote) lost; /x=path(remote) lost | reads`},
		{`ssh -o HostName=localhost web cat /x`, `ssh=command run lost; -o=path lost; HostName=localhost=path lost; web=text lost; cat=path(remote) lost; /x=path(remote) lost | reads`},
		{`ls --from=x`, `ls=command run; --from=x=path? | reads`},
		{`ls --files-from y`, `ls=command run lost; --files-from=path? lost; y=path lost | reads`},
		{`x --stdin`, `x=command run lost; --stdin=path? lost | reads`},
	})
}

// TestUsageOf: what a command makes of its words: operands, options, subcommands, commands in commands. A doubt makes an operand a
// path again. Here "??" stands before a word that may be several, and "-?" before one that may be an option.
func TestUsageOf(t *testing.T) {
	t.Parallel()
	for _, r := range []row{
		{`cat -n a -- -b`, `cat=command -n=path a=read --=text -b=read`},
		{`cat --unknown a`, `cat=command --unknown=path? a=path | doubt | roams`},
		{`cat --unknown=x a`, `cat=command --unknown=x=path? a=read`},
		{`cat -nX a`, `cat=command -nX=path? a=path | doubt | roams`},
		{`cat -`, `cat=command -=read`},
		{`cat ??* a`, `cat=command *=read a=read | doubt | roams`},
		{`cat -?$x a`, `cat=command $x=read a=read`},
		{`./cat a`, `./cat=command a=path | roams`},
		{`bin/cat a`, `bin/cat=command a=path | roams`},
		{`/bin/cat a`, `/bin/cat=command a=read`},
		{`cat.exe a`, `cat.exe=command a=read`},
		{`python3.11 x y`, `python3.11=command x=read y=path | roams`},
		{`cat2 a`, `cat2=command a=read`},
		{`??cat a`, `cat=path? a=path? | doubt | roams`},
		{`-?cat a`, `cat=path? a=path? | doubt | roams`},
		{`frob a -o b --output=c -ob -C d e`, `frob=command a=path -o=path b=write --output=|c=write -ob=path -C=path d=move e=path | roams`},
		{`frob -x=y`, `frob=command -x=y=path? | roams`},
		{`head -n5 a`, `head=command -n|5=text a=read`},
		{`head -n 5 a`, `head=command -n=path 5=text a=read`},
		{`head -5 a`, `head=command -5=path a=read`},
		{`head --lines=5 a`, `head=command --lines=|5=text a=read`},
		{`grep -e a b`, `grep=command -e=path a=text b=read`},
		{`grep -ea b`, `grep=command -e|a=text b=read`},
		{`grep -ie a b`, `grep=command -ie=path a=text b=read`},
		{`grep -ei a b`, `grep=command -e|i=text a=read b=read`},
		{`grep -e=a b`, `grep=command -e=|a=text b=read`},
		{`grep a b c`, `grep=command a=text b=read c=read`},
		{`grep --regexp=a b`, `grep=command --regexp=|a=text b=read`},
		{`grep -f a b`, `grep=command -f=path a=read b=read`},
		{`cp a b c`, `cp=command a=read b=read c=write`},
		{`cp a b`, `cp=command a=read b=write`},
		{`cp a`, `cp=command a=read`},
		{`cp -t d a b`, `cp=command -t=path d=write a=read b=write`},
		{`mv a b`, `mv=command a=delete b=write`},
		{`uniq a b`, `uniq=command a=read b=write`},
		{`env X=1 Y=2 cat a`, `env=command X=1=assign Y=2=assign cat=command a=read`},
		{`env -u X cat a`, `env=command -u=path X=text cat=command a=read`},
		{`env cat X=1`, `env=command cat=command X=1=read`},
		{`env -i`, `env=command -i=path | roams`},
		{`sudo env nice -n 5 cat a`, `sudo=command env=command nice=command -n=path 5=text cat=command a=read`},
		{`sudo -u me -x cat a`, `sudo=command -u=path me=text -x=path? cat=path? a=path? | doubt | roams`},
		{`sudo ??x cat a`, `sudo=command x=path? cat=path? a=path? | doubt | roams`},
		{`timeout 5 cat a`, `timeout=command 5=text cat=command a=read`},
		{`timeout -s KILL 5 cat a`, `timeout=command -s=path KILL=text 5=text cat=command a=read`},
		{`xargs -n 1 rm a`, `xargs=command -n=path 1=text rm=command a=delete | doubt | roams`},
		{`xargs -a x rm`, `xargs=command -a=path x=read rm=command | doubt | roams`},
		{`find a -name b -exec cat c ; -delete`, `find=command a=delete -name=path b=text -exec=path cat=command c=read ;=path? -delete=path | roams`},
		{`find -exec rm {} ;`, `find=command -exec=path rm=command {}=delete ;=path? | here | roams`},
		{`find a -exec`, `find=command a=read -exec=path | roams`},
		{`find -files0-from=a`, `find=command -files0-from=|a=read | roams`},
		{`find a b -fprintf c d`, `find=command a=read b=read -fprintf=path c=write d=print | roams`},
		{`git log -n 5 a`, `git=command log=name -n=path 5=text a=read`},
		{`git -C d log a`, `git=command -C=path d=move log=name a=read`},
		{`git frob a`, `git=command frob=name a=path`},
		{`git -x log a`, `git=command -x=path? log=path a=path | doubt | roams`},
		{`git --git-dir=x log a`, `git=command --git-dir=|x=path log=name a=read`},
		{`git ??x a`, `git=command x=path a=path | doubt | roams`},
		{`git`, `git=command`},
		{`docker run -v /a:/b img cat /c`, `docker=command run=name -v=path /a:/b=volume img=text cat=remote /c=remote | roams`},
		{`docker container run --privileged img`, `docker=command container=name run=name --privileged=path img=text | host | roams`},
		{`docker run --unknown img cat /c`, `docker=command run=name --unknown=path? img=path? cat=path(text) /c=path(rest) | doubt | roams`},
		{`docker run --rm --pid=me img x`, `docker=command run=name --rm=path --pid=|me=hosts img=text x=remote | roams`},
		{`docker run --pid=host img`, `docker=command run=name --pid=|host=hosts img=text | host | roams`},
		{`docker exec -w /a c cat /b`, `docker=command exec=name -w=path /a=workdir c=text cat=remote /b=remote | roams`},
		{`docker compose run -v a:b s x`, `docker=command compose=name run=name -v=path a:b=volume s=text x=remote | roams`},
		{`docker compose up a`, `docker=command compose=name up=name a=name | roams`},
		{`docker run ??x img cat`, `docker=command run=name x=path(text) img=path(rest) cat=path(rest) | doubt | roams`},
		{`docker cp c:/a /b`, `docker=command cp=name c:/a=box/read /b=box/write | roams`},
		{`kubectl exec p -- cat /a`, `kubectl=command exec=name p=text --=text cat=remote /a=remote | roams`},
		{`kubectl exec p cat /a -f b`, `kubectl=command exec=name p=text cat=path(--) /a=path(--) -f=path b=read | roams`},
		{`ssh -p 22 h cat /a`, `ssh=command -p=path 22=text h=text cat=remote /a=remote | roams`},
		{`ssh h cat -F b`, `ssh=command h=text cat=remote -F=remote b=remote | roams`},
		{`ssh h -F b`, `ssh=command h=text -F=path b=read | roams`},
		{`ssh localhost cat`, `ssh=command localhost=text cat=path(remote) | roams`},
		{`ssh -oHostName=127.0.0.1 h cat`, `ssh=command -o|HostName=127.0.0.1=path h=text cat=path(remote) | roams`},
		{`ssh -o hostname=h2 h cat`, `ssh=command -o=path hostname=h2=path h=text cat=remote | roams`},
		{`scp a h:b c`, `scp=command a=host/read h:b=host/read c=host/write | roams`},
		{`scp a`, `scp=command a=host/read | roams`},
		{`curl -d @a -o b c`, `curl=command -d=path @a=data -o=path b=write c=read | roams`},
		{`curl -dx c`, `curl=command -d|x=data c=read | roams`},
		{`rsync -e sh a b`, `rsync=command -e=path sh=shell a=host/read b=host/write | roams`},
		{`sed -i s/a/b/ c`, `sed=command -i=path s/a/b/=sed c=write | roams`},
		{`sed -e s/a/b/ -f x c`, `sed=command -e=path s/a/b/=sed -f=path x=read c=read | roams`},
		{`jq --arg a b . c`, `jq=command --arg=path a=text b=print .=query c=read`},
		{`jq --arg a`, `jq=command --arg=path a=text`},
		{`awk -F: p a`, `awk=command -F|:=text p=code a=read | roams`},
		{`chmod --reference=a b`, `chmod=command --reference=|a=read b=write | roams`},
		{`chmod 644 a b`, `chmod=command 644=path a=write b=write | roams`},
		{`printf -v x a`, `printf=command -v=path x=path a=path`},
		{`rm -rf a`, `rm=command -rf=path a=delete`},
		{`git clean`, `git=command clean=name | here`},
		{`git clean a`, `git=command clean=name a=delete`},
		{`git rm`, `git=command rm=name`},
		{`sh -c a b`, `sh=command -c=path a=shell b=path | roams`},
		{`sh -xc a b`, `sh=command -xc=path a=shell b=path | roams`},
		{`sh a b`, `sh=command a=read b=path | roams`},
		{`bash -O x a`, `bash=command -O=path x=text a=read | roams`},
		{`eval a b`, `eval=command a=shell b=shell | roams`},
		{`watch -n 1 a`, `watch=command -n=path 1=text a=shell | roams`},
		{`tee`, `tee=command`},
		{`echo a`, `echo=command a=print`},
		{`date -s x a`, `date=command -s=path x=text a=print`},
		{`time -f %e cat a`, `time=command -f=path %e=print cat=command a=read`},
		{`grep -ie=a b`, `grep=command -ie=|a=text b=read`},
		{`cat -o x`, `cat=command -o=path x=write`},
		{`cat --output=x a`, `cat=command --output=|x=write a=read`},
		{`grep -o a`, `grep=command -o=path a=text`},
		{`docker run img -v /a:/b`, `docker=command run=name img=text -v=remote /a:/b=remote | roams`},
		{`docker run --name host img`, `docker=command run=name --name=path host=text img=text | roams`},
		{`docker run --name=host img`, `docker=command run=name --name=|host=text img=text | roams`},
		{`grep -?$x a b`, `grep=command $x=path(text) a=read b=read`},
		{`watch -dn 1 a`, `watch=command -dn=path 1=text a=shell | roams`},
		{`watch -nd 1 a`, `watch=command -n|d=text 1=shell a=shell | roams`},
		{`xargs -I`, `xargs=command -I=path | roams`},
		{strings.Repeat("command ", maxCommands-1) + "cat a", strings.Repeat("command=command ", maxCommands-1) + "cat=command a=read"},
		{strings.Repeat("command ", maxCommands) + "cat a", strings.Repeat("command=command ", maxCommands) + "cat=path? a=path? | doubt | roams"},
	} {
		if got := used(r.text, false); got != r.want {
			t.Errorf("{`%s`, `%s`},\nwant %s", r.text, got, r.want)
		}
	}
	for _, r := range []row{{"", "| doubt | roams"}, {"grep a b", "grep=command a=path(text) b=read | doubt | roams"}, {"echo a", "echo=command a=print | doubt | roams"}, {"env cat a", "env=command cat=path? a=path? | doubt | roams"}, {"git log a", "git=command log=name a=read | doubt | roams"}, {"ssh h ls", "ssh=command h=path(text) ls=path(remote) | doubt | roams"}} {
		if got := used(r.text, true); got != r.want {
			t.Errorf("{`%s`, `%s`},\nwant %s", r.text, got, r.want)
		}
	}
}

// TestATrustedCommandKeepsRemotePartsRemote: in a command that the operator wrote, a doubt changes nothing about what is another machine's.
func TestATrustedCommandKeepsRemotePartsRemote(t *testing.T) {
	t.Parallel()
	for trusted, want := range map[bool]Kind{true: useRemote, false: UsePath} {
		list := words("docker run --rm ??x img -v /a:/b")
		u := Usage{Uses: make([]Use, len(list)), Program: unknown, Trusted: trusted}
		u.Command(list, u.Uses, maxCommands)
		if got := u.Uses[4].Kind; got != want {
			t.Errorf("trusted %v: %s, want %s", trusted, kindNames[got], kindNames[want])
		}
	}
}

// TestReadPrograms: a line is names, operands, options and marks; what is wrong with the table ends the program.
func TestReadPrograms(t *testing.T) {
	t.Parallel()
	table := readPrograms("# c: path\n\nno colon\n {a,b}: read* write/x text -[ab] -x=word,print>text,path* -d^delete -h^host --y -z=read <shell @. @leaf @filter @shell @box -- \n")
	p := table["a"]
	if len(table) != 2 || p == nil || table["b"] != p {
		t.Fatalf("the names are %v", table)
	}
	read := func(uses []Use) string {
		var list []string
		for _, u := range uses {
			name := nameOf(u)
			if u.many {
				name += "*"
			}
			list = append(list, name)
		}
		return strings.Join(list, ",")
	}
	if got := read(p.operands); got != "read*,write,text,--" || p.letters != "ab" || nameOf(p.stdin) != "shell" || !p.here || !p.leaf || !p.filter || !p.shells || !p.Box {
		t.Errorf("%s: %+v", got, p)
	}
	for name, want := range map[string]string{"-x": "word,print>text,path*", "-d": ">^delete", "-h": ">^host", "--y": ">", "-z": "read>"} {
		o, ok := p.options[name]
		got := read(o.values) + ">" + read(o.instead)
		if o.deletes {
			got += "^delete"
		}
		if o.host {
			got += "^host"
		}
		if !ok || got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if q := readPrograms("a: path")["a"]; q.here || q.leaf || q.filter || q.shells || q.Box || q.letters != "" || len(q.options) != 0 {
		t.Errorf("a program without marks: %+v", q)
	}
	for text, want := range map[string]string{"a: path\na: path": "programs.txt: two lines about a", "{a,a}: path": "programs.txt: two lines about a", "a: nothing": `programs.txt: "nothing" is no kind of use`, "a: -x=nothing": `programs.txt: "nothing" is no kind of use`} {
		if got := panics(func() { readPrograms(text) }); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestIsAssignment: a name of letters, digits and underscores stands before the sign.
func TestIsAssignment(t *testing.T) {
	t.Parallel()
	for w, want := range map[string]bool{"a=b": true, "_1A=": true, "1=": true, "a": false, "=a": false, "": false, "a-b=c": false, "-a=b": false, "a.b=c": false, "é=a": false, "a+=b": false, "a=b=c": true} {
		if IsAssignment(w) != want {
			t.Errorf("%s: %v", w, !want)
		}
	}
}
