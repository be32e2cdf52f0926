package confinement_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// writable returns a machine whose children may write in these folders below home.
func writable(h launch.Machine, home string, dirs ...string) launch.Machine {
	var b sandbox.Boundary
	for _, dir := range dirs {
		b.Areas = append(b.Areas, sandbox.Rule{Path: filepath.Join(home, dir), Access: sandbox.Read | sandbox.Write | sandbox.Execute})
	}
	return h.WithBoundary(b)
}

func putFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAProfileIsNotClaimed: a profile follows what an entry of hub.json names, if no
// child may write it. What merely bears the name gets nothing.
func TestAProfileIsNotClaimed(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	for _, p := range []string{
		"tools/node_modules/@playwright/mcp/cli.js", "work/rooted/node_modules/@playwright/mcp/cli.js", "work/rooted/gopls", "work/rooted/node_modules/.bin/npx",
		"tools/playwright-mcp/cli.js", "tools/node_modules/playwright/cli.js", "tools/node_modules/@evil/mcp/node_modules/x/cli.js", "tools/node_modules/tsx/dist/cli.mjs", "work/rooted/node_modules/tsx/dist/cli.mjs", ".local/bin/tsx", "work/server/index.ts", ".local/bin/gopls", ".local/bin/npx", ".local/bin/npm", ".local/bin/bunx", ".local/bin/uv", ".local/bin/python3", ".local/bin/node", ".local/bin/timeout", ".local/bin/op", ".local/bin/bash", "srv/x",
	} {
		putFile(t, at(p), "")
	}
	link := func(name, to string) string {
		t.Helper()
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	global := link(".local/bin/playwright-mcp", at("tools/node_modules/@playwright/mcp/cli.js"))
	planted := link(".local/bin/planted", at("work/rooted/node_modules/@playwright/mcp/cli.js"))
	cli := at("tools/node_modules/@playwright/mcp/cli.js")
	in := func(p program.Program, change func(*program.Program)) program.Program { change(&p); return p }
	for _, f := range []string{"work/rooted/python3", "work/rooted/npx", "work/rooted/rc", "work/rooted/rc.js", "work/rooted/x.js"} {
		putFile(t, at(f), "")
	}
	srv := func(p *program.Program) { p.Cwd = at("srv") }
	path := func(p *program.Program) {
		p.Cwd, p.Env = at("srv"), map[string]string{"PATH": at("work/rooted") + ":" + at(".local/bin")}
	}
	for _, tc := range []struct {
		name string
		prog program.Program
		root string // below home, "": work/rooted
		want string
	}{
		{"its file", confinedProgram("node", cli), "", "playwright"},
		{"its file, behind env", confinedProgram("env", "A=b", "node", cli), "", "playwright"},
		{"its command", confinedProgram(global), "", "playwright"},
		{"its command, on PATH", confinedProgram("playwright-mcp", "--headless"), "", "playwright"},
		{"npx", confinedProgram("npx", "-y", "@playwright/mcp@latest", "--headless"), "", "playwright"},
		{"npx, another program of the package", confinedProgram("npx", "-y", "--package=@playwright/mcp@0.0.83", "playwright-mcp"), "", "playwright"},
		{"npx, which starts elsewhere", in(confinedProgram("npx", "@playwright/mcp"), func(p *program.Program) { p.Cwd = at("work/rooted") }), "", "playwright"},
		{"bunx", confinedProgram("bunx", "@playwright/mcp"), "", "playwright"},
		{"npm exec", confinedProgram("npm", "exec", "@playwright/mcp"), "", "playwright"},
		{"npx behind timeout", confinedProgram("timeout", "60", "npx", "-y", "@playwright/mcp"), "", "playwright"},
		{"npx in a shell", confinedProgram("bash", "-c", "npx -y @playwright/mcp"), "", "playwright"},
		{"uv run", confinedProgram("uv", "run", "mcp-server-git"), "", "git"},
		{"uv run, with a root to work on", confinedProgram("uv", "run", "mcp-server-git", "--repository", at("work/rooted")), "", "git"},
		{"uv run in a folder of the operator", confinedProgram("uv", "run", "--directory", at("srv"), "mcp-server-git"), "", "git"},
		{"a module", in(confinedProgram("python3", "-m", "mcp_server_git"), func(p *program.Program) { p.Cwd = at("srv") }), "", "git"},
		{"a program", confinedProgram("gopls", "mcp"), "", "gopls"},
		{"a program by its path from where it works", in(confinedProgram("./gopls", "mcp"), func(p *program.Program) { p.Cwd = at(".local/bin") }), "", "gopls"},
		{"a program behind env", confinedProgram("env", "A=b", "gopls", "mcp"), "", "gopls"},
		{"a root that holds the home folder", confinedProgram("node", cli), ".", "playwright"},
		{"tsx of a project", confinedProgram(at("tools/node_modules/tsx/dist/cli.mjs"), at("work/server/index.ts")), "", "tsx"},
		{"tsx on PATH", confinedProgram("tsx", at("work/server/index.ts")), "", "tsx"},
		{"tsx by npx", confinedProgram("npx", "-y", "tsx", at("work/server/index.ts")), "", "tsx"},
		{"npx in a shell, with a file of its own in a root", confinedProgram("bash", "-c", "npx -y @playwright/mcp --config "+at("work/rooted/rc")), "", "playwright"},
		{"npx behind timeout, with a file of its own in a root", confinedProgram("timeout", "5", "npx", "-y", "@playwright/mcp", "--config", at("work/rooted/rc")), "", "playwright"},
		{"tsx of a script in a root, behind timeout", confinedProgram("timeout", "5", "tsx", at("work/rooted/x.js")), "", "tsx"},
		{"npx of the package, and its program by name", confinedProgram("npx", "-y", "--package=tsx", "tsx", at("work/server/index.ts")), "", "tsx"},
		{"tsx in a root", confinedProgram(at("work/rooted/node_modules/tsx/dist/cli.mjs"), at("work/server/index.ts")), "", ""},

		{"a file in a root", confinedProgram("node", at("work/rooted/node_modules/@playwright/mcp/cli.js")), "", ""},
		{"a link into a root", confinedProgram(planted), "", ""},
		{"a program in a root", confinedProgram(at("work/rooted/gopls"), "mcp"), "", ""},
		{"an interpreter in a root", confinedProgram(at("work/rooted/node_modules/.bin/npx"), "@playwright/mcp"), "", ""},
		{"where it was opened for writing", in(confinedProgram("node", cli), func(p *program.Program) { p.Sandbox.Write = []string{at("tools")} }), "", ""},
		{"npx of the project", in(confinedProgram("npx", "@playwright/mcp"), func(p *program.Program) { p.Local = true }), "", ""},
		{"bunx in a project", in(confinedProgram("bunx", "@playwright/mcp"), func(p *program.Program) { p.Cwd = at("work/rooted") }), "", ""},
		{"another package of that name", confinedProgram("npx", "-y", "playwright-mcp"), "", ""},
		{"another package with its name as an argument", confinedProgram("npx", "-y", "evil", "@playwright/mcp"), "", ""},
		{"another package, and a program of its name", confinedProgram("npx", "-y", "--package=evil", "@playwright/mcp"), "", ""},
		{"its file, and a module of a root before it", confinedProgram("node", "-r", at("work/rooted/x.js"), cli), "", ""},
		{"npx, and a module of a root by a variable", in(confinedProgram("npx", "@playwright/mcp"), func(p *program.Program) {
			p.Env = map[string]string{"NODE_OPTIONS": "--require " + at("work/rooted/x.js")}
		}), "", ""},
		{"a program, and a library of a root before it", in(confinedProgram("gopls", "mcp"), func(p *program.Program) {
			p.Env = map[string]string{"LD_PRELOAD": at("work/rooted/x.js")}
		}), "", ""},
		{"npx behind env, which names a root in PATH", in(confinedProgram("env", "PATH="+at("work/rooted"), "npx", "@playwright/mcp"), srv), "", ""},
		{"npx behind timeout, and a root later in PATH", in(confinedProgram("timeout", "5", "npx", "@playwright/mcp"), func(p *program.Program) {
			p.Cwd, p.Env = at("srv"), map[string]string{"PATH": at(".local/bin") + ":" + at("work/rooted")}
		}), "", "playwright"},
		{"tsx of a script and a file of a root", confinedProgram("tsx", "--tsconfig", at("work/rooted/rc"), at("work/rooted/x.js")), "", "tsx"},
		{"a folder of that name", confinedProgram("node", at("tools/playwright-mcp/cli.js")), "", ""},
		{"a package beside it", confinedProgram("node", at("tools/node_modules/playwright/cli.js")), "", ""},
		{"its file as an argument", confinedProgram("node", at("work/server/dist/index.js"), cli), "", ""},
		{"a module before another script", confinedProgram("node", "-r", cli, at("work/server/dist/index.js")), "", ""},
		{"uv run in a root", confinedProgram("uv", "run", "--directory", at("work/rooted"), "mcp-server-git"), "", ""},
		{"uv run of the project", in(confinedProgram("uv", "run", "mcp-server-git"), func(p *program.Program) { p.Local = true }), "", ""},
		{"a module, where a root may have it", confinedProgram("python3", "-m", "mcp_server_git"), "", ""},
		{"a module, which a root may have", in(confinedProgram("python3", "-m", "mcp_server_git"), func(p *program.Program) {
			p.Cwd, p.Env = at("srv"), map[string]string{"PYTHONPATH": at("work/rooted")}
		}), "", ""},
		{"a script that is called like a program", in(confinedProgram("node", "gopls"), func(p *program.Program) { p.Cwd = at("srv") }), "", ""},
		{"behind what is not known", confinedProgram("op", "run", "--", "npx", "-y", "@playwright/mcp"), "", ""},
		{"a flag that is not known", confinedProgram("npx", "--offline", "@playwright/mcp"), "", ""},
		{"an interpreter in a root, behind timeout", in(confinedProgram("timeout", "5", at("work/rooted/python3"), "-m", "mcp_server_git"), srv), "", ""},
		{"an interpreter in a root, by PATH of env", in(confinedProgram("env", "PATH="+at("work/rooted"), "python3", "-m", "mcp_server_git"), srv), "", ""},
		{"a module, and a root in PATH", in(confinedProgram("timeout", "5", "python3", "-m", "mcp_server_git"), path), "", ""},
		{"npx behind timeout, and a root in PATH, which is taken out", in(confinedProgram("timeout", "5", "npx", "@playwright/mcp"), path), "", "playwright"},
		{"npx in a shell, and a root in PATH, which is taken out", in(confinedProgram("bash", "-c", "npx @playwright/mcp"), path), "", "playwright"},
		{"a program in a shell, and a root in PATH, which is taken out", in(confinedProgram("bash", "-c", "gopls mcp"), path), "", "gopls"},
		{"a module, where env enters a root", in(confinedProgram("env", "-C", at("work/rooted"), "python3", "-m", "mcp_server_git"), srv), "", ""},
		{"a module, which a root may have, by env", in(confinedProgram("env", "PYTHONPATH="+at("work/rooted"), "python3", "-m", "mcp_server_git"), srv), "", ""},
		{"a module, where env enters a root in a shell", in(confinedProgram("bash", "-c", "env -C "+at("work/rooted")+" python3 -m mcp_server_git"), srv), "", ""},
		{"an interpreter in a root, behind timeout in a shell", in(confinedProgram("bash", "-c", "timeout 5 "+at("work/rooted/python3")+" -m mcp_server_git"), srv), "", ""},
		{"an interpreter in a root, in a shell", in(confinedProgram("bash", "-c", at("work/rooted/python3")+" -m mcp_server_git"), srv), "", ""},
		{"uv run in a root, in a shell", in(confinedProgram("bash", "-c", "uv run --directory "+at("work/rooted")+" mcp-server-git"), srv), "", ""},
		{"npx, where env enters a root in a shell", in(confinedProgram("bash", "-c", "env -C "+at("work/rooted")+" npx @playwright/mcp"), srv), "", ""},
		{"npx in a root, in a shell", in(confinedProgram("bash", "-c", at("work/rooted/node_modules/.bin/npx")+" @playwright/mcp"), srv), "", ""},
		{"npx with a folder in a root, in a shell", in(confinedProgram("bash", "-c", "npx --prefix "+at("work/rooted")+" @playwright/mcp"), srv), "", ""},
		{"npx in a root, behind timeout", in(confinedProgram("timeout", "5", at("work/rooted/node_modules/.bin/npx"), "@playwright/mcp"), srv), "", ""},
		{"uv run in a root, by a variable", in(confinedProgram("uv", "run", "mcp-server-git"), func(p *program.Program) { p.Env = map[string]string{"UV_PROJECT": at("work/rooted")} }), "", ""},
		{"uv run with an environment in a root", in(confinedProgram("uv", "run", "mcp-server-git"), func(p *program.Program) { p.Env = map[string]string{"UV_PROJECT_ENVIRONMENT": at("work/rooted")} }), "", ""},
		{"uv run where a root may have it", in(confinedProgram("uv", "run", "mcp-server-git"), func(p *program.Program) { p.Cwd = at("work/rooted") }), "", ""},
		{"a shell that obeys a file of a root", in(confinedProgram("bash", "--rcfile", at("work/rooted/rc"), "-ic", "gopls mcp"), srv), "", ""},
		{"a shell that obeys a file of a root, by a variable", in(confinedProgram("bash", "-c", "gopls mcp"), func(p *program.Program) { p.Env = map[string]string{"BASH_ENV": at("work/rooted/rc")} }), "", ""},
		{"uv run of an interpreter in a root", in(confinedProgram("uv", "run", at("work/rooted/python3"), "-m", "mcp_server_git"), srv), "", ""},
		{"uv run by an interpreter in a root", in(confinedProgram("uv", "run", "--python", at("work/rooted/python3"), "mcp-server-git"), srv), "", ""},
		{"uvx with a package in a root", in(confinedProgram("uvx", "--with", at("work/rooted"), "mcp-server-git"), srv), "", ""},
		{"uvx by an interpreter in a root", in(confinedProgram("uvx", "--python", at("work/rooted/python3"), "mcp-server-git"), srv), "", ""},
		{"uvx of a package in a root that bears the name", in(confinedProgram("uvx", "--from", "mcp-server-git@"+at("work/rooted"), "mcp-server-git"), srv), "", ""},
		{"npx of a package in a root that bears the name", in(confinedProgram("npx", "-y", "@playwright/mcp@file:"+at("work/rooted")), srv), "", ""},
		{"npx of another package under the name", in(confinedProgram("npx", "-y", "@playwright/mcp@npm:evil"), srv), "", ""},
		{"npx of a package of the name from elsewhere", in(confinedProgram("npx", "-y", "@playwright/mcp@https://evil.example/x.tgz"), srv), "", ""},
		{"uvx of a package of the name from elsewhere", in(confinedProgram("uvx", "--from", "mcp-server-git@https://evil.example/x.tgz", "mcp-server-git"), srv), "", ""},
		{"npx, and a text", in(confinedProgram("npx", "-y", "--package=@playwright/mcp", "-c", "evil"), srv), "", ""},
		{"npx of the package, and a script", in(confinedProgram("npx", "-y", "--package=@playwright/mcp", "node", at("work/rooted/x.js")), srv), "", ""},
		{"npx of the package, and a script, in a shell", in(confinedProgram("bash", "-c", "npx -y --package=@playwright/mcp node "+at("work/rooted/x.js")), srv), "", ""},
		{"in a container", confinedProgram("docker", "run", "gopls"), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := tc.root
			if root == "" {
				root = "work/rooted"
			}
			m := writable(h, home, root)
			m = m.WithShelter(tc.prog, zerolog.Nop())
			l, err := launch.Plan(tc.prog, rootsAt(at(root)), m)
			if err != nil {
				if tc.want != "" {
					t.Fatal(err)
				}
				return
			}
			if tc.want == "" && (len(l.Sandbox.Report.Gives) > 0 || l.Sandbox.Profile != nil && l.Sandbox.Profile.Sockets || l.Sandbox.KeepRunning) {
				t.Errorf("it is given %q", l.Sandbox.Report.Gives)
			}
			if tc.want != "" && !slices.Contains(l.Sandbox.Report.Gives, "profile "+tc.want) {
				t.Errorf("it is given %q, want the profile %s", l.Sandbox.Report.Gives, tc.want)
			}
		})
	}
}

// TestAnEntrySaysMore: what an entry says about sockets and of widening holds, whatever
// is known of its server.
func TestAnEntrySaysMore(t *testing.T) {
	h, home := confinedMachine(t)
	cli := putFile(t, filepath.Join(home, "tools/node_modules/@playwright/mcp/cli.js"), "")
	for name, tc := range map[string]struct{ set, want sandbox.Choice }{"unsaid": {sandbox.Unsaid, sandbox.Yes}, "no": {sandbox.No, sandbox.No}, "yes": {sandbox.Yes, sandbox.Yes}} {
		prog := confinedProgram("node", cli)
		prog.Sandbox.Sockets, prog.Sandbox.KeepRunning = tc.set, tc.set
		l, err := launch.Plan(prog, nil, h)
		if err != nil {
			t.Fatal(err)
		}
		if want := tc.want == sandbox.Yes; l.Sandbox.Profile.Sockets != want || l.Sandbox.KeepRunning != want {
			t.Errorf("%s: sockets %t, stays %t", name, l.Sandbox.Profile.Sockets, l.Sandbox.KeepRunning)
		}
		for _, word := range []string{"unix sockets", "not started again for a wider boundary"} {
			if given := slices.Contains(l.Sandbox.Report.Gives, word); given != (tc.set == sandbox.Unsaid) {
				t.Errorf("%s: the profile gives %q: %t", name, word, given)
			}
		}
	}
}

// TestFoldersOfFlags: a browser is told by its arguments where to keep what it keeps.
func TestFoldersOfFlags(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	cli := putFile(t, at("tools/node_modules/@playwright/mcp/cli.js"), "")
	l, err := launch.Plan(confinedProgram("node", cli, "--user-data-dir", at("browser"), "--output-dir="+at("shots"), "--output-dir", home, "--config", at("settings")), nil, h)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{at("browser"): true, at("shots"): true, home: false, at("settings"): false} {
		if open := l.Sandbox.Profile.AccessAt(path)&sandbox.Write != 0; open != want {
			t.Errorf("%s is open: %t", path, open)
		}
	}
	if said := l.Sandbox.Report.Named; !slices.ContainsFunc(said, func(n sandbox.Named) bool { return n.Path == home && n.Access == 0 && n.Why != "" }) {
		t.Errorf("it says %v", said)
	}
	if err := l.Sandbox.Make(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at("browser")); err != nil {
		t.Error(err)
	}
}

// TestAProfileOpensNoMore: a folder that is too wide, or that the policy withholds, is
// not opened for a profile either.
func TestAProfileOpensNoMore(t *testing.T) {
	h, home := confinedMachine(t)
	h.Host = h.WithKernel(silentKernel())
	at := func(p string) string { return filepath.Join(home, p) }
	memory := func(file string) program.Program {
		p := confinedProgram("npx", "-y", "@modelcontextprotocol/server-memory")
		p.Env = map[string]string{"MEMORY_FILE_PATH": file}
		return p
	}
	for _, tc := range []struct {
		name, file string
		withheld   []string
		opens      string // below home
		lacks      string
	}{
		{"a folder of its own", at("notes/memory.jsonl"), nil, "notes", ""},
		{"below a hidden one", at(".config/memory/graph.jsonl"), nil, ".config/memory", ""},
		{"the home folder", at("memory.jsonl"), nil, "", "its folder " + home + " is not opened"},
		{"above the home folder", filepath.Dir(home) + "/memory.jsonl", nil, "", "is not opened"},
		{"a folder of many programs", at(".config/memory.jsonl"), nil, "", "is not made"},
		{"keys", at(".ssh/memory.jsonl"), nil, "", "keys and credentials"},
		{"below keys", at(".aws/x/memory.jsonl"), nil, "", "keys and credentials"},
		{"beside its program", "memory.jsonl", nil, "", "write an absolute path"},
		{"what is withheld", at("notes/memory.jsonl"), []string{"notes"}, "", "the policy withholds it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b sandbox.Boundary
			for _, w := range tc.withheld {
				b.Withheld = append(b.Withheld, at(w))
			}
			l, err := launch.Plan(memory(tc.file), nil, h.WithBoundary(b).WithShelter(memory(tc.file), zerolog.Nop()))
			if err != nil {
				t.Fatal(err)
			}
			p := l.Sandbox.Profile
			if tc.opens != "" && p.AccessAt(at(tc.opens))&sandbox.Write == 0 {
				t.Errorf("%s is closed: %v", tc.opens, p.Rules)
			}
			for _, r := range p.Rules {
				if r.Access&sandbox.Write != 0 && sandbox.Contains(filepath.Dir(filepath.Dir(home)), r.Path) && r.Path != at(tc.opens) {
					t.Errorf("%s is open: %s", r.Path, r.Access)
				}
			}
			said := strings.Join(l.Sandbox.Report.Lacks, "; ")
			for _, n := range l.Sandbox.Report.Named {
				said += n.Why
			}
			if !strings.Contains(said, tc.lacks) || tc.lacks == "" && said != "" {
				t.Errorf("it says %q, want %q", said, tc.lacks)
			}
		})
	}
}

// TestMemoryStays: what the memory server has kept so far is there when it is confined,
// once, and where it was it is not touched.
func TestMemoryStays(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	server := putFile(t, at("tools/node_modules/@modelcontextprotocol/server-memory/dist/index.js"), "")
	kept := at(".local/state/mcphub/servers/memory/memory.jsonl")
	start := func() {
		t.Helper()
		l, err := launch.Plan(confinedProgram("node", server), nil, h)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := envOf(l, "MEMORY_FILE_PATH"); v != kept {
			t.Fatalf("MEMORY_FILE_PATH is %q", v)
		}
		if a := l.Sandbox.Profile.AccessAt(kept); a&sandbox.Write == 0 || l.Sandbox.Profile.AccessAt(server)&sandbox.Write != 0 {
			t.Fatalf("its memory is open to %s, and its program to %s", a, l.Sandbox.Profile.AccessAt(server))
		}
		if err := l.Sandbox.Make(); err != nil {
			t.Fatal(err)
		}
	}
	reads := func(path, want string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v; want %q", path, text, err, want)
		}
	}
	start()
	if _, err := os.Stat(filepath.Dir(kept)); err != nil {
		t.Error(err)
	}
	beside := putFile(t, filepath.Join(filepath.Dir(server), "memory.jsonl"), "what it knew")
	start()
	reads(kept, "what it knew")
	putFile(t, kept, "what it learned")
	start()
	reads(kept, "what it learned")
	reads(beside, "what it knew")
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	putFile(t, at(".npm/_npx/1234/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl"), "what npx knew")
	start()
	reads(kept, "what npx knew")
}
