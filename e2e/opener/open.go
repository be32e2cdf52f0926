package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// opened is one thing that could be done.
type opened struct {
	Path   string `json:"path"` // the real one
	Did    string `json:"did"`  // read, list, write, make
	Bytes  int    `json:"bytes,omitempty"`
	Needle bool   `json:"needle,omitempty"`
	As     string `json:"as"` // how it was spelt
}

type opener struct {
	spellings
	cwd    string
	zone   []string
	free   bool
	needle []byte

	found []opened
	told  map[string]bool
}

func newOpener() *opener {
	o := &opener{zone: filepath.SplitList(os.Getenv("OPENER_ZONE")), free: os.Getenv("OPENER_FREE") != ""}
	o.home = os.Getenv("HOME")
	o.cwd, _ = os.Getwd()
	o.needle, _ = hex.DecodeString(os.Getenv("OPENER_NEEDLE"))
	return o
}

// open does what it can with all that the arguments name.
func (o *opener) open(arguments []byte) string {
	o.found, o.told = []opened{}, map[string]bool{}
	for _, path := range o.paths(arguments, o.cwd) {
		o.read(path)
		o.write(path)
	}
	b, err := json.Marshal(o.found)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (o *opener) tell(did, as string, fd uintptr, n int, needle bool) {
	path, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd))
	if err != nil {
		path = as + " (" + err.Error() + ")"
	}
	if key := did + path; !o.told[key] || needle {
		o.told[key] = true
		o.found = append(o.found, opened{path, did, n, needle, as})
	}
}

func (o *opener) read(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	fi, err := f.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		if names, err := f.Readdirnames(50); err == nil || errors.Is(err, io.EOF) {
			o.tell("list", path, f.Fd(), len(names), false)
		}
	case fi.Mode().IsRegular():
		b := make([]byte, 1<<16)
		n, _ := f.Read(b)
		o.tell("read", path, f.Fd(), n, len(o.needle) > 0 && bytes.Contains(b[:n], o.needle))
	default: // of a device, a pipe or a terminal nothing is taken
		o.tell("read", path, f.Fd(), 0, false)
	}
}

// within reports whether what is at the path, or would be, lies in the zone.
func (o *opener) within(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return false
		}
		real = filepath.Join(dir, filepath.Base(path))
	}
	for _, dir := range o.zone {
		if strings.HasPrefix(real, dir+"/") {
			return true
		}
	}
	return false
}

// write appends to a file that is there, and makes one that is not. Outside of the zone nothing is changed: there it counts
// that it could be.
func (o *opener) write(path string) {
	in := o.within(path)
	if o.free && !in {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err == nil {
		n := 0
		if fi, err := f.Stat(); in && err == nil && fi.Mode().IsRegular() {
			n, _ = f.WriteString("x")
		}
		o.tell("write", path, f.Fd(), n, false)
		_ = f.Close()
		return
	}
	// A name that ends so is no new file.
	if base := filepath.Base(path); base == "." || base == ".." || base == "/" || strings.HasSuffix(path, "/") || len(base) > 100 {
		return
	}
	if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOCTTY, 0o600); err != nil {
		return
	}
	n := 0
	if in {
		n, _ = f.WriteString("x")
	}
	o.tell("make", path, f.Fd(), n, false)
	_ = f.Close()
	if !in {
		_ = os.Remove(path)
	}
}
