package validate

import (
	"os"
	"path/filepath"
	"testing"

	"mcphub/validate/policy"
)

// forgiven are commands that open a link that leads out, a directory that a rule denies, or something outside, for which a table of
// programs was too kind once.
var forgiven = []string{
	`sqlite3 a.db ".shell rm -rf .."`, `sqlite3 a.db ".shell rm -rf /root"`, `sqlite3 a.db ".system ls -la /root"`, `sqlite3 a.db ".shell cp -r .. x"`,
	`sqlite3 a.db ".shell cd .. && cat outside/secret.txt"`, `sqlite3 a.db ".cd /etc" ".read passwd"`, `sqlite3 a.db ".cd .." ".read outside/secret.txt"`,
	`sqlite3 a.db ".output /etc/newfile"`, `sqlite3 a.db ".backup {outside}/x.db"`, `sqlite3 a.db "vacuum into '{outside}/x.db'"`, `sqlite3 a.db "attach '/root' as y"`,
	`sqlite3 a.db ".read flink"`, `sqlite3 a.db ".import flink t"`, `sqlite3 a.db ".open flink"`, `sqlite3 a.db "select readfile('flink')"`,
	`duckdb -c "copy t to 'dangling'"`, `sqlite3 a.db ".shell tar c secrets"`,
	`ag -t root /etc`, `ag -t root link`, `kubectl get x -o go-template-file=/etc/passwd`, `kubectl get x -o=jsonpath-file=/etc/passwd`, `ansible-playbook site.yml -l @/etc/passwd`,
	`ansible-playbook site.yml --limit=@/etc/passwd`,
	`git worktree remove --force secrets`, `git worktree add link`, `git submodule foreach cat flink`, `git bisect run cat flink`, `git bisect run rm -rf secrets`, `git bisect replay flink`,
	`git config include.path flink`, `git config core.worktree link`, `man -l flink`, `mvn -s flink`, `make -j -C link x`, `MAKEFLAGS=-f make flink`,
	`bun flink`, `bun run flink`, `deno run flink`, `uv run flink`, `swift flink`, `gh secret set X -f flink`, `tmux -S {outside}/sock ls`,
	`psql -c '\i flink'`, `psql -c '\copy t from flink'`, `psql -c '\! cat flink'`, `psql -c '\! rm -rf secrets'`, `psql -c '\cd link'`, `mysql -e 'source flink'`, `mysql -e 'system cat flink'`,
	`mysql -e '\! rm -rf secrets'`, `perl -e 'open F,q(flink)'`, `perl -e 'unlink q(flink)'`, `ruby -e 'exec %q(cat flink)'`, `sed 'e cat flink' a.txt`,
	`env TAG=link sh -c 'cat "$TAG"/secret.txt'`, `env TAG=flink sh -c 'cat "$TAG"'`, `env FILE_NAME=flink bash -c 'cat $FILE_NAME'`, `TARGET=secrets make clean`,
	`cd src && trap 'cat flink' EXIT; cd ..`, `cd src && trap 'rm -rf secrets' EXIT && cd ..`, `make -j$(echo 1 -f ../outside/secret.txt)`, `head -n$(echo 1 /etc/passwd)`,
	`cut -d: -f$(echo 1 /etc/passwd)`, `: "a secrets/new"; touch secrets/new`, `frob "a secrets/new"; echo x > secrets/new`, `cat secrets/new; touch secrets/new`,
	`nodemon --exec "touch secrets/new"`, `frob "secrets/x y"`, `pip install -e lin[k]`, `pip install -e secret[s]`, `task -jd secrets`, `sbt -java-home secrets`,
	`grep ./f*k`, `head -n fl*`, `awk fl* 1 a.txt`, `sed -n fl* a.txt`, `pip install -e "../outside[dev]"`,
	`env BUILD_TARGET=secrets bash clean.sh`, `python -m grep /etc/passwd a.txt`, `python -m echo /etc/passwd`,
}

// forgivenArguments are arguments of other tools that did.
var forgivenArguments = []string{
	`{"path":"a@b:c=/etc/passwd"}`, `{"files":["pkg:a@b:c=/etc/passwd"]}`, `{"args":["foo://x(/etc/passwd"]}`, `{"stdin":"x=foo://y(/etc/passwd)"}`,
	`{"location":"my dir/lk:12:3"}`, `{"path":"my dir/lk#L3"}`, `{"zz":"my dir/lk?x"}`, `{"path":"--file=my dir/lk/secret.txt"}`,
}

// TestForgivenWords: what a program opens is judged, although the word is the name of something else for most programs. In a project
// without the links and the rule the words are names, which is the control: a third of these calls passes there.
func TestForgivenWords(t *testing.T) {
	t.Parallel()
	w := wild(t)
	w.must(mkdir(filepath.Join(w.project, "secrets")))
	w.must(mkdir(filepath.Join(w.project, "my dir")))
	w.must(os.Symlink("../../outside", filepath.Join(w.project, "my dir/lk")))
	c := w.rules("", policy.Rule{Then: policy.Deny, Paths: within("{project}/secrets")})
	bare := newWorld(t)
	for _, name := range []string{"link", "inner", "dangling", "loop", "passwd", "bin/tool"} {
		w.must(os.Remove(filepath.Join(bare.project, name)))
	}
	without := bare.checker()
	passed := 0
	judge := func(arguments string) {
		t.Helper()
		if _, v := w.call(c, w.tool(c, "", anyTool), arguments); v.Decision != policy.Deny {
			t.Errorf("allowed: %s", arguments)
		}
		if _, v := bare.call(without, bare.tool(without, "", anyTool), arguments); v.Decision == policy.Allow {
			passed++
		}
	}
	for _, command := range forgiven {
		judge(`{"command":` + string(quoteJSON(w.fill(command))) + `}`)
	}
	for _, arguments := range forgivenArguments {
		judge(arguments)
	}
	if all := len(forgiven) + len(forgivenArguments); passed*3 < all {
		t.Errorf("%d of %d pass without the links and the rule: they are refused for another reason", passed, all)
	}
}
