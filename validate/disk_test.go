package validate

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/chars"
	"mcphub/validate/policy"
)

// foldingDisk is a disk whose names are found in any letter case, as on macOS and Windows.
type foldingDisk struct {
	platform platform.Platform
	files    fstest.MapFS
}

func (d foldingDisk) Platform() platform.Platform { return d.platform }

func (d foldingDisk) Lstat(name string) (fs.FileInfo, error) {
	want := strings.Trim(strings.ToLower(chars.ToSlash(name)), "/")
	if want == "" {
		want = "."
	}
	var found fs.FileInfo
	err := fs.WalkDir(d.files, ".", func(p string, e fs.DirEntry, err error) error {
		if strings.ToLower(p) == want {
			found, err = e.Info()
		}
		return err
	})
	if found == nil && err == nil {
		err = fs.ErrNotExist
	}
	return found, err
}

func (d foldingDisk) Readlink(string) (string, error) { return "", fs.ErrInvalid }

func (d foldingDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	if name = strings.Trim(name, "/"); name == "" {
		name = "."
	}
	return d.files.ReadDir(name)
}

// TestFirstComponent: rule 3, on a disk that tells letter case apart and on one that does not.
func TestFirstComponent(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"Users/bob/a.txt": {}, "etc/passwd": {}, "private/x": {}}
	c, err := NewChecker(Config{FS: foldingDisk{platform.Darwin, files}, Home: "/Users/bob"})
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[string]bool{
		"/Users/nobody": true, "/users/123": false, "/users/bob": true, "/users": false, "/etc/x": true, "/ETC/passwd": true,
		"/ETC/other": false, "/v1/users": false, "/./etc": true, "//etc//passwd": true, "/etc:/x": true, "/": true, `\etc\passwd`: true,
		"/{etc,x}/y": true, "/e*": true, "/z*/x": false, "/vercel/next.js": false,
	} {
		if got := c.m.FirstExists(v); got != want {
			t.Errorf("%s: %v, want %v", v, got, want)
		}
	}
	w := newWorld(t)
	linux := w.checker()
	for v, want := range map[string]bool{"/etc/x": true, "/ETC/x": false, "/no-such-thing/x": false, "/proc/self": true, "/etc\x00": false} {
		if got := linux.m.FirstExists(v); got != want {
			t.Errorf("%s: %v, want %v", v, got, want)
		}
	}
}

// TestWindowsForms: drives and shares are paths there, not foreign forms.
func TestWindowsForms(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"C:/p/a.txt": {}, "C:/other/b.txt": {}}
	disk := foldingDisk{platform.Windows, files}
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, FS: disk, Home: `C:\Users\me`})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := c.PrepareTool("child", "", []byte(anyTool))
	if err != nil {
		t.Fatal(err)
	}
	for args, code := range map[string]string{
		`{"x":"C:\\Windows\\x"}`:         CodeRootsFailed, // resolved, and no root contains it
		`{"x":"\\\\host\\share\\x"}`:     CodeForeignHost,
		`{"x":"\\\\?\\C:\\x"}`:           CodeRootsFailed,
		`{"x":"\\\\?\\C:"}`:              CodeMagic,
		`{"path":"C:\\p\\a.txt:stream"}`: CodeUnresolvable,
		`{"x":"file:///C:/Windows"}`:     CodeRootsFailed,
	} {
		s, err := c.Scan(tool, []byte(args))
		if err != nil {
			t.Fatal(err)
		}
		v := c.Judge(s, CallContext{Cwd: `C:\p`}, rootsmgr.RootsView{})
		if v.Decision != policy.Deny || v.Deciding.Code != code {
			t.Errorf("%s: %v %+v, want %s", args, v.Decision, v.Deciding, code)
		}
	}
}
