package declare

import (
	"slices"
	"strings"
	"testing"

	"mcphub/internal/wellknown"
)

// known returns all profiles.
func known(t *testing.T) (all []*Profile) {
	t.Helper()
	list := wellknown.All()
	for i := range list {
		if list[i].Arguments == nil {
			continue
		}
		p, err := parseProfile(&list[i])
		if err != nil {
			t.Fatalf("%s: %v", list[i].Name, err)
		}
		all = append(all, p)
	}
	return all
}

// TestStatelessProfiles: sessions may share these servers. One is added here after a look at its program: that it keeps no part
// of a session between calls, but the roots, and has no question for a client (sampling, elicitation). Only the official
// filesystem server needs its paths spelled otherwise.
func TestStatelessProfiles(t *testing.T) {
	t.Parallel()
	want := []string{"fetch", "filesystem", "git", "markitdown", "mcphub-files", "ripgrep", "time"}
	var got []string
	for _, p := range known(t) {
		if p.Rewrite && p.Name != "filesystem" {
			t.Errorf("%s rewrites", p.Name)
		}
		if p.Stateless {
			got = append(got, p.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBadProfiles(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"not JSON": `{`, "unknown member": `{"x":1}`, "bad role": `{"tools":{"a":{"/x":"maybe"}}}`,
		"bad pointer": `{"tools":{"a":{"x":"read"}}}`, "bad base": `{"tools":{"a":{"/x":{"role":"read","base":"y"}}}}`,
		"bad mode": `{"mode":"loose"}`, "bad start": `{"relative":"last-root"}`,
		"rewrite by name": `{"rewrite":["file-uri"]}`, "rewrite by argument": `{"rewrite":{"*":{"/path":"file-uri"}}}`,
	} {
		if _, err := parseProfile(&wellknown.Server{Name: "x", Arguments: []byte(raw)}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestByCommand: a server of which only the kernel's needs are known has no profile, and does not hide the one that it starts.
func TestByCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /x": "filesystem", "npx -y tsx /x/node_modules/@modelcontextprotocol/server-memory/index.js": "memory",
		"tsx /x/server.ts": "", "gopls mcp": "", "go run .": "", "npx mcp-remote https://example.org": "", "kid": "", "kid -- npx -y mcp-ripgrep": "",
	} {
		words, got := strings.Fields(line), ""
		if p := ByCommand(words[0], words[1:]); p != nil {
			got = p.Name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for name, want := range map[string]string{"Context7": "context7", "context7": "context7", "gopls": "", "": ""} {
		if p := ByServer(name); (p != nil) != (want != "") || p != nil && p.Name != want {
			t.Errorf("%q: %v", name, p)
		}
	}
}
