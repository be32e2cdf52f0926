package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// TestProgramsOfATerminal: a program that only the PATH of a terminal has stands in hub.json with its path on macOS, and is the same server
// when it is read again.
func TestProgramsOfATerminal(t *testing.T) {
	t.Parallel()
	onLinux(t)
	top := t.TempDir()
	brew, project := filepath.Join(top, "brew"), filepath.Join(top, "project")
	for name, mode := range map[string]os.FileMode{"brew/kid": 0o700, "brew/sh": 0o700, "brew/text": 0o600, "project/bin/own": 0o700} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	env := func(system string) Env {
		return Env{OS: system, Home: top, Get: func(string) string {
			return strings.Join([]string{"brew", filepath.Join(project, "bin"), brew, "/bin"}, ":")
		}}
	}
	for _, c := range []struct{ system, entry, want string }{
		{"darwin", `{"command": "kid"}`, filepath.Join(brew, "kid")},
		{"darwin", `{"command": "kid", "env": {"A": "b"}}`, filepath.Join(brew, "kid")},
		{"darwin", `{"command": "kid", "env": {"PATH": "/x"}}`, "kid"},
		{"darwin", `{"command": "sh"}`, "sh"}, // the Dock's PATH has it
		{"darwin", `{"command": "text"}`, "text"},
		{"darwin", `{"command": "none"}`, "none"},
		{"darwin", `{"command": "/bin/kid"}`, "/bin/kid"},
		{"darwin", `{"command": "own"}`, "own"}, // a stranger's
		{"linux", `{"command": "kid"}`, "kid"},
		{"windows", `{"command": "kid"}`, "kid"},
	} {
		s := server(t, "cursor", "x", c.entry)
		to := Target{File: "hub.json", Text: []byte("{}"), Env: none, Located: func(entry edit.Table) edit.Table { return env(c.system).Located(entry, project) }}
		text, _, err := Merge(to, []Server{s}, nil)
		if err != nil || !strings.Contains(string(text), `"command": "`+c.want+`"`) {
			t.Errorf("%s on %s: %v %s", c.entry, c.system, err, text)
		}
		to.Text = text
		if _, again, err := Merge(to, []Server{s}, nil); err != nil || again[0].Same != "x" {
			t.Errorf("%s on %s: %v %+v", c.entry, c.system, err, again)
		}
		to.Text = []byte(`{"mcpServers": {"x": ` + c.entry + `}}`) // someone has written it without the path
		if _, again, err := Merge(to, []Server{s}, nil); err != nil || again[0].Same != "x" {
			t.Errorf("%s on %s: %v %+v", c.entry, c.system, err, again)
		}
	}
}

// TestClaudeDesktopAsAPackage: Windows gives a program that is installed as a package a file of its own instead of the one in APPDATA, as soon as
// it has one. Both are read, and the one that the program reads is written.
func TestClaudeDesktopAsAPackage(t *testing.T) {
	t.Parallel()
	onLinux(t)
	c := Find("claude-desktop")
	const plain, packed = "AppData/Roaming/Claude/claude_desktop_config.json", "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"
	for _, tc := range []struct {
		name   string
		files  map[string]string
		target string
		found  []string
	}{
		{"neither", nil, plain, nil},
		{"without a package", map[string]string{plain: "a"}, plain, []string{"a"}},
		{"a package that has not run", map[string]string{"AppData/Local/Packages/Claude_pzs8sxrjxfjjc/x": ""}, packed, nil},
		{"a package that reads the other file", map[string]string{"AppData/Local/Packages/Claude_pzs8sxrjxfjjc/x": "", plain: "a"}, plain, []string{"a"}},
		{"both", map[string]string{plain: "a", packed: "b"}, packed, []string{"b", "a"}},
		{"another package", map[string]string{"AppData/Local/Packages/Other_1/LocalCache/Roaming/Claude/claude_desktop_config.json": "c", plain: "a"}, plain, []string{"a"}},
	} {
		e := Env{OS: "windows", Home: t.TempDir(), Get: func(string) string { return "" }}
		for file, name := range tc.files {
			file = filepath.Join(e.Home, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(`{"mcpServers": {"`+name+`": {"command": "`+name+`"}}}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if is := c.IsInstalled(e); is != (tc.files != nil) {
			t.Errorf("%s: installed %t", tc.name, is)
		}
		read, err := Read(c, e)
		if err != nil || len(read.Servers) != len(tc.found) {
			t.Fatalf("%s: %+v, %v", tc.name, read.Servers, err)
		}
		for i, s := range read.Servers {
			if s.Name != tc.found[i] {
				t.Errorf("%s: server %d is %s", tc.name, i, s.Name)
			}
		}
		p, already, err := PlanInstall(c, e, Hub{Command: "mcphub", Args: []string{"serve"}})
		if err != nil || already != "" || len(p.Files) != 1 || p.Files[0].Place.File != filepath.Join(e.Home, tc.target) {
			t.Errorf("%s: %+v %q %v", tc.name, p, already, err)
		}
	}
}
