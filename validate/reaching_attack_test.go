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
	"mcphub/validate/policy"
)

// deepWorld has a directory as deep as the root, so that what climbs out of it means nothing from where the child works.
func deepWorld(t *testing.T) (w *world, fill func(string) string) {
	w = wild(t)
	deep := strings.TrimSuffix(strings.Repeat("d/", strings.Count(w.project, "/")), "/")
	w.must(os.MkdirAll(filepath.Join(w.project, deep), 0o755))
	w.must(os.WriteFile(filepath.Join(w.project, deep, "f"), []byte("f\n"), 0o600))
	w.must(os.WriteFile(w.outside+"/secret.txt", []byte("what nobody should see\n"), 0o600))
	w.must(os.WriteFile(w.outside+"/secret.json", []byte(`"what nobody should see"`), 0o600))
	up := strings.Repeat("../", strings.Count(deep, "/")+2)
	return w, func(s string) string {
		return w.fill(strings.NewReplacer("{deep}", deep, "{up}", up).Replace(s))
	}
}

// prints runs a shell string as a child would, and reports that it shows the file outside.
func (w *world) prints(dir, s string) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), bounds.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, needs.Program(w.t, "bash"), "-c", s)
	cmd.Dir, cmd.Env = filepath.Join(w.project, dir), []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return strings.Contains(string(out), "what nobody should see")
}

// reachingStrings print the file outside, where their programs are there.
var reachingStrings = []string{
	// From a directory that only the string knows.
	"for d in {deep}; do cd $d; cat {up}outside/secret.txt; done",
	`cd "$(dirname {deep}/f)" && cat {up}outside/secret.txt`,
	"A=({deep}); cd ${A[0]}; cat {up}outside/secret.txt",
	"read d <<< {deep}; cd $d; cat {up}outside/secret.txt",
	"echo {deep} | xargs -I{} env -C {} cat {up}outside/secret.txt",
	"echo {deep} | xargs -I{} sh -c 'cd {} && cat {up}outside/secret.txt'",
	"f() { cd $1; }; f {deep}; cat {up}outside/secret.txt",
	"C=cd; $C {deep}; cat {up}outside/secret.txt",
	"export D={deep}; cd \"$D\"; cat {up}outside/secret.txt",
	"set -- {deep}; cd $1; cat {up}outside/secret.txt",
	"x={deep}; cat $x/{up}outside/secret.txt",
	"find d -name f -execdir cat {up}outside/secret.txt \\;",
	"perl -e 'chdir \"{deep}\"; exec \"cat\", \"{up}outside/secret.txt\"'",
	"ln -s {deep} l; cat l/{up}outside/secret.txt",
	"ln -s {up}outside/secret.txt {deep}/l; cat {deep}/l",
	// Glued to a command of sed.
	"sed 'r../outside/secret.txt' a.txt", "sed '1r../outside/secret.txt' a.txt", "sed -e 'rflink' a.txt", "sed '/a/{rflink\n}' a.txt", "sed 'y/abc/xyz/;rflink' a.txt",
	`echo x | sed 's/x/cat ..\/outside\/secret.txt/e'`, `echo x | sed 's/x/cat ..\/outside\/secret.txt/ep;s/a/b/'`,
	// In what arithmetic runs.
	"let 'x[$(cat flink >&2)]'", "printf -v 'x[$(cat flink >&2)]' 1", "read 'x[$(cat flink >&2)]' <<< 1",
	// In a filter of jq.
	`jq -n 'import "secret" as $s {search:"../outside"}; $s'`, `jq -n 'import "secret" as $s {search:"{outside}"}; $s'`, `jq -n -L . 'import "../outside/secret" as $s; $s'`,
}

// TestReachingStrings: what makes a shell print the file outside is denied.
func TestReachingStrings(t *testing.T) {
	t.Parallel()
	needs.Program(t, "bash")
	shown := 0
	for _, s := range reachingStrings {
		w, fill := deepWorld(t)
		s = fill(s)
		c := w.checker()
		if _, v := w.call(c, w.tool(c, "", anyTool), `{"command":`+string(quoteJSON(s))+`}`); v.Decision != policy.Deny {
			t.Errorf("allowed: %s", s)
		}
		if w.prints("", s) {
			shown++
		} else {
			t.Logf("this machine's shell does not print the file: %s", s)
		}
	}
	if shown < len(reachingStrings)-8 {
		t.Errorf("only %d of %d strings reach the file", shown, len(reachingStrings))
	}
}

// TestNamedDirectory: a word of a command that leads outside from the directory that the call names is denied, though it
// means nothing from where the child works.
func TestNamedDirectory(t *testing.T) {
	t.Parallel()
	w, fill := deepWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	attack := fill("cat {up}outside/secret.txt")
	if !w.prints(fill("{deep}"), attack) || w.prints("", attack) {
		t.Fatal("the attack does not work")
	}
	for _, args := range []string{
		`{"cwd":"{project}/{deep}","command":"cat {up}outside/secret.txt"}`, `{"cwd":"{deep}","command":"cat {up}outside/secret.txt"}`,
		`{"workdir":"{deep}","script":"ls; cat {up}outside/secret.txt x"}`, `{"cwd":"d","command":"cd \"$D\"; cat {up}outside/secret.txt"}`,
		`{"cwd":"{project}/{deep}","command":"git clone http://h/x {up}new"}`, `{"cwd":"{project}/{deep}","command":"echo x > {up}new"}`,
		`{"cwd":"{project}/{deep}","query":"ATTACH '{up}outside/secret.txt'"}`, `{"cwd":"{deep}","args":["-c","print(open('{up}outside/secret.txt'))"]}`,
	} {
		if _, v := w.call(c, tool, fill(args)); v.Decision != policy.Deny {
			t.Errorf("allowed: %s", args)
		}
	}
	for _, args := range []string{
		`{"cwd":"{project}/d/d","command":"cat ../../a.txt ../f"}`, `{"cwd":"{project}/d/d","command":"npm test -- --config ../../a.json"}`,
		`{"cwd":"{project}/d/d","query":"ATTACH '../../a.db'"}`,
	} {
		if _, v := w.call(c, tool, fill(args)); v.Decision != policy.Allow {
			t.Errorf("%s: %+v", args, v.Deciding)
		}
	}
}

// TestThisHost: a host that is this machine is not elsewhere.
func TestThisHost(t *testing.T) {
	t.Parallel()
	w := wild(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	name, err := os.Hostname()
	w.must(err)
	for _, host := range []string{"localhost", "me@localhost", "LOCALHOST.", "127.0.0.1", "127.1", "::1", "0", "ssh://me@localhost:22", name} {
		for _, s := range []string{"ssh " + host + " cat {outside}/secret.txt", "ssh -p 22 " + host + " 'ls; cat {outside}/secret.txt'"} {
			if _, v := w.call(c, tool, `{"command":"`+s+`"}`); v.Decision != policy.Deny {
				t.Errorf("allowed: %s", s)
			}
		}
	}
	for _, s := range []string{"scp localhost:{outside}/secret.txt .", "rsync -a me@127.0.0.1:{outside}/ .", "scp a.txt localhost:{outside}/new.txt"} {
		if _, v := w.call(c, tool, `{"command":"`+s+`"}`); v.Decision != policy.Deny {
			t.Errorf("allowed: %s", s)
		}
	}
	for _, s := range []string{
		"ssh host cat {outside}/secret.txt", "ssh me@10.0.0.1 'ls {outside}'", "scp host:{outside}/secret.txt .", "rsync -a src/ me@localhost.example.com:{outside}/", "ssh localhost uptime",
		"docker run localhost/image cat {outside}/secret.txt",
	} {
		if _, v := w.call(c, tool, `{"command":"`+s+`"}`); v.Decision != policy.Allow {
			t.Errorf("%s: %+v", s, v.Deciding)
		}
	}
}

// TestOtherHostsFile: git and others open file://host/path as /path, so that what such a URI names counts, whatever else in
// the string says about it.
func TestOtherHostsFile(t *testing.T) {
	t.Parallel()
	w, fill := deepWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	repo := w.outside + "/repo"
	if out, err := exec.Command("git", "init", "-q", "--bare", repo).CombinedOutput(); err != nil {
		t.Fatalf("git is needed here: %s", out)
	}
	if out, err := exec.Command("git", "ls-remote", "file://anyhost"+repo).CombinedOutput(); err != nil {
		t.Errorf("git does not open it: %s", out)
	}
	for _, s := range []string{"git clone file://anyhost{outside}/repo", "git ls-remote \"file://anyhost{outside}/repo\" x", "sqlite3 'file:../outside/secret.txt?mode=ro' .dump"} {
		if _, v := w.call(c, tool, `{"command":`+string(quoteJSON(fill(s)))+`}`); v.Decision != policy.Deny {
			t.Errorf("allowed: %s", s)
		}
	}
	for _, s := range []string{"git clone file://{project}/src new", "sqlite3 'file:a.db?mode=ro' .dump", "npm i file:src#main"} {
		if _, v := w.call(c, tool, `{"command":`+string(quoteJSON(fill(s)))+`}`); v.Decision != policy.Allow {
			t.Errorf("%s: %+v", s, v.Deciding)
		}
	}
}

// TestHonestPrograms: the same programs at their everyday work.
func TestHonestPrograms(t *testing.T) {
	t.Parallel()
	w, fill := deepWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	for _, s := range []string{
		"sed 's/user/etc/;s/a/b/' a.txt", "sed -n '/error/p' a.txt", `sed -e 's/\/etc\/passwd/x/' -e '/foo/d' a.txt`, "sed -i '/server/,/end/s/foo/bar/' a.txt", "sed -n '10,20p;30q' src/main.go",
		`sed 's/\/usr\/bin\/env/x/;s/\/etc\/hosts/y/' a.txt`, `sed -E 's/^(.*)\.(ts|js)$/\1/; s|/tmp/||' a.txt`, "sed 's/write/read/g;s/were/are/' a.txt", "sed -n '1,5w src/out.txt' a.txt",
		`jq '.paths["/etc/"]' a.json`, `jq -r '.a/.b | select(startswith("/etc/"))' a.json`, `yq '.paths["/v1/users"].get' a.yaml`, "jq '.scripts | keys[]' package.json",
		"for d in src docs; do (cd $d && ls); done", "cd \"$(git rev-parse --show-toplevel)\" && ls", "find . -name '*.go' -execdir gofmt -l {} +", "cd {deep} && cat ../../d/f", "D=src; cd $D && cat main.go", "python3 tool.py src/../a.txt",
	} {
		if _, v := w.call(c, tool, `{"command":`+string(quoteJSON(fill(s)))+`}`); v.Decision != policy.Allow {
			t.Errorf("%s: %+v", s, v.Deciding)
		}
	}
}
