package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/program"
)

// TestNpmIsRunWithoutCmd: what a batch file of npm runs is started in its place, so that cmd.exe reads no argument.
func TestNpmIsRunWithoutCmd(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	node, tools, bare := filepath.Join(top, "node"), filepath.Join(top, "tools"), filepath.Join(top, "bare")
	const head = "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\n"
	const find = "\r\nIF EXIST \"%dp0%\\node.exe\" (\r\n  SET \"_prog=%dp0%\\node.exe\"\r\n) ELSE (\r\n  SET \"_prog=node\"\r\n  SET PATHEXT=%PATHEXT:;.JS;=;%\r\n)\r\n\r\n"
	const run = "endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \"%_prog%\" "
	for name, text := range map[string]string{
		"node/node.exe": "", "node/npx.CMD": "", "node/npm.CMD": "", "node/node_modules/npm/bin/npx-cli.js": "", "node/node_modules/npm/bin/npm-cli.js": "",
		"bare/npx.CMD": "", "bare/cmd.exe": "", // npx without npm
		"tools/lib/kid.js": "", "tools/lib/kid.exe": "", "tools/lib/kid.cmd": "",
		"tools/script.CMD":  head + find + run + " \"%dp0%\\lib\\kid.js\" %*\r\n",
		"tools/flags.CMD":   head + find + run + "--no-warnings --stack-size=9 \"%dp0%\\lib\\kid.js\" %*\r\n",
		"tools/program.CMD": head + "\"%dp0%\\lib\\kid.exe\"   %*\r\n",
		"tools/batch.CMD":   head + "\"%dp0%\\lib\\kid.cmd\"   %*\r\n",
		"tools/gone.CMD":    head + find + run + " \"%dp0%\\lib\\none.js\" %*\r\n",
		"tools/more.CMD":    head + find + run + " \"%dp0%\\lib\\kid.js\" %* & calc\r\n",
		"tools/sets.CMD":    head + "@SET A=b\r\n" + find + run + " \"%dp0%\\lib\\kid.js\" %*\r\n",
		"tools/other.CMD":   "@echo %1\r\n",
	} {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := fakeOptions([]string{"/work", "/a&b"})
	o.System, o.Environ = "windows", []string{"PATHEXT=.exe;.CMD", "PATH=" + strings.Join([]string{tools, node, bare}, string(filepath.ListSeparator))}
	o.Disk = &confinement.Disk{Real: o.Disk.Real, IsDir: o.Disk.IsDir, IsProgram: func(p string) bool {
		fi, err := os.Stat(p)
		return err == nil && fi.Mode().IsRegular()
	}}
	exe, npx, kid := filepath.Join(node, "node.exe"), filepath.Join(node, "node_modules/npm/bin/npx-cli.js"), filepath.Join(tools, "lib/kid.js")
	const given = "--prefix /cache/launch --script-shell /cache/npm-shell"
	for _, c := range []struct{ line, want, err string }{
		{`npx -y x {"a":"%b%"} u?a=1&b=2 !^|`, exe + " " + npx + " " + given + ` -y x {"a":"%b%"} u?a=1&b=2 !^|`, ""},
		{"npx x ${root}", exe + " " + npx + " " + given + " x /a&b", ""},
		{"npm exec x a&b", exe + " " + filepath.Join(node, "node_modules/npm/bin/npm-cli.js") + " exec " + given + " x a&b", ""},
		{"cmd /c npx -y x", exe + " " + npx + " " + given + " -y x", ""},
		{"cmd /C npx x ${root}", exe + " " + npx + " " + given + " x /a&b", ""},
		{"cmd /c npx x %A%", filepath.Join(bare, "cmd.exe") + " /c npx " + given + " x %A%", ""}, // cmd.exe is to read it
		{"cmd /c npx x %A% ${root}", "", "rename"},
		{"cmd /c echo x", filepath.Join(bare, "cmd.exe") + " /c echo x", ""},
		{filepath.Join(bare, "npx.CMD") + " x", filepath.Join(bare, "npx.CMD") + " " + given + " x", ""},
		{filepath.Join(bare, "npx.CMD") + " a&b", "", "cmd.exe"},
		{"script a&b", exe + " " + kid + " a&b", ""},
		{"flags a&b", exe + " --no-warnings --stack-size=9 " + kid + " a&b", ""},
		{"program a&b", filepath.Join(tools, "lib/kid.exe") + " a&b", ""},
		{"batch a&b", "", "cmd.exe"},
		{"gone a&b", "", "cmd.exe"},
		{"more a&b", "", "cmd.exe"},
		{"sets a&b", "", "cmd.exe"},
		{"other a&b", "", "cmd.exe"},
		{"other a", filepath.Join(tools, "other.CMD") + " a", ""},
	} {
		words := strings.Fields(c.line)
		l, err := Plan(program.Program{Command: words[0], Args: words[1:]}, rootsAt("/a&b"), on(o))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.line, err)
			}
			continue
		}
		if got := strings.Join(append([]string{l.Command}, l.Args...), " "); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\n%s", c.line, err, got, c.want)
		}
	}
}

// TestWhatNpmHasAShellRun: the program and its arguments are what npm has quoted; a text for a shell is none.
func TestWhatNpmHasAShellRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{`kid`, []string{"kid"}},
		{`kid '' a=%b%!^@[x],{y} 'a b'`, []string{"kid", "", "a=%b%!^@[x],{y}", "a b"}},
		{`kid 'https://h/?a=1&b=2' '{"a":"b\c"}'`, []string{"kid", "https://h/?a=1&b=2", `{"a":"b\c"}`}},
		{`kid \''x'\' 'it'\''s' 'x\'\'`, []string{"kid", "'x'", "it's", `x\'`}},
		{"kid 'a\nb'", []string{"kid", "a\nb"}},
		{"", nil}, {" ", nil}, {"kid 'a", nil}, {`kid a\b`, nil}, {`kid "a"`, nil}, {"kid a&b", nil}, {"kid $x", nil}, {"kid a\nb", nil}, {"kid >x", nil}, {"kid `x`", nil},
	} {
		got, ok := npmWords(c.text)
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%q: %q %v", c.text, got, ok)
		}
	}
}
