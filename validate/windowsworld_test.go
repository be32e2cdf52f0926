package validate

import (
	"io/fs"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// windowsFiles is a disk of Windows. The boundary is App, node-app, test, build and w; .env and hub.json are protected.
var windowsFiles = []string{
	"C:/Users/me/source/repos/App/a.txt", "C:/Users/me/source/repos/App/b.txt", "C:/Users/me/source/repos/App/package.json",
	"C:/Users/me/source/repos/App/README.md", "C:/Users/me/source/repos/App/.env", "C:/Users/me/source/repos/App/src/main.go",
	"C:/Users/me/source/repos/App/src/new/table.sql", "C:/Users/me/source/repos/App/docs/guide.md", "C:/Users/me/source/repos/App/build/out.txt",
	"C:/Users/me/source/repos/App/secrets/key.txt", "C:/Users/me/source/repos/Application/secret.txt",
	"C:/Users/me/outside/secret.txt", "C:/Users/me/outside/My Docs/secret.txt", "C:/Users/me/.ssh/id_rsa", "C:/Users/me/AppData/Roaming/app/token.txt",
	"C:/Users/me/AppData/Local/token.txt", "C:/Users/me/AppData/Local/Temp/x.txt", "C:/Users/Public/p.txt",
	"C:/Windows/win.ini", "C:/Windows/System32/cmd.exe", "C:/Program Files (x86)/Vendor/x.txt",
	"C:/dev/node-app/index.js", "C:/code/test/new/x.txt", "C:/work/new/build/x.txt", "C:/w/hub.json", "C:/w/a.json", "D:/secret.txt",
}

var windowsVariables = map[string]string{
	"USERPROFILE": `C:\Users\me`, "HOMEDRIVE": "C:", "HOMEPATH": `\Users\me`, "APPDATA": `C:\Users\me\AppData\Roaming`, "LOCALAPPDATA": `C:\Users\me\AppData\Local`,
	"TEMP": `C:\Users\me\AppData\Local\Temp`, "PUBLIC": `C:\Users\Public`, "SYSTEMROOT": `C:\Windows`, "WINDIR": `C:\Windows`, "SYSTEMDRIVE": "C:",
	"PROGRAMFILES(X86)": `C:\Program Files (x86)`, "COMSPEC": `C:\Windows\System32\cmd.exe`, "PATH": `C:\Windows\System32;C:\Windows`, "USERNAME": "me",
}

// listedDisk is a faked disk whose directories can be listed.
type listedDisk struct{ *rootstest.FS }

func (d listedDisk) ReadDir(dir string) ([]fs.DirEntry, error) {
	dir = strings.TrimSuffix(strings.ReplaceAll(dir, `\`, "/"), "/") + "/"
	var list []fs.DirEntry
	seen := map[string]bool{}
	for _, file := range windowsFiles {
		if len(file) <= len(dir) || !strings.EqualFold(file[:len(dir)], dir) {
			continue
		}
		name, _, _ := strings.Cut(file[len(dir):], "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		info, err := d.Lstat(strings.ReplaceAll(dir+name, "/", `\`))
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	if list == nil {
		return nil, fs.ErrNotExist
	}
	return list, nil
}

// windowsProtected are files in the roots.
var windowsProtected = []string{`C:\w\hub.json`, `C:\Users\me\source\repos\App\.env`}

// windowsWorld is a checker for that disk, and what a call is judged by.
type windowsWorld struct {
	c         *Checker
	where     CallContext
	rootsView rootsmgr.RootsView
}

// newWindowsWorld makes one. protected are files beside hub.json, which is in no root.
func newWindowsWorld(t *testing.T, mode declare.Mode, protected []string, rules ...policy.Rule) *windowsWorld {
	t.Helper()
	disk := listedDisk{rootstest.NewFS(t, platform.Windows, windowsFiles, rootstest.Folding())}
	c, err := NewChecker(Config{
		Children:  []ChildConfig{{Name: "child", Command: "some-server", Mode: mode, ModeSet: true}},
		Protected: append([]string{`C:\hub\hub.json`}, protected...), FS: disk, Home: `C:\Users\me`,
		Getenv: func(name string) string { return windowsVariables[strings.ToUpper(name)] }, Policy: policy.Policy{Rules: rules},
	})
	if err != nil {
		t.Fatal(err)
	}
	var roots []rootsmgr.RootEntry
	for _, root := range []string{`C:\Users\me\source\repos\App`, `C:\dev\node-app`, `C:\code\test`, `C:\work\new\build`, `C:\w`} {
		roots = append(roots, rootsmgr.RootEntry{URI: root})
	}
	snapshot := rootsmgr.NewSnapshot(disk, 1, rootsmgr.OriginConfig, roots)
	if len(snapshot.Paths()) != len(roots) {
		t.Fatalf("roots: %q", snapshot.Paths())
	}
	return &windowsWorld{c, CallContext{Cwd: roots[0].URI, Served: snapshot.Paths()[:1]}, rootsmgr.RootsView{Snapshot: snapshot, Case: rootsmgr.CaseKnown}}
}

// judge judges the arguments of a call of a tool without a schema.
func (w *windowsWorld) judge(t *testing.T, args string) *Verdict {
	t.Helper()
	tool, err := w.c.PrepareTool("child", "", []byte(anyTool))
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.c.Scan(tool, []byte(args))
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return w.c.Judge(s, w.where, w.rootsView)
}

// TestWindowsPathsWithEscapes: a path inside is no list of words because a name in it begins as an escape of some language does. What the
// escapes themselves write counts, and so does a path that lies outside as it stands.
func TestWindowsPathsWithEscapes(t *testing.T) {
	t.Parallel()
	w := newWindowsWorld(t, declare.ModeStrict, nil)
	inside := []string{
		`C:\Users\me\source\repos\App`, `C:\Users\me\source\repos\App\src\new\table.sql`, `C:\dev\node-app`, `C:\code\test`, `C:\code\test\new\x.txt`,
		`C:\work\new\build`, `c:\WORK\new\build\x.txt`, `C:\work\new\build\2024\x86\u1\tests`,
	}
	outside := []string{
		`C:\Users\me\outside\secret.txt`, `C:\Users\me\.ssh\id_rsa`, `C:\work\new\build\x5c..\x5c..\x5c..\Windows\win.ini`, `x\nC:\Users\me\outside\secret.txt`,
		`C:\work\new\build\u005c\u002e\u002e\u005c\u002e\u002e\u005c\u002e\u002e\u005cWindows`, `C:\dev\node-app\..\..\Windows\win.ini`, `C\u003a\u005cUsers\u005cme\u005coutside`,
	}
	const filter = "movie=%,scale=1:1"
	for _, key := range []string{"repo", "db", "project", "query", "q", "sql", "x", "target", "expression"} {
		for _, form := range []string{"%", "see '%' there", "SELECT * FROM '%'", "name: %", "path=%", filter} {
			for _, p := range inside {
				if form == filter {
					p += `\new.go`
				}
				value := strings.ReplaceAll(form, "%", p)
				if v := w.judge(t, `{"`+key+`":`+string(quoteJSON(value))+`}`); v.Decision != policy.Allow {
					t.Errorf("%s: %s is refused: %s %s", key, value, v.Deciding.Value, v.Deciding.Code)
				}
			}
			for _, p := range outside {
				value := strings.ReplaceAll(form, "%", p)
				if v := w.judge(t, `{"`+key+`":`+string(quoteJSON(value))+`}`); v.Decision == policy.Allow && form != "see '%' there" {
					t.Errorf("%s: %s passes", key, value)
				}
			}
		}
	}
}
