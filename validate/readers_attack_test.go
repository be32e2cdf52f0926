package validate

import (
	"os"
	"path/filepath"
	"testing"

	"mcphub/validate/policy"
)

// readerAttacks are attacks outside shell strings: what a child may read out of a text before it opens anything.
var readerAttacks = map[string][]string{
	"a slash that is no character": {
		`{"args":["unzip","x.zip","-d","/"]}`, `{"command":"unzip","args":["x.zip","-d","/"]}`, `{"args":["du","-d","/"]}`, `{"args":["-F","/","x"],"command":"find"}`,
		`{"args":["cp","-d/","x"]}`,
	},
	"how a child may read what it is sent": {
		`{"x":"file%3A%2F%2F%2Fetc%2Fpasswd"}`, `{"url":"file%3A///etc/passwd"}`, `{"x":"%66ile:///etc/passwd"}`, `{"x":"f%69le:///etc/passwd"}`, `{"x":"ｆｉｌｅ:///etc/passwd"}`,
		`{"x":"file：///etc/passwd"}`, `{"x":"netdoc:///etc/passwd"}`, `{"x":"....//....//outside/secret.txt"}`, `{"path":"....//....//outside/secret.txt"}`,
		`{"x":"..././..././outside/secret.txt"}`, `{"x":"....\\\\....\\\\outside"}`, `{"x":"..%00/outside"}`, `{"x":"{'path': '/etc/passwd'}"}`, `{"x":"{'path': 'flink'}"}`,
		`{"x":"{path: '/etc/passwd'}"}`, `{"x":"{path: \"flink\"}"}`, `{"x":"{'path': u'/etc/passwd', 'n': None}"}`, `{"x":"['/etc/passwd', 'a'] # x"}`, `{"x":"{'path': '\\x2fetc/passwd'}"}`,
		`{"path":"['flink']"}`, `{"x":"\"\\u002fetc\\u002fpasswd\""}`, `{"path":"\"\\u002fetc\\u002fpasswd\""}`, `{"x":"'\\x2fetc\\x2fpasswd'"}`, `{"x":"('/etc/passwd')"}`,
		`{"path":"u'/etc/passwd'"}`, `{"path":"r\"/etc/passwd\""}`, `{"path":"$NOPE/etc/passwd"}`, `{"path":"${NOPE}/etc/passwd"}`, `{"path":"${NOPE}../outside/secret.txt"}`,
		`{"path":"..$NOPE/outside/secret.txt"}`, `{"x":"${env:HOME}/outside/secret.txt"}`, `{"path":"${userHome}/outside/secret.txt"}`, `{"x":"concat:a|link/secret.txt"}`,
		`{"x":"a.txt,link/secret.txt"}`, `{"x":"a.txt;link/secret.txt"}`,
	},
	"a slash that is no separator": {
		`{"args":["unzip","x.zip","-d","/"]}`, `{"command":"unzip","args":["x.zip","-d","/"]}`, `{"command":"unzip","args":["x.zip","-d/"]}`, `{"args":["cp","-t/","x"]}`,
		`{"args":["du","-d","/"]}`, `{"command":"find","args":["-F","/","x"]}`,
	},
	"vectors": {
		`{"command":"docker","args":["exec","--env-file","/etc/passwd","web","ls"]}`, `{"command":"docker","args":["run","--gpus","all","-v","/etc:/x","i"]}`,
		`{"command":"docker","args":["build","-t","exec","/etc"]}`, `{"command":"grep","args":["/etc/passwd","-e","root"]}`, `{"command":"grep","args":["root","/etc/passwd"]}`,
		`{"command":"grep","args":["-f","/etc/passwd","a"]}`, `{"args":["su","-m","cat /etc/passwd x"]}`, `{"command":"python3","args":["-m","x /etc/passwd y"]}`,
		`{"command":"curl","args":["-H","@/etc/passwd"]}`, `{"command":"sed","args":["s|a|b|w /etc/x","a.txt"]}`,
	},
	"routes that are files": {
		`{"op":"replace","path":"/etc/passwd"}`, `{"op":"add","path":"link/x"}`, `{"op":"copy","from":"/etc/passwd","path":"x"}`, `{"method":"GET","path":"/etc/passwd"}`,
		`{"method":"GET","path":"../outside/secret.txt"}`, `{"method":"GET","path":"/nope/../etc/passwd"}`, `{"method":"read","path":"/nowhere/x"}`,
	},
}

// nestedHonest are shell strings of every day that were refused.
var nestedHonest = []string{
	"cat > README.md <<'EOF'\n# Install\nCopy it to /etc/nginx/nginx.conf, then see ~/.bashrc and ../other\nEOF", "cat <<EOF > docs/a.md\nsee /etc/hosts and /usr/bin\nEOF",
	"cat >> a.txt << \"END\"\n#!/bin/sh\ncat /etc/hosts\nEND\nls src", "tee src/x.sh <<'EOF'\n#!/bin/bash\ncd /usr/local\nEOF", "# see /etc/hosts for the names\nls src",
	"set -e\n# installs to /usr/local/bin\nmake", "sudo -E /usr/bin/env a.py", "timeout 60 /usr/bin/env src/x.py", "timeout -s KILL 5 /bin/sh x", "xargs -0 /bin/sh",
	`find . -name '*.o' -exec /bin/ls {} \;`, "nice -n 10 /usr/bin/env", `curl -X POST http://localhost/api -d '{"path": "/home"}'`, "git commit -am 'handle ../x and /etc'",
	"git grep -n '/etc/' -- src", "grep -rn '/etc/passwd' src", `grep -rn "/usr/bin" . --include=*.sh`, "rg '/home/' src", `rg "from '../" src`, `grep -n "require('../x')" src/main.go`,
	`awk '$1 ~ /^\/api/ {print}' a.txt`, "cut -d '/' -f 2 a.txt", "sort -t / -k2 a.txt", "column -s / -t a.txt", "paste -sd/ a.txt", "xargs -d / echo < a.txt", `IFS=/ read -r a b <<< "x/y"`,
	"echo $((10 / 3))", "echo $(( 10 / 3 ))", `docker run --rm -v "$(pwd)/src:/src" -e HOME=/root -it alpine sh -c 'ls /src'`, "docker exec -it web cat /etc/nginx/nginx.conf",
	`docker exec web sh -c "ls /app && cat /etc/hosts"`, "docker run --mount type=bind,source=$PWD,target=/usr/src alpine", "kubectl exec -it pod -- cat /etc/config/x",
	`echo "0 0 * * * /usr/bin/foo" > cron.txt`, "echo '/etc/hosts' > list.txt", `echo "PATH=/usr/bin" >> .env`,
	`gh pr create --title "Fix /etc" --body "See /usr/bin"`, "cd src; cd ..; ls", "mkdir -p build && cd build && cmake ..", "cd build && cmake .. && make", "cd src/a/b && npm i ../../x",
	"python3 <<'EOF'\nx = 1 / 2\nprint(x)\nEOF", "git commit -F - <<'EOF'\nfix /etc handling\nEOF", `echo "Total: $(ls | wc -l) / $(nproc)"`, `echo "see $(cat a.txt) in /etc"`,
	`echo "done at $(date) / ok"`, `git commit -m "Update $(cat VERSION) in /etc"`,
}

// readerHonest are calls of every day that were refused.
var readerHonest = []string{
	`{"method":"GET","path":"/v1/users"}`, `{"method":"POST","path":"/api/items","body":{"a":1}}`, `{"patch":[{"op":"replace","path":"/spec/replicas","value":3}]}`,
	`{"operations":[{"op":"add","path":"/fields/System.Title","value":"x"}]}`, `{"op":"remove","path":"/metadata/labels/x"}`, `{"request":{"method":"GET","path":"/api/v1/x","headers":{}}}`,
	`{"sql":"SELECT * FROM pages WHERE path = '/home'"}`, `{"query":"SELECT count(*) FROM logs WHERE url LIKE '/api/%' AND path = '/'"}`,
	`{"sql":"INSERT INTO pages(path, title) VALUES('/home', 'Home')"}`, `{"sql":"SELECT split_part(x, '/', 2) FROM t"}`, `{"sql":"SELECT replace(p, '\\\\', '/') FROM t"}`,
	`{"sql":"UPDATE t SET home = '/root' WHERE id = 1"}`, `{"query":"CREATE TABLE x (p text DEFAULT '/')"}`, `{"sql":"SELECT '/' || name FROM t"}`,
	`{"sql":"select string_agg(a, ' / ') from t"}`, `{"pattern":"\\.\\./[a-z]+"}`, `{"search":"../x","replacement":"/etc"}`, `{"needle":"../x","repl":"$1/../x"}`,
	`{"needle":"/etc","repl":"x"}`, `{"params":{"path":"src"},"query":{"q":"/etc"}}`, `{"args":["commit","-m","fix: /etc/passwd parsing"]}`,
	`{"command":"git","args":["commit","-m","see /etc/hosts"]}`, `{"command":"grep","args":["-rn","/etc/passwd","src"]}`, `{"command":"grep","args":["-rn","../x","src"]}`,
	`{"command":"curl","args":["-H","Accept: */*","http://localhost/etc"]}`, `{"command":"docker","args":["exec","web","cat","/etc/hosts"]}`,
	`{"command":"sed","args":["s|/usr|/opt|","a.txt"]}`, `{"working_directory":"{project}/src","command":"cat main.go ../a.txt"}`,
}

func TestReaderAttacks(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAttacks(t, w, c, tool, readerAttacks, 8)
}

func TestReadersHonestCalls(t *testing.T) {
	t.Parallel()
	w := wild(t)
	w.must(os.Remove(filepath.Join(w.project, "https:"))) // it leads to the home folder, which * matches
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	calls := readerHonest
	for _, s := range nestedHonest {
		calls = append(calls, `{"command":`+string(quoteJSON(w.fill(s)))+`}`)
	}
	judgeAll(t, w, c, tool, policy.Allow, calls...)
}
