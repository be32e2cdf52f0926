package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// The commands of testdata/attacks.txt and testdata/honest.txt were written from the documentation of programs, by an author who had
// not seen how commands are read here. Each line has a label, a tab and a command. They are never run.

// commandsWorld returns the disk that these commands are about, with the home folder instead of /home/u.
func commandsWorld(t *testing.T) *world {
	w := newWorld(t)
	for _, dir := range []string{"build", "secrets", "test"} {
		w.must(mkdir(filepath.Join(w.project, dir)))
	}
	w.must(mkdir(filepath.Join(w.home, ".ssh")))
	for _, name := range []string{
		"src/app.ts", "b.txt", "package.json", "Makefile", "docs/guide.md", "build/out.bin", "secrets/key.txt", "test/main_test.go", ".env",
		"README.md", "data.db", "archive.tar.gz", "script.py", "../.ssh/id_rsa",
	} {
		w.must(os.WriteFile(filepath.Join(w.project, name), nil, 0o600))
	}
	return w
}

// commandLines reads a file of such commands. A line without a label has the label "".
func commandLines(t *testing.T, home, name string) (lines [][2]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		label, command, labelled := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !labelled {
			label, command = "", label
		}
		lines = append(lines, [2]string{label, strings.ReplaceAll(command, "/home/u", home)})
	}
	return lines
}

// decide judges a command as an argument that a tool without a schema gets.
func (w *world) decide(c *Checker, command string) *Verdict {
	_, v := w.call(c, w.tool(c, "", anyTool), `{"command":`+string(quoteJSON(command))+`}`)
	return v
}

// commandsChecker protects these files beside hub.json, and has these rules.
func (w *world) commandsChecker(mode declare.Mode, protected []string, rules ...policy.Rule) *Checker {
	w.t.Helper()
	c, err := NewChecker(Config{
		Children:  []ChildConfig{{Name: "child", Command: "some-server", Mode: mode, ModeSet: true}},
		Protected: append([]string{w.hub}, protected...), Home: w.home, Getenv: w.getenv, Policy: policy.Policy{Rules: rules},
	})
	w.must(err)
	return c
}

// TestCommandsThatReachOut: of commands that open something outside, or the file .env that is protected, at most one in fifty passes.
// Two labels are not counted, since the documents exclude them: what a program finds by itself below a directory (walk), and what is
// computed (built). No command is refused if the paths of the server are not judged, which is the control.
func TestCommandsThatReachOut(t *testing.T) {
	t.Parallel()
	w := commandsWorld(t)
	env := []string{w.project + "/.env"}
	c, off := w.commandsChecker(declare.ModeStrict, env), w.commandsChecker(declare.ModeOff, env)
	lines := commandLines(t, w.home, "attacks.txt")
	var passed []string
	counted := 0
	for _, line := range lines {
		excluded := line[0] == "walk" || line[0] == "built"
		if !excluded {
			counted++
		}
		if v := w.decide(c, line[1]); v.Decision == policy.Allow && !excluded {
			passed = append(passed, line[0]+": "+line[1])
		}
		if v := w.decide(off, line[1]); v.Decision != policy.Allow {
			t.Errorf("%s: refused without the guard", line[1])
		}
	}
	t.Logf("%d of %d pass:\n%s", len(passed), counted, strings.Join(passed, "\n"))
	if counted < 400 || len(passed)*50 > counted {
		t.Errorf("%d of %d pass, at most one in fifty may, of 400 or more", len(passed), counted)
	}
}

// TestCommandsOfEveryDay: of commands that agents send every day at most four in a thousand are refused, and eight with rules that deny
// the directories build, docs, secrets and test, which are the words of many commands. The ones that open one of these are labelled dir.
func TestCommandsOfEveryDay(t *testing.T) {
	t.Parallel()
	w := commandsWorld(t)
	var rules []policy.Rule
	for _, dir := range []string{"build", "docs", "secrets", "test"} {
		rules = append(rules, policy.Rule{Name: "no " + dir, Then: policy.Deny, Paths: &policy.PathRule{Within: filepath.Join(w.project, dir)}})
	}
	all := commandLines(t, w.home, "honest.txt")
	for name, tc := range map[string]struct {
		rules   []policy.Rule
		without string // the label of lines that are not tried
		most    int    // of a thousand
	}{"without rules": {nil, "none", 4}, "with rules": {rules, "dir", 8}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := w.commandsChecker(declare.ModeStrict, nil, tc.rules...)
			tried := 0
			var refused []string
			for _, line := range all {
				if line[0] == tc.without {
					continue
				}
				tried++
				if v := w.decide(c, line[1]); v.Decision != policy.Allow {
					refused = append(refused, line[1]+"   ("+v.Deciding.Value+", "+string(v.Deciding.Code)+")")
				}
			}
			t.Logf("%d of %d are refused:\n%s", len(refused), tried, strings.Join(refused, "\n"))
			if tried < 400 || len(refused)*1000 > tc.most*tried {
				t.Errorf("%d of %d are refused, at most %d in a thousand may be, of 400 or more", len(refused), tried, tc.most)
			}
		})
	}
}
