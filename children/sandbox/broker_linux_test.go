package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
	"mcphub/e2e/bounds"
	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
)

func init() {
	attacks["open without waiting"] = func(a []string) (string, error) {
		_, err := unix.Open(a[0], unix.O_RDONLY|unix.O_NONBLOCK, 0)
		return "", err
	}
	attacks["make and rename"] = func(a []string) (string, error) {
		if err := os.WriteFile(a[0], []byte("x"), 0o600); err != nil {
			return "", err
		}
		return "", os.Rename(a[0], a[1])
	}
	attacks["exchange"] = func(a []string) (string, error) {
		return "", unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	}
	attacks["link only"] = func(a []string) (string, error) { return "", os.Link(a[0], a[1]) }
	attacks["write below a descriptor"] = func(a []string) (string, error) {
		dir, err := unix.Open(a[0], unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return "", err
		}
		return "", os.WriteFile("/proc/self/fd/"+strconv.Itoa(dir)+"/"+a[1], []byte("x"), 0o600)
	}
	attacks["reopen to write"] = func(a []string) (string, error) {
		fd, err := unix.Open(a[0], unix.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDWR, 0)
		return "", err
	}
	attacks["swap"] = func(a []string) (string, error) { return swap(a[0], a[1], a[2]) }
	attacks["make and remove"] = func(a []string) (string, error) {
		times, err := strconv.Atoi(a[1])
		for range times {
			err = errors.Join(err, os.WriteFile(a[0], nil, 0o600), os.Remove(a[0]))
		}
		return "", err
	}
	attacks["time opens"] = func(a []string) (string, error) { return timeCalls(a[0], a[1], unix.O_RDONLY) }
	attacks["time creations"] = func(a []string) (string, error) {
		return timeCalls(a[0], a[1], unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	}
	attacks["hub"] = holdHub
	attacks["end while it asks"] = endWhileAsking
}

// fileProfile is profileFor a root with a file in a folder that is closed otherwise.
func fileProfile(t *testing.T, root, folder, name string, patterns ...string) *sandbox.Profile {
	t.Helper()
	p := profileFor(t, root)
	p.Files = []sandbox.File{{Folder: folder, Name: name, Patterns: patterns, Made: &sandbox.Made{}}}
	p.Watch(nil)
	return p
}

// brokered ends a test if the kernel does not ask.
func brokered(t *testing.T) {
	t.Helper()
	if k := landlocked(t); k.WhyNoNotify != "" {
		needs.Missing(t, k.WhyNoNotify)
	}
}

// TestBeside: which names a program may use beside its file.
func TestBeside(t *testing.T) {
	t.Parallel()
	f := sandbox.File{Folder: "/home/u", Name: "shop.db", Patterns: []string{"tmp????????", ""}, Never: []string{"shop.db.kept"}}
	for name, want := range map[string]bool{
		"shop.db": true, "shop.db-journal": true, "shop.db-wal": true, "shop.db-shm": true, "shop.db-mj01234": true,
		"shop.db.lock": true, "shop.db.tmp": true, "shop.db.123": true, ".shop.db.swp": true, "shop.db~": true, ".shop.db-x": true, "tmpabcd_123": true,
		"": false, ".": false, "..": false, "shop.dbx": false, "shop": false, "xshop.db": false, ".shop.db": false, "..shop.db.x": false, "tmpabc": false, "shop.db.kept": false, "notes.txt": false,
	} {
		if got := f.Beside(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	for name, file := range map[string]string{".mcp.json": ".mcp", "hub.json": "hub", "credentials.json": "credentials", ".gitconfig-x": ".gitconfig"} {
		f := sandbox.File{Folder: "/home/u", Name: file}
		if got := f.Beside(name); got != (name == ".gitconfig-x") {
			t.Errorf("%q beside %q: %t", name, file, got)
		}
	}
	all := sandbox.File{Folder: "/home/u", Name: "x", Patterns: []string{"*"}}
	if all.Beside("..") || all.Beside(".") || all.Beside(".bashrc") {
		t.Error("a pattern of everything is a folder, or what shells load")
	}
}

// TestBrokered has programs keep a file in a closed folder, as people's servers do. Without the broker none
// can.
func TestBrokered(t *testing.T) {
	t.Parallel()
	brokered(t)
	for name, tc := range map[string]struct {
		command string // {f} is the file, {out} its folder
		want    string // that is printed
		left    string // names in the folder, beside what is always there
	}{
		"read and write":     {"echo one > {f}; echo two >> {f}; cat {f}; cd {out} && cat ./shop.db", "one\ntwo\none\ntwo\n", "shop.db"},
		"up and down":        {"echo one > {root}/../out/../out/shop.db; cat {f}", "one\n", "shop.db"},
		"the working folder": {"cd {out}; echo one > /proc/self/cwd/shop.db; cat shop.db", "one\n", "shop.db"},
		"umask":              {"umask 027; : > {f}; umask 0; : > {f}.x; stat -c %a {f} {f}.x", "640\n666\n", "shop.db shop.db.x"},
		"write by rename":    {"echo one > {f}; echo two > {f}.tmp && mv {f}.tmp {f} && cat {f}; echo three > {out}/.shop.db.a && mv -f {out}/.shop.db.a {f} && cat {f}", "two\nthree\n", "shop.db"},
		"with a backup":      {"echo one > {f}; mv {f} {f}~; echo two > {f}; cat {f}~ {f}; rm {f}~", "one\ntwo\n", "shop.db"},
		"a lock":             {"mkdir {f}.lock && ! mkdir {f}.lock 2>/dev/null && rmdir {f}.lock && echo locked", "locked\n", ""},
		"a lock is a file":   {"set -C; : > {f}.lock && ! ( : > {f}.lock ) 2>/dev/null; rm {f}.lock && echo locked", "locked\n", ""},
		"cut off":            {"echo one > {f}; truncate -s 2 {f}; cat {f}; : > {f}; stat -c %s {f}", "on0\n", "shop.db"},
		"a pattern":          {"echo one > {out}/tmp1234 && mv {out}/tmp1234 {f} && cat {f}", "one\n", "shop.db"},
		"SQLite":             {"sqlite3 {f} 'create table t(x); insert into t values (1);' && sqlite3 {f} 'pragma journal_mode=wal; insert into t values (2); select sum(x) from t;'; sqlite3 {f} 'select count(*) from t'", "wal\n3\n2\n", "shop.db"},
		"Python's SQLite": {`python3 -c '
import sqlite3
c = sqlite3.connect("{f}")
c.execute("create table t(x)"); c.execute("insert into t values (7)"); c.commit()
print(c.execute("select x from t").fetchall())'`, "[(7,)]\n", "shop.db"},
		"Python writes by rename": {`python3 -c '
import os
name = "{f}.tmp"; fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
os.write(fd, b"x"); os.fsync(fd); os.close(fd); os.replace(name, "{f}"); print(open("{f}").read())'`, "x\n", "shop.db"},
		"Node": {`node -e '
const fs = require("fs"); fs.writeFileSync("{f}.tmp", "n"); fs.renameSync("{f}.tmp", "{f}");
fs.mkdirSync("{f}.lock"); fs.utimesSync("{f}.lock", 5, 5); fs.rmdirSync("{f}.lock"); fs.appendFileSync("{f}", "ode"); console.log(fs.readFileSync("{f}", "utf8"))'`, "node\n", "shop.db"},
	} {
		for _, attributes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, attributes %t", name, attributes), func(t *testing.T) {
				t.Parallel()
				needs.Line(t, tc.command)
				play := func(file bool) (said, left string) {
					w := newWorld(t)
					p := fileProfile(t, w.root, w.out, "shop.db", "tmp????")
					p.Attributes = attributes
					if !file {
						p.Files = nil
					}
					command := strings.NewReplacer("{f}", filepath.Join(w.out, "shop.db"), "{out}", w.out, "{root}", w.root).Replace(tc.command)
					cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
					cmd.Dir = w.root
					said = confined(t, p, cmd)
					var names []string
					entries, err := os.ReadDir(w.out)
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range entries {
						if name := e.Name(); name != "secret" && name != "run" && name != "s" && name != "d" {
							names = append(names, name)
						}
					}
					return said, strings.Join(names, " ")
				}
				if said, left := play(true); said != tc.want || left != tc.left {
					t.Errorf("it said %q and left %q, want %q and %q", said, left, tc.want, tc.left)
				}
				if attributes {
					return // the control is the same
				}
				if said, left := play(false); said == tc.want || left != "" {
					t.Errorf("without the broker it said %q and left %q, so this shows nothing", said, left)
				}
			})
		}
	}
}

// TestHotJournal: what a killed process left is rolled back by the next one, and by one of another hub.
func TestHotJournal(t *testing.T) {
	t.Parallel()
	brokered(t)
	needs.Program(t, "python3")
	w := newWorld(t)
	p := fileProfile(t, w.root, w.out, "shop.db")
	run := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `exec python3 -c "$0"`, "import sqlite3, os, signal\nc = sqlite3.connect('"+w.out+"/shop.db', isolation_level=None)\n"+script)
		cmd.Dir = w.root
		return confined(t, p, cmd)
	}
	if said := run("c.execute('create table t(x)'); c.execute('insert into t values (1)')"); said != "" {
		t.Fatal(said)
	}
	said := run("c.execute('pragma cache_size=1'); c.execute('begin')\nfor i in range(2000): c.execute('insert into t values (?)', ('x' * 500,))\nos.kill(os.getpid(), signal.SIGKILL)")
	if fi, err := os.Stat(filepath.Join(w.out, "shop.db-journal")); err != nil || fi.Size() == 0 {
		t.Fatalf("it left no journal, so this shows nothing: %v, %s", err, said)
	}
	p = fileProfile(t, w.root, w.out, "shop.db")
	if said := run("print(c.execute('select count(*), max(x) from t').fetchall(), c.execute('pragma integrity_check').fetchall())"); said != "[(1, 1)] [('ok',)]\n" {
		t.Errorf("%s", said)
	}
	if _, err := os.Stat(filepath.Join(w.out, "shop.db-journal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is there: %v", err)
	}
}

// TestBrokerAttacks has a child do by the broker, and without a sandbox, what would reach a file that is not
// its own.
func TestBrokerAttacks(t *testing.T) {
	t.Parallel()
	brokered(t)
	said := func(_ world, out string) bool { return strings.Contains(out, canary) }
	gone := func(w world, _ string) bool { b, _ := os.ReadFile(w.secret); return string(b) != canary }
	done := func(_ world, out string) bool { return strings.HasPrefix(out, "done:") }
	made := func(path string) func(world, string) bool {
		return func(w world, _ string) bool { _, err := os.Lstat(filepath.Join(w.out, path)); return err == nil }
	}
	foreign := func(name string) func(t *testing.T, w world) {
		return func(t *testing.T, w world) {
			if err := os.WriteFile(filepath.Join(w.out, name), []byte(canary), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	changed := func(name string) func(world, string) bool {
		return func(w world, _ string) bool {
			b, _ := os.ReadFile(filepath.Join(w.out, name))
			return string(b) != canary
		}
	}
	link := func(name string) func(t *testing.T, w world) {
		return func(t *testing.T, w world) {
			if err := os.Symlink(w.secret, filepath.Join(w.out, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	hard := func(name string) func(t *testing.T, w world) {
		return func(t *testing.T, w world) {
			if err := os.Link(w.secret, filepath.Join(w.out, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		plant   func(t *testing.T, w world)
		args    []string
		escaped func(w world, out string) bool
		rare    bool
	}{
		"read another file":                   {nil, []string{"read", "{secret}"}, said, false},
		"make another file":                   {nil, []string{"write", "{out}/new"}, made("new"), false},
		"make another file upwards":           {nil, []string{"write", "{root}/../out/new"}, made("new"), false},
		"make another file by a descriptor":   {nil, []string{"write below a descriptor", "{out}", "new"}, made("new"), false},
		"make what clients load":              {nil, []string{"write", "{out}/.mcp.json"}, made(".mcp.json"), false},
		"list the folder":                     {nil, []string{"list", "{out}"}, func(_ world, out string) bool { return strings.Contains(out, "secret") }, false},
		"read by a planted link":              {link("shop.db-journal"), []string{"read", "{out}/shop.db-journal"}, said, false},
		"write by a planted link":             {link("shop.db-journal"), []string{"write", "{out}/shop.db-journal"}, gone, false},
		"cut off by a planted link":           {link("shop.db-wal"), []string{"truncate", "{out}/shop.db-wal"}, gone, false},
		"read by a link that is the file":     {link("shop.db"), []string{"read", "{out}/shop.db"}, said, false},
		"read by a hard link":                 {hard("shop.db-wal"), []string{"read", "{out}/shop.db-wal"}, said, false},
		"write by a hard link":                {hard("shop.db-wal"), []string{"write", "{out}/shop.db-wal"}, gone, false},
		"cut off by a hard link":              {hard("shop.db"), []string{"truncate", "{out}/shop.db"}, gone, false},
		"open a pipe":                         {func(t *testing.T, w world) { must(t, unix.Mkfifo(filepath.Join(w.out, "shop.db-wal"), 0o600)) }, []string{"open without waiting", "{out}/shop.db-wal"}, done, false},
		"read what is there":                  {foreign("shop.db.bak"), []string{"read", "{out}/shop.db.bak"}, said, false},
		"write what is there":                 {foreign("shop.db.bak"), []string{"write", "{out}/shop.db.bak"}, changed("shop.db.bak"), false},
		"cut off what is there":               {foreign("shop.db.bak"), []string{"truncate", "{out}/shop.db.bak"}, changed("shop.db.bak"), false},
		"remove what is there":                {foreign("shop.db.bak"), []string{"remove", "{out}/shop.db.bak"}, changed("shop.db.bak"), false},
		"replace what is there":               {foreign("shop.db.bak"), []string{"make and rename", "{out}/shop.db.tmp", "{out}/shop.db.bak"}, changed("shop.db.bak"), false},
		"move what is there":                  {foreign("shop.db.bak"), []string{"rename", "{out}/shop.db.bak", "{out}/shop.db"}, changed("shop.db.bak"), false},
		"replace another file":                {nil, []string{"make and rename", "{out}/shop.db.tmp", "{secret}"}, gone, false},
		"replace it from elsewhere":           {nil, []string{"rename", "{root}/mine", "{out}/shop.db"}, made("shop.db"), false},
		"move another file to a journal":      {nil, []string{"rename", "{secret}", "{out}/shop.db-wal"}, gone, false},
		"exchange it":                         {func(t *testing.T, w world) { must(t, os.WriteFile(filepath.Join(w.out, "shop.db"), nil, 0o600)) }, []string{"exchange", "{secret}", "{out}/shop.db"}, gone, false},
		"move the file out":                   {foreign("shop.db"), []string{"rename", "{out}/shop.db", "{root}/new"}, changed("shop.db"), false},
		"link another file to a journal":      {nil, []string{"link only", "{secret}", "{out}/shop.db-wal"}, made("shop.db-wal"), false},
		"link the file out":                   {foreign("shop.db"), []string{"link only", "{out}/shop.db", "{root}/new"}, done, false},
		"make a link":                         {nil, []string{"symlink", "{out}/shop.db-wal"}, made("shop.db-wal"), false},
		"make a pipe":                         {nil, []string{"fifo", "{out}/shop.db-wal"}, made("shop.db-wal"), false},
		"make a folder":                       {nil, []string{"mkdir", "{out}/shop.db.d"}, made("shop.db.d"), false},
		"remove a folder":                     {func(t *testing.T, w world) { must(t, os.Mkdir(filepath.Join(w.out, "shop.db.lock"), 0o700)) }, []string{"remove", "{out}/shop.db.lock"}, func(w world, _ string) bool { return !made("shop.db.lock")(w, "") }, false},
		"a file without a name":               {nil, []string{"unnamed", "{out}", "{out}/shop.db-wal"}, made("shop.db-wal"), true},
		"give a name to one of the root":      {nil, []string{"unnamed", "{root}", "{out}/shop.db-wal"}, made("shop.db-wal"), true},
		"reopen it by its descriptor":         {foreign("shop.db"), []string{"reopen to write", "{out}/shop.db"}, done, false},
		"as another root in a user namespace": {foreign("shop.db.bak"), []string{"shell", "unshare -Ur cat {out}/shop.db.bak"}, said, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.args[0] == "shell" {
				needs.Line(t, tc.args[1])
			}
			play := func(confine bool) (bool, string) {
				w := newWorld(t)
				if tc.plant != nil {
					tc.plant(t, w)
				}
				fill := strings.NewReplacer("{root}", w.root, "{out}", w.out, "{secret}", w.secret)
				var args []string
				for _, a := range tc.args {
					args = append(args, fill.Replace(a))
				}
				var p *sandbox.Profile
				if confine {
					p = fileProfile(t, w.root, w.out, "shop.db")
				}
				out := confined(t, p, child(t, w.root, args...))
				return tc.escaped(w, out), out
			}
			if escaped, out := play(false); !escaped && tc.rare {
				t.Logf("the attack does not work on this machine anyway: %s", out)
			} else if !escaped {
				t.Errorf("without the sandbox it does not escape, so this shows nothing: %s", out)
			}
			if escaped, out := play(true); escaped {
				t.Errorf("it escapes: %s", out)
			} else if !strings.Contains(out, "refused") && !strings.Contains(out, "denied") {
				t.Errorf("it was not refused, it failed: %s", out)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBrokeredErrors: programs are told what lets them go another way.
func TestBrokeredErrors(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	must(t, os.WriteFile(filepath.Join(w.out, "shop.db"), nil, 0o600))
	for name, tc := range map[string]struct {
		args []string
		want unix.Errno
	}{
		"a file without a name": {[]string{"unnamed", w.out, w.out + "/x"}, unix.EOPNOTSUPP},
		"another folder":        {[]string{"rename", w.root + "/mine", w.out + "/shop.db.x"}, unix.EXDEV},
		"to another folder":     {[]string{"rename", w.out + "/shop.db", w.root + "/x"}, unix.EXDEV},
		"exchange":              {[]string{"exchange", w.out + "/shop.db", w.out + "/shop.db.x"}, unix.EPERM},
		"link":                  {[]string{"link only", w.out + "/shop.db", w.out + "/shop.db.x"}, unix.EPERM},
		"symbolic link":         {[]string{"symlink", w.out + "/shop.db.x"}, unix.EPERM},
		"missing":               {[]string{"read", w.out + "/shop.db-wal"}, unix.ENOENT},
		"folder as a file":      {[]string{"mkdir", w.out + "/shop.db"}, unix.EEXIST},
	} {
		if out := confined(t, fileProfile(t, w.root, w.out, "shop.db"), child(t, w.root, tc.args...)); !strings.Contains(out, tc.want.Error()) {
			t.Errorf("%s: %s, want %v", name, out, tc.want)
		}
	}
}

// TestReplacedFolder: a folder is known by what it is. What comes to its path is another one.
func TestReplacedFolder(t *testing.T) {
	t.Parallel()
	brokered(t)
	for name, early := range map[string]bool{"before it is held": true, "while it is held": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := fileProfile(t, w.root, w.out, "shop.db")
			replace := func() {
				must(t, os.Rename(w.out, w.out+"2"))
				must(t, os.Mkdir(w.out, 0o700))
			}
			if early {
				replace()
			}
			box, err := sandbox.Prepare(landlocked(t), p, false)
			must(t, err)
			if !early {
				if p.PathsReplaced() {
					t.Error("it is told as replaced, and is not")
				}
				replace()
			}
			if !p.PathsReplaced() || !p.PathReplaced(p.Files[0].Path()) {
				t.Error("it is not told as replaced")
			}
			out := entered(box, child(t, w.root, "shell", "echo x > "+w.out+"/shop.db; echo x > "+w.out+"2/shop.db; true"))
			_, atPath := os.Lstat(w.out + "/shop.db")
			_, held := os.Lstat(w.out + "2/shop.db")
			if atPath == nil || (held == nil) == early {
				t.Errorf("made at the path: %v, in the folder: %v: %s", atPath, held, out)
			}
		})
	}
}

// TestRenameKeepsRunning: what a brokered rename puts instead of the file is no change that starts the server again.
func TestRenameKeepsRunning(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	must(t, os.WriteFile(filepath.Join(w.out, "shop.db"), nil, 0o600))
	p, rule := fileProfile(t, w.root, w.out, "shop.db"), profileFor(t, w.root)
	rule.Rules = sandbox.Sorted(append(rule.Rules, sandbox.Rule{Path: w.out + "/shop.db", Access: sandbox.Read | sandbox.Write}))
	rule.Watch([]string{w.out + "/shop.db"})
	out := confined(t, p, child(t, w.root, "make and rename", w.out+"/shop.db.tmp", w.out+"/shop.db"))
	if !strings.HasPrefix(out, "done:") || p.PathsReplaced() || !p.Equal(fileProfile(t, w.root, w.out, "shop.db")) {
		t.Errorf("it is told as replaced: %s", out)
	}
	if !rule.PathsReplaced() {
		t.Error("the file is not another one, so this shows nothing")
	}
}

// TestMadeBefore: what an entry has made is its own in the next run, and no one's for another entry. What has its place
// later is not.
func TestMadeBefore(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	p, other := fileProfile(t, w.root, w.out, "shop.db"), fileProfile(t, w.root, w.out, "shop.db")
	left := filepath.Join(w.out, "shop.db.tmp")
	var refused []sandbox.Rule
	other.Files[0].Refused = func(path string, a sandbox.Access) { refused = append(refused, sandbox.Rule{Path: path, Access: a}) }
	try := func(p *sandbox.Profile, what, want string) {
		t.Helper()
		if out := confined(t, p, child(t, w.root, what, left)); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %s", what, out)
		}
	}
	try(p, "write", "done:")
	try(other, "write", "refused:")
	try(p, "write", "done:")
	if want := []sandbox.Rule{{Path: left, Access: sandbox.Read | sandbox.Write}}; !slices.Equal(refused, want) {
		t.Errorf("it is told that %v was refused, and not %v", refused, want)
	}
	if p.AccessAt(left) == 0 || other.AccessAt(left) != 0 || other.AccessAt(left+"2") == 0 {
		t.Errorf("%s is open to %v for its maker, and to %v for another entry", left, p.AccessAt(left), other.AccessAt(left))
	}
	must(t, os.Remove(left))
	must(t, os.WriteFile(left, nil, 0o600))
	try(p, "read", "refused:")
}

// TestMadeBeforeTheHub: what an entry has made is its own after the hub has been started again, and while another hub
// runs. What has its place later is not.
func TestMadeBeforeTheHub(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	kept := filepath.Join(t.TempDir(), "made.jsonl")
	must(t, os.WriteFile(kept, nil, 0o600))
	hub := func() *sandbox.Profile {
		p := fileProfile(t, w.root, w.out, "shop.db")
		p.Files[0].Made.File = func() (string, error) { return kept, nil }
		return p
	}
	at := func(name string) string { return filepath.Join(w.out, name) }
	try := func(p *sandbox.Profile, want string, args ...string) {
		t.Helper()
		if out := confined(t, p, child(t, w.root, args...)); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %s", args, out)
		}
	}
	tmp, lock := at("shop.db.tmp"), at("shop.db.lock")
	first := hub()
	try(first, "done:", "write", tmp)
	try(first, "done:", "mkdir", lock)
	try(fileProfile(t, w.root, w.out, "shop.db"), "refused:", "write", tmp) // another entry
	torn, err := os.OpenFile(kept, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = torn.WriteString(`{"path":"/half`) // by a hub that was killed
	must(t, err)
	must(t, torn.Close())
	second := hub()
	try(second, "done:", "write", tmp)
	try(second, "done:", "remove", lock)
	try(second, "done:", "rename", tmp, at("shop.db"))
	try(second, "done:", "write", tmp)
	try(first, "done:", "read", tmp) // both run

	must(t, os.Remove(tmp))
	must(t, os.WriteFile(tmp, []byte(canary), 0o600))
	for _, attack := range [][]string{{"read", tmp}, {"write", tmp}, {"remove", tmp}, {"rename", tmp, at("shop.db")}} {
		try(hub(), "refused:", attack...)
		try(second, "refused:", attack...)
	}
	if text, err := os.ReadFile(tmp); err != nil || string(text) != canary {
		t.Errorf("what replaced it is %q: %v", text, err)
	}

	kept = filepath.Join(t.TempDir(), "made.jsonl") // of which one hub has the lock
	must(t, os.WriteFile(kept, nil, 0o600))
	last := hub()
	try(last, "done:", "write", at("shop.db.bak"))
	try(last, "done:", "make and remove", at("shop.db.new"), "2000")
	if fi, err := os.Stat(kept); err != nil || fi.Size() > 200<<10 {
		t.Errorf("the file of what was made grows: %v, %v", fi, err)
	}
	try(hub(), "done:", "write", at("shop.db.bak"))
}

// TestOnlyFilesAreAskedAbout: without files the kernel asks about nothing. Status counts the filters of a process.
func TestOnlyFilesAreAskedAbout(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	for name, tc := range map[string]struct {
		p    *sandbox.Profile
		want string
	}{"without": {profileFor(t, w.root), "1"}, "with": {fileProfile(t, w.root, w.out, "shop.db"), "2"}} {
		if out := confined(t, tc.p, child(t, w.root, "privileges")); !strings.Contains(out, "Seccomp_filters:\t"+tc.want+"\n") {
			t.Errorf("%s files: it has not %s filters: %s", name, tc.want, out)
		}
	}
}

// TestBrokerAndRecorder: both serve one run, and attributes are held in it.
func TestBrokerAndRecorder(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	p := fileProfile(t, w.root, w.out, "shop.db")
	p.Attributes = true
	r, said := recordedBy(t, &sandbox.Recorder{}, p, w.root, fmt.Sprintf("echo x > %[1]s/shop.db; chmod 640 %[1]s/shop.db && echo changed; chmod 666 %[1]s/secret || echo held; cat %[1]s/secret", w.out))
	if got := uses(r, w.out); got != "secret read\n" {
		t.Errorf("noted %q", got)
	}
	if !strings.Contains(said, "changed") || !strings.Contains(said, "held") || strings.Contains(said, canary) {
		t.Errorf("%s", said)
	}
}

// picks returns numbers below n that follow from a seed, in a process that has no test.
func picks(seed uint64) func(n int) int {
	return func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
}

// swap changes names in memory while threads use them: to a name beside the file, and to a file that is not its own.
// It tells how many calls went through. It makes so many calls; 0: as many as it takes to change the file that is not its own.
func swap(file, secret, text string) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", err
	}
	seed, _ := strconv.ParseUint(os.Getenv("SWAP_SEED"), 10, 64)
	own, other := []byte(file+"-wal\x00"), []byte(secret+"\x00")
	temporary := append([]byte(file), ".tmp\x00"...)
	size := max(len(own), len(other), len(temporary))
	name, second := make([]byte, size), make([]byte, size)
	copy(name, own)
	copy(second, temporary)
	var target unix.Stat_t
	if err := unix.Stat(secret, &target); err != nil {
		return "", err
	}
	unchanged := func() bool {
		var now unix.Stat_t
		return unix.Stat(secret, &now) == nil && now.Ino == target.Ino && now.Size == target.Size
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		draw := picks(seed)
		names := [][]byte{own, other, temporary}
		for {
			select {
			case <-stop:
				return
			default:
				copy(name, names[draw(3)])
				copy(second, names[draw(3)])
			}
		}
	})
	at := func(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
	fdcwd := unix.AT_FDCWD
	draw := picks(seed + 1)
	through, failed := 0, 0
	var found error
	for through+failed < n || through == 0 || failed == 0 || n == 0 && unchanged() {
		var errno unix.Errno
		switch draw(6) {
		case 0, 1, 2:
			flags := []uintptr{unix.O_RDONLY, unix.O_RDWR | unix.O_CREAT, unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC}[draw(3)]
			fd, _, err := unix.Syscall6(unix.SYS_OPENAT, uintptr(fdcwd), at(name), flags|unix.O_CLOEXEC, 0o600, 0, 0)
			if errno = err; err == 0 {
				var st unix.Stat_t
				if unix.Fstat(int(fd), &st) != nil || st.Ino == target.Ino && st.Dev == target.Dev {
					found = errors.New("the secret is open")
				}
				_ = unix.Close(int(fd))
			}
		case 3:
			_, _, errno = unix.Syscall6(unix.SYS_RENAMEAT2, uintptr(fdcwd), at(name), uintptr(fdcwd), at(second), 0, 0)
		case 4:
			_, _, errno = unix.Syscall(unix.SYS_UNLINKAT, uintptr(fdcwd), at(name), 0)
		case 5:
			_, _, errno = unix.Syscall(unix.SYS_TRUNCATE, at(name), 0, 0)
		}
		if errno == 0 {
			through++
		} else {
			failed++
		}
	}
	close(stop)
	wg.Wait()
	runtime.KeepAlive(name)
	return fmt.Sprint(through, " of ", through+failed), found
}

// TestSwappedNames: a name that changes while its call waits leads to nothing that is not the entry's own. MCPHUB_LONG_CASES
// says how many calls.
func TestSwappedNames(t *testing.T) {
	t.Parallel()
	brokered(t)
	seed := seeds.Rand(t).Uint64()
	play := func(files bool, n int) (same bool, out string) {
		w := newWorld(t)
		cmd := child(t, w.root, "swap", w.out+"/shop.db", w.secret, strconv.Itoa(n))
		cmd.Env = append(cmd.Env, "SWAP_SEED="+strconv.FormatUint(seed, 10))
		var p *sandbox.Profile
		if files {
			p = fileProfile(t, w.root, w.out, "shop.db")
		}
		out = confined(t, p, cmd)
		text, err := os.ReadFile(w.secret)
		return err == nil && string(text) == canary, out
	}
	if same, out := play(false, 0); same { // a thread that comes late changes no name
		t.Errorf("without the sandbox nothing happens, so this shows nothing: %s", out)
	}
	if same, out := play(true, seeds.Cases(t, 1000)); !same || !strings.HasPrefix(out, "done:") {
		t.Errorf("the secret is as it was: %t: %s", same, out)
	} else {
		t.Log(out)
	}
}

// endWhileAsking has threads ask, and ends at once.
func endWhileAsking(a []string) (string, error) {
	for i := range 8 {
		go func() {
			for {
				_ = os.WriteFile(a[0]+".tmp"+strconv.Itoa(i), []byte("x"), 0o600)
			}
		}()
	}
	for range 200 {
		_ = os.WriteFile(a[0], []byte("x"), 0o600)
	}
	return "", unix.Kill(os.Getpid(), unix.SIGKILL)
}

// TestEndWhileAsking: a process that ends while its call waits holds up no one, and another one that asks is answered.
func TestEndWhileAsking(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	p := fileProfile(t, w.root, w.out, "shop.db")
	for range 3 {
		confined(t, p, child(t, w.root, "end while it asks", w.out+"/shop.db"))
		if out := confined(t, p, child(t, w.root, "write", w.out+"/shop.db")); !strings.HasPrefix(out, "done:") {
			t.Errorf("%s", out)
		}
	}
}

// holdHub returns a hub that runs a shell by a broker, until it is killed.
func holdHub(a []string) (string, error) {
	root, out := a[0], a[1]
	rules := append(sandbox.BaseRules("/nowhere"), sandbox.Rule{Path: root, Access: sandbox.Read | sandbox.Write})
	p := &sandbox.Profile{Rules: sandbox.Sorted(rules), Files: []sandbox.File{{Folder: out, Name: "shop.db", Made: &sandbox.Made{}}}}
	box, err := sandbox.Prepare(sandbox.CurrentKernel(), p, false)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("/bin/sh", "-c", lateWriter(out))
	cmd.Dir, cmd.Stdin, cmd.Stdout = root, os.Stdin, os.Stdout
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := box.Enter(); err != nil {
			done <- err
			return
		}
		done <- cmd.Run()
	}()
	return "", <-done
}

// lateWriter returns a shell command that writes into a file, and again when it is told.
func lateWriter(folder string) string {
	return fmt.Sprintf("echo one > %[1]s/shop.db; echo ready; read x; echo two > %[1]s/shop.db; echo $?", folder)
}

// TestHubIsKilled: the server of a hub that was killed opens nothing more, and does not wait.
func TestHubIsKilled(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	hub := child(t, w.root, "hub", w.root, w.out)
	stdin, in, err := os.Pipe()
	must(t, err)
	out, stdout, err := os.Pipe()
	must(t, err)
	hub.Stdin, hub.Stdout = stdin, stdout
	must(t, hub.Start())
	_ = stdout.Close()
	checkLate(t, w, in, out, func() {
		must(t, hub.Process.Kill())
		_ = hub.Wait()
	})
}

// checkLate has a lateWriter write before and after end, which is to keep it from that.
func checkLate(t *testing.T, w world, in io.Writer, out io.Reader, end func()) {
	t.Helper()
	ready := make([]byte, 6)
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "ready\n" {
		t.Fatal(err, string(ready))
	}
	end()
	_, err := io.WriteString(in, "\n")
	must(t, err)
	rest, err := io.ReadAll(out)
	must(t, err)
	if text, err := os.ReadFile(w.out + "/shop.db"); err != nil || string(text) != "one\n" || len(rest) == 0 || rest[0] == '0' {
		t.Errorf("it wrote %q after the end, and said %q: %v", text, rest, err)
	}
}

// TestBrokerEnds: after the end of a run nothing is opened, and no one waits.
func TestBrokerEnds(t *testing.T) {
	t.Parallel()
	brokered(t)
	w := newWorld(t)
	box, err := sandbox.Prepare(landlocked(t), fileProfile(t, w.root, w.out, "shop.db"), false)
	must(t, err)
	r, in, err := os.Pipe()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", lateWriter(w.out))
	cmd.Stdin, cmd.WaitDelay = r, 5*time.Second
	out, err := cmd.StdoutPipe()
	must(t, err)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := box.Enter()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	must(t, <-started)
	checkLate(t, w, in, out, box.End)
	_ = cmd.Wait()
	box.Close()
}

// TestHungFolder: a file system that hangs stops neither the brokers of other folders nor the end of the run that
// waits for it.
func TestHungFolder(t *testing.T) {
	t.Parallel()
	brokered(t)
	w, other := newWorld(t), newWorld(t)
	hang := sandbox.HangFolder(w.out)
	defer hang.Free()
	if out := confined(t, fileProfile(t, other.root, other.out, "shop.db"), child(t, other.root, "make and rename", other.out+"/shop.db.tmp", other.out+"/shop.db")); !strings.HasPrefix(out, "done:") {
		t.Errorf("in another folder: %s", out)
	}
	box, err := sandbox.Prepare(landlocked(t), fileProfile(t, w.root, w.out, "shop.db"), false)
	must(t, err)
	cmd := child(t, w.root, "make and rename", w.out+"/shop.db.tmp", w.out+"/shop.db")
	started := make(chan error, 1)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		runtime.LockOSThread()
		err := box.Enter()
		if err == nil {
			err = cmd.Start()
		}
		if started <- err; err == nil {
			_ = cmd.Wait()
		}
	}()
	must(t, <-started)
	<-hang.Waits()
	must(t, cmd.Process.Kill())
	<-exited
	ended := make(chan struct{})
	go func() { defer close(ended); box.End() }()
	select {
	case <-ended:
	case <-time.After(bounds.Patience):
		t.Error("the end of a run waits for a file system that hangs")
	}
	box.Close()
}

// timeCalls opens a file in so many blocks of 200, and prints the nanoseconds of an open in the fastest block. A file that an open
// made is removed outside the measured time.
func timeCalls(path, blocks string, flags int) (string, error) {
	n, err := strconv.Atoi(blocks)
	if err != nil {
		return "", err
	}
	const calls = 200
	fastest := time.Duration(0)
	for range n {
		var took time.Duration
		for range calls {
			begin := time.Now()
			fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
			took += time.Since(begin)
			if err != nil {
				return "", err
			}
			_ = unix.Close(fd)
			if flags&unix.O_CREAT != 0 {
				if err := unix.Unlink(path); err != nil {
					return "", err
				}
			}
		}
		if fastest == 0 || took < fastest {
			fastest = took
		}
	}
	return strconv.FormatInt(int64(fastest)/calls, 10), nil
}

// TestWhatTheBrokerCosts holds how much longer a call takes for a server with a file in a closed folder than for one without. Only
// the server with the file pays.
func TestWhatTheBrokerCosts(t *testing.T) {
	if !bounds.Strict() {
		t.Skip("MCPHUB_STRICT_BOUNDS is not set: it wants a quiet machine")
	}
	brokered(t)
	needs.Program(t, "node")
	t.Setenv("TMPDIR", "/dev/shm") // ext4 takes longer to make a file, the more files were removed lately
	w := newWorld(t)
	with, without := fileProfile(t, w.root, w.out, "shop.db"), profileFor(t, w.root)
	timed := func(p *sandbox.Profile, work, path string) time.Duration {
		t.Helper()
		said := confined(t, p, child(t, w.root, work, path, "20"))
		text, ok := strings.CutPrefix(strings.TrimSpace(said), "done: ")
		took, err := strconv.Atoi(text)
		if !ok || err != nil || took == 0 {
			t.Fatalf("%s of %s: %s", work, path, said)
		}
		return time.Duration(took)
	}
	node := func(p *sandbox.Profile) time.Duration {
		t.Helper()
		fastest := time.Duration(0)
		for range 10 {
			begin := time.Now()
			if said := confined(t, p, command(t, w.root, "node", "-e", "console.log(require('http').METHODS.length > 10)")); said != "true\n" {
				t.Fatalf("node prints %q", said)
			}
			if took := time.Since(begin); fastest == 0 || took < fastest {
				fastest = took
			}
		}
		return fastest
	}
	inside := filepath.Join(w.root, "mine")
	passing := timed(with, "time opens", inside) - timed(without, "time opens", inside)
	creation := timed(with, "time creations", filepath.Join(w.out, "shop.db.tmp")) - timed(without, "time creations", filepath.Join(w.root, "shop.db.tmp"))
	held, free := node(with), node(without)
	start := float64(held) / float64(free)
	t.Logf("an open that passes costs %v more, a creation %v; Node starts in %v and %v, %.2f times", passing, creation, held, free, start)
	for what, ok := range map[string]bool{"an open that passes": passing <= 15*time.Microsecond, "a creation": creation <= 40*time.Microsecond, "a start of Node": start <= 1.2} {
		if !ok {
			t.Errorf("%s costs too much", what)
		}
	}
}
