package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcphub/children"
)

// The digest of a server is the same in each place, and another one if its files are. It is of a program of the operator, a script, or the packages
// that a package manager lists. It is not of an interpreter, of data, or of what a launcher fetches.
func TestProgramDigest(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("not every user may make links")
	}
	install := func(files map[string]string) string {
		t.Helper()
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if files["node_modules/kid/main.js"] != "" {
			if err := os.Symlink("../kid/main.js", filepath.Join(dir, "node_modules", ".bin", "kid")); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	files := map[string]string{
		"interpreter": "#!x", "kid": "one", "server.py": "one", "data.db": "one",
		"node_modules/kid/main.js": "one", "node_modules/.bin/x": "", "node_modules/.package-lock.json": `{"name": "DIR", "packages": {"node_modules/kid": {"version": "1.0.0", "integrity": "sha512-a"}}}`,
		"venv/pyvenv.cfg": "home = DIR", "venv/bin/kid": "#!DIR/venv/bin/python", "venv/lib/python3.13/site-packages/kid-1.dist-info/RECORD": "kid/main.py,sha256=a,1\n../../../bin/kid,sha256=DIR,1\nkid-1.dist-info/uv_cache.json,sha256=DIR,1\nkid/__pycache__/main.pyc,,\n",
	}
	changed := func(name, old, with string) map[string]string {
		all := map[string]string{}
		for n, text := range files {
			all[n] = text
		}
		all[name] = strings.Replace(all[name], old, with, 1)
		return all
	}
	a, b := install(files), install(files)
	for name, tc := range map[string]struct {
		command string   // of the entry; DIR is where the files are
		started []string // command and arguments
		other   map[string]string
	}{
		"a program by its path":         {"DIR/kid", []string{"DIR/kid", "DIR/data.db"}, changed("kid", "one", "two")},
		"a script":                      {"interpreter", []string{"DIR/interpreter", "-u", "DIR/server.py"}, changed("server.py", "one", "two")},
		"a script in its folder":        {"interpreter", []string{"DIR/interpreter", "server.py"}, changed("server.py", "one", "two")},
		"a package of npm":              {"npx", []string{"DIR/interpreter", "DIR/node_modules/.bin/kid"}, changed("node_modules/.package-lock.json", "sha512-a", "sha512-b")},
		"another version":               {"npx", []string{"DIR/interpreter", "DIR/node_modules/.bin/kid"}, changed("node_modules/.package-lock.json", "1.0.0", "1.0.1")},
		"a package of Python":           {"uvx", []string{"DIR/venv/bin/kid"}, changed("venv/lib/python3.13/site-packages/kid-1.dist-info/RECORD", "sha256=a", "sha256=b")},
		"a program of the PATH":         {"kid", []string{"DIR/kid"}, nil},
		"a launcher that fetches":       {"npx", []string{"DIR/interpreter", "-y", "kid"}, nil},
		"data beside a program of PATH": {"interpreter", []string{"DIR/interpreter", "DIR/data.db"}, nil},
		"what is not there":             {"DIR/gone", []string{"DIR/gone"}, nil},
	} {
		digest := func(dir string) string {
			var words []string
			for _, word := range tc.started {
				words = append(words, strings.ReplaceAll(word, "DIR", dir))
			}
			return programDigest(strings.ReplaceAll(tc.command, "DIR", dir), children.Status{Command: words[0], Args: words[1:], Cwd: dir})
		}
		got := digest(a)
		if (got != "") != (tc.other != nil) || got != digest(b) || strings.Contains(got, a) {
			t.Errorf("%s: %q and %q", name, got, digest(b))
		}
		if tc.other != nil && digest(install(tc.other)) == got {
			t.Errorf("%s: other files have the same digest", name)
		}
	}
}
