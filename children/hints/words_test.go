//go:build linux

package hints

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

const whole = sandbox.Read | sandbox.Write | sandbox.Execute

// A disk has a folder that is open, one that may be read, and others.
type disk struct{ top, home string }

func newDisk(t *testing.T, files ...string) disk {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := disk{top, filepath.Join(top, "home")}
	for _, file := range append([]string{"in/y", "read/x", "home/f"}, files...) {
		path := filepath.Join(top, strings.TrimSuffix(file, "/"))
		if strings.HasSuffix(file, "/") {
			err = os.MkdirAll(path, 0o700)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d disk) reader(named ...sandbox.Named) *Reader {
	for i := range named {
		named[i].Path = filepath.Join(d.top, named[i].Path)
	}
	return &Reader{
		Profile: &sandbox.Profile{Rules: sandbox.Sorted([]sandbox.Rule{
			{Path: filepath.Join(d.top, "in"), Access: whole}, {Path: filepath.Join(d.top, "read"), Access: sandbox.Read | sandbox.Execute}, {Path: "/usr", Access: sandbox.Read | sandbox.Execute},
		})},
		Named: named, Dirs: []string{filepath.Join(d.top, "in")},
		Home: d.home,
		Never: func(path string) string {
			switch {
			case sandbox.Contains(path, d.home):
				return "it is the home folder, or holds it"
			case sandbox.Contains(filepath.Join(d.top, "hub"), path):
				return "it is the hub's own"
			case path == "/etc", sandbox.Contains("/proc", path):
				return "it belongs to the system"
			}
			return ""
		},
	}
}

// told returns a refusal in short: what is closed, to do what, what opens it, who named it.
func (d disk) told(f sandbox.Refusal, ok bool) string {
	switch short := func(path string) string { return strings.TrimPrefix(path, d.top+"/") }; {
	case !ok:
		return ""
	case f.Sockets:
		return "sockets"
	case f.Opens == "":
		return fmt.Sprintf("%s %s nothing %s%s", short(f.Path), f.Access, f.By, map[bool]string{true: " kept"}[f.Kept])
	default:
		return fmt.Sprintf("%s %s %s %s", short(f.Path), f.Access, short(f.Opens), f.By)
	}
}

// TestErrors reads what servers say when the kernel refuses them something, by whichever
// language and library, in errors and in results that are none. D is the top of the disk.
func TestErrors(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "out/x", "out/a b.txt", "out/vault/n.md", "main/.git/worktrees/wt/HEAD", "mono/.git/HEAD", "mono/in/z", "out/lib/index.js", "hub/log", "home/.aws/credentials", "home/.config/app/x")
	for text, want := range map[string]string{
		// Node, and what quotes it
		"EACCES: permission denied, open 'D/out/a b.txt'":                          "out/a b.txt read out/a b.txt server",
		"Error: EPERM: operation not permitted, mkdir 'D/out/x'":                   "out/x write out/x server",
		"EACCES: permission denied, scandir 'D/out/vault'":                         "out/vault read out/vault server",
		"EACCES: permission denied, rename 'D/in/x' -> 'D/out/x'":                  "out/x write out/x server",
		"EACCES: permission denied, open 'D/out/new'":                              "out/new write out server",  // it was to be made
		"EACCES: permission denied, mkdir 'D/out/a/b'":                             "out/a write out/a/ server", // the first that is missing
		"ENOENT: no such file or directory, mkdir 'D/out/a/b'":                     "out/a write out/a/ server",
		"Error: Cannot find module 'D/out/lib/index.js'":                           "out/lib read out/lib server",
		"Error: ENOENT: no such file or directory, open 'D/out/nothing'":           "",
		"Error: ENOENT: no such file or directory, open 'D/out/x'":                 "out/x read out/x server", // it is there
		"Error: listen EACCES: permission denied D/in/tsx-0/12.pipe":               "sockets",
		"Error: listen EACCES: permission denied 127.0.0.1:80":                     "",
		"Error: connect EACCES D/in/my.sock":                                       "sockets",
		"Error: EACCES: permission denied, open 'D/read/x'":                        "read/x write read/x server",
		"  errno: -13, code: 'EACCES', syscall: 'open', path: 'D/out/x'":           "out/x read out/x server",
		"EACCES: permission denied, open 'D/in/y'":                                 "", // by something else
		"EACCES: permission denied, open '/proc/1/mem'":                            "/proc/1/mem read nothing server kept",
		"EACCES: permission denied, open 'D/hub/log'":                              "hub/log read nothing server kept",
		"EACCES: permission denied, open 'D/home/.aws/credentials'":                "home/.aws/credentials read nothing server kept",
		"EACCES: permission denied, open 'D/home/new.json'":                        "home/new.json write nothing server", // the home folder is not offered
		"EACCES: permission denied, mkdir 'D/home/.mongodb/mongodb-mcp/.app-logs'": "home/.mongodb write home/.mongodb/ server",
		// Python
		"[Errno 13] Permission denied: 'D/out/x'":                                                                                                "out/x read out/x server",
		"PermissionError: [Errno 1] Operation not permitted: 'D/out/x'":                                                                          "out/x read out/x server",
		"    self._socket.bind(address)\n    ~~~~^^\nPermissionError: [Errno 13] Permission denied":                                              "sockets",
		"  File \"/usr/lib/python3/socket.py\"\n    _socket.socket.__init__(self)\nPermissionError: [Errno 1] Operation not permitted\nEOFError": "sockets",
		// git
		"fatal: not a git repository: D/main/.git/worktrees/wt":                "main/.git/worktrees/wt read main/.git/worktrees/wt server",
		"fatal: not a git repository (or any of the parent directories): .git": "",
		// Go, Rust, shells, Java, Ruby, PHP, .NET
		"open D/out/x: permission denied":                                             "out/x read out/x server",
		"could not open D/in/../out/x: Operation not permitted (os error 1)":          "out/x read out/x server",
		"cat: D/out/x: Permission denied\ncat: D/in/y: No such file or directory":     "out/x read out/x server",
		"mkdir: cannot create directory ‘D/out/x y’: Permission denied":               "out/x y write out/x y/ server",
		"/usr/bin/dash: 1: cannot create D/out/x: Permission denied":                  "out/x write out/x server",
		"/usr/bin/dash: 1: exec: tool: Permission denied":                             "",
		"java.nio.file.AccessDeniedException: D/out/x":                                "out/x read out/x server",
		"java.io.FileNotFoundException: D/out/x (Permission denied)":                  "out/x read out/x server",
		"Permission denied @ rb_sysopen - D/out/x (Errno::EACCES)":                    "out/x read out/x server",
		"file_get_contents(D/out/x): Failed to open stream: Permission denied":        "out/x read out/x server",
		`failed (path="D/out/x"): Access is denied`:                                   "out/x read out/x server",
		"System.UnauthorizedAccessException: Access to the path 'D/out/x' is denied.": "out/x read out/x server",
		"dial unix D/in/x.sock: connect: permission denied":                           "sockets",
		"sqlite3.OperationalError: attempt to write a readonly database D/read/x":     "read/x write read/x server",
		"sshd: D/read/x: Permission denied":                                           "read/x write read/x server",
		"No such file or directory: D/out/x":                                          "out/x read out/x server",
		"/no/such/place: Permission denied in /neither/this":                          "",
		"Permission denied":                    "", // nothing is named
		"see https://example.org/in/x: EACCES": "",
		"read/write of a/b: EACCES":            "",
		"EACCES //server/share":                "",
		"Permission denied: /":                 "",
		"no such file: D/out/nothing":          "",
		"D/out/x: not found":                   "",
		"No module named 'pkg'":                "",
		"Cannot find module 'left-pad'":        "",
		"unable to open database file":         "",
		"":                                     "",
	} {
		for _, failed := range []bool{true, false} { // a server may tell about a refusal in a result that is no error
			if got := d.told(d.reader().ReadResponse(strings.ReplaceAll(text, "D/", d.top+"/"), nil, failed)); got != want {
				t.Errorf("%q, an error %t: %q, want %q", text, failed, got, want)
			}
		}
	}
	for _, r := range []*Reader{nil, {}, {Profile: &sandbox.Profile{Unbounded: true, Sockets: true}}} {
		if _, ok := r.ReadResponse("EACCES: permission denied, open '"+d.top+"/out/x'", nil, true); ok {
			t.Errorf("%+v refuses", r)
		}
	}
}

// TestAProgramThatHidesWhy: an answer that holds no more than the status of a failed program is told once for each run. What gives a
// reason, what ended well, and what is a sentence about that is not told.
func TestAProgramThatHidesWhy(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "out/x")
	long := "exit status 1\n" + strings.Repeat(" ", maxUnnamed)
	for text, want := range map[string]bool{
		"Command '['/home/ada/bin/task', 'list']' returned non-zero exit status 1.":       true,
		"Error executing tool get: Command '['task']' returned non-zero exit status 255.": true,
		"exit status 1":                                                            true,
		"task list: exit status 128":                                               true,
		"Command failed: task list":                                                true,
		"Command failed: task list\n":                                              true,
		"Command failed with exit code 1: task list":                               true,
		"Command failed with exit 1: task":                                         true,
		"Process exited with code 2":                                               true,
		"the program exited with exit code: 3.":                                    true,
		"process 'task' exited with status 1":                                      true,
		"finished with non-zero exit value 4":                                      true,
		"Exit Code: 1\nstdout:\n\nstderr:\n":                                       true,
		"return code 1":                                                            true,
		`{"stdout":"","stderr":"","exit_code":1}`:                                  true,
		`{"stdout":"","stderr":"","exitCode": 127}`:                                true,
		`{"returncode":-9}`:                                                        true,
		`{"content":[{"type":"text","text":"exit status 1"}],"isError":true}`:      true,
		`{"content":[{"type":"text","text":"exit status 1"}]}`:                     true,
		`{"content":[{"type":"text","text":"{\"stdout\":\"\",\"exit_code\":1}"}]}`: true,
		`{"code":-32603,"message":"task: exit status 1"}`:                          true,
		"exit status 0":                                                            false,
		"exited with code 0":                                                       false,
		`{"stdout":"","exit_code":0}`:                                              false,
		`{"stdout":"3 files\n2 folders","exit_code":1}`:                            false, // it wrote something
		"a.go:3: undefined: x\nexit status 1":                                      false,
		"Command failed: task list\ntask: no such task":                            false,
		"exit status 128: fatal: bad revision 'x'":                                 false,
		"grep: x: No such file or directory\nexit status 2":                        false, // that is the reason
		"The linter returns exit code 1 if it finds a problem.":                    false,
		"Exit codes: 0 is well, 1 is a difference, 2 is trouble":                   false,
		"exit status of the last command; 1 is an error":                           false,
		"it returned 1":                                                            false,
		"the door has exit 1 and exit 2":                                           false,
		"1 test failed":                                                            false,
		"code 1":                                                                   false,
		"exit status":                                                              false,
		long:                                                                       false, // a document
		"# Manual\n\nIf it fails:\n\n    exit status 1\n\nLook at the log.":        false,
	} {
		for _, failed := range []bool{true, false} {
			r := d.reader()
			if got := r.MayExplain([]byte(text), failed) && d.isUnexplained(r, text); got != want {
				t.Errorf("%q, an error %t: it is told: %t", text, failed, got)
			}
			if want && (r.MayExplain([]byte(text), failed) || d.isUnexplained(r, text)) {
				t.Errorf("%q is told again", text)
			}
			if n, _ := r.Refusals(); n > 0 {
				t.Errorf("%q counts for a refusal", text)
			}
		}
	}
	for _, r := range []*Reader{nil, {}, {Profile: &sandbox.Profile{Unbounded: true, Sockets: true}}} {
		if d.isUnexplained(r, "exit status 1") {
			t.Errorf("it is told about a server that nothing holds: %+v", r)
		}
	}
	r := d.reader()
	if f, ok := r.ReadResponse("open "+d.top+"/out/x: permission denied\nexit status 1", nil, true); !ok || f.Unexplained || f.Path != d.top+"/out/x" {
		t.Errorf("what was refused comes first: %+v", f)
	}
	if !d.isUnexplained(r, "exit status 1") {
		t.Error("what was refused before hides it")
	}
}

// TestWhatMendsWhatIsNotNamed: where nothing can be opened by name, the command that records the call is offered, if the kernel gives
// notices. It opens nothing by itself.
func TestWhatMendsWhatIsNotNamed(t *testing.T) {
	t.Parallel()
	records := sandbox.CurrentKernel().Asks()
	again := []string{"learn", "kid", "--confirm", "--root", "/r", "--call", "get"}
	for name, tc := range map[string]struct {
		f    sandbox.Refusal
		want []string
	}{
		"a program that hides why":   {sandbox.Refusal{Unexplained: true, Tool: "get"}, again},
		"one without a tool":         {sandbox.Refusal{Unexplained: true}, again[:5]},
		"a folder that is not given": {sandbox.Refusal{Path: "/home/u/x.tmp", Why: "it is the home folder", Tool: "get"}, again},
		"the same without a tool":    {sandbox.Refusal{Path: "/home/u/x.tmp", Why: "it is the home folder"}, nil},
		"what can be opened":         {sandbox.Refusal{Path: "/d/x", Opens: "/d/x", Tool: "get"}, []string{"allow", "kid", "/d/x"}},
	} {
		want := tc.want
		switch {
		case records || want == nil || want[0] == "allow":
		case tc.f.Unexplained:
			want = []string{"learn", "kid", "--root", "/r"}
		default:
			want = nil
		}
		if m := RemedyFor("kid", tc.f, []string{"/r"}); !slices.Equal(m.Run, want) || m.Text == "" {
			t.Errorf("%s: %q, %q, want %q", name, m.Run, m.Text, want)
		}
	}
}

// isUnexplained reports whether a text is told as the failure of a program that gave no reason.
func (disk) isUnexplained(r *Reader, text string) bool {
	f, ok := r.ReadResponse(SaidIn([]byte(text)), nil, true)
	return ok && f == sandbox.Refusal{Unexplained: true}
}

// TestWhatIsSearched: of a long text the edges are, whether it is an error or not.
func TestWhatIsSearched(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "data/test.db")
	r := d.reader(sandbox.Named{Path: "data/test.db"})
	pad := strings.Repeat("x ", maxWhole)
	line := "\nopen " + d.top + "/data/test.db: permission denied\n"
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"all is well":          {"all is well", false},
		"a word":               {"x EACCES y", true},
		"at the beginning":     {line + pad, true},
		"at the end":           {pad + line, true},
		"in the midst of much": {pad + line + pad, false},
	} {
		for _, failed := range []bool{true, false} {
			if got := r.MayExplain([]byte(tc.text), failed); got != tc.want {
				t.Errorf("%s: it is read: %t", name, got)
			}
			if _, got := r.ReadResponse(tc.text, nil, failed); got != tc.want {
				t.Errorf("%s: it is told: %t", name, got)
			}
		}
	}
	if _, ok := r.ReadResponse("Permission denied\n"+pad[:maxUnnamed], nil, true); ok {
		t.Error("a document that names nothing is about what the entry names")
	}
	var none *Reader
	if none.MayExplain([]byte("EACCES"), true) || (&Reader{}).MayExplain([]byte("EACCES"), true) {
		t.Error("the words of a server that nothing holds are read")
	}
}

// TestWhatIsNoPath: an error code, a word in quotes and a name alone are none, nor is what could not be there.
func TestWhatIsNoPath(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "out/x", "out/sub/y")
	r := d.reader(sandbox.Named{Key: "/command", Path: "out/x", Access: sandbox.Read})
	r.Profile.Rules = append(r.Profile.Rules, sandbox.Rule{Path: d.top + "/out/x", Access: sandbox.Read}) // the program itself can be run
	for _, text := range []string{
		"{\n  errno: -13,\n  code: 'EACCES',\n  syscall: 'open'\n}", `{"code":"EACCES"}`, "code: 'EPERM'", "EACCES 'x' `y` \"sub\"", "PermissionError: [Errno 13] Permission denied: 'notes.txt'", "permission denied: x",
		"cat: y: Permission denied", "/compact: permission denied", "EACCES: permission denied, open '" + d.top + "/out/no/such/place'", "EACCES: see https://host" + d.top + "/out/sub/y",
	} {
		if got := d.told(r.ReadResponse(text, nil, true)); got != "" {
			t.Errorf("%s: it is about %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"cat: sub/y: Permission denied":                               "out/sub/y", // as the program calls it
		"EACCES: permission denied, open '~/f'":                       "home/f",
		`{"code":"EACCES","path":"D/out/sub/y"}`:                      "out/sub/y",
		`{"error":{"message":"EACCES","at":{"path":"D/out/x"}}}`:      "",
		`{"result":"{\"code\":\"EACCES\",\"path\":\"D/out\\/sub\"}"}`: "out/sub",
		"open D/out/new note.md: permission denied":                   "out/new note.md",
	} {
		f, ok := r.ReadResponse(strings.ReplaceAll(text, "D/", d.top+"/"), nil, true)
		if got := strings.TrimPrefix(f.Path, d.top+"/"); ok != (want != "") || ok && got != want {
			t.Errorf("%s: it is about %q, want %q", text, got, want)
		}
	}
}

// TestWhoNamesIt: a path of the entry or the call is named as that, also where a file was
// to take its place, and if a text names no path at all.
func TestWhoNamesIt(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "data/mem.json", "data/test.db", "home/mem.json", "home/.netrc", "py/pkg/__init__.py", "mono/.git/HEAD", "mono/sub/f", "ws/node_modules/", "real/index.js", "wt/f", "main/.git/worktrees/wt/HEAD", "home/keep.js", "home/.config/", "read/notes/", "read/run.sh")
	if err := os.WriteFile(filepath.Join(d.top, "wt/.git"), []byte("gitdir: "+d.top+"/main/.git/worktrees/wt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(d.top, "real"), filepath.Join(d.top, "ws/node_modules/linked")); err != nil {
		t.Fatal(err)
	}
	named := func(path string) sandbox.Named { return sandbox.Named{Key: "/args/1", Path: path} }
	for name, tc := range map[string]struct {
		named  []sandbox.Named
		called string
		dir    string
		text   string
		want   string
	}{
		"a file in what the entry names":     {[]sandbox.Named{named("data")}, "", "", "EACCES: permission denied, open 'D/data/mem.json'", "data read data entry"},
		"a file that is replaced":            {[]sandbox.Named{named("data/mem.json")}, "", "", "EACCES: permission denied, open 'D/data/mem.json.8f3a.tmp'", "data/mem.json write data entry"},
		"such a file of the home folder":     {[]sandbox.Named{named("home/mem.json")}, "", "", "EACCES: permission denied, open 'D/home/mem.json.8f3a.tmp'", "home/mem.json write nothing entry"},
		"one that the hub can open":          {[]sandbox.Named{named("home/mem.json")}, "", "", "broker: EACCES: permission denied, open 'D/home/mem.json.8f3a.tmp'", "home/mem.json write home/mem.json entry"},
		"one beside a file of the server's":  {nil, "", "", "broker: EACCES: permission denied, open 'D/home/.mem.json-1'", "home/mem.json write home/mem.json server"},
		"one beside a file that is a key":    {nil, "", "", "broker: EACCES: permission denied, open 'D/home/.netrc.tmp'", "home/.netrc.tmp write nothing server"},
		"one beside nothing":                 {nil, "", "", "broker: EACCES: permission denied, open 'D/home/none.json.tmp'", "home/none.json.tmp write nothing server"},
		"a folder of a closed one":           {[]sandbox.Named{named("home")}, "", "", "EACCES: permission denied, mkdir 'D/home/.keeper'", "home/.keeper write home/.keeper/ server"},
		"a file of the call":                 {nil, "data/mem.json", "", "EACCES: permission denied, open 'D/data/mem.json'", "data/mem.json read data/mem.json call"},
		"nothing is named, but by the call":  {nil, "data/mem.json", "", "Permission denied", "data/mem.json read data/mem.json call"},
		"nothing is named, but by the entry": {[]sandbox.Named{named("in/y"), named("data/test.db")}, "", "", "permission denied", "data/test.db read data/test.db entry"},
		"a database":                         {[]sandbox.Named{named("data/test.db")}, "", "", "unable to open database file", "data/test.db write data/test.db entry"},
		"a module of Python":                 {[]sandbox.Named{named("py")}, "", "", "/usr/bin/python3: No module named pkg", "py read py entry"},
		"another one":                        {[]sandbox.Named{named("py")}, "", "", "/usr/bin/python3: No module named other", ""},
		"a script that another starts":       {nil, "", "", "python3: can't open file 'D/py/pkg/__init__.py': [Errno 13] Permission denied", "py/pkg read py/pkg server"},
		"such a script in the home folder":   {nil, "", "", "node: EACCES: permission denied, open 'D/home/keep.js'", "home/keep.js read home/keep.js server"},
		"a database on another line":         {nil, "", "", "source shop: sqlite:///D/data/test.db?mode=rw\nunable to open database file", "data/test.db write data/test.db server"},
		"one of a URL with an absolute path": {nil, "", "", "  - shop: sqlite://D/data/test.db\nunable to open database file", "data/test.db write data/test.db server"},
		"a relative path":                    {[]sandbox.Named{{Key: "/args/0", Path: "read/run.sh", Access: sandbox.Read}}, "", "", "PermissionError: [Errno 13] Permission denied: 'notes/b.md'", "read/notes/b.md write read/notes server"},
		"a folder of state":                  {nil, "", "", "PermissionError: [Errno 13] Permission denied: 'D/home/.keeper'", "home/.keeper write home/.keeper/ server"},
		"such a folder among settings":       {nil, "", "", "PermissionError: [Errno 13] Permission denied: 'D/home/.config/keeper'", "home/.config/keeper write home/.config/keeper/ server"},
		"what is made on the way to one":     {nil, "", "", "PermissionError: [Errno 13] Permission denied: 'D/home/.local'", "home/.local write nothing server kept"},
		"a temporary file that is hidden":    {nil, "", "", "PermissionError: [Errno 13] Permission denied: 'D/home/.~a.ipynb'", "home/.~a.ipynb write nothing server"},
		"one that lies nowhere":              {nil, "", "", "PermissionError: [Errno 13] Permission denied: 'nowhere/b.md'", ""},
		"a linked module":                    {nil, "", "ws", "Error: Cannot find module 'linked'", "real read real server"},
		"a repository above":                 {nil, "", "mono/sub", "fatal: not a git repository (or any of the parent directories): .git", "mono/.git read mono/.git server"},
		"that of a worktree":                 {nil, "", "wt", "fatal: not a git repository (or any of the parent directories): .git", "main/.git/worktrees/wt read main/.git/worktrees/wt server"},
	} {
		r := d.reader(tc.named...)
		r.Brokers = strings.HasPrefix(tc.text, "broker: ")
		var called []sandbox.Rule
		if tc.called != "" {
			called = []sandbox.Rule{{Path: filepath.Join(d.top, tc.called), Access: sandbox.Read}}
		}
		if tc.dir != "" {
			r.Dirs = []string{filepath.Join(d.top, tc.dir)}
			r.Profile.Rules = sandbox.Sorted(append(r.Profile.Rules, sandbox.Rule{Path: r.Dirs[0], Access: whole}))
		}
		if got := d.told(r.ReadResponse(strings.ReplaceAll(tc.text, "D/", d.top+"/"), called, true)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestBeforehand: what a call or an entry names and will not get is known before.
func TestBeforehand(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "out/x", "data/test.db", "hub/log")
	r := d.reader()
	for path, want := range map[string]string{"in/y": "", "out/x": "out/x read out/x call", "hub/log": "hub/log read nothing call kept"} {
		if got := d.told(r.Closes(filepath.Join(d.top, path), sandbox.Read)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if _, closed := r.Closes(filepath.Join(d.top, "read/x"), sandbox.Write); !closed {
		t.Error("what may be read may be written")
	}
	r.Profile.Rules = sandbox.Sorted(append(r.Profile.Rules, sandbox.Rule{Path: filepath.Join(d.top, "data/test.db"), Access: whole}))
	for name, tc := range map[string]struct {
		n    sandbox.Named
		want string
	}{
		"what is open":                {sandbox.Named{Path: "in", Access: whole}, ""},
		"what is read by design":      {sandbox.Named{Path: "read", Access: sandbox.Read, Why: "it is configuration"}, ""},
		"what is closed":              {sandbox.Named{Path: "out/x", Why: "a link"}, "out/x read out/x entry"},
		"a database without a folder": {sandbox.Named{Path: "data/test.db", Access: whole}, "data/test.db write data entry"},
	} {
		tc.n.Path = filepath.Join(d.top, tc.n.Path)
		if got := d.told(r.Restricts(tc.n)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestADatabaseThatIsAllowed: a database that is open by itself, because a person has allowed it, lacks its folder, in which the
// program makes files beside it.
func TestADatabaseThatIsAllowed(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "data/test.db", "data/other")
	r := d.reader()
	const text = "attempt to write a readonly database"
	if f, ok := r.ReadResponse(text, nil, true); ok {
		t.Errorf("nothing is known of it, and it is %s", d.told(f, ok))
	}
	r.Profile.Rules = sandbox.Sorted(append(r.Profile.Rules, sandbox.Rule{Path: filepath.Join(d.top, "data/test.db"), Access: whole}))
	if got, want := d.told(r.ReadResponse(text, nil, true)), "data/test.db write data entry"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStderr: what a server writes is told about once for each refusal, and an error
// right behind it is taken to be about that, if its entry names the path. A log of its
// own is no reason why a call fails.
func TestStderr(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "out/x")
	r := d.reader()
	if _, ok, _ := r.ReadStderr("open " + d.top + "/out/x: permission denied"); !ok || r.MayExplain([]byte(`{"message":"it failed"}`), true) {
		t.Errorf("known: %t; an error behind what the server alone names is about that", ok)
	}
	r = d.reader()
	for _, line := range []string{"  File \"/usr/lib/python3.11/socket.py\", line 232, in __init__", "    _socket.socket.__init__(self, family, type, proto, fileno)", "PermissionError: [Errno 13] Permission denied"} {
		if f, ok, _ := r.ReadStderr(line); ok != strings.HasPrefix(line, "Perm") || f.Sockets != ok {
			t.Errorf("%s: %+v", line, f)
		}
	}
	if f, ok := r.ReadResponse("EOFError", nil, true); !ok || !f.Sockets {
		t.Errorf("an error behind what was said of a socket is about %+v, %t", f, ok)
	}
	r = d.reader(sandbox.Named{Key: "/env/LOG", Path: "out/x"})
	if r.MayExplain([]byte(`{"message":"it failed"}`), true) {
		t.Error("an error is about something before anything was said")
	}
	line := "open " + d.top + "/out/x: permission denied"
	for _, first := range []bool{true, false} {
		if f, ok, was := r.ReadStderr(line); !ok || was != first || f.Path != d.top+"/out/x" {
			t.Errorf("%+v, %t, first %t", f, ok, was)
		}
	}
	if _, ok, _ := r.ReadStderr("all is well"); ok {
		t.Error("what is well is a refusal")
	}
	if !r.MayExplain([]byte(`{"message":"it failed"}`), true) {
		t.Error("an error is not looked at")
	}
	if f, ok := r.ReadResponse("it failed", nil, true); !ok || f.Path != d.top+"/out/x" {
		t.Errorf("an error right behind it is about %+v, %t", f, ok)
	}
	if n, last := r.Refusals(); n != 1 || last.Path != d.top+"/out/x" {
		t.Errorf("%d refusals, the last %+v", n, last)
	}
}

// TestNothingThatIsToldWidens: no text for a client holds a command that opens something.
func TestNothingThatIsToldWidens(t *testing.T) {
	t.Parallel()
	for _, f := range []sandbox.Refusal{{Path: "/x", Access: sandbox.Read, Opens: "/x"}, {Path: "/x", Access: sandbox.Write}, {Sockets: true}, {Kept: true, Path: "/secret"}, {Path: "/x", KeepsRunning: true}} {
		text := Text(f)
		for _, never := range []string{"allow", "learn", "restart", "sandbox.", "disable", "/secret"} {
			if strings.Contains(text, never) {
				t.Errorf("%q holds %q", text, never)
			}
		}
		if !strings.Contains(text, "`mcphub why`") {
			t.Errorf("%q does not say whom to ask", text)
		}
	}
}

// FuzzPathAt: whatever a child says, each reading of a path stands in the text, and the search goes on behind where it began.
func FuzzPathAt(f *testing.F) {
	f.Add("'/a’/b‘/c' file:///x%41 ~/y")
	f.Fuzz(func(t *testing.T, text string) {
		_ = linesOf(cutToEdges(text))
		for i := range len(text) {
			w, ok := pathAt(text, i, "/h")
			if ok && w.next <= i {
				t.Fatalf("at %d of %q it goes on at %d", i, text, w.next)
			}
			for _, p := range w.ways {
				if len(p) > len(text)+len("/h") || p[0] != '/' || len(w.ways) > maxEnds || w.likely >= len(w.ways) {
					t.Errorf("%q in %q", p, text)
				}
			}
		}
	})
}
