package gitconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/gitconfig"
	"mcphub/e2e/seeds"
)

// listed are lines as `git config --list -z` prints them.
func listed(lines []gitconfig.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Section)
		if l.HasSub {
			b.WriteString("." + l.Sub)
		}
		b.WriteString("." + l.Key)
		if l.Has {
			b.WriteString("\n" + l.Value)
		}
		b.WriteByte(0)
	}
	return blanks.Replace(b.String())
}

// blanks makes all blanks alike: before 2.45 git reads each as a space if it is in no quotes.
var blanks = strings.NewReplacer("\r", " ", "\t", " ")

// byGit returns what git reads in a text.
func byGit(t *testing.T, text []byte) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--no-includes", "-f", file, "--list", "-z")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	return blanks.Replace(string(out)), err
}

// Real git and the package read the same in texts that people and programs write, and in what random puts together. What git does not
// read is an error here, too. What is written again reads as before.
func TestReadsAsGitDoes(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", "\n# x\n; y\n", "[user]\n\tname = A Person\n\temail = a@b.c # work\n", "[a]b=c\n[d \"E f\"] g", "[A.B]C\n", "[a \"q\\\"\\\\x\"]k=v", "[a]\nk = \"a # b\" c ; d\n", "[a]\nk = a\\\nb\\\n  c\n",
		"[a]\nk = \\t\\n\\b\\\\\\\"\n", "[a]\r\nk = v\r\n", "\xef\xbb\xbf[a]\nk=v\n", "[a]\nk=\n", "[a]\nk = v\\", "[core]\n\teditor = \"vim -c \\\"set x\\\"\"\n", "[a]\nk = \"  v  \"  \n", "[alias]\n\tl = !git log | cat\n",
		"[a", "[a]\nk = \"x\n", "[a]\n1k = v\n", "[a]\nk v\n", "[a]\nk = \\x\n", "[a \"b]\nk=v\n", "[a \"b\" ]\nk=v\n", "[a\n]k=v\n", "=x\n", "[a]]\n", "[a_b]\nk=v\n", "[a]\nk_l=v\n", "[a]\n\xff=v\n", "[a]\nk = \xff\xfe\n",
	}
	pieces := []string{"[a]", "[b \"c\"]", "[", "]", "\n", "\n\t", "k", "=", " = ", "v", "\"", "\\", "\\\n", "#", ";", " ", "\r\n", "\r", "x y", "\\n", "\\\"", "a.b", "-", "é"}
	d := seeds.Rand(t)
	for i := range seeds.Cases(t, 100) {
		var b strings.Builder
		b.WriteString([]string{"[s]\n", "[s]\nk = ", "[s]k=\"", "[s]k=a;", "[s]a\nk = \"x\" "}[i%5])
		for range 1 + d.IntN(14) {
			b.WriteString(pieces[d.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	read, refused := 0, 0
	for _, text := range texts {
		want, errGit := byGit(t, []byte(text))
		lines, _, err := gitconfig.Parse([]byte(text))
		if (err != nil) != (errGit != nil) {
			t.Errorf("%q: git says %v, and this is %v", text, errGit, err)
			continue
		}
		if err != nil {
			refused++
			continue
		}
		read++
		if got := listed(lines); got != want {
			t.Errorf("%q: git reads %q, and this is %q", text, want, got)
		}
		var anew []byte
		for _, l := range lines {
			anew = gitconfig.Append(anew, l)
		}
		if got, err := byGit(t, anew); got != want || err != nil {
			t.Errorf("%q: of what is written anew git reads %q, not %q: %v\n%s", text, got, want, err, anew)
		}
	}
	if few := len(texts) / 5; read < few || refused < few { // the race detector tries fewer
		t.Errorf("%d were read and %d refused: this shows nothing", read, refused)
	}
}

// Lines that hold a login are known, and usual lines are none.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[http]\nextraHeader = Authorization: Basic Zm9vOmJhcg==", "[http \"https://x.org\"]\nextraHeader = X: y", "[HTTP]\nEXTRAHEADER=x", "[http]\ncookieFile = ~/.cookies", "[sendemail]\nsmtpPass = hunter2", "[imap]\npass = x",
		"[url \"https://user:pw@x.org/\"]\ninsteadOf = https://x.org/", "[url \"https://oauth2@x.org/\"]\ninsteadOf = gh:", "[url \"https://x-access-token:t@github.com\"]\ninsteadOf = a", "[url \"a\"]\ninsteadOf = https://me:x@y.z",
		"[remote \"o\"]\nurl = HTTPS://tok@x.org/r", "[remote \"o\"]\nurl = ssh://me:pw@x.org/r", "[http]\nproxy = http://me:pw@proxy:1", "[http]\nproxy = me:pw@proxy:1", "[remote \"o\"]\nproxy = me@p", "[github]\ntoken = 0123456789abcdef",
		"[url \"https://oauth2:s3cret@gitlab.example/\"]\n#\tinsteadOf = https://gitlab.example/", "[gitlab \"x\"]\nprivateToken = x", "[credential \"https://x\"]\noauthClientSecret = x", "[credential]\nhelper = \"!f() { echo password=hunter2; }; f\"", "[alias]\nx = !curl -u me:pw https://x", "[core]\nsshCommand = sshpass -p x ssh",
		"[alias]\nx = !echo ghp_0123456789abcdefghij", "[a]\nk = glpat-0123456789abcdefghij", "[user]\nsigningKey = \"-----BEGIN OPENSSH PRIVATE KEY-----\"", "[svn-remote \"x\"]\npassword = x", "[http]\nextraHeader = \\\n  x",
		"# extraHeader = Authorization: Bearer 0123456789", "[a]\n; token = abc", "[a]\nk = v # https://me:pw@x.org", "[a \"token=abcdefgh\"]\nk",
		"[x]\npwd = hunter2", "[x]\nsmtpPwd = hunter2", "[x]\npat = 0123", "[azure]\ndevops-pat = 0123", "[x]\ncookie = session=1", "[alias]\nx = !curl -su me:pw https://x", "[alias]\nx = !curl -sSfLu me:pw https://x", "[alias]\nx = !curl --proxy-user me:pw https://x",
		"[alias]\nx = !curl -suu:pw https://x", "[alias]\nx = \"!curl '-uu:pw' https://x\"", "[alias]\nx = \"!curl -H 'PRIVATE-TOKEN: x' https://x\"", "[alias]\nx = !curl -b session=1 https://x",
		"[alias]\nx = !mysql -u me -phunter2", "[github]\noauth = 0123",
	} {
		lines, comments, err := gitconfig.Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		found := false
		for _, l := range lines {
			found = found || l.HoldsCredential()
		}
		for _, c := range comments {
			found = found || c.HoldsSecret()
		}
		if !found {
			t.Errorf("%q is not known", text)
		}
	}
	for _, text := range []string{
		"[user]\nname = A Person\nemail = a@b.c\nsigningKey = 0123456789ABCDEF0123456789ABCDEF01234567", "[user]\nsigningkey = ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
		"[core]\neditor = vim\nsshCommand = ssh -i ~/.ssh/work\naskPass = /usr/bin/ksshaskpass\nexcludesFile = ~/.gitignore", "[credential]\nhelper = store\nusername = me\nuseHttpPath = true", "[credential \"https://github.com\"]\nhelper = !/usr/bin/gh auth git-credential",
		"[url \"git@github.com:\"]\ninsteadOf = https://github.com/", "[url \"ssh://git@github.com/\"]\ninsteadOf = https://github.com/", "[url \"https://github.com/\"]\ninsteadOf = gh:", "[http]\nproxy = http://proxy:3128\nsslVerify = true\nsaveCookies\nextraHeader =\nsslCertPasswordProtected = true",
		"[sendemail]\nsmtpServer = smtp.x.org\nsmtpUser = a@b.c", "[remote \"o\"]\nurl = git@github.com:a/b.git\nfetch = +refs/heads/*:refs/remotes/o/*", "# my settings: see https://git-scm.com", "[include]\npath = ~/.gitconfig.local", "[alias]\nd = diff -b --color=always\nb = blame -b --date=short\nq = !mysql --port 3306 --protocol=tcp\nw = !curl -su http://x\nco = checkout\nl = log --oneline\nx = !f() { git log; }; f",
		"[filter \"lfs\"]\nclean = git-lfs clean -- %f\nsmudge = git-lfs smudge -- %f\nrequired = true", "[includeIf \"gitdir:~/work/\"]\npath = work.inc", "[push]\nautoSetupRemote = true", "[diff]\npath = x\ncompat = y", "[format]\npatch = x", "[alias]\nup = push -fu origin HEAD:main\nx = log -pu x..y\nd = !tar -xvf a:b",
	} {
		lines, comments, err := gitconfig.Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		for _, l := range lines {
			if l.HoldsCredential() {
				t.Errorf("%s = %s is taken for a credential", l.Name(), l.Value)
			}
		}
		for _, c := range comments {
			if c.HoldsSecret() {
				t.Errorf("a comment is taken for a credential: %s", c.Text)
			}
		}
	}
}

// No text makes the parser panic, and what is written again reads as it was read.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"[user]\nname = x\n", "[a \"b\\\"c\"]\nk = \"v # \\n\" ; c\n", "[a]\nk = v\\\n w\n", "\xef\xbb\xbf[a]b", "[a]\r\nk\r=\rv\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, _, _ := gitconfig.Parse(text)
		var anew []byte
		for _, l := range lines {
			anew = gitconfig.Append(anew, l)
		}
		again, _, err := gitconfig.Parse(anew)
		if err != nil || listed(again) != listed(lines) {
			t.Errorf("%q reads as %q, and anew as %q: %v", text, listed(lines), listed(again), err)
		}
	})
}
