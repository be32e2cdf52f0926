package declare

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestProfilesLoad(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, e := range embeddedProfiles() {
		p := e.profile()
		if !reflect.DeepEqual(e.match, p.Match) {
			t.Errorf("%s: %+v was read of its beginning, want %+v", p.Name, e.match, p.Match)
		}
		if len(p.Match.Servers)+len(p.Match.Packages)+len(p.Match.Commands) == 0 {
			t.Errorf("%s matches nothing", p.Name)
		}
		for _, names := range [][]string{p.Match.Servers, p.Match.Packages, p.Match.Commands} {
			for _, n := range names {
				key := strings.ToLower(n)
				if other := seen[key]; other != "" && other != p.Name {
					t.Errorf("%s and %s both claim %q", p.Name, other, n)
				}
				seen[key] = p.Name
			}
		}
	}
}

// TestStatelessProfiles: sessions may share these servers. One is added here after a look at its program: that it keeps no part
// of a session between calls, but the roots, and has no question for a client (sampling, elicitation). Only the official
// filesystem server needs its paths spelled otherwise.
func TestStatelessProfiles(t *testing.T) {
	t.Parallel()
	want := []string{"fetch", "filesystem", "git", "markitdown", "mcphub-files", "ripgrep", "time"}
	var got []string
	for _, e := range embeddedProfiles() {
		p := e.profile()
		if p.Rewrite != 0 && p.Name != "filesystem" {
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
		"not JSON": `{`, "unknown member": `{"match":{},"x":1}`, "bad role": `{"match":{},"tools":{"a":{"/x":"maybe"}}}`,
		"bad pointer": `{"match":{},"tools":{"a":{"x":"read"}}}`, "bad base": `{"match":{},"tools":{"a":{"/x":{"role":"read","base":"y"}}}}`,
		"bad mode": `{"match":{},"mode":"loose"}`, "no match": `{}`,
		"bad stateless": `{"match":{},"stateless":"yes"}`,
		"bad rewrite":   `{"match":{},"rewrite":["file-uri","real"]}`, "rewrite by argument": `{"match":{},"rewrite":{"*":{"/path":"file-uri"}}}`,
	} {
		if _, err := parseProfile("x", []byte(raw)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestProfileFor(t *testing.T) {
	t.Parallel()
	for _, e := range []struct{ server, command, args, want string }{
		{"", "npx", "-y @modelcontextprotocol/server-filesystem /home/u", "filesystem"},
		{"", "npx", "-y @modelcontextprotocol/server-filesystem@2026.8.31 --read-only", "filesystem"},
		{"", "npx", "--prefix /tmp/x --yes -p @modelcontextprotocol/server-filesystem mcp-server-filesystem", "filesystem"},
		{"", "npx", "--package=@playwright/mcp@latest playwright-mcp", "playwright"},
		{"", "bunx", "@playwright/mcp@latest", "playwright"},
		{"", "pnpm", "dlx @upstash/context7-mcp", "context7"},
		{"", "npx", "-y mcp-ripgrep@latest", "ripgrep"},
		{"", "uvx", "mcp-server-git --repository /x", "git"},
		{"", "uvx", "mcp-server-git==2025.1", "git"},
		{"", "uvx", "--from mcp-server-git[extra]>=1 other", "git"},
		{"", "uv", "tool run mcp-server-fetch", "fetch"},
		{"", "python3", "-m mcp-server-git", "git"},
		{"", "uvx", "mcp-server-time --local-timezone Europe/Berlin", "time"},
		{"", "/usr/local/bin/mcp-server-filesystem", "/x", "filesystem"},
		{"", `C:\bin\mcp-server-filesystem.exe`, "", "filesystem"},
		{"", "node", "/x/node_modules/@modelcontextprotocol/server-memory/dist/index.js", "memory"},
		{"", "node", "/x/filesystem-server.js", "filesystem"},
		{"", "docker", "run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server", "github"},
		{"", "docker", "run -i --rm mcp/filesystem:latest /x", "filesystem"},
		{"Context7", "", "", "context7"},
		{"context7", "my-own", "", "context7"},
		{"memory-server", "npx", "-y @modelcontextprotocol/server-filesystem", "filesystem"},
		// A directory is data, whatever it is called.
		{"", "npx", "-y some-server /home/u/mcp-server-git", ""},
		{"", "some-server", "mcp-server-git", ""},
		{"", "node", "/x/server.js mcp-server-memory", ""},
		{"", "", "", ""},
	} {
		p := ByCommand(e.command, strings.Fields(e.args))
		if p == nil {
			p = ByServer(e.server)
		}
		if p == nil {
			p = &Profile{}
		}
		if p.Name != e.want {
			t.Errorf("%q %s %s: %q, want %q", e.server, e.command, e.args, p.Name, e.want)
		}
		if (p.RootsProbe == "list_allowed_directories") != (e.want == "filesystem") {
			t.Errorf("%s: probe %q", e.want, p.RootsProbe)
		}
	}
}
