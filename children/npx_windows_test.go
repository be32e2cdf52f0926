package children_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr/guard"
)

// oddPieces are what the random arguments are made of: what cmd.exe, sh, npm and Windows itself read in command lines.
var oddPieces = []string{
	"a", "b c", "%", "%PATH%", "%%", "^", "&", "&&", "|", "<", ">", `"`, `""`, `\"`, "'", "!", "!PATH!", "(", ")", ",", ";", "=", "@", "#", "$HOME", "`", "~",
	"*", "?", "[", "{", `\`, `\\`, `\'`, "/", "\n", "\r", "\t", "\v", "é", "漢", "😀", "-c", "--", ">trapped", "& echo x>trapped &", "\n echo x>trapped\n", `{"a":"b\\c"}`, "https://h/mcp?a=1&b=2",
}

func oddArgument(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(oddPieces[r.IntN(len(oddPieces))])
	}
	return b.String()
}

// TestArgumentsArriveOnWindows: of random arguments each arrives byte for byte through npx and through batch files, or is refused, and none
// of them is a command. The server of npx works in the root.
func TestArgumentsArriveOnWindows(t *testing.T) {
	needs.Program(t, "npx")
	const perStart, all = 250, 1000
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	top := dirs(t, 3)
	root, pkg, home := top[0], top[1].Path, top[2].Path
	shim := "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\n\"%dp0%\\kid.exe\"   %*\r\n"
	binary, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"shim.cmd": shim, "plain.cmd": "@\"%~dp0kid.exe\" %*\r\n", "kid.exe": string(binary)} {
		if err := os.WriteFile(filepath.Join(pkg, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := filepath.Join(pkg, "kid-server.tgz") // npm would need a link to a folder
	if err := os.WriteFile(server, packed(t, map[string]string{
		"package/package.json": `{"name":"kid-server","version":"1.0.0","bin":{"kid-server":"kid.js"},"scripts":{"postinstall":"echo \"a b\">ran"}}`,
		"package/kid.js": "#!/usr/bin/env node\n" +
			`const r = require("child_process").spawnSync(` + quoted(exe) + `, process.argv.slice(2), {stdio: "inherit"}); process.exit(r.status ?? 1);` + "\n",
	}), 0o600); err != nil {
		t.Fatal(err)
	}
	r := seeds.Rand(t)
	for _, c := range []struct {
		name, command string
		args          []string
		refuses       bool
	}{
		{"npx", "npx", []string{"-y", "--offline", "--package", server, "kid-server"}, false},
		{"cmd /c npx", "cmd", []string{"/c", "npx", "-y", "--offline", "--package", server, "kid-server"}, false},
		{"a batch file of npm", filepath.Join(pkg, "shim.cmd"), nil, false},
		{"another batch file", filepath.Join(pkg, "plain.cmd"), nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			kid := childtest.Spec("kid", childtest.Script{})
			kid.Command = c.command
			kid.Env["npm_config_cache"], kid.Env["npm_config_update_notifier"] = filepath.Join(home, "npm"), "false"
			o := children.SupervisorOptions{Home: home}
			for sent := 0; sent < all; sent += perStart {
				var args []string
				for range perStart {
					args = append(args, oddArgument(r))
				}
				if c.refuses {
					h := launch.NewMachine(nil, home, "")
					args = slices.DeleteFunc(args, func(a string) bool {
						_, err := launch.Plan(planned(kid, a), nil, h)
						return err != nil && strings.Contains(err.Error(), "cmd.exe")
					})
					if len(args) == 0 || len(args) == perStart {
						t.Fatalf("%d of %d arguments are refused", perStart-len(args), perStart)
					}
				}
				if c.command == "cmd" { // which is to read what hub.json has; a root's name is a value
					args, sent = []string{"${root}"}, all
				}
				kid.Args = append(slices.Clone(c.args), args...)
				o.Specs = []spec.Spec{kid}
				s := start(t, newWatcher(), o)
				s.Ensure(one, []guard.Root{root})
				l, err := s.Acquire(t.Context(), one)
				if err != nil {
					t.Fatal(err)
				}
				var said struct {
					StructuredContent struct {
						Cwd  string
						Args []string
					}
				}
				if err := json.Unmarshal([]byte(call(t, l, "env", "")), &said); err != nil {
					t.Fatal(err)
				}
				l.Release()
				got := said.StructuredContent
				if c.command == "cmd" {
					args = []string{root.Path}
				}
				if len(got.Args) != len(args) {
					t.Fatalf("%d arguments arrived, not %d", len(got.Args), len(args))
				}
				for i := range args {
					if got.Args[i] != args[i] {
						t.Errorf("%q arrived as %q", args[i], got.Args[i])
					}
				}
				if ran, _ := filepath.Glob(filepath.Join(home, "npm/_npx/*/node_modules/kid-server/ran")); len(ran) == 0 && c.command == "npx" {
					t.Error("the install script of the package did not run in its folder")
				}
				if !strings.EqualFold(got.Cwd, root.Path) {
					t.Errorf("it works in %q", got.Cwd)
				}
				for _, dir := range []string{root.Path, pkg, home} {
					if _, err := os.Stat(filepath.Join(dir, "trapped")); err == nil {
						t.Fatal("an argument was a command")
					}
				}
			}
		})
	}
}

// planned returns the program of a server with one argument.
func planned(s spec.Spec, arg string) program.Program { s.Args = []string{arg}; return s.Program() }

// packed returns a package as npm packs it.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func quoted(s string) string {
	text, _ := json.Marshal(s) // a string cannot fail
	return string(text)
}
