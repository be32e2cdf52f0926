package confinement

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/wellknown"
)

func ruleOf(path string, a sandbox.Access) sandbox.Rule { return sandbox.Rule{Path: path, Access: a} }

// What is opened for writing is where children may write, and what is opened for reading is not. A file is watched.
func TestWhatIsOpenedForWriting(t *testing.T) {
	h, at := smallHost(t, map[string]string{"read/x": "", "written/x": ""})
	o := opening{h: h}
	rules := []sandbox.Rule{ruleOf(at("read"), runs), ruleOf(at("read/x"), runs), ruleOf(at("written"), all)}
	o.openForWriting(rules)
	if !slices.Equal(o.rules, rules) || !slices.Equal(o.h.boundary.Areas, rules[2:]) || !slices.Equal(o.watched, []string{at("read/x")}) {
		t.Errorf("%v; areas %v; watched %q", o.rules, o.h.boundary.Areas, o.watched)
	}
	if len(h.boundary.Areas) != 0 {
		t.Errorf("the host has changed: %v", h.boundary.Areas)
	}
}

// Each path that the entry opens for writing is a file of the hub, a place of the boundary, or refused with a reason, whatever the one before it is.
func TestWhatAnEntryOpensForWriting(t *testing.T) {
	h, at := smallHost(t, map[string]string{"withheld/x": "", "file": "", "folder/x": ""})
	if err := os.Chmod(at("file"), 0o600); err != nil { // it is no program
		t.Fatal(err)
	}
	h = h.WithKernel(sandbox.Kernel{ABI: 7, Filters: true, Drops: true})
	h.boundary.Withheld = []string{at("withheld"), at("folder/x")}
	c := confining{host: h, settings: sandbox.Settings{Write: []string{at("withheld"), at("file"), at("folder"), "/dev/null"}}}
	c.openForWriting()
	if areas := c.host.boundary.Areas; len(c.notWritable) != 1 || len(c.files) != 1 || c.files[0].Path() != at("file") || !slices.Equal(c.files[0].Never, []string{"withheld"}) || !slices.Equal(areas, []sandbox.Rule{ruleOf(at("folder"), all), ruleOf("/dev/null", all|sandbox.Device)}) {
		t.Errorf("refused: %q; files %+v; areas %v", c.notWritable, c.files, areas)
	}
}

// A launcher opens the folder in which it starts, and the script that leads on; a child that starts in its own folder opens neither.
func TestWhatALauncherOpens(t *testing.T) {
	h, at := smallHost(t, map[string]string{"s/x": "", "s/sh": ""})
	scratch, shell := ruleOf(at("s"), sandbox.Read), ruleOf(at("s/sh"), runs)
	for name, tc := range map[string]struct {
		child Child
		want  []sandbox.Rule
	}{
		"in its own folder":      {Child{Dir: at("d"), Scratch: at("s"), Shell: at("s/sh")}, nil},
		"in the empty folder":    {Child{Dir: at("s"), Scratch: at("s")}, []sandbox.Rule{scratch}},
		"which leads on":         {Child{Dir: at("d"), StartDir: at("s"), Scratch: at("s"), Shell: at("s/sh")}, []sandbox.Rule{scratch, shell}},
		"without a script":       {Child{Dir: at("d"), StartDir: at("s"), Scratch: at("s")}, []sandbox.Rule{scratch}},
		"from its copy":          {Child{Dir: at("d"), Scratch: at("s"), Installed: &program.Installed{Dir: at("c")}}, []sandbox.Rule{ruleOf(at("c"), runs)}},
		"a copy, and the folder": {Child{Dir: at("s"), Scratch: at("s"), Installed: &program.Installed{Dir: at("c")}}, []sandbox.Rule{scratch, ruleOf(at("c"), runs)}},
	} {
		o := opening{h: h}
		if o.openLauncher(tc.child); !slices.Equal(o.rules, tc.want) {
			t.Errorf("%s: %v, want %v", name, o.rules, tc.want)
		}
	}
}

// The settings of a version manager are open if anything of it is.
func TestSettingsOfVersionManagers(t *testing.T) {
	h, at := smallHost(t, map[string]string{".asdfrc": "", ".asdf/x": "", ".config/mise/config.toml": ""})
	for home, want := range map[string]int{at(""): 1, "": 0} {
		o := opening{h: h, rules: []sandbox.Rule{ruleOf(at(".asdf/x"), runs)}}
		o.h.home = home
		if o.versionSettings(); len(o.rules) != 1+want || want == 1 && o.rules[1].Path != at(".asdfrc") || len(o.closed) > 0 {
			t.Errorf("home %q: %v; %q", home, o.rules, o.closed)
		}
	}
	o := opening{h: h, rules: []sandbox.Rule{ruleOf(at("x"), runs)}}
	if o.versionSettings(); len(o.rules) != 1 {
		t.Errorf("nothing of a manager is open: %v", o.rules)
	}
}

// Rules that hold what is withheld conflict, if the kernel cannot except it. The closed folder is no conflict: the rule is made around it.
func TestConflictsWithTheBoundary(t *testing.T) {
	h, at := smallHost(t, map[string]string{"a/kept": "", "b/x": ""})
	h.memory = newMemory(at("a"))
	closed := h.closedFolder()
	h.boundary.Withheld = []string{closed, at("b/x")}
	rules := []sandbox.Rule{ruleOf(filepath.Dir(closed), all), ruleOf(at("b"), runs)}
	for excepts, want := range map[bool]int{false: 1, true: 0} {
		k := sandbox.Kernel{ABI: 7, Filters: true}
		if excepts {
			k.Seatbelt = func() error { return nil }
		}
		o := opening{h: h.WithKernel(k), rules: rules}
		if o.compareWithBoundary(); len(o.conflicts) != want || want == 1 && !strings.Contains(o.conflicts[0], at("b/x")) {
			t.Errorf("the kernel excepts: %t; %q", excepts, o.conflicts)
		}
	}
}

// A path that is watched opens only what is there.
func TestEndsOfWays(t *testing.T) {
	h, at := smallHost(t, map[string]string{"x": "", "to/keys": "-> .aws/x", ".aws/x": ""})
	for path, want := range map[string]int{"x": 1, "gone": 0, "to/keys": 0} {
		for _, watch := range []bool{true, false} {
			o := opening{h: h}
			why := o.openPath(at(path), runs, watch)
			if len(o.rules) != want || (len(o.watched) == 1) != (watch && want == 1) || (why != "") != (path == "to/keys") {
				t.Errorf("%s: %v, watched %q: %s", path, o.rules, o.watched, why)
			}
		}
	}
}

// A program that is not opened ends the child, and a part of it does not.
func TestPartsOfAProgram(t *testing.T) {
	h, at := smallHost(t, map[string]string{"p/x": "", "keys": "-> .aws/x", ".aws/x": "", "w/y": "", "w/keys": "-> .aws/x"})
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("w"), all)}
	o := opening{h: h, parts: []part{{file: at("keys"), name: "a", main: true}, {file: at("keys"), name: "b"}, {file: at("p/x"), name: "c"}, {file: at("w/y"), name: "d"}}}
	o.ofProgram(nil)
	if o.programClosed == "" || len(o.closed) != 1 || !slices.Equal(o.rules, []sandbox.Rule{ruleOf(at("p/x"), runs), ruleOf(at("p"), runs), ruleOf(at("w/y"), runs)}) {
		t.Errorf("%v; %q; %q", o.rules, o.programClosed, o.closed)
	}
	o = opening{h: h, parts: []part{{file: at("copy/x"), name: "e"}, {file: at("p/x"), name: "f"}}}
	if o.ofProgram(&program.Installed{Dir: at("copy")}); !slices.Equal(o.rules, []sandbox.Rule{ruleOf(at("p/x"), runs), ruleOf(at("p"), runs)}) {
		t.Errorf("behind a part of its copy: %v", o.rules)
	}
}

// The folders of a child's own are in its environment, unless its entry names others or it installs something.
func TestFoldersOfAChild(t *testing.T) {
	skipOnWindows(t)
	for name, tc := range map[string]struct {
		child Child
		users bool
		rules []string
		want  map[string]string
	}{
		"none":                {Child{}, false, nil, map[string]string{"TMPDIR": "", "XDG_CACHE_HOME": "", "npm_config_cache": ""}},
		"all":                 {Child{Temp: "/t", Cache: "/c"}, false, []string{"/t", "/c"}, map[string]string{"TMPDIR": "/t", "XDG_CACHE_HOME": "/c", "npm_config_cache": filepath.Join("/c", "npm")}},
		"the user's cache":    {Child{Temp: "/t", Cache: "/c"}, true, []string{"/t", "/c"}, map[string]string{"XDG_CACHE_HOME": "", "npm_config_cache": filepath.Join("/c", "npm")}},
		"that it says itself": {Child{Temp: "/t", Program: program.Program{Env: map[string]string{"TMPDIR": "/u"}}}, false, []string{"/t"}, map[string]string{"TMPDIR": ""}},
		"that it fills":       {Child{Temp: "/t", Fresh: "/f", Program: program.Program{Env: map[string]string{"TMPDIR": "/u"}}}, false, []string{"/t", "/f"}, map[string]string{"TMPDIR": "/t"}},
	} {
		tc.child.Env = program.NewEnvironment("linux")
		var got []string
		for _, r := range tc.child.privateFolders(tc.users) {
			got = append(got, r.Path)
		}
		if !slices.Equal(got, tc.rules) {
			t.Errorf("%s: %q", name, got)
		}
		for key, want := range tc.want {
			if value, _ := tc.child.Env.Get(key); value != want {
				t.Errorf("%s: %s is %q, want %q", name, key, value, want)
			}
		}
	}
}

// The cache of a program is the one that its own environment names, if that is absolute.
func TestTheCacheOfAProgram(t *testing.T) {
	skipOnWindows(t)
	for _, tc := range []struct{ system, home, key, value, want string }{
		{"linux", "/u", "LOCALAPPDATA", "/l", "/u/.cache"}, {"windows", "/u", "LOCALAPPDATA", "/l", "/l"}, {"windows", "/u", "LOCALAPPDATA", "l", "/u/.cache"}, {"linux", "", "XDG_CACHE_HOME", "x", ""}, {"linux", "u", "x", "", ""},
	} {
		h := Host{system: tc.system, home: tc.home}
		env := program.NewEnvironment("linux")
		env.Set(tc.key, tc.value)
		if got := h.cacheDir(env); got != tc.want {
			t.Errorf("%v: %q", tc, got)
		}
	}
}

// The state of the hub lies in the folder that the variable names, or in the home folder if the home folder is absolute.
func TestTheStateFolder(t *testing.T) {
	h, at := smallHost(t, nil)
	for value, want := range map[string]string{"": at(".local/state/mcphub"), "rel": at(".local/state/mcphub"), "/s": "/s/mcphub"} {
		h.environ = []string{"XDG_STATE_HOME=" + value}
		if got := h.stateFolder(); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
	h.environ = []string{}
	for _, home := range []string{"", "rel"} {
		if h.home = home; h.stateFolder() != "" {
			t.Errorf("home %q: %q", home, h.stateFolder())
		}
	}
	client := h.WithClientEnv([]string{"A=b"})
	if !slices.Equal(client.environ, []string{"A=b"}) {
		t.Errorf("a client has %q", client.environ)
	}
	if other := client.WithClientEnv(nil); !slices.Equal(other.environ, client.environ) || !slices.Equal(client.ofHub(), h.environ) || client.ofHub() == nil {
		t.Errorf("the environment of the hub: %q, of the client %q", client.ofHub(), other.environ)
	}
}

// What a profile opens: the places that are there, each once, and no folder that holds more than one program's files.
func TestWhatAProfileOpens(t *testing.T) {
	h, at := smallHost(t, map[string]string{".app/x": "", "b/one/x": "", ".config/x": "", "w/x": "", "bin/tool": "", "w/other": "", "to/keys": "-> .aws/x", ".aws/x": ""})
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("w"), all)}
	child := Child{Env: program.Inherited([]string{"PATH=" + at("bin") + ":" + at("w"), "HERE=" + at("b/one") + ":rel:" + at("b/two")}, []string{"HERE"}, "linux")}
	g := h.grantTo(&wellknown.Kernel{
		Write: []string{"~/.app", "~/.new", "~/.config", "~", "~/w/own", "$NONE/x|$CACHE/y"}, Read: []string{"$HERE/x", "~/.app/x", "~/to/keys", "~/gone"}, Tools: []string{"none", "tool", "other"}, Terminals: true, Proc: true,
	}, child, at(".cache"))
	rw := sandbox.Read | sandbox.Write
	want := []sandbox.Rule{ruleOf(at(".app"), rw), ruleOf(at(".new"), rw), ruleOf(at(".cache/y"), rw), ruleOf(at("b/one/x"), runs), ruleOf(at(".app/x"), runs), ruleOf(at("bin/tool"), runs), ruleOf(at("bin"), runs)}
	if os.Geteuid() != 0 { // root may write all of it
		want = append(want, ruleOf("/proc", sandbox.Write))
	}
	if !slices.Equal(g.rules, want) || len(g.texts) != len(want)+1 || len(g.makes) != 3 || len(g.lacks) != 2 || len(g.closed) != 1 {
		t.Errorf("%v, want %v; %q; it makes %v; it lacks %q; closed %q", g.rules, want, g.texts, g.makes, g.lacks, g.closed)
	}
	for _, root := range []bool{true, false} {
		h.root = root
		if g = h.grantTo(&wellknown.Kernel{Proc: true}, child, ""); (len(g.rules) == 0) != root {
			t.Errorf("as root: %t; %v", root, g.rules)
		}
	}
	if g = h.grantTo(&wellknown.Kernel{}, child, ""); len(g.rules)+len(g.texts)+len(g.makes) > 0 {
		t.Errorf("a profile of nothing: %+v", g)
	}
	g = &grant{}
	g.addRule("x", at("x"), runs)
	if g.addRule("y", at("x"), runs); len(g.rules) != 1 || len(g.texts) != 1 {
		t.Errorf("a rule is there twice: %v %q", g.rules, g.texts)
	}
}

// A folder is one program's own if it is below the home folder, and none that users keep more than one program's files in.
func TestFoldersOfOneProgram(t *testing.T) {
	h, at := smallHost(t, map[string]string{".config/x": "", "to/home": "-> "})
	for dir, want := range map[string]bool{at(""): false, at("to/home"): false, filepath.Dir(at("")): false, at("x"): true, at(".x"): true, at(".config"): false, at(".config/x"): true, at(".local"): false, at(".ssh"): false, at(".ssh/x"): false, "/": false, "/opt": false, "/opt/x": true} {
		if got := h.ownFolder(dir); got != want {
			t.Errorf("%s: %t", dir, got)
		}
	}
	if h.home = ""; !h.ownFolder("/opt/x") || h.ownFolder("/opt") {
		t.Error("without a home folder")
	}
}

// The real path of what need not be there.
func TestPathsWithoutLinks(t *testing.T) {
	h, at := smallHost(t, map[string]string{"a/x": "", "link": "-> a", "far/deep/x": "", "far/y": "", "to/deep": "-> far/deep"})
	if err := os.Symlink("to/deep/../y", at("odd")); err != nil { // the system alone knows what is above what a link leads to
		t.Fatal(err)
	}
	for path, want := range map[string]string{at("odd"): at("far/y"), at("a/x"): at("a/x"), at("link/x"): at("a/x"), at("link/y/z"): at("a/y/z"), at("gone/y"): at("gone/y"), "/": "/", "rel/x": ""} {
		if want == "" {
			dir, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			if got := h.resolvePath(path); got != path && got != filepath.Join(dir, path) {
				t.Errorf("%s: %s", path, got)
			}
		} else if got := h.resolvePath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// The memory server is told to keep its file in the hub's state folder, with what it knew, unless its entry says where.
func TestTheFileOfTheMemoryServer(t *testing.T) {
	place := "node_modules/@modelcontextprotocol/server-memory/dist"
	h, at := smallHost(t, map[string]string{"a/" + place + "/memory.jsonl": "a", ".npm/_npx/1/" + place + "/memory.json": "b", "w/" + place + "/memory.jsonl": "c", "npm/_npx/1/" + place + "/x": "", "cache/_npx/2/" + place + "/memory.jsonl": "d", "x/memory.jsonl": "e"})
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("w"), all)}
	file := at(".local/state/mcphub/servers/memory/memory.jsonl")
	try := func(h Host, env, envFile string, args ...string) (*grant, string) {
		t.Helper()
		child := Child{Env: program.NewEnvironment("linux"), Command: "/usr/bin/node", Args: args, Program: program.Program{EnvFile: envFile}}
		if env != "-" {
			child.Env.Set(memoryVariable, env)
		}
		g := &grant{}
		g.openMemoryFile(child, h)
		value, _ := child.Env.Get(memoryVariable)
		return g, value
	}
	for env, lacks := range map[string]int{"/m": 0, "~/m": 0, "m": 1} {
		if g, value := try(h, env, ""); len(g.rules)+len(g.makes) > 0 || len(g.lacks) != lacks || value != env {
			t.Errorf("%s: %+v, %s", env, g, value)
		}
	}
	if g, _ := try(h, "-", "/env"); len(g.rules) > 0 {
		t.Errorf("with a file of variables: %+v", g)
	}
	homeless := h
	homeless.home = ""
	if g, _ := try(homeless, "-", ""); len(g.rules) > 0 {
		t.Errorf("without a home folder: %+v", g)
	}
	for n, name := range []string{"a/" + place + "/memory.jsonl", ".npm/_npx/1/" + place + "/memory.json", "w/" + place + "/memory.jsonl", "x/memory.jsonl"} {
		when := time.Unix(1_700_000_000+int64(n), 0)
		if err := os.Chtimes(at(name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	script, planted := at("a/"+place+"/index.js"), at("w/"+place+"/index.js")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"the newest":   {[]string{script, planted}, at(".npm/_npx/1/" + place + "/memory.json")},
		"a relative":   {[]string{script, planted}, at(".npm/_npx/1/" + place + "/memory.json")},
		"without npx":  {[]string{script, "rel", at("x/index.js")}, at("a/" + place + "/memory.jsonl")},
		"of npm's own": {nil, at("cache/_npx/2/" + place + "/memory.jsonl")},
		"none":         {nil, ""},
	} {
		h := h
		switch name {
		case "without npx", "none":
			h.environ = []string{"npm_config_cache=" + at("npm")}
		case "a relative":
			h.environ = []string{"npm_config_cache=npm"}
		case "of npm's own":
			h.environ = []string{"NPM_CONFIG_CACHE=" + at("cache")}
		}
		g, value := try(h, "", "", tc.args...)
		if value != file || len(g.rules) != 1 || g.rules[0].Path != filepath.Dir(file) || len(g.makes) != 1 || g.makes[0].From != tc.want {
			t.Errorf("%s: %+v, %s", name, g, value)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if g, _ := try(h, "", "", script); len(g.makes) != 1 || g.makes[0].From != "" {
		t.Errorf("it has a file: %+v", g)
	}
}

// All folders are made, and a file is copied into one of them if it is not there yet.
func TestWhatIsMade(t *testing.T) {
	_, at := smallHost(t, map[string]string{"from": "new", "old/file": "old"})
	c := Confinement{Makes: []StateFolder{{Folder: at("empty")}, {Folder: at("old"), File: "file", From: at("from")}, {Folder: at("new"), File: "file", From: at("from")}, {Folder: at("last")}}}
	if err := c.Make(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"old/file": "old", "new/file": "new"} {
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	for _, dir := range []string{"empty", "last"} {
		if !sandbox.IsDir(at(dir)) {
			t.Errorf("%s is not made", dir)
		}
	}
	for name, makes := range map[string]StateFolder{"below a file": {Folder: at("from/x")}, "from nothing": {Folder: at("new"), File: "other", From: at("gone")}, "to no name": {Folder: at("new"), File: "x/y", From: at("from")}} {
		if err := (&Confinement{Makes: []StateFolder{makes}}).Make(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What an entry has made is kept for the next hub if anything is kept.
func TestWhatAnEntryHasMade(t *testing.T) {
	skipOnWindows(t)
	for name, tc := range map[string]struct {
		keeper *memory
		kept   bool
	}{"no memory": {nil, false}, "a memory of this process": {newMemory(""), false}, "a memory": {newMemory(t.TempDir()), true}} {
		var m mades
		made := m.madeBy("a", tc.keeper)
		if (made.File != nil) != tc.kept || m.madeBy("a", nil) != made || m.madeBy("b", nil) == made {
			t.Errorf("%s: %+v", name, made)
		}
	}
}

// Children may have put a file where they write, by any of its names, unless a root holds the home folder.
func TestWhatChildrenMayHavePut(t *testing.T) {
	h, at := smallHost(t, map[string]string{"w/x": "", "r/x": "", "to/w": "-> w/x", "w/out": "-> r/x"})
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("w"), all), ruleOf(at("r"), runs)}
	for path, want := range map[string]bool{"w/x": true, "r/x": false, "to/w": true, "w/out": true, "gone": false, "w/gone": true} {
		if got := h.Planted(at(path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	if !h.isReachable(at("w")) || h.isReachable(at("r")) {
		t.Error("without a memory, servers write where the boundary lets them")
	}
	h.boundary.Areas = []sandbox.Rule{ruleOf(filepath.Dir(at("")), all)}
	if h.Planted(at("w/x")) {
		t.Error("a root that holds the home folder")
	}
	if h.home = ""; !h.Planted(at("w/x")) {
		t.Error("without a home folder")
	}
}

// What all programs open is followed once for those that start together, if nothing of it is closed: by the same boundary, the same PATH and
// the same memory of names. What is closed is followed for each.
func TestCommonIsFollowedOnce(t *testing.T) {
	h, at := smallHost(t, map[string]string{"tool/x": "", "to/tool": "-> tool", "more/x": ""})
	h.memory, h.looks = newMemory(""), sandbox.NewLstatCache()
	env := program.Inherited([]string{"PATH=" + at("to/tool")}, nil, "linux")
	opens := func(h Host, env *program.Environment) (tool bool, closed int) {
		o := opening{h: h}
		o.openCommon(env)
		return slices.ContainsFunc(o.rules, func(r sandbox.Rule) bool { return r.Path == at("tool") }), len(o.closed)
	}
	was := func(dir string) { h.memory.led[at("to/tool")] = []string{at(dir) + "/"} }
	was("other")
	if tool, closed := opens(h, env); tool || closed != 1 {
		t.Fatalf("of a name that led elsewhere: %t, %d closed", tool, closed)
	}
	was("tool")
	if tool, closed := opens(h, env); !tool || closed != 0 {
		t.Errorf("once that was accepted: %t, %d closed", tool, closed)
	}
	h.looks = sandbox.NewLstatCache()
	if tool, _ := opens(h, env); !tool {
		t.Fatal("it is closed to the first")
	}
	was("other")
	if tool, closed := opens(h, env); !tool || closed != 0 {
		t.Errorf("the next that starts with it: %t, %d closed", tool, closed)
	}
	later, narrower, wider, dry, longer := h, h, h, h, program.Inherited([]string{"PATH=" + at("to/tool") + ":" + at("more")}, nil, "linux")
	later.looks = sandbox.NewLstatCache()
	narrower.boundary.Withheld = []string{at("more/x")}
	wider.boundary.Areas = []sandbox.Rule{{Path: at("more"), Access: sandbox.Read}}
	dry.memory = h.memory.previewCopy()
	dry.memory.led[at("to/tool")] = []string{at("other") + "/"}
	for name, other := range map[string]struct {
		h   Host
		env *program.Environment
	}{"later": {later, env}, "another boundary": {narrower, env}, "another area": {wider, env}, "a preview": {dry, env}, "another PATH": {h, longer}} {
		if tool, closed := opens(other.h, other.env); tool || closed != 1 {
			t.Errorf("%s: %t, %d closed", name, tool, closed)
		}
	}
}

// Of what every program needs, the system's places are looked at once for some time, and the user's by each.
func TestUsersBaseIsLookedAtAgain(t *testing.T) {
	h, at := smallHost(t, nil)
	opened := func() (users, systems bool) {
		o := opening{h: h.WithLookupCache()}
		o.openBase()
		users = slices.ContainsFunc(o.rules, func(r sandbox.Rule) bool { return r.Path == at(".local/bin") })
		return users, slices.ContainsFunc(o.rules, func(r sandbox.Rule) bool { return onlySystem([]string{r.Path}) })
	}
	if users, systems := opened(); users || !systems {
		t.Fatalf("before it is there: %t, the system's %t", users, systems)
	}
	seen := h.base.recentLooks()
	if err := os.MkdirAll(at(".local/bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if users, systems := opened(); !users || !systems {
		t.Errorf("once it is there: %t, the system's %t", users, systems)
	}
	if h.base.recentLooks() != seen && seen.InBurst() != nil {
		t.Error("the system's places are looked at again")
	}
}

// Git reads a file of settings by itself if a rule lets the child read the file, and no other rule counts.
func TestSettingsThatRulesOpen(t *testing.T) {
	h, at := smallHost(t, map[string]string{"settings": "[a]\n\tb = c\n"})
	for access, want := range map[sandbox.Access]bool{sandbox.Read: true, sandbox.Write: false} {
		clone := gitCopy{o: &opening{h: h, rules: []sandbox.Rule{ruleOf(at(""), access)}}, names: map[string]string{}}
		if clone.readFile(at("settings")); clone.incomplete == want {
			t.Errorf("a rule to %s: git reads it by itself: %t", access, !clone.incomplete)
		}
	}
}

// A part that children may have written does not keep the parts behind it from being looked at.
func TestPartsThatShare(t *testing.T) {
	h, at := smallHost(t, nil)
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("w"), all)}
	for file, want := range map[string]bool{at("bin/python3"): true, at("w/python3"): false} {
		got := shares{}.addShares(program.Program{Command: "/opt/x"}, []part{{file: at("w/python3")}, {file: file}}, h)
		if got.memory != want {
			t.Errorf("behind a planted one, %s has the shared memory: %t", file, got.memory)
		}
	}
}
