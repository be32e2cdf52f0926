package program

import (
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
	prog.Command, rest = p.Replace(prog.Command, args, in.Command, in.Args)
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
	if p, ok := prog.Package(); ok {
		for _, spec := range p.Specs {
			add(commandline.WithoutVersion(spec))
		}
		add(p.Program)
		return names
	}
	command, args := commandline.Innermost(prog.Command, prog.Args)
	name, _, known := commandline.LauncherOf(command)
	switch at := commandline.ProgramAt(command, args); {
	case !known:
		add(commandline.BaseName(command))
	case name == "python" && commandline.ModuleOf(args) != "":
		module, _, _ := strings.Cut(commandline.ModuleOf(args), ".")
		add(module)
	case at >= 0 && at < len(args):
		_, inside, ok := strings.Cut(filepath.ToSlash(args[at]), "/node_modules/")
		if scope, rest, _ := strings.Cut(inside, "/"); strings.HasPrefix(scope, "@") {
			inside = rest
		}
		if module, _, _ := strings.Cut(inside, "/"); ok {
			add(module)
		} else {
			add(commandline.BaseName(args[at]))
		}
	}
	return names
}
