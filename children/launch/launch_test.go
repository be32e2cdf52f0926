package launch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
)

// fakeHost is a machine with the given directories and programs in /bin.
func fakeHost(dirs []string, programs ...string) Machine {
	return Machine{
		environ: []string{"PATH=/bin:.:rel", "HOME=/home/u"}, home: "/home/u", dir: "/work", goos: "linux", scratch: "/cache/launch", shell: "/cache/npm-shell",
		real:   func(p string) string { return p },
		isDir:  func(p string) bool { return slices.Contains(dirs, p) },
		isProg: func(p string) bool { return slices.Contains(programs, p) },
	}
}

func envOf(l Launch, name string) (string, bool) {
	for _, kv := range l.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func TestInherited(t *testing.T) {
	environ := []string{
		"HOME=/h", "PATH=/bin", "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "LANG=C", "LC_ALL=C", "TERM=x", "TZ=UTC", "TMPDIR=/tmp",
		"XDG_RUNTIME_DIR=/run", "HTTP_PROXY=a", "https_proxy=b", "No_Proxy=c", "SSL_CERT_FILE=d", "NODE_EXTRA_CA_CERTS=e", "DISPLAY=:0",
		"WAYLAND_DISPLAY=w", "SSH_AUTH_SOCK=s", "DOCKER_HOST=t",
		"AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "LD_PRELOAD=x", "NODE_OPTIONS=x", "PYTHONPATH=x", "MCPHUB_ROOTS=x", "Path=x", "home=x",
		"GIT_SSH_COMMAND=ssh", "systemroot=C", "=C:=x", "broken",
	}
	e := inherited(environ, []string{"GIT_SSH_COMMAND"}, "linux")
	want := append(slices.Clone(environ[:20]), "GIT_SSH_COMMAND=ssh")
	slices.Sort(want)
	if got := e.list(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	w := inherited([]string{"Path=C:\\x", "SystemRoot=C:\\w", "windir=C:\\w", "ComSpec=c", "Secret=x", "ProgramFiles(x86)=p"}, []string{"SECRET"}, "windows")
	if got := strings.Join(w.list(), " "); got != `ComSpec=c Path=C:\x ProgramFiles(x86)=p Secret=x SystemRoot=C:\w windir=C:\w` {
		t.Errorf("windows: %s", got)
	}
	if v, _ := w.get("PATH"); v != `C:\x` {
		t.Errorf("PATH on Windows: %q", v)
	}
	w.set("PATH", "y")
	if n := len(w.list()); n != 6 {
		t.Errorf("one variable, two spellings: %q", w.list())
	}
}

func TestRootsVariables(t *testing.T) {
	e := newEnvironment("linux")
	if file := e.setRoots(rootsAt("/a|One", "/b/two")); file != nil {
		t.Errorf("a file for little text: %s", file)
	}
	want := []string{
		`MCP_ROOTS_COUNT=2`,
		`MCP_ROOTS_JSON=[{"uri":"file:///a","name":"One","path":"/a"},{"uri":"file:///b/two","name":"two","path":"/b/two"}]`,
		"MCP_ROOTS_PATHS=/a\n/b/two",
	}
	if got := e.list(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	var many []guard.Root
	for i := range 1500 {
		many = append(many, rootsAt(fmt.Sprintf("/a/rather/long/path/%d", i))...)
	}
	file := e.setRoots(many)
	if got := e.list(); len(got) != 1 || got[0] != "MCP_ROOTS_COUNT=1500" || len(file) < 64<<10 {
		t.Errorf("over 64 KiB: %.100q, file of %d", got, len(file))
	}
	e.setRoots(nil)
	if v, ok := e.get("MCP_ROOTS_JSON"); !ok || v != "[]" {
		t.Errorf("no roots: %q", v)
	}
}

func TestPlan(t *testing.T) {
	h := fakeHost([]string{"/work", "/home/u", "/b", "/srv"}, "/bin/kid", "/bin/npx", "/bin/python3", "/bin/bunx", "/srv/kid", "/work/kid")
	ab := rootsAt("/a", "/b")
	t.Run("working directory", func(t *testing.T) {
		for _, c := range []struct {
			name, cwd, hubDir string
			roots             []guard.Root
			dir, root, err    string
		}{
			{"first that exists", "", "/work", ab, "/b", "/b", ""},
			{"no root", "", "/work", nil, "/work", "", ""},
			{"no root, hub at the top", "", "/", nil, "/home/u", "", ""},
			{"set", "/srv", "/work", ab, "/srv", "", ""},
			{"set and missing", "/nowhere", "/work", ab, "", "", "not a directory"},
			{"relative", "srv", "/work", ab, "", "", "not an absolute path"},
			{"of a root", "${root:b}", "/work", ab, "/b", "/b", ""},
			{"of a root that is none", "${root:c}", "/work", ab, "", "", "names no root"},
			{"of the first, which is gone", "${root}", "/work", ab, "", "", "not a directory"},
			{"of the first, without any", "${root}", "/work", nil, "/work", "", ""},
		} {
			h := h
			h.dir = c.hubDir
			l, err := Plan(Program{Command: "kid", Cwd: c.cwd}, c.roots, h)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: error %v", c.name, err)
				}
				continue
			}
			if err != nil || l.Dir != c.dir || l.CwdRoot != c.root {
				t.Errorf("%s: %q %q %v", c.name, l.Dir, l.CwdRoot, err)
			}
		}
	})
	t.Run("environment", func(t *testing.T) {
		prog := Program{Command: "kid", Env: map[string]string{"A": "${root}", "B": "${roots}", "HOME": "/else", "MCP_ROOTS_COUNT": "9"}}
		l, err := Plan(prog, ab, h)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"A": "/a", "B": "/a:/b", "HOME": "/else", "MCP_ROOTS_COUNT": "2", "PATH": "/bin", "PYTHONSAFEPATH": "1"} {
			if v, _ := envOf(l, name); v != want {
				t.Errorf("%s=%q, want %q", name, v, want)
			}
		}
		if l, err = Plan(prog, nil, h); err != nil {
			t.Fatal(err)
		}
		if v, ok := envOf(l, "A"); ok {
			t.Errorf("A without a root: %q", v)
		}
		for _, bad := range []map[string]string{{"A=B": ""}, {"": "x"}, {"A": "x\x00"}} {
			if _, err := Plan(Program{Command: "kid", Env: bad}, ab, h); err == nil {
				t.Errorf("%q was taken", bad)
			}
		}
	})
	t.Run("program", func(t *testing.T) {
		for _, c := range []struct {
			command, cwd string
			local        bool
			want, err    string
		}{
			{"kid", "", false, "/bin/kid", ""},
			{"/srv/kid", "", false, "/srv/kid", ""},
			{"/srv/none", "", false, "", "not an executable file"},
			{"none", "", false, "", "not found in PATH"},
			{"", "", false, "", "no command"},
			{"./kid", "", false, "", "working directory"},
			{"./kid", "${root:b}", false, "", "working directory"},
			{"./kid", "/srv", false, "/srv/kid", ""},
		} {
			l, err := Plan(Program{Command: c.command, Cwd: c.cwd, Local: c.local}, ab, h)
			if c.err == "" && (err != nil || l.Command != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%q in %q: %q, %v", c.command, c.cwd, l.Command, err)
			}
		}
	})
	t.Run("hostile PATH", func(t *testing.T) { // ".": attack and control
		h := fakeHost([]string{"/b"}, "/b/kid", "/b/rel/kid")
		if l, err := Plan(Program{Command: "kid"}, ab, h); err == nil {
			t.Errorf("taken out of the clone: %s", l.Command)
		}
		if l, err := Plan(Program{Command: "kid", Local: true}, ab, h); err != nil || l.Command != "/b/kid" {
			t.Errorf("control: %q, %v", l.Command, err)
		}
	})
}

func TestTame(t *testing.T) {
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
			got, err := tame(Program{Command: c.command, Cwd: c.cwd, Local: c.local}, strings.Fields(c.args), "/P", "/S")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if a := strings.Join(got.args, " "); a != c.wantArgs || got.neutral != c.neutral || got.enter != c.enter || got.safe != c.safe {
				t.Errorf("got %q neutral=%t enter=%t safe=%t", a, got.neutral, got.enter, got.safe)
			}
		})
	}
}

func TestNeedsRoots(t *testing.T) {
	for _, c := range []struct {
		prog Program
		want bool
	}{
		{Program{Command: "kid"}, false},
		{Program{Command: "kid", Args: []string{"${root}"}}, true},
		{Program{Command: "kid", Cwd: "${root:x}"}, true},
		{Program{Command: "kid", Env: map[string]string{"A": "x${roots}"}}, true},
		{Program{Command: "filesystem-server"}, true},
		{Program{Command: "kid", Rewrite: RewriteAlways}, true},
		{Program{Command: "filesystem-server", Rewrite: RewriteNever}, false},
		{Program{Command: "kid", Sandbox: sandbox.Settings{Mode: sandbox.Auto}}, true},
		{Program{Command: "kid", Sandbox: sandbox.Settings{Mode: sandbox.Auto, Cannot: "no kernel"}}, false},
		{Program{Command: "kid", Sandbox: sandbox.Settings{Mode: sandbox.Required, Cannot: "no kernel"}}, true},
	} {
		if got := c.prog.NeedsRoots(); got != c.want {
			t.Errorf("%+v: %t", c.prog, got)
		}
	}
}
