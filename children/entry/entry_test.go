package entry

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/internal/reference"
)

func named(e Entry) string {
	e.Home = "/home/u"
	var b strings.Builder
	for _, n := range Names(&e) {
		fmt.Fprintln(&b, n.Key, n.Path, []string{"code", "config", "cwd", "data"}[n.Use])
	}
	return b.String()
}

// TestNames: what entries name, as people write them.
func TestNames(t *testing.T) {
	t.Parallel()
	args := func(words ...string) Entry { return Entry{Command: "srv", Args: words} }
	env := func(name, value string) Entry { return Entry{Command: "srv", Env: map[string]string{name: value}} }
	sh := func(text string) Entry { return Entry{Command: "sh", Args: []string{"-c", text}} }
	for _, tc := range []struct {
		name string
		e    Entry
		want string
	}{
		{"a whole argument", args("-y", "pkg", "/abs/vault"), "/args/2 /abs/vault data\n"},
		{"one below home", args("--db-path", "~/test.db"), "/args/1 /home/u/test.db data\n"},
		{"behind =", args("--db=/x/x.db"), "/args/0 /x/x.db data\n"},
		{"a variable in an argument", args("DATA=/x"), "/args/0 /x data\n"},
		{"glued to a letter", args("-d/x/y"), "/args/0 /x/y data\n"},
		{"with blanks and umlauts", args("/home/u/Meine Notizen/Süß"), "/args/0 /home/u/Meine Notizen/Süß data\n"},
		{"a list", args("--allowed=/a/b,/c/d"), "/args/0 /a/b data\n/args/0 /c/d data\n"},
		{"a list of JSON", args(`["/a/b","~/c"]`), "/args/0 /a/b data\n/args/0 /home/u/c data\n"},
		{"a setting", args("--config", "/x/c.json"), "/args/1 /x/c.json config\n"},
		{"a setting in one word", args("--configFile=/x/c.json"), "/args/0 /x/c.json config\n"},
		{"a program", args("--executable-path", "/x/chrome"), "/args/1 /x/chrome code\n"},
		{"an address", args("https://x/y", "//x/y", "postgres://u@h/db", "/dev/null is no more"), "/args/3 /dev/null is no more data\n"},
		{"a file as an address", args("sqlite:///x/y.db?mode=ro", "file:///x/a%20b"), "/args/0 /x/y.db data\n/args/1 /x/a b data\n"},
		{"another host", args("file://host/x"), ""},
		{"roots", args("${root}/x", "${roots}", "${root:a}/b", "--db=${root}/x"), ""},
		{"a secret", args(reference.Ref{Kind: reference.Keyring, Name: "x"}.Mark()+"/x", "--key="+reference.Ref{Kind: reference.File, Name: "/x"}.Mark()), ""},
		{"a relative path, of a session's folder", args("./x", "../y", "a/b", "x.db"), ""},
		{"what is replaced", Entry{Command: "srv", Args: []string{"/a/b", "/c/d"}, Void: func(i int) bool { return i == 0 }}, "/args/1 /c/d data\n"},
		{"a relative path", Entry{Command: "srv", Args: []string{"--db", "x.db", "sub/y", "--mode", "fast", "$X/y", "@me/pkg"}, Cwd: "/w"},
			"/args/1 /w/x.db data\n/args/2 /w/sub/y data\n/cwd /w cwd\n"},
		{"of a session's folder", Entry{Command: "srv", Args: []string{"x.db"}, Cwd: "${root}"}, ""},
		{"a script", Entry{Command: "python3", Args: []string{"server.py", "--db", "d/x.db"}, Cwd: "/w"}, "/args/0 /w/server.py code\n/args/2 /w/d/x.db data\n/cwd /w cwd\n"},
		{"a command", Entry{Command: "/x/srv"}, "/command /x/srv code\n"},

		{"a variable", env("DATA_DIR", "~/d"), "/env/DATA_DIR /home/u/d data\n"},
		{"two", env("DATA", "/a/b:/c/d"), "/env/DATA /a/b data\n/env/DATA /c/d data\n"},
		{"modules", env("PYTHONPATH", "/a:/b/c"), "/env/PYTHONPATH /a code\n/env/PYTHONPATH /b/c code\n"},
		{"settings", env("KUBECONFIG", "/a/k:/b/k"), "/env/KUBECONFIG /a/k config\n/env/KUBECONFIG /b/k config\n"},
		{"git", env("GIT_CONFIG_GLOBAL", "/a/k"), "/env/GIT_CONFIG_GLOBAL /a/k config\n"},
		{"a home of Java", env("JAVA_HOME", "/opt/j"), "/env/JAVA_HOME /opt/j code\n"},
		{"what node loads", env("NODE_OPTIONS", "--max-old-space-size=99 --require=/x/a.js"), "/env/NODE_OPTIONS /x/a.js code\n"},
		{"a command of git", env("GIT_SSH_COMMAND", "ssh -i /x/key -F ~/c"), "/env/GIT_SSH_COMMAND /x/key data\n/env/GIT_SSH_COMMAND /home/u/c data\n"},
		{"a name with a slash", env("A/B~", "/x/y"), "/env/A~1B~0 /x/y data\n"},

		{"a text", sh("cd ~/srv && exec python3 server.py --db x/y.db"), "/args/1 /home/u/srv cwd\n/args/1 /home/u/srv/server.py code\n/args/1 /home/u/srv/x/y.db data\n"},
		{"one with quotes", sh(`srv "$HOME/My Notes" '/a b/c' > "${HOME}/log"`), "/args/1 /home/u/My Notes data\n/args/1 /a b/c data\n/args/1 /home/u/log data\n"},
		{"one that sources", sh("source ~/venv/bin/activate; . /x/env.sh"), "/args/1 /home/u/venv/bin/activate code\n/args/1 /x/env.sh code\n"},
		{"one that sets", sh("DATA=/x/y srv; export PYTHONPATH=/m"), "/args/1 /x/y data\n/args/1 /m code\n"},
		{"what only the shell knows", sh(`cd "$X"; srv $Y/a ./b "$(cat /etc/x)/c" /x/*`), "/args/1 /etc/x data\n"},
		{"a text in a text", sh("sh -c 'srv /x/y'"), "/args/1 /x/y data\n"},
		{"a text that is none", sh("if ("), ""},
		{"a program in a text", sh("/x/y/srv --log /z/l"), "/args/1 /x/y/srv code\n/args/1 /z/l data\n"},
		{"env", Entry{Command: "env", Args: []string{"DATA=/x", "PYTHONPATH=/m", "srv"}}, "/args/0 /x data\n/args/1 /m code\n"},
	} {
		if got := named(tc.e); got != tc.want {
			t.Errorf("%s:\n%swant\n%s", tc.name, got, tc.want)
		}
	}
}

// TestNamesAreAbsolute: whatever an entry holds, a name is an absolute clean path, and a
// text that is filled in later is in none.
func TestNamesAreAbsolute(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"/", "~/", "a", "b.db", "..", "=", ":", ",", "$HOME", "${root}", "'", `"`, " ", "cd ", "; ", "file:", "--config", "-", "[", "\x00keyring:x\x00", "ü", "\n"})
	text := rapid.Map(rapid.SliceOfN(piece, 0, 12), func(p []string) string { return strings.Join(p, "") })
	seeds.Check(t, func(rt *rapid.T) {
		e := Entry{
			Command: rapid.SampledFrom([]string{"sh", "python3", "env", "srv"}).Draw(rt, "command"), Args: rapid.SliceOfN(text, 0, 5).Draw(rt, "args"),
			Env: rapid.MapOfN(rapid.SampledFrom([]string{"DATA", "PATH", "NODE_OPTIONS", "EDITOR"}), text, 0, 3).Draw(rt, "env"), Cwd: rapid.SampledFrom([]string{"", "/w", "${root}"}).Draw(rt, "cwd"),
			Home: "/home/u",
		}
		if e.Command == "sh" && len(e.Args) > 1 {
			e.Args[0] = "-c"
		}
		for _, n := range Names(&e) {
			if !filepath.IsAbs(n.Path) || filepath.Clean(n.Path) != n.Path || strings.ContainsAny(n.Path, "\x00\n") || strings.Contains(n.Path, "${root}") {
				rt.Fatalf("%+v", n)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"cd ~/x && exec y", "a <<E\nx\nE\n", "$((1", "`x`", "a() { b /x; }; a", strings.Repeat("sh -c ", 40)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := Entry{Command: "sh", Args: []string{"-c", text}, Home: "/home/u"}
		for _, n := range Names(&e) {
			if !filepath.IsAbs(n.Path) {
				t.Fatalf("%+v", n)
			}
		}
	})
}

// TestWordsOf: names are read alike however they are spelled.
func TestWordsOf(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"--user-data-dir", "USER_DATA_DIR", "userDataDir", "user.data.dir"} {
		if got := wordsOf(name); !slices.Equal(got, []string{"user", "data", "dir"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
