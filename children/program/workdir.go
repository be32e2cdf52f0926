package program

import (
	"fmt"
	"slices"

	"mcphub/internal/commandline"
)

// ReadsWorkingDir reports whether the program takes a file out of its working directory, or
// obeys what lies there.
func (prog Program) ReadsWorkingDir() bool {
	r := commandline.ReachOf(prog.Command, prog.Args)
	return r.File != "" || r.Implied != ""
}

// Precautions keep a launcher from taking its program, or the settings that name it, out
// of a working directory that may be a hostile clone.
type Precautions struct {
	Args     []string // of the program, with what is added to them
	Neutral  bool     // it starts in an empty folder of the hub
	Enter    bool     // its shell enters the working directory after the program is found
	SafePath bool     // PYTHONSAFEPATH is set
}

// Precautions decides how a launcher is kept away from the working directory. prefix is an
// empty folder of the hub. shell is a script shell for npm that enters the working
// directory only after the program is found; "" if there is none.
func (prog Program) Precautions(args []string, prefix, shell string) (Precautions, error) {
	p := Precautions{Args: args}
	if prog.Local {
		return p, nil
	}
	command, rest := commandline.Innermost(prog.Command, args)
	inner := len(args) - len(rest)
	name, l, _ := commandline.LauncherOf(command)
	p.SafePath = name != "python" || !commandline.RunsScript(rest)
	r := commandline.ReachOf(prog.Command, args)
	fixed := prog.Cwd != "" && !NamesRoots(prog.Cwd) // the operator's own choice
	upTo, npx := l.Fetches(rest)
	npx = npx && l.ManagerName() == "npm"
	switch {
	case !fixed && r.File != "":
		return p, fmt.Errorf("%s would take %q from the working directory, which may be a project somebody else wrote; write an absolute path, set \"cwd\", or allow it with \"local\": true", r.By, r.File)
	case !fixed && r.Tied:
		return p, fmt.Errorf("%s would obey %s of the working directory, which may be a project somebody else wrote; name an absolute path in its arguments, set \"cwd\", or allow it with \"local\": true", r.By, r.Implied)
	case npx:
		p.Neutral, p.Enter = true, shell != ""
		flags := []string{"--prefix", prefix}
		if shell != "" {
			flags = append(flags, "--script-shell", shell)
		}
		where := inner
		if upTo == 1 {
			where++ // behind its subcommand, and before the line's own flags: the last of two counts
		}
		p.Args = slices.Insert(slices.Clone(args), where, flags...)
	case r.Implied != "" && prog.Cwd == "":
		p.Neutral = true
	case r.Implied != "" && !fixed:
		return p, fmt.Errorf("%s would take its program or settings (%s) from %q, which may be a project somebody else wrote; remove \"cwd\", name a directory of your own, or allow it with \"local\": true", r.By, r.Implied, prog.Cwd)
	}
	return p, nil
}

// ProjectWarning returns what the program would, or may, take out of a working
// directory that may be a project someone else wrote, and what helps; "" if
// there is nothing to say.
func (prog Program) ProjectWarning() string {
	if prog.Local {
		return ""
	}
	if _, err := prog.Precautions(prog.Args, "", ""); err != nil {
		return err.Error()
	}
	if r := commandline.ReachOf(prog.Command, prog.Args); r.Opaque != "" && (prog.Cwd == "" || NamesRoots(prog.Cwd)) {
		return fmt.Sprintf("it cannot be told what the text that %s is given takes from the working directory, which may be a project somebody else wrote; make the program the command, or set \"cwd\"; \"local\": true says that the project's own programs may run", r.By)
	}
	return ""
}

// Aside reports that the program starts in an empty folder instead of the first root,
// and why; "" if it does not. A launcher that fetches what it runs is another matter.
func (prog Program) Aside() string {
	if prog.Local || prog.Cwd != "" {
		return ""
	}
	command, rest := commandline.Innermost(prog.Command, prog.Args)
	_, l, ok := commandline.LauncherOf(command)
	if _, fetches := l.Fetches(rest); !ok || fetches {
		return ""
	}
	p, err := prog.Precautions(prog.Args, "", "")
	if r := commandline.ReachOf(prog.Command, prog.Args); err == nil && p.Neutral {
		return fmt.Sprintf("%s starts in an empty folder and not in the first root, because it would obey %s there, which may be a project somebody else wrote: relative paths do not start at the root", r.By, r.Implied)
	}
	return ""
}
