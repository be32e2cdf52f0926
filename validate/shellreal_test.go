//go:build unix

package validate

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// realCommands are what random shell strings are made of; realReads read the file outside from somewhere.
var (
	realCommands = []string{
		"cd src", "cd docs", "cd ..", "cd nosuch", "cd", "cd -", "cd src x", "cd src 2>x", "cd <nosuch src", "(cd src)", "{ cd src; }", "true", "false", ":", "mkdir new", "mkdir src", "mkdir -p new/deep",
		"cd new", "cd new/deep", "X=src; cd \"$X\"", "cd inner", "pushd src", "popd", "if true; then cd src; fi", "if false; then cd src; fi", "CDPATH=.. cd outside", "CDPATH=..", "echo x", "cd \"src\"", "cd s*c",
		"cd() { :; }", "alias cd=:", "set -e", "cd src/../docs", "cd ./src", "cd -P src", "cd --", "x=$(cd src)", "bash -c 'cd src'", "cd src; cd ..", "exec 3>&1", "unset X", "rmdir new", "for i in 1; do cd docs; done",
		"f() { cd src; }", "f", "! cd src", "cd src &", "cd sub/deep", "cd sub && cd deep", "set -- a b", "export X=1", "grep -q x a.txt", "time cd src", "command cd src", "builtin cd docs", "eval cd src", "mv ../deep ../../deep2", "mv $PWD ../moved", "mv ../src ../docs/src", "cat <<'E' > x\n../x\nE\n", "# cd src\n",
	}
	realReads = []string{
		"cat ../outside/secret.txt", "cat ../../outside/secret.txt", "cat ../../../outside/secret.txt", "cat outside/secret.txt", "cat secret.txt", "cat ../secret.txt", "cat $NOPE../outside/secret.txt", "cat $1../outside/secret.txt", "cat ..$NOPE/outside/secret.txt",
		"grep out ../outside/secret.txt", "grep -e out ../outside/secret.txt", "grep ../outside/secret.txt -e out", "cat link/secret.txt", "cat ../link/secret.txt", "cat l*k/secret.txt", "(cat ../outside/secret.txt)", "cat<../outside/secret.txt",
		"cat$IFS../outside/secret.txt", "cat $(echo '../outside/secret.txt x')", "echo '../outside/secret.txt x' | xargs cat", "cat \"../outside/secret.txt\"", "cat $'../outside/secret.txt'", "cat $\"..\"/outside/secret.txt", "cat ${PWD%/*}/outside/secret.txt",
		"cat $(dirname $PWD)/outside/secret.txt", "bash -c 'cat ../outside/secret.txt'", "env -C .. cat outside/secret.txt", "timeout 5 cat ../outside/secret.txt", "cat ~/outside/secret.txt", "cat <<'E' - ../outside/secret.txt\nx\nE\n",
		"xargs cat <<'E'\n../outside/secret.txt\nE\n", "cat <<E\n$(cat ../outside/secret.txt)\nE\n", "echo \"x $(cat ../outside/secret.txt) y\"", "cat flink", "cat ../flink", "cat f*k", "cat fl${X}ink", "head -c 99 ../outside/secret.txt", "cut -d / -f1 ../outside/secret.txt",
		"sort -t / ../outside/secret.txt", "cat *", "cat ../*/secret.txt", "cat .?/outside/secret.txt", "cat {a.txt,../outside/secret.txt}", "echo '../outside/secret.txt'; cat $_", "grep -q ../outside/secret.txt x; cat $_", "cat l\"in\"k/secret.txt", "cat li$NOPE''nk/secret.txt", "cat $NOPE'../outside/secret.txt'", "echo '../outside/secret.txt' > x; cat $(cat x)", "echo '../outside/secret.txt' > x; xargs cat < x", "git() { cat \"$2\"; }; git -m '../outside/secret.txt'", "grep() { cat \"$1\"; }; grep ../outside/secret.txt",
	}
	realSeparators = []string{"; ", " && ", " || ", "\n", " | ", " & ", ";"}
)

// TestAgainstTheShell: whatever order of commands makes a real shell print the file outside is denied. What the judge
// says of where cd leads is held against where it led.
func TestAgainstTheShell(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no bash")
	}
	runs := 150
	if n, err := strconv.Atoi(os.Getenv("MCPHUB_LONG_CASES")); err == nil {
		runs = min(n, 20_000)
	}
	const secretText = "what nobody should see"
	var w *world
	var c *Checker
	var tool *Tool
	moved := true
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 7))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	attacks, allowed := 0, 0
	for range runs {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(pick(realCommands) + pick(realSeparators))
		}
		b.WriteString(pick(realReads))
		if r.IntN(4) == 0 {
			b.WriteString(pick(realSeparators) + pick(realReads))
		}
		s := b.String()
		if moved {
			w = wild(t)
			w.must(os.WriteFile(filepath.Join(w.outside, "secret.txt"), []byte("outside/"+secretText), 0o600))
			c = w.checker()
			tool = w.tool(c, "", anyTool)
		}
		moved = strings.Contains(s, "mv ") // the next has a new world
		_, v := w.call(c, tool, `{"command":`+string(quoteJSON(s))+`}`)
		if v.Decision == Allow {
			allowed++
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		cmd := exec.CommandContext(ctx, shell, "-c", s)
		cmd.Dir, cmd.Env = w.project, []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
		out, _ := cmd.CombinedOutput()
		cancel()
		for _, name := range []string{"new", "x", "src/x", "src/new", "docs/new", "docs/x", "sub/x", "sub/deep/x"} {
			w.must(os.RemoveAll(filepath.Join(w.project, name)))
		}
		if !strings.Contains(string(out), secretText) {
			continue
		}
		attacks++
		if v.Decision != Deny {
			t.Errorf("seed %d: allowed, and the shell prints the file:\n%s\n%s", seed, s, out)
		}
	}
	t.Logf("%d strings, %d print the file, %d allowed", runs, attacks, allowed)
	if attacks < runs/20 {
		t.Errorf("only %d of %d are attacks", attacks, runs)
	}
}
