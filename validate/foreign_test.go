package validate

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/policy"
)

// Attackers of Windows name a machine of theirs, because a look at it shows it who the user is.

// foreigner draws names of other machines.
type foreigner struct{ *rand.Rand }

func (r foreigner) of(list ...string) string { return list[r.IntN(len(list))] }

// slashes mixes the two separators.
func (r foreigner) slashes(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c == '\\' && r.IntN(3) == 0 {
			b[i] = '/'
		}
	}
	return string(b)
}

// path draws one spelling of a path on another machine.
func (r foreigner) path() string {
	host := r.of("evil", "evil.example", "10.0.0.9", "localhost", "127.0.0.1", "LOCALHOST", "evil@SSL", "evil@SSL@443", "evil@8080", "::1",
		"0--1.ipv6-literal.net", "evil.", "ev il", "%COMPUTERNAME%", "server.evil", "servers", "ſerver", "good\\..\\evil", ".", "..")
	share := r.of("share", "C$", "IPC$", "ADMIN$", "DavWWWRoot", "pipe", "s", "share.", "..", "good", "ſhare")
	tail := r.of("x", "a\\b\\c", "..\\x", "x\\..\\..\\y", "", "con", "*.txt", "x:y", ".ssh\\id_rsa")
	path := r.of(`\\`, `\\`, `\\`, `\\?\UNC\`, `\??\UNC\`, `\\.\UNC\`, `\\?\GLOBALROOT\Device\Mup\`, `\\.\GLOBALROOT\Device\LanmanRedirector\`,
		`\\?\unc\`, `\\\`, `\\.\pipe\`, `\\?\Volume{12345678-1234-1234-1234-123456789012}\`) + host + `\` + share
	if tail != "" {
		path += `\` + tail
	}
	return r.slashes(path)
}

// below draws a path through a link of the project that leads to another machine.
func (r foreigner) below(project string) string {
	link := r.of("junction", "link", "extended", "inner\\..\\link", "JUNCTION", "chain")
	return r.slashes(r.of(project+`\`, "", `.\`, project+`\sub\..\`) + link + r.of("", `\x`, `\a\b`, `\..\x`, `\*.txt`))
}

// uri makes a URI of a path.
func (r foreigner) uri(path string) string {
	path = strings.TrimLeft(strings.ReplaceAll(path, `\`, "/"), "/")
	return r.of("file://", "file:////", "file:///\\\\", "FILE://", "file:\\\\", "file:") + path
}

// arguments puts one name into a call.
func (r foreigner) arguments(name string) string {
	value := name
	switch r.IntN(8) {
	case 0:
		value = "type " + name
	case 1:
		value = "SELECT * FROM '" + name + "'"
	case 2:
		value = "--out=" + name
	case 3:
		value = "C:\\work\\project\\a.txt;" + name
	case 4:
		value = r.uri(name)
	case 5:
		value = "jdbc:sqlite:" + name
	}
	key := r.of("path", "cwd", "uri", "content", "query", "command", "args", "repo_path", "x", "shell", "pattern", "files", "url", "a,b")
	var arg any = value
	switch r.IntN(5) {
	case 0:
		arg = []string{"a.txt", value}
	case 1:
		arg = map[string]any{value: "x"}
	}
	text, _ := json.Marshal(map[string]any{key: arg})
	return string(text)
}

// target is a hub that is given names of other machines.
type target struct {
	fsys          guard.FS
	home, project string
	roots         []rootsmgr.RootEntry
	snap          *rootsmgr.Snapshot
	checker       *Checker
}

func newTarget(t *testing.T, fsys guard.FS, home, project string, roots ...string) *target {
	to := &target{fsys: fsys, home: home, project: project}
	for _, root := range append(roots, project) {
		to.roots = append(to.roots, rootsmgr.RootEntry{URI: platform.Windows.FormatURI(root)})
	}
	to.snap = rootsmgr.NewSnapshot(fsys, 1, rootsmgr.OriginConfig, to.roots)
	var err error
	if to.checker, err = to.with(policy.Policy{}); err != nil || to.snap.Len() != len(to.roots) {
		t.Fatal(err, to.snap.Skipped())
	}
	return to
}

func (to *target) with(p policy.Policy, protected ...string) (*Checker, error) {
	return NewChecker(Config{
		Children: []ChildConfig{{Name: "child", Command: "x"}}, FS: to.fsys, Home: to.home, Getenv: func(string) string { return "" },
		Policy: p, Protected: protected,
	})
}

// look draws something that names another machine, and gives it to a hub.
func (r foreigner) look(t *testing.T, to *target) {
	name := r.path()
	if r.IntN(3) == 0 {
		name = r.below(to.project)
	}
	where := CallContext{Cwd: to.project, Served: []string{to.project}}
	rootsView := rootsmgr.RootsView{Case: rootsmgr.CaseKnown, Open: r.IntN(8) == 0, Snapshot: to.snap}
	args := r.arguments(name)
	c := to.checker
	var err error
	switch r.IntN(16) {
	case 0: // hub.json
		rules := []policy.Rule{{Name: "r", Then: policy.Deny, Paths: &policy.PathRule{Within: name}}, {Name: "s", Then: policy.Allow, Paths: &policy.PathRule{Within: name}}}
		c, err = to.with(policy.Policy{Rules: rules}, name)
	case 1:
		c, err = to.with(policy.Policy{Sandbox: name, Protected: []string{name}})
	case 2:
		where.Cwd = name
	case 3:
		where.Served = append(where.Served, name)
	case 4: // roots that are no plain name of a share
		entries := to.roots
		for _, raw := range []string{r.below(to.project), `\\?\UNC\evil\share`, r.uri(`evil@SSL\DavWWWRoot`), `\\localhost\C$`, to.project + `\*\sub`} {
			entries = append(entries, rootsmgr.SettingEntry(to.fsys, raw, to.project))
		}
		rootsView.Snapshot = rootsmgr.NewSnapshot(to.fsys, 1, rootsmgr.OriginConfig, entries)
	}
	if err != nil {
		return // hub.json is refused
	}
	rootsView.Snapshot.Appeared(name, to.project+`\junction\sub`)
	tool, err := c.PrepareTool("child", "", []byte(anyTool))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.Scan(tool, []byte(args)); err == nil {
		c.Judge(s, where, rootsView)
	}
	c.IsTooWide(name, nil)
	c.Rules().OpenedDir(name)
}

// seeing is a disk that remembers which names were looked at.
type seeing struct {
	*rootstest.FS
	mu   sync.Mutex
	seen []string
}

func (s *seeing) note(name string) string {
	s.mu.Lock()
	s.seen = append(s.seen, name)
	s.mu.Unlock()
	return name
}

func (s *seeing) Lstat(name string) (fs.FileInfo, error) { return s.FS.Lstat(s.note(name)) }
func (s *seeing) Readlink(name string) (string, error)   { return s.FS.Readlink(s.note(name)) }
func (s *seeing) Writable(name string) bool              { s.note(name); return true }
func (s *seeing) Closed(name string) bool                { s.note(name); return false }
func (s *seeing) TrueCase(name string) (string, error)   { return s.note(name), nil }
func (s *seeing) Readable(name string) error             { s.note(name); return nil }
func (s *seeing) ReadDir(string) ([]fs.DirEntry, error)  { return nil, fs.ErrNotExist }

// leaves reports a look that asks another machine than the one of the share \\server\good: by its text, or through a link. Windows
// takes ".." out of a name before it opens anything.
func leaves(name string) bool {
	name = platform.Windows.Clean(name)
	if share, remote := platform.Windows.Remote(name); remote && share != `\\SERVER\GOOD` {
		return true
	}
	below, _ := strings.CutPrefix(strings.ToLower(name), `c:\work\project\`)
	link, _, through := strings.Cut(below, `\`)
	return through && slices.Contains([]string{"junction", "link", "extended", "chain"}, link)
}

func foreignDisk(t *testing.T) *seeing {
	f := rootstest.NewFS(t, platform.Windows, []string{
		"C:/work/project/sub/", "C:/work/project/a.txt", "C:/work/project/inner/", "C:/users/me/", "C:/work/project/junction => \\\\evil\\share",
		"C:/work/project/link => \\\\evil\\share\\dir", "C:/work/project/extended => \\??\\UNC\\evil\\share", "C:/work/project/chain => C:\\work\\project\\link",
		"//server/good/dir/", "//evil/share/x", "//evil/share/dir/x",
	}, rootstest.Folding(), rootstest.Home(`C:\users\me`))
	f.Junction(`C:\work\project\junction`)
	return &seeing{FS: f}
}

// TestNoLookAtAnotherMachine: nothing that is judged, and nothing that is configured, has the hub look at a machine that no root names.
func TestNoLookAtAnotherMachine(t *testing.T) {
	t.Parallel()
	disk := foreignDisk(t)
	r := foreigner{seeds.Rand(t)}
	hub := newTarget(t, disk, `C:\users\me`, `C:\work\project`, `\\server\good\dir`)
	for range seeds.Cases(t, 10_000) {
		r.look(t, hub)
		for _, name := range disk.seen {
			if leaves(name) {
				t.Fatalf("looked at %s", name)
			}
		}
		disk.seen = disk.seen[:0]
	}
}

// TestALookAtAnotherMachine is the control: a path on a share that a root names is looked at, and one on another share of that machine is not.
func TestALookAtAnotherMachine(t *testing.T) {
	t.Parallel()
	disk := foreignDisk(t)
	snap := rootsmgr.NewSnapshot(disk, 1, rootsmgr.OriginAsked, []rootsmgr.RootEntry{{URI: "file://server/good/dir"}, {URI: "file:///C:/work/project"}})
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, FS: disk, Home: `C:\users\me`})
	if err != nil || snap.Len() != 2 {
		t.Fatal(err, snap.Skipped())
	}
	for _, tt := range []struct {
		args string
		want policy.Decision
		code string
	}{
		{`{"path":"\\\\server\\good\\dir\\x"}`, policy.Allow, CodeInside},
		{`{"path":"//SERVER/good/dir/x"}`, policy.Allow, CodeInside},
		{`{"uri":"file://server/good/dir/x"}`, policy.Allow, CodeInside},
		{`{"path":"\\\\server\\good\\other"}`, policy.Deny, CodeOutside},
		{`{"path":"\\\\server\\other\\x"}`, policy.Deny, CodeForeignHost},
		{`{"path":"\\\\evil\\share\\x"}`, policy.Deny, CodeForeignHost},
		{`{"x":"//evil/share/x"}`, policy.Deny, CodeForeignHost},
		{`{"path":"\\\\evil@SSL\\DavWWWRoot\\x"}`, policy.Deny, CodeForeignHost},
		{`{"path":"junction\\x"}`, policy.Deny, CodeForeignHost},
		{`{"x":"link/x"}`, policy.Deny, CodeForeignHost},
		{`{"path":"junction"}`, policy.Deny, CodeForeignHost},
		{`{"content":"file://evil/share/x"}`, policy.Deny, CodeForeignHost},
		{`{"query":"SELECT * FROM '\\\\evil\\share\\x'"}`, policy.Deny, CodeForeignHost},
		{`{"path":"\\\\evil\\"}`, policy.Deny, CodeForeignHost},
	} {
		tool, err := c.PrepareTool("child", "", []byte(anyTool))
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Scan(tool, []byte(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		v := c.Judge(s, CallContext{Cwd: `C:\work\project`, Served: snap.Paths()}, rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown})
		code := ""
		if v.Deciding != nil {
			code = v.Deciding.Code
		} else if len(v.Findings) > 0 {
			code = v.Findings[0].Code
		}
		if v.Decision != tt.want || code != tt.code {
			t.Errorf("%s: %v %s %+v, want %v %s", tt.args, v.Decision, code, v.Findings, tt.want, tt.code)
		}
	}
	if !slices.ContainsFunc(disk.seen, func(name string) bool { return strings.HasPrefix(name, `\\server\good`) }) {
		t.Error("the share of a root was not looked at")
	}
}

// TestNoOpenOfAnotherMachine works like TestNoLookAtAnotherMachine on the disk of Windows. It does not see what the system opens:
// Wine does. With WINEDEBUG=+file no line may name \??\UNC\.
func TestNoOpenOfAnotherMachine(t *testing.T) {
	if runtime.GOOS != "windows" {
		t.Skip("it looks at the disk of Windows")
	}
	project, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	r := foreigner{seeds.Rand(t)}
	hub := newTarget(t, guard.OS{}, home, project)
	for range seeds.Cases(t, 2_000) {
		r.look(t, hub)
	}
}

// TestAPolicyOnAnotherMachine: what hub.json protects and denies on another machine is kept as text, however it is spelled, and holds on a share
// that a root names. A rule that allows opens nothing there.
func TestAPolicyOnAnotherMachine(t *testing.T) {
	t.Parallel()
	disk := foreignDisk(t)
	snap := rootsmgr.NewSnapshot(disk, 1, rootsmgr.OriginAsked, []rootsmgr.RootEntry{{URI: "file://server/good/dir"}, {URI: "file:///C:/work/project"}})
	p := policy.Policy{Protected: []string{`\\?\UNC\evil\share`, `\\server\good\dir\kept`}}
	for name, dir := range map[string]string{"plain": `\\evil\share\x`, "extended": `//?/unc/Server/good/dir/closed`, "device": `\\.\GLOBALROOT\Device\Mup\server\good\dir\shut`, "port": `\\evil@80\DavWWWRoot`, "own": `\\?\C:\work\project\own`} {
		p.Rules = append(p.Rules, policy.Rule{Name: name, Then: policy.Deny, Paths: &policy.PathRule{Within: dir}})
	}
	p.Rules = append(p.Rules, policy.Rule{Name: "opens", Then: policy.Allow, Paths: &policy.PathRule{Within: `\\server\good\other`}},
		policy.Rule{Name: "elsewhere", Then: policy.Allow, Paths: &policy.PathRule{Within: `\\evil\share\dir`}})
	disk.seen = nil
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, FS: disk, Home: `C:\users\me`, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	if dirs := c.Rules().Directories("child", nil); len(dirs) > 0 {
		t.Errorf("a server is served %+v", dirs)
	}
	for args, want := range map[string]string{
		`{"path":"\\\\server\\good\\dir\\x"}`:            CodeInside,
		`{"path":"\\\\server\\good\\dir\\kept\\x"}`:      CodeProtected,
		`{"path":"\\\\SERVER\\good\\dir\\closed\\x"}`:    "extended",
		`{"path":"//server/good/dir/shut"}`:              "device",
		`{"path":"\\\\server\\good\\other\\x"}`:          CodeOutside,
		`{"path":"\\\\evil\\share\\dir\\x"}`:             CodeForeignHost,
		`{"path":"own\\x"}`:                              "own",
		`{"path":"\\\\?\\C:\\work\\project\\own\\x"}`:    "own",
		`{"path":"\\\\?\\C:\\work\\project\\sub\\x"}`:    CodeInside,
		`{"x":"\\\\?\\C:\\work\\project\\a.txt"}`:        CodeInside,
		`{"x":"\\\\?\\C:\\users\\me"}`:                   CodeOutside,
		`{"path":"\\\\.\\C:\\users\\me\\x"}`:             CodeOutside,
		`{"path":"\\\\?\\C:\\work\\project\\..\\..\\x"}`: CodeOutside,
		`{"path":"\\\\?\\C:"}`:                           CodeMagic,
	} {
		tool, err := c.PrepareTool("child", "", []byte(anyTool))
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Scan(tool, []byte(args))
		if err != nil {
			t.Fatal(err)
		}
		v := c.Judge(s, CallContext{Cwd: `C:\work\project`, Served: snap.Paths()}, rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown})
		got := "nothing is found"
		switch {
		case v.Deciding != nil && v.Deciding.Code == CodeRuleDeny:
			got = v.Rule
		case v.Deciding != nil:
			got = v.Deciding.Code
		case len(v.Findings) > 0:
			got = v.Findings[0].Code
		}
		if got != want {
			t.Errorf("%s: %s, want %s: %+v", args, got, want, v.Findings)
		}
	}
	for _, name := range disk.seen {
		if leaves(name) {
			t.Errorf("looked at %s", name)
		}
	}
	for _, dir := range []string{`\\evil`, `\\?\Volume{12345678-1234-1234-1234-123456789012}\x`, `\\evil\share\x.`, `\\evil\share\*`} {
		if _, err := NewChecker(Config{FS: disk, Home: `C:\users\me`, Policy: policy.Policy{Rules: []policy.Rule{{Name: "r", Then: policy.Deny, Paths: &policy.PathRule{Within: dir}}}}}); err == nil {
			t.Errorf("a rule that denies what cannot be told is taken: %s", dir)
		}
	}
}
