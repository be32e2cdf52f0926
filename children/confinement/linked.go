package confinement

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcphub/children/sandbox"
)

// This file finds what the packages of a program lead to outside of themselves: the Python
// that a virtual environment was made of, modules that are linked, and the modules of the
// workspace.

// maxLinked bounds the parts of a program.
const maxLinked = 64

// partsBeyond returns the parts that the packages of a file lead to. Where servers write they
// lead nowhere.
func (h Host) partsBeyond(file string) (parts []part) {
	for _, hop := range h.looks.Hops(file) {
		top := hop
		if !h.IsDir(hop) {
			top = h.topOf(hop)
		}
		if top == "" || onlySystem([]string{top}) || h.boundary.Writable(top) {
			continue
		}
		parts = append(parts, lookOnce(h, "parts", top, h.partsOf)...)
		if filepath.Base(top) == modules {
			top = filepath.Dir(top)
		}
		if !lookOnce(h, "file", filepath.Join(top, "package.json"), isFile) {
			continue
		}
		for at := filepath.Dir(top); h.isNarrow(at); at = filepath.Dir(at) {
			if dir := filepath.Join(at, modules); h.IsDir(dir) && isFile(filepath.Join(at, "package.json")) && !h.boundary.Writable(at) {
				parts = append(parts, part{file: dir, name: "workspace " + dir, by: []string{dir, filepath.Join(at, "package.json")}})
				break
			}
		}
	}
	return parts
}

const modules = "node_modules"

// partsOf returns the parts that the packages of an installation lead to.
func (h Host) partsOf(top string) []part {
	dir := top
	if filepath.Base(dir) != modules {
		dir = filepath.Join(top, modules)
	}
	return append(h.environmentOf(top), h.modulesOf(dir)...)
}

// modulesOf returns the modules in a folder that are links.
func (h Host) modulesOf(dir string) (parts []part) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if real := h.Real(path); real != path && !sandbox.Contains(dir, real) && h.IsDir(real) {
				parts = append(parts, part{file: path, name: "module " + path, by: []string{path}})
			}
		case e.IsDir() && strings.HasPrefix(e.Name(), "@"):
			parts = append(parts, h.modulesOf(path)...)
		}
		if len(parts) > maxLinked {
			break
		}
	}
	return parts
}

// environmentOf returns what a virtual environment of Python is made of: the installation
// that its settings name, and folders of packages that were installed to be edited.
func (h Host) environmentOf(top string) (parts []part) {
	text := textOf(filepath.Join(top, "pyvenv.cfg"))
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); strings.TrimSpace(key) != "home" || !filepath.IsAbs(value) {
			continue
		}
		for _, name := range []string{"python3", "python"} {
			if file := filepath.Join(value, name); h.IsProgram(file) {
				parts = append(parts, part{file: file, name: "pyvenv.cfg of " + top, by: []string{filepath.Join(top, "pyvenv.cfg")}})
				break
			}
		}
	}
	if text == "" {
		return nil
	}
	found, _ := fs.Glob(os.DirFS(top), "lib/python*/site-packages/*.pth")
	for _, name := range found {
		file := filepath.Join(top, name)
		for line := range strings.Lines(textOf(file)) {
			if dir := strings.TrimSpace(line); filepath.IsAbs(dir) && h.IsDir(dir) {
				parts = append(parts, part{file: filepath.Clean(dir), name: "packages of " + file + " in " + dir, by: []string{file}, says: dir})
			}
		}
	}
	return parts
}
