package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/declare"
)

// TestPathsInStrings: strings that are paths, or hold some.
func TestPathsInStrings(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"args":"«255 a»"}`, `/args link/name w?o «255 a»`},
		{frob, `{"args":["find","-delete"]}`, `/args/0 link/name do .; link/name w?ol find; /args/1 link/name w?ol elete; link/name w?ol -delete`},
		{frob, `{"command":"cat «4091 a»"}`, ``},
		{frob, `{"command":"cat «4094 a»/*"}`, `/command link/link rs «4094 a»/*; shell/glob rs «4094 a»/*`},
		{frob, `{"command":"x ${PATH:-y}:a"}`, `/command link/name w?sl y; shell/word w?sl ${PATH:-y}:a; shell/word w?sl ${PATH:-y}; link/name w?sl a; shell/glob w?sl ${PATH:-y}:a`},
		{frob, `{"config":"file: ../outside/secret.txt\nx: y"}`, `/config climbs w? ../outside/secret.txtx: y or  ../outside/secret.txtx: y; link/link w? ../outside/secret.txtx; literal/literal w?! / ../outside/secret.txtx; literal/literal w?! / ../outside/secret.txtx: y; literal/text w? file:; literal/literal w? ../outside/secret.txt`},
		{frob, `{"files":{"file:///etc/x":1}}`, `/files/file:~1~1~1etc~1x file-uri/uri w?m file:///etc/x; link/link w?m file:///etc/x`},
		{frob, `{"path":"\u0000"}`, "/path key w?  or \u0000"},
		{frob, `{"path":"«2100 a,»"}`, `/path list w? a`},
		{frob, `{"path":"«255 a»/b,c"}`, `/path key w? «255 a»/b,c; link/link w? «255 a»/b; link/name w? c`},
		{frob, `{"path":"https:/../../../../../../../../etc/passwd"}`, `/path climbs w? https:/../../../../../../../../etc/passwd`},
		{frob, `{"path":["a","«300 b»"]}`, `/path/0 key w? a; /path/1 key w? «300 b»`},
		{frob, `{"route":"/users/:id"}`, `/route link/link w? /users/; literal/literal w? /users/:id`},
		{frob, `{"source":"a\n/etc/passwd"}`, "/source key w? a\n/etc/passwd; list w? /etc/passwd; link/name w? a"},
		{frob, `{"x":"${A:-${A:-/etc}}"}`, `/x absolute w? ${A:-${A:-/etc}}`},
		{frob, `{"x":"-I/x"}`, `/x link/link w? /x; link/link w? -I/x`},
		{frob, `{"x":"-c 'cat /etc/x'"}`, `/x link/link w? -c 'cat /etc/x; shell/word w? /etc/x' instead=c 'cat ; link/name w?sl -c; shell/word rsl /etc/x`},
		{frob, `{"x":"-ix"}`, `/x link/name w? x`},
		{frob, `{"x":"..%00/outside"}`, "/x climbs w? ..; climbs w? ..\u0000/outside; link/link w? ..%00/outside"},
		{frob, `{"x":"/etc/«4088 a»%00"}`, "/x absolute w? /etc/«4088 a»; absolute w? /etc/«4088 a»\u0000; absolute w? /etc/«4088 a»%00"},
		{frob, `{"x":"/vsicurl/file:///etc/passwd"}`, `/x file-uri/uri w? file:///etc/passwd; list w? ///etc/passwd`},
		{frob, `{"x":"@/*"}`, `/x link/link w? @/*`},
		{frob, `{"x":"a'b'/../../c"}`, `/x literal/literal w? a'b'/../../c; literal/literal w? /../../c`},
		{frob, `{"x":"a=,/etc/x"}`, `/x list w? /etc/x`},
		{frob, `{"x":"c:/etc/y"}`, `/x drive w? c:/etc/y`},
		{frob, `{"x":"f('/etc/x\u0000y')"}`, `/x link/link w? f('/etc/x`},
		{frob, `{"x":"x{a,b}/c"}`, `/x link/link w? b}/c; link/link w? xa/c; link/link w? xb/c; link/link w? x{a,b}/c`},
		{frob, `{"x":"{,/}etc/passwd"}`, `/x link/link w? etc/passwd; absolute w? /etc/passwd`},
		{frob, `{"x":"{a,../b}"}`, `/x list w? ../b`},
		{frob.boxed(), `{"path":"file:///etc/$MINE"}`, `/path file-uri/uri w? file:///etc/$MINE; link/link w? file:///etc/$MINE`},
		{frob.declared("/* none"), `{"content":"file:///etc/x","text":"-I/etc/x"}`, `/content file-uri/text w? file:///etc/x; /text link/link w? /etc/x; tail w? /etc/x; link/link w? -I/etc/x`},
		{frob.declared("/free none"), `{"free":{"path":"/etc/x"},"o":"/etc/x"}`, `/o absolute w? /etc/x`},
		{frob.in(declare.ModeDeclared).with(`{"type":"nonsense"}`), `{"a":"/etc/x"}`, `/a absolute w? /etc/x`},
		{frob.with(`{"type":"object","properties":{"p":{"type":"string","format":"path"}}}`), `{"p":"file:///etc/x"}`, `/p file-uri/uri w? file:///etc/x; link/link w? file:///etc/x`},
		{frob, `{"x":"．．/outside"}`, `/x climbs w? ．．/outside`},
		{frob.rewriting(), `{"path":"file:///etc/x"}`, `/path file-uri/uri w? file:///etc/x rewritable=8-23 single; link/link w? file:///etc/x`},
		{frob, `{"x":"C:\\a b"}`, `/x drive w? C:\a b; literal/literal w? C:\a`},
	})
}

// TestTooLong: what would take too long to search is refused.
func TestTooLong(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{{frob, `{"x":"/etc/«2100000 a,»"}`, `refused /x arguments-too-large`}})
}
