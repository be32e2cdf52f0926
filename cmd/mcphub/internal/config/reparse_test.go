package config

import "testing"

// The variables of a client may change how a server is reached and known, and no key that is of all clients.
func TestWhatAClientMayChange(t *testing.T) {
	t.Parallel()
	const entry = `"tls": {"ca": "${X}/ca.pem"}, "headersFrom": {"command": "${X}/token"}`
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"url": "https://h/", ` + entry + `}}}`:                                         "",
		`{"mcpServers": {"a": {"url": "https://h/", "headers": {"A": "${X}"}}}}`:                              "",
		`{"mcpServers": {"a": {"url": "https://h/", ` + entry + `}}, "roots": {"map": {"x-y://h/": "${X}"}}}`: "roots.map",
	} {
		read := func(value string) *File {
			f, problems, err := Parse("hub.json", []byte(text), envOf(map[string]string{"X": value}))
			if err != nil || f.Servers[0].Err != nil {
				t.Fatal(err, problems)
			}
			return f
		}
		if got := read("/a").DifferingKey(read("/b")); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
