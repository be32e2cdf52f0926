//go:build unix

package validate

import (
	"os"
	"testing"

	"mcphub/validate/policy"
)

// TestKnownStrings are the strings that TestStringClasses was made from, and what was refused beside them.
func TestKnownStrings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.MkdirAll(w.home+"/.ssh", 0o700))
	w.must(os.MkdirAll(w.project+"-evil", 0o700))
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for _, command := range []string{
		"date +{outside}/secret.txt | xargs cat", "find . -maxdepth 0 -printf {outside}/secret.txt | xargs cat", "cat $(stat -c {outside}/secret.txt .)", "ls -ld --time-style=+{outside}/secret.txt . | xargs cat", "git log --format='cat {outside}/secret.txt' | bash", "cd $(date +{outside}) && cat secret.txt",
		"seq -s {outside}/secret.txt 0 1 | xargs cat", "rg -r {outside}/secret.txt x a.txt | xargs cat", "cat $(date +..%%/outside/secret.txt | tr -d %)", "cat $(git log -1 --format=%x2e%x2e/outside/secret.txt)", "cat $PWD-evil", "cat ${PWD%project}project-evil", "x=.; cat $x$x/outside/secret.txt", "sed '/x/Ir{outside}/secret.txt' a.txt", "ex -s +r{outside}/secret.txt a.txt", "nvim --cmd 'so{outside}/secret.txt'",
		"ssh -o Hostname=localhost h cat {outside}/secret.txt", "scp scp://localhost/{outside}/secret.txt .", "scp 2130706433:{outside}/secret.txt .", "docker run --privileged alpine", "docker run --pid=host alpine", "git clone 'ext::sh -c cat% {outside}/secret.txt'", "tar -xPf x.tar --transform 's|^|{outside}/|'", "docker exec --privileged web sh",
	} {
		judgeAll(t, w, c, tool, policy.Deny, `{"command":`+quotedJSON(command)+`}`)
	}
	judgeAll(t, w, c, tool, policy.Deny, `{"args":["-e","1r{outside}/secret.txt"]}`, `{"yaml":"volumes:\n- {outside}:/x:ro\n"}`, `{"yaml":"volumes:\n- ../outside:/x\n"}`, `{"yaml":"volumes:\n- ~/.ssh:/x\n"}`, `{"yaml":"$ref: '../outside/secret.txt#/a'"}`,
		`{"sql":"SET file_search_path='/'; FROM read_csv('etc/passwd')"}`, `{"sql":"SET home_directory='/etc'; FROM read_csv('~/passwd')"}`, `{"x":"foo:/etc/passwd"}`, `{"x":"foo:///etc/passwd"}`, `{"url":"ssh://localhost/etc/passwd"}`, `{"url":"ext::sh -c cat% /etc/passwd"}`, `{"x":"file:etc/passwd"}`, `{"x":"file:../outside/secret.txt"}`, `{"x":"\\/etc\\/passwd"}`)
	judgeAll(t, w, c, tool, policy.Allow, `{"yaml":"volumes:\n- data:/var/lib/postgresql/data\n"}`, `{"volumes":["data:/etc"]}`, `{"url":"https://host/etc/passwd"}`, `{"package":"file:./x"}`, `{"pattern":"\\/home\\/[a-z]+"}`, `{"command":"scp h:/path ."}`, `{"subject":"see ../README.md"}`, `{"caption":"see ../README.md"}`, `{"answer":"see ../README.md"}`,
		`{"query":"SELECT 1 WHERE p LIKE '/home/%'"}`, `{"defaultShell":"/bin/bash"}`, `{"command":"date +/etc/passwd"}`, `{"command":"git log --format=/etc/passwd | head -n 1"}`, `{"command":"docker run --pid=container:x alpine"}`)
	for uri, code := range map[string]string{"file:///home%2Fghost/x": CodeBadURI, "file:///a%zz/host": CodeBadURI, "file://ghost/x": CodeForeignHost} {
		if _, v := w.call(c, tool, `{"x":`+quotedJSON(uri)+`}`); v.Decision != policy.Deny || v.Deciding.Code != code {
			t.Errorf("%s: %v, want %s", uri, v.Deciding, code)
		}
	}
}
