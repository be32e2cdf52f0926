package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// worktreeWorld is a repository of the user's, outside, with a worktree that is the root of a server.
type worktreeWorld struct {
	*relinked
	main, tree string
	canary     string // a program that leaves a file, and nothing else
	s          *world.Session
}

// git runs git as the user does, in a folder.
func (w *worktreeWorld) git(dir string, args ...string) (string, error) {
	return w.command(dir, append([]string{"git"}, args...)...)
}

// newWorktree makes one, and starts nothing.
func newWorktree(r *relinked) *worktreeWorld {
	r.t.Helper()
	w := &worktreeWorld{relinked: r, main: r.Path("home", "main"), tree: r.Path("home", "tree")}
	world.Must(r.t, os.Remove(r.Path("home", ".gitconfig")))
	w.Write("home/.gitconfig", "[user]\n\tname = A Person\n\temail = a@b.c\n[init]\n\tdefaultBranch = main\n")
	w.Write("home/main/file", "honest\n")
	r.own()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "first"}, {"branch", "other"}, {"gc", "-q"}, {"commit", "-q", "--allow-empty", "-m", "second"}, {"worktree", "add", "-q", "-b", "work", w.tree}, {"clone", "-q", "--bare", w.main, w.tree + "/remote.git"}} {
		if out, err := w.git(w.main, args...); err != nil {
			r.t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	w.canary = w.Write("home/tree/canary", "#!/bin/sh\necho x > "+w.Path("home", "ran")+"\n")
	world.Must(r.t, os.Chmod(w.canary, 0o755))
	r.own()
	return w
}

// start starts a hub and its server, by an entry.
func (w *worktreeWorld) start(kid obj) {
	w.t.Helper()
	w.s = w.session("hub", kid, w.tree)
	w.s.AwaitTool("kid__shell")
}

// works has the server run a line in its root, and reports whether it works.
func (w *worktreeWorld) works(line string) (string, bool) {
	w.t.Helper()
	line = strings.NewReplacer("MAIN", w.main+"/.git", "OWN", w.main+"/.git/worktrees/tree", "CANARY", w.canary).Replace(line)
	said := w.s.MustCallArgs("kid__shell", obj{"command": fmt.Sprintf("export HOME='%s'; cd '%s' && { %s; } && echo it-wo''rks", w.Home, w.tree, line)}).Text
	return said, strings.Contains(said, "it-works")
}

// What a server in a worktree writes of the repository of its user when git must write it, and what it may not.
var (
	workOfGit = []string{
		"git status", "echo x > new && git add new && git commit -qm new", "git branch topic && git switch -q topic && git switch -q work",
		"git -c protocol.file.allow=always fetch -q ./remote.git main && git rev-parse FETCH_HEAD", "echo y > new && git stash -q && git stash pop -q && git checkout -q new",
		"git merge -q --no-ff -m merged topic", "git log --oneline", "git tag v1", "git rebase -q HEAD~1", "git gc --auto",
	}
	obeyedByGit = []string{
		"echo '* filter=x' >> MAIN/info/attributes", "echo x >> MAIN/info/exclude", "touch MAIN/commondir && rm MAIN/commondir", "cp MAIN/HEAD MAIN/H && mv MAIN/H MAIN/HEAD", "mkdir -p MAIN/modules/x",
		"cp MAIN/packed-refs MAIN/p && mv MAIN/p MAIN/packed-refs", "cp MAIN/index MAIN/i && mv MAIN/i MAIN/index", "mkdir MAIN/worktrees/x && rmdir MAIN/worktrees/x", "echo x >> MAIN/../file",
		"cp CANARY MAIN/hooks/post-index-change", "echo '[core] fsmonitor = CANARY' > MAIN/config.worktree", "git config extensions.worktreeConfig true",
		"echo '[core] fsmonitor = CANARY' >> MAIN/config", "git config core.fsmonitor CANARY",
	}
)

// A server in a worktree does git's work there as before. Of the repository of its user it writes nothing that git runs or obeys in
// that repository. Free, it writes all of it, and git runs it, which is the control.
func inAWorktree(t *testing.T, m manner) {
	w := newWorktree(m.world(t))
	w.start(obj{})
	for _, line := range workOfGit {
		if said, ok := w.works(line); !ok {
			t.Errorf("%s: %s", line, said)
		}
	}
	for _, line := range obeyedByGit {
		if said, ok := w.works(line); ok {
			t.Errorf("%s: it works: %s", line, said)
		}
	}
	// What it does write: git obeys it in the worktree, and in the repository obeys none of it.
	for _, line := range []string{
		"cp -r MAIN evil && echo '[core] fsmonitor = CANARY' >> evil/config && cp CANARY evil/hooks/post-index-change && cp CANARY evil/hooks/reference-transaction && cp CANARY evil/hooks/post-commit",
		"cp -r evil/config OWN/config.worktree && cp -r evil/config OWN/config && cp -r evil/hooks OWN/hooks && mkdir -p OWN/info && echo '* filter=x' > OWN/info/attributes",
		"echo $PWD/evil/objects > MAIN/objects/info/alternates",
		"echo $PWD/evil > OWN/commondir.new && mv OWN/commondir.new OWN/commondir",
	} {
		if said, ok := w.works(line); !ok {
			t.Errorf("%s: %s", line, said)
		}
	}
	w.wantRun(false, "the repository")
	if out, err := w.git(w.tree, "status"); err != nil {
		t.Errorf("in the worktree: %v: %s", err, out)
	}
	if _, err := os.Stat(w.Path("home", "ran")); err != nil {
		t.Error("git runs nothing of it in the worktree, so this shows nothing")
	}
	world.Must(t, os.RemoveAll(w.Path("home", "ran")))
	if said, ok := w.works("echo gone/.git > OWN/gitdir && echo 'ref: refs/heads/other' > OWN/HEAD"); !ok {
		t.Error(said)
	}
	w.wantRun(false, "the repository, of which the worktree says to be elsewhere")

	free := newWorktree(m.world(t))
	free.start(obj{"sandbox": "off"})
	for _, line := range slices.Concat(workOfGit, obeyedByGit) {
		if said, ok := free.works(line); !ok {
			t.Errorf("free: %s: %s", line, said)
		}
	}
	free.wantRun(true, "a server that is free")
}

// wantRun has git do what people do in the repository, and wants that something of a server's is run, or not.
func (w *worktreeWorld) wantRun(want bool, what string) {
	w.T.Helper()
	for _, args := range [][]string{
		{"status"}, {"add", "-A"}, {"commit", "--allow-empty", "-qm", "x"}, {"branch", "-a"}, {"branch", "-f", "another"}, {"log", "--oneline", "--all"}, {"worktree", "list"}, {"fetch", "-q", "."},
		{"for-each-ref"}, {"checkout", "-q", "-B", "third"}, {"stash", "list"}, {"diff"}, {"reflog"}, {"fsck"}, {"worktree", "prune", "--expire=now"},
	} {
		if out, err := w.git(w.main, args...); err != nil && !want {
			w.t.Errorf("%s: git %s: %v: %s", what, args, err, out)
		}
	}
	if _, err := os.Stat(w.Path("home", "ran")); (err == nil) != want {
		w.t.Errorf("%s: git runs what a server wrote: %t, want %t", what, err == nil, want)
	}
}
