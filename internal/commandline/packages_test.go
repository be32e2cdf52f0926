package commandline

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestPackage reads lines of launchers: the package, its version, the program, the
// server's arguments, and what stands in their place once it is installed.
func TestPackage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line   string
		specs  string
		run    string // the line with C instead of the launcher
		pinned bool
	}{
		{"npx -y foo", "npm: foo", "C", false},
		{"npx foo@1.2.3 a b", "npm: foo@1.2.3", "C a b", true},
		{"npx -y @s/foo@1.2.3-rc.1 --x y", "npm: @s/foo@1.2.3-rc.1", "C --x y", true},
		{"npx -y @s/foo@latest", "npm: @s/foo@latest", "C", false},
		{"npx foo@1.2", "npm: foo@1.2", "C", false},
		{"npx foo@^1.2.3", "npm: foo@^1.2.3", "C", false},
		{"npx @s/foo", "npm: @s/foo", "C", false},
		{"npx --package=foo@1.0.0 -- bar --baz", "npm: foo@1.0.0 (bar)", "C --baz", true},
		{"npx -p foo -p qux bar x", "npm: foo qux (bar)", "C x", false},
		{"npx --registry https://r.example/ foo", "npm: foo [--registry https://r.example/]", "C", false},
		{"npx --@s:registry=https://r.example/ @s/foo", "npm: @s/foo [--@s:registry=https://r.example/]", "C", false},
		{"npx foo -- --flag", "npm: foo", "C -- --flag", false},
		{"/opt/node/bin/npx foo", "/opt/node/bin/npm: foo", "C", false},
		{"npm exec -y foo -- --flag x", "npm: foo", "C --flag x", false},
		{"npm x -- foo --flag", "npm: foo", "C --flag", false},
		{"npm exec foo x", "npm: foo", "C x", false},
		{"npx github:a/b#0123456789012345678901234567890123456789", "npm: github:a/b#0123456789012345678901234567890123456789", "C", true},
		{"bunx foo x", "bun: foo", "C x", false},
		{"bunx --bun foo@1.2.3", "bun: foo@1.2.3 bun", "C", true},
		{"bun x foo", "bun: foo", "C", false},
		{"pnpm dlx foo@2.0.0 x", "pnpm: foo@2.0.0", "C x", true},
		{"pnpm --package=foo dlx bar", "pnpm: foo (bar)", "C", false},
		{"pnpx foo", "pnpm: foo", "C", false},
		{"yarn dlx -p foo bar x", "yarn: foo (bar)", "C x", false},
		{"uvx mcp-server-git --repository x", "uv: mcp-server-git", "C --repository x", false},
		{"uvx mcp-server-git@1.2", "uv: mcp-server-git@1.2", "C", true},
		{"uvx mcp-server-git@latest", "uv: mcp-server-git@latest", "C", false},
		{"uvx --from mcp-x==0.3.0 mcp-y", "uv: mcp-x==0.3.0 (mcp-y)", "C", true},
		{"uvx --from mcp-x>=0.3.0 mcp-y", "uv: mcp-x>=0.3.0 (mcp-y)", "C", false},
		{"uvx --from mcp-x==0.3.* mcp-y", "uv: mcp-x==0.3.* (mcp-y)", "C", false},
		{"uvx --python 3.12 --with dep==1 foo==1.0", "uv: foo==1.0 +dep==1 [--python 3.12]", "C", true},
		{"uvx --with dep foo==1.0", "uv: foo==1.0 +dep", "C", false},
		{"uvx --from git+https://h.example/a/b foo", "uv: git+https://h.example/a/b (foo)", "C", false},
		{"uv tool run foo", "uv: foo", "C", false},
		{"pipx run --spec foo==1 bar", "pipx: foo==1 (bar)", "C", true},
		{"env A=b npx -y foo x", "npm: foo", "env A=b C x", false},
		// The value of a flag is not the package.
		{"npx --loglevel silent foo", "npm: foo", "C", false},
		{"npm exec --loglevel silent foo", "npm: foo", "C", false},
		{"pnpx --registry https://r.example/ foo", "pnpm: foo [--registry https://r.example/]", "C", false},
		{"pnpm dlx --allow-build esbuild foo", "pnpm: foo [--allow-build esbuild]", "C", false},
		{"uvx --prerelease allow foo", "uv: foo [--prerelease allow]", "C", false},
		{"pipx run -i https://r.example/ foo", "pipx: foo [-i https://r.example/]", "C", false},
		{"timeout 5 npx foo", "npm: foo", "timeout 5 C", false},

		// What is not understood, and what fetches nothing.
		{"npx", "", "", false},
		{"npx -c foo", "", "", false},
		{"npx --no foo", "", "", false},
		{"npx --offline foo", "", "", false},
		{"npx --prefix /x foo", "", "", false},
		{"npx /abs/pkg", "", "", false},
		{"npx ./pkg", "", "", false},
		{"npx file:/abs/pkg", "", "", false},
		{"npx a/b", "", "", false},
		{"npm exec foo --flag", "", "", false},
		{"npm run foo", "", "", false},
		{"npx ${root}", "", "", false},
		{"uvx --from ./x foo", "", "", false},
		{"uvx --with-editable . foo", "", "", false},
		{"uv run foo", "", "", false},
		{"pnpm exec foo", "", "", false},
		{"yarn run foo", "", "", false},
		{"bun run foo", "", "", false},
		{"bun x.ts", "", "", false},
		{"deno run npm:foo", "", "", false},
		{"node x.js", "", "", false},
		{"sudo npx foo", "", "", false},
		{"env -i npx foo", "", "", false},
		{"sh -c npx", "", "", false},
		{"bin/npx foo", "", "", false},
		{"docker run foo", "", "", false},
	} {
		words := strings.Fields(c.line)
		p, ok := ReadPackage(words[0], words[1:])
		if ok != (c.specs != "") {
			t.Errorf("%s: understood %t: %+v", c.line, ok, p)
			continue
		} else if !ok {
			continue
		}
		got := p.Command + ": " + strings.Join(p.Specs, " ")
		for _, x := range p.Extras {
			got += " +" + x
		}
		if p.Program != "" {
			got += " (" + p.Program + ")"
		}
		if p.Bun {
			got += " bun"
		}
		if len(p.Flags) > 0 {
			got += " [" + strings.Join(p.Flags, " ") + "]"
		}
		if got != c.specs || p.IsPinned() != c.pinned {
			t.Errorf("%s: %q, pinned %t", c.line, got, p.IsPinned())
		}
		command, args := p.ReplaceLauncher(words[0], words[1:], "C", nil)
		if line := strings.Join(append([]string{command}, args...), " "); line != c.run {
			t.Errorf("%s: it runs %q, not %q", c.line, line, c.run)
		}
	}
	env, _ := ReadPackage("env", []string{"npm_config_registry=r", "npx", "foo"})
	if !reflect.DeepEqual(env.Env, map[string]string{"npm_config_registry": "r"}) {
		t.Errorf("%v", env.Env)
	}
}

// TestManagers: every launcher that fetches names subcommands and flags that its own
// line can have.
func TestManagers(t *testing.T) {
	t.Parallel()
	for name, l := range launchers {
		for _, sub := range l.fetch.sub {
			if !slices.Contains(l.sub, sub) {
				t.Errorf("%s has no subcommand %s", name, sub)
			}
		}
	}
}

func TestCompiles(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"go run ./cmd/server": true, "go -C /srv run .": true, "/usr/local/go/bin/go run -tags x .": true, "env A=b go run .": true, "timeout 60 cargo run --release": true, "dotnet run --project /srv": true,
		"go tool x": false, "go": false, "gopls run": false, "cargo --version": false, "dotnet server.dll": false, "node run": false, "": false,
	} {
		command, args, _ := strings.Cut(line, " ")
		if got := Compiles(command, strings.Fields(args)); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}
