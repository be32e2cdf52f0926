package confinement_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// git runs git in a folder.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// repositories are a repository with a worktree and a submodule, and one that has nothing
// to do with it.
func repositories(t *testing.T, home string) {
	t.Helper()
	for _, name := range []string{"main", "sub", "victim"} {
		dir := filepath.Join(home, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "init", "-q")
		git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	}
	git(t, home+"/main", "worktree", "add", "-q", home+"/wt")
	git(t, home+"/main", "submodule", "--quiet", "add", home+"/sub", "sub")
	git(t, home+"/victim", "worktree", "add", "-q", home+"/theirs")
}

// TestTheRepositoryOfAWorktree: of what names a root back, git can do its work, and what it
// runs or obeys is not written.
func TestTheRepositoryOfAWorktree(t *testing.T) {
	h, home := confinedMachine(t)
	repositories(t, home)
	for root, want := range map[string]map[string]string{
		"wt": {
			"main/.git/HEAD": "rx", "main/.git/objects/x": "rxw", "main/.git/refs/heads/x": "rxw", "main/.git/logs/x": "rxw", "main/.git/worktrees/wt/index": "rxw",
			"main/.git/hooks/x": "rx", "main/.git/config": "rx", "main/.git/packed-refs": "rx", "main/x": "", "victim/.git/HEAD": "",
		},
		"main/sub": {"main/.git/modules/sub/HEAD": "rx", "main/.git/modules/sub/objects/x": "rxw", "main/.git/modules/sub/config": "rx", "main/.git/HEAD": "", "main/x": ""},
		"main":     {"main/.git/config": "rxw", "victim/.git/HEAD": ""},
	} {
		m := writable(h, home, root)
		m.Host = m.ForRoots([]string{filepath.Join(home, root)})
		c := planOf(t, m, confinedProgram("sh"))
		for path, want := range want {
			if got := rights(c, filepath.Join(home, path)); got != want {
				t.Errorf("root %s: %s is open to %q, want %q", root, path, got, want)
			}
		}
	}
}

// TestAForgedWorktree: a server that writes in a root gives its .git any content, and
// what that leads to. The honest one is the control.
func TestAForgedWorktree(t *testing.T) {
	for name, forge := range map[string]func(t *testing.T, root, victim string){
		"":                          func(*testing.T, string, string) {},
		"the repository of another": func(t *testing.T, root, victim string) { putFile(t, root+"/.git", "gitdir: "+victim+"/.git\n") },
		"the worktree of another": func(t *testing.T, root, victim string) {
			putFile(t, root+"/.git", "gitdir: "+victim+"/.git/worktrees/theirs\n")
		},
		"a link to its file": func(t *testing.T, root, victim string) { relink(t, filepath.Dir(victim)+"/theirs/.git", root+"/.git") },
		"a folder of its own, which leads there": func(t *testing.T, root, victim string) {
			putFile(t, root+"/fake/worktrees/x/gitdir", root+"/.git\n")
			putFile(t, root+"/fake/worktrees/x/commondir", victim+"/.git\n")
			putFile(t, root+"/.git", "gitdir: "+root+"/fake/worktrees/x\n")
		},
		"the same by a link": func(t *testing.T, root, victim string) {
			putFile(t, root+"/fake/x/gitdir", root+"/.git\n")
			putFile(t, root+"/fake/x/commondir", "../..\n")
			relink(t, victim+"/.git", root+"/fake/y")
			putFile(t, root+"/.git", "gitdir: "+root+"/fake/x\n")
		},
		"a submodule that it names": func(t *testing.T, root, victim string) {
			putFile(t, root+"/fake/config", "[core]\n\tworktree = "+root+"\n")
			relink(t, victim+"/.git/objects", root+"/fake/objects")
			relink(t, victim+"/.git/refs", root+"/fake/refs")
			putFile(t, root+"/fake/HEAD", "")
			putFile(t, root+"/.git", "gitdir: "+root+"/fake\n")
		},
		"no repository": func(t *testing.T, root, victim string) {
			putFile(t, root+"/.git", "gitdir: "+filepath.Dir(victim)+"/private\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, home := confinedMachine(t)
			repositories(t, home)
			putFile(t, home+"/private/x", "")
			root := home + "/wt"
			if name != "" {
				if err := os.Remove(root + "/.git"); err != nil {
					t.Fatal(err)
				}
			}
			forge(t, root, home+"/victim")
			m := writable(h, home, "wt")
			m.Host = m.ForRoots([]string{root})
			c := planOf(t, m, confinedProgram("sh"))
			for _, path := range []string{"victim/.git/HEAD", "victim/.git/objects/x", "victim/.git/config", "private/x"} {
				if got := rights(c, filepath.Join(home, path)); got != "" {
					t.Errorf("%s is open to %q", path, got)
				}
			}
			if got := rights(c, home+"/main/.git/HEAD"); (got != "") != (name == "") {
				t.Errorf("its own repository is open to %q", got)
			}
		})
	}
}

// TestTheRepositoryAroundARoot: a git server reads the repository that a root lies in, and
// no other server does.
func TestTheRepositoryAroundARoot(t *testing.T) {
	h, home := confinedMachine(t)
	repositories(t, home)
	putFile(t, home+"/main/packages/a/x", "")
	server := putFile(t, filepath.Join(home, "tools/node_modules/@cyanheads/git-mcp-server/index.js"), "")
	for name, tc := range map[string]struct {
		prog program.Program
		root string
		want string
	}{
		"a git server": {confinedProgram("node", server), "main/packages/a", "rx"},
		"another":      {confinedProgram("sh"), "main/packages/a", ""},
		"elsewhere":    {confinedProgram("node", server), "work/rooted", ""},
	} {
		m := writable(h, home, tc.root)
		m.Host = m.ForRoots([]string{filepath.Join(home, tc.root)})
		c := planOf(t, m, tc.prog)
		if got := rights(c, home+"/main/.git/objects/x"); got != tc.want {
			t.Errorf("%s: it is open to %q, want %q", name, got, tc.want)
		}
		if got := rights(c, home+"/main/x"); got != "" {
			t.Errorf("%s: its files are open to %q", name, got)
		}
	}
	withheld := writable(h, home, "wt")
	withheld.Host = withheld.ForRoots([]string{home + "/wt"}, home+"/main")
	if c := planOf(t, withheld, confinedProgram("sh")); c.Profile.AccessAt(home+"/main/.git/HEAD") != sandbox.Access(0) {
		t.Error("what the policy withholds is open")
	}
}
