package kernel

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// The user's configuration of git holds a token, in a file that it includes a second one, and a header. In a server that the kernel holds,
// git knows its user and commits, and no file shows a credential; get-roots says so. Free, the same server reads them, which is the control.
func credentialsOfGit(t *testing.T, m manner) {
	r := m.world(t)
	const token = "ghp_0123456789abcdefghijklmnop"
	w := newWorktree(r)
	w.Write("home/.gitconfig", "[user]\n\tname = A Person\n[http]\n\textraHeader = Authorization: Bearer "+token+"\n[include]\n\tpath = .gitconfig.local\n[includeIf \"gitdir:~/main/\"]\n\tpath = work\n[alias]\n\tst = status\n")
	w.Write("home/.gitconfig.local", "[url \"https://me:"+token+"@x.org/\"]\n\tinsteadOf = https://x.org/\n[user]\n\temail = home@b.c\n")
	w.Write("home/work", "[user]\n\temail = work@b.c\n")
	r.own()
	w.start(obj{})
	for line, want := range map[string]string{
		"git config --get user.name": "A Person", "git config --get user.email": "work@b.c", "git st": "On branch work", "echo x > new && git add new && git commit -qm new && git log -1 --format=%an+%ae": "A Person+work@b.c",
	} {
		if said, ok := w.works(line); !ok || !strings.Contains(said, want) {
			t.Errorf("%s says %s", line, said)
		}
	}
	const look = "cat $HOME/.gitconfig $HOME/.gitconfig.local; git config --list; git config --get http.extraHeader; cat $GIT_CONFIG_GLOBAL $(dirname ${GIT_CONFIG_GLOBAL:-/nowhere/x})/*; env"
	if said, _ := w.works(look); strings.Contains(said, token) {
		t.Errorf("it reads a token: %s", said)
	}
	if said := w.s.MustCall("get-roots", `{}`).Text; !strings.Contains(said, ".gitconfig is closed: line 4 holds a credential (http.extraheader); git reads a copy without that") || strings.Contains(said, token) {
		t.Errorf("get-roots says %s", said)
	}
	global, _ := w.works("echo $GIT_CONFIG_GLOBAL")
	global, _, _ = strings.Cut(global, "\n")
	w.s.End(world.StopBound)
	r.awaitEnd()
	if _, err := os.Lstat(global); global == "" || !os.IsNotExist(err) {
		t.Errorf("the copy %q is left behind: %v", global, err)
	}
	w.start(obj{"sandbox": "off"})
	if said, _ := w.works(look); !strings.Contains(said, token) {
		t.Errorf("free, it reads no token: %s", said)
	}
	if said := w.s.MustCall("get-roots", `{}`).Text; strings.Contains(said, ".gitconfig") || strings.Contains(said, token) {
		t.Errorf("free, get-roots says %s", said)
	}
}
