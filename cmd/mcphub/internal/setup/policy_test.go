package setup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
)

// exampleHome returns the home folder of the examples of docs/policy.md.
func exampleHome(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"project/secrets", "Documents/drafts", "Documents-old", "Music", ".ssh", "sandbox"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"project/main.go", "project/secrets/key.pem", "Documents/letter.txt", "Documents-old/letter.txt", "Music/a.mp3", ".ssh/id_ed25519", "sandbox/a.txt"} {
		if err := os.WriteFile(filepath.Join(home, f), []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"Documents/link-to-music": "Music", "project/link-to-secrets": "project/secrets"} {
		if err := os.Symlink(filepath.Join(home, target), filepath.Join(home, link)); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip("links need a right there: ", err)
			}
			t.Fatal(err)
		}
	}
	return home
}

var exampleRow = regexp.MustCompile("(?m)^\\| (\\w+) \\| (\\w+) \\| `(.*)` \\| (\\w+) \\| (.*) \\|$")

// TestPolicyExamples runs every example of docs/policy.md: the configuration as it stands there, and each call.
func TestPolicyExamples(t *testing.T) {
	home := exampleHome(t)
	t.Setenv("HOME", home)
	raw, err := os.ReadFile("../../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	calls, examples := 0, 0
	for _, part := range strings.Split(string(raw), "```jsonc\n")[1:] {
		text, after, _ := strings.Cut(part, "```\n")
		after, _, _ = strings.Cut(after, "\n### ")
		examples++
		f, problems, err := config.Parse(filepath.Join(home, "hub.json"), []byte(text), nil)
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v %v in\n%s", err, problems, text)
		}
		c, err := new(Source).buildChecker(f, home, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		snap := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginAsked, []rootsmgr.RootEntry{{URI: platform.Host().FormatURI(home + "/project")}})
		rows := exampleRow.FindAllStringSubmatch(after, -1)
		if len(rows) == 0 {
			t.Errorf("an example without calls:\n%s", text)
		}
		for _, row := range rows {
			calls++
			tool, err := c.PrepareTool(row[1], "", []byte(`{"name":"`+row[2]+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			scan, err := c.Scan(tool, []byte(strings.ReplaceAll(row[3], "/home/me/", home+"/")))
			if err != nil {
				t.Fatal(err)
			}
			served := snap.Paths()
			for _, d := range c.Rules().Directories(row[1], nil) {
				served = append(served, d.Path)
			}
			v := c.Judge(scan, validate.CallContext{Cwd: home + "/project", Served: served}, rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown})
			if v.Decision.String() != row[4] || v.Rule != row[5] {
				t.Errorf("%s: %s by %q, the document says %s by %q", row[0], v.Decision, v.Rule, row[4], row[5])
			}
		}
	}
	if examples < 5 || calls < 25 {
		t.Errorf("%d calls of %d examples were found in the document", calls, examples)
	}
}

// TestPolicyErrors: all that is wrong is told, each with its line, and nothing is served.
func TestPolicyErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.json")
	if err := os.WriteFile(path, []byte(`{
  "mcpServers": { "files": { "builtin": "files" } },
  "policy": {
    "sandbox": "./missing",
    "rules": [
      { "name": "boundary", "then": "deny" },
      { "name": "a", "then": "allow", "if": { "paths": { "within": "file:///etc" } } },
      { "name": "b", "then": "allow",
        "if": { "paths": { "within": "./hub.json" } } },
      { "name": "c", "then": "deny", "if": { "tools": ["files__write_file"] } }
    ] }
}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	src := Source{Config: path}
	_, err := src.Read(&out, zerolog.Nop())
	var ee *exit.Error
	if !errors.As(err, &ee) || ee.Code != exit.Config {
		t.Fatalf("error %v", err)
	}
	all := out.String() + err.Error()
	for _, want := range []string{":4:", "policy.sandbox", ":6:", "policy.rules[0].name", ":7:", "not a URI", ":9:", "not a directory", ":10:", `write "write_file"`} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not told in\n%s", want, all)
		}
	}
	var le *config.LoadError
	if !errors.As(err, &le) || len(le.Errors) != 4 {
		t.Errorf("a reload would tell %v", err)
	}
}
