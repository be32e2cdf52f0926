package confinement

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"sync"

	"mcphub/children/entry"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
)

// This file opens the folders in which programs keep state by their own name: ~/.NAME, and
// NAME in ~/.config, ~/.cache and ~/.local/share. The hub makes them, and opens them to the program for
// which it has made them. One that was there before waits for a person.

// stateName is a name that a folder of state may have.
var stateName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]+$`)

// ownName is the name under which a child keeps state, and what tells it from other programs of that
// name; "" if its program has no name of its own, as a script has none.
func (c *confining) ownName() (name, owner string) {
	child, h := &c.child, &c.host
	if child.Package != "" {
		owner = program.WithoutVersion(child.Package)
		return path.Base(owner), "package " + owner
	}
	command, args := program.Innermost(child.Program.Command, child.Args)
	_, _, launches := program.LauncherOf(command)
	file := child.Command
	if launches {
		at := program.ProgramAt(command, args)
		if at < 0 || at >= len(args) {
			return "", ""
		}
		if file = args[at]; !filepath.IsAbs(file) {
			file = filepath.Join(child.Dir, file)
		}
	}
	owner = h.Real(file)
	if h.Planted(file) || h.Planted(owner) {
		return "", ""
	}
	name = packageName(owner)
	if !launches && command == child.Program.Command {
		name = cmp.Or(name, program.BaseName(file))
	}
	return name, "program " + owner
}

// packageName is the name of the package of Node that a script lies in; "" for none.
func packageName(script string) string {
	switch filepath.Ext(script) {
	case ".js", ".mjs", ".cjs", ".ts", ".mts":
	default:
		return ""
	}
	for dir, n := filepath.Dir(script), 0; n < 4 && dir != filepath.Dir(dir); dir, n = filepath.Dir(dir), n+1 {
		text, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err != nil {
			continue
		}
		var about struct{ Name string }
		_ = json.Unmarshal(text, &about) // one that is broken has no name
		return path.Base(about.Name)
	}
	return ""
}

// openState opens the folders of state of a program, of which those are made that are missing.
func (n *naming) openState(child Child, name, owner string) {
	h := &n.h
	if h.memory == nil || h.home == "" || child.Fresh != "" || !stateName.MatchString(name) {
		return
	}
	base := func(variable, otherwise string) string {
		if v, ok := child.Env.Get(variable); ok && filepath.IsAbs(v) {
			return v
		}
		return filepath.Join(h.home, otherwise)
	}
	for _, folder := range []string{
		filepath.Join(h.home, "."+name), filepath.Join(base("XDG_CONFIG_HOME", ".config"), name),
		filepath.Join(h.home, ".cache", name), filepath.Join(base("XDG_DATA_HOME", ".local/share"), name),
	} {
		w := h.wayOf(filepath.Join(h.resolve(filepath.Dir(folder)), filepath.Base(folder)))
		line := memoryLine{Path: "state " + w.path, Owner: h.owner, Leads: []string{owner}}
		above, err := os.Lstat(filepath.Dir(w.path))
		switch {
		case err != nil || !above.IsDir() || !isOwn(above) || above.Mode()&0o002 != 0, h.boundary.Writable(w.path), h.boundary.Withholds(w.path):
			continue
		case w.real != w.path, w.end != nil && (!w.end.IsDir() || !isOwn(w.end) || !h.memory.knows(line.Path)):
			continue
		case n.never(w.path, &w) != "", n.readOnly(entry.Name{Path: w.path, Use: entry.Data}, w.path, &w) != "", !h.ownFolder(w.path), w.end == nil && sandbox.WhySecret(w.path) != "":
			continue
		}
		if _, ok, err := h.memory.settled(line, false); err != nil || !ok {
			continue // it was made for another program
		}
		n.rules = append(n.rules, sandbox.Rule{Path: w.path, Access: sandbox.Read | sandbox.Write})
		n.makes = append(n.makes, StateFolder{Folder: w.path, Fleeting: true})
	}
}

// folderUses counts how many processes of this hub may use a folder of state. Any goroutine may use it.
type folderUses struct {
	mu sync.Mutex
	by map[string]int
}

// take makes a folder if it is missing, and counts one more process.
func (u *folderUses) take(folder string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if u.by == nil {
		u.by = map[string]int{}
	}
	u.by[folder]++
	return nil
}

// release counts one process less, and removes the folder behind the last one if it is empty.
func (u *folderUses) release(folder string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.by[folder]--; u.by[folder] == 0 {
		delete(u.by, folder)
		_ = os.Remove(folder) // which fails if something is in it
	}
}
