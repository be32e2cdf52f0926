package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/validate/budget"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
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

// shellAttacks are shell strings, by what a shell makes of them.
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
	commands := func(list []string) (calls []string) {
		for _, s := range list {
			calls = append(calls, `{"command":`+string(quoteJSON(w.fill(s)))+`}`)
		}
		return calls
	}
	calls := map[string][]string{}
	for class, list := range attacks {
		calls[class] = commands(list)
	}
	judgeAttacks(t, w, c, tool, calls, 10)
	judgeAll(t, w, c, tool, policy.Allow, commands(honest)...) // the link called "https:" leads to the home folder, which * matches
}

func TestShellAttacks(t *testing.T) {
	t.Parallel()
	judgeCommands(t, shellAttacks, shellHonest)
}

// TestShellGlobControl: the shell itself opens what the globs above match, so they are attacks.
func TestShellGlobControl(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for i := range 40 {
		w.must(os.MkdirAll(filepath.Join(w.project, "many", string(rune('A'+i)), "x/y"), 0o755))
	}
	if _, v := w.call(c, tool, `{"command":"ls many/*/*/*"}`); v.Decision != policy.Allow {
		t.Errorf("denied: %+v", v.Deciding)
	}
	j := &judge{checker: c, Machine: &c.m, callCtx: w.where(), roots: w.view(), work: budget.New(0)}
	j.work.Spend(budget.CallSteps - 40)
	denied := false
	j.yieldGlobWord(&detect.Finding{Form: detect.FormGlob, Glob: "many/*/*/*"}, func(s meaning) { denied = denied || s.code == CodeBudget })
	if !denied {
		t.Error("the budget is not kept")
	}
	// Links make a pattern endless: what is looked at is counted, not what is found.
	w.must(os.Mkdir(filepath.Join(w.project, "loops"), 0o755))
	for i := range 10 {
		w.must(os.Symlink(".", filepath.Join(w.project, "loops", string(rune('a'+i)))))
	}
	if _, v := w.call(c, tool, `{"command":"ls loops/*/*/nosuch"}`); v.Decision != policy.Allow {
		t.Errorf("a hundred directories: %+v", v.Deciding)
	}
	for _, command := range []string{"ls loops/*/*/*/*/*/*/*/nosuch", "ls loops/" + strings.Repeat("*/", 1900), "ls loops/*/*/*/*/*/nosuch loops/*/*/*/*/*/other"} {
		if _, v := w.call(c, tool, `{"command":"`+command+`"}`); v.Decision != policy.Deny || v.Deciding.Code != CodeBudget {
			t.Errorf("%.40s: %+v", command, v)
		}
	}
	if _, v := w.call(c, tool, `{"command":"touch `+strings.Repeat("{a,b}", 8)+`"}`); v.Decision != policy.Deny || v.Deciding.Code != CodeGlob {
		t.Errorf("256 alternatives: %+v", v)
	}
}

// wordAttacks are shell strings, by what programs make of their words.
var wordAttacks = map[string][]string{
	"a quoted substitution before an unquoted path": {
		"cat \"$(pwd)\"/flink", "cat \"$(pwd)\"/link/secret.txt", "cat \"$(git rev-parse --show-toplevel)\"/sub/deep/far/secret.txt", "cat \"$(git rev-parse --show-toplevel)\"/../outside/secret.txt",
		"rm -rf \"$(pwd)\"/../outside", "cp a.txt \"$(pwd)\"/../outside/x", "cat \"`pwd`\"/../outside/secret.txt", "cat \"$(dirname \"$0\")\"/../outside/secret.txt", "cat \"$(pwd)\"'/../outside/secret.txt'",
		"cat $(pwd)\"/../outside/secret.txt\"", "cat \"${ROOT}\"/../outside/secret.txt", "cat \"${ROOT%/*}\"\"/../outside/secret.txt\"", "cat \"$(pwd)\"\"\"/../outside/secret.txt", "bash -c 'cat \"$(pwd)\"/../outside/secret.txt'",
	},
	"a text that is piped on": {
		"echo 'cp /etc/passwd a.txt' | bash", "echo \"cat /etc/passwd now\" | sh", "echo \"fix /etc/passwd reading\" | xargs cat", "printf 'cat /etc/passwd x' |bash", "echo a 'cat /etc/passwd x' b | tee a.txt | sh", "echo 'cat /etc/passwd x' |& bash",
		"echo x; echo 'cat /etc/passwd x' | sh", "bash -c \"echo 'cat /etc/passwd x' | sh\"", "echo 'cat /etc/passwd x' > >(bash)", "bash <(echo 'cat /etc/passwd x')", "(echo 'cat /etc/passwd x') | bash", "{ echo 'cat /etc/passwd x'; } | bash",
	},
	"a URL that a link makes a path": {
		"cat https://projects/sibling.txt", "cat s3://../../outside/secret.txt", "cat https:/projects/sibling.txt",
	},
	"what is added to PATH": {
		"PATH=$PATH:link/.. ls", "export PATH=$PATH:/etc/ssl", "PATH=\"$PATH:../outside\" x", "cat $PATH:/etc/passwd", "cat $PATH/../etc/passwd", "cat ${PATH:-/etc/passwd}", "PATH=${PATH}:~/.ssh x",
	},
	"a variable that holds nothing": {
		"cat src/$X/../../outside/secret.txt", "cat ./$X/../outside/secret.txt", "cat $X/$Y/../outside/secret.txt", "set -- .; cat $1/../outside/secret.txt", "cat \"$@\"/../outside/secret.txt", "cat $1/link/secret.txt",
		"cat ./${X}/../outside/secret.txt",
	},
}

// wordHonest stand for what is sent every day.
var wordHonest = []string{
	"echo 'see /etc/hosts for more' && ls", "echo 'see /etc/hosts for more' || true", "curl -o x http://example.com/a/../b", "git clone http://example.com/x.git new", "echo 'see /etc/hosts for more' | tee -a a.txt", "echo 'a /etc/hosts b' | grep x | wc -l", "echo 'done: /etc was read' >> a.txt",
	"echo $PATH", "export PATH=$PATH:$PWD/bin", "export PATH=\"$PATH:./bin\"", "PATH=$PATH:node_modules/.bin tsc", "echo $SHELL", "echo \"export PATH=$PATH:./bin\" >> a.txt", "echo ${PATH}",
	"cat \"$(pwd)\"/a.txt", "cat \"$(git rev-parse --show-toplevel)\"/src/main.go", "ls \"$DIR\"/src", "cat src/$X/main.go", "for f in a b; do cat src/$f/../main.go; done",
	"mkdir -p \"$(pwd)\"/build", "awk '{print $1/$2}' a.txt",
}

func TestWordAttacks(t *testing.T) {
	t.Parallel()
	judgeCommands(t, wordAttacks, wordHonest)
}
