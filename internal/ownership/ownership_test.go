package ownership

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestOwnership(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights are not in the mode there")
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]struct{ use, write bool }{
		0o600: {}, 0o700: {}, 0o604: {use: true}, 0o610: {use: true}, 0o620: {true, true}, 0o602: {true, true}, 0o777: {true, true},
	} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(info); err != nil {
			t.Errorf("%v: our own file %v", mode, err)
		}
		if use, write := OthersUse(info), OthersWrite(info); use != want.use || write != want.write {
			t.Errorf("%v: others use it %v, write it %v", mode, use, write)
		}
	}
	if os.Geteuid() == 0 {
		return // and root owns what is looked at next
	}
	if info, err := os.Stat("/"); err != nil || Check(info) == nil {
		t.Error("the root of the file system is ours", err)
	}
}
