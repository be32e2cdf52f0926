package validate

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/validate/machine"
)

// servers are resource templates, and the URIs that such a server must not be sent.
var uriAttacks = map[string][]string{
	"files://{path}": {
		"FILES://%2Fetc%2Fpasswd", "Files://..%2Foutside%2Fsecret.txt", "FILES://flink", " files://%2Fetc%2Fpasswd", "\u0001files://%2Fetc%2Fpasswd", "files:\t//%2Fetc%2Fpasswd",
		"fi\nles://%2Fetc%2Fpasswd", "files://fl\tink", "files://.\t.%2Foutside%2Fsecret.txt", "files://flink?x", "files://flink#x", "files://flink/", "files:flink", "files:/flink",
	},
	"repo://{owner}/{+path}": {
		"REPO://o//etc/passwd", "REPO://o/link/secret.txt", "repo://o/li\tnk/secret.txt", "repo://o/x/..//etc/passwd", "repo://o/x/%2e%2E//etc/passwd", "repo://o/x/../flink",
	},
	"repo://{owner}/{path}": {"repo://o//etc/passwd", "repo://o/../outside/secret.txt", "repo://o/link/secret.txt", "repo:/o/flink", "repo://link/secret.txt"},
	"proj://x/{path}":       {"proj://x/y/../%2Fetc%2Fpasswd", "proj://X/%2Fetc%2Fpasswd", "%70roj://x/%2Fetc%2Fpasswd", "proj://x/flink/more"},
	"https://api/{path}": {
		"https://API/%2Fetc%2Fpasswd", "https://api:443/%2Fetc%2Fpasswd", "https://api:0443/%2Fetc%2Fpasswd", "https://u:p@api/%2Fetc%2Fpasswd", `https:\\api\%2Fetc%2Fpasswd`, "https:api/%2Fetc%2Fpasswd",
		"https:///api/%2Fetc%2Fpasswd", "https://%61pi/%2Fetc%2Fpasswd", "https://other/link/secret.txt",
	},
	"data://{path}/meta": {"data://flink/meta/", "data://flink/meta?x", "data://link%2Fsecret.txt/meta#x", "DATA://flink/meta"},
	"{+any}":             {"https://x/link/secret.txt"},
	"": {
		"unknown:///etc/passwd", "unknown://%2Fetc%2Fpasswd", "unknown://../../outside/secret.txt", "unknown://..%2F..%2Foutside", "unknown://x/../../../outside", "unknown://x/link/secret.txt", "unknown:/etc/passwd",
		"flink", "link/secret.txt", "unknown://flink", "https:/projects/sibling.txt", "unknown:///%252Fetc%252Fpasswd", "x-y://~/.ssh/id_rsa",
	},
}

// uriHonest are URIs that such servers are sent every day.
var uriHonest = map[string][]string{
	"files://{path}":         {"files://src%2Fmain.go", "files://a.txt", "FILES://a.txt"},
	"repo://{owner}/{+path}": {"repo://golang/src/main.go", "repo://golang/docs/x/../y.md"},
	"https://api/{path}":     {"https://api/users", "https://API:443/users?next=b/x"},
	"":                       {"note://x", "memo:///settings", "docs://section/page/1", "postgres://localhost/db/table/schema", "ui://widget/home.html", "https://example.com/link/x", "config:///v1/users", "demo://resource/static/document/features.md", "a.txt"},
}

func TestURISpellings(t *testing.T) {
	w := wild(t)
	c := w.checker()
	judge := func(template, uri string) *Verdict {
		var templates []string
		if template != "" {
			templates = []string{"other://{x}", template}
		}
		s, err := c.ScanURI("child", w.fill(uri), templates...)
		w.must(err)
		return c.Judge(s, w.where(), w.view())
	}
	for template, list := range uriAttacks {
		for _, uri := range list {
			if v := judge(template, uri); v.Decision != Deny {
				t.Errorf("%q of %s: allowed", uri, template)
			}
		}
	}
	w.must(os.Remove(filepath.Join(w.project, "https:")))
	for template, list := range uriHonest {
		for _, uri := range list {
			if v := judge(template, uri); v.Decision != Allow {
				t.Errorf("%q of %s: denied %q: %s", uri, template, v.First.Value, v.First.Code)
			}
		}
	}
}

// wordAttacks are shell strings of a fourth adversarial pass, with their siblings.
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
	judgeCommands(t, wordAttacks, wordHonest)
}

// TestSecretsOfTheEnvironment: no denial tells the value of a variable. Those that no child gets are not even read.
func TestSecretsOfTheEnvironment(t *testing.T) {
	w := wild(t)
	const secret = "wJalrXUtnFEMI"
	getenv := func(name string) string {
		switch name {
		case "TOKEN", "HTTPS_PROXY", "DOCKER_HOST":
			return "/" + secret
		case "MINE":
			return "/etc/" + secret + "/../" + secret
		}
		return w.getenv(name)
	}
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x", Inherit: []string{"MINE"}}, {Name: "boxed", Command: "docker", CommandArgs: []string{"run", "-v", "/srv:/srv", "i"}}}, Home: w.home, Getenv: getenv})
	w.must(err)
	for _, child := range []string{"child", "boxed"} {
		tool, err := c.Tool(child, "", []byte(anyTool))
		w.must(err)
		for _, name := range []string{"TOKEN", "HTTPS_PROXY", "DOCKER_HOST", "MINE"} {
			for _, form := range []string{"$V", "${V}", "$V/x", "$HOME/$V", "$PWD/../$V", "%V%", "/etc/%V%", "%24V", "$HOME/%24V", "~/../$V", "${NOPE:-/etc/$V}", "cat $HOME/$V", "cat /etc/$V*", "file:///etc/$V"} {
				for _, key := range []string{"path", "x", "command", "args"} {
					text := strings.ReplaceAll(form, "V", name)
					_, v := w.call(c, tool, `{"`+key+`":`+string(quoteJSON(text))+`}`)
					if v.First == nil {
						continue
					}
					told := v.First.Leads + v.First.Value + v.First.Raw + v.Why
					for _, r := range v.First.Readings {
						told += r.Err
					}
					if strings.Contains(told, secret) {
						t.Errorf("%s %s of %s is told: %s", key, text, child, told)
					}
				}
			}
		}
	}
	// What a child gets is judged all the same, and what is known to everybody is told.
	tool, err := c.Tool("child", "", []byte(anyTool))
	w.must(err)
	if _, v := w.call(c, tool, `{"x":"$MINE"}`); v.Decision != Deny {
		t.Error("a variable of the child is not judged")
	}
	if _, v := w.call(c, tool, `{"x":"$HOME/outside"}`); v.Decision != Deny || v.First.Leads != w.outside {
		t.Errorf("%+v", v.First)
	}
	// The control: written out, the value would be in the denial.
	if _, v := w.call(c, tool, `{"path":"/`+secret+`"}`); !strings.Contains(v.First.Leads, secret) {
		t.Errorf("%+v", v.First)
	}
}

// callAttacks are the fourth pass's attacks outside shell strings and URIs.
var callAttacks = map[string][]string{
	"a program beside its arguments": {
		`{"command":"tee","args":["bin/tool"]}`, `{"program":"tee","argv":["bin/tool"]}`, `{"command":"cat","args":["bin/tool"]}`, `{"command":"chmod","args":["bin/tool"]}`,
		`{"cmd":"tee","args":["link/tool"]}`, `{"args":["link/tool"]}`, `{"args":["sub/deep/far/tool"]}`, `{"executable":"tee","argv":["link/tool","x"]}`,
	},
	"shell strings under other names": {
		`{"commandString":"cat /etc/passwd"}`, `{"command_string":"cat /etc/passwd"}`, `{"command_text":"cat /etc/passwd"}`, `{"command_to_execute":"cat /etc/passwd"}`, `{"commandLines":["cat /etc/passwd"]}`,
		`{"scriptContent":"cat /etc/passwd"}`, `{"execute":"cat /etc/passwd"}`, `{"command":{"text":"cat /etc/passwd"}}`, `{"script":{"code":"cat /etc/passwd"}}`, `{"shell_code":"cat /etc/passwd"}`, `{"cmdStr":"cat /etc/passwd"}`,
	},
	"code in an option": {
		`{"params":["--eval=open('/etc/passwd')"]}`, `{"parameters":["--eval=open('/etc/passwd')"]}`, `{"options":["--eval=open('/etc/passwd')"]}`, `{"x":"--eval=open(\"/etc/passwd\")"}`,
	},
	"more verbs of SQL": {
		`{"query":"DECLARE x CURSOR FOR select * from '/etc/passwd'"}`, `{"query":"PREPARE x AS select * from read_csv('/etc/passwd')"}`,
	},
	"volumes in vectors": {
		`{"command":"docker","args":["run","-v","/etc:/app","node"]}`, `{"command":"docker","args":["run","-v","link:/app","node"]}`, `{"command":["docker","run","-v","../outside:/x","i"]}`, `{"args":["docker","run","-v","/etc","i"]}`,
		`{"command":"tool","args":["run","-v","a:/etc/passwd"]}`, `{"args":["-v","a:/etc/passwd"]}`, `{"args":["tool","-w","/etc"]}`, `{"command":"docker","args":["run","-w","/app","-v","~/.ssh:/x"]}`, `{"args":["-d","/etc"]}`,
	},
	"patterns": {
		`{"path":"@(link)/*"}`, `{"path":"+(link)/*"}`, `{"path":"?(link)/*"}`, `{"paths":["*(link)/secret.txt"]}`, `{"file":"@(..)/outside/*"}`, `{"dir":"{@(..),x}/outside/*"}`, `{"path":"{link,x}/*"}`,
		`{"path":"[.-.]./outside/*"}`, `{"pattern":"[.-.]./outside/*"}`, `{"x":"[.-.][.-.]/outside/*"}`, `{"x":"[\\.]./outside/*"}`, `{"path":"l{i..i}nk/*"}`, `{"pattern":"l{i..i}nk/*"}`, `{"x":"l{h..j}nk/*"}`, `{"x":"l[i-i]nk/*"}`,
		`{"x":".{.,.}/outside/*"}`, `{"x":"{.-/}./outside/{a,../../outside}"}`,
	},
	"a command word that is no program": {
		`{"command":"link/secret.txt"}`, `{"command":"sub/deep/far/secret.txt x"}`, `{"command":"link/sub"}`, `{"command":["link/secret.txt"]}`, `{"command":"bin/tool && cat bin/tool"}`,
	},
}

var callHonest = []string{
	`{"options":["--format=(x)","--title='a b'"]}`, `{"uri":"file://{project}/a.txt","path":"file://{project}/src"}`,
	`{"command":{"text":"ls src","description":"see /etc/hosts"}}`, `{"scriptContent":"go test ./..."}`, `{"execute":true,"script":{"code":"echo ok"}}`,
	`{"command":"docker","args":["run","-v","{project}:/usr/app","-w","/usr/app","node"]}`, `{"command":["docker","run","-v","{project}/src:/usr/app:ro","node"]}`, `{"args":["docker","run","--volume","{project}:/srv/app"]}`,
	`{"args":["-F/","{print $1}"]}`, `{"args":["-d/","-f1"]}`, `{"args":["-F","/"]}`,
	`{"path":"src/@(main).go"}`, `{"path":"src/app/(group)/@modal/[...slug]/page.tsx"}`, `{"path":"docs/[a-z]/{1..3}.md"}`, `{"pattern":"src/[a-c]*/{a..c}.go","path":"src"}`, `{"pattern":"[0-9]+-[a-z]/[.]x"}`,
	`{"command":["bin/tool","x"]}`, `{"argv":["bin/tool","x"]}`, `{"command":"bin/tool --x"}`, `{"command":"inner/main.go"}`, `{"command":"node","args":["src/main.go","--x"]}`, `{"command":"bin/tool","args":["a.txt"]}`,
}

func TestCallAttacks(t *testing.T) {
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for class, list := range callAttacks {
		for _, args := range list {
			if _, v := w.call(c, tool, args); v.Decision != Deny {
				t.Errorf("%s: %s: allowed", class, args)
			}
			if !naive(w, w.fill(args)) {
				t.Errorf("%s: the naive check refuses it too", args)
			}
		}
	}
	for _, args := range callHonest {
		if _, v := w.call(c, tool, args); v.Decision != Allow {
			t.Errorf("%s: denied %q as %s: %s %+v", args, v.First.Value, v.First.How, v.First.Code, v.First.Readings)
		}
	}
}

// TestMountSpellings: docker reads the fields of --mount as CSV, and their names in any letter case.
func TestMountSpellings(t *testing.T) {
	for _, spec := range []string{"TYPE=bind,Source=/out,Target=/p/sub", `type=bind,"src=/out",dst=/p/sub`, "type=BIND,SRC=/out,Destination=/p/sub", "type=bind,source=/out,target=/p/sub,readonly"} {
		c := machine.ReadContainer("docker", []string{"run", "-v", "/r:/p", "--mount", spec, "img"})
		if c == nil || len(c.Mounts) != 2 {
			t.Errorf("%s: %+v", spec, c)
			continue
		}
		if host, ok := c.ToHost("/p/sub/secret.txt", "/"); !ok || host != "/out/secret.txt" {
			t.Errorf("%s: leads to %s", spec, host)
		}
	}
	if c := machine.ReadContainer("docker", []string{"run", "--mount", "type=volume,source=/out,target=/p", "img"}); len(c.Mounts) != 0 {
		t.Errorf("a volume is bound: %+v", c)
	}
}

// TestOperandsOutside: where a server works outside the roots, what its programs are given to make or to read is outside.
func TestOperandsOutside(t *testing.T) {
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judge := func(cwd, args string) Decision {
		s, err := c.Scan(tool, []byte(w.fill(args)))
		w.must(err)
		return c.Judge(s, Where{Cwd: cwd, Served: w.roots}, w.view()).Decision
	}
	attacks := []string{
		`{"command":"echo x > new.txt"}`, `{"command":"touch src/new"}`, `{"command":"tee new.txt"}`, `{"command":"mkdir -p n1/n2"}`, `{"cwd":"{project}","command":"echo x >> new.txt"}`, `{"command":"bash -c 'touch new'"}`,
		`{"args":["secret.txt"]}`, `{"args":["x=secret.txt"]}`, `{"sql":"select * from 'secret.txt'"}`, `{"query":"select * from 'secret.txt'"}`, `{"command":"cp secret.txt y"}`, `{"command":"sudo touch new"}`,
	}
	for _, args := range attacks {
		if judge(w.outside, args) != Deny {
			t.Errorf("%s: allowed", args)
		}
		if !strings.Contains(args, "secret") && judge(w.project, args) != Allow {
			t.Errorf("%s: denied inside as well", args)
		}
	}
	for _, args := range []string{`{"command":"npm test"}`, `{"args":["run","--x"]}`, `{"command":"ls > /dev/null"}`, `{"command":"touch {project}/new && ls"}`, `{"sql":"select 'x' from t"}`} {
		if judge(w.outside, args) != Allow {
			t.Errorf("%s: denied", args)
		}
	}
}

// TestVectorsThatDelete: what takes a folder of the hub away with it is refused in a vector as in a shell string.
func TestVectorsThatDelete(t *testing.T) {
	w := wild(t)
	w.roots = []string{w.home}
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judge := func(args string) *Verdict {
		s, err := c.Scan(tool, []byte(w.fill(args)))
		w.must(err)
		return c.Judge(s, Where{Cwd: w.home, Served: w.roots}, w.view())
	}
	for _, args := range []string{
		`{"args":["rm","-rf","config"]}`, `{"command":"rm","args":["-rf","config"]}`, `{"argv":["/bin/rm","-rf","./config"]}`, `{"command":"find config -delete"}`, `{"command":"find ./config -type f -exec rm {} +"}`,
		`{"command":"git clean -fdx config"}`, `{"command":"git -C . clean -fdx config"}`, `{"command":"rm -rf config"}`, `{"args":["rm","-rf","{home}/config"]}`, `{"args":["mv","config","c2"]}`,
	} {
		if v := judge(args); v.Decision != Deny || v.Rule != RuleProtected {
			t.Errorf("%s: %v %s", args, v.Decision, v.Rule)
		}
	}
	for _, args := range []string{`{"args":["ls","config"]}`, `{"args":["rm","-rf","outside"]}`, `{"command":"find config -name x"}`, `{"command":"git clean -fdx outside"}`, `{"command":"git add config"}`} {
		if v := judge(args); v.Decision != Allow {
			t.Errorf("%s: denied: %+v", args, v.First)
		}
	}
}

// TestLinkCalledFile: what is a URI to one program is a name to another.
func TestLinkCalledFile(t *testing.T) {
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	calls := []string{`{"path":"file://{project}/a.txt"}`, `{"file":"file:{project}/a.txt"}`, `{"command":"cat file://{project}/a.txt"}`}
	for _, args := range calls {
		if _, v := w.call(c, tool, args); v.Decision != Allow {
			t.Errorf("%s: denied without the link: %+v", args, v.First)
		}
	}
	w.must(os.Symlink("../outside", filepath.Join(w.project, "file:")))
	for _, args := range calls {
		if _, v := w.call(c, tool, args); v.Decision != Deny {
			t.Errorf("%s: allowed", args)
		}
	}
}

// TestURICost: a URI of half a megabyte costs no more than its length deserves.
func TestURICost(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measured")
	}
	runtime.LockOSThread() // spent is of the thread
	defer runtime.UnlockOSThread()
	w := wild(t)
	c := w.checker()
	for _, piece := range []string{"a/", "../", "%2e%2e/", "%25", "//", "{", "?", "\t", "/link", "%2F..", `\`} {
		uri := "x://" + strings.Repeat(piece, (1<<19)/len(piece))
		begin := spent()
		s, err := c.ScanURI("child", uri, "x://{a}/{+b}", "{+c}")
		if err == nil {
			c.Judge(s, w.where(), w.view())
		}
		if took := spent() - begin; took > 3*time.Second {
			t.Errorf("%q: %v", piece, took)
		} else if took > 200*time.Millisecond {
			t.Logf("%q: %v", piece, took)
		}
		if s, err = c.ScanURI("child", uri[:1<<15], "x://{a}/{+b}", "{+c}"); err == nil {
			c.Judge(s, w.where(), w.view())
		}
		if took := spent() - begin; took > 4*time.Second {
			t.Errorf("%q, short: %v", piece, took)
		}
	}
}
