package program

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
)

// Package returns what the program's launcher fetches. ok is false if it fetches nothing, or if that is not understood.
func (prog Program) Package() (p commandline.Package, ok bool) {
	return commandline.ReadPackage(prog.Command, prog.Args)
}

// An Installed is a copy of a Package that runs instead of its launcher.
type Installed struct {
	Dir     string   // all of it, without a link on the way; the child may read it
	Command string   // what runs it; "": not known yet
	Args    []string // before the ones of the server
	Version string   // of the package
	Beside  []string // programs whose interpreter the copy needs as well
	Neutral bool     // what runs it obeys files of the directory that it starts in
}

// Holds reports whether a file is part of the copy.
func (in *Installed) Holds(path string) bool {
	return in != nil && in.Dir != "" && sandbox.Contains(in.Dir, path)
}

// WithInstalled returns the program and its arguments with an installed copy instead of the
// launcher and its arguments. fetched is the package that the launcher was to fetch.
func (prog Program) WithInstalled(args []string, in *Installed) (ran Program, fetched string, rest []string) {
	p, ok := prog.Package()
	if !ok {
		return prog, "", args
	}
	prog.Command, rest = p.ReplaceLauncher(prog.Command, args, in.Command, in.Args)
	return prog, p.Specs[0], rest
}

// OwnNames returns the names by which the program may call folders of its own: its own name, the name of its
// package, and the name of its module.
func (prog Program) OwnNames() (names []string) {
	add := func(name string) {
		if name = path.Base(filepath.ToSlash(name)); name != "" && !strings.HasPrefix(name, ".") && name != "/" {
			names = append(names, name)
		}
	}
	for _, name := range commandline.ReadLine(prog.Command, prog.Args).Names {
		switch _, _, launcher := commandline.LauncherOf(name.Text); {
		case name.Kind == commandline.Command && launcher:
		case name.Kind == commandline.Module:
			module, _, _ := strings.Cut(name.Text, ".")
			add(module)
		case name.Kind == commandline.Fetched:
			add(name.Text)
		default:
			add(cmp.Or(commandline.PackageOf(name.Text), commandline.BaseName(name.Text)))
		}
	}
	if p, ok := prog.Package(); ok {
		add(p.Program)
	}
	return names
}
