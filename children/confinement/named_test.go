package confinement_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// rights returns what a Confinement opens at a path, in short.
func rights(c *confinement.Confinement, path string) string {
	a := c.Profile.AccessAt(path)
	text := ""
	for i, letter := range []string{"r", "x", "w"} {
		if a&(1<<i) != 0 {
			text += letter
		}
	}
	return text
}

// served returns a program that is a script of node, and its arguments.
func served(home string, args ...string) program.Program {
	return confinedProgram("node", append([]string{filepath.Join(home, "work/server/dist/index.js")}, args...)...)
}

// TestWhatAnEntryNames: what opens for each kind of name, and what does not. Paths are below
// the home folder.
func TestWhatAnEntryNames(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string {
		if p == "~" {
			return home
		}
		return filepath.Join(home, p)
	}
	for _, file := range []string{
		"vault/note.md", "vault/.git/config", "own/x.db", "own/x.db-wal", "own/.x.db.tmp", "many/x.db", "many/other", ".config/app/credentials.json", ".config/app/other",
		"keys/id_ed25519", "cfg/settings.json", "cfg/other", "other/home/.ssh/id", "mods/m.py", "mods/cache/x", "proj/node_modules/x/index.js", "proj/src", ".kube/config", ".kube/cache/x",
		"jdk/bin/java", "Code/src/x", ".bashrc", "venv/pyvenv.cfg",
	} {
		putFile(t, at(file), "")
	}
	if err := os.Mkdir(at("empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(shortTemp(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	arg := func(p string) program.Program { return served(home, at(p)) }
	flag := func(name, p string) program.Program { return served(home, name+"="+at(p)) }
	env := func(name, value string) program.Program {
		prog := served(home)
		prog.Env = map[string]string{name: value}
		return prog
	}
	cwd := func(dir string, prog program.Program) program.Program { prog.Cwd = at(dir); return prog }
	for name, tc := range map[string]struct {
		prog program.Program
		want map[string]string // what is open below home
		why  string            // of one of its names
	}{
		"a folder":                           {arg("vault"), map[string]string{"vault/note.md": "rxw", "cfg/other": ""}, ""},
		"a folder that is not there":         {arg("new"), map[string]string{"new": "rxw"}, ""},
		"one in one that is not there":       {arg("new/er"), map[string]string{"new/er": "rxw", "new": ""}, ""},
		"a file among others":                {flag("--db", "many/x.db"), map[string]string{"many/x.db": "rxw", "many/other": "", "many": ""}, ""},
		"a file in a folder of its own":      {flag("--db", "own/x.db"), map[string]string{"own/x.db-wal": "rxw", "own": "rxw"}, ""},
		"a file that is to be made":          {flag("--log", "empty/x.log"), map[string]string{"empty": "rxw"}, ""},
		"one in a folder that is to be made": {flag("--log", "made/x.log"), map[string]string{"made": "rxw"}, ""},
		"a file of the name of another":      {served(home, "--db="+at("many/x.db"), at("vault/other")), map[string]string{"many/x.db": "rxw", "many/other": "", "many": ""}, ""},
		"one among others":                   {flag("--log", "many/new.log"), map[string]string{"many": "", "many/new.log": ""}, "give it a folder of its own"},
		"one in the home folder":             {flag("--log", "new.log"), map[string]string{"~": ""}, "give it a folder of its own"},
		"a file in the home folder":          {arg("script.sh"), map[string]string{"script.sh": "rxw", "~": ""}, ""},
		"a file of keys":                     {env("GOOGLE_OAUTH_CREDENTIALS", at(".config/app/credentials.json")), map[string]string{".config/app/credentials.json": "rx", ".config/app/other": ""}, "key or a credential"},
		"a key":                              {arg(".ssh/id_ed25519"), map[string]string{".ssh/id_ed25519": "rx", ".ssh": ""}, "keys and credentials are kept in .ssh"},
		"a folder of keys":                   {arg(".ssh"), map[string]string{".ssh/id_ed25519": ""}, "keys and credentials"},
		"what holds one":                     {arg(".config"), map[string]string{".config/app/other": ""}, "it holds"},
		"another home folder":                {arg("other/home"), map[string]string{"other/home/.ssh/id": ""}, "it holds"},
		"the home folder":                    {arg("~"), map[string]string{"vault/note.md": ""}, "home folder"},
		"above it":                           {served(home, filepath.Dir(home)), map[string]string{"vault/note.md": ""}, "home folder"},
		"the top":                            {served(home, "/"), map[string]string{"vault/note.md": ""}, "home folder"},
		"a folder that any home may have":    {arg("Code"), map[string]string{"Code/src/x": "rxw"}, ""},
		"what shells load":                   {arg(".bashrc"), map[string]string{".bashrc": "rx"}, "load it"},
		"a folder of git":                    {arg("vault/.git"), map[string]string{"vault/.git/config": "rx"}, "load it"},
		"settings":                           {flag("--config", "cfg/settings.json"), map[string]string{"cfg/settings.json": "rx", "cfg/other": ""}, "it is configuration"},
		"settings in a folder that is named": {served(home, "--config", at("cfg/settings.json"), at("cfg")), map[string]string{"cfg/other": "rx"}, "in it is run, or obeyed"},
		"the same the other way":             {served(home, at("cfg"), "--config", at("cfg/settings.json")), map[string]string{"cfg/other": "rx"}, "in it is run, or obeyed"},
		"modules":                            {env("PYTHONPATH", at("mods")), map[string]string{"mods/m.py": "rx"}, "searched for"},
		"a folder in modules": {func() program.Program {
			p := env("PYTHONPATH", at("mods"))
			p.Args = append(p.Args, at("mods/cache"))
			return p
		}(), map[string]string{"mods/cache/x": "rx"}, "searched for"},
		"installed modules":                   {arg("proj/node_modules"), map[string]string{"proj/node_modules/x/index.js": "rx"}, "installed"},
		"where its program lies":              {arg("work/server/dist"), map[string]string{"work/server/dist/index.js": "rx"}, "is run, or obeyed"},
		"above where its program lies":        {arg("work/server"), map[string]string{"work/server/dist/index.js": "rx", "work/server/package.json": "rx"}, "is run, or obeyed"},
		"a version manager":                   {arg(".nvm/versions"), map[string]string{".nvm/versions/node/v20/bin/node": "rx"}, "installed"},
		"a home of Java":                      {env("JAVA_HOME", at("jdk")), map[string]string{"jdk/bin/java": "rx"}, "run"},
		"kubectl's settings":                  {env("KUBECONFIG", at(".kube/config")), map[string]string{".kube/config": "rx", ".kube/cache/x": ""}, "configuration"},
		"the hub's own":                       {arg(".local/state/mcphub/x"), map[string]string{".local/state/mcphub": ""}, "the hub's own"},
		"above the hub's own":                 {arg(".local/state"), map[string]string{".local/state/mcphub": ""}, "the hub's own"},
		"what another server keeps":           {arg(".mcp-auth"), map[string]string{".mcp-auth": ""}, "another server"},
		"a socket":                            {served(home, listener.Addr().String()), nil, "no file and no folder"},
		"the system's":                        {served(home, "/etc", "/usr", "/var", "/tmp", "/dev/null", "/run/x", "/var/tmp"), nil, "folder of the system"},
		"an address":                          {served(home, "/mcp/v1", "--path", "/api", at("vault")), map[string]string{"vault/note.md": "rxw"}, ""},
		"a working folder":                    {cwd("vault", served(home)), map[string]string{"vault/note.md": "rxw"}, ""},
		"one that holds the program":          {cwd("work/server", confinedProgram("node", "dist/index.js")), map[string]string{"work/server/package.json": "rx", "work/server/dist/index.js": "rx"}, "run"},
		"one that its launcher obeys":         {cwd("proj", confinedProgram("npm", "start")), map[string]string{"proj/src": "rx"}, "the program lies there"},
		"a module of Python in it":            {cwd("mods", confinedProgram("python3", "-m", "m")), map[string]string{"mods/m.py": "rx"}, "the program lies there"},
		"what a module of Python is told":     {cwd("mods", confinedProgram("python3", "-m", "m", at("vault"))), map[string]string{"vault/note.md": "rxw", "mods/m.py": "rx"}, "the program lies there"},
		"what npm start is told":              {cwd("cfg", confinedProgram("npm", "--prefix", at("proj"), "start", "--", at("vault"))), map[string]string{"vault/note.md": "rxw", "proj/src": "rx"}, "it is run"},
		"where npm start works":               {cwd("cfg", confinedProgram("npm", "start", "--prefix", at("proj"))), map[string]string{"proj/src": "rx"}, "it is run"},
		"a module of Python elsewhere":        {cwd("vault", confinedProgram("python3", "-m", "m")), map[string]string{"vault/note.md": "rxw"}, ""},
		"a relative file in it":               {cwd("many", served(home, "x.db")), map[string]string{"many/x.db": "rxw"}, ""},
		"a text":                              {confinedProgram("sh", "-c", "cd "+at("work/bare")+" && exec python3 run.py --db "+at("own/x.db")), map[string]string{"work/bare/run.py": "rx", "own/x.db": "rxw"}, "run"},
		"behind env":                          {confinedProgram("env", "DATA="+at("vault"), "node", at("work/server/dist/index.js")), map[string]string{"vault/note.md": "rxw"}, ""},
		"what a filesystem server is told":    {confinedProgram("node", at("tools/mcp-server-filesystem.js"), at("vault")), map[string]string{"vault/note.md": ""}, ""},
		"what roots fill in":                  {served(home, "${root}/../vault", "--db=${root:rooted}/y"), map[string]string{"vault/note.md": ""}, ""},
		"a variable that is another's folder": {env("TMPDIR", at("vault")), map[string]string{"vault/note.md": "rxw"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := h
			h.Host = h.Forgetful().WithKernel(silentKernel())
			putFile(t, at("tools/mcp-server-filesystem.js"), "")
			l, err := launch.Plan(tc.prog, rootsAt(at("work/rooted")), h)
			if err != nil {
				t.Fatal(err)
			}
			c, all := l.Sandbox, ""
			for _, n := range c.Report.Named {
				all += fmt.Sprintln(n)
				if n.Access&sandbox.Write == 0 && n.Why == "" {
					t.Errorf("it is not said why %v is not written", n)
				}
			}
			for path, want := range tc.want {
				if got := rights(c, at(path)); got != want {
					t.Errorf("%s is open to %q, want %q\n%s", path, got, want, all)
				}
			}
			if !strings.Contains(all, tc.why) {
				t.Errorf("it says %s, want %q", all, tc.why)
			}
			for _, closed := range []string{home, filepath.Dir(home), "/", "/etc", "/var", "/tmp", "/var/tmp"} {
				if got := rights(c, closed); got != "" {
					t.Errorf("%s is open to %q", closed, got)
				}
			}
			if got := rights(c, "/etc/shadow") + rights(c, "/usr/bin/x"); got != "rx" {
				t.Errorf("the system is open to %q", got)
			}
		})
	}
}

func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		dir, err = os.MkdirTemp("/tmp", "n")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestANameOpensNoMoreThanItDid: whatever is put instead of what an entry names, it
// opens nothing beyond. A memory of nothing is the control: then it does.
func TestANameOpensNoMoreThanItDid(t *testing.T) {
	for name, tc := range map[string]struct {
		name, was string // what the entry names, and what is there when it is first used; "": nothing
		change    func(t *testing.T, home string)
		probe     string
		control   string // what is open at the probe without a memory
	}{
		"a link in the place of a folder": {"d/data", "dir", func(t *testing.T, home string) { relink(t, home+"/private", home+"/d/data") }, "private/x", "rxw"},
		"in the place of a file":          {"d/x.db", "file", func(t *testing.T, home string) { relink(t, home+"/private/x", home+"/d/x.db") }, "private/x", "rxw"},
		"in the place of nothing":         {"d/x.db", "", func(t *testing.T, home string) { relink(t, home+"/private/x", home+"/d/x.db") }, "private/x", "rxw"},
		"in the place of no folder":       {"d/data", "", func(t *testing.T, home string) { relink(t, home+"/private", home+"/d/data") }, "private/x", "rxw"},
		"above it":                        {"d/data", "dir", func(t *testing.T, home string) { relink(t, home+"/private", home+"/d") }, "private/data/y", "rxw"},
		"above nothing":                   {"e/x.db", "", func(t *testing.T, home string) { relink(t, home+"/private/empty", home+"/e") }, "private/empty/y", "rxw"},
		"a folder in the place of a file": {"d/x.db", "file", func(t *testing.T, home string) {
			if err := os.Remove(home + "/d/x.db"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(home+"/private", home+"/d/x.db"); err != nil {
				t.Fatal(err)
			}
		}, "d/x.db/x", "rxw"},
		"a folder in the place of no file": {"d/x.db", "", func(t *testing.T, home string) { putFile(t, home+"/d/x.db/y", "") }, "d/x.db/y", "rxw"},
		"a file that was removed, and all beside it": {"d/x.db", "file", func(t *testing.T, home string) {
			for _, file := range []string{"x.db", "beside"} {
				if err := os.Remove(filepath.Join(home, "d", file)); err != nil {
					t.Fatal(err)
				}
			}
		}, "d/y", "rxw"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, remembers := range []bool{true, false} {
				h, home := confinedMachine(t)
				at := func(p string) string { return filepath.Join(home, p) }
				putFile(t, at("d/beside"), "")
				putFile(t, at("private/x"), "")
				putFile(t, at("private/data/y"), "")
				if err := os.Mkdir(at("private/empty"), 0o700); err != nil {
					t.Fatal(err)
				}
				switch tc.was {
				case "dir":
					putFile(t, at(tc.name+"/z"), "")
				case "file":
					putFile(t, at(tc.name), "")
				}
				prog := served(home, "--data", at(tc.name))
				h.RememberLinks(prog)
				tc.change(t, home)
				want := ""
				if h = anew(h); !remembers {
					h.Host, want = h.Forgetful(), tc.control
				}
				c := planOf(t, h, prog)
				if got := rights(c, at(tc.probe)); got != want {
					t.Errorf("remembered: %t; %s is open to %q, want %q: %v", remembers, tc.probe, got, want, c.Report.Named)
				}
			}
		})
	}
}

// TestALinkWhereServersWrite: a link that lies where a server of any hub could write is not
// followed for a name that was never used. That no server could is the control.
func TestALinkWhereServersWrite(t *testing.T) {
	for _, reaches := range []bool{false, true} {
		h, home := confinedMachine(t)
		at := func(p string) string { return filepath.Join(home, p) }
		putFile(t, at("private/x"), "")
		relink(t, at("private"), at("proj/data"))
		if reaches {
			if err := h.Store().Reach().Add(at("proj")); err != nil {
				t.Fatal(err)
			}
		}
		c := planOf(t, h, served(home, at("proj/data")))
		if open := rights(c, at("private/x")) == "rxw"; open == reaches {
			t.Errorf("servers write there: %t, it is open: %t: %v", reaches, open, c.Report.Named)
		}
		if reaches {
			continue
		}
		if err := h.Store().Reach().Add(at("proj")); err != nil {
			t.Fatal(err)
		}
		if c = planOf(t, anew(h), served(home, at("proj/data"))); rights(c, at("private/x")) != "rxw" {
			t.Errorf("servers write there since it was used first, and it is closed: %v", c.Report.Named)
		}
	}
}

// TestNamesAndRoots: a folder that holds a root is only read, in a root a link opens
// nothing, and what the policy withholds stays closed.
func TestNamesAndRoots(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	putFile(t, at("notes/work/a/x"), "")
	putFile(t, at("notes/private/x"), "")
	putFile(t, at("elsewhere/secret/x"), "")
	relink(t, at("elsewhere/secret"), at("notes/work/a/link"))
	for name, tc := range map[string]struct {
		root, name, withheld string
		want                 map[string]string
	}{
		"no root":              {"work/rooted", "notes", "", map[string]string{"notes/private/x": "rxw"}},
		"a root in it":         {"notes/work/a", "notes", "", map[string]string{"notes/private/x": "rx", "notes/work/a/x": "rxw"}},
		"the root itself":      {"notes", "notes", "", map[string]string{"notes/private/x": "rxw"}},
		"in a root":            {"notes", "notes/private", "", map[string]string{"notes/private/x": "rxw"}},
		"a link in a root":     {"notes/work/a", "notes/work/a/link", "", map[string]string{"elsewhere/secret/x": ""}},
		"one without the root": {"work/rooted", "notes/work/a/link", "", map[string]string{"elsewhere/secret/x": "rxw"}},
		"withheld":             {"work/rooted", "notes", "notes", map[string]string{"notes/private/x": ""}},
		"below what is":        {"work/rooted", "notes/private", "notes", map[string]string{"notes/private/x": ""}},
		"above what is":        {"work/rooted", "notes", "notes/private", map[string]string{"notes/private/x": "", "notes/work/a/x": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			m := writable(h, home, tc.root)
			var withheld []string
			if tc.withheld != "" {
				withheld = []string{at(tc.withheld)}
			}
			m.Host = m.Forgetful().ForRoots([]string{at(tc.root)}, withheld...)
			c := planOf(t, m, served(home, at(tc.name)))
			for path, want := range tc.want {
				if got := rights(c, at(path)); got != want {
					t.Errorf("%s is open to %q, want %q: %v", path, got, want, c.Report.Named)
				}
			}
		})
	}
}

// TestNobodyWritesWhatAnotherRuns: a folder that one entry names holds the program of
// another, or its settings. That the other is not there is the control.
func TestNobodyWritesWhatAnotherRuns(t *testing.T) {
	for name, other := range map[string]func(home string) program.Program{
		"its script": func(home string) program.Program { return confinedProgram("node", home+"/shared/srv/index.js") },
		"its working folder": func(home string) program.Program {
			p := confinedProgram("npm", "start")
			p.Cwd = home + "/shared/srv"
			return p
		},
		"its settings": func(home string) program.Program { return served(home, "--config", home+"/shared/srv/conf.json") },
		"its env file": func(home string) program.Program { p := served(home); p.EnvFile = home + "/shared/srv/env"; return p },
		"its modules": func(home string) program.Program {
			p := served(home)
			p.Env = map[string]string{"NODE_PATH": home + "/shared/srv"}
			return p
		},
		"by a link": func(home string) program.Program { return confinedProgram("node", home+"/link/index.js") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, beside := range []bool{true, false} {
				h, home := confinedMachine(t)
				for _, file := range []string{"index.js", "package.json", "conf.json", "env"} {
					putFile(t, filepath.Join(home, "shared/srv", file), "")
				}
				relink(t, filepath.Join(home, "shared/srv"), filepath.Join(home, "link"))
				prog, want := served(home, filepath.Join(home, "shared")), "rxw"
				if beside {
					h.SetExecuted([]confinement.ExecutedPaths{h.ExecutedBy(prog), h.ExecutedBy(other(home))})
					want = "rx"
				}
				if got := rights(planOf(t, h, prog), filepath.Join(home, "shared/srv/index.js")); got != want {
					t.Errorf("beside it: %t; it is open to %q, want %q", beside, got, want)
				}
			}
		})
	}
}

// TestNamesLeaveNoTrace: what is told beforehand is what the plan says, and nothing is
// remembered or made for it.
func TestNamesLeaveNoTrace(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	putFile(t, at("vault/x"), "")
	prog := served(home, at("vault"), "--db="+at("new/x.db"), at(".ssh"))
	before := h.Preview(prog, nil).Named
	if len(before) != 4 {
		t.Fatalf("%v", before)
	}
	if _, err := os.Stat(at(".local/state/mcphub")); err == nil {
		t.Error("something was remembered")
	}
	news := h.News(prog)
	if !slices.Contains(news, "read, execute, write "+at("vault")) || !h.MarkAnnounced(prog) || h.MarkAnnounced(prog) || h.News(prog) != nil {
		t.Errorf("%q", news)
	}
	if after := planOf(t, h, prog).Report.Named; !slices.Equal(before, after) {
		t.Errorf("it was said\n%v\nand is\n%v", before, after)
	}
	c := planOf(t, h, prog)
	if err := c.Make(); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(at("new")); err != nil || !fi.IsDir() {
		t.Errorf("the folder of the file is not made: %v", err)
	}
	putFile(t, at("new/x.db"), "")
	putFile(t, at("new/index.bin"), "what the program makes beside it")
	if again := planOf(t, anew(h), prog); rights(again, at("new/index.bin")) != "rxw" || !again.Same(c) {
		t.Errorf("at the next start it is %q: %v", rights(again, at("new/index.bin")), again.Profile.Rules)
	}
}

// TestPackagesLeadElsewhere: a virtual environment, a linked module and a workspace are
// read, and what a link of a server's leads to is not.
func TestPackagesLeadElsewhere(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	for _, file := range []string{
		"pythons/3.9/bin/python3", "pythons/3.9/lib/os.py", "v/bin/python", "edited/pkg/__init__.py", "linked/dep/package.json", "linked/dep/index.js", "linked/deeper/package.json",
		"mono/package.json", "mono/node_modules/hoisted/index.js", "mono/packages/srv/package.json", "mono/packages/srv/index.js", "mono/packages/lib/package.json", "mono/packages/lib/i.js", "mono/secret",
		"keys/.ssh/id", "p/package.json", "p/index.js",
	} {
		putFile(t, at(file), "")
	}
	putFile(t, at("v/pyvenv.cfg"), "home = "+at("pythons/3.9/bin")+"\nversion = 3.9\n")
	putFile(t, at("v/lib/python3.9/site-packages/__editable__.pkg.pth"), at("edited")+"\nimport x\n"+home+"\n"+at(".ssh")+"\n")
	relink(t, at("linked/dep"), at("p/node_modules/dep"))
	relink(t, at("linked/deeper"), at("linked/dep/node_modules/@me/deeper"))
	relink(t, at("mono/packages/lib"), at("mono/node_modules/lib"))
	relink(t, at(".ssh"), at("p/node_modules/keys"))
	for name, tc := range map[string]struct {
		prog program.Program
		root string
		want map[string]string
	}{
		"a copied interpreter": {confinedProgram(at("v/bin/python"), "-m", "x"), "work/rooted", map[string]string{"pythons/3.9/lib/os.py": "rx", "edited/pkg/__init__.py": "rx", ".ssh/id_ed25519": ""}},
		"the same in a root":   {confinedProgram(at("v/bin/python"), "-m", "x"), "v", map[string]string{"pythons/3.9/lib/os.py": "", "edited/pkg/__init__.py": ""}},
		"a linked module":      {confinedProgram("node", at("p/index.js")), "work/rooted", map[string]string{"linked/dep/index.js": "rx", "linked/deeper/package.json": "rx", ".ssh/id_ed25519": ""}},
		"the same, in a root":  {confinedProgram("node", at("p/index.js")), "p", map[string]string{"linked/dep/index.js": ""}},
		"a workspace":          {confinedProgram("node", at("mono/packages/srv/index.js")), "work/rooted", map[string]string{"mono/node_modules/hoisted/index.js": "rx", "mono/packages/lib/i.js": "rx", "mono/secret": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			m := writable(h, home, tc.root)
			m.Host = m.Forgetful()
			c := planOf(t, m, tc.prog)
			for path, want := range tc.want {
				if got := rights(c, at(path)); got != want {
					t.Errorf("%s is open to %q, want %q: %v", path, got, want, c.Report.Closed)
				}
			}
			if got := rights(c, home); got != "" {
				t.Errorf("home is open to %q", got)
			}
		})
	}
}

// TestOwnScriptsOfPython: what a shell has Python run is a script, which has modules beside it; or it is not, and takes them
// from where it works.
func TestOwnScriptsOfPython(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	for file, text := range map[string]string{
		"bin/notes": "#!/bin/bash\nexec python3 " + at("srv/server.py") + " \"$@\"\n", "bin/module": "#!/usr/bin/env bash\npython3 -m server\n",
		"bin/both": "#!/bin/sh\npython3 a.py\npython3 -c 'import b'\n", "bin/other": "#!/usr/bin/env ruby\npython3 a.py\n",
		"bin/unknown": "#!/bin/sh\npython3 a.py; $RUN -m b\n", "work/rooted/run": "#!/bin/sh\npython3 a.py\n", "srv/server.py": "",
	} {
		putFile(t, at(file), text)
		if err := os.Chmod(at(file), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Store().Reach().Add(at("work/rooted")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		prog program.Program
		safe bool
	}{
		"a text":                      {confinedProgram("bash", "-c", "cd "+at("srv")+" && exec python3 server.py"), false},
		"a text behind env":           {confinedProgram("env", "A=b", "sh", "-c", "exec env C=d python3 "+at("srv/server.py")), false},
		"a text with a module":        {confinedProgram("bash", "-c", "cd "+at("srv")+" && exec python3 -m server"), true},
		"a text with code":            {confinedProgram("sh", "-c", "python3 -c 'import server'"), true},
		"a text that redirects first": {confinedProgram("sh", "-c", "exec 2>x; python3 "+at("srv/server.py")), false},
		"a shell without its text":    {confinedProgram("sh", "-c"), true},
		"a text of no shell":          {confinedProgram("node", "-e", "exec python3 "+at("srv/server.py")), true},
		"a text that runs what input": {confinedProgram("sh", "-c", "python3"), true},
		"a text without Python":       {confinedProgram("sh", "-c", "exec node "+at("srv/x.js")), true},
		"no text":                     {confinedProgram("sh", "-c", "exec 2>x; ("), true},
		"a script":                    {confinedProgram(at("bin/notes")), false},
		"a script of a shell":         {confinedProgram("bash", at("bin/notes")), false},
		"a script with a module":      {confinedProgram(at("bin/module")), true},
		"a script with both":          {confinedProgram(at("bin/both")), true},
		"a script of another kind":    {confinedProgram(at("bin/other")), true},
		"a script that hides it":      {confinedProgram(at("bin/unknown")), true},
		"a script in reach":           {confinedProgram(at("work/rooted/run")), true},
		"uv with a script":            {confinedProgram("uv", "--directory", at("srv"), "run", "server.py"), false},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := launch.Plan(tc.prog, rootsAt(at("work/rooted")), h)
			if l.Env == nil {
				t.Fatal(err)
			}
			if _, safe := envOf(l, "PYTHONSAFEPATH"); safe != tc.safe {
				t.Errorf("PYTHONSAFEPATH: %t, want %t", safe, tc.safe)
			}
		})
	}
}

// TestOwnModulesOfPython: modules come from a working folder that the entry names, if no
// server could have written.
func TestOwnModulesOfPython(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, h launch.Machine, prog *program.Program, dir string)
		safe   bool
	}{
		"out of reach":      {nil, false},
		"without a sandbox": {func(_ *testing.T, _ launch.Machine, p *program.Program, _ string) { p.Sandbox.Mode = sandbox.Off }, false},
		"by uv": {func(_ *testing.T, _ launch.Machine, p *program.Program, dir string) {
			p.Command, p.Args, p.Cwd = "uv", []string{"--directory", dir, "run", "-m", "pkg"}, ""
		}, false},
		"another folder":       {func(_ *testing.T, _ launch.Machine, p *program.Program, _ string) { p.Args[1] = "installed" }, true},
		"the session's folder": {func(_ *testing.T, _ launch.Machine, p *program.Program, _ string) { p.Cwd = "${root}" }, true},
		"the home folder": {func(t *testing.T, _ launch.Machine, p *program.Program, dir string) {
			p.Cwd = filepath.Dir(dir)
			putFile(t, filepath.Join(p.Cwd, "pkg/__main__.py"), "")
		}, true},
		"in reach of a server": {func(t *testing.T, h launch.Machine, _ *program.Program, dir string) {
			if err := h.Store().Reach().Add(dir); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h, home := confinedMachine(t)
			dir := filepath.Join(home, "srv")
			putFile(t, filepath.Join(dir, "pkg/__main__.py"), "")
			prog := confinedProgram("python3", "-m", "pkg")
			prog.Cwd = dir
			if tc.change != nil {
				tc.change(t, h, &prog, dir)
			}
			l, err := launch.Plan(prog, rootsAt(filepath.Join(home, "work/rooted")), h)
			if err != nil {
				t.Fatal(err)
			}
			if _, safe := envOf(l, "PYTHONSAFEPATH"); safe != tc.safe {
				t.Errorf("PYTHONSAFEPATH: %t, want %t", safe, tc.safe)
			}
		})
	}
}
