package kernel

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// The user's configuration of git holds a token, in a file that it includes a second one, and a header. In a server that the kernel holds,
// git knows its user and commits, and no file shows a credential; get-roots says so. Free, the same server reads them, which is the control.
func TestNoCredentialOfGitIsRead(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"auto", "required", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorktree(t, mode)
			const token = "ghp_0123456789abcdefghijklmnop"
			w.Write("home/.gitconfig", "[user]\n\tname = A Person\n[http]\n\textraHeader = Authorization: Bearer "+token+"\n[include]\n\tpath = .gitconfig.local\n[includeIf \"gitdir:~/main/\"]\n\tpath = work\n[alias]\n\tst = status\n")
			w.Write("home/.gitconfig.local", "[url \"https://me:"+token+"@x.org/\"]\n\tinsteadOf = https://x.org/\n[user]\n\temail = home@b.c\n")
			w.Write("home/work", "[user]\n\temail = work@b.c\n")
			w.s.End(world.StopBound)
			w.start()
			for line, want := range map[string]string{
				"git config --get user.name": "A Person", "git config --get user.email": "work@b.c", "git st": "On branch work", "echo x > new && git add new && git commit -qm new && git log -1 --format=%an+%ae": "A Person+work@b.c",
			} {
				if said, ok := w.does(line); !ok || !strings.Contains(said, want) {
					t.Errorf("%s says %s", line, said)
				}
			}
			said, _ := w.does("cat $HOME/.gitconfig $HOME/.gitconfig.local; git config --list; git config --get http.extraHeader; cat $GIT_CONFIG_GLOBAL $(dirname ${GIT_CONFIG_GLOBAL:-/nowhere/x})/*; env")
			if strings.Contains(said, token) != (mode == "off") {
				t.Errorf("it reads a token: %t: %s", strings.Contains(said, token), said)
			}
			if said := w.s.MustCall("get-roots", `{}`).Text; strings.Contains(said, ".gitconfig is closed: line 4 holds a credential (http.extraheader); git reads a copy without that") != (mode != "off") || strings.Contains(said, token) {
				t.Errorf("get-roots says %s", said)
			}
			global, _ := w.does("echo $GIT_CONFIG_GLOBAL")
			global, _, _ = strings.Cut(global, "\n")
			w.s.End(world.StopBound)
			if _, err := os.Lstat(global); mode != "off" && (global == "" || !os.IsNotExist(err)) {
				t.Errorf("the copy %q is left behind: %v", global, err)
			}
		})
	}
}
