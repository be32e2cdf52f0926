package validate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/internal/wellknown"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
	"mcphub/validate/strictjson"
)

// TestProfileByNameAlone: what a child calls itself exempts only what the server of that name is known to have (threats
// 1: a child's output is trusted for nothing).
func TestProfileByNameAlone(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker()
	calls := []string{`{"path":"/etc/passwd"}`, `{"path":"flink"}`, `{"repo_path":"{outside}"}`, `{"files":[{"path":"link/x","content":"a"}]}`,
		`{"command":"cat /etc/passwd"}`, `{"target":"/etc/passwd"}`, `{"libraryId":"/etc/passwd"}`, `{"file":"../outside/secret.txt"}`, `{"filepath":"/etc/passwd"}`}
	for _, known := range wellknown.All() {
		for _, server := range known.Servers {
			for _, name := range []string{"write_file2", "export_to_file", "anything", "read"} {
				tool := w.tool(c, server, `{"name":"`+name+`"}`)
				for _, args := range calls {
					if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
						t.Errorf("%s of a server that calls itself %s: %s: allowed", name, server, args)
					}
				}
			}
		}
	}
	// The control: if the operator's own command names the package, its profile is believed for every tool.
	c = w.checker(ChildConfig{Name: "child", Command: "npx", CommandArgs: []string{"-y", "@modelcontextprotocol/server-memory"}})
	tool := w.tool(c, "", `{"name":"export_to_file"}`)
	if _, v := w.call(c, tool, calls[0]); v.Decision != policy.Allow {
		t.Error("the profile of a configured package does not hold")
	}
}

// argumentAttacks are attacks outside shell strings.
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
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAttacks(t, w, c, tool, argumentAttacks, 10)
	w.must(os.Remove(filepath.Join(w.project, "https:")))
	judgeAll(t, w, c, tool, policy.Allow,
		`{"url":"https://example.com/a/../b","homepage":"http://x/../y"}`, `{"path":"https://example.com/x","source":"http://x"}`, `{"x":"s3://bucket/a/../b"}`, `{"x":"https://x/a?next=/../.."}`,
		`{"pattern":"\\.\\./utils"}`, `{"pattern":"(a|b)/c","regexp":"x[.]y/z"}`, `{"pattern":"from ['\"]\\.\\./"}`, `{"include":"*.{ts,tsx}","exclude":"{dist,build}/**"}`, `{"pattern":"src/**/*.{a,b}"}`,
		`{"pattern":"^(foo|bar)/[0-9]{2,3}$"}`, `{"path":"src","pattern":".*/foo","name":"main","type":"file"}`, `{"path":"src/[a]/x","name":"docs"}`, `{"args":["(a|b)","x='y'","--f={a}"]}`,
		`{"path":["src","main.go"]}`, `{"segments":["a","b"]}`, `{"repo":"docs","path":"a.txt","name":"src"}`, `{"root":"{project}","dir":"src","file":"main.go"}`, `{"query":"start here"}`, `{"query":".foo[] | /x/"}`,
		`{"sql":"select '[a]', 'b' from t where x = 'src/main.go'"}`, `{"x":"a = b/c","note":"x == y"}`, `{"command":"rm -rf src/x docs"}`, `{"command":"mv a.txt docs/"}`, `{"zz":"--no/such","args":["-Lbuild/lib","--a/b"]}`,
		`{"sep":"/","separator":"/","op":"/","delimiter":"\\"}`, `{"keyPath":"/a/b","jsonPath":"/a"}`, `{"interpreter":"bin/tool","python":"bin/tool"}`, `{"argv":["bin/tool","x"]}`, `{"command":["bin/tool","x"]}`,
		`{"run":true,"cli":"x","note":"- see the list"}`, `{"cache":"redis://h/0","img":"ipc","x":"glob:*.go"}`,
		`{"zz":"{not: json, 'a': 1}","yy":"// a comment {","xx":"[1,2] and [3]","ww":"{\"a\":NaN}"}`,
	)
}

// TestSchemaBeatsTheName: what the schema says about an argument outweighs what its name lets one guess.
func TestSchemaBeatsTheName(t *testing.T) {
	t.Parallel()
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
			if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
				t.Errorf("%s: %s: allowed", schema, args)
			}
		}
	}
	tool := w.tool(c, "", def(`{"anyOf":[{"type":"string"},{"type":"null"}]}`))
	for _, args := range []string{`{"text":"/etc/passwd"}`, `{"data":"{\"path\": \"/etc/passwd\"}"}`} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Allow {
			t.Errorf("%s: denied", args)
		}
	}
}

// TestCwdOutside: if the operator lets a server work outside the roots, relative words are outside.
func TestCwdOutside(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judge := func(cwd, args string) policy.Decision {
		s, err := c.Scan(tool, []byte(args))
		w.must(err)
		return c.Judge(s, CallContext{Cwd: cwd, Served: w.roots}, w.view()).Decision
	}
	for _, args := range []string{`{"command":"cat secret.txt"}`, `{"command":"cat sub/x"}`, `{"args":["sub/x"]}`, `{"x":"sub/x"}`, `{"x":"./secret.txt"}`} {
		if judge(w.outside, args) != policy.Deny {
			t.Errorf("%s: allowed", args)
		}
	}
	for _, args := range []string{`{"command":"npm sub"}`, `{"x":"secret.txt"}`, `{"command":"ls"}`, `{"x":"no/such"}`} {
		if judge(w.outside, args) != policy.Allow {
			t.Errorf("%s: denied", args)
		}
	}
}

// TestBelowDeclared: an object where a path is declared, in declared mode.
func TestBelowDeclared(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker(ChildConfig{Name: "child", Command: "x", Mode: declare.ModeDeclared, ModeSet: true, Args: map[string]map[string]declare.ArgRule{
		"*": {"/doc": {Role: access.Read}, "/opts/outFile": {Role: access.Write}, "/list/*/to": {Role: access.Write}, "/free": {Role: access.None}}}})
	tool := w.tool(c, "", `{"name":"do_it","inputSchema":{"type":"object","properties":{"opts":{"properties":{"logDir":{"type":"string"}}}}}}`)
	for _, args := range []string{
		`{"doc":{"a":"/etc/passwd"}}`, `{"doc":["/etc/passwd"]}`, `{"doc":{"/etc/passwd":1}}`, `{"DOC":"flink"}`,
		`{"opts":{"outfile":"flink"}}`, `{"opts":{"OUTFILE":"flink"}}`, `{"OPTS":{"outFILE":"flink"}}`, `{"opts":"{\"outfile\":\"flink\"}"}`, `{"list":[{"TO":"flink"}]}`, `{"list":[{"to":"flink"}]}`,
		`{"liſt":[{"to":"flink"}]}`,
	} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
			t.Errorf("%s: allowed", args)
		}
	}
	for args, code := range map[string]string{
		`{"opts":{"outFile":"a","OUTFILE":"flink"}}`: strictjson.CodeFolded, `{"list":[{"to":"a","To":"flink"}]}`: strictjson.CodeFolded,
	} {
		var e *strictjson.Error
		if _, err := c.Scan(tool, []byte(args)); !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, v := w.call(c, tool, `{"free":"/etc/passwd","other":{"outfile":"flink"},"opts":{"outFile":"a.txt"}}`); v.Decision != policy.Allow {
		t.Errorf("denied: %+v", v.Deciding)
	}
	// In strict mode a name of the schema counts at every depth, whatever its case.
	strict := w.checker()
	tool = w.tool(strict, "", `{"name":"do_it","inputSchema":{"type":"object","properties":{"opts":{"properties":{"logDir":{"type":"string"}}}}}}`)
	if _, v := w.call(strict, tool, `{"opts":{"logdIR":"flink"}}`); v.Decision != policy.Deny {
		t.Error("a nested name in other letters: allowed")
	}
}

// TestAttachedVolumes: a short flag of docker may carry its value.
func TestAttachedVolumes(t *testing.T) {
	t.Parallel()
	c := machine.ReadContainer("docker", []string{"run", "-i", "-v/out:/o:ro", "-itv=/out:/projects/sub", "-v", "/r:/projects", "-w/projects", "img"})
	if c == nil || len(c.Mounts) != 3 || c.Mounts[0] != (machine.Mount{Host: "/out", Container: "/o"}) || c.Mounts[1] != (machine.Mount{Host: "/out", Container: "/projects/sub"}) || c.Workdir != "/projects" {
		t.Errorf("%+v", c)
	}
}

// callAttacks are more of them, by what reads them.
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
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAttacks(t, w, c, tool, callAttacks, 10)
	judgeAll(t, w, c, tool, policy.Allow, callHonest...)
}

// TestSecretsOfTheEnvironment: no denial tells the value of a variable. The ones that no child gets are not even read.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
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
		tool, err := c.PrepareTool(child, "", []byte(anyTool))
		w.must(err)
		for _, name := range []string{"TOKEN", "HTTPS_PROXY", "DOCKER_HOST", "MINE"} {
			for _, form := range []string{"$V", "${V}", "$V/x", "$HOME/$V", "$PWD/../$V", "%V%", "/etc/%V%", "%24V", "$HOME/%24V", "~/../$V", "${NOPE:-/etc/$V}", "cat $HOME/$V", "cat /etc/$V*", "file:///etc/$V"} {
				for _, key := range []string{"path", "x", "command", "args"} {
					text := strings.ReplaceAll(form, "V", name)
					_, v := w.call(c, tool, `{"`+key+`":`+string(quoteJSON(text))+`}`)
					if v.Deciding == nil {
						continue
					}
					told := v.Deciding.Target + v.Deciding.Value + v.Deciding.Raw + v.Why
					for _, r := range v.Deciding.Readings {
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
	tool, err := c.PrepareTool("child", "", []byte(anyTool))
	w.must(err)
	if _, v := w.call(c, tool, `{"x":"$MINE"}`); v.Decision != policy.Deny {
		t.Error("a variable of the child is not judged")
	}
	if _, v := w.call(c, tool, `{"x":"$HOME/outside"}`); v.Decision != policy.Deny || v.Deciding.Target != w.outside {
		t.Errorf("%+v", v.Deciding)
	}
	// The control: written out, the value would be in the denial.
	if _, v := w.call(c, tool, `{"path":"/`+secret+`"}`); !strings.Contains(v.Deciding.Target, secret) {
		t.Errorf("%+v", v.Deciding)
	}
}

// TestMountSpellings: docker reads the fields of --mount as CSV, and their names in any letter case.
func TestMountSpellings(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judge := func(cwd, args string) policy.Decision {
		s, err := c.Scan(tool, w.json(args))
		w.must(err)
		return c.Judge(s, CallContext{Cwd: cwd, Served: w.roots}, w.view()).Decision
	}
	attacks := []string{
		`{"command":"echo x > new.txt"}`, `{"command":"touch src/new"}`, `{"command":"tee new.txt"}`, `{"command":"mkdir -p n1/n2"}`, `{"cwd":"{project}","command":"echo x >> new.txt"}`, `{"command":"bash -c 'touch new'"}`,
		`{"args":["secret.txt"]}`, `{"args":["x=secret.txt"]}`, `{"sql":"select * from 'secret.txt'"}`, `{"query":"select * from 'secret.txt'"}`, `{"command":"cp secret.txt y"}`, `{"command":"sudo touch new"}`,
	}
	for _, args := range attacks {
		if judge(w.outside, args) != policy.Deny {
			t.Errorf("%s: allowed", args)
		}
		if !strings.Contains(args, "secret") && judge(w.project, args) != policy.Allow {
			t.Errorf("%s: denied inside as well", args)
		}
	}
	for _, args := range []string{`{"command":"npm test"}`, `{"args":["run","--x"]}`, `{"command":"ls > /dev/null"}`, `{"command":"touch {project}/new && ls"}`, `{"sql":"select 'x' from t"}`} {
		if judge(w.outside, args) != policy.Allow {
			t.Errorf("%s: denied", args)
		}
	}
}

// TestVectorsThatDelete: what takes a folder of the hub away with it is refused in a vector as in a shell string.
func TestVectorsThatDelete(t *testing.T) {
	t.Parallel()
	w := wild(t)
	w.roots = []string{w.home}
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judge := func(args string) *Verdict {
		s, err := c.Scan(tool, w.json(args))
		w.must(err)
		return c.Judge(s, CallContext{Cwd: w.home, Served: w.roots}, w.view())
	}
	for _, args := range []string{
		`{"args":["rm","-rf","config"]}`, `{"command":"rm","args":["-rf","config"]}`, `{"argv":["/bin/rm","-rf","./config"]}`, `{"command":"find config -delete"}`, `{"command":"find ./config -type f -exec rm {} +"}`,
		`{"command":"git clean -fdx config"}`, `{"command":"git -C . clean -fdx config"}`, `{"command":"rm -rf config"}`, `{"args":["rm","-rf","{home}/config"]}`, `{"args":["mv","config","c2"]}`,
	} {
		if v := judge(args); v.Decision != policy.Deny || v.Rule != RuleProtected {
			t.Errorf("%s: %v %s", args, v.Decision, v.Rule)
		}
	}
	for _, args := range []string{`{"args":["ls","config"]}`, `{"args":["rm","-rf","outside"]}`, `{"command":"find config -name x"}`, `{"command":"git clean -fdx outside"}`, `{"command":"git add config"}`} {
		if v := judge(args); v.Decision != policy.Allow {
			t.Errorf("%s: denied: %+v", args, v.Deciding)
		}
	}
}

// TestLinkCalledFile: what is a URI to one program is a name to another.
func TestLinkCalledFile(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	calls := []string{`{"path":"file://{project}/a.txt"}`, `{"file":"file:{project}/a.txt"}`, `{"command":"cat file://{project}/a.txt"}`}
	for _, args := range calls {
		if _, v := w.call(c, tool, args); v.Decision != policy.Allow {
			t.Errorf("%s: denied without the link: %+v", args, v.Deciding)
		}
	}
	w.must(os.Symlink("../outside", filepath.Join(w.project, "file:")))
	for _, args := range calls {
		if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
			t.Errorf("%s: allowed", args)
		}
	}
}
