package wellknown

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"mcphub/internal/commandline"
)

// TestRecognise is the table of all ways to start a well-known server. The monitor, the kernel's profile and the rewriting of
// directories ask here, so that they agree.
func TestRecognise(t *testing.T) {
	t.Parallel()
	const files = "@modelcontextprotocol/server-filesystem"
	for _, c := range []struct{ line, want string }{
		// Launchers of npm.
		{"npx -y " + files + " /home/u", "filesystem"},
		{"npx -y " + files + "@2026.8.31 --read-only", "filesystem"},
		{"npx --prefix /tmp/x --yes -p " + files + " mcp-server-filesystem", "filesystem, unsure"},
		{"npx --package=@playwright/mcp@latest playwright-mcp", "playwright"},
		{"npx --package=@playwright/mcp -- playwright-mcp", "playwright"},
		{"npx -y mcp-ripgrep@latest", "ripgrep"},
		{"npx --offline mcp-ripgrep", "ripgrep, unsure"},
		{"npm exec -y @playwright/mcp -- --headless", "playwright"},
		{"npm x @upstash/context7-mcp", "context7"},
		{"bunx @playwright/mcp@latest", "playwright"},
		{"bun x --bun @playwright/mcp", "playwright"},
		{"pnpm dlx @upstash/context7-mcp", "context7"},
		{"pnpx @upstash/context7-mcp", "context7"},
		{"yarn dlx -p @playwright/mcp playwright-mcp", "playwright"},
		{"yarn dlx @playwright/mcp", "playwright"},
		{"deno run -A npm:" + files + " /old", "filesystem"},
		{"npx -y tsx /opt/node_modules/@modelcontextprotocol/server-memory/dist/index.js", "memory"},
		{"npx -y tsx /opt/server.ts", "tsx"},

		// Launchers of Python.
		{"uvx mcp-server-git --repository /x", "git"},
		{"uvx mcp-server-git==2025.1", "git"},
		{"uvx mcp-server-git@latest", "git"},
		{"uvx --from mcp-server-git[extra]>=1 other", "git"},
		{"uvx --from git+https://github.com/oraios/serena serena start-mcp-server", "serena"},
		{"uv tool run mcp-server-fetch", "fetch"},
		{"uv run mcp-server-git", "git"},
		{"uv run --directory /opt/x mcp-server-git", "git"},
		{"uv run python -m mcp_server_git", "git"},
		{"poetry run mcp-server-git", "git"},
		{"pipx run mcp-server-time", "time"},
		{"pipx run --spec mcp-server-time==1 mcp-server-time", "time"},
		{"python3 -m mcp_server_git", "git"},
		{"python -m mcp_server_git.server", "git"},
		{"python3.12 -m mcp-server-git", "git"},

		// Wrappers.
		{"timeout 60 npx -y @playwright/mcp", "playwright"},
		{"nice npx -y @playwright/mcp", "playwright"},
		{"nice -n 5 timeout -k 5 60 uvx mcp-server-git", "git"},
		{"env A=b npx -y @playwright/mcp", "playwright"},
		{"env A=b mcp-server-git", "git"},
		{"sudo -u u npx -y @playwright/mcp", "playwright, unsure"},
		{"bash -c npx~-y~@playwright/mcp", "playwright"},
		{"bash -lc exec~uvx~mcp-server-git~--repository~/x", "git"},
		{"cmd /c npx -y " + files + " /old", "filesystem, unsure"},
		{"op run -- npx -y @playwright/mcp", "playwright, unsure"},
		{"timeout 60 docker run -i --rm mcp/filesystem /x", "filesystem"},

		// Programs and scripts.
		{"/usr/local/bin/mcp-server-filesystem /x", "filesystem"},
		{`C:\bin\mcp-server-filesystem.exe`, "filesystem"},
		{"mcp-server-git", "git"},
		{"node /x/node_modules/@modelcontextprotocol/server-memory/dist/index.js", "memory"},
		{"/x/node_modules/.bin/playwright-mcp --headless", "playwright"},
		{"node /x/node_modules/.bin/playwright-mcp", "playwright"},
		{"node /x/filesystem-server.js", "filesystem"},
		{"tsx /opt/server.ts", "tsx"},
		{"go run ./cmd/server", "go"},
		{"gopls mcp", "gopls"},

		// Containers.
		{"docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server", "github"},
		{"docker run -i --rm mcp/filesystem:latest /x", "filesystem"},
		{"docker --context x container run -itv /a:/b -v/c:/d --rm=true --init docker.io/mcp/git@sha256:0", "git"},
		{"podman run --pull always -i mcp/git", "git"},

		// A directory is data, whatever it is called, and another's package is another's.
		{"npx -y some-server /home/u/mcp-server-git", ""},
		{"npx -y some-server @playwright/mcp", ""},
		{"npx --package=evil @playwright/mcp", ""},
		{"npx -p evil -p @playwright/mcp playwright-mcp", ""},
		{"npx -y playwright-mcp", ""},
		{"npx ./@playwright/mcp", ""},
		{"npx mcp/filesystem", ""}, // of GitHub, and no image
		{"npx -y @evil/mcp-server-filesystem", ""},
		{"uvx --with mcp-server-git some-server", ""},
		{"node /x/node_modules/evil/playwright-mcp.js", ""},
		{"node /x/node_modules/@playwright/mcp/node_modules/evil/x.js", ""},
		{"node -r /x/node_modules/@playwright/mcp/x.js /x/server.js", ""},
		{"node /x/server.js mcp-server-memory", ""},
		{"python3 /x/server.py -m mcp_server_git", ""},
		{"python3 -c x -m mcp_server_git", ""},
		{"some-server mcp-server-git", ""},
		{"some-server -- mcp-server-git", ""},
		{"ssh host -- npx @playwright/mcp", ""},
		{"sh -c cd~/x&&npx~@playwright/mcp", ""},
		{"sh -c npx~$X~@playwright/mcp", ""},
		{"sh /x/start.sh -c mcp-server-git", ""},
		{"docker run -v mcp/git:/x evil mcp/git", ""},
		{"docker run --name mcp/git evil", ""},
		{"docker compose run mcp/git", ""},
		{"docker run -i gopls", ""},
		{"", ""},
	} {
		args := strings.Split(c.line, " ")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		line := commandline.ReadLine(args[0], args[1:])
		got := ""
		if s := ByLine(line, func(*Server) bool { return true }); s != nil {
			got = s.Name
			if !line.Sure {
				got += ", unsure"
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q (%+v)", c.line, got, c.want, line)
		}
	}
}

// TestProfiles: each server is recognised by something, no two by the same, and each path is of a form that is read.
func TestProfiles(t *testing.T) {
	t.Parallel()
	all := All()
	if !slices.IsSortedFunc(all, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Error("they are not sorted by name")
	}
	seen := map[string]string{}
	for _, s := range all {
		names := slices.Concat(s.Servers, s.Packages, s.Images, s.Commands)
		if len(names) == 0 || s.Arguments == nil && s.Kernel == nil {
			t.Errorf("%s matches nothing, or says nothing", s.Name)
		}
		for _, n := range names {
			if other := seen[strings.ToLower(n)]; other != "" && other != s.Name {
				t.Errorf("%s and %s both claim %q", s.Name, other, n)
			}
			seen[strings.ToLower(n)] = s.Name
		}
		if s.Kernel == nil {
			continue
		}
		for _, place := range slices.Concat(s.Kernel.Read, s.Kernel.Write) {
			if !strings.ContainsRune("/~$", rune(place[0])) {
				t.Errorf("%s: %q is no place", s.Name, place)
			}
		}
	}
}

func TestBadProfiles(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"not JSON": `{`, "unknown member": `{"servers":[{"name":"x","y":1}]}`, "unknown need": `{"servers":[{"name":"x","kernel":{"y":1}}]}`,
		"unknown places": `{"servers":[{"name":"x","kernel":{"read":["@y"]}}]}`, "bad stateless": `{"servers":[{"name":"x","stateless":"yes"}]}`,
	} {
		if _, err := parseProfiles([]byte(raw)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
