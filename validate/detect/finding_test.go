package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
)

// TestFindingsOfCalls: what a finding says beside its value.
func TestFindingsOfCalls(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"args":[1,"/etc/x"]}`, `/args/1 absolute w?o /etc/x; shell/word w?ol /etc/x`},
		{frob, `{"argv":["bin/tool","x"],"program":"y"}`, `/argv/0 link/link w?ol bin/tool; /argv/1 link/name w?ol x`},
		{frob, `{"argv":["bin/tool","x"],"program":5}`, `/argv/0 link/link w?oxl bin/tool; /argv/1 link/name w?ol x`},
		{frob, `{"command":[["cat","/etc/x"]]}`, `/command/0/0 link/name w?ox cat; /command/0/1 absolute ro /etc/x`},
		{frob, `{"program":"/etc/passwd"}`, `/program absolute w? /etc/passwd`},
		{frob.declared("/list/* read /dir"), `{"dir":"/srv","list":["x"]}`, `/dir key w? /srv; /list/0 declared r x base=/dir at=/srv`},
		{frob.declared("/list/* read /dir"), `{"dir":5,"list":["x"]}`, `/list/0 declared r x base=/dir`},
		{frob.rewriting().declared("/p write"), `{"p":"x"}`, `/p declared w x rewritable=5-8 single`},
		{frob.rewriting().with(`{"type":"object","properties":{"path":{"type":"string","format":"path"},"a":{"type":"string","format":"path"}}}`), `{"path":"x","a":"y"}`, `/path key w? x rewritable=8-11 single; /a format w? y`},
		{reads, `{"path":"."}`, `/path key r .`},
		{reads, `{"x":"src/main.go"}`, `/x link/link r? src/main.go`},
		{frob, `{"a":{"command":"x","argv":["y"]},"b":{"argv":["z"]}}`, `/a/argv/0 link/name w?ol y; /b/argv/0 link/name w?oxl z`},
	})
}

// TestWhatAFindingSays: what the call does with it, in words, and whether it may be none.
func TestWhatAFindingSays(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		f    Finding
		want string
	}{
		{Finding{Role: access.Read, Assumed: true}, "read plausible"}, {Finding{Role: access.Delete, InShell: true}, "delete plausible"},
		{Finding{Role: access.Write}, "write plausible"}, {Finding{Role: access.Write, Assumed: true}, "read or write plausible"},
		{Finding{Role: access.Write, InShell: true}, "read plausible"}, {Finding{Role: access.Write, InShell: true, Written: true}, "write plausible"},
		{Finding{Role: access.Write, InShell: true, Makes: true}, "write plausible"}, {Finding{Role: access.Write, Assumed: true, Makes: true}, "write plausible"},
		{Finding{How: HowDeclared}, "none"}, {Finding{How: HowKey}, "none plausible"}, {Finding{Raw: " -x"}, "none"},
		{Finding{Form: FormURI}, "none plausible"}, {Finding{Form: FormWord}, "none plausible conditional"}, {Finding{Form: FormText}, "none plausible conditional"}, {Finding{Form: FormLink}, "none plausible conditional relative"},
	} {
		got := e.f.Does()
		for _, is := range []struct {
			on   bool
			word string
		}{{e.f.Plausible(), " plausible"}, {e.f.Conditional(), " conditional"}, {e.f.Relative(), " relative"}} {
			if is.on {
				got += is.word
			}
		}
		if got != e.want {
			t.Errorf("%+v: %s, want %s", e.f, got, e.want)
		}
	}
}
