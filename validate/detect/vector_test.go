package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
)

// TestVectors: the words of argument vectors.
func TestVectors(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"args":"-v"}`, `/args link/name w?o -v`},
		{frob, `{"args":["-F","/"]}`, `/args/0 link/name w?ol -F`},
		{frob, `{"args":["-d/","-f1"]}`, `/args/1 link/name w?ol 1; link/name w?ol -f1`},
		{frob, `{"args":["env","find","-delete"]}`, `/args/0 link/name do .; link/name w?ol env; /args/1 link/name w?ol find; /args/2 link/name w?ol elete; link/name w?ol -delete`},
		{frob, `{"args":["git","commit","-m","a",";","cat","/etc/passwd"]}`, `/args/0 link/name w?o git; /args/1 link/name w?o commit; /args/2 link/name w?o -m; /args/3 link/name w?o a; /args/4 link/name w?o ;; /args/5 link/name w?o cat; /args/6 absolute w?o /etc/passwd`},
		{frob, `{"args":["ls []*"]}`, `/args/0 link/name w?ol ls; link/name w?ol *`},
		{frob, `{"args":["npm","file:../x?y"]}`, `/args/0 link/name w?o npm; /args/1 climbs w?o ../x?y; link/link w?o ../x; literal/literal w?!o /../x; literal/literal w?!o /../x?y; link/link w?o file:../x?y; shell/word w?o ../x`},
		{frob, `{"args":["su","-m","cat /etc/passwd x"]}`, `/args/0 link/name w?ol su; /args/1 link/name w?ol -m; /args/2 link/link w?ol cat /etc/passwd x; shell/word w?!ol /etc/passwd x instead=cat ; link/name w?ol cat; shell/word w?ol /etc/passwd; link/name w?ol x`},
		{frob, `{"args":["x=secret.txt"]}`, `/args/0 link/name w?ol x=secret.txt; link/name w?ol x; link/name w?ol secret.txt`},
		{frob, `{"command":"«60 /»rm","args":["x"]}`, `/command shell/word w?s «60 /»rm; /args/0 link/name do x`},
		{frob, `{"command":"[\"cat\",\"/etc/passwd\"]"}`, `/command/0 link/name w?ox cat; /command/1 absolute ro /etc/passwd`},
		{frob, `{"command":"env","args":["PATH=/usr/local/bin:/usr/bin","make"]}`, `/args/1 link/name w?ol make`},
		{frob, `{"command":"find","args":[".","-exec","cat","/etc/passwd",";"]}`, `/args/1 link/name w?ol xec; link/name w?ol -exec; /args/2 link/name w?ol cat; /args/3 absolute ro /etc/passwd; shell/word rol /etc/passwd; /args/4 link/name w?ol ;`},
		{frob, `{"command":["a;b"],"stdin":"x"}`, `/command/0 link/name w?oxl a;b; link/name w?oxl a; link/name w?oxl b; /stdin link/name w?sl x`},
		{frob, `{"command":["cat /etc/x"]}`, `/command/0 shell/word rs /etc/x`},
		{frob, `{"command":["echo","x;cat /etc/passwd"]}`, `/command/0 link/name w?ox echo; /command/1 shell/word rsl /etc/passwd`},
		{frob, `{` + members(31) + `"command":"rm","args":["x"]}`, `/args/0 link/name do x`},
		{frob, `{` + members(32) + `"command":"rm","args":["x"]}`, `/args/0 link/name w?ol x`},
		{frob, `{"x":["-c","/etc/x y"]}`, `/x/1 shell/word w?sl /etc/x; link/name w?sl y`},
		{frob.with(`{"type":"object","properties":{"path":{"type":"string"},"logDir":{"type":"string"},"command":{"type":"string"},"where":{"type":"string","format":"path"}}}`), `{"comMand":"cat passwd"}`, `/comMand link/name rs passwd`},
		{writes.with(`{"type":"object"}`), `{"args":["cat","/home/me/it,s/f.txt"]}`, `/args/0 link/name w?o cat; /args/1 absolute ro /home/me/it,s/f.txt; link/link ro /home/me/it; list ro /home/me/it; link/link ro s/f.txt`},
		{frob, `{"command":"rm x","args":["sudo","rm","y"]}`, `/command link/name ds x; /args/0 link/name w?o sudo; /args/1 link/name w?o rm; /args/2 link/name do y`},
	})
}
