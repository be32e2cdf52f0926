package confinement

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/entry"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/reference"
	"mcphub/internal/wellknown"
)

// A link into keys, into the hub's own folders, or to what holds more than one program's files is never followed.
func TestLinksThatAreNeverFollowed(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"x/y": "", ".aws/x": "", ".local/state/mcphub/x/y": "", ".nvm/v20/x": "", "with/.aws/x": "", "file": "",
		"to/x": "-> x", "to/y": "-> x/y", "to/aws": "-> .aws", "to/key": "-> .aws/x", "to/state": "-> .local/state/mcphub", "to/deep": "-> .local/state/mcphub/x/y", "to/hub": "-> .local/state", "to/home": "-> ", "to/gone": "-> gone", "to/nvm": "-> .nvm/v20", "to/config": "-> .config", ".config/x": "",
		"other/.aws/x": "-> .aws/x", ".local/state/mcphub/x/z": "-> .local/state/mcphub/x/y", ".local/state/mcphub/out": "-> x/y",
	})
	if err := os.Symlink("/usr", at("to/usr")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"to/usr": false, "x": false, ".aws/x": false, "": false, ".local/state/mcphub/x": false, "to/x": false, "to/y": false, "to/gone": false, "to/nvm": false, "other/.aws/x": false, ".local/state/mcphub/x/z": false, ".local/state/mcphub/out": false,
		"to/aws": true, "to/key": true, "to/state": true, "to/deep": true, "to/hub": true, "to/home": true, "to/config": true,
	} {
		w := h.wayOf(at(path))
		if why := h.neverReason(&w); (why != "") != want {
			t.Errorf("%s: %q", path, why)
		}
		if why := h.refusedLink(&w, false); (why != "") != want {
			t.Errorf("%s: it says %q", path, why)
		}
		if why := h.refusedLink(&w, true); (why != "") != (want || w.end != nil && w.end.IsDir()) {
			t.Errorf("%s instead of a file: it says %q", path, why)
		}
	}
	linked := filepath.Join(filepath.Dir(filepath.Dir(at(""))), "linked")
	if err := os.Symlink(filepath.Dir(at("")), linked); err != nil {
		t.Fatal(err)
	}
	h.home = filepath.Join(linked, "u") // a home folder by a link
	for path, want := range map[string]bool{"to/home": true, "to/config": true, "to/x": false} {
		w := h.wayOf(at(path))
		if why := h.neverReason(&w); (why != "") != want {
			t.Errorf("with a home folder by a link, %s: %q", path, why)
		}
	}
	h.home = ""
	for path, want := range map[string]bool{"to/config": false, "to/x": false} {
		w := h.wayOf(at(path))
		if why := h.neverReason(&w); (why != "") != want && !strings.Contains(why, "client") {
			t.Errorf("without a home folder, %s: %q", path, why)
		}
	}
}

// A place ends in a slash if it is a folder, or may become one. What Kubernetes mounts again is the same place.
func TestPlacesAtTheEnd(t *testing.T) {
	h, at := smallHost(t, map[string]string{"d/x": "", "m/..2024_01_02_03/f": "", "m/f": "-> m/..2024_01_02_03/f"})
	for path, want := range map[string][2]string{"d": {"d/", "d"}, "d/x": {"d/x", "d/x"}, "gone": {"gone/", "gone"}, "m/f": {"m/..data/f", "m/..data/f"}} {
		w := h.wayOf(at(path))
		if got := [2]string{w.endPlace(false), w.endPlace(true)}; got != [2]string{at("") + "/" + want[0], at("") + "/" + want[1]} {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// What the boundary lets be opened: nothing that is withheld, by its name or by a link, and nothing by a link of a server.
func TestWaysInTheBoundary(t *testing.T) {
	h, at := smallHost(t, map[string]string{"kept/x": "", "out/x": "", "w/in": "-> w/y", "w/y": "", "w/out": "-> out/x", "to/kept": "-> kept/x", "to/out": "-> out/x", "kept/out": "-> out/x"})
	h.boundary = sandbox.Boundary{Areas: []sandbox.Rule{ruleOf(at("w"), all)}, Withheld: []string{at("kept")}}
	for path, want := range map[string]bool{"out/x": true, "kept/x": false, "to/kept": false, "kept/out": false, "to/out": true, "w/in": true, "w/out": false, "gone": true} {
		w := h.wayOf(at(path))
		if got := h.inBoundary(&w); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	for path, want := range map[string][2]bool{"out/x": {}, "kept/x": {true, false}, "to/kept": {true, false}, "kept/out": {true, false}, "w/out": {false, true}, "w/in": {}} {
		if got := [2]bool{h.withheldReason("read", at(path)) != "", h.linkedReason(at(path)) != ""}; got != want {
			t.Errorf("%s is withheld: %t, and refused as a link: %t", path, got[0], got[1])
		}
	}
}

// The hub reads a file for a child unless it is the hub's own, withheld, a key by a link, or a folder, or leads elsewhere than what was found.
func TestWhatTheHubReads(t *testing.T) {
	h, at := smallHost(t, map[string]string{"x": "", "d/y": "", ".local/state/mcphub/x": "", ".aws/x": "", "to/aws": "-> .aws/x", "to/x": "-> x", "w/x": "-> x", "to/d": "-> d", "to/y": "-> d/y"})
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("w"), all)}
	for name, tc := range map[string]struct {
		path, real, want string
	}{
		"a file":                    {"x", "x", ""},
		"by a link":                 {"to/x", "x", ""},
		"the hub's own":             {".local/state/mcphub/x", ".local/state/mcphub/x", "the hub's own"},
		"a key by a link":           {"to/aws", ".aws/x", "keys and credentials"},
		"a folder by a link":        {"to/d", "d", "a file by its nature"},
		"a link of a server":        {"w/x", "x", "by a link where servers write"},
		"one that led elsewhere":    {"to/y", ".aws/x", "keys and credentials"},
		"one that led to the hub's": {"to/y", ".local/state/mcphub/x", "the hub's own"},
	} {
		err := h.CheckRead(at(tc.path), at(tc.real))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// The memory has one line for each file of an entry that the hub reads, and none for a value that names no file.
func TestFilesAreRemembered(t *testing.T) {
	h, at := smallHost(t, map[string]string{"a": "", "b": "", "env": ""})
	h.memory = newMemory(at(".local/state/mcphub"))
	mark := func(kind reference.Kind, name string) string { return reference.Ref{Kind: kind, Name: at(name)}.Mark() }
	prog := program.Program{Command: "x", Args: []string{mark(reference.File, "a"), mark(reference.Keyring, "c")}, Env: map[string]string{"B": mark(reference.File, "b")}, EnvFile: at("env")}
	if !h.RememberFiles(prog) || h.RememberFiles(prog) {
		t.Error("the entry is not new once")
	}
	for name, want := range map[string]bool{"a": true, "b": true, "env": true, "c": false} {
		if got := h.memory.knowsName(at(name)); got != want {
			t.Errorf("%s is remembered: %t", name, got)
		}
	}
	if prog.EnvFile = "rel"; !h.RememberFiles(prog) || h.memory.knowsName("rel") {
		t.Error("a file whose place is not known is remembered")
	}
}

// The interpreters and scripts that a child is made of, each once.
func TestPartsByWords(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"bin/node": "", "bin/own": "", "srv/run.js": "#!" + "/usr/bin/env node\n", "srv/x": "", "c/bin/server": "#!/usr/bin/env node\n", "line": "#!/opt/other/run -x A=b\n", "gone/x": "",
	})
	env := program.Inherited([]string{"PATH=rel:" + at("none") + ":" + at("bin")}, nil, "linux")
	if err := os.Chmod(at("srv/x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"node": at("bin/node"), "x": "", "bin/node": "", "": ""} {
		if got := h.lookUp(env, name); got != want {
			t.Errorf("%q is found at %q", name, got)
		}
	}
	for name, tc := range map[string]struct {
		child Child
		want  []string // the names of its parts, and whether it runs without them
	}{
		"by its name":       {Child{Program: program.Program{Command: "node"}, Command: at("bin/node")}, []string{"program node!"}},
		"by its path":       {Child{Program: program.Program{Command: at("bin/node")}, Command: at("bin/node")}, []string{"program " + at("bin/node") + "!"}},
		"a copy":            {Child{Program: program.Program{Command: "npx"}, Command: at("c/bin/server"), Installed: &program.Installed{Dir: at("c"), Command: at("c/bin/server"), Beside: []string{"own", at("srv/x"), "none"}}}, []string{"program " + at("c/bin/server") + "!", "program own", "program " + at("srv/x"), "program node"}},
		"a script of it":    {Child{Program: program.Program{Command: "node"}, Command: at("bin/node"), Args: []string{"run.js"}, Dir: at("srv")}, []string{"program node!"}},
		"a script by cwd":   {Child{Program: program.Program{Command: "node", Cwd: at("srv")}, Command: at("bin/node"), Args: []string{"run.js"}, Dir: at("srv")}, []string{"program node!", "program " + at("srv/run.js") + "!"}},
		"one below it":      {Child{Program: program.Program{Command: "node"}, Command: at("bin/node"), Args: []string{"./srv/run.js"}, Dir: at("")}, []string{"program node!", "program " + at("srv/run.js") + "!"}},
		"by a whole path":   {Child{Program: program.Program{Command: "node"}, Command: at("bin/node"), Args: []string{at("srv/run.js")}, Dir: at("")}, []string{"program node!", "program " + at("srv/run.js") + "!"}},
		"the first line":    {Child{Program: program.Program{Command: at("line")}, Command: at("line")}, []string{"program " + at("line") + "!", "the first line of " + at("line")}},
		"what is behind it": {Child{Program: program.Program{Command: "node"}, Command: at("bin/node"), Args: []string{at("srv/run.js"), at("line")}, Dir: at("")}, []string{"program node!", "program " + at("srv/run.js") + "!"}},
	} {
		tc.child.Env = env
		var got []string
		for _, p := range h.programParts(tc.child) {
			if p.main {
				p.name += "!"
			}
			got = append(got, p.name)
		}
		for _, want := range tc.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q, want %q", name, got, tc.want)
			}
		}
		if got[0] != tc.want[0] || len(got) != len(slices.Compact(slices.Sorted(slices.Values(got)))) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	bare := Child{Program: program.Program{Command: "node"}, Command: at("bin/node"), Args: []string{"run.js"}, Dir: at("srv"), Env: env}
	if slices.ContainsFunc(h.programParts(bare), func(p part) bool { return p.file == at("srv/run.js") }) {
		t.Error("a script that the entry does not place is a part")
	}
	wrapped := Child{Program: program.Program{Command: "env", Cwd: at("srv")}, Command: "/usr/bin/env", Args: []string{"own"}, Dir: at("srv"), Env: env}
	if slices.ContainsFunc(h.programParts(wrapped), func(p part) bool { return p.file == at("srv/own") }) {
		t.Error("a program that does not lie where the child works is a part from there")
	}
	if got := interpreterWords(at("line")); !slices.Equal(got, []string{"/opt/other/run"}) {
		t.Errorf("%q", got)
	}
	if got := interpreterWords(at("bin/node")); got != nil {
		t.Errorf("%q", got)
	}
}

// A file in a closed folder is listed once, with all its patterns; one in an open folder is not.
func TestClosedFiles(t *testing.T) {
	p := &sandbox.Profile{Rules: []sandbox.Rule{ruleOf("/open", all), ruleOf("/read", runs)}}
	list := closedFiles([]sandbox.File{
		{Folder: "/a", Name: "x", Patterns: []string{"1"}}, {Folder: "/open", Name: "x"}, {Folder: "/read", Name: "x"}, {Folder: "/a", Name: "y"}, {Folder: "/a", Name: "x", Patterns: []string{"2"}},
	}, p)
	var got []string
	for _, f := range list {
		got = append(got, f.Path()+strings.Join(f.Patterns, ""))
	}
	if want := []string{"/a/x12", "/read/x", "/a/y"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The report names the profile to a person.
func TestProfilesAreDescribed(t *testing.T) {
	s := &wellknown.Server{Name: "x"}
	for _, tc := range []struct {
		got  []string
		want string
	}{
		{describeProfile(nil, &grant{texts: []string{"a"}}, true, true), ""},
		{describeProfile(s, nil, false, false), "profile x"},
		{describeProfile(s, &grant{texts: []string{"a"}}, true, false), "profile x, a, unix sockets"},
		{describeProfile(s, nil, false, true), "profile x, not started again for a wider boundary"},
	} {
		if got := strings.Join(tc.got, ", "); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// What the repositories of roots are recognized by.
func TestRepositoriesAreRecognized(t *testing.T) {
	_, at := smallHost(t, map[string]string{
		"r/HEAD": "", "r/objects/x": "", "r/refs/x": "", "nohead/objects/x": "", "nohead/refs/x": "", "noobjects/HEAD": "", "noobjects/refs/x": "", "norefs/HEAD": "", "norefs/objects/x": "",
		"f": "word: rel/x\n", "abs": "word: /a/../b\r\n", "empty": "word: \n", "two": "word: a\nb\n", "none": "a\n", "dir/x": "", "link": "-> f",
		"sub/config": "[core]\n\tworktree = ../first\n\tworktree = ../../top\n[core \"x\"]\n\tworktree = /no\n[x]\n\tworktree = /no\n", "whole/config": "[core]\n\tworktree = /top\n", "plain/config": "[core]\n\tbare = true\n", "same": "-> r",
	})
	for name, want := range map[string]bool{"r": true, "nohead": false, "noobjects": false, "norefs": false, "gone": false} {
		if got := isRepository(at(name)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, want := range map[string]string{"f": at("rel/x"), "abs": "/b", "empty": "", "two": "", "none": "", "dir": "", "link": "", "gone": ""} {
		if got, ok := gitPath(at(name), "word: "); got != want || ok != (want != "") {
			t.Errorf("%s: %q %t", name, got, ok)
		}
	}
	for name, want := range map[string]string{"sub": filepath.Join(filepath.Dir(at("")), "top"), "whole": "/top", "plain": "", "gone": ""} {
		if got := worktreeOf(at(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, tc := range []struct {
		a, b         string
		file, folder bool
	}{{"f", "f", true, true}, {"f", "abs", false, false}, {"link", "f", false, true}, {"gone", "f", false, false}, {"f", "gone", false, false}, {"gone", "gone", false, false}, {"same", "r", false, true}} {
		if sameFile(at(tc.a), at(tc.b)) != tc.file || sameFolder(at(tc.a), at(tc.b)) != tc.folder {
			t.Errorf("%s and %s: the same file %t, the same folder %t", tc.a, tc.b, !tc.file, !tc.folder)
		}
	}
}

// A repository is opened to a folder that it names back, and written only for a root.
func TestARepositoryNamesItsFolderBack(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"m/.git/HEAD": "", "m/.git/objects/x": "", "m/.git/refs/x": "", "m/.git/worktrees/wt/gitdir": "../../../../wt/.git\n", "m/.git/worktrees/wt/commondir": "../..\n",
		"wt/.git": "gitdir: ../m/.git/worktrees/wt\n", "m/sub/.git": "gitdir: ../.git/modules/sub\n", "another/.git": "gitdir: ../m/.git/modules/sub\n",
		"m/.git/modules/sub/HEAD": "", "m/.git/modules/sub/objects/x": "", "m/.git/modules/sub/refs/x": "", "m/.git/modules/sub/config": "[core]\n\tworktree = ../../../sub\n",
		"own/x/gitdir": "../../forged/.git\n", "own/x/commondir": "../../m/.git\n", "forged/.git": "gitdir: ../own/x\n",
		"m/.git/worktrees/.git": "gitdir: in\n", "m/.git/worktrees/in/gitdir": "../.git\n", "m/.git/worktrees/in/commondir": "../..\n",
	})
	const read, written = sandbox.Read | sandbox.Execute, sandbox.Read | sandbox.Write
	for top, want := range map[string][]sandbox.Rule{
		"wt":      {ruleOf(at("m/.git"), read), ruleOf(at("m/.git/objects"), written), ruleOf(at("m/.git/refs"), written), ruleOf(at("m/.git/worktrees/wt"), written)},
		"m/sub":   {ruleOf(at("m/.git/modules/sub"), read), ruleOf(at("m/.git/modules/sub/objects"), written), ruleOf(at("m/.git/modules/sub/refs"), written)},
		"another": nil, "forged": nil, "own": nil, "m/.git/worktrees": nil, // a root in a repository names itself
	} {
		if got := h.repositoryOf(at(top), true); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", top, got, want)
		}
		if got := h.repositoryOf(at(top), false); !slices.Equal(got, want[:min(len(want), 1)]) {
			t.Errorf("%s, to read: %v, want the first of %v", top, got, want)
		}
	}
	h.boundary.Roots = []string{at("own"), at("wt"), at("m/sub")}
	if got := h.repositoryRules(nil); len(got) != 7 {
		t.Errorf("two roots have repositories: %v", got)
	}
}

// The repository around a root is read by a git server: the nearest one, and none in a folder that holds more.
func TestRepositoriesAboveARoot(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"m/.git/HEAD": "", "m/.git/objects/x": "", "m/.git/refs/x": "", "m/a/b/x": "", "m/odd/.git/x": "", "m/odd/r/x": "", "m/file/.git": "x", "m/file/r/x": "",
		".git/HEAD": "", ".git/objects/x": "", ".git/refs/x": "", "alone/r/x": "",
	})
	for root, want := range map[string]string{"m/a/b": "m/.git", "m/odd/r": "", "m/file/r": "", "alone/r": ""} {
		h.boundary.Roots = []string{at(root)}
		for _, k := range []*wellknown.Kernel{nil, {}, {Repository: true}} {
			var s *wellknown.Server
			if k != nil {
				s = &wellknown.Server{Kernel: k}
			}
			got := h.repositoryRules(s)
			if reads := k != nil && k.Repository && want != ""; len(got) == 1 != reads || reads && got[0] != ruleOf(at(want), runs) {
				t.Errorf("%s: %v, want %q", root, got, want)
			}
		}
	}
}

// What runs in its working folder, and what only keeps data there.
func TestWhatRunsInAFolder(t *testing.T) {
	h, at := smallHost(t, map[string]string{"mods/m.py": "", "mods/pkg/x": "", "vault/x": ""})
	for _, tc := range []struct {
		line string
		dir  string
		want bool
	}{
		{"python3 -m m", "mods", true}, {"python3 -m m.deep", "mods", true}, {"python3 -m pkg", "mods", true}, {"python3 -m m", "vault", false}, {"python3 -m", "mods", false}, {"npm start", "vault", true},
		{"npx -y pkg", "vault", false}, {"env A=b python3 -m m", "mods", true}, {"/opt/x", "vault", false},
	} {
		words := strings.Fields(tc.line)
		if got := h.runsIn(program.Program{Command: words[0], Args: words[1:]}, at(tc.dir)); got != tc.want {
			t.Errorf("%s in %s: %t", tc.line, tc.dir, got)
		}
	}
	for module, want := range map[string]bool{"m": true, "m.x": true, "": false, ".m": false, "a/m": false, "pkg": true, "gone": false} {
		if got := h.hasModule(module, at("mods")); got != want {
			t.Errorf("module %q: %t", module, got)
		}
	}
	for dir, want := range map[string]bool{at("vault"): true, "a/b": false, at("${root}/b"): false, at(""): false} {
		if got := h.PythonLoads(program.Program{Command: "uv", Args: []string{"--directory", dir, "run", "-m", "m"}}); got != want {
			t.Errorf("Python loads modules from %s: %t", dir, got)
		}
	}
}

// What one entry runs, loads or obeys is known to the others, each path once.
func TestWhatIsExecuted(t *testing.T) {
	h, at := smallHost(t, map[string]string{"d/x": ""})
	var o ExecutedPaths
	o.addHops([]string{"/a"}, false)
	o.addHops([]string{"/b"}, true)
	h.SetExecuted([]ExecutedPaths{o, o})
	if got := h.others.now.Load(); !slices.Equal(got.paths, []string{"/a", "/b"}) || !slices.Equal(got.folders, []string{"/b"}) {
		t.Errorf("%+v", got)
	}
	for file, want := range map[string]bool{at("env"): true, "rel": false} {
		if o := h.ExecutedBy(program.Program{Command: "/opt/x", EnvFile: file}); slices.Contains(o.paths, file) != want {
			t.Errorf("%s: %+v", file, o)
		}
	}
	n := naming{obeyed: ExecutedPaths{paths: []string{"/a/x", "/a/x", "/b/y", "/a/z"}}}
	if got := n.obeyedIn("/a"); !slices.Equal(got, []string{"x", "z"}) {
		t.Errorf("%q", got)
	}
}

// Why what a name leads to is only read.
func TestWhyANameIsOnlyRead(t *testing.T) {
	h, at := smallHost(t, map[string]string{"d/x": "", "a/code": "", "s/x": "", ".vimrc": "", "root/r/x": "", "d/node_modules/x": ""})
	h.boundary.Roots = []string{at("root/r")}
	n := naming{h: h, obeyed: ExecutedPaths{paths: []string{at("a/code"), at("s")}, folders: []string{at("s")}}}
	for path, want := range map[string]string{
		"d": "", "d/x": "", "a/code": "it is run, or obeyed", "a": "in it is run", "s/x": "which is searched", "s": "it is run, or obeyed", "root/r": "", "root": "lies in it", "root/r/x": "", "d/node_modules/x": "programs are installed", ".nvm/x": "programs are installed", ".vimrc": "load it", "gone": "",
	} {
		w := h.wayOf(at(path))
		if why := n.readOnly(entry.Name{Path: at(path), Use: entry.Data}, at(path), &w); !strings.Contains(why, want) || (why == "") != (want == "") {
			t.Errorf("%s: %q, want %q", path, why, want)
		}
	}
	w := h.wayOf(at("d"))
	for use, want := range map[entry.Use]string{entry.Code: "it is run", entry.Config: "it is configuration", entry.Cwd: ""} {
		n.prog = program.Program{Command: "/opt/x"}
		if why := n.readOnly(entry.Name{Path: at("d"), Use: use}, at("d"), &w); !strings.HasPrefix(why, want) || (why == "") != (want == "") {
			t.Errorf("%v: %q, want %q", use, why, want)
		}
	}
	n.prog = program.Program{Command: "npm", Args: []string{"start"}}
	if why := n.readOnly(entry.Name{Path: at("d"), Use: entry.Cwd}, at("d"), &w); why != "the program lies there" {
		t.Errorf("%q", why)
	}
}

// What opens for a name that leads to nothing: a folder, in one that is the user's own, or nothing.
func TestNamesOfNothing(t *testing.T) {
	h, at := smallHost(t, map[string]string{"d/x": "", "wide/x": "", ".aws/x": "", "s/x": "", "keys/.ssh/x": ""})
	h = h.WithKernel(sandbox.Kernel{Why: "it does not ask"})
	if err := os.Chmod(at("wide"), 0o777); err != nil {
		t.Fatal(err)
	}
	others := "/usr"
	if os.Geteuid() == 0 {
		others = at("others")
		if err := errors.Join(os.Mkdir(others, 0o700), os.Chown(others, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	n := naming{h: h, obeyed: ExecutedPaths{folders: []string{at("s")}}}
	for name, tc := range map[string]struct {
		name entry.Name
		open string // "": nothing
		why  string
	}{
		"a folder":                {entry.Name{Path: at("d/new")}, at("d/new"), ""},
		"in what is not there":    {entry.Name{Path: at("d/a/b")}, at("d/a/b"), ""},
		"with a dot":              {entry.Name{Path: at("d/.new")}, at("d/.new"), ""},
		"a file":                  {entry.Name{Path: at("d/new.db")}, "", "holds other things"},
		"a file in a new folder":  {entry.Name{Path: at("d/a/new.db")}, at("d/a"), ""},
		"a folder with a dot":     {entry.Name{Path: at("d/new.db"), Folder: true}, at("d/new.db"), ""},
		"a word of a text":        {entry.Name{Path: at("d/new"), Text: true}, "", "whether it is to be a file or a folder"},
		"a folder of a text":      {entry.Name{Path: at("d/new"), Text: true, Folder: true}, at("d/new"), ""},
		"where the program works": {entry.Name{Path: at("d/new"), Use: entry.Cwd}, "", "nothing is there"},
		"where all may write":     {entry.Name{Path: at("wide/new")}, "", "is not the user's own"},
		"in another user's":       {entry.Name{Path: filepath.Join(others, "x/new")}, "", "is not the user's own"},
		"among keys":              {entry.Name{Path: at(".aws/new")}, "", "keys and credentials"},
		"a file of new keys":      {entry.Name{Path: at(".ssh/new.db")}, "", "keys and credentials"},
		"in what is searched":     {entry.Name{Path: at("s/new")}, "", "which is searched"},
		"an address":              {entry.Name{Path: "/mcp/v1"}, "", ""},
	} {
		w := h.wayOf(tc.name.Path)
		d := n.decideMissing(tc.name, &w)
		if opened := len(d.rules) == 1; opened != (tc.open != "") || opened && (d.rules[0] != ruleOf(tc.open, all) || d.makes != tc.open) || !strings.Contains(d.why, tc.why) || d.none != (tc.open+tc.why == "") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// Why a path is not opened, whatever it is for. What is not there is judged as what it lies in, and not by its own name.
func TestPathsThatNoNameOpens(t *testing.T) {
	h, at := smallHost(t, map[string]string{"d/id_rsa/x": "", "d/credentials.json": "", "d/x": ""})
	n := naming{h: h}
	for path, want := range map[string]string{"d/x": "", "d/credentials.json": "", "d/id_ed25519": "", "d/id_rsa": "a key or a credential", ".ssh/new": "keys and credentials", "": "home folder", "/dev/null": "belongs to the system"} {
		if path = filepath.Join("/", path); !sandbox.Contains("/dev", path) {
			path = at(path)
		}
		w := h.wayOf(path)
		if why := n.neverReason(path, &w); !strings.Contains(why, want) || (why == "") != (want == "") {
			t.Errorf("%s: %q, want %q", path, why, want)
		}
	}
}

// An address in an entry is not remembered, and a name is if there is a memory.
func TestNamesThatAreRemembered(t *testing.T) {
	h, at := smallHost(t, map[string]string{"d/x": ""})
	m := newMemory(h.stateFolder())
	w := h.wayOf(at("d"))
	for name, d := range map[string]decision{"address": {none: true}, "folder": decideOpened(at("d"), all)} {
		for _, h.memory = range []*memory{nil, m} {
			n := naming{h: h}
			if got := n.decideRemembered(name, &w, d); got.none != d.none || len(got.rules) != len(d.rules) {
				t.Errorf("%s: %+v, want %+v", name, got, d)
			}
		}
		if m.knowsName(name) == d.none {
			t.Errorf("%s is remembered: %t", name, d.none)
		}
	}
}

// A file has a folder of its own if the folder can be listed, and holds nothing else.
func TestFoldersOfFiles(t *testing.T) {
	h, at := smallHost(t, map[string]string{"own/x.db": "", "many/x.db": "", "many/y": "", "gone/x.db": ""})
	h = h.WithLookupCache()
	for folder, want := range map[string]bool{"own": true, "many": false, "gone": false} {
		file := at(folder + "/x.db")
		n := naming{h: h, names: []entry.Name{{Path: file, Use: entry.Data}}}
		w, dir := h.wayOf(file), h.wayOf(at(folder))
		if dir.end == nil {
			t.Fatal(folder)
		}
		if folder == "gone" { // since the plan has seen it
			if err := os.RemoveAll(at(folder)); err != nil {
				t.Fatal(err)
			}
		}
		if got := n.folderOf(&w); (got == at(folder)) != want {
			t.Errorf("%s: %q", folder, got)
		}
	}
}

// A link decides once what its path opens: later it opens that, what lies in it, and what is installed. If nothing is there, only what is to
// be made counts.
func TestLinksThatAreRelinked(t *testing.T) {
	h, at := smallHost(t, map[string]string{"a/sub/x": "", "b/x": "", ".nvm/v20/x": "", "w/x": "", ".config/git/ignore": ""})
	h.memory = newMemory(at(".local/state/mcphub"))
	if err := h.memory.consent.Reach().Add(at("w")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path      string
		use       purpose
		was, now  string // what the link leads to; "": there is no link yet
		told, old bool   // a reason is told; the former link has one too
	}{
		"a folder in it":               {"1", toOpen, "a", "a/sub", false, false},
		"another folder":               {"2", toOpen, "a", "b", true, false},
		"another that is missing":      {"3", toOpen, "a", "gone", false, false},
		"one to be made":               {"4", toMake, "", "gone", true, false},
		"a file that is missing":       {"5", asFile, "", "gone", false, false},
		"settings of the base":         {"10", toOpen, "a", ".config/git/ignore", true, false},
		"what is installed":            {"6", toOpen, "a", ".nvm/v20", false, false},
		"a link of a server":           {"w/7", toOpen, "a", "b", true, true},
		"one to what is installed":     {"w/8", toOpen, ".nvm/v20", ".nvm", false, false},
		"a folder to be made, in this": {"9", toMake, "a", "a/new", false, false},
	} {
		for i, to := range []string{tc.was, tc.now} {
			if to != "" {
				_ = os.Remove(at(tc.path))
				if err := os.Symlink(at(to), at(tc.path)); err != nil {
					t.Fatal(err)
				}
			}
			_, why, _ := h.followPath(at(tc.path), tc.use)
			if want := []bool{tc.old, tc.told}[i]; (why != "") != want {
				t.Errorf("%s, to %q: %q", name, to, why)
			}
		}
	}
}
