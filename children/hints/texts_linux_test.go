package hints

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
)

// subjects are what programs are refused, below the folder that is closed, and what is done there.
var subjects = []struct{ name, does string }{
	{"x", "read"}, {"x", "write"}, {"a b.txt", "read"}, {"it's.txt", "read"}, {"é (1).txt", "read"}, {"vault", "list"}, {"vault/n.md", "read"}, {"vault/n.md", "append"},
	{"vault/new.md", "write"}, {"vault/My new note.md", "write"}, {"vault/sub", "mkdir"}, {"vault/n.md", "unlink"}, {"vault/n.md", "rename"}, {"deep/one/two.json", "read"},
}

// A language is one, and a program in it that is refused all of these things and prints for each what an honest server would send: the
// text of the error. Its arguments are the folder and pairs of what is done and to what. Each text ends with a line of three dashes.
type language struct {
	name, needs, file string
	run               []string // FILE is the program
	program           string
}

var languages = []language{
	{"node", "node", "p.js", []string{"node", "FILE"}, `
const fs = require("fs"), [, , dir, ...rest] = process.argv
for (let i = 0; i < rest.length; i += 2) {
  const at = dir + "/" + rest[i + 1]
  try {
    ({ read: () => fs.readFileSync(at), write: () => fs.writeFileSync(at, "x"), append: () => fs.appendFileSync(at, "x"), list: () => fs.readdirSync(at), mkdir: () => fs.mkdirSync(at), unlink: () => fs.unlinkSync(at), rename: () => fs.renameSync(at, at + ".old") })[rest[i]]()
    console.log("it worked")
  } catch (e) { console.log(i % 4 ? e.message : require("util").inspect(e)) }
  console.log("---")
}`},
	{"python", "python3", "p.py", []string{"python3", "-S", "-E", "FILE"}, `
import os, sys, traceback
dir, rest = sys.argv[1], sys.argv[2:]
def op(what, at):
    if what == "read": open(at).read()
    if what == "write": open(at, "w")
    if what == "append": open(at, "a")
    if what == "list": os.listdir(at)
    if what == "mkdir": os.mkdir(at)
    if what == "unlink": os.unlink(at)
    if what == "rename": os.rename(at, at + ".old")
for i in range(0, len(rest), 2):
    try:
        op(rest[i], dir + "/" + rest[i + 1])
        print("it worked")
    except Exception as e:
        print(str(e) if i % 4 else traceback.format_exc())
    print("---")
`},
	{"ruby", "ruby", "p.rb", []string{"ruby", "--disable-gems", "FILE"}, `
dir, *rest = ARGV
rest.each_slice(2) do |what, name|
  at = dir + "/" + name
  begin
    case what
    when "read" then File.read(at)
    when "write" then File.write(at, "x")
    when "append" then File.open(at, "a") { }
    when "list" then Dir.entries(at)
    when "mkdir" then Dir.mkdir(at)
    when "unlink" then File.unlink(at)
    when "rename" then File.rename(at, at + ".old")
    end
    puts "it worked"
  rescue SystemCallError => e
    puts "#{e.message} (#{e.class})"
  end
  puts "---"
end
`},
	{"perl", "perl", "p.pl", []string{"perl", "FILE"}, `
my ($dir, @rest) = @ARGV;
while (my ($what, $name) = splice(@rest, 0, 2)) {
  my $at = "$dir/$name";
  my $did = $what eq "read" ? open(my $f, "<", $at) : $what eq "write" ? open(my $f, ">", $at) : $what eq "append" ? open(my $f, ">>", $at) : $what eq "list" ? opendir(my $d, $at)
    : $what eq "mkdir" ? mkdir($at) : $what eq "unlink" ? unlink($at) : rename($at, "$at.old");
  print $did ? "it worked\n" : "Can't $what $at: $! at p.pl line 5.\n", "---\n";
}
`},
	{"bash", "bash", "p.sh", []string{"bash", "FILE"}, shellProgram},
	{"sh", "", "p.sh", []string{"sh", "FILE"}, shellProgram},
	{"coreutils", "bash", "p.sh", []string{"bash", "FILE"}, `
dir=$1; shift
while [ $# -gt 0 ]; do
  at=$dir/$2
  case $1 in
  read) cat "$at" ;; write) cp /dev/null "$at" ;; append) tee -a "$at" </dev/null ;; list) ls "$at" ;; mkdir) mkdir "$at" ;; unlink) rm -f "$at" ;; rename) mv "$at" "$at.old" ;;
  esac 2>&1
  echo ---; shift 2
done
`},
	{"java", "java", "P.java", []string{"java", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "FILE"}, `
import java.io.*; import java.nio.file.*;
class P {
  public static void main(String[] args) {
    for (int i = 1; i < args.length; i += 2) {
      String at = args[0] + "/" + args[i + 1];
      try {
        switch (args[i]) {
          case "read": if (i % 4 == 1) new FileInputStream(at); else Files.readString(Path.of(at)); break;
          case "write": if (i % 4 == 1) new FileWriter(at); else Files.writeString(Path.of(at), "x"); break;
          case "append": new FileOutputStream(at, true); break;
          case "list": Files.list(Path.of(at)); break;
          case "mkdir": Files.createDirectory(Path.of(at)); break;
          case "unlink": Files.delete(Path.of(at)); break;
          case "rename": Files.move(Path.of(at), Path.of(at + ".old")); break;
        }
        System.out.println("it worked");
      } catch (Exception e) {
        if (i % 3 == 0) e.printStackTrace(System.out); else System.out.println(e);
      }
      System.out.println("---");
    }
  }
}
`},
}

const shellProgram = `
dir=$1; shift
while [ $# -gt 0 ]; do
  at=$dir/$2
  case $1 in
  read) (read -r line <"$at") ;; write) (: >"$at") ;; append) (: >>"$at") ;; list) ls "$at" ;; mkdir) mkdir "$at" ;; unlink) rm -f "$at" ;; rename) mv "$at" "$at.old" ;;
  esac 2>&1
  echo ---; shift 2
done
`

// goProgram is this test itself, as a program in Go.
const goProgram = "MCPHUB_HINTS_REFUSED"

func TestMain(m *testing.M) {
	if os.Getenv(goProgram) == "" {
		os.Exit(m.Run())
	}
	dir, rest := os.Args[1], os.Args[2:]
	for i := 0; i < len(rest); i += 2 {
		at := filepath.Join(dir, rest[i+1])
		var err error
		switch rest[i] {
		case "read":
			_, err = os.ReadFile(at)
		case "write":
			err = os.WriteFile(at, nil, 0o600)
		case "append":
			_, err = os.OpenFile(at, os.O_APPEND|os.O_WRONLY, 0)
		case "list":
			_, err = os.ReadDir(at)
		case "mkdir":
			err = os.Mkdir(at, 0o700)
		case "unlink":
			err = os.Remove(at)
		case "rename":
			err = os.Rename(at, at+".old")
		}
		fmt.Printf("%v\n---\n", err)
	}
}

// A said is what a program has said of one of the subjects. In a recorded one the disk is @.
type said struct{ Language, Does, Subject, Text string }

// recorded is what the languages said when they were run: TestTheLanguagesAreAsRecorded adds a line for each text to the file that
// MCPHUB_RECORD_TEXTS names.
const recorded = "testdata/refused.jsonl"

// speak has a program of a language be refused all subjects by the kernel, as the profile of a reader says.
func speak(t *testing.T, d disk, r *Reader, l language) (all []said) {
	file := filepath.Join(d.top, "in", l.file)
	if err := os.WriteFile(file, []byte(l.program), 0o600); err != nil {
		t.Fatal(err)
	}
	args := make([]string, len(l.run))
	for i, word := range l.run {
		args[i] = strings.ReplaceAll(word, "FILE", file)
	}
	args = append(args, filepath.Join(d.top, "out"))
	for _, s := range subjects {
		args = append(args, s.does, s.name)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TMPDIR=" + filepath.Join(d.top, "in"), "HOME=" + d.home}, filepath.Join(d.top, "in")
	if l.name == "go" {
		cmd.Env = append(cmd.Env, goProgram+"=1")
	}
	var out, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &faults
	started := make(chan error)
	go func() { // its thread ends with it: nothing can take the rules from it
		runtime.LockOSThread()
		box, err := sandbox.Prepare(sandbox.CurrentKernel(), r.Profile, false)
		if err == nil {
			defer box.Close()
			err = box.Enter()
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	if err := <-started; err != nil {
		t.Fatalf("%s: %v", l.name, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v: %s", l.name, err, faults.String())
	}
	texts := strings.Split(out.String(), "---\n")
	if len(texts) != len(subjects)+1 {
		t.Fatalf("%s said %q", l.name, texts)
	}
	for i, s := range subjects {
		if strings.Contains(texts[i], "it worked") {
			t.Fatalf("%s was not refused to %s %s", l.name, s.does, s.name)
		}
		all = append(all, said{l.name, s.does, s.name, strings.TrimSuffix(texts[i], "\n")})
	}
	return all
}

func refusedDisk(t *testing.T) (disk, *Reader) {
	d := newDisk(t, "out/x", "out/a b.txt", "out/it's.txt", "out/é (1).txt", "out/vault/n.md", "out/deep/one/two.json")
	r := d.reader()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rules := append(sandbox.BaseRules(d.home), r.Profile.Rules...)
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), filepath.Dir(self)) {
		if top := filepath.Dir(dir); top != "/" {
			rules = append(rules, sandbox.Rule{Path: top, Access: sandbox.Read | sandbox.Execute})
		}
	}
	for i := range rules {
		rules[i].Path = sandbox.RealPath(rules[i].Path)
	}
	r.Profile.Rules = sandbox.Sorted(rules)
	return d, r
}

// forms are the ways in which a server hands on the text of an error.
var forms = map[string]func(text string) string{
	"as it is": func(text string) string { return text },
	"behind":   func(text string) string { return "Error: Failed to do that.\n" + text },
	"as a text": func(text string) string {
		return inJSON(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
	},
	"structured": func(text string) string {
		return inJSON(map[string]any{"content": []any{}, "structuredContent": map[string]any{"ok": false, "error": text}})
	},
	"JSON in a text": func(text string) string {
		return inJSON(map[string]any{"content": []any{map[string]any{"type": "text", "text": inJSON(map[string]any{"success": false, "message": text})}}, "isError": true})
	},
	"a message of a log": func(text string) string {
		return inJSON(map[string]any{"level": "error", "logger": "fs", "data": map[string]any{"err": text}})
	},
	"a line of a log": func(text string) string {
		return inJSON(map[string]any{"time": "2026-01-02T03:04:05Z", "level": "ERROR", "msg": text})
	},
}

func inJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestTrueRefusalsAreTold: programs in many languages are refused something by the kernel, and what they say about it is told, in every form in
// which a server may hand it on. The languages that are installed are run; of the others counts what they said when they were.
func TestTrueRefusalsAreTold(t *testing.T) {
	t.Parallel()
	d, r := refusedDisk(t)
	var all []said
	raw, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var s said
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		s.Text = strings.ReplaceAll(s.Text, "@/", d.top+"/")
		all = append(all, s)
	}
	told, n, missed := 0, 0, map[string]int{}
	for _, s := range all {
		path := filepath.Join(d.top, "out", s.Subject)
		for form, wrap := range forms {
			n++
			raw := wrap(s.Text)
			f, ok := r.ReadResponse(SaidIn([]byte(raw)), nil, false)
			right := ok && r.MayExplain([]byte(raw), false) && (f.Path == path || f.Path == path+".old" || sandbox.Contains(f.Path, path))
			if right {
				told++
			} else {
				missed[fmt.Sprintf("%s, %s: %q: %+v", s.Language, form, s.Text, f)]++
			}
			mayBeTold(t, r, f, ok, raw)
		}
	}
	if n < 300 || told*100 < n*95 {
		t.Errorf("%d of %d are told; not:", told, n)
		for text := range missed {
			t.Log(text)
		}
	}
}

// TestTheLanguagesAreAsRecorded runs the languages that are installed, held by the kernel, and reads what they say.
func TestTheLanguagesAreAsRecorded(t *testing.T) {
	t.Parallel()
	if k := sandbox.CurrentKernel(); k.ABI < 3 {
		needs.Missing(t, "Landlock has ABI ", k.ABI, " here, and 3 is needed: ", k.Why)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(languages, language{"go", "", "p", []string{self}, ""}) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if l.needs != "" {
				needs.Program(t, l.needs)
			}
			d, r := refusedDisk(t)
			for _, s := range speak(t, d, r, l) {
				f, ok := r.ReadResponse(s.Text, nil, false)
				if path := filepath.Join(d.top, "out", s.Subject); !ok || !sandbox.Contains(f.Path, path) && f.Path != path+".old" {
					t.Errorf("to %s %s: %q: %+v, %t", s.Does, s.Subject, s.Text, f, ok)
				}
				mayBeTold(t, r, f, ok, s.Text)
				if to := os.Getenv("MCPHUB_RECORD_TEXTS"); to != "" {
					s.Text = strings.ReplaceAll(s.Text, d.top+"/", "@/")
					out, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
					if err == nil {
						_, err = out.WriteString(inJSON(s) + "\n")
						err = errors.Join(err, out.Close())
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// mayBeTold fails unless what is told about a text is closed, is there or could be, and stands in the text.
func mayBeTold(t testing.TB, r *Reader, f sandbox.Refusal, ok bool, text string) {
	t.Helper()
	switch {
	case !ok || f.Sockets:
	case (&reading{Reader: r}).isOpened(f.Path, f.Access):
		t.Errorf("%q: %s is open to %s", text, f.Path, f.Access)
	case !fileExists(f.Path) && !fileExists(filepath.Dir(f.Path)):
		t.Errorf("%q: %s could not be there", text, f.Path)
	}
}

// TestNothingOpenIsTold: texts of honest servers about what is open, and of hostile ones that want a path to be told which is not closed, or is none.
func TestNothingOpenIsTold(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "in/log/app.log", "out/x", "hub/log", "home/.ssh/id_rsa", "home/.claude.json")
	r := d.reader()
	phrases := []string{"%s: Permission denied", "open %s: permission denied", "EACCES: permission denied, open '%s'", "[Errno 13] Permission denied: '%s'", "Operation not permitted: `%s`", "fatal: not a git repository: %s", "Cannot find module '%s'", "No module named '%s'", "audit: EPERM on %s (uid 1000)", "mkdir %s: permission denied", `{"code":"EACCES","path":"%s"}`, "unable to open database file %s"}
	none := []string{"EACCES", "code: 'EACCES'", "/", "//", "/compact", "and/or", "https://host/x", "x", "'x'", "y", "/nowhere/at/all", "a/b", "./", "..", "~", "~other/x", d.top + "/in/y", d.top + "/in/log/app.log", d.top + "/in/new", d.top + "/out/no/such", d.top + "/in/../in/y", "/\x00", "/" + strings.Repeat("a/", 5000)}
	before := []string{"", "2026-01-02T03:04:05Z sshd[12]: ", "> ", "# Troubleshooting\n\nIf you see ", "| ", "{\"error\": \"", "    at Object.open ", "W1125 12:00:00 ", "- [ ] ", "Q: what does this mean? "}
	n := 0
	for _, phrase := range phrases {
		for _, subject := range none {
			for _, intro := range before {
				n++
				text := intro + fmt.Sprintf(phrase, subject)
				f, ok := r.ReadResponse(text, nil, false)
				if mayBeTold(t, r, f, ok, text); ok && !(strings.Contains(phrase, "mkdir") && strings.Contains(subject, "/out/")) {
					t.Errorf("%q: %+v", text, f)
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d texts", n)
	}
}

// TestNothingElseIsTold: whatever a text is made of, what is told is closed, is there or could be, and a key has no command.
func TestNothingElseIsTold(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "out/x", "out/a b.txt", "out/vault/n.md", "hub/log", "home/.ssh/id_rsa", "home/.aws/credentials", "in/.env")
	r := d.reader(sandbox.Named{Key: "/args/0", Path: "out/vault", Access: whole})
	pieces := []string{"EACCES", "EPERM", "permission denied", "ENOENT", "'", `"`, "`", "\n", "\\", "\\n", ", ", ": ", " ", "(", ")", "{", "}", "[", "]", "/", "~/", "..", ".", "open ", "mkdir ", "file://", "sqlite://", "code: 'EACCES'",
		d.top + "/in/y", d.top + "/out/x", d.top + "/out/a b.txt", d.top + "/out", d.top, d.home, d.home + "/.ssh/id_rsa", d.home + "/.aws", d.top + "/hub/log", "out/vault/n.md", "vault/n.md", "n.md", "x", "/etc/passwd", "/usr/bin/env", "/proc/self", "é", "\x00", "unable to open database file", "Cannot find module 'x'", "publickey"}
	seeds.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(rt, "text"), "")
		f, ok := r.ReadResponse(text, nil, rapid.Bool().Draw(rt, "failed"))
		switch {
		case !ok:
		case (&reading{Reader: r}).isOpened(f.Path, f.Access), !fileExists(f.Path) && !fileExists(filepath.Dir(f.Path)):
			rt.Fatalf("%q: %+v", text, f)
		case (sandbox.WhySecret(f.Path) != "" || sandbox.Contains(d.top+"/hub", f.Path)) && RemedyFor("kid", f, nil).Run != nil:
			rt.Fatalf("%q: a command opens %+v", text, f)
		}
	})
}

// TestASocketIsToldByItsVariable: a service whose socket a variable of the server names is told by that variable, if the socket is
// there and sockets are closed.
func TestASocketIsToldByItsVariable(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listening, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listening.Close() })
	d := newDisk(t)
	for _, tc := range []struct{ env, text, want string }{
		{"SSH_AUTH_SOCK=@", "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.", "SSH_AUTH_SOCK"},
		{"SSH_AUTH_SOCK=@", "Error connecting to agent: Permission denied", "SSH_AUTH_SOCK"},
		{"SSH_AUTH_SOCK=@", "Could not open a connection to your authentication agent.", "SSH_AUTH_SOCK"},
		{"SSH_AUTH_SOCK=/nowhere", "git@github.com: Permission denied (publickey).", ""},
		{"OTHER=@", "git@github.com: Permission denied (publickey).", ""},
		{"SSH_AUTH_SOCK=@", "Permission denied", ""},
		{"DOCKER_HOST=unix://@", "Got permission denied while trying to connect to the Docker daemon socket at unix://@: dial unix @: socket: operation not permitted", "DOCKER_HOST"},
		{"DOCKER_HOST=unix://@", "Cannot connect to the Docker daemon. Is the docker daemon running on this host?", "DOCKER_HOST"},
		{"DBUS_SESSION_BUS_ADDRESS=unix:path=@,guid=1", "Failed to connect to bus: Operation not permitted", "DBUS_SESSION_BUS_ADDRESS"},
		{"DBUS_SESSION_BUS_ADDRESS=unix:path=@", `Failed to open connection to "session" message bus: Failed to open socket: Operation not permitted`, "DBUS_SESSION_BUS_ADDRESS"},
		{"MY_DAEMON=@", "connect EPERM @", "MY_DAEMON"},
		{"X=1", "connect EPERM @", "any"},
	} {
		r, fill := d.reader(), strings.NewReplacer("@github", "@github", "@", dir+"/s").Replace
		r.Env = []string{fill(tc.env)}
		f, ok := r.ReadResponse(fill(tc.text), nil, false)
		if got := cmp.Or(f.Variable, map[bool]string{true: "any"}[ok]); got != tc.want || ok && !f.Sockets {
			t.Errorf("%s: %q: %+v, %t, want %q", tc.env, tc.text, f, ok, tc.want)
		}
		if ok && f.Variable != "" && !strings.Contains(Text(f), "the socket of "+tc.want) {
			t.Errorf("a client is told %q", Text(f))
		}
		r.Profile.Sockets = true
		if f, ok := r.ReadResponse(fill(tc.text), nil, false); ok && f.Sockets {
			t.Errorf("%q: sockets are open, and it is %+v", tc.text, f)
		}
	}
}
