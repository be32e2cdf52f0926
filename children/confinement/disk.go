package confinement

import (
	"io"
	"os"
	"path/filepath"
	"syscall"

	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
)

// What is opened to be run, and what is opened to be changed as well.
const (
	runs = sandbox.Read | sandbox.Execute
	all  = sandbox.Read | sandbox.Write | sandbox.Execute
)

// isTop reports whether dir is a file system's top.
func isTop(dir string) bool { return filepath.Dir(dir) == dir }

// openRegular opens a regular file to read; nil if it cannot. It does not wait for a pipe
// that a server has put there.
func openRegular(path string) *os.File {
	if !guard.MayFollow(path, nil) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		_ = f.Close()
		return nil
	}
	return f
}

func isFile(path string) bool {
	if !guard.MayFollow(path, nil) {
		return false
	}
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// textOf returns the text of a small regular file; "" if there is none.
func textOf(file string) string {
	f := openRegular(file)
	if f == nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxText))
	return string(b)
}

// maxText bounds a file of settings that is read.
const maxText = 64 << 10
