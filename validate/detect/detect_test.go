package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/declare"
)

// TestDetect: what the name, the place and the declarations of an argument make of it.
func TestDetect(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"a.file":"x"}`, `/a.file key w? x`},
		{frob, `{"cell_source":"/etc/passwd"}`, `/cell_source key w? /etc/passwd`},
		{frob, `{"cell_source":"a\n/etc/passwd"}`, ``},
		{frob, `{"command":"«150 ( »ls«150 )»"}`, `refused /command arguments-too-deep`},
		{frob, `{"command":{"op":"copy","from":"/nope/x"}}`, `/command/from shell/word w?sl /nope/x`},
		{frob, `{"command":{"text":"ls src","description":"see /etc/hosts"}}`, `/command/text link/name rs src`},
		{frob, `{"commands":["ls","cat /etc/x"]}`, `/commands/1 shell/word rs /etc/x`},
		{frob, `{"content":"{\"path\":\"/etc/x\"}"}`, ``},
		{frob, `{"content":[["/etc/passwd"]]}`, `/content/0/0 absolute w? /etc/passwd`},
		{frob, `{"files":{"a.path":"x"}}`, `/files/a.path member w?m a.path; link/name w? x`},
		{frob, `{"files":{"a.src":"x"}}`, `/files/a.src member w?m a.src; link/name w? x`},
		{frob, `{"https://h/url":1}`, `/https:~1~1h~1url link/link w?m https://h/url`},
		{frob, `{"input":"--- /etc/passwd\n+++ b/a.txt\n"}`, `/input header w? /etc/passwd; header w? b/a.txt; header w? a.txt`},
		{frob, `{` + members(32) + `"path":"x","n":5}`, `/path key w? x`},
		{frob, `{"method":"GET","path":"/«4095 a»"}`, `/method link/name w? GET`},
		{frob, `{"method":"GET","path":"/v1/users"}`, `/method link/name w? GET; /path literal/literal w? /v1/users`},
		{frob, `{"op":"add","path":"link/x"}`, `/op link/name w? add; /path key w? link/x`},
		{frob, `{"pAth":"passwd"}`, `/pAth key w? passwd`},
		{frob, `{"path":"['flink']"}`, `/path/0 key w? flink; /path key w? ['flink']`},
		{frob, `{"path":"a","name":"«255 n» "}`, `/path key w? a`},
		{frob, `{"path":5,"name":"flink"}`, ``},
		{frob, `{"path":["a","«254 b»"]}`, `/path/0 link/link w? a/«254 b»; key w? a; /path/1 key w? «254 b»`},
		{frob, `{"path":["a",5]}`, `/path/0 key w? a`},
		{frob, `{"program":"/bin/sh"}`, ``},
		{frob, `{"script":{"code":"cat /etc/passwd"}}`, `/script/code shell/word rs /etc/passwd`},
		{frob, `{"segments":["a","b"],"x":["a","b"]}`, `/segments/0 link/link w? a/b`},
		{frob, `{"segments":["a","b"]}`, `/segments/0 link/link w? a/b`},
		{frob, `{"sep":"/","separator":"/","op":"/","delimiter":"\\"}`, ``},
		{frob, `{"sep":"/etc/x"}`, `/sep absolute w? /etc/x`},
		{frob, `{"shellPath":"/etc/passwd"}`, `/shellPath key w? /etc/passwd`},
		{frob, `{"text":"file:///«65528 a»"}`, `/text file-uri/text w? file:///«65528 a»`},
		{frob, `{"url":"ws://x/y"}`, ``},
		{frob, `{"volume":"/etc:/mnt"}`, `/volume link/link w? /etc; absolute w? /etc`},
		{frob, `{"volume":":/etc"}`, `/volume link/link w? :/etc`},
		{frob, `{"x":"--- a/b\n+++ c/d\n"}`, `/x link/link w? a/b; link/link w? c/d`},
		{frob, `{"x":"/etc/«70000 a»"}`, `/x absolute w? /etc/«70000 a»`},
		{frob, `{"x":"{'path': 'flink'}"}`, `/x/path key w? flink`},
		{frob, `{"x":"{path: '/etc/passwd'}"}`, `/x/path key w? /etc/passwd`},
		{frob.boxed(), `{"method":"GET","path":"/v1/x"}`, `/method link/name w? GET; /path key w? /v1/x`},
		{frob.declared("/env/* none"), `{"env":{"/etc/x":1}}`, ``},
		{frob.in(declare.ModeDeclared), `{"body":"@/etc/passwd"}`, `/body literal/literal w? /etc/passwd`},
		{frob.in(declare.ModeDeclared), `{"files":{"/etc/x":1}}`, ``},
		{frob.in(declare.ModeDeclared).declared("/doc read"), `{"doc":{"a":"/etc/x","b":{"c":"/etc/y"}},"e":{"f":"/etc/z"}}`, `/doc/a member w?m a; absolute w? /etc/x; /doc/b member w?m b; /doc/b/c absolute w? /etc/y`},
		{frob.in(declare.ModeDeclared).declared("/doc read"), `{"doc":{"a":"b","/etc/x":1},"zz":{"/etc/x":1}}`, `/doc/a member w?m a; /doc/~1etc~1x member w?m /etc/x`},
		{frob.in(declare.ModeOff), `{"/etc/x":1}`, ``},
		{frob.rewriting(), `{"path":"x","file:///etc/x":1}`, `/path key w? x rewritable=8-11 single; /file:~1~1~1etc~1x file-uri/uri w?m file:///etc/x`},
		{frob.with(`false`), `{}`, `argument "": false schema`},
		{frob.with(`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"email"},"b":{"format":"regex"}}}`), `{"a":"no","b":"("}`, ``},
		{frob.with(`{"properties":{"a":{}},"additionalProperties":false}`), `{"zz":1}`, `argument "": unknown "zz"`},
		{frob.with(`{"properties":{"a/b":{"type":"string"}}}`), `{"a/b":5}`, `argument "/a~1b": got number, want string`},
		{frob.with(`{"properties":{"zz":{"description":"A name"}}}`), `{"zz":"passwd"}`, ``},
		{frob.with(`{"properties":{"zz":{"format":"PATH"}}}`), `{"zz":"a.txt"}`, `/zz format w? a.txt`},
		{frob.with(`{"type":"object","properties":{"from":{"type":"string","format":"path"}}}`), `{"op":"copy","\u0066rom":"/spec/x"}`, `/op link/name w? copy; /from format w? /spec/x`},
		{frob.with(`{"type":"object","properties":{"opts":{"properties":{"logDir":{"type":"string"}}}}}`), `{"opts":{"logdIR":"flink"}}`, `/opts/logdIR key w? flink`},
		{frob.with(`{"type":"object","properties":{"path":{"enum":["b","b/c"]}}}`), `{"path":"b/c"}`, `/path link/link w? b/c`},
		{frob.with(`{"type":"object","required":["path"]}`), `{}`, `argument "": missing "path"`},
		{moves, `{"source":"a.txt","destination":"b.txt"}`, `/source key d a.txt; /destination key w b.txt`},
		{reads.with(`{"type":"object","properties":{"path":{"type":"string"}}}`), `{"path":"a.txt","Path":"/etc/passwd"}`, `refused /Path arguments-folded-name`},
		{writes.with(`{"type":"object","properties":{"sql":{"type":"string"}},"required":["sql"]}`), `{"sql":"ATTACH 'other.db' AS other"}`, `/sql link/name w?o other.db`},
		{frob, `{"segments":[«64 "a",»"a"]}`, ``},
		{frob, inJSON(5, `{"path":"/etc/x"}`), `refused /a/a/a/a/a arguments-too-deep`},
		{frob, inJSON(4, `{"path":"/etc/x"}`), `/a/a/a/a/path key w? /etc/x`},
	})
}
