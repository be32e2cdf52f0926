package config

import (
	"strings"
	"testing"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ entry, want string }{
		"Claude":       {`{"type":"stdio","command":"npx","args":["-y","x"],"env":{}}`, `{"type":"stdio","command":"npx","args":["-y","x"]}`},
		"placeholders": {`{"command":"npx","env":{"A":"${A:-b}"}}`, `{"command":"npx","env":{"A":"${A:-b}"}}`},
		"opencode":     {`{"type":"local","command":["npx","-y","x"],"environment":{"A":"b"},"enabled":false}`, `{"type":"stdio","command":"npx","args":["-y","x"],"env":{"A":"b"},"disabled":true}`},
		"Codex":        {`{"url":"https://x/mcp","bearer_token_env_var":"T","startup_timeout_sec":20}`, `{"url":"https://x/mcp","headers":{"Authorization":"Bearer ${env:T}"},"timeout":{"start":"20s"}}`},
		"kept":         {`{"command":"x","envFile":".env","autoApprove":["*"]}`, `{"command":"x","envFile":".env"}`},
		"minute":       {`{"command":"x","timeout":60}`, `{"command":"x","timeout":{"call":60}}`},
		"comments":     {"{// one\n\"command\":\"x\",}", `{"command":"x"}`},
	} {
		got, _, err := Translate(name, []byte(tc.entry))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %s, %v\nwant %s", name, got, err, tc.want)
		}
	}
	if _, _, err := Translate("x", []byte(`{"url":"https://a","serverUrl":"https://b"}`)); err == nil || !strings.Contains(err.Error(), "another value") {
		t.Errorf("got %v", err)
	}
}

func TestServerName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"github": "github", "My Server": "My-Server", "@scope/pkg": "scope-pkg", "a__b": "a_b", "größe (neu)": "gr-e-neu", "日本": "server", "": "server", "a.b": "a.b",
	} {
		if got := ServerName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
