//go:build windows

package validate

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/policy"
)

// tree makes directories and files that are left behind if they cannot be removed.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcphub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSubstitutedDrive: a letter that stands for a directory passes no rule.
func TestSubstitutedDrive(t *testing.T) {
	home := tree(t, `secret\s`, `other\o`)
	letter := ""
	for c := 'Y'; c >= 'G' && letter == ""; c-- {
		if _, err := os.Lstat(string(c) + `:\`); err != nil {
			letter = string(c) + ":"
		}
	}
	name, target := windows.StringToUTF16Ptr(letter), windows.StringToUTF16Ptr(home)
	if err := windows.DefineDosDevice(0, name, target); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.DefineDosDevice(windows.DDD_REMOVE_DEFINITION, name, nil) })
	if prefix := os.Getenv("WINEPREFIX"); prefix != "" { // its Z: is a drive that holds C:
		letter = "Z:" + filepath.FromSlash(prefix) + `\drive_c` + home[2:]
	}
	if _, err := os.Lstat(letter + `\secret\s`); err != nil {
		t.Fatal("the control: ", err)
	}
	h := newWindowsHub(t, guard.OS{}, policy.Policy{Rules: []policy.Rule{{Name: "secret", Then: policy.Deny, Paths: &policy.PathRule{Within: filepath.Join(home, "secret")}}}}, home)
	h.rootsView = rootsmgr.RootsView{Case: rootsmgr.CaseUnsupported, Open: true}
	h.expect(policy.Deny, [][2]string{{"path", letter + `\secret\s`}, {"path", letter + `\SECRET\new`}, {"path", filepath.Join(home, "secret", "s")}})
	h.expect(policy.Allow, [][2]string{{"path", letter + `\other\o`}, {"path", filepath.Join(home, "other")}})
}

// TestWindowsHost judges by the disk of Windows.
func TestWindowsHost(t *testing.T) {
	home := tree(t, `project\src\a.txt`, `outside\secret`, `work\one\x`, `work\two\x`)
	h := newWindowsHub(t, guard.OS{}, policy.Policy{}, filepath.Join(home, "project"))
	system, err := windows.GetSystemDirectory()
	if err != nil {
		t.Fatal(err)
	}
	rooted := filepath.Join(home, `outside\secret`)[2:]
	h.expect(policy.Allow, [][2]string{
		{"path", `src\a.txt`}, {"path", `src\*.txt`}, {"path", filepath.Join(home, `project\**\*.ts`)}, {"x", "/vercel/next.js"}, {"x", `\w+`}, {"x", "/9j/4AAQ"}, {"x", "/nologo"},
		{"shell", filepath.Join(system, "cmd.exe")}, {"command", filepath.Join(system, "cmd.exe") + " /c dir"},
	})
	h.expect(policy.Deny, [][2]string{
		{"x", rooted}, {"x", filepath.ToSlash(rooted)}, {"path", filepath.Join(home, `outside\*`)}, {"path", `..\outside\*`}, {"path", `\\evil\share\x`}, {"path", `\\localhost\C$\x`},
	})
	entry := rootsmgr.SettingEntry(guard.OS{}, filepath.Join(home, "work", "*"), home)
	if snap := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginConfig, []rootsmgr.RootEntry{entry}); snap.Len() != 2 {
		t.Errorf("%q: %v, %v", entry, snap.Paths(), snap.Skipped())
	}
}
