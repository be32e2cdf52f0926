package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
)

// TestShellStrings: shell strings.
func TestShellStrings(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"command":"$PATH"}`, `/command shell/glob w?sl ${PATH}`},
		{frob, `{"command":"$SHELL"}`, `/command shell/word w?sl ${SHELL}; shell/glob w?sl ${SHELL}`},
		{frob, `{"command":". /etc/passwd"}`, `/command shell/word w?sl /etc/passwd`},
		{frob, `{"command":"CDPATH=/; cd src && cat ../outside/secret.txt"}`, `/command link/name w?sl src; shell/word w?sl ../outside/secret.txt cd=src`},
		{frob, `{"command":"IFS=/ read -r a b <<< \"x/y\""}`, `/command link/name w?sl -r; link/name w?sl a; link/name w?sl b; link/link w?sl x/y`},
		{frob, `{"command":"PATH=$PATH:link/.. ls"}`, `/command shell/word w?sl link/..`},
		{frob, `{"command":"awk \"http://a/b x/y\""}`, `/command link/link w?sl http://a/b x/y; link/link w?sl x/y`},
		{frob, `{"command":"cat ${X/a//etc/passwd}"}`, `/command shell/word w?sl /etc/passwd; link/link rsl ${X/a//etc/passwd; shell/glob rsl ${X/a//etc/passwd}`},
		{frob, `{"command":"cat '/etc/x «5000 a»'"}`, `/command shell/word rs /etc/x`},
		{frob, `{"command":"cat /etc/x:y"}`, `/command shell/word rs /etc/x:y; shell/word rs /etc/x; link/name rs y`},
		{frob, `{"command":"cat f[[:alpha:]]ink"}`, `/command link/name rs f[[:alpha:]]ink; link/name rs f; link/name rs :alpha:]]ink; link/name rs alpha:]]ink; link/name rs alpha; link/name rs ink; shell/glob rs f[[:alpha:]]ink`},
		{frob, `{"command":"cat f{li,x}nk"}`, `/command link/name rs f{li,x}nk; link/name rs f; link/name rs li,x}nk; link/name rs li; link/name rs x}nk; link/name rs x; link/name rs nk; link/name rs flink; link/name rs fxnk`},
		{frob, `{"command":"cat() { rm $1; }; cat /etc/passwd"}`, `/command link/name dsl $1; shell/word w?sl /etc/passwd`},
		{frob, `{"command":"cd $NOPE; cat .ssh/id_rsa"}`, `/command shell/word rsl ~; link/name rsl ${NOPE; shell/glob rsl ${NOPE}; link/link rsl .ssh/id_rsa cd=${NOPE}`},
		{frob, `{"command":"cd /etc | bash"}`, `/command shell/word rsl /etc`},
		{frob, `{"command":"cp a.txt /usr/bin/env"}`, `/command link/name rs a.txt; shell/word w+s /usr/bin/env`},
		{frob, `{"command":"date +/home/me/outside/secret.txt | xargs cat"}`, `/command shell/word w?sl /home/me/outside/secret.txt`},
		{frob, `{"command":"echo > ${PWD}/../y"}`, `/command shell/word w>+s ./../y; shell/word w>+s ${PWD}/../y; shell/glob w+s ${PWD}/../y`},
		{frob, `{"command":"http://x/../../y"}`, ``},
		{frob, `{"command":"jq '.a/b' a.json"}`, `/command link/link w?s .a/b; link/name rs a.json`},
		{frob, `{"command":"npm i file:../x?y"}`, `/command link/name w?s i; link/link w?s file:../x?y; shell/word w?s ../x?y; shell/word w?s ../x; shell/glob w?s file:../x?y`},
		{frob, `{"command":"perl -e '/ /etc/x ~ \\d'"}`, `/command link/name w?sl -e; shell/word w?sl / /etc/x ~ \d; shell/word w?!sl /etc/x ~ \d instead=/ ; shell/word w?sl /etc/x; shell/word w?sl \d; link/name w?sl d`},
		{frob, `{"command":"perl -e \"$(cat /etc/x) y\""}`, `/command link/name w?sl -e; shell/word rsl /etc/x`},
		{frob, `{"command":"sed 's/a/b/gw /etc/x' a"}`, `/command shell/word w?sl /etc/x; link/link w?sl tc/x; link/name rsl a`},
		{frob, `{"command":"sed 's/a/bw /etc/x' a"}`, `/command link/link w?sl tc/x; link/link w?sl s/a/bw /etc/x; shell/word w?!sl /etc/x instead=s/a/bw ; link/link w?sl s/a/bw; shell/word w?sl /etc/x; link/name rsl a`},
		{frob, `{"command":"sed -e 's/\\/etc\\/passwd/x/' -e '/foo/d' a.txt"}`, `/command link/name w?sl -e; link/link w?sl tc\/passwd/x/; link/link w?sl s/\/etc\/passwd/x/; shell/word w?!sl /\/etc\/passwd/x/ instead=s; link/link w?sl s//etc/passwd/x/; shell/word w?sl /foo/d; link/name rsl a.txt`},
		{frob, `{"command":"sed r a"}`, `/command link/name w?sl r; link/name rsl a`},
		{frob, `{"command":"sed","args":["-n","r /etc/passwd","a.txt"]}`, `/args/0 link/name w?ol -n; /args/1 shell/word w?ol /etc/passwd; link/link w?ol tc/passwd; link/link w?ol r /etc/passwd; shell/word w?!ol /etc/passwd instead=r ; /args/2 link/name rol a.txt`},
		{frob, `{"command":"x $PATH:a"}`, `/command link/name w?sl a; shell/glob w?sl ${PATH}:a`},
		{frob, `{"command":"x $PATHS:/etc/x"}`, `/command link/link w?sl :/etc/x; shell/word w?sl /etc/x; shell/word w?!sl /etc/x instead=:; link/link w?sl ${PATHS}:/etc/x; link/name w?sl ${PATHS; shell/glob w?sl ${PATHS}:/etc/x`},
		{frob, `{"command":"x -a/etc/y"}`, `/command link/link w?sl -a/etc/y; shell/word w?sl /etc/y`},
		{frob, `{"command":"x -ab~/y"}`, `/command link/link w?sl -ab~/y; link/link w?sl b~/y; shell/word w?sl ~/y`},
		{frob, `{"command":"x y=$PATH:/etc/z"}`, `/command link/link w?sl y=${PATH}:/etc/z; link/name w?sl y; shell/word w?sl /etc/z; shell/word w?!sl /etc/z instead=y=${PATH}:; shell/glob w?sl y=${PATH}:/etc/z; shell/glob w?sl ${PATH}:/etc/z`},
		{frob, `{"command":"x/y"}`, `/command link/link w?sxl x/y`},
		{frob, `{"command":"x=.; cat $x$x/outside/secret.txt"}`, `/command link/name w?sl x=.; link/name w?sl x; shell/word rsl ../outside/secret.txt; link/link rsl ${x}${x}/outside/secret.txt; shell/glob rsl ${x}${x}/outside/secret.txt; link/link rsl ./outside/secret.txt; link/link rsl .${x}/outside/secret.txt; shell/glob rsl .${x}/outside/secret.txt`},
		{frob, `{"run":"sh","stdin":{"a":"/etc/x"}}`, `/stdin/a absolute w? /etc/x`},
		{frob, `{"shell":"/bin/sh"}`, ``},
		{writes, `{"command":"rm -rf docs/.."}`, `/command link/name w?s -rf; link/name w?s f; shell/word ds docs/..`},
		{writes, `{"command":"wc -l","stdin":"a\nEND\nb/c\n"}`, `/command link/name w?s -l; link/name w?s a; link/name w?s END; link/link w?s b/c; /stdin link/link w?sl b/c`},
		{writes.with(`{"type":"object","properties":{"command":{"type":"string"},"timeout_ms":{"type":"number"},"shell":{"type":"string"}},"required":["command","timeout_ms"]}`), `{"command":"lsof -i :3000","timeout_ms":30000}`, `/command link/name w?sl -i; link/name w?sl :3000; link/name w?sl 3000`},
	})
	search(t, on(platform.Windows), []row{
		{frob, `{"command":"cat a*"}`, `/command link/name rs a*; shell/glob rs a*`},
		{frob, `{"command":"type \\\\h\\s\\x"}`, `/command shell/word w?sl \hsx; shell/word rs \\h\s\x`},
		{frob, `{"command":"copy C:\\x\\* a,D:\\*.b"}`, `/command shell/word w?sl C:x*; link/name w?sl C; link/name w?sl x*; link/name w?sl a,D:*.b; link/name w?sl a; shell/word w?sl D:*.b; link/name w?sl D; link/name w?sl *.b; shell/word rs C:\x\*; link/name rs C; shell/word rs \x\*; shell/glob rs C:/x/*; link/link w+s a,D:\*.b; link/name w+s a; shell/word w+s D:\*.b; link/name w+s D; shell/glob w+s a,D:/*.b; shell/glob w+s D:/*.b; link/name rs a`},
		{frob, `{"command":"t^ype sec^ret\\a"}`, `/command link/name w?sl sec^reta; link/link rs secret\a; link/link w?sl sec^ret\a`},
		{frob, `{"command":"type D:x"}`, `/command link/name w?sl D:x; shell/word rs D:x; link/name rs D; link/name rs x`},
		{frob, `{"command":"type %OUTSIDE%\\x"}`, `/command link/name w?sl %OUTSIDE%x; shell/word rs \x; link/link rs %OUTSIDE%\x; link/link rs OUTSIDE%\x; link/name rs OUTSIDE`},
		{frob, `{"sql":"SELECT * FROM '\\\\h\\s\\x'"}`, `/sql literal/literal w?o \\h\s\x`},
		{frob, `{"content":"file://h/s/x"}`, `/content file-uri/text w? file://h/s/x`},
		{frob, `{"x":"secrets\\key.txt"}`, `/x link/link w? secrets\key.txt`},
		{frob, `{"db":"C:\\work\\new"}`, `/db drive w? C:\work\new; literal/literal w? C:\work uncut=C:\work\new`},
	})
}
