package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
)

// TestLiterals: words inside longer strings.
func TestLiterals(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"config":"paths:\n  - src/**\n  - '!docs/**'\n"}`, `/config link/link w? !docs/**; link/link w? src/**; link/link w? docs/**`},
		{frob, `{"endpoint":"/media/upload"}`, `/endpoint literal/literal w? /media/upload`},
		{frob, `{"search":"and/or"}`, `/search link/link w?o and/or`},
		{frob, `{"sql":"'/a b'"}`, `/sql literal/link w?o /a b`},
		{frob, `{"sql":"'~x/a b'"}`, `/sql link/link w?o ~x/a`},
		{frob, `{"sql":"CALL p('a/b', 3)"}`, `/sql link/link w?o a/b`},
		{frob, `{"sql":"SELECT $tag$ it's a/b $tag$"}`, `/sql link/link w?o a/b`},
		{frob, `{"sql":"select 'x' from t"}`, `/sql link/name w?o x`},
		{frob, `{"text":"@xy/z"}`, `/text link/link w? xy/z`},
		{frob, `{"url":"data:text/html,<a href='/etc/x'>"}`, ``},
		{frob, `{"x":"data:text/html,<a href='/etc/x'>"}`, `/x link/link w? data:text/html,<a href='/etc/x; literal/literal w? /etc/x; link/link w? text/html`},
		{frob, `{"x":"f('/etc/x y/z')"}`, `/x link/link w? f('/etc/x y/z'); literal/literal w? /etc/x y/z; link/link w? y/z; literal/literal w? /etc/x`},
		{frob, `{"x":"'\\x2fetc/passwd'"}`, `/x link/link w? \x2fetc/passwd; literal/literal w? \x2fetc/passwd; literal/literal w? /etc/passwd`},
		{frob, `{"x":":a/«4094 b»"}`, `/x link/link w? a/«4094 b»`},
	})
}
