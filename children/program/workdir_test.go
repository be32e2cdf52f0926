package program

import (
	"strings"
	"testing"

	"mcphub/internal/commandline"
)

// TestSpellingsOfLaunchers: however a launcher is told to fetch a package, that package is
// what is installed, and nothing is taken from the working directory for it. What runs a
// program of the project fetches nothing.
func TestSpellingsOfLaunchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line    string
		manager string // "": nothing is fetched
		args    string // what it is started with if it is not installed; "": it is refused
		neutral bool   // away from the working directory
	}{
		{"npx pkg", "npm", "--prefix /P --script-shell /S pkg", true},
		{"npm exec pkg", "npm", "exec --prefix /P --script-shell /S pkg", true},
		{"npm x pkg", "npm", "x --prefix /P --script-shell /S pkg", true},
		{"npm --yes exec pkg", "npm", "--prefix /P --script-shell /S --yes exec pkg", true},
		{"npm --cache /c x pkg", "npm", "--prefix /P --script-shell /S --cache /c x pkg", true},
		{"bunx pkg", "bun", "pkg", true},
		{"bun x pkg", "bun", "x pkg", true},
		{"bun --bun x pkg", "bun", "--bun x pkg", true},
		{"bun x --bun pkg", "bun", "x --bun pkg", true},
		{"pnpx pkg", "pnpm", "pkg", true},
		{"pnpm dlx pkg", "pnpm", "dlx pkg", true},
		{"pnpm --silent dlx pkg", "pnpm", "--silent dlx pkg", true},
		{"yarn dlx pkg", "yarn", "dlx pkg", true},
		{"uvx pkg", "uv", "pkg", false},
		{"uv tool run pkg", "uv", "tool run pkg", false},
		{"uv --quiet tool run pkg", "uv", "--quiet tool run pkg", false},
		{"pipx run pkg", "pipx", "run pkg", true},
		{"env A=b bun x pkg", "bun", "A=b bun x pkg", true},

		{"npm run x", "", "run x", true},
		{"bun run x", "", "", false},
		{"bun run x pkg", "", "", false},
		{"bun x.ts", "", "", false},
		{"bun --cwd . x pkg", "", "", false},
		{"pnpm exec pkg", "", "exec pkg", true},
		{"pnpm run dlx pkg", "", "run dlx pkg", true},
		{"yarn exec pkg", "", "exec pkg", true},
		{"uv run pkg", "", "run pkg", true},
	} {
		words := strings.Fields(c.line)
		prog := Program{Command: words[0], Args: words[1:]}
		if p, ok := prog.Package(); ok != (c.manager != "") || ok && (p.Manager != c.manager || p.Specs[0] != "pkg") {
			t.Errorf("%s: fetched %t, %s %v", c.line, ok, p.Manager, p.Specs)
		}
		how, err := prog.Precautions(prog.Args, "/P", "/S")
		if (err != nil) != (c.args == "") {
			t.Errorf("%s: %v", c.line, err)
		} else if err == nil && (strings.Join(how.Args, " ") != c.args || how.Neutral != c.neutral) {
			t.Errorf("%s: %v, neutral %t", c.line, how.Args, how.Neutral)
		}
		prog.Cwd = "${root}" // then the folder may be another user's
		if _, err := prog.Precautions(prog.Args, "/P", "/S"); c.neutral && c.manager != "npm" && err == nil {
			t.Errorf("%s: it would obey files of a root", c.line)
		}
	}
}

// What is named relative to the working directory, or implied by it, is refused,
// started elsewhere, or said to be in doubt; what is not is left alone.
func TestReach(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"node /opt/s.js ./data", "safe"},
		{"node -r ./x.js /opt/s.js", "file ./x.js"},
		{"node -r dotenv/config /opt/s.js", "file dotenv/config"}, // from node_modules of the working directory
		{"node --require=./x.js /opt/s.js", "file ./x.js"},
		{"node --import tsx /opt/s.ts", "file tsx"},
		{"node --import file:///opt/x.mjs /opt/s.js", "safe"},
		{"node --import file:x.mjs /opt/s.js", "file file:x.mjs"},
		{"node --loader ./l.mjs /opt/s.js", "file ./l.mjs"},
		{"node --env-file=.env /opt/s.js", "file .env"},
		{"node --env-file /etc/s.env -r node:fs /opt/s.js", "safe"},
		{"node --run start", "file start"},
		{"node -e require('./x')", "opaque"},
		{"env node ./x.js", "file ./x.js"},
		{"env -u A A=b node x.js", "file x.js"},
		{"env -C sub node /opt/s.js", "file sub"},
		{"env PATH=.:/bin kid", "file PATH=.:/bin"},
		{"env NODE_OPTIONS=--require=./x.js node /opt/s.js", "file NODE_OPTIONS=--require=./x.js"},
		{"env ./x", "file ./x"},
		{"env A=b kid ./data", "safe"},
		{"nice -n 5 timeout 10 node x.js", "file x.js"},
		{"env env env env env env env env env env env env node x.js", "opaque"},
		{"sh x.sh", "file x.sh"},
		{"sh -c node~x.js", "file x.js"},
		{"bash -lc exec~./x.sh", "file ./x.sh"},
		{"bash -lc npx~-y~pkg", "implied"},
		{"npx --prefix . pkg", "file ."},
		{"bash -c make", "tied"},
		{"sh -c cd~/opt~&&~node~x.js", "opaque"},
		{"sh -c source~x.sh", "opaque"},
		{"sh -c kid", "safe"},
		{"make serve", "tied"},
		{"make -f /opt/Makefile serve", "safe"},
		{"make -f Makefile serve", "file Makefile"},
		{"make -C /opt/s serve", "safe"},
		{"make --directory=sub serve", "file sub"},
		{"make tool", "tied"},
		{"git mcp", "tied"},
		{"git -C /opt/s mcp", "safe"},
		{"docker run -i image", "safe"},
		{"docker compose run s", "tied"},
		{"docker compose -f /opt/c.yaml run s", "safe"},
		{"java -jar s.jar", "file s.jar"},
		{"java -cp /a.jar:b.jar Main", "file -cp /a.jar:b.jar"},
		{"java -cp /a.jar Main", "safe"},
		{"java Main", "tied"},
		{"ruby -I lib /opt/s.rb", "file lib"},
		{"ruby -Ilib /opt/s.rb", "file lib"},
		{"perl -I/opt/lib /opt/s.pl", "safe"},
		{"uvx mcp-server-git", "safe"},
		{"uvx --from . server", "file ."},
		{"uvx ./server", "file ./server"},
		{"uvx --from git+https://h/x server", "safe"},
		{"uv tool run x", "safe"},
		{"uv run x", "implied"},
		{"uv --directory sub run x", "file sub"},
		{"uv --directory /opt/s run x", "safe"},
		{"pnpm dlx pkg", "implied"},
		{"go run host/x@latest", "implied"},
		{"python3 -m pkg", "safe"}, // PYTHONSAFEPATH
		{"Rscript -e mcptools::mcp_server()", "implied"},
		{"Rscript --vanilla /opt/s.R", "safe"},
		{"Rscript s.R", "file s.R"},
		{"bundle exec server", "tied"},
		{"dart run server", "tied"},
		{"dart mcp-server", "safe"},
		{"clojure -X:mcp", "implied"},
		{"kid ./x", "safe"},
		// Commands that are not known, and start one that is.
		{"xvfb-run -a npx -y pkg", "implied"},
		{"op run -- npx -y pkg", "implied"},
		{"/opt/kid x y -- env A=b bunx pkg", "implied"},
		{"kid --stdio npx~-y~pkg", "implied"},
		{"kid --stdio=1 uv run server", "implied"},
		{"op run -- node server.js", "file server.js"},
		{"op run -- node /opt/s.js", "safe"},
		{"op run -- git mcp", "tied"},
		{"op run -- xvfb-run npx pkg", "implied"},
		{"kid --manager npm", "safe"},
		{"kid --topics git log", "safe"},
		{"kid --text git~log~is~made", "safe"},
		{"kid --lang python x.py", "safe"},
		{"kid -- ./data", "safe"},
		{"ssh host npx -y pkg", "safe"},
	} {
		args := strings.Fields(c.line)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		r, got := commandline.ReachOf(args[0], args[1:]), "safe"
		switch {
		case r.File != "":
			got = "file " + r.File
		case r.Tied:
			got = "tied"
		case r.Implied != "":
			got = "implied"
		case r.Opaque != "":
			got = "opaque"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
		prog := Program{Command: args[0], Args: args[1:]}
		doubt := prog.ProjectWarning()
		if strings.HasPrefix(c.want, "file") || c.want == "tied" || c.want == "opaque" {
			if !strings.Contains(doubt, `"local": true`) {
				t.Errorf("%s: validate says %q", c.line, doubt)
			}
		} else if doubt != "" {
			t.Errorf("%s: validate doubts %q", c.line, doubt)
		}
		prog.Local = true
		if d := prog.ProjectWarning(); d != "" {
			t.Errorf("%s, local: validate says %q", c.line, d)
		}
		prog.Local, prog.Cwd = false, "/srv"
		if d := prog.ProjectWarning(); d != "" {
			t.Errorf("%s, in a directory of the operator: validate says %q", c.line, d)
		}
	}
}

func TestTame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, command, args, cwd string
		local                    bool
		wantArgs                 string
		neutral, enter, safe     bool
		err                      string
	}{
		{name: "npx", command: "npx", args: "-y pkg", wantArgs: "--prefix /P --script-shell /S -y pkg", neutral: true, enter: true, safe: true},
		{name: "npx with cwd", command: "/usr/bin/npx", args: "pkg", cwd: "/srv", wantArgs: "--prefix /P --script-shell /S pkg", neutral: true, enter: true, safe: true},
		{name: "npx local", command: "npx", args: "-y pkg", local: true, wantArgs: "-y pkg"},
		{name: "npm exec", command: "npm", args: "exec pkg", wantArgs: "exec --prefix /P --script-shell /S pkg", neutral: true, enter: true, safe: true},
		{name: "cmd /c npx", command: "cmd", args: "/c npx -y pkg", wantArgs: "/c npx --prefix /P --script-shell /S -y pkg", neutral: true, enter: true, safe: true},
		{name: "env npx", command: "env", args: "A=b npx -y pkg", wantArgs: "A=b npx --prefix /P --script-shell /S -y pkg", neutral: true, enter: true, safe: true},
		{name: "timeout env npx", command: "timeout", args: "-k 5 9 env npx -y pkg", wantArgs: "-k 5 9 env npx --prefix /P --script-shell /S -y pkg", neutral: true, enter: true, safe: true},
		{name: "npx in a shell", command: "bash", args: "-c npx", wantArgs: "-c npx", neutral: true, safe: true},
		{name: "npx in a shell in the root", command: "bash", args: "-c npx", cwd: "${root}", err: "local"},
		{name: "npx behind what is not known", command: "kid", args: "run -- npx -y pkg", wantArgs: "run -- npx -y pkg", neutral: true, safe: true},
		{name: "npx behind what is not known, in the root", command: "kid", args: "run -- npx -y pkg", cwd: "${root}", err: "local"},
		{name: "npx behind what is not known, local", command: "kid", args: "run -- npx -y pkg", local: true, wantArgs: "run -- npx -y pkg"},
		{name: "npm run", command: "npm", args: "run x", wantArgs: "run x", neutral: true, safe: true},
		{name: "uvx", command: "uvx", args: "mcp-server-git", wantArgs: "mcp-server-git", safe: true},
		{name: "uv tool run", command: "uv", args: "tool run x", wantArgs: "tool run x", safe: true},
		{name: "uv run", command: "uv", args: "run x", wantArgs: "run x", neutral: true, safe: true},
		{name: "uv --directory", command: "uv", args: "--directory /opt/s run x", wantArgs: "--directory /opt/s run x", safe: true},
		{name: "bunx", command: "bunx", args: "pkg", wantArgs: "pkg", neutral: true, safe: true},
		{name: "bunx in a directory of the operator", command: "bunx", args: "pkg", cwd: "/srv", wantArgs: "pkg", safe: true},
		{name: "bunx in the root", command: "bunx", args: "pkg", cwd: "${root}", err: "local"},
		{name: "pnpm dlx", command: "pnpm", args: "dlx pkg", wantArgs: "dlx pkg", neutral: true, safe: true},
		{name: "yarn dlx", command: "yarn", args: "dlx pkg", wantArgs: "dlx pkg", neutral: true, safe: true},
		{name: "pipx run", command: "pipx", args: "run pkg", wantArgs: "run pkg", neutral: true, safe: true},
		{name: "python -m", command: "python3.12", args: "-m pkg", wantArgs: "-m pkg", safe: true},
		{name: "python script", command: "python3", args: "/opt/s.py", wantArgs: "/opt/s.py"},
		{name: "python relative script", command: "python3", args: "s.py", err: `"s.py"`},
		{name: "node relative script", command: "node", args: "--no-warnings build/index.js", err: `"build/index.js"`},
		{name: "node relative script, cwd of the operator", command: "node", args: "build/index.js", cwd: "/srv", wantArgs: "build/index.js", safe: true},
		{name: "node relative script, cwd a root", command: "node", args: "build/index.js", cwd: "${root}", err: "local"},
		{name: "node script", command: "node", args: "-r /x.js /opt/s.js x", wantArgs: "-r /x.js /opt/s.js x", safe: true},
		{name: "node -e", command: "node", args: "-e 1", wantArgs: "-e 1", safe: true},
		{name: "deno of a registry", command: "deno", args: "run -A npm:x", wantArgs: "run -A npm:x", neutral: true, safe: true},
		{name: "shell script", command: "bash", args: "start.sh", err: `"start.sh"`},
		{name: "shell text", command: "bash", args: "-c x", wantArgs: "-c x", safe: true},
		{name: "no launcher", command: "mcp-server-git", args: "x", wantArgs: "x", safe: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Program{Command: c.command, Cwd: c.cwd, Local: c.local}.Precautions(strings.Fields(c.args), "/P", "/S")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if a := strings.Join(got.Args, " "); a != c.wantArgs || got.Neutral != c.neutral || got.Enter != c.enter || got.SafePath != c.safe {
				t.Errorf("got %q neutral=%t enter=%t safe=%t", a, got.Neutral, got.Enter, got.SafePath)
			}
		})
	}
}
