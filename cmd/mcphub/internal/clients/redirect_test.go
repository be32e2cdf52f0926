package clients

import (
	"encoding/json"
	"testing"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// A client of OAuth was registered for the program whose file names it, so the redirect is the redirect of this program.
func TestRedirectOfRegisteredClient(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ client, oauth, want string }{
		{"claude-code", `{"clientId":"i","callbackPort":3118}`, `{"clientId":"i","callbackPort":3118,"redirectHost":"localhost","redirectPath":"/callback"}`},
		{"claude-code", `{"clientId":"i"}`, `{"clientId":"i","redirectHost":"localhost","redirectPath":"/callback"}`},
		{"claude-code", `{"callbackPort":3118}`, `{"callbackPort":3118,"redirectHost":"localhost"}`},
		{"gemini", `{"clientId":"i"}`, `{"clientId":"i","redirectHost":"localhost","redirectPath":"/oauth/callback","callbackPort":7777}`},
		{"gemini", `{"clientId":"i","redirectUri":"http://127.0.0.1:1/x"}`, `{"clientId":"i","redirectHost":"127.0.0.1","redirectPath":"/x","callbackPort":1}`},
		{"opencode", `{"clientId":"i"}`, `{"clientId":"i","redirectHost":"127.0.0.1","redirectPath":"/mcp/oauth/callback","callbackPort":19876}`},
		{"opencode", `{"clientId":"i","callbackPort":2}`, `{"clientId":"i","callbackPort":2,"redirectHost":"127.0.0.1","redirectPath":"/mcp/oauth/callback"}`},
		{"vscode", `{"clientId":"i"}`, `{"clientId":"i"}`},
	} {
		var raw edit.Table
		if err := json.Unmarshal([]byte(`{"type":"remote","url":"https://host.example/mcp","oauth":`+test.oauth+`}`), &raw); err != nil {
			t.Fatal(err)
		}
		raw, ok := Find(test.client).dialect.readEntry(raw)
		if !ok {
			t.Fatal(test.client)
		}
		entry, held, _, problems, err := readForeign("x", raw, nil)
		if err != nil || len(held)+len(problems) > 0 {
			t.Errorf("%s: held back %v, %v %v", test.client, held, problems, err)
		}
		if got, err := json.Marshal(entry.Get("auth")); err != nil || string(got) != test.want {
			t.Errorf("%s %s: %s %v, want %s", test.client, test.oauth, got, err, test.want)
		}
	}
}
