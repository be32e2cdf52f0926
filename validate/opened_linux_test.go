package validate

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/bounds"
	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
)

// openers read or write the files that their words name, in many ways. None takes away what the others need.
var openers = strings.Fields("cat tac head tail wc sort uniq cut nl od fold base64 md5sum sha256sum cksum b2sum cp ln stat ls touch tee truncate dd join paste comm " +
	"shuf split csplit env xargs date realpath readlink test grep sed awk diff cmp tar gzip git bash sh python3 perl jq sqlite3 xxd file strings install mkdir chmod pr fmt expand numfmt " +
	"sha1sum sha512sum sum tsort unexpand ptx zcat egrep rev column")

// wordForms are how a word names a file.
var wordForms = strings.Fields("% % % % -f% -f=% --file=% -o% -C% -I% --files0-from=% @% -T@% f=@% if=% of=% -d% -a% --reference=% -t% -s% -X% -n% +% -e{%} x:% x,% '%' \"%\" -i% --output=% --exclude-from=% $PWD/% ./% src/../%")

// places are what the words name. The first ones are inside and open to everything.
var places = strings.Fields("a.txt src/main.go new.txt src x 1 .env token secrets secrets/f.txt ../outside/secret.txt src/../../outside/secret.txt ../project/../outside/secret.txt link/secret.txt flink ../outside {outside}/secret.txt " +
	"s*ts .en? *")

func randomCommand(r *rand.Rand) string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	words := []string{pick(openers)}
	for range 1 + r.IntN(3) {
		words = append(words, strings.ReplaceAll(pick(wordForms), "%", pick(places)))
	}
	command := strings.Join(words, " ")
	switch r.IntN(8) {
	case 0:
		return command + " > new.txt"
	case 1:
		return "X=" + pick(places) + "; " + command + " $X"
	case 2:
		return "bash -c '" + strings.ReplaceAll(command, "'", "") + "'"
	case 3:
		return "cd src; " + command
	}
	return command
}

// descriptor is what strace -y writes of a file that was opened: how, and its place.
var descriptor = regexp.MustCompile(`(O_\w+)[^<\n]*= \d+<([^>]+)>`)

// TestOpenedFiles: what a real shell opens outside, or of what is protected, was refused. The control is a command that opens the file.
func TestOpenedFiles(t *testing.T) {
	t.Parallel()
	needs.Program(t, "strace")
	w, fill := namedWorld(t)
	cfg := w.config("")
	cfg.Policy.Protected = []string{w.project + "/.env", w.project + "/token", w.project + "/secrets"}
	c, err := NewChecker(cfg)
	w.must(err)
	tool := w.tool(c, "", anyTool)
	trace := filepath.Join(t.TempDir(), "trace")
	opened := func(command string) (list []string) {
		ctx, cancel := context.WithTimeout(t.Context(), bounds.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "strace", "-f", "-y", "-e", "trace=open,openat,creat", "-o", trace, "bash", "-c", command)
		cmd.Dir, cmd.Env = w.project, []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
		_ = cmd.Run()
		raw, err := os.ReadFile(trace)
		w.must(err)
		for _, m := range descriptor.FindAllStringSubmatch(string(raw), -1) {
			p := m[2]
			if m[1] != "O_RDONLY" && !strings.HasPrefix(p, w.home+"/") && !strings.HasPrefix(p, "/dev/") && !strings.HasPrefix(p, "/tmp/") {
				list = append(list, p)
			}
			if strings.HasPrefix(p, w.outside) || strings.HasPrefix(p, w.project+"/secrets") || p == w.project+"/.env" || p == w.project+"/token" {
				list = append(list, p)
			}
		}
		return list
	}
	if len(opened("cat .env ../outside/secret.txt")) != 2 {
		t.Fatal("a trace does not show what was opened")
	}
	r, allowed := seeds.Rand(t), 0
	below := regexp.MustCompile(`grep.* -\w*[rR]`) // what a program finds by itself below a directory is not seen
	for range seeds.Cases(t, 200) {
		command := fill(randomCommand(r))
		s, err := c.Scan(tool, []byte(`{"command":`+string(quoteJSON(command))+`}`))
		if err != nil || c.Judge(s, w.where(), w.view()).Decision != policy.Allow {
			continue
		}
		allowed++
		if list := opened(command); len(list) > 0 && !below.MatchString(command) {
			t.Errorf("%s: allowed, and opens %s", command, list)
		}
	}
	if allowed == 0 {
		t.Error("every command is refused")
	}
}

// What is executable and no regular file is no program that only runs. The control is a program.
func TestAPipeIsNoProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.checker())
	pipe := filepath.Join(w.outside, "pipe")
	w.must(syscall.Mkfifo(pipe, 0o700))
	f := &detect.Finding{Form: detect.FormLink, Runs: true}
	for path, counts := range map[string]bool{pipe: true, filepath.Join(w.outside, "tool"): false} {
		place, err := guard.Resolve(j.FS, path)
		w.must(err)
		if got := j.leavesByLink(f, meaning{base: w.project, path: path}, &place, &guard.EscapeError{}); got != counts {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// A protected name with a sign of patterns is taken as it stands if it is there, and refused if not.
func TestProtectedPatterns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.WriteFile(w.home+"/ke?p*", nil, 0o600))
	for name, want := range map[string]bool{"ke?p*": true, "kept*": false, "ke?p": false} {
		cfg := w.config("")
		cfg.Policy.Protected = []string{filepath.Join(w.home, name)}
		_, err := NewChecker(cfg)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "patterns have no meaning here") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg := w.config("")
	cfg.Policy.Protected = []string{w.home + "/a*", w.home + "/b*"}
	if _, err := NewChecker(cfg); err == nil || !strings.Contains(err.Error(), "/a*") || !strings.Contains(err.Error(), "/b*") {
		t.Errorf("not both are named: %v", err)
	}
}
