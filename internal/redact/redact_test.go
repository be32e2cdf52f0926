package redact

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"GitHub":                     "ghp_" + strings.Repeat("a1B2", 9),
		"GitLab":                     "glpat-" + strings.Repeat("a1B2", 5),
		"OpenAI, Anthropic":          "sk-ant-api03-" + strings.Repeat("a1B2", 10),
		"Stripe":                     "sk_live_" + strings.Repeat("a1B2", 6),
		"Slack":                      "xoxb-" + strings.Repeat("1234", 5),
		"AWS":                        "AKIAIOSFODNN7EXAMPLE",
		"Google":                     "AIza" + strings.Repeat("a1B2x", 7),
		"npm, PyPI, Hugging Face":    "npm_" + strings.Repeat("a1B2", 9),
		"JSON Web Token":             "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh",
		"private key":                "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
		"Authorization":              "Bearer abcdefgh12345678",
		"user and password in a URL": "https://bob:hunter2hunter2@example.com/x",
		"parameter or variable":      "DB_PASSWORD=hunter2hunter2",
		"option":                     "--api-key hunter2hunter2",
	}
	for _, sh := range shapes {
		secret, ok := secrets[sh.name]
		if !ok {
			t.Errorf("no example of %q", sh.name)
			continue
		}
		got := Text("before " + secret + " after")
		if !strings.Contains(got, Mark) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q", sh.name, got)
		}
		for _, part := range []string{secret, "hunter2", "abcdefgh12345678", "MIIE"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is left in %q", sh.name, part, got)
			}
		}
	}
	for _, harmless := range []string{
		"/home/user/project/file.txt", "/srv/token/list=1/x", "/home/u/task-sk-list/a.txt", "a=b", "https://example.com/a@b", "/tmp/ghost_story.txt",
		"basic instinct", "bearer of news", "--password-file /run/secret", "/var/lib/tokens/readme",
	} {
		if got := Text(harmless); got != harmless {
			t.Errorf("%q became %q", harmless, got)
		}
	}
}

// TestTheDocumentNamesEveryShape keeps docs/audit-format.md complete.
func TestTheDocumentNamesEveryShape(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/audit-format.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range shapes {
		if !strings.Contains(string(doc), sh.name) {
			t.Errorf("docs/audit-format.md does not name %q", sh.name)
		}
	}
	for word := range secretWords {
		if !strings.Contains(string(doc), "`"+word+"`") {
			t.Errorf("docs/audit-format.md does not name the key %q", word)
		}
	}
	for pair := range secretPairs {
		if !strings.Contains(string(doc), "`"+pair[0]+" "+pair[1]+"`") {
			t.Errorf("docs/audit-format.md does not name the key %q", pair)
		}
	}
	for word := range harmlessEnds {
		if !strings.Contains(string(doc), "`"+word+"`") {
			t.Errorf("docs/audit-format.md does not name the ending %q", word)
		}
	}
}

func TestSecretKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"token", "Token", "access_token", "accessToken", "API-KEY", "apiKey", "APIKey", "x-api-key", "dbPassword", "client_secret", "Authorization", "private_key"} {
		if !SecretKey(key) {
			t.Errorf("%q passes", key)
		}
	}
	for _, key := range []string{"path", "max_tokens", "tokens", "key", "keyboard", "token_file", "password_path", "secretary", "monkey", "", "keys", "api"} {
		if SecretKey(key) {
			t.Errorf("%q is redacted", key)
		}
	}
}

func TestArgumentsAreRedacted(t *testing.T) {
	t.Parallel()
	in := `{"path":"/a","token":"hunter2","nested":{"apiKey":{"deep":["hunter2"]},"list":[1,"hunter2=x"," Bearer hunter2hunter2"],"password":12345},"url":"https://a:hunter2@h/","n":1e3,"same":1,"same":2}`
	out := JSON([]byte(in))
	if strings.Contains(string(out), "12345") || strings.Count(string(out), Mark) != 5 {
		t.Errorf("%s", out)
	}
	if !json.Valid(out) {
		t.Errorf("no JSON: %s", out)
	}
	if got := JSON([]byte(`{"broken":`)); !json.Valid(got) {
		t.Errorf("no JSON: %s", got)
	}
	if got := JSON([]byte("{\"a\":\"\xff\"}")); !json.Valid(got) {
		t.Errorf("no JSON: %s", got)
	}
	for in, want := range map[string]string{
		`{"env":[{"name":"API_KEY","value":"hunter2"},{"name":"PORT","value":"80"},{"value":"1"},{"NAME":"db_password","other":[{}],"Value":{"a":"hunter2"}}]}`: `{"env":[{"name":"API_KEY","value":"[redacted]"},{"name":"PORT","value":"80"},{"value":"1"},{"NAME":"db_password","other":[{}],"Value":"[redacted]"}]}`,
		`{"argument":{"name":"token","value":"hunter2"},"ref":{"name":"p"},"value":"x"}`:                                                                        `{"argument":{"name":"token","value":"[redacted]"},"ref":{"name":"p"},"value":"x"}`,
		`{"token=hunter1":1,"token=hunter2":2,"token=hunter3":3}`:                                                                                               `{"token=[redacted]":"[redacted]","token=[redacted] (2)":"[redacted]","token=[redacted] (3)":"[redacted]"}`,
		`{"a":1,"a":{"token":"hunter2"}}`: `{"a":1,"a (2)":{"token":"[redacted]"}}`,
		`{"password":"hunter2",`:          `"[redacted]"`,
	} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("%s\n%s, want\n%s", in, got, want)
		}
	}
}

func TestSecretsInArgumentsOfProgramsAreRedacted(t *testing.T) {
	t.Parallel()
	environ := []string{"GITHUB_TOKEN=value-of-a-variable", "HOME=/home/somebody", "PIN=1234", "EMPTY_SECRET="}
	for _, c := range []struct{ in, want string }{
		{"server --api-key hunter2 --port 80", "server --api-key [redacted] --port 80"},
		{"--api-key -hunter2 x", "--api-key [redacted] x"},
		{"--apiKey=hunter2 -password hunter2", "--apiKey=[redacted] -password [redacted]"},
		{"--token-file /run/secret --max-tokens 5", "--token-file /run/secret --max-tokens 5"},
		{"run -e API_KEY=hunter2 -e PORT=80 img", "run -e API_KEY=[redacted] -e PORT=80 img"},
		{"--header X-API-Key:hunter2", "--header X-API-Key: [redacted]"},
		{"--dsn postgres://me:hunter2@host/db", "--dsn postgres://[redacted]@host/db"},
		{"positional value-of-a-variable 1234", "positional [redacted] 1234"},
		{"--url=https://h/?k=value-of-a-variable&x", "--url=https://h/?k=[redacted]&x"},
		{"--token", "--token"},
		{"/home/somebody C:\\secret:\\x -v /a:/b", "/home/somebody C:\\secret:\\x -v /a:/b"},
	} {
		if got := strings.Join(Args(strings.Fields(c.in), environ), " "); got != c.want {
			t.Errorf("%s\n%s, want\n%s", c.in, got, c.want)
		}
	}
	if got := Args([]string{"--header", "Authorization: Bearer abcdefgh12345678", "--secret", ""}, nil); got[1] != "Authorization: [redacted]" || got[3] != "" {
		t.Errorf("%q", got)
	}
}

func TestSecretsInAddressesAreRedacted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://host/ghp_" + strings.Repeat("a1B2", 9) + "/mcp": "https://host/" + Mark + "/mcp",
		"https://ann:c4nary@host:8/a/b?key=c4nary#c4nary":        "https://host:8/a/b", "http://host": "http://host", "http://[": "", "": "",
	} {
		if got := URL(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestSpans: what Text replaces is what Spans finds.
func TestSpans(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "nothing", "a sk-live-0123456789abcdef b", "TOKEN=abc def", "Authorization: Bearer abcdef0123456789", "https://u:p4ss@host/x?api_key=1234", "--password x --token 'y z' rest",
		"curl -H 'Authorization: Basic dXNlcjpwYXNzd29yZA==' https://h", "a=b ghp_0123456789abcdef0123 ghp_0123456789abcdef0124",
	} {
		var b strings.Builder
		done := 0
		for _, span := range Spans(text) {
			b.WriteString(text[done:span[0]] + Mark)
			done = span[1]
		}
		if got, want := b.String()+text[done:], Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
