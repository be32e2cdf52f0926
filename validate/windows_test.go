package validate

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/budget"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
)

// windowsDisk is a disk of Windows on which the system's directories are closed.
type windowsDisk struct {
	*rootstest.FS
	drives []string
	top    map[string][]string // names in a directory
	closed []string
}

func (d *windowsDisk) Drives() []string { return d.drives }

// Lstat follows the junction above a name, as the system does.
func (d *windowsDisk) Lstat(name string) (fs.FileInfo, error) {
	if rest, ok := strings.CutPrefix(platform.Windows.Clean(name), `C:\work\project\junction\`); ok {
		name = `C:\Users\me\secret\` + rest
	}
	return d.FS.Lstat(name)
}

func (d *windowsDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	if name = platform.Windows.Clean(name); d.top[name] == nil {
		return nil, fs.ErrNotExist
	}
	for _, base := range d.top[name] {
		info, err := d.Lstat(platform.Windows.Join(name, base))
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	return list, nil
}

func (d *windowsDisk) Closed(dir string) bool {
	for _, c := range d.closed {
		if strings.EqualFold(c, dir) {
			return true
		}
	}
	return false
}

func (d *windowsDisk) Writable(dir string) bool { return !d.Closed(dir) }

func newWindowsDisk(t *testing.T) *windowsDisk {
	files := rootstest.NewFS(t, platform.Windows, []string{
		"C:/Users/me/.ssh/id", "C:/Users/me/secret/s", "C:/work/project/src/a.txt", "C:/work/project/next/x", "C:/Windows/System32/cmd.exe", "C:/Windows/System32/notes.txt",
		"C:/Program Files/nodejs/node.exe", "C:/tools/mine.exe", "C:/api", "D:/data/x", "C:/work/project/junction => C:\\Users\\me\\secret",
	}, rootstest.Folding(), rootstest.Home(`C:\Users\me`))
	files.Junction(`C:\work\project\junction`)
	files.Subst("S:", `C:\Users\me`)
	files.Subst("T:", `C:\`)
	return &windowsDisk{
		FS: files, drives: []string{`C:\`, `D:\`, `S:\`},
		top:    map[string][]string{`C:\`: {"Users", "work", "Windows", "Program Files", "tools", "api"}, `D:\`: {"data"}, `S:\`: {".ssh", "secret"}, inProject: {"junction", "next", "src"}, `C:\work\project\src`: {"a.txt"}},
		closed: []string{`C:\Windows\System32`, `C:\Program Files\nodejs`},
	}
}

// A windowsHub judges calls of a client that has one root.
type windowsHub struct {
	t         *testing.T
	root      string
	checker   *Checker
	rootsView rootsmgr.RootsView
}

// inProject is where calls on a windowsDisk work.
const inProject = `C:\work\project`

func newWindowsHub(t *testing.T, disk guard.FS, p policy.Policy, root string) *windowsHub {
	t.Helper()
	c, err := NewChecker(Config{
		Children: []ChildConfig{{Name: "child", Command: "x"}}, FS: disk, Home: `C:\Users\me`, Policy: p, Protected: []string{`C:\Users\me\hub.json`},
		Getenv: func(name string) string {
			return map[string]string{"PATH": `C:\WINDOWS\system32;"C:\Program Files\nodejs\";C:\tools`}[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	snap := rootsmgr.NewSnapshot(disk, 1, rootsmgr.OriginAsked, []rootsmgr.RootEntry{{URI: platform.Windows.FormatURI(root)}})
	if snap.Len() != 1 {
		t.Fatal(snap.Skipped())
	}
	return &windowsHub{t, root, c, rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown}}
}

// judge judges a call with one argument.
func (h *windowsHub) judge(key, value string) *Verdict {
	h.t.Helper()
	args, err := json.Marshal(map[string]string{key: value})
	if err != nil {
		h.t.Fatal(err)
	}
	tool, err := h.checker.PrepareTool("child", "", []byte(anyTool))
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.checker.Scan(tool, args)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.checker.Judge(s, CallContext{Cwd: h.root, Served: []string{h.root}}, h.rootsView)
}

func (h *windowsHub) expect(want policy.Decision, calls [][2]string) {
	h.t.Helper()
	for _, call := range calls {
		if v := h.judge(call[0], call[1]); v.Decision != want {
			h.t.Errorf("%s = %s: %v %+v, want %v", call[0], call[1], v.Decision, v.Findings, want)
		}
	}
}

// TestWindowsFirstComponent: rule 3 on Windows. A value that begins with a separator counts if its first component is on a drive.
func TestWindowsFirstComponent(t *testing.T) {
	t.Parallel()
	disk := newWindowsDisk(t)
	h := newWindowsHub(t, disk, policy.Policy{}, inProject)
	for v, want := range map[string]bool{
		"/api/users": true, `\Users\me\x`: true, "/Users/me": true, `\data\x`: true, "/c/Users/me": true, "/d/x": true, `C:\nothing\x`: true,
		`\\host\share\x`: true, "//host/share": true, `\\?\C:\x`: true, "/": true, `\`: true, "/users/me": true, "/USERS/list": false, "/apis/users": false,
		"/vercel/next.js": false, `\w+`: false, `\d{3}`: false, "/9j/4AAQSkZJRg": false, "/nologo": false, "/e/x": false, "/v1/users": false, `\w+|\d+`: false,
		`\Users.\me`: true, `\Us<\me`: true, "/U*/x": true, "/z*/x": false, "/nologo:x": false, "/Users:x/y": true, "/PROGRA~1/x": false,
	} {
		if got := h.checker.m.FirstExists(v); got != want {
			t.Errorf("%s: %v, want %v", v, got, want)
		}
	}
	h.expect(policy.Allow, [][2]string{{"q", "/vercel/next.js"}, {"library", "/vercel/next.js"}, {"x", `\w+`}, {"image", "/9j/4AAQSkZJRg"}, {"flags", "/nologo"}, {"route", "/v1/users"}, {"x", `\d{3}-[A-Z]\w+`}})
	h.expect(policy.Deny, [][2]string{{"x", `\Users\me\.ssh\id`}, {"x", "/Users/me/.ssh/id"}, {"x", "/c/Users/me/.ssh/id"}, {"path", "/vercel/next.js"}, {"path", "/d/data/x"}, {"x", "/vercel/../Users/me"},
		{"glob", "{a,b,/Users}/me/.ssh/id"}, {"x", `{\Use,x}rs\me\.ssh\id`}, {"x", "{,/}Users/me/.ssh/id"}, {"x", "/{U..V}sers/me/.ssh/id"}, {"pattern", "{a,/Users}/me/*"}})
	disk.drives = nil // none is known
	h.expect(policy.Deny, [][2]string{{"path", `\Users\me\.ssh\id`}})
}

// TestWindowsSwitches: a slash and a letter are an option of a command of cmd, and to PowerShell no drive, although there is a drive S. To a
// shell of Unix they are the drive, and rm has no such option.
func TestWindowsSwitches(t *testing.T) {
	t.Parallel()
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{}, inProject)
	h.expect(policy.Allow, [][2]string{{"command", "rd /s /q src"}, {"command", "rmdir /s /q src"}, {"command", "del /s /q *.tmp"}, {"command", "if exist src rd /s src"}, {"command", "cmd /c rmdir /s /q src"},
		{"script", "rd /s /q src"}, {"command", "dir /s /b *.ts"}})
	h.expect(policy.Deny, [][2]string{{"command", "rm -rf /s"}, {"command", "rm -rf /s src"}, {"command", "rmdir /s/secret"}, {"command", "rd /s /q S:"}, {"command", `rd /s /q S:\secret`}, {"command", `rmdir /s /q \Users\me\secret`},
		{"command", "cat /s/secret/s"}, {"command", "cd src && rm -r /s"}})
}

// TestWindowsDriveAtTheTop: a slash and a letter are a drive of Git Bash, and what a root at the top of a drive holds too. An option is only
// what may be one.
func TestWindowsDriveAtTheTop(t *testing.T) {
	t.Parallel()
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{}, `C:\`)
	h.expect(policy.Allow, [][2]string{{"path", "/work"}, {"path", "/c"}, {"command", "dir /d"}})
	h.expect(policy.Deny, [][2]string{{"path", "/d"}, {"path", "/d/x"}})
}

// TestWindowsShortNames: a name with a tilde may be the short name of what is protected, wherever the tilde stands.
func TestWindowsShortNames(t *testing.T) {
	t.Parallel()
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{}, inProject)
	j := &judge{checker: h.checker, work: budget.New(0)}
	j.Machine = j.disk.Open(&h.checker.m, j.work, false)
	for name, want := range map[string]bool{"~1": true, "HUB~1.JSO": true, "hub.json": true, "src": false} {
		if got := j.guardsName(meaning{base: inProject, path: inProject + `\` + name}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWindowsPatternsWithVariables: a pattern is matched with each value that its variables may have.
func TestWindowsPatternsWithVariables(t *testing.T) {
	t.Parallel()
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{}, inProject)
	j := &judge{checker: h.checker, work: budget.New(0), callCtx: CallContext{Cwd: inProject}}
	j.Machine = j.disk.Open(&h.checker.m, j.work, false)
	var got []string
	j.yieldGlobWord(&detect.Finding{Form: detect.FormGlob, Glob: "${PATH:-junct}*"}, func(m meaning) { got = append(got, m.path) })
	if len(got) != 1 || got[0] != inProject+`\junction` {
		t.Errorf("%q", got)
	}
	disk := newWindowsDisk(t)
	disk.top[`C:\Users\me`] = []string{".ssh", "secret"}
	j.FS, got = disk, nil
	h.checker.protected = append(h.checker.protected, protectedPath{`C:\Users\me\secret`})
	j.yieldGlobWord(&detect.Finding{Form: detect.FormGlob, Glob: `C:\Users\me\s*`}, func(m meaning) { got = append(got, m.path) })
	if len(got) != 1 || got[0] != `C:\Users\me\secret` {
		t.Errorf("behind a name that does not match: %q", got)
	}
	if got := j.resolveBelow(inProject, ""); j.Platform.Clean(got) != inProject {
		t.Errorf("no text leads to %q", got)
	}
}

// TestWindowsVolumeOfBase: what begins with a separator starts on the volume of the directories that the child may be in.
func TestWindowsVolumeOfBase(t *testing.T) {
	t.Parallel()
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{}, inProject)
	tool, err := h.checker.PrepareTool("child", "", []byte(anyTool))
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.checker.Scan(tool, []byte(`{"path":"\\Users\\me\\.ssh\\id"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []CallContext{{}, {Served: []string{`C:\work\project`}}, {Cwd: `\\server\share\dir`}} {
		if v := h.checker.Judge(s, where, h.rootsView); v.Decision != policy.Deny {
			t.Errorf("%+v: %v %+v", where, v.Decision, v.Findings)
		}
	}
}

// TestWindowsGlobs: a pattern is judged by its fixed prefix, though nothing can be called by it.
func TestWindowsGlobs(t *testing.T) {
	t.Parallel()
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{}, inProject)
	h.expect(policy.Allow, [][2]string{
		{"path", `C:\work\project\*.txt`}, {"path", `src\*.txt`}, {"path", "src/**/*.ts"}, {"path", "*.json"}, {"pattern", "**/*.ts"}, {"files", `src\?.txt`},
		{"path", `C:\work\project\src\{a,b}?.txt`}, {"path", "C:/work/project/src/**"},
	})
	h.expect(policy.Deny, [][2]string{
		{"path", `C:\Users\me\.ssh\*`}, {"path", `C:\*\me\.ssh\id`}, {"path", `..\*`}, {"path", `*\..\..\..\Users\me`}, {"path", `src\*\..\..\..\secret`}, {"path", "D:*"},
		{"path", `*:stream`}, {"path", `C:\work\project\*:x`}, {"path", `junction\*`}, {"path", `C:\work\projec?\x`}, {"path", `\\?\C:\work\project\*`}, {"path", `\Users\*`},
		{"path", `C:\work\project\{src,..\..\..\Users}\*`}, {"path", `src\* \x`}, {"path", `src\<*`}, {"path", `junct*\s`}, {"path", `*\s`}, {"path", `C:\work\project\j*n\s`}, {"path", "@(junction)/*"}, {"path", "+(..)/x/*"}, {"path", "{junct*,x}/s"},
	})
}

// TestWindowsPrograms: a program of a directory of PATH that is closed to this user is run, and not opened.
func TestWindowsPrograms(t *testing.T) {
	t.Parallel()
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{}, inProject)
	for w, want := range map[string]bool{
		`C:\Windows\System32\cmd.exe`: true, `c:\windows\system32\CMD.EXE`: true, "C:/Windows/System32/cmd.exe": true, `C:\Program Files\nodejs\node.exe`: true,
		`C:\Windows\System32\notes.txt`: false, `C:\Windows\System32\missing.exe`: false, `C:\tools\mine.exe`: false, `C:\Windows\System32\..\x.exe`: false,
		`C:\Windows\System32`: false, `\Windows\System32\cmd.exe`: false, `\\host\share\cmd.exe`: false, "": false,
	} {
		if got := h.checker.m.IsCommand(w); got != want {
			t.Errorf("%s: %v, want %v", w, got, want)
		}
	}
	h.expect(policy.Allow, [][2]string{{"shell", `C:\Windows\System32\cmd.exe`}, {"command", "C:/Windows/System32/cmd.exe /c dir"}, {"interpreter", `C:\Program Files\nodejs\node.exe`}})
	h.expect(policy.Deny, [][2]string{{"shell", `C:\tools\mine.exe`}, {"path", `C:\Windows\System32\cmd.exe`}, {"shell", `C:\Windows\System32\notes.txt`}})
}

// TestWindowsVolumes: another name of a volume passes neither a rule nor protection if there is no boundary.
func TestWindowsVolumes(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{
		{Name: "secret", Then: policy.Deny, Paths: &policy.PathRule{Within: `C:\Users\me\secret`}}, {Name: "later", Then: policy.Deny, Paths: &policy.PathRule{Within: `C:\Users\me\later\on`}},
	}
	h := newWindowsHub(t, newWindowsDisk(t), policy.Policy{Rules: rules}, inProject)
	h.rootsView = rootsmgr.RootsView{Case: rootsmgr.CaseUnsupported, Open: true}
	h.expect(policy.Deny, [][2]string{
		{"path", `C:\Users\me\secret\s`}, {"path", `S:\secret\s`}, {"path", `S:\SECRET\new`}, {"path", `T:\Users\me\secret`}, {"path", `T:\users\ME\later\on\x`}, {"path", `S:\later\on`},
		{"path", `S:\hub.json`}, {"path", `T:\Users\me\hub.json`}, {"path", `\\localhost\C$\Users\me\secret\s`}, {"path", `\\127.0.0.1\C$\Users\me\secret\s`},
		{"path", `\\?\Volume{12345678-1234-1234-1234-123456789012}\Users\me\secret\s`}, {"path", `\\.\C:\Users\me\secret\s`}, {"path", `\\?\C:\Users\me\secret\s`},
	})
	h.expect(policy.Allow, [][2]string{{"path", `S:\.ssh\id`}, {"path", `D:\data\x`}, {"path", `T:\work\project`}, {"path", `S:\later\one`}, {"path", `D:\Users\me\secret\s`}, {"path", `S:\secrets`}})
}
