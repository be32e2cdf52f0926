package confinement

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

func skipOnWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("nothing is confined on Windows")
	}
}

// smallHost returns a host with a home folder, which remembers nothing, and makes files and links below its home. A text that begins with
// "-> " is the place that a link leads to, and one that ends in a slash is a folder.
func smallHost(t *testing.T, files map[string]string) (h Host, at func(string) string) {
	t.Helper()
	skipOnWindows(t)
	home := filepath.Join(sandbox.RealPath(t.TempDir()), "home", "u")
	at = func(p string) string { return filepath.Join(home, p) }
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		err := os.MkdirAll(filepath.Dir(at(name)), 0o700)
		to, isLink := strings.CutPrefix(text, "-> ")
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(at(to), at(name))
		case text == "/":
			err = os.MkdirAll(at(name), 0o700)
		default:
			err = os.WriteFile(at(name), []byte(text), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	h = New(Options{Environ: []string{}, Home: home, System: "linux"})
	h.memory = nil
	return h, at
}

// What can be one installation is narrow: no top, none of its folders, and nothing that holds the home folder or the temporary one.
func TestNarrowFolders(t *testing.T) {
	h, at := smallHost(t, nil)
	temp := at("../../temp/own")
	t.Setenv("TMPDIR", temp)
	for dir, want := range map[string]bool{
		"/": false, "/opt": false, "/opt/x": true, at(""): false, filepath.Dir(at("")): false, at("x"): true, filepath.Dir(temp): false, temp: false, filepath.Join(temp, "x"): true,
	} {
		if got := h.isNarrow(dir); got != want {
			t.Errorf("%s: %t", dir, got)
		}
	}
	h.home = ""
	if !h.isNarrow(at("")) || h.isNarrow("/opt") {
		t.Error("without a home folder")
	}
}

// The top of an installation, by the names on the way to a file and by what lies there.
func TestTopsOfInstallations(t *testing.T) {
	h, at := smallHost(t, map[string]string{"work/app/package.json": "{}", "work/app/src/x.js": "", "go.mod": "", ".cursor/mcp.json": ""})
	for path, want := range map[string]string{
		at("a/node_modules/b/c.js"):         at("a/node_modules"),
		"/opt/a/node_modules/b/c.js":        "/opt/a/node_modules",
		"/opt/node_modules/b/c.js":          "/opt/node_modules/b", // what holds it is no installation
		at(".tool/x/y"):                     at(".tool"),
		at(".tool"):                         "", // a file in the home folder
		at("tool"):                          "",
		at("tool/x/y"):                      at("tool/x"),
		at(".ssh/x/y"):                      at(".ssh/x"),
		at(".cursor/x/y"):                   at(".cursor/x"), // what holds it is a client's
		at(".local/bin/x"):                  at(".local/bin"),
		at(".local/share/x"):                at(".local/share"),
		at(".local/share/x/bin/y"):          at(".local/share/x"),
		at(".local/share/uv/tools/x/bin/y"): at(".local/share/uv/tools"),
		at(".local/state/x/y"):              at(".local/state/x"),
		at(".config/share/x/y"):             at(".config/share/x"),
		at(".cargo/bin/x"):                  at(".cargo/bin"),
		at("work/app/src/x.js"):             at("work/app"),
		at("tools/x/bin/y"):                 at("tools/x"),
		at("bin/y"):                         at("bin"),
		"/opt/x/bin/y":                      "/opt/x",
		"/opt/bin/y":                        "/opt/bin",
		"/opt/x/y":                          "/opt/x",
		"/opt/y":                            "",
	} {
		if got := h.topOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	h.home = ""
	if got := h.topOf(at(".tool/x/y")); got != at("") {
		t.Errorf("without a home folder: %q", got)
	}
}

// The search leaves out three kinds of folders of PATH: folders of the system, folders that children write, and folders that hold more than one installation.
func TestSearchedFolders(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"free/x": "", "written/x": "", "kept/x/y": "", "tools/bin/x": "", ".nvm/v20/x": "", "to/nvm": "-> .nvm/v20", "to/home": "-> ", "rel/x": "",
	})
	h.boundary = sandbox.Boundary{Areas: []sandbox.Rule{{Path: at("written"), Access: all}}, Withheld: []string{at("kept/x")}}
	list := []string{"/usr/local/bin", "rel", at("free"), at("free"), at("written"), at("kept"), at(""), at("tools/bin"), at("to/nvm"), at("to/home"), ""}
	paths := func() (paths []string) {
		for _, w := range h.searchedFolders(strings.Join(list, ":")) {
			paths = append(paths, strings.TrimPrefix(w.path, at("")+"/"))
		}
		return paths
	}
	if got, want := paths(), []string{"free", "tools/bin", "tools/lib/node_modules", "to/nvm", ".nvm"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	h.home = ""
	if got := paths(); slices.Contains(got, ".nvm") {
		t.Errorf("without a home folder: %q", got)
	}
}

// What opens for a part of a program: its installation, and nothing that its name and the boundary keep closed.
func TestInstallationPaths(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"p/package.json": "{}", "p/x": "", "out": "-> p/x", "all": "-> ", "dir": "-> p", "keys": "-> .ssh/id", ".ssh/id": "", ".aws/x": "", "hidden": "-> .tool/x", ".tool/x": "", ".tool/.env": "", ".config/app/x": "", ".config/package.json": "", ".ssh/y/x": "",
	})
	for name, want := range map[string][]string{
		"p/x": {"p/x", "p"}, "out": {"out", "p/x", "p"}, "p": {"p"}, "dir": {"dir"}, "": nil, "all": nil, "keys": nil, "gone/x": {"gone/x", "gone"}, "hidden": {"hidden", ".tool/x", ".tool"},
		".config/app/x": {".config/app/x"}, ".ssh/y/x": {".ssh/y/x"}, // not what holds keys
	} {
		ways, why := h.installationPaths(part{file: at(name), name: name})
		var got []string
		for _, w := range ways {
			got = append(got, strings.TrimPrefix(w.path, at("")+"/"))
		}
		if !slices.Equal(got, want) || (why != "") != (name == "keys") {
			t.Errorf("%s: %q, want %q: %s", name, got, want, why)
		}
	}
	h.boundary.Withheld = []string{at("p/x")}
	if ways, why := h.installationPaths(part{file: at("p/x"), name: "x"}); len(ways) != 1 || ways[0].path != at("p") || why != "" {
		t.Errorf("what is withheld: %v %s", ways, why)
	}
	if ways, why := h.installationPaths(part{file: "/usr/bin/env", name: "env"}); ways != nil || why != "" {
		t.Errorf("the system's: %v %s", ways, why)
	}
}

// A folder that is opened for a repository is there, is no link, and lies in nothing that stays closed.
func TestFoldersOfRepositories(t *testing.T) {
	h, at := smallHost(t, map[string]string{"a/b/x": "", "link": "-> a/b", "kept/b/x": "", ".aws/b/x": "", ".local/state/mcphub/x/y": ""})
	h.boundary.Withheld = []string{at("kept")}
	for name, want := range map[string]bool{"a/b": true, "a/b/x": false, "gone": false, "link": false, "kept/b": false, ".aws/b": false, ".local/state/mcphub/x": false, "": false, "..": false} {
		if got := h.folderRule(at(name), runs); (len(got) == 1) != want || want && got[0] != (sandbox.Rule{Path: at(name), Access: runs}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What the files of a virtual environment name: an interpreter, and folders of packages.
func TestWhatAnEnvironmentNames(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"new/python3": "", "new/python": "", "old/python": "", "none/x": "", "other/python3": "", "edited/x": "",
		"v/lib/python3.9/site-packages/x.pth": "import x\nsrc\n", "w/lib/python3.9/site-packages/x.pth": "",
	})
	for name, text := range map[string]string{
		"v/pyvenv.cfg":                        "version = 3.9\nbase = " + at("other") + "\nhome = rel\nhome = " + at("none") + "\nhome = " + at("old") + "\n home = " + at("new") + " \n",
		"v/lib/python3.9/site-packages/y.pth": at("edited") + "/.\n" + at("gone") + "\n",
		"w/lib/python3.9/site-packages/y.pth": at("edited") + "\n",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, p := range h.environmentOf(at("v")) {
		got = append(got, p.file)
		if len(p.by) != 1 || !sandbox.Contains(at("v"), p.by[0]) {
			t.Errorf("%s is named by %q", p.file, p.by)
		}
	}
	if want := []string{at("old/python"), at("new/python3"), at("edited")}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if parts := h.environmentOf(at("w")); parts != nil {
		t.Errorf("without settings: %v", parts)
	}
}

// A program with many linked modules has no more parts than the bound, and one of a module that leads nowhere else.
func TestLinkedModules(t *testing.T) {
	files := map[string]string{"lib/x": "", "p/node_modules/own": "-> p/node_modules/real", "p/node_modules/real/x": "", "p/node_modules/file": "-> p/x", "p/x": "", "p/node_modules/@me/far": "-> lib", "p/node_modules/none/far": "-> lib"}
	h, at := smallHost(t, files)
	if got := h.modulesOf(at("p/node_modules")); len(got) != 1 || got[0].file != at("p/node_modules/@me/far") {
		t.Errorf("%v", got)
	}
	for n := range maxLinked + 10 {
		if err := os.Symlink(at("lib"), at("p/node_modules/none/"+string(rune('a'+n%26))+strings.Repeat("x", n/26))); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.modulesOf(at("p/node_modules/none")); len(got) != maxLinked+1 {
		t.Errorf("%d of many", len(got))
	}
	if got := h.modulesOf(at("gone")); got != nil {
		t.Errorf("%v", got)
	}
}

// A program that belongs to no installation leads to nothing, whatever lies where the hub works.
func TestAProgramOfNoInstallation(t *testing.T) {
	h, at := smallHost(t, map[string]string{"tool": "", "py/python3": "", "p/tool": ""})
	for _, dir := range []string{"cwd", "p"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(dir+"/pyvenv.cfg"), []byte("home = "+at("py")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(at("cwd"))
	if parts := h.partsBeyond(at("tool")); parts != nil {
		t.Errorf("%v", parts)
	}
	if parts := h.partsBeyond(at("p/tool")); len(parts) != 1 || parts[0].file != at("py/python3") {
		t.Errorf("the control: %v", parts)
	}
	h.boundary.Areas = []sandbox.Rule{ruleOf(at("p"), all)}
	if parts := h.partsBeyond(at("p/tool")); parts != nil {
		t.Errorf("where servers write: %v", parts)
	}
}

// The workspace of a package is the nearest folder above it that has modules and is a package. Each place on the way to a file counts, whatever the place before it is.
func TestWorkspacesOfPackages(t *testing.T) {
	h, at := smallHost(t, map[string]string{
		"w/package.json": "{}", "w/node_modules/x/x": "", "w/in/package.json": "{}", "w/in/node_modules/x/x": "", "w/in/a/package.json": "{}", "w/in/a/b/node_modules/x/x": "", "w/in/a/b/p/package.json": "{}", "w/in/a/b/p/run": "",
		"loose": "-> tools/bin/run", "tools/bin/run": "-> w/in/a/b/p/run",
	})
	for _, file := range []string{"w/in/a/b/p/run", "loose"} {
		var got []string
		for _, p := range h.partsBeyond(at(file)) {
			got = append(got, p.file)
		}
		if want := []string{at("w/in/node_modules")}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
