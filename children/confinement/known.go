package confinement

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcphub/children/entry"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/internal/wellknown"
)

// knownAs returns the well-known server that a child is, if that server needs something of the kernel; nil if none is
// known. What its entry names counts, and that only if no child may write it: the one who made a project has not made its
// profile.
func (h Host) knownAs(child Child) *wellknown.Server {
	switch {
	case child.Fresh != "": // what installs a server is not the server
		return nil
	case child.Package != "": // the copy is what its entry names, whatever leads to where in it
		return h.knownName(child, commandline.Name{Kind: commandline.Fetched, Text: commandline.RegistryName(child.Package)})
	case child.Installed != nil, child.Program.Escapes() != "", h.Planted(child.Command):
		return nil
	}
	line := commandline.ReadLine(child.Program.Command, child.Program.Args)
	if !line.Sure || h.isLedByPlanted(child, &line) {
		return nil
	}
	for _, name := range line.Names {
		if s := h.knownName(child, name); s != nil {
			return s
		}
	}
	return nil
}

// knownName returns the server of one name, if no child may write what the name leads to.
func (h Host) knownName(child Child, name commandline.Name) *wellknown.Server {
	switch name.Kind {
	case commandline.Command, commandline.File:
		switch {
		case name.Kind == commandline.Command && name.Text == child.Program.Command:
			name.Text = child.Command
		case name.Kind == commandline.Command && !filepath.IsAbs(name.Text): // behind env or timeout
			name.Text = h.lookUp(child.Env, name.Text)
		}
		if !filepath.IsAbs(name.Text) || h.Planted(name.Text) {
			return nil
		}
		if real := h.Real(name.Text); commandline.PackageOf(real) != "" {
			name.Text = real
		}
	case commandline.Fetched:
		if child.Package == "" && (child.Program.Local || h.Planted(cmp.Or(child.StartDir, child.Dir))) { // it may take the package out of the project
			return nil
		}
	case commandline.Project, commandline.Module:
		if child.Program.Local || h.looksInPlanted(child, name.Kind == commandline.Module) {
			return nil
		}
	default:
		return nil
	}
	s, packaged := wellknown.ByName(name)
	if s == nil || s.Kernel == nil || !packaged && !s.Kernel.ByName {
		return nil
	}
	return s
}

// isLedByPlanted reports whether children may have put there what is started before the program, or what the program is made to load: another
// program would have the profile then. A script of a root has nothing to lose: knownName gives it no profile, and the profile of what runs it is for
// any script.
func (h Host) isLedByPlanted(child Child, line *commandline.Started) bool {
	wrapped := line.Command != child.Program.Command
	if wrapped {
		inner := line.Command
		if !filepath.IsAbs(inner) {
			inner = h.lookUp(child.Env, inner)
		}
		if inner == "" || h.Planted(inner) {
			return true
		}
	}
	for _, name := range line.Names {
		if name.Kind == commandline.File && (filepath.IsAbs(name.Text) && h.Planted(name.Text) || !filepath.IsAbs(name.Text) && h.Planted(filepath.Join(child.Dir, name.Text))) {
			return false
		}
	}
	return slices.ContainsFunc(child.Program.Names(h.home), func(n entry.Name) bool {
		at, isArg := strings.CutPrefix(n.Key, "/args/")
		switch i, _ := strconv.Atoi(at); {
		case isArg && line.At != commandline.Nowhere && i > line.At: // the server's own
			return false
		case n.Key == "/env/PATH": // places in roots are taken out of it
			return false
		case !isArg && !wrapped && !slices.Contains(preloads, n.Key):
			return false
		}
		return (n.Use == entry.Code || n.Use == entry.Config && !n.Text) && h.Planted(n.Path)
	})
}

// preloads are the variables of an entry that make any program load more.
var preloads = []string{"/env/NODE_OPTIONS", "/env/LD_PRELOAD"}

// looksInPlanted reports whether a program of a project, or a module of Python, is looked for where children may write.
func (h Host) looksInPlanted(child Child, module bool) bool {
	var places []string
	for _, name := range []string{"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY"} {
		value, _ := child.Env.Get(name)
		places = append(places, filepath.SplitList(value)...)
	}
	if module || child.Program.ReadsWorkingDir() {
		places = append(places, cmp.Or(child.StartDir, child.Dir))
	}
	for _, n := range child.Program.Names(h.home) {
		if n.Use == entry.Code || n.Use == entry.Cwd {
			places = append(places, n.Path)
		}
	}
	return slices.ContainsFunc(places, h.Planted)
}

// Planted reports whether children may have put there what is at a path. If a root
// holds the home folder they may write every program of the user's, and what starts
// them; no profile gives them more.
func (h Host) Planted(path string) bool {
	real := h.Real(path)
	return slices.ContainsFunc(h.boundary.Areas, func(area sandbox.Rule) bool {
		return area.Access&sandbox.Write != 0 && (sandbox.Contains(area.Path, path) || sandbox.Contains(area.Path, real)) &&
			(h.home == "" || !sandbox.Contains(area.Path, h.home))
	})
}

// describeProfile tell people of a profile: its name, what it opens, and, if the profile decides that and
// not the entry, that sockets are on and that a run is kept as it is. A nil profile has none.
func describeProfile(s *wellknown.Server, g *grant, sockets, stays bool) (words []string) {
	if s == nil {
		return nil
	}
	words = []string{"profile " + s.Name}
	if g != nil {
		words = append(words, g.texts...)
	}
	if sockets {
		words = append(words, "unix sockets")
	}
	if stays {
		words = append(words, "not started again for a wider boundary")
	}
	return words
}
