package confinement

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/wellknown"
)

// A StateFolder is a folder that is made before a child starts, and what is copied into it
// if it is missing.
type StateFolder struct {
	Folder     string
	File, From string // From "": nothing is copied
}

// Make makes what a confined child keeps things in, if it is not there yet.
func (confined *Confinement) Make() error {
	for _, m := range confined.Makes {
		if err := os.MkdirAll(m.Folder, 0o700); err != nil {
			return err
		}
		if m.From == "" {
			continue
		}
		text, err := os.ReadFile(m.From)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(m.Folder, m.File), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return errors.Join(err, os.Remove(f.Name()))
		}
	}
	return confined.WritePrivate()
}

// A grant is what the profile of a well-known server opens to one child.
type grant struct {
	rules  []sandbox.Rule
	makes  []StateFolder
	texts  []string // what it opens, for people
	lacks  []string // what is not opened, and why
	closed []string // what is opened no more, and why
}

// grantTo returns what a child is opened as a server with these needs. It sets variables of the child's
// environment. cache is the user's cache folder.
func (h Host) grantTo(k *wellknown.Kernel, child Child, cache string) *grant {
	g := &grant{}
	for _, place := range k.Write {
		for _, folder := range h.placePaths(place, child.Env, cache) {
			g.keepFolder(folder, h)
		}
	}
	for _, place := range k.Read {
		for _, path := range h.placePaths(place, child.Env, cache) {
			g.openPath(path, runs, toOpen, h)
		}
	}
	for _, tool := range k.Tools {
		file := h.lookUp(child.Env, tool)
		if file == "" || h.Planted(file) {
			continue
		}
		ways, why := h.installationPaths(part{file: file, name: "program " + tool})
		if why != "" {
			g.closed = append(g.closed, why)
		}
		for _, w := range ways {
			g.addRule(w.path, w.real, runs)
		}
	}
	if k.Memory {
		g.openMemoryFile(child, h)
	}
	if k.Terminals {
		g.texts = append(g.texts, "the user's terminals")
	}
	if k.Proc && !h.root {
		g.rules, g.texts = append(g.rules, sandbox.Rule{Path: "/proc", Access: sandbox.Write}), append(g.texts, "write /proc")
	}
	return g
}

// openPath opens what a path leads to.
func (g *grant) openPath(path string, a sandbox.Access, use purpose, h Host) bool {
	w, why, ok := h.followPath(path, use)
	switch {
	case why != "":
		g.closed = append(g.closed, why)
	case ok && (w.end != nil || use == toMake):
		g.addRule(path, w.real, a)
		return true
	}
	return false
}

func (g *grant) addRule(path, real string, a sandbox.Access) {
	rule := sandbox.Rule{Path: real, Access: a}
	if !slices.Contains(g.rules, rule) {
		g.rules, g.texts = append(g.rules, rule), append(g.texts, a.String()+" "+path)
	}
}

// keepFolder opens a folder in which a server keeps something. The folder is made if it is missing.
func (g *grant) keepFolder(folder string, h Host) {
	if h.boundary.Writable(folder) { // it can make it itself
		return
	}
	if !h.ownFolder(folder) {
		g.lacks = append(g.lacks, fmt.Sprintf("%s is not opened: it is no folder of one program; give it one of its own", folder))
		return
	}
	if g.openPath(folder, sandbox.Read|sandbox.Write, toMake, h) {
		g.makes = append(g.makes, StateFolder{Folder: folder})
	}
}

// Where the memory server keeps its file.
const (
	memoryVariable = "MEMORY_FILE_PATH"
	memoryFile     = "memory.jsonl"
	memoryPlace    = "node_modules/@modelcontextprotocol/server-memory/dist"
)

// openMemoryFile opens the file of the memory server. Unless told otherwise, that server writes beside its
// own program, which no child may. So it is told to write in the hub's state folder, and a file
// that lies beside its program is copied there once.
func (g *grant) openMemoryFile(child Child, h Host) {
	if file, said := child.Env.Get(memoryVariable); said && file != "" {
		if !filepath.IsAbs(file) && !strings.HasPrefix(file, "~/") {
			g.lacks = append(g.lacks, fmt.Sprintf("%s is not opened: %s is relative to its program; write an absolute path", file, memoryVariable))
		}
		return
	}
	base := h.stateFolder()
	if base == "" || child.Program.EnvFile != "" { // which may report where
		return
	}
	folder := filepath.Join(base, "servers", "memory")
	file := filepath.Join(folder, memoryFile)
	child.Env.Set(memoryVariable, file)
	g.rules = append(g.rules, sandbox.Rule{Path: h.resolvePath(folder), Access: sandbox.Read | sandbox.Write})
	g.texts = append(g.texts, "read, write "+folder+" (its memory, as "+memoryVariable+" is not set)")
	made := StateFolder{Folder: folder, File: memoryFile}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		made.From = h.memoryOf(child)
	}
	g.makes = append(g.makes, made)
}

// memoryOf returns the file that the memory server has kept so far: beside its
// program, or where npx has it, the newest; "" if there is none.
func (h Host) memoryOf(child Child) (newest string) {
	var dirs []string
	for _, word := range append([]string{child.Command}, child.Args...) {
		if real := h.Real(word); filepath.IsAbs(word) && strings.HasSuffix(filepath.Dir(real), memoryPlace) {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	npm := filepath.Join(h.home, ".npm")
	for _, name := range []string{"npm_config_cache", "NPM_CONFIG_CACHE"} {
		if v, ok := h.Inherited([]string{name}).Get(name); ok && filepath.IsAbs(v) {
			npm = v
		}
	}
	if h.home != "" { // else npm may be relative
		found, _ := filepath.Glob(filepath.Join(npm, "_npx", "*", memoryPlace))
		dirs = append(dirs, found...)
	}
	var latest int64
	for _, dir := range dirs {
		for _, name := range []string{memoryFile, "memory.json"} {
			path := filepath.Join(dir, name)
			if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && !h.Planted(path) && fi.ModTime().UnixNano() > latest {
				newest, latest = path, fi.ModTime().UnixNano()
			}
		}
	}
	return newest
}

// placePaths returns the paths that a place of a profile stands for.
func (h Host) placePaths(place string, env *program.Environment, cache string) (paths []string) {
	for either := range strings.SplitSeq(place, "|") {
		head, rest, _ := strings.Cut(either, "/")
		heads := []string{head}
		switch {
		case head == "":
			heads = []string{"/"}
		case head == "~":
			heads = []string{h.home}
		case head == "$CACHE":
			heads = []string{cache}
		case head[0] == '$':
			value, _ := env.Get(head[1:])
			heads = filepath.SplitList(value)
		}
		for _, at := range heads {
			if filepath.IsAbs(at) {
				paths = append(paths, filepath.Join(at, rest))
			}
		}
		if len(paths) > 0 {
			return paths
		}
	}
	return nil
}

// ownFolder reports whether a folder can be that of one program: it is not the home
// folder or above it, none of the system's, and none that holds what is secret.
func (h Host) ownFolder(dir string) bool {
	rel, below := sandbox.Rel(h.home, h.resolvePath(dir))
	if !below || h.home == "" {
		return h.isNarrow(h.resolvePath(dir))
	}
	parts := strings.Split(rel, string(filepath.Separator))
	return rel != "." && sandbox.KeyFolder(dir) == "" && (!slices.Contains(keptByUsers, parts[0]) || len(parts) > 1)
}

// resolvePath returns a path without links, of which the end need not be there yet.
func (h Host) resolvePath(path string) string {
	path = filepath.Clean(path)
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		real, err := h.looks.Real(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			real, err = filepath.EvalSymlinks(at)
		}
		if err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}
