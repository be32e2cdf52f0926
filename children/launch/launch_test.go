package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/program"
	"mcphub/rootsmgr/guard"
)

// fakeHost returns a machine with the given directories and programs in /bin.
func fakeHost(dirs []string, programs ...string) Machine { return on(fakeOptions(dirs, programs...)) }

func on(o confinement.Options) Machine {
	return Machine{Host: confinement.New(o), dir: "/work", scratch: "/cache/launch", shell: "/cache/npm-shell"}
}

func fakeOptions(dirs []string, programs ...string) confinement.Options {
	return confinement.Options{
		Environ: []string{"PATH=/bin:.:rel", "HOME=/home/u"}, Home: "/home/u", System: "linux",
		Disk: &confinement.Disk{
			Real:      func(p string) string { return p },
			IsDir:     func(p string) bool { return slices.Contains(dirs, p) },
			IsProgram: func(p string) bool { return slices.Contains(programs, p) },
		},
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

func TestPlan(t *testing.T) {
	t.Parallel()
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
			l, err := Plan(program.Program{Command: "kid", Cwd: c.cwd}, c.roots, h)
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
		prog := program.Program{Command: "kid", Env: map[string]string{"A": "${root}", "B": "${roots}", "HOME": "/else", "MCP_ROOTS_COUNT": "9"}}
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
			if _, err := Plan(program.Program{Command: "kid", Env: bad}, ab, h); err == nil {
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
			l, err := Plan(program.Program{Command: c.command, Cwd: c.cwd, Local: c.local}, ab, h)
			if c.err == "" && (err != nil || l.Command != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%q in %q: %q, %v", c.command, c.cwd, l.Command, err)
			}
		}
	})
	t.Run("hostile PATH", func(t *testing.T) { // ".": attack and control
		h := fakeHost([]string{"/b"}, "/b/kid", "/b/rel/kid")
		if l, err := Plan(program.Program{Command: "kid"}, ab, h); err == nil {
			t.Errorf("taken out of the clone: %s", l.Command)
		}
		if l, err := Plan(program.Program{Command: "kid", Local: true}, ab, h); err != nil || l.Command != "/b/kid" {
			t.Errorf("control: %q, %v", l.Command, err)
		}
	})
}

// Folders of PATH inside a root are skipped, by the hub and by what it starts.
func TestPathInsideARootIsSkipped(t *testing.T) {
	t.Parallel()
	o := fakeOptions([]string{"/home/u/p", "/home/u", "/home", "/"}, "/bin/kid", "/home/u/p/bin/kid", "/home/u/p/bin/own", "/opt/link/own2", "/home/u/pine/bin/near")
	o.Environ = []string{"PATH=/home/u/p/bin:/home/u/p:/opt/link:/bin:/home/u/pine/bin", "HOME=/home/u"}
	o.Disk.Real = func(p string) string { return strings.Replace(p, "/opt/link", "/home/u/p/x", 1) }
	h := on(o)
	roots := rootsAt("/home/u/p")
	for _, c := range []struct {
		command     string
		local       bool
		found, path string
	}{
		{"kid", false, "/bin/kid", "/bin:/home/u/pine/bin"},
		{"kid", true, "/home/u/p/bin/kid", "/home/u/p/bin:/home/u/p:/opt/link:/bin:/home/u/pine/bin"},
		{"near", false, "/home/u/pine/bin/near", "/bin:/home/u/pine/bin"},
		{"/home/u/p/bin/own", false, "/home/u/p/bin/own", "/home/u/p/bin:/bin:/home/u/pine/bin"},
	} {
		l, err := Plan(program.Program{Command: c.command, Local: c.local}, roots, h)
		if err != nil || l.Command != c.found {
			t.Errorf("%s: %q, %v", c.command, l.Command, err)
		}
		if p, _ := envOf(l, "PATH"); p != c.path {
			t.Errorf("%s: PATH=%s", c.command, p)
		}
	}
	for _, wide := range []string{"/home/u", "/home", "/"} { // no one's project
		if l, err := Plan(program.Program{Command: "kid"}, rootsAt(wide), h); err != nil || l.Command != "/home/u/p/bin/kid" {
			t.Errorf("root %s: %q, %v", wide, l.Command, err)
		}
	}
	for _, command := range []string{"own", "own2"} {
		if _, err := Plan(program.Program{Command: command}, roots, h); err == nil || !strings.Contains(err.Error(), "inside a root") || !strings.Contains(err.Error(), `"local": true`) {
			t.Errorf("%s: %v", command, err)
		}
	}
	if _, err := Plan(program.Program{Command: "none"}, roots, h); err == nil || strings.Contains(err.Error(), "/bin") {
		t.Errorf("an error prints PATH: %v", err)
	}
	if l, err := Plan(program.Program{Command: "/bin/kid", Env: map[string]string{"PATH": "/home/u/p/bin:.:"}}, roots, h); err != nil {
		t.Error(err)
	} else if v, ok := envOf(l, "PATH"); ok {
		t.Errorf("PATH=%q, which means the working directory", v)
	}
}

// The folder of an absolute command is searched first, since the interpreter of a script lies beside it.
func TestTheFolderOfACommandIsSearched(t *testing.T) {
	t.Parallel()
	h := fakeHost([]string{"/home/u/p"}, "/bin/kid", "/opt/node/bin/npx", "/home/u/p/bin/own")
	for _, c := range []struct {
		prog program.Program
		path string
	}{
		{program.Program{Command: "/opt/node/bin/npx"}, "/opt/node/bin:/bin"},
		{program.Program{Command: "/opt/node/bin/npx", Env: map[string]string{"PATH": "/x:/bin"}}, "/x:/bin"},
		{program.Program{Command: "/bin/kid"}, "/bin"},
		{program.Program{Command: "kid"}, "/bin"},
		{program.Program{Command: "/home/u/p/bin/own"}, "/bin"}, // a clone could put other programs there
		{program.Program{Command: "/home/u/p/bin/own", Local: true}, "/home/u/p/bin:/bin:.:rel"},
	} {
		l, err := Plan(c.prog, rootsAt("/home/u/p"), h)
		if p, _ := envOf(l, "PATH"); err != nil || p != c.path {
			t.Errorf("%+v: PATH=%s, %v", c.prog, p, err)
		}
	}
}

// Variables that make programs come from the working directory are refused.
func TestVariablesThatReachTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	h := fakeHost([]string{"/b", "/srv"}, "/bin/kid")
	for _, c := range []struct {
		name, value string
		refused     bool
	}{
		{"PYTHONPATH", "src", true}, {"PYTHONPATH", "/opt/src", false}, {"PYTHONPATH", "", false}, {"NODE_PATH", "/a:b", true},
		{"NODE_OPTIONS", "--max-old-space-size=99", false}, {"NODE_OPTIONS", "--require ./x.js", true}, {"LD_PRELOAD", "./x.so", true},
		{"BASH_ENV", "x.sh", true}, {"ENV", "production", false}, {"KID_CONFIG", "./x.json", false},
	} {
		prog := program.Program{Command: "kid", Env: map[string]string{c.name: c.value}}
		_, err := Plan(prog, rootsAt("/b"), h)
		if c.refused != (err != nil && strings.Contains(err.Error(), "env "+c.name)) {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
		prog.Cwd = filepath.FromSlash("/srv")
		if _, err := Plan(prog, rootsAt("/b"), h); err != nil {
			t.Errorf("%s=%s in a directory of the operator: %v", c.name, c.value, err)
		}
	}
}

// TestSearchThroughLinks: what a folder of PATH leads to is decided as the kernel follows it, where a link comes before "..".
func TestSearchThroughLinks(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	project := filepath.Join(top, "project")
	inside, outside := filepath.Join(project, "deep/tools/bin"), filepath.Join(top, "tools/bin")
	for _, dir := range []string{inside, outside, filepath.Join(project, "deep/x/y")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("deep/x/y", filepath.Join(project, "scripts")); err != nil {
		t.Fatal(err)
	}
	crooked := project + "/scripts/../../tools/bin" // read as text it is outside
	if got, err := filepath.EvalSymlinks(crooked); err != nil || !strings.HasSuffix(got, "/project/deep/tools/bin") {
		t.Fatalf("the link leads to %s: %v", got, err)
	}
	h := NewMachine([]string{"HOME=/nonexistent", "PATH=" + strings.Join([]string{crooked, outside, "/usr/bin", "/bin"}, ":")}, "/nonexistent", "/")
	l, err := Plan(program.Program{Command: "sh"}, []guard.Root{{Path: project}}, h)
	if err != nil {
		t.Fatal(err)
	}
	if path := "PATH=" + outside + ":/usr/bin:/bin"; !slices.Contains(l.Env, path) {
		t.Errorf("the environment has no %s: %q", path, l.Env)
	}
}
