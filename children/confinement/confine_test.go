package confinement_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
)

// wholeKernel can hold all of a profile.
var wholeKernel = sandbox.Kernel{ABI: 7, Filters: true, Drops: true}

// confinedMachine returns a machine with a home folder and programs in it, and all
// of a kernel.
func confinedMachine(t testing.TB) (h launch.Machine, home string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("nothing is confined on Windows")
	}
	top := sandbox.RealPath(t.TempDir())
	home = filepath.Join(top, "home", "u")
	for path, text := range map[string]string{
		".nvm/versions/node/v20/bin/node":               "",
		".nvm/versions/node/v20/lib/x.js":               "",
		".cargo/bin/tool":                               "",
		".cargo/credentials.toml":                       "",
		".local/bin/uvx":                                "",
		".local/bin/uv":                                 "",
		".npm-global/bin/x":                             "",
		".npm-global/lib/node_modules/x/x.js":           "",
		".npm-global/.npmrc":                            "",
		".local/share/uv/credentials/c.toml":            "",
		".local/bin/npm":                                "",
		".local/bin/pipx":                               "#!/usr/bin/python3\n",
		".local/bin/python3":                            "",
		".local/share/uv/tools/x/bin/x":                 "#!/usr/bin/env node",
		"work/server/package.json":                      "{}",
		"work/server/dist/index.js":                     "",
		"work/venv/pyvenv.cfg":                          "",
		"work/venv/bin/python":                          "",
		"work/app/node_modules/pkg/index.js":            "",
		"work/app/node_modules/.bin/other":              "",
		"work/app/secret":                               "",
		"script.sh":                                     "",
		"work/bare/run.py":                              "",
		"work/rooted/node_modules/evil/index.js":        "",
		".gitconfig":                                    "",
		".ssh/config":                                   "",
		".ssh/id_ed25519":                               "",
		"elsewhere/node_modules/evil/index.js":          "",
		"elsewhere/node_modules/evil/also/package.json": "{}",
	} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(top, "tmp"))
	path := strings.Join([]string{filepath.Join(home, ".nvm/versions/node/v20/bin"), filepath.Join(home, ".local/bin"), filepath.Join(home, ".npm-global/bin"), "/usr/bin", "/bin"}, ":")
	h = launch.NewMachine([]string{"HOME=" + home, "PATH=" + path, "XDG_CACHE_HOME=" + filepath.Join(home, ".cache")}, home, "/")
	h.Host = h.WithKernel(wholeKernel)
	return h, home
}

// BenchmarkPlanConfined plans a confined start with a PATH as long as users have it.
func BenchmarkPlanConfined(b *testing.B) {
	h, home := confinedMachine(b)
	path := "PATH=/usr/bin:/bin"
	for _, dir := range []string{".nvm/versions/node/v20/bin", ".local/bin", ".npm-global/bin", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin", ".pyenv/shims", "bin", ".volta/bin", "work/venv/bin", ".rbenv/shims"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			b.Fatal(err)
		}
		path += ":" + filepath.Join(home, dir)
	}
	h.Host = h.WithEnviron("HOME="+home, path)
	prog := confinedProgram(filepath.Join(home, ".local/bin/uvx"), "x")
	for b.Loop() {
		if _, err := launch.Plan(prog, nil, h); err != nil {
			b.Fatal(err)
		}
	}
}

func rootsAt(path string) []guard.Root { return []guard.Root{{URI: "file://" + path, Path: path}} }

func envOf(l launch.Launch, name string) (string, bool) {
	for _, kv := range l.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func confinedProgram(command string, args ...string) program.Program {
	return program.Program{Command: command, Args: args, Sandbox: sandbox.Settings{Mode: sandbox.Auto, Network: sandbox.Network{On: true}}}
}

// TestInstallations: what a program needs is open, and no more of the home folder.
func TestInstallations(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	in := func(dir, command string, args ...string) program.Program {
		prog := confinedProgram(command, args...)
		prog.Cwd = dir
		return prog
	}
	for _, tc := range []struct {
		name         string
		prog         program.Program
		open, closed []string // below the home folder
	}{
		{"an interpreter below home", confinedProgram("node", at("work/server/dist/index.js")),
			[]string{".nvm/versions/node/v20/lib/x.js", "work/server/package.json"}, []string{"work/app/secret", "script.sh", ".cargo/credentials.toml"}},
		{"a package among others", confinedProgram("node", at("work/app/node_modules/pkg/index.js")),
			[]string{"work/app/node_modules/.bin/other"}, []string{"work/app/secret", "work/server/package.json"}},
		{"what a script names", confinedProgram(at(".local/share/uv/tools/x/bin/x")),
			[]string{".local/share/uv/tools/x/bin/x", ".nvm/versions/node/v20/bin/node"}, []string{".local/share/uv/credentials/c.toml", ".cargo/bin/tool"}},
		{"what is found by its name", confinedProgram("sh"),
			[]string{".nvm/versions/node/v20/lib/x.js", ".local/bin/uvx", ".local/share/uv/tools/x/bin/x"}, []string{".local/share/uv/credentials/c.toml", ".cargo/bin/tool"}},
		{"a folder with credentials", confinedProgram(at(".cargo/bin/tool")),
			[]string{".cargo/bin/tool"}, []string{".cargo/credentials.toml"}},
		{"a virtual environment", confinedProgram(at("work/venv/bin/python"), at("work/bare/run.py")),
			[]string{"work/venv/pyvenv.cfg", "work/bare/run.py"}, []string{"work/server/package.json"}},
		{"a script in the home folder", confinedProgram("sh", at("script.sh")),
			[]string{"script.sh"}, []string{".gitconfigx", "work/app/secret", ".ssh/id_ed25519"}},
		{"behind env", confinedProgram("env", "A=b", "node", at("work/server/dist/index.js")),
			[]string{".nvm/versions/node/v20/bin/node", "work/server/package.json"}, []string{"work/app/secret"}},
		{"a folder that a launcher is told of", confinedProgram("uv", "--directory", at("work/server"), "run", "server.py"),
			[]string{"work/server/package.json", ".local/share/uv/tools/x/bin/x"}, []string{"work/app/secret", "work/bare/run.py"}},
		{"the same in one word", confinedProgram("uv", "--directory="+at("work/server"), "run", "server.py"),
			[]string{"work/server/package.json"}, []string{"work/app/secret"}},
		{"the home folder", confinedProgram("uv", "--directory", home, "run", "server.py"),
			nil, []string{"work/app/secret", "work/server/package.json", ".ssh/id_ed25519"}},
		{"what is launched from its directory", in(at("work/server"), "npm", "start"),
			[]string{"work/server/package.json"}, []string{"work/app/secret"}},
		{"what is not", in(at("work/server"), at(".cargo/bin/tool")),
			[]string{".cargo/bin/tool", "work/server/package.json"}, []string{"work/app/secret"}},
		{"what is launched from home", in(home, "python3", "-m", "server"),
			nil, []string{"work/app/secret", "script.sh"}},
		{"what npm has put beside it", confinedProgram("sh"),
			[]string{".npm-global/bin/x", ".npm-global/lib/node_modules/x/x.js"}, []string{".npm-global/.npmrc"}},
		{"settings of git and ssh", confinedProgram("sh"),
			[]string{".gitconfig", ".ssh/config"}, []string{".ssh/id_ed25519", ".ssh"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := launch.Plan(tc.prog, nil, h)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range tc.open {
				if l.Sandbox.Profile.AccessAt(at(p))&sandbox.Read == 0 {
					t.Errorf("%s is closed: %v", p, l.Sandbox.Profile.Rules)
				}
			}
			for _, p := range tc.closed {
				if a := l.Sandbox.Profile.AccessAt(at(p)); a != 0 {
					t.Errorf("%s is open: %s", p, a)
				}
			}
			if a := l.Sandbox.Profile.AccessAt(home); a != 0 {
				t.Errorf("the home folder is open: %s", a)
			}
		})
	}
}

// TestAPlantedLinkOpensNothing: a server that may write in a root puts a link
// instead of its own package.
func TestAPlantedLinkOpensNothing(t *testing.T) {
	h, home := confinedMachine(t)
	root := filepath.Join(home, "work/rooted")
	prog := confinedProgram("node", filepath.Join(root, "node_modules/evil/index.js"))
	prog.Sandbox.Read = []string{filepath.Join(root, "data")}
	bounded := h.WithBoundary(sandbox.Boundary{Areas: []sandbox.Rule{{Path: root, Access: sandbox.Read | sandbox.Write}}})
	plant := func(link, to string) {
		t.Helper()
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	plant(filepath.Join(root, "node_modules"), filepath.Join(home, "elsewhere/node_modules"))
	plant(filepath.Join(root, "data"), filepath.Join(home, "work/app"))
	secrets := []string{filepath.Join(home, "elsewhere/node_modules/evil/also"), filepath.Join(home, "work/app/secret")}
	written := prog
	written.Sandbox.Write = []string{root}
	for name, m := range map[string]launch.Machine{"free": h, "in a root": bounded, "where it may write": h} {
		prog := prog
		if name == "where it may write" {
			prog = written
		}
		l, err := launch.Plan(prog, nil, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if open := l.Sandbox.Profile.AccessAt(secret) != 0; open != (name == "free") {
				t.Errorf("%s: %s is open: %t", name, secret, open)
			}
		}
	}
}

// TestAPlantedScriptOpensNothing: a server that may write its own script names an
// interpreter that opens something, or takes away what bounds its package.
func TestAPlantedScriptOpensNothing(t *testing.T) {
	h, home := confinedMachine(t)
	script := filepath.Join(home, "work/server/dist/run")
	if err := os.WriteFile(script, []byte("#!"+home+"/work/bare/run.py\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "work/go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(home, "work/server/package.json")); err != nil {
		t.Fatal(err)
	}
	bounded := h.WithBoundary(sandbox.Boundary{Areas: []sandbox.Rule{{Path: filepath.Join(home, "work/server"), Access: sandbox.Read | sandbox.Write}}})
	for name, m := range map[string]launch.Machine{"free": h, "in a root": bounded} {
		l, err := launch.Plan(confinedProgram(script), nil, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"work/bare/run.py", "work/app/secret"} {
			if open := l.Sandbox.Profile.AccessAt(filepath.Join(home, p)) != 0; open != (name == "free") {
				t.Errorf("%s: %s is open: %t", name, p, open)
			}
		}
	}
}

// TestWhatTheKernelLacks: required refuses with the reason, auto goes on. If no one has
// asked for it and no file can be held, nothing is.
func TestWhatTheKernelLacks(t *testing.T) {
	h, home := confinedMachine(t)
	raised, snapped := filepath.Join(home, "raised"), filepath.Join(home, "snapped")
	for path, mode := range map[string]os.FileMode{raised: 0o700 | os.ModeSetuid, filepath.Join(home, "snap"): 0o700} {
		if err := errors.Join(os.WriteFile(path, nil, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "snap"), snapped); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ssh", "sudo", "docker"} {
		if err := os.WriteFile(filepath.Join(home, ".local/bin", name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		kernel   sandbox.Kernel
		prog     program.Program
		boundary sandbox.Boundary
		want     string
		refuses  bool
		state    sandbox.State
		runs     bool // confined, under auto
	}{
		"all is there": {wholeKernel, confinedProgram("sh"), sandbox.Boundary{}, "", false, sandbox.Held, true},
		"no Landlock":  {sandbox.Kernel{Why: "it is not there"}, confinedProgram("sh"), sandbox.Boundary{}, "no kernel enforcement here: it is not there", true, sandbox.None, false},
		"an old one":   {sandbox.Kernel{ABI: 2, Filters: true, Drops: true}, confinedProgram("sh"), sandbox.Boundary{}, "can be truncated", true, sandbox.Partial, true},
		"no scopes":    {sandbox.Kernel{ABI: 5, Filters: true, Drops: true}, confinedProgram("sh"), sandbox.Boundary{}, "signals", false, sandbox.Partial, true},
		"nobody asks":  {sandbox.Kernel{ABI: 7, Filters: true, Drops: true, WhyNoNotify: "it is too old"}, confinedProgram("sh"), sandbox.Boundary{}, "", true, sandbox.Held, true},
		"no boundary":  {wholeKernel, confinedProgram("sh"), sandbox.Boundary{WhyOpen: "nobody said"}, "files are not confined: nobody said", true, sandbox.None, true},
		"a file that is withheld": {wholeKernel, program.Program{Command: "sh", Sandbox: sandbox.Settings{Mode: sandbox.Auto, Network: sandbox.Network{On: true}, Read: []string{home + "/work/app"}}},
			sandbox.Boundary{Withheld: []string{home + "/work"}}, "sandbox.read: " + home + "/work/app is withheld", true, sandbox.Partial, true},
		"a container":  {wholeKernel, confinedProgram("env", "docker", "run", "x"), sandbox.Boundary{}, "a container", true, sandbox.None, false},
		"a machine":    {wholeKernel, confinedProgram("ssh", "host", "x"), sandbox.Boundary{}, "on another machine", true, sandbox.None, false},
		"another user": {wholeKernel, confinedProgram("sudo", "-u", "x", "sh"), sandbox.Boundary{}, "of another user", true, sandbox.None, false},
		"set user id":  {wholeKernel, confinedProgram(raised), sandbox.Boundary{}, "of another user", true, sandbox.None, false},
		"a snap":       {wholeKernel, confinedProgram(snapped), sandbox.Boundary{}, "sandbox of its own", true, sandbox.None, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := h.WithBoundary(tc.boundary).WithPrivate("/t", "/c")
			m.Host = m.WithKernel(tc.kernel)
			tc.prog.Sandbox.Mode = sandbox.Required
			_, err := launch.Plan(tc.prog, nil, m)
			if (err != nil) != tc.refuses || tc.refuses && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("required: %v", err)
			}
			tc.prog.Sandbox.Mode = sandbox.Auto
			l, err := launch.Plan(tc.prog, nil, m)
			if err != nil {
				t.Fatal(err)
			}
			r := l.Sandbox.Report
			if r.State != tc.state || !strings.Contains(strings.Join(r.Lacks, "; "), tc.want) || (l.Sandbox.Profile != nil) != tc.runs {
				t.Errorf("auto: %q, confined %t", r.Lacks, l.Sandbox.Profile != nil)
			}
			if held := r.State != sandbox.None; held != slices.Contains(l.Env, "TMPDIR=/t") {
				t.Errorf("what is held has folders of its own, and nothing else has: %v", l.Env)
			}
			tc.prog.Sandbox.Default = true
			if l, err = launch.Plan(tc.prog, nil, m); err != nil {
				t.Fatal(err)
			}
			if r = l.Sandbox.Report; r.State != tc.state || !strings.Contains(strings.Join(r.Lacks, "; "), tc.want) || (l.Sandbox.Profile != nil) != (tc.state != sandbox.None) {
				t.Errorf("by default: %q, confined %t", r.Lacks, l.Sandbox.Profile != nil)
			}
		})
	}
}

// TestSeatbelt: Seatbelt holds a server whose entry asks for it, with what is withheld inside of what is open. If the entry says nothing, it holds
// nothing, and nothing is tried.
func TestSeatbelt(t *testing.T) {
	h, home := confinedMachine(t)
	root, kept := filepath.Join(home, "work"), filepath.Join(home, "work", "kept")
	tried := 0
	kernel := sandbox.Kernel{Seatbelt: func() error { tried++; return nil }}
	try := func(k sandbox.Kernel, s sandbox.Settings) (launch.Launch, error) {
		m := h.WithBoundary(sandbox.Boundary{Areas: []sandbox.Rule{{Path: root, Access: sandbox.Read | sandbox.Write}}, Roots: []string{root}, Withheld: []string{kept}}).WithPrivate("/t", "/c")
		m.Host = m.WithKernel(k)
		prog := confinedProgram("sh")
		prog.Sandbox = s
		return launch.Plan(prog, nil, m)
	}
	plan := func(k sandbox.Kernel, s sandbox.Settings) launch.Launch {
		t.Helper()
		l, err := try(k, s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := plan(kernel, sandbox.Settings{Mode: sandbox.Auto, Default: true})
	if l.Sandbox.Profile != nil || tried != 0 || !strings.Contains(strings.Join(l.Sandbox.Report.Lacks, "; "), "only if hub.json says") {
		t.Errorf("by default: %+v, tried %d times", l.Sandbox.Report, tried)
	}
	for _, mode := range []sandbox.Mode{sandbox.Auto, sandbox.Required} {
		l = plan(kernel, sandbox.Settings{Mode: mode})
		p := l.Sandbox.Profile
		if p == nil || !slices.Equal(p.Withheld, []string{kept}) || p.AccessAt(kept) != 0 || p.AccessAt(root)&sandbox.Write == 0 || l.Sandbox.Report.State != sandbox.Partial {
			t.Errorf("%s: %+v", mode, l.Sandbox.Report)
		}
		if strings.Contains(strings.Join(l.Sandbox.Report.Lacks, "; "), kept) || tried == 0 {
			t.Errorf("%s: what is withheld is not held: %q", mode, l.Sandbox.Report.Lacks)
		}
	}
	escaped := sandbox.Kernel{Seatbelt: func() error { return errors.New("a way out") }}
	const why = "no kernel enforcement here: Seatbelt is not used: a way out"
	if l = plan(escaped, sandbox.Settings{Mode: sandbox.Auto}); l.Sandbox.Profile != nil || !slices.Contains(l.Sandbox.Report.Lacks, why) {
		t.Errorf("after a way out, auto: %+v", l.Sandbox.Report)
	}
	if _, err := try(escaped, sandbox.Settings{Mode: sandbox.Required}); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("after a way out, required: %v", err)
	}
	l = plan(wholeKernel, sandbox.Settings{Mode: sandbox.Auto}) // the control: Landlock cannot except it
	if l.Sandbox.Profile.Withheld != nil || !strings.Contains(strings.Join(l.Sandbox.Report.Lacks, "; "), kept) {
		t.Errorf("control: %q", l.Sandbox.Report.Lacks)
	}
}
