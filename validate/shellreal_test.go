//go:build unix

package validate

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/validate/policy"
)

// realCommands are what random shell strings are made of; realReads read the file outside from somewhere.
var (
	realCommands = []string{
		"cd src", "cd docs", "cd ..", "cd nosuch", "cd", "cd -", "cd src x", "cd src 2>x", "cd <nosuch src", "(cd src)", "{ cd src; }", "true", "false", ":", "mkdir new", "mkdir src", "mkdir -p new/deep",
		"cd new", "cd new/deep", "X=src; cd \"$X\"", "cd inner", "pushd src", "popd", "if true; then cd src; fi", "if false; then cd src; fi", "CDPATH=.. cd outside", "CDPATH=..", "echo x", "cd \"src\"", "cd s*c",
		"cd() { :; }", "alias cd=:", "set -e", "cd src/../docs", "cd ./src", "cd -P src", "cd --", "x=$(cd src)", "bash -c 'cd src'", "cd src; cd ..", "exec 3>&1", "unset X", "rmdir new", "for i in 1; do cd docs; done",
		"f() { cd src; }", "f", "! cd src", "cd src &", "cd sub/deep", "cd sub && cd deep", "set -- a b", "export X=1", "grep -q x a.txt", "time cd src", "command cd src", "builtin cd docs", "eval cd src", "mv ../deep ../../deep2", "mv $PWD ../moved", "mv ../src ../docs/src", "cat <<'E' > x\n../x\nE\n", "# cd src\n",
		"true # cd src\n", "case x in x) cd src;; esac", "case y in x) cd src;; *) cd docs;; esac", "while false; do cd src; done", "for i in 1 2; do cd ..; done", "until cd src; do :; done", "A=(src ../outside/secret.txt)", "A=../outside/secret.txt", "A='../outside'",
		"{ cd src && true; }", "(cd src && cd ..)", "cd src || cd docs", "true || cd src", "cd src 2>/dev/null", "X=$((1+2))", "((x=1))", "[[ -f a.txt ]]", "[[ -d src && -f a.txt ]]", "f() { cat \"$1\"; }", "grep() { cat \"$1\"; }", "echo() { cat \"$1\"; }",
		"alias echo=cat", "shopt -s expand_aliases", "alias grep=cat", "read A <<< ../outside/secret.txt", "read -r A < x", "cat <<E > x\n../outside/secret.txt\nE\n", "printf -v A ../outside/secret.txt", "set -- ../outside/secret.txt", "echo ../outside/secret.txt > x", "ln -s .. new",
		"exec 4<../outside/secret.txt", "mapfile -t A <<< ../outside/secret.txt", "time true", "coproc cd src", "trap 'cd src' EXIT", "hash -p /bin/cat echo", "PATH=.:$PATH", "unset -f echo", "declare -a B=(x ../outside/secret.txt)", "export C=../outside/secret.txt", "cp a.txt x; mv x ../x", "command -v cat", "let x=1+1", "D=src; cd \"$D\"", "for d in docs src; do cd $d; done", "cd \"$(echo sub/deep)\"", "ln -s sub/deep new", "eval \"echo() { cat \\\"\\$1\\\"; }\"",
	}
	realReads = []string{
		"cat ../outside/secret.txt", "cat ../../outside/secret.txt", "cat ../../../outside/secret.txt", "cat outside/secret.txt", "cat secret.txt", "cat ../secret.txt", "cat $NOPE../outside/secret.txt", "cat $1../outside/secret.txt", "cat ..$NOPE/outside/secret.txt",
		"grep out ../outside/secret.txt", "grep -e out ../outside/secret.txt", "grep ../outside/secret.txt -e out", "cat link/secret.txt", "cat ../link/secret.txt", "cat l*k/secret.txt", "(cat ../outside/secret.txt)", "cat<../outside/secret.txt",
		"cat$IFS../outside/secret.txt", "cat $(echo '../outside/secret.txt x')", "echo '../outside/secret.txt x' | xargs cat", "cat \"../outside/secret.txt\"", "cat $'../outside/secret.txt'", "cat $\"..\"/outside/secret.txt", "cat ${PWD%/*}/outside/secret.txt",
		"cat $(dirname $PWD)/outside/secret.txt", "bash -c 'cat ../outside/secret.txt'", "env -C .. cat outside/secret.txt", "timeout 5 cat ../outside/secret.txt", "cat ~/outside/secret.txt", "cat <<'E' - ../outside/secret.txt\nx\nE\n",
		"xargs cat <<'E'\n../outside/secret.txt\nE\n", "cat <<E\n$(cat ../outside/secret.txt)\nE\n", "echo \"x $(cat ../outside/secret.txt) y\"", "cat flink", "cat ../flink", "cat f*k", "cat fl${X}ink", "head -c 99 ../outside/secret.txt", "cut -d / -f1 ../outside/secret.txt",
		"sort -t / ../outside/secret.txt", "cat *", "cat ../*/secret.txt", "cat .?/outside/secret.txt", "cat {a.txt,../outside/secret.txt}", "echo '../outside/secret.txt'; cat $_", "grep -q ../outside/secret.txt x; cat $_", "cat l\"in\"k/secret.txt", "cat li$NOPE''nk/secret.txt", "cat $NOPE'../outside/secret.txt'", "echo '../outside/secret.txt' > x; cat $(cat x)", "echo '../outside/secret.txt' > x; xargs cat < x", "git() { cat \"$2\"; }; git -m '../outside/secret.txt'", "grep() { cat \"$1\"; }; grep ../outside/secret.txt",
		"cat $A", "cat ${A[1]}", "cat \"${A[@]}\"", "cat $A/secret.txt", "cat ${A:-../outside/secret.txt}", "cat ${NOPE:-../outside/secret.txt}", "cat ${NOPE-$A}", "cat ${B[1]}", "cat $C", "cat \"$1\"", "cat <<< \"$(cat ../outside/secret.txt)\"", "cat <<< $(<../outside/secret.txt)", "cat <(cat ../outside/secret.txt)", "diff <(cat a.txt) ../outside/secret.txt",
		"cat < <(cat ../outside/secret.txt)", "tee < ../outside/secret.txt", "cat ../outside/secret.txt | tee >(cat)", "case x in x) cat ../outside/secret.txt;; esac", "case $(cat ../outside/secret.txt) in *) cat ../outside/secret.txt;; esac", "if cat ../outside/secret.txt; then :; fi", "while cat ../outside/secret.txt; do break; done",
		"for f in ../outside/*; do cat $f; done", "for f in l*k; do cat $f/secret.txt; done", "for ((i=0;i<1;i++)); do cat ../outside/secret.txt; done", "echo $(( $(cat ../outside/secret.txt | wc -l) ))$(cat ../outside/secret.txt)", "[[ -n $(cat ../outside/secret.txt >&2) ]]", "echo ${X:+$(cat ../outside/secret.txt)}$(cat ../outside/secret.txt)",
		"echo ../outside/secret.txt | xargs cat", "echo ../outside/secret.txt | while read f; do cat $f; done", "echo '../outside/secret.txt x' | { read a b; cat $a; }", "printf '%s\\n' ../outside/secret.txt | xargs cat", "echo cat ../outside/secret.txt | sh", "echo 'cat ../outside/secret.txt # x' | sh", "sh <<< 'cat ../outside/secret.txt'", "sh <<'E'\ncat ../outside/secret.txt\nE\n", "bash -s <<'E'\ncat ../outside/secret.txt\nE\n",
		"cat <<'E' | sh\ncat ../outside/secret.txt\nE\n", "cat <<'E' > x; sh x\ncat ../outside/secret.txt\nE\n", "tee x <<'E' | sh\ncat ../outside/secret.txt\nE\n", "eval 'cat ../outside/secret.txt'", "eval cat ../outside/secret.txt", "eval \"$(echo cat ../outside/secret.txt)\"", "trap 'cat ../outside/secret.txt' EXIT", ". ../outside/secret.txt", "awk 1 ../outside/secret.txt", "sed '' ../outside/secret.txt", "sed -n 'r ../outside/secret.txt' a.txt", "sed 'r ../outside/secret.txt' a.txt",
		"git commit -m x -F ../outside/secret.txt --dry-run", "git log --grep=../outside/secret.txt; cat ../outside/secret.txt", "find ../outside -name secret.txt -exec cat {} +", "find . -name 's*' -exec cat {}/secret.txt ';'", "env A=../outside/secret.txt sh -c 'cat $A'", "env cat ../outside/secret.txt", "command cat ../outside/secret.txt", "nice cat ../outside/secret.txt", "exec cat ../outside/secret.txt", "time cat ../outside/secret.txt", "! cat ../outside/secret.txt",
		"cat <&4", "cat 0<../outside/secret.txt", "cat 3<../outside/secret.txt <&3", "sort -t / -k 2 ../outside/secret.txt", "tr a a < ../outside/secret.txt", "dd if=../outside/secret.txt", "cat -- ../outside/secret.txt", "cat ../outside/sec*", "cat ../out*/secret.txt", "cat ../{outside,x}/secret.txt", "cat ..\\/outside/secret.txt", "cat ../outside//./secret.txt", "cat \"..\"'/outside'/secret.txt", "cat ${X}../outside/secret.txt",
		"f() { cat ../outside/secret.txt; }; f", "function f { cat ../outside/secret.txt; }; f", "coproc cat ../outside/secret.txt; cat <&${COPROC[0]}", "echo `cat ../outside/secret.txt`", "cat `echo ../outside/secret.txt`", "cat $(\necho ../outside/secret.txt # x\n)", "cat \\\n../outside/secret.txt", "cat a.txt; # x\ncat ../outside/secret.txt", "echo ../outside/secret.txt; cat $_", "echo $(<../outside/secret.txt)", "read x < ../outside/secret.txt; echo $x", "mapfile x < ../outside/secret.txt; echo ${x[@]}",
		"echo ../outside/secret.txt", "git commit -m ../outside/secret.txt", "echo ../outside/secret.txt > new/x", "cat x", "sh x", "cat $(cat x)", "xargs cat < x", "cat new/outside/secret.txt",
		"sed 'r../outside/secret.txt' a.txt", "sed -e '1rflink' a.txt", "echo x | sed 's/x/cat ..\\/outside\\/secret.txt/e'", "find src -name main.go -execdir cat ../../outside/secret.txt ';'", "cat new/../../../outside/secret.txt", "let 'x[$(cat flink >&2)]'",
	}
	realSeparators = []string{"; ", " && ", " || ", "\n", " | ", " & ", ";"}
)

// TestAgainstTheShell: whatever order of commands makes a real shell print the file outside is denied. What the judge
// says about the target of cd is held against the directory that cd led to.
func TestAgainstTheShell(t *testing.T) {
	t.Parallel()
	shell := needs.Program(t, "bash")
	runs := min(seeds.Cases(t, 150), 100_000)
	const secretText = "what nobody should see"
	var w *world
	var c *Checker
	var tool *Tool
	moved := true
	r := seeds.Rand(t)
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	ran, attacks, allowed := 0, 0, 0
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
		moved = false
		_, v := w.call(c, tool, `{"command":`+string(quoteJSON(s))+`}`)
		if v.Decision == policy.Allow {
			allowed++
		} else if r.IntN(32) > 0 {
			continue // of what is denied a part shows that these are attacks
		}
		ran++
		moved = strings.Contains(s, "mv ") // the next has a new world
		ctx, cancel := context.WithTimeout(t.Context(), bounds.Patience)
		cmd := exec.CommandContext(ctx, shell, "-c", s)
		cmd.Dir, cmd.Env = w.project, []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with all that it starts, and leaves behind
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = time.Second
		out, _ := cmd.CombinedOutput()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cancel()
		for _, dir := range []string{w.project, w.home, w.outside, filepath.Join(w.project, "src"), filepath.Join(w.project, "docs"), filepath.Join(w.project, "sub"), filepath.Join(w.project, "sub/deep")} {
			for _, name := range []string{"new", "x"} {
				w.must(os.RemoveAll(filepath.Join(dir, name)))
			}
		}
		if !strings.Contains(string(out), secretText) {
			continue
		}
		attacks++
		if v.Decision != policy.Deny {
			t.Errorf("allowed, and the shell prints the file:\n%s\n%s", s, out)
		}
	}
	t.Logf("%d strings, %d allowed, %d run, %d print the file", runs, allowed, ran, attacks)
	if ran >= 200 && attacks < ran/20 { // of fewer it may well be that none is
		t.Errorf("only %d of %d are attacks", attacks, ran)
	}
}
