package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
)

// TestTailsBehindSignsAreFound: what follows a sign, and patterns.
func TestTailsBehindSignsAreFound(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"command":"cat $1/etc/passwd"}`, `/command link/link rsl ./etc/passwd; shell/word rsl /etc/passwd; link/link rsl $1/etc/passwd; shell/word r!sl /etc/passwd instead=$1`},
		{frob, `{"command":"x a=/etc/y"}`, `/command link/link w?sl a=/etc/y; link/name w?sl a; shell/word w?sl /etc/y; shell/word w?!sl /etc/y instead=a=`},
		{frob, `{"input":"concat:a.mp4|/etc/passwd"}`, `/input list w? /etc/passwd`},
		{frob, `{"path":"?(link)/*"}`, `/path key w? ?(link)/*; link/name w? ?; absolute w? /*; link/link w? link/`},
		{frob, `{"path":"@(link)/*"}`, `/path key w? @(link)/*; link/name w? @; link/link w? link/`},
		{frob, `{"x":"-xy~/b"}`, `/x link/link w? y~/b; link/link w? ~/b; tail w? ~/b; link/link w? -xy~/b`},
		{frob, `{"x":"://etc/x"}`, `/x link/link w? ://etc/x; literal/literal w? //etc/x`},
		{frob, `{"x":":a)/b"}`, `/x link/link w? a)/b; link/link w? :a)/b`},
		{frob, `{"x":"a=\"/etc/x\""}`, `/x tail w? /etc/x`},
		{frob, `{"x":"foo:/etc/passwd"}`, `/x tail/word w?! /etc/passwd; link/link w? foo:/etc/passwd`},
		{frob, `{"x":"git@h:/etc/y"}`, `/x tail w? h:/etc/y; link/link w? git@h:/etc/y`},
		{frob, `{"x":"h:x:/etc/y"}`, `/x tail w? x:/etc/y; tail/word w?! /etc/y; literal/literal w? /etc/y; link/link w? h:x:/etc/y`},
		{frob, `{"x":"{,../x}"}`, `/x list w? ../x`},
		{frob, `{"x":"«8 {a,b}»"}`, ``},
		{frob, `{"x":"«8 {a,b}»{/x}"}`, `/x link/link w? b}{/x; climbs w? «8 {a,b}»{/x}`},
		{frob, `{"x":"ｆｉｌｅ:///etc/passwd"}`, `/x file-uri/uri w? file:///etc/passwd; tail/word w?! ///etc/passwd; literal/literal w? ///etc/passwd; link/link w? ｆｉｌｅ:///etc/passwd`},
		{frob, `{"zz":" --output='dangling'"}`, `/zz link/link w? dangling`},
		{frob, `{"zz":"--output=dangling"}`, `/zz link/link w? dangling`},
		{frob, `{"zz":":(top)../x"}`, `/zz tail w? ../x`},
		{frob.declared("/* none"), `{"o":"-I~"}`, `/o link/name w? ~; tail w? ~; link/name w? -I~`},
		{frob.declared("/p read"), `{"p":"{\"a\":\"/etc/x\"}"}`, `/p/a absolute w? /etc/x; /p declared r {"a":"/etc/x"}; list r /etc/x; link/name r a; tail/word r! /etc/x"}; tail/word r! /etc/x`},
		{frob, `{"path":"{,/}etc/x y"}`, `/path key w? {,/}etc/x y; list w? /}etc/x y; link/link w? ,/}etc/x; list w? /}etc/x; link/name w? y`},
		{frob, `{"path":"x https://a/b z=/etc/w"}`, `/path key w? x https://a/b z=/etc/w; list w? //a/b z=/etc/w; link/link w? z=/etc/w; list w? //a/b; link/name w? x https; link/name w? x; link/link w? https://a/b; link/name w? https; link/name w? z; tail w? /etc/w`},
		{frob, `{"x":"git@h:/etc/y,z=/etc/w"}`, `/x tail w? h:/etc/y,z=/etc/w; tail w? /etc/w; link/link w? git@h:/etc/y; link/link w? z=/etc/w; literal/literal w? h:/etc/y`},
		{frob, `{"x":"a='"}`, ``},
		{frob, `{"x":":a/«4093 b»"}`, `/x link/link w? a/«4093 b»; link/link w? :a/«4093 b»`},
	})
	search(t, on(platform.Windows), []row{
		{frob, `{"command":"\\a\\b"}`, `/command shell/word w?sl \a\b`},
	})
}
