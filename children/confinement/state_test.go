package confinement_test

import (
	"os"
	"path/filepath"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/launch"
)

// TestStateFolders: a program has folders of its own name, which the hub makes for it. No other program of that name has them, and one that was
// there before is nobody's.
func TestStateFolders(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	for _, file := range []string{"bin/tool", "other/tool", "bin/diary", "bin/fish", "bin/config", "bin/linked", ".diary/old", ".cache/x", ".config/x", ".local/share/x", "elsewhere/x", "code/recall/cli.js", "code/plain/run.py"} {
		putFile(t, at(file), "")
	}
	putFile(t, at("code/recall/package.json"), `{"name":"@a/recall-mcp"}`)
	if err := os.Symlink(at("elsewhere"), at(".linked")); err != nil {
		t.Fatal(err)
	}
	start := func(command string, args ...string) *confinement.Confinement {
		t.Helper()
		l, err := launch.Plan(confinedProgram(command, args...), nil, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Sandbox.Make(); err != nil {
			t.Fatal(err)
		}
		return l.Sandbox
	}
	want := func(c *confinement.Confinement, access string, folders ...string) {
		t.Helper()
		for _, folder := range folders {
			if got := rights(c, at(folder)); got != access {
				t.Errorf("%s: %q and not %q", folder, got, access)
			}
		}
	}
	tool := start(at("bin/tool"))
	want(tool, "rw", ".tool", ".config/tool", ".cache/tool", ".local/share/tool")
	want(tool, "", ".config", ".local/share", ".diary", ".config/x")
	want(start(at("bin/tool")), "rw", ".tool", ".config/tool") // as before
	want(start(at("other/tool")), "", ".tool", ".config/tool")
	want(start(at("bin/diary")), "", ".diary")
	want(start(at("bin/diary")), "rw", ".config/diary")
	want(start("node", at("code/recall/cli.js")), "rw", ".recall-mcp", ".config/recall-mcp")
	want(start(at("bin/linked")), "", "elsewhere", "elsewhere/x")
	want(start(at("bin/config")), "", ".config", ".config/x")
	want(start(at("bin/fish")), "", ".config/fish") // a shell obeys it
	start("python3", at("code/plain/run.py"))
	for _, folder := range []string{".run", ".run.py", ".python3"} {
		if _, err := os.Lstat(at(folder)); err == nil {
			t.Errorf("%s is made", folder)
		}
	}
}

// TestEmptyStateFoldersGo: a folder of state goes when the last process that has it has ended and nothing is in it.
func TestEmptyStateFoldersGo(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	putFile(t, at("bin/tool"), "")
	putFile(t, at(".cache/x"), "")
	start := func() *confinement.Confinement {
		t.Helper()
		l, err := launch.Plan(confinedProgram(at("bin/tool")), nil, h)
		if err == nil {
			err = l.Sandbox.Make()
		}
		if err != nil {
			t.Fatal(err)
		}
		return l.Sandbox
	}
	is := func(folder string, want bool) {
		t.Helper()
		if _, err := os.Lstat(at(folder)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", folder, err == nil, want)
		}
	}
	first, second := start(), start()
	first.End()
	is(".tool", true) // the second has it
	putFile(t, at(".tool/state"), "")
	second.End()
	is(".tool", true)
	is(".cache/tool", false)
	third := start()
	is(".cache/tool", true)
	if got := rights(third, at(".tool")); got != "rw" {
		t.Errorf("what it kept is open to it as %q", got)
	}
	third.End()
}
