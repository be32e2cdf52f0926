package validate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/strictjson"
)

// wild adds to a linked world: flink leads to a file outside, sub/deep/far to a directory, "https:" to the home folder;
// .ssh and outside/sub are what it must not reach.
func wild(t testing.TB) *world {
	w := linked(t)
	w.must(os.MkdirAll(filepath.Join(w.project, "sub/deep"), 0o755))
	w.must(os.MkdirAll(filepath.Join(w.home, ".ssh"), 0o755))
	w.must(os.WriteFile(filepath.Join(w.home, ".ssh/id_rsa"), nil, 0o600))
	w.must(os.Symlink("../../../outside", filepath.Join(w.project, "sub/deep/far")))
	w.must(os.Symlink("../outside/secret.txt", filepath.Join(w.project, "flink")))
	w.must(os.Symlink("..", filepath.Join(w.project, "https:")))
	return w
}

// shellAttacks came out of a third adversarial pass, with their siblings. Each is a shell string.
var shellAttacks = map[string][]string{
	"a glob over a link": {
		"cat fl*k", "cat f?ink", "cat [f]link", "cat f[!x]ink", "cat f[[:alpha:]]ink", "cat fl*", "cat *", "ls */", "cat f{li,x}nk", "cat f{k..m}ink",
		"cat li*k/secret.txt", "cat l?nk/s*", "cat */secret.txt", "cat ./fl*", "cat sub/*/far/secret.txt", "cat sub/deep/f*/secret.txt", "cat sub/*/f*", "cat **/sl",
		"cat {project}/fl*k", "cat ~/project/fl*k", "cat $PWD/fl*k", "cat \"$PWD\"/fl*k", "cat \"${PWD}\"/li*k/secret.txt", "cat $OUTSIDE/../project/fl*k",
		"X=fl*k; cat $X", "cat<fl*k", "cat $(echo fl*k)", "bash -c 'cat fl*k'", "bash -c \"bash -c 'cat fl*k'\"", "\"f\"l*k", "cat f\\l*k", "cd sub && cat s*",
		"cat li*k/../outside/secret.txt", "cat {a.txt,fl*}", "cat ./{x,fl}*",
	},
	"volumes and other words with colons": {
		"docker run -v /etc:/x i", "docker run -v /:/host i", "docker run -v /etc/passwd:/etc/passwd:ro i", "podman run -v ../outside:/x i",
		"docker run -v ~/.ssh:/root/.ssh i", "docker run -v $HOME:/x i", "docker run --volume=/etc:/x i", "docker run --volume /etc:/x i", "docker run -v/etc:/x i",
		"docker run -v link:/x i", "docker run -v ./link:/x i", "sudo docker run -v \"/etc:/x\" i", "docker run -v ${HOME}:/x i", "docker run -v ${NOPE:-/etc}:/x i",
		"cat a:/etc/passwd", "PATH=$PATH:link/.. ls", "X=a:/etc:b", "tool /etc:/x", "tool a.txt:link/secret.txt", "docker run -v /etc i", "bash -c 'docker run -v /etc:/x i'",
	},
	"what is missing is made": {
		"mkdir -p {outside}/newdir/sub/deeper", "mkdir -p ../outside/n1/n2/n3", "mkdir -p ~/n1/n2/n3", "git clone https://x/y {outside}/n1/n2",
		"install -D a.txt {outside}/n1/n2/x", "tar cf{outside}/x.tar .", "tar xzf{outside}/x.tar", "tar cf{outside}/n1/n2/x.tar .",
	},
	"variables in braces": {
		"bash -c 'cat ${HOME}/.ssh/id_rsa'", "bash -lc \"cat \\${HOME}/.ssh/id_rsa\"", "env -S 'cat ${HOME}/.ssh/id_rsa'", "cat '${HOME}/.ssh/id_rsa'",
		"docker run --mount type=bind,source=${HOME}/.ssh/id_rsa,target=/x i", "cat {a,${HOME}/.ssh/id_rsa}", "cat a.txt,${HOME}/.ssh/id_rsa",
		"cat ${A:-$HOME/.ssh/id_rsa}", "cat ${A:-${HOME}/.ssh/id_rsa}", "cat ${A:-${B:-/etc/passwd}}",
	},
	"behind a substitution": {
		"cat \"$(pwd)/../outside/secret.txt\"", "cat $(pwd)/../outside/secret.txt", "cat `pwd`/../outside/secret.txt", "cat $(git rev-parse --show-toplevel)/../outside/secret.txt",
		"cat $(pwd)/link/secret.txt", "cat \"`pwd`/link/secret.txt\"", "cat $ROOT/../outside/secret.txt", "cat ${0%/*}/../outside/secret.txt", "cat $ROOT/link/secret.txt",
		"cat ${ROOT}/../outside/secret.txt",
	},
	"braces and globs that build a component": {
		"cat .{,.}/outside/secret.txt", "cat .{.,}/outside/secret.txt", "cat ./.{.,}/outside/secret.txt", "cat /e{t,x}c/passwd", "cat /e{t,x}?/passwd",
		"cat .?/outside/secret.txt", "cat .*/outside/secret.txt", "cat .[.]/outside/secret.txt", "cat sub/.?/.?/outside/secret.txt", "{cat,/etc/passwd}",
	},
	"glued to letters": {
		"sed 1r/etc/passwd a.txt", "sed r/etc/passwd a", "sed -e '$r/etc/passwd' a.txt", "sed -n 'w{outside}/x' a", "sh -c cat\\ /etc/passwd", "vim +e\\ /etc/passwd",
		"tool --outputdir/etc/passwd", "tool -output/etc/passwd", "tool -output{outside}/new",
	},
	"behind cd": {
		"cd sub && cat sl", "cd sub/deep; cat far/secret.txt", "cd sub && cd deep && ls far", "cd src && cat ../../outside/secret.txt", "cd src && cat ../link/secret.txt",
		"cd {project}/sub && cat sl", "cd ~/project/sub && cat sl", "cd $PWD/sub && cat sl", "bash -c 'cd sub && cat sl'", "cd sub && bash -c 'cat sl'", "cd src && echo x > ../../new.txt",
		"git -C sub/deep show far/x", "tar -C sub/deep -cf - far", "cd sub/deep && cat ../../../outside/secret.txt", "make -C sub/deep far/secret.txt",
	},
	"a shell in quotes": {
		"bash -c 'cat /etc/passwd x'", "sh -c \"cat ../outside/secret.txt x\"", "eval 'cat /etc/passwd x'", "bash -c \"cp /etc/passwd a.txt\"", "bash -c \"cat /etc/passwd | head\"", "bash -c \"cat /etc/passwd > a.txt\"",
		"bash -c 'tar czf x.tgz /etc .'", "sh -c 'cp ~/.ssh/id_rsa a.txt'", "sh -c 'cp ../outside/secret.txt a.txt && ls'", "env -S 'cat /etc/passwd x'", "watch 'cat /etc/passwd x'",
		"timeout 5 bash -c 'cat /etc/passwd x'", "xargs -I{} sh -c 'cp /etc/passwd {}'", "sqlite3 a.db \".import ../outside/secret.txt t\"", "cat \"`echo /etc/passwd y`\"",
		"cat \"$(echo x /etc/passwd y)\"", "A=\"x /etc/passwd y\"; cat $A", "bash -c \"./run /etc/passwd t\"", "git commit -m \"$(cat /etc/passwd x)\"", "echo \"x $(cat /etc/passwd) y\"",
		"python3 -c 'import os; os.listdir(\"/\")'", "bash -c 'ls / x'", "ls '/'", "ls /", "su -c 'cat ~/.ssh/id_rsa x'", "bash -lc 'true; cat a.txt /etc/passwd; true'",
	},
}

// shellHonest are what a model sends every day in such a project.
var shellHonest = []string{
	"ls src/*.go", "cat a*.txt", "ls *.go", "cat src/*", "bin/tool --x", "rm -f *.tmp", "ls docs/*", "git add src/*.go a.*", "ls [a-c]*", "find . -name '*'", "find src -name \"*.go\"", "echo '*'",
	"echo \"5 * 3\"", "cp src/{main,other}.go docs/", "touch docs/{a..c}.md", "mkdir -p new/{x,y}/z", "cat in*/main.go", "grep -rn 'a.*b' src", "ls .git*", "ls -la .*", "git log --pretty='%h {x}'",
	"awk '{print $1, $2}' a.txt", "awk '{ print }' a.txt", "if true; then { ls src; }; fi", "f() { ls src; }; f", "echo ${X:-none} ${Y}", "for f in src/*.go; do wc -l $f; done",
	"docker run --rm -v $PWD:/usr/src/app -w /usr/src/app node npm test", "docker run -v \"$(pwd)\":/srv/app -w /srv i", "docker run -v pgdata:/var/lib/postgresql/data postgres",
	"docker run -v ./docs:/usr/share/nginx/html:ro nginx", "docker run --volume={project}:/opt/x --workdir=/opt/x i", "docker run -p 8080:80 nginx", "git show HEAD:src/main.go", "curl localhost:8080/api/v1/users",
	"mkdir -p build/usr/bin", "install -D a.txt pkg/etc/x/y", "cat $(pwd)/a.txt", "cat `pwd`/src/main.go", "cat \"$(git rev-parse --show-toplevel)/src/main.go\"", "ls $GOPATH/src", "cat $X/src/../a.txt",
	"gcc -Isrc/include -Lsrc/lib/x -obuild/bin x.c", "tar czf out.tgz src", "tar xzf a.tgz -C docs", "sed -n '1,5p;w out.txt' a.txt", "tool --no-color --output-dir=docs", "bash -c 'go test ./... && echo ok'",
	"cd src && cat ../a.txt", "cd src && npm i ../new", "cd docs; ls ../src; cat ../a.txt > x", "find . -name '*.go' -exec grep x {} \\;", "grep -c '\\\\' a.txt", "echo \\\\", "rg '\\.\\./' src",
	"cut -d/ -f1 a.txt", "awk -F/ '{print $2}' a.txt", "tr '/' '_' < a.txt", "echo 1 / 2", "perl -pi -e 's{/}{_}g' a.txt", "echo // comment", "sed -i 's|/usr/local|/opt|g' a.txt",
	"scp a.txt host:/srv/x", "rsync -a src/ host:/srv/", "scp bob@host:/etc/hosts docs/", "kubectl cp ns/pod:/var/log/x a.txt", "docker cp c:/etc/hosts a.txt", "curl -H 'Accept: */*' x.example.com",
	"git commit -m 'fix reading of /etc/passwd in tests'", "echo \"see /etc/hosts for more\" >> a.txt", "git commit -m \"$(cat <<'EOF'\nread /etc/hosts once\nEOF\n)\"", "gh pr create --title x --body 'from /etc to /usr it is'",
	"npm run build:prod", "tool rw/x", "go test -run 'TestA/b'", "python3 -c 'print(1 / 2)'", "perl -e 'print 4 / 2'",
}

// judgeCommands holds shell strings against the guard: attacks, by class, with the naive check as
// the control that lets them pass, and what is sent every day.
func judgeCommands(t *testing.T, attacks map[string][]string, honest []string) {
	t.Helper()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	command := func(s string) string { return `{"command":` + string(quoteJSON(w.fill(s))) + `}` }
	for class, list := range attacks {
		for _, s := range list {
			if _, v := w.call(c, tool, command(s)); v.Decision != Deny {
				t.Errorf("%s: %s: allowed", class, s)
			}
			if !naive(w, command(s)) {
				t.Errorf("%s: the naive check refuses it too", s)
			}
		}
	}
	for _, s := range honest { // the link called "https:" leads to the home folder, which * matches
		if _, v := w.call(c, tool, command(s)); v.Decision != Allow {
			t.Errorf("%s: denied %q: %s %+v", s, v.First.Value, v.First.Code, v.First.Readings)
		}
	}
}

func TestShellAttacks(t *testing.T) {
	judgeCommands(t, shellAttacks, shellHonest)
}

// TestShellGlobControl: the shell itself opens what the globs above match, so they are attacks.
func TestShellGlobControl(t *testing.T) {
	w := wild(t)
	for _, pattern := range []string{"fl*k", "li*k/secret.txt", "sub/*/far/secret.txt"} {
		found, err := filepath.Glob(filepath.Join(w.project, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s matches nothing: %v", pattern, err)
		}
		real, err := filepath.EvalSymlinks(found[0])
		if err != nil || !strings.HasPrefix(real, w.outside) {
			t.Errorf("%s leads to %s: no attack", pattern, real)
		}
	}
}

// TestGlobBudget: a pattern with more to match than can be looked at is refused, and one with a great deal is not slow.
func TestGlobBudget(t *testing.T) {
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for i := range 40 {
		w.must(os.MkdirAll(filepath.Join(w.project, "many", string(rune('A'+i)), "x/y"), 0o755))
	}
	if _, v := w.call(c, tool, `{"command":"ls many/*/*/*"}`); v.Decision != Allow {
		t.Errorf("denied: %+v", v.First)
	}
	j := &judge{c: c, m: &c.m, w: w.where(), v: w.view(), work: budget.New(0)}
	j.work.Spend(budget.CallSteps - 40)
	denied := false
	j.globWord(&Finding{Form: detect.FormGlob, Glob: "many/*/*/*"}, func(s meaning) { denied = denied || s.code == CodeBudget })
	if !denied {
		t.Error("the budget is not kept")
	}
	// Links make a pattern endless: what is looked at is counted, not what is found.
	w.must(os.Mkdir(filepath.Join(w.project, "loops"), 0o755))
	for i := range 10 {
		w.must(os.Symlink(".", filepath.Join(w.project, "loops", string(rune('a'+i)))))
	}
	if _, v := w.call(c, tool, `{"command":"ls loops/*/*/nosuch"}`); v.Decision != Allow {
		t.Errorf("a hundred directories: %+v", v.First)
	}
	for _, command := range []string{"ls loops/*/*/*/*/*/*/*/nosuch", "ls loops/" + strings.Repeat("*/", 1900), "ls loops/*/*/*/*/*/nosuch loops/*/*/*/*/*/other"} {
		if _, v := w.call(c, tool, `{"command":"`+command+`"}`); v.Decision != Deny || v.First.Code != CodeBudget {
			t.Errorf("%.40s: %+v", command, v)
		}
	}
	if _, v := w.call(c, tool, `{"command":"touch `+strings.Repeat("{a,b}", 8)+`"}`); v.Decision != Deny || v.First.Code != CodeGlob {
		t.Errorf("256 alternatives: %+v", v)
	}
}

// TestProfileByNameAlone: what a child calls itself exempts only what the server of that name is known to have (threats
// 1: a child's output is trusted for nothing).
func TestProfileByNameAlone(t *testing.T) {
	w := wild(t)
	c := w.checker()
	calls := []string{`{"path":"/etc/passwd"}`, `{"path":"flink"}`, `{"repo_path":"{outside}"}`, `{"files":[{"path":"link/x","content":"a"}]}`,
		`{"command":"cat /etc/passwd"}`, `{"target":"/etc/passwd"}`, `{"libraryId":"/etc/passwd"}`, `{"file":"../outside/secret.txt"}`, `{"filepath":"/etc/passwd"}`}
	for _, p := range declare.Profiles() {
		for _, server := range p.Match.Servers {
			for _, name := range []string{"write_file2", "export_to_file", "anything", "read"} {
				tool := w.tool(c, server, `{"name":"`+name+`"}`)
				for _, args := range calls {
					if _, v := w.call(c, tool, args); v.Decision != Deny {
						t.Errorf("%s of a server that calls itself %s: %s: allowed", name, server, args)
					}
				}
			}
		}
	}
	// The control: where the operator's own command names the package, its profile is believed for every tool.
	c = w.checker(ChildConfig{Name: "child", Command: "npx", CommandArgs: []string{"-y", "@modelcontextprotocol/server-memory"}})
	tool := w.tool(c, "", `{"name":"export_to_file"}`)
	if _, v := w.call(c, tool, calls[0]); v.Decision != Allow {
		t.Error("the profile of a configured package does not hold")
	}
}

// argumentAttacks are the third pass's attacks outside shell strings.
var argumentAttacks = map[string][]string{
	"a link called https:": {
		`{"path":"https://projects/sibling.txt"}`, `{"path":"https:/projects/sibling.txt"}`, `{"source":"https://projects/sibling.txt"}`, `{"x":"https:/projects/sibling.txt"}`,
		`{"path":"https://projects/sibling.txt?x"}`, `{"file_path":"https://config/hub.json"}`,
	},
	"a URL that climbs above its start": {
		`{"x":"s3://../../outside/secret.txt"}`, `{"x":"http:/../../outside/secret.txt"}`, `{"target":"git://../../../outside/secret.txt"}`, `{"x":"https://x/../../../outside/secret.txt"}`,
		`{"x":"https://x/../../../outside/secret.txt?a=b"}`,
	},
	"code in an argument vector": {
		`{"args":["python3","-c","open('/etc/passwd')"]}`, `{"args":["node","-e","require('fs').readFileSync('../outside/secret.txt')"]}`, `{"args":["bash","-c","cat</etc/passwd"]}`,
		`{"args":["--eval=open('/etc/passwd')"]}`, `{"args":["curl","-F","a=</etc/passwd"]}`, `{"x":"a=</etc/passwd"}`, `{"args":["bash","-c","docker run -v /etc/passwd:/x i"]}`,
		`{"arguments":["bash","-c","cat /etc/passwd"]}`, `{"options":["bash","-c","cat /etc/passwd"]}`, `{"x":["bash","-lc","cat fl*k"]}`, `{"x":["--eval","open('/etc/passwd')"]}`,
		`{"args":["-C","sub/deep","far"]}`, `{"args":["--prefix=sub/deep","far/secret.txt"]}`, `{"args":["x={project}/a.txt cat /etc/passwd"]}`,
	},
	"patterns": {
		`{"pattern":"{a,/etc}/pass*"}`, `{"pattern":"{,/etc}/passwd"}`, `{"glob":"{a,b,/etc}/passwd"}`, `{"glob":"{a,{b,/etc}}/passwd"}`, `{"x":"{/x,/etc}/passwd"}`, `{"x":"{/et,x}c/passwd"}`,
		`{"x":"{,/}etc/passwd"}`, `{"x":"/et{c..d}/passwd"}`, `{"x":"/{a..f}tc/passwd"}`, `{"pattern":"[.][.]/outside/*"}`, `{"pattern":"[.]./outside/*"}`, `{"x":".[.]/outside/*"}`,
		`{"pattern":"\\.\\./outside/*"}`, `{"pattern":"src/\\.\\./\\.\\./outside/*"}`, `{"path":"src/\\.\\./\\.\\./outside/*"}`, `{"pattern":"l\\ink/*"}`, `{"pattern":"l[i]nk/*"}`,
		`{"x":"@(..)/outside/*"}`, `{"x":"@(/etc|a)/passwd"}`, `{"x":"?(x)../outside/*"}`, `{"x":"[/]etc/passwd"}`, `{"paths":["l[i]nk/secret.txt"]}`,
	},
	"directories that are named by another argument": {
		`{"repo":"sub/deep","file":"far/secret.txt"}`, `{"project":"sub/deep","path":"far"}`, `{"prefix":"sub/deep/","file":"far/secret.txt"}`, `{"target":"sub/deep","file":"far/secret.txt"}`,
		`{"root":"sub","dir":"deep","file":"far/secret.txt"}`, `{"root":"{project}/sub","dir":"deep","name":"far/secret.txt"}`, `{"cwd":"{project}/sub","path":"deep","args":["far/secret.txt"]}`,
		`{"path":["sub","deep","far","secret.txt"]}`, `{"segments":["link","secret.txt"]}`, `{"parts":["..","outside"]}`, `{"cwd":"{project}/sub","command":"cd deep && cat far/secret.txt"}`,
	},
	"bare names beside and below paths": {
		`{"files":[{"name":"flink","content":"x"}]}`, `{"file":{"name":"flink","content":"x"}}`, `{"path":".","name":"flink","content":"x"}`, `{"directory":"{project}","name":"link"}`,
		`{"folder":"sub/deep","name":"far"}`, `{"dst":"flink"}`, `{"path":"src","output":"flink"}`,
	},
	"SQL": {
		`{"sql":"select * from 'link/secret.txt'"}`, `{"sql":"ATTACH 'link/x.db' AS x"}`, `{"sql":"COPY t TO 'link/new.csv'"}`, `{"sql":"VACUUM INTO 'flink'"}`,
		`{"query":"BACKUP DATABASE x TO DISK='{outside}/x'"}`, `{"query":"RESTORE DATABASE x FROM DISK=N'{outside}/x'"}`, `{"query":"BULK INSERT t FROM '/etc/passwd'"}`, `{"query":"CHECKPOINT; COPY t TO '{outside}/x'"}`,
		`{"query":"PIVOT '/etc/passwd' ON x"}`, `{"query":".read /etc/passwd"}`, `{"query":".import /etc/passwd t"}`, `{"query":".open {outside}/x"}`, `{"query":"\\copy t from '/etc/passwd'"}`, `{"query":"\\i /etc/passwd"}`,
		`{"sql":"COPY t TO '{outside}/sub/new.db'"}`, `{"sql":"select * from [/etc/passwd]"}`, `{"sql":"source /etc/passwd"}`, `{"sql":"@/etc/passwd"}`, `{"sql":"START /etc/passwd"}`,
	},
	"values behind a blank": {
		`{"x":"opt= /etc/passwd"}`, `{"x":"opt =  ../outside/secret.txt"}`, `{"x":"x==  /etc/passwd"}`, `{"path":"opt= link/secret.txt"}`, `{"x":"x=[/etc/passwd]"}`,
	},
	"an executable outside that is not run": {
		`{"target":"bin/tool","content":"evil"}`, `{"dst":"bin/tool"}`, `{"output":"bin/tool"}`, `{"edits":{"bin/tool":"x"}}`, `{"target":"link/tool"}`, `{"command":"echo evil > bin/tool"}`,
		`{"command":"tee bin/tool"}`, `{"command":"cp a.txt bin/tool"}`, `{"command":"sed -i s/a/b/ bin/tool"}`, `{"command":"cat link/tool"}`, `{"args":["cp","a.txt","bin/tool"]}`, `{"command":["cat","bin/tool"]}`,
	},
	"shell strings under other names": {
		`{"commandLine":"cat /etc/passwd"}`, `{"command_line":"cat /etc/passwd"}`, `{"command":{"run":"cat /etc/passwd"}}`, `{"command":{"value":"cat /etc/passwd"}}`, `{"commands":[{"run":"cat /etc/passwd"}]}`,
		`{"command":"sh","params":"-c 'cat /etc/passwd'"}`, `{"command":"sh","arguments":["-c","cat /etc/passwd"]}`, `{"bash":"cat fl*k"}`, `{"run":"cat /etc/passwd"}`, `{"exec":"cat /etc/passwd"}`,
	},
	"schemes that carry files": {
		`{"x":"fileb:///etc/passwd"}`, `{"x":"compress.zlib:///etc/passwd"}`, `{"x":"glob:///etc/passwd"}`, `{"x":"oci-layout:///etc"}`, `{"x":"ipc:///run/x"}`, `{"x":"redis+socket:///run/x"}`,
		`{"x":"redis+unix:///run/x"}`, `{"x":"zed://file/etc/x"}`, `{"path":"fileb:///etc/passwd"}`,
	},
	"what a shell deletes": {
		`{"command":"rm -rf {home}/config"}`, `{"command":"shred -u ../config"}`,
	},
	"long options": {
		`{"zz":"--outputdir/etc/passwd"}`, `{"zz":"-output/etc/passwd"}`, `{"args":["--outputdir/etc/passwd"]}`, `{"zz":"--outputdir{outside}/new"}`, `{"path":"--outputdir/etc/passwd"}`,
	},
	"JSON that only some parsers take": {
		`{"zz":"{\"n\":1e99999,\"path\":\"flink\"}"}`, `{"zz":"{\"n\":NaN,\"path\":\"flink\"}"}`, `{"zz":"{\"path\":\"flink\",}"}`, `{"zz":"// c\n{\"path\":\"flink\"}"}`,
		`{"zz":"{\"b\":1}\n{\"path\":\"flink\"}"}`, `{"zz":"\"{\\\"path\\\":\\\"flink\\\"}\""}`, `{"zz":"{/*x*/\"path\":\"flink\",\"y\":-Infinity}"}`, `{"zz":"{\"path\":\"/etc/passwd\",}"}`,
	},
}

func TestArgumentAttacks(t *testing.T) {
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for class, list := range argumentAttacks {
		for _, args := range list {
			s, err := c.Scan(tool, []byte(w.fill(args)))
			if err != nil {
				t.Errorf("%s: %s: %v", class, args, err)
				continue
			}
			if v := c.Judge(s, w.where(), w.view()); v.Decision != Deny {
				t.Errorf("%s: %s: allowed", class, args)
			}
			if !naive(w, w.fill(args)) {
				t.Errorf("%s: the naive check refuses it too", args)
			}
		}
	}
	w.must(os.Remove(filepath.Join(w.project, "https:")))
	for _, args := range []string{
		`{"url":"https://example.com/a/../b","homepage":"http://x/../y"}`, `{"path":"https://example.com/x","source":"http://x"}`, `{"x":"s3://bucket/a/../b"}`, `{"x":"https://x/a?next=/../.."}`,
		`{"pattern":"\\.\\./utils"}`, `{"pattern":"(a|b)/c","regexp":"x[.]y/z"}`, `{"pattern":"from ['\"]\\.\\./"}`, `{"include":"*.{ts,tsx}","exclude":"{dist,build}/**"}`, `{"pattern":"src/**/*.{a,b}"}`,
		`{"pattern":"^(foo|bar)/[0-9]{2,3}$"}`, `{"path":"src","pattern":".*/foo","name":"main","type":"file"}`, `{"path":"src/[a]/x","name":"docs"}`, `{"args":["(a|b)","x='y'","--f={a}"]}`,
		`{"path":["src","main.go"]}`, `{"segments":["a","b"]}`, `{"repo":"docs","path":"a.txt","name":"src"}`, `{"root":"{project}","dir":"src","file":"main.go"}`, `{"query":"start here"}`, `{"query":".foo[] | /x/"}`,
		`{"sql":"select '[a]', 'b' from t where x = 'src/main.go'"}`, `{"x":"a = b/c","note":"x == y"}`, `{"command":"rm -rf src/x docs"}`, `{"command":"mv a.txt docs/"}`, `{"zz":"--no/such","args":["-Lbuild/lib","--a/b"]}`,
		`{"sep":"/","separator":"/","op":"/","delimiter":"\\"}`, `{"keyPath":"/a/b","jsonPath":"/a"}`, `{"interpreter":"bin/tool","python":"bin/tool"}`, `{"argv":["bin/tool","x"]}`, `{"command":["bin/tool","x"]}`,
		`{"run":true,"cli":"x","note":"- see the list"}`, `{"cache":"redis://h/0","img":"ipc","x":"glob:*.go"}`,
		`{"zz":"{not: json, 'a': 1}","yy":"// a comment {","xx":"[1,2] and [3]","ww":"{\"a\":NaN}"}`,
	} {
		s, err := c.Scan(tool, []byte(w.fill(args)))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if v := c.Judge(s, w.where(), w.view()); v.Decision != Allow {
			t.Errorf("%s: denied %q as %s: %s %+v", args, v.First.Value, v.First.How, v.First.Code, v.First.Readings)
		}
	}
}

// TestSchemaBeatsTheName: what the schema says of an argument outweighs what its name lets one guess.
func TestSchemaBeatsTheName(t *testing.T) {
	w := wild(t)
	c := w.checker()
	def := func(schema string) string {
		return `{"name":"do_it","inputSchema":{"type":"object","properties":{"data":` + schema + `,"text":` + schema + `,"query":` + schema + `}}}`
	}
	for schema, list := range map[string][]string{
		`{"type":"string","format":"path"}`:               {`{"text":"/etc/passwd"}`, `{"data":"../outside/secret.txt"}`, `{"data":"flink"}`},
		`{"anyOf":[{"type":"object"},{"type":"string"}]}`: {`{"data":"{\"path\": \"/etc/passwd\"}"}`, `{"query":"{\"path\":\"flink\"}"}`},
		`{}`:                           {`{"data":"{\"path\": \"/etc/passwd\"}"}`},
		`true`:                         {`{"data":"{\"path\": \"/etc/passwd\"}"}`},
		`{"type":["object","string"]}`: {`{"text":"{\"path\": \"/etc/passwd\"}"}`},
	} {
		tool := w.tool(c, "", def(schema))
		for _, args := range list {
			if _, v := w.call(c, tool, args); v.Decision != Deny {
				t.Errorf("%s: %s: allowed", schema, args)
			}
		}
	}
	tool := w.tool(c, "", def(`{"anyOf":[{"type":"string"},{"type":"null"}]}`))
	for _, args := range []string{`{"text":"/etc/passwd"}`, `{"data":"{\"path\": \"/etc/passwd\"}"}`} {
		if _, v := w.call(c, tool, args); v.Decision != Allow {
			t.Errorf("%s: denied", args)
		}
	}
}

// TestCwdOutside: where the operator lets a server work outside the roots, relative words are outside.
func TestCwdOutside(t *testing.T) {
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judge := func(cwd, args string) Decision {
		s, err := c.Scan(tool, []byte(args))
		w.must(err)
		return c.Judge(s, Where{Cwd: cwd, Served: w.roots}, w.view()).Decision
	}
	for _, args := range []string{`{"command":"cat secret.txt"}`, `{"command":"cat sub/x"}`, `{"args":["sub/x"]}`, `{"x":"sub/x"}`, `{"x":"./secret.txt"}`} {
		if judge(w.outside, args) != Deny {
			t.Errorf("%s: allowed", args)
		}
	}
	for _, args := range []string{`{"command":"npm sub"}`, `{"x":"secret.txt"}`, `{"command":"ls"}`, `{"x":"no/such"}`} {
		if judge(w.outside, args) != Allow {
			t.Errorf("%s: denied", args)
		}
	}
}

// TestBelowDeclared: an object where a path is declared, in declared mode.
func TestBelowDeclared(t *testing.T) {
	w := wild(t)
	c := w.checker(ChildConfig{Name: "child", Command: "x", Mode: ModeDeclared, ModeSet: true, Args: map[string]map[string]ArgRule{
		"*": {"/doc": {Role: access.Read}, "/opts/outFile": {Role: access.Write}, "/list/*/to": {Role: access.Write}, "/free": {Role: access.None}}}})
	tool := w.tool(c, "", `{"name":"do_it","inputSchema":{"type":"object","properties":{"opts":{"properties":{"logDir":{"type":"string"}}}}}}`)
	for _, args := range []string{
		`{"doc":{"a":"/etc/passwd"}}`, `{"doc":["/etc/passwd"]}`, `{"doc":{"/etc/passwd":1}}`, `{"DOC":"flink"}`,
		`{"opts":{"outfile":"flink"}}`, `{"opts":{"OUTFILE":"flink"}}`, `{"OPTS":{"outFILE":"flink"}}`, `{"opts":"{\"outfile\":\"flink\"}"}`, `{"list":[{"TO":"flink"}]}`, `{"list":[{"to":"flink"}]}`,
		`{"liſt":[{"to":"flink"}]}`,
	} {
		if _, v := w.call(c, tool, args); v.Decision != Deny {
			t.Errorf("%s: allowed", args)
		}
	}
	for args, code := range map[string]string{
		`{"opts":{"outFile":"a","OUTFILE":"flink"}}`: strictjson.CodeFolded, `{"list":[{"to":"a","To":"flink"}]}`: strictjson.CodeFolded,
		`{"opts":{"outFile\u0000":"flink"}}`: strictjson.CodeName, `{"opts":"{\"outFile\\u0000\":\"flink\"}"}`: strictjson.CodeName,
	} {
		var e *strictjson.Error
		if _, err := c.Scan(tool, []byte(args)); !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, v := w.call(c, tool, `{"free":"/etc/passwd","other":{"outfile":"flink"},"opts":{"outFile":"a.txt"}}`); v.Decision != Allow {
		t.Errorf("denied: %+v", v.First)
	}
	// In strict mode a name of the schema counts at every depth, whatever its case.
	strict := w.checker()
	tool = w.tool(strict, "", `{"name":"do_it","inputSchema":{"type":"object","properties":{"opts":{"properties":{"logDir":{"type":"string"}}}}}}`)
	if _, v := w.call(strict, tool, `{"opts":{"logdIR":"flink"}}`); v.Decision != Deny {
		t.Error("a nested name in other letters: allowed")
	}
}

// TestAttachedVolumes: a short flag of docker may carry its value.
func TestAttachedVolumes(t *testing.T) {
	c := machine.ReadContainer("docker", []string{"run", "-i", "-v/out:/o:ro", "-itv=/out:/projects/sub", "-v", "/r:/projects", "-w/projects", "img"})
	if c == nil || len(c.Mounts) != 3 || c.Mounts[0] != (machine.Mount{Host: "/out", Container: "/o"}) || c.Mounts[1] != (machine.Mount{Host: "/out", Container: "/projects/sub"}) || c.Workdir != "/projects" {
		t.Errorf("%+v", c)
	}
}
