//go:build unix

package children_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/needs"
	"mcphub/rootsmgr/guard"
)

// A hostile clone brings programs and settings of its own, and the working
// directory of a child is that clone. Each line runs something of it where
// "local" is true, which is the control, and none of it otherwise (C4). TestReach of
// program has more lines, which are refused by their text alone.
func TestNothingOfAHostileCloneRuns(t *testing.T) {
	t.Parallel()
	top := dirs(t, 2)
	clone, other := top[0].Path, top[1].Path
	trap := filepath.Join(other, "trapped")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(clone, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	shell, js := "#!/bin/sh\necho >>"+trap+"\n", `require("fs").writeFileSync(`+quote(trap)+`, "")`
	for _, name := range []string{"x.sh", "bin/kid-server", "node_modules/.bin/kid-server"} {
		write(name, shell)
	}
	for _, name := range []string{"x.js", "node_modules/evil/index.js", "dist/index.js"} {
		write(name, js)
	}
	write("src/evil.py", "open("+quote(trap)+", 'w')")
	write("Makefile", "all:\n\t@./x.sh\n")
	write("go.mod", "module evil\n")
	if out, err := exec.Command("git", "init", "-q", clone).CombinedOutput(); err == nil {
		write(".git/config", "[core]\n\trepositoryformatversion = 0\n[alias]\n\tmcp = !./x.sh\n")
	} else {
		t.Logf("git: %s", out)
	}
	good := filepath.Join(other, "good.js")
	if err := os.WriteFile(good, []byte("setTimeout(() => {}, 50)"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string
		env  string // NAME=VALUE of the entry
		path bool   // the hub's PATH begins with folders of the clone
	}{
		{line: "node ./dist/index.js"},
		{line: "node -r evil " + good},
		{line: "node " + good, env: "NODE_OPTIONS=--require ./x.js"},
		{line: "env PATH=bin kid-server"},
		{line: "sh -c ./x.sh"},
		{line: "sh -c make"},
		{line: "sh -c npx~--offline~kid-server"},
		{line: "make"},
		{line: "git mcp"},
		{line: "python3 -m evil", env: "PYTHONPATH=src"},
		{line: "kid-server", path: true},
		{line: "env kid-server", path: true},
		{line: "sh -c kid-server", path: true},
	} {
		t.Run(strings.ReplaceAll(c.line+" "+c.env, good, "good.js"), func(t *testing.T) {
			args := strings.Fields(c.line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "~", " ")
			}
			needs.Line(t, strings.Join(args, " "))
			search := os.Getenv("PATH")
			if c.path {
				search = strings.Join([]string{clone + "/bin", clone + "/node_modules/.bin", search}, ":")
			}
			trapped := func(t *testing.T, local bool) (bool, error) {
				_ = os.Remove(trap)
				child := spec.Spec{Name: "kid", Command: args[0], Args: args[1:], Local: local}
				if name, value, ok := strings.Cut(c.env, "="); ok {
					child.Env = map[string]string{name: value}
				}
				s := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{child}, Environ: []string{"PATH=" + search, "HOME=" + other}, Home: other})
				s.Ensure(one, []guard.Root{root(clone, "")})
				l, err := s.Acquire(t.Context(), one)
				if err == nil {
					l.Release()
					t.Fatal("it is no server, and was ready")
				}
				_, gone := os.Stat(trap)
				return gone == nil, err
			}
			t.Run("control", func(t *testing.T) {
				if yes, err := trapped(t, true); !yes {
					t.Errorf("the attack does not work: %v", err)
				}
			})
			t.Run("guarded", func(t *testing.T) {
				if yes, err := trapped(t, false); yes {
					t.Errorf("the clone's program ran: %v", err)
				}
			})
		})
	}
}
